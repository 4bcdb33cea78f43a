"""The HTTP client of the calls of models, how fast an endpoint is called, and how fast it answers.

What it reads is bounded, and a response that serves nothing is an error.
"""

from __future__ import annotations

import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ragviz.core import certificates
from ragviz.core.stopping import LOOK, current
from ragviz.models import refusals
from ragviz.models.replies import Malformed

MOST_BYTES, MOST_EMBEDDED_BYTES = 4 * 2**20, 64 * 2**20
"""Bytes that are read of a response, and of one with embeddings. A useful reply has a tenth."""

_FRAMING = ("content-encoding", "content-length", "transfer-encoding")


def http_library() -> Any:
    """Return the library of the HTTP client: httpx, or httpx2."""
    import openai

    return import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


def trusted(ca_file: Path | None) -> ssl.SSLContext:
    """Return what checks a server's certificate: as the HTTP library does by itself, and with `ca_file` by that too.

    Raises:
        UsageError: `ca_file` cannot be used.

    """
    made: ssl.SSLContext = certificates.context(ca_file) if ca_file else http_library().create_ssl_context()
    return made  # by itself the library reads SSL_CERT_FILE


def bounded_client(timeout: float, trusts: ssl.SSLContext) -> Any:
    """Return an HTTP client that follows no redirect, requests no compression, and limits what it reads."""
    import openai

    library = http_library()

    class Bounded(openai.DefaultHttpxClient):
        """Reads a whole response within limits of bytes and seconds.

        An error, a page or a stream that is sent with status 200 gets the status that it names, or stands for.
        """

        def send(self, request: Any, **more: Any) -> Any:
            ends = time.monotonic() + timeout
            embeds = request.url.path.endswith("/embeddings")
            request.headers["Accept-Encoding"] = "identity"
            response = super().send(request, **{**more, "stream": True})
            try:
                body = body_of(response, MOST_EMBEDDED_BYTES if embeds else MOST_BYTES, ends)
            except (library.ReadError, library.RemoteProtocolError):
                raise Malformed("a response that breaks off") from None
            finally:
                response.close()
            headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
            status = response.status_code
            if status == 200 and (stands_for := refusals.unserved(body, "data" if embeds else "choices")):
                headers, status = [*headers, (refusals.ANSWERED, str(status))], stands_for
            response_type = type(response)
            return response_type(status, headers=headers, content=body, request=response.request)

    # No redirect is followed: the prompt and the key go to the configured address only. A server that takes no
    # connection within half of the time is known to have done nothing.
    return Bounded(timeout=openai.Timeout(timeout, connect=timeout / 2), follow_redirects=False, verify=trusts)


def body_of(response: Any, most: int, ends: float) -> bytes:
    """Read the body of a response as it arrives.

    Raises:
        Malformed: it is longer than `most` bytes, breaks off, or is compressed in an unknown way.
        TimeoutError: it is not complete at `ends`.

    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Malformed("a response that is compressed, which was not asked for")
    packed = zlib.decompressobj(47) if encoding.endswith(("gzip", "deflate")) else None  # 47: with either header
    body = bytearray()
    for part in response.iter_raw():
        try:
            body += packed.decompress(part, most + 1 - len(body)) if packed else part
        except zlib.error:
            raise Malformed("a response whose compression is broken") from None
        if len(body) > most:
            raise Malformed(f"a response of more than {most:,} bytes")
        if time.monotonic() > ends:
            raise TimeoutError
    return bytes(body)


FADES = 0.99
"""Weight of a call in the pace, relative to the next one: a few hundred calls count."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long calls to a model last: seconds = a + b · tokens of the reply, fitted to its latest calls.

    Sums over the calls, each weighing `FADES` of the one after it: `n` calls, `x` tokens, `y` seconds.
    """

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def after(self, tokens: int, seconds: float) -> Pace:
        """Return the pace with one more call."""
        more = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        before = (self.n, self.x, self.y, self.xx, self.xy)
        return Pace(*(FADES * old + new for old, new in zip(before, more, strict=True)))

    def seconds(self, calls: float, tokens: float) -> float:
        """Estimate how long `calls` last one after the other, with `tokens` in all their replies.

        Neither a nor b is negative; where all replies had the same length, only their mean is known.

        >>> Pace().after(10, 1.0).after(110, 3.0).seconds(2, 120)
        4.0
        """
        spread = self.n * self.xx - self.x * self.x
        slope = (self.n * self.xy - self.x * self.y) / spread if spread > 1e-9 * self.xx * self.n else 0.0
        slope = min(max(0.0, slope), self.y / self.x if self.x else 0.0)
        return round(max(0.0, calls * (self.y - slope * self.x) / self.n + slope * tokens), 9)


class Gate:
    """Limits calls in flight: the limit halves when the server is too busy, and grows back with every success."""

    def __init__(self, most: int) -> None:
        """Start with a limit of `most`, which is never exceeded."""
        self.most, self.limit, self.in_flight = most, float(most), 0
        self._opens = self._shrunk = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Wait for a slot and hold it; yields the time it was taken, for `busy`."""
        with self._changed:
            while self.in_flight >= int(self.limit) or self._opens > time.monotonic():
                pause = self._opens - time.monotonic()
                self._changed.wait(min(LOOK, pause) if pause > 0 else LOOK)
                current().pause(0)
            self.in_flight += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify(2)  # two: the limit may have grown by one

    def busy(self, sent: float, retry_after: float) -> None:
        """Start no call for `retry_after` seconds; halve the limit, once for all calls that were in flight together."""
        with self._changed:
            now = time.monotonic()
            self._opens = max(self._opens, now + retry_after)
            if sent >= self._shrunk:
                self.limit, self._shrunk = max(1.0, self.limit / 2), now

    def succeeded(self) -> None:
        """Raise the limit by about one per round of successes."""
        with self._changed:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
