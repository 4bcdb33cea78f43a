"""The HTTP client of the calls of models: what it reads is bounded, and a response that serves nothing is an error."""

from __future__ import annotations

import time
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

from ragviz.core import certificates
from ragviz.models import refusals
from ragviz.models.replies import Malformed

MOST_BYTES, MOST_EMBEDDED_BYTES = 4 * 2**20, 64 * 2**20
"""Bytes that are read of a response, and of one with embeddings. A useful reply has a tenth."""

_FRAMING = ("content-encoding", "content-length", "transfer-encoding")


def http_library() -> Any:
    """Return the library of the HTTP client: httpx, or httpx2."""
    import openai

    return import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


def bounded_client(timeout: float, ca_file: Path | None) -> Any:
    """Return an HTTP client that follows no redirect, requests no compression, and limits what it reads.

    Certificates in `ca_file` are trusted too.

    Raises:
        UsageError: `ca_file` cannot be used.

    """
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
    trusted: dict[str, Any] = (
        {"verify": certificates.context(ca_file)} if ca_file else {}
    )  # by itself it reads SSL_CERT_FILE
    return Bounded(timeout=openai.Timeout(timeout, connect=timeout / 2), follow_redirects=False, **trusted)


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
