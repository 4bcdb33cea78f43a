"""The HTTP client of the calls of models, how fast an endpoint is called, and how fast it answers.

What it reads is bounded, and a response that serves nothing is an error.
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import getproxies

from ragviz.core import certificates
from ragviz.core.stopping import LOOK, current, detached
from ragviz.models import refusals
from ragviz.models.replies import Malformed

MOST_BYTES, MOST_EMBEDDED_BYTES = 4 * 2**20, 64 * 2**20
"""Bytes that are read of a response, and of one with embeddings. A useful reply has a tenth."""

READ = 2**16
"""Bytes that are read at once, at most."""
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
    """Return an HTTP client that follows no redirect, requests no compression, and limits what it reads.

    Its `send` serves many threads. It goes straight to the connection, for what the library does with a request besides
    takes twice as long; only where the environment names a proxy the library sends.
    """
    import openai

    library, connections = http_library(), Connections(timeout / 2, trusts)
    proxies, read = getproxies(), cache(library.URL)

    class Bounded(openai.DefaultHttpxClient):
        """Reads a whole response within limits of bytes and seconds, which a stop of this thread ends.

        An error, a page or a stream that is sent with status 200 gets the status that it names, or stands for.
        """

        def build_request(self, method: str, url: Any, **given: Any) -> Any:
            headers = [*given["headers"], ("Accept-Encoding", "identity")]
            return library.Request(method, read(url), headers=headers, content=given["content"])

        def send(self, request: Any, **_: Any) -> Any:
            ends = time.monotonic() + timeout
            embeds = request.url.path.endswith("/embeddings")
            most = MOST_EMBEDDED_BYTES if embeds else MOST_BYTES
            if {request.url.scheme, "all"} & proxies.keys():
                status, headers, body = detached(lambda: self._sent_by_library(request, most, ends), timeout)
            else:
                status, headers, body = connections.exchanged(request, most, ends)
            headers = [(name, value) for name, value in headers if name.lower() not in _FRAMING]
            if status == 200 and (stands_for := refusals.unserved(body, "data" if embeds else "choices")):
                headers, status = [*headers, (refusals.ANSWERED, str(status))], stands_for
            return library.Response(status, headers=headers, content=body, request=request)

        def _sent_by_library(self, request: Any, most: int, ends: float) -> Exchanged:
            response = super().send(request, stream=True)
            try:
                return response.status_code, response.headers.multi_items(), body_of(response, most, ends)
            except (library.ReadError, library.RemoteProtocolError):
                raise Malformed(BREAKS_OFF) from None
            finally:
                response.close()

    # No redirect is followed: the prompt and the key go to the configured address only. A server that takes no
    # connection within half of the time is known to have done nothing.
    return Bounded(timeout=openai.Timeout(timeout, connect=timeout / 2), follow_redirects=False, verify=trusts)


Exchanged = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body of a response."""
BREAKS_OFF = "a response that breaks off"
KEPT = 5.0
"""Seconds that a connection without a call is kept open: servers close theirs later."""


class Connections:
    """Connections to one server, kept open from call to call; safe to use from many threads."""

    def __init__(self, connecting: float, trusts: ssl.SSLContext) -> None:
        """Open none yet; each is to be made within `connecting` seconds."""
        self._connecting, self._trusts, self._library = connecting, trusts, http_library()
        self._idle: list[tuple[HTTPConnection, _Wire]] = []

    def exchanged(self, request: Any, most: int, ends: float) -> Exchanged:
        """Send a request and read its response, until the time `ends`.

        Raises:
            Malformed: the response is longer than `most` bytes, or breaks off.
            TimeoutError: it is not complete at `ends`.
            Cancelled: this thread is to stop.
            Errors of the HTTP library: there is no connection, or it ends before a response.

        """
        (connection, wire), kept = self._taken(request.url), False
        wire.ends = ends
        headers = {name.decode(): value for name, value in request.headers.raw}
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it had read all
                connection.request(request.method, request.url.raw_path.decode(), request.content, headers)
            response = connection.getresponse()
            body = _whole(response, most)
            kept = response.isclosed() and not response.will_close
            return response.status, response.getheaders(), body
        except TimeoutError:
            raise
        except HTTPException as error:
            raise self._library.RemoteProtocolError(str(error)) from error
        except OSError as error:
            raise self._library.ReadError(str(error)) from error
        finally:
            wire.last_used = time.monotonic()
            if kept:
                self._idle.append((connection, wire))
            else:
                wire.end()

    def _taken(self, url: Any) -> tuple[HTTPConnection, _Wire]:
        """Return a connection for one call: the one used last, unless its server has closed it, or a new one."""
        with suppress(IndexError):
            while True:
                connection, wire = self._idle.pop()
                if time.monotonic() - wire.last_used < KEPT and not wire.is_closed():
                    return connection, wire
                wire.end()
        host, port = url.raw_host.decode(), url.port
        connection = (
            HTTPSConnection(host, port or 443, timeout=self._connecting, context=self._trusts)
            if url.scheme == "https"
            else HTTPConnection(host, port or 80, timeout=self._connecting)
        )
        try:
            detached(connection.connect, self._connecting)
        except TimeoutError:
            raise self._library.ConnectTimeout("") from None
        except OSError as error:
            raise self._library.ConnectError(str(error)) from error
        wire = _Wire(connection.sock)
        connection.sock = wire  # it has what `http.client` uses of a socket
        return connection, wire


def _whole(response: HTTPResponse, most: int) -> bytes:
    """Read the body of a response; raises as `body_of`."""
    encoding = response.headers.get("content-encoding", "")
    try:
        body = _unpacked(iter(partial(response.read, READ), b""), encoding, most, float("inf"))
    except TimeoutError:
        raise
    except (HTTPException, OSError):
        raise Malformed(BREAKS_OFF) from None
    if response.length:
        raise Malformed(BREAKS_OFF)
    return body


class _Wire:
    """A socket whose waits end at the time `ends`, and when the thread that waits is to stop."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket, self.ends, self.last_used = connected, 0.0, 0.0
        connected.settimeout(LOOK)

    def is_closed(self) -> bool:
        """Return whether the server has closed it, or sent what nobody asked for."""
        polled = select.poll()
        polled.register(self._socket, select.POLLIN)
        return bool(polled.poll(0))

    def waited(self, act: Callable[[], int]) -> int:
        """Return the bytes that `act` sends or receives."""
        while time.monotonic() < self.ends:
            try:
                return act()
            except TimeoutError:
                current().check()
        raise TimeoutError

    def sendall(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self.waited(partial(self._socket.send, left)) :]

    def makefile(self, *_: object) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self, self._socket))

    def close(self) -> None:
        """Do nothing: where the server is to close it, `http.client` does so before the body is read."""

    def end(self) -> None:
        self._socket.close()


class _Reader(io.RawIOBase):
    def __init__(self, wire: _Wire, connected: socket.socket) -> None:
        self._wire, self._socket = wire, connected

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.waited(partial(self._socket.recv_into, buffer))


def body_of(response: Any, most: int, ends: float) -> bytes:
    """Read the body of a response of the HTTP library as it arrives.

    Raises:
        Malformed: it is longer than `most` bytes, breaks off, or is compressed in an unknown way.
        TimeoutError: it is not complete at `ends`.

    """
    return _unpacked(response.iter_raw(), response.headers.get("content-encoding", ""), most, ends)


def _unpacked(parts: Iterable[bytes], encoding: str, most: int, ends: float) -> bytes:
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Malformed("a response that is compressed, which was not asked for")
    packed = zlib.decompressobj(47) if encoding.endswith(("gzip", "deflate")) else None  # 47: with either header
    body = bytearray()
    for part in parts:
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
