"""Traces of a running system as they arrive over OTLP, gathered until each is whole, within bounds of memory."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.text.untrusted import is_deep, storable

PATH, JSON, PROTOBUF = "/v1/traces", "application/json", "application/x-protobuf"
HOSTS = ("127.0.0.1", "localhost", "[::1]")
LARGEST = 4 * 2**20
"""Bytes of a body, as sent and unpacked; larger ones are refused with 413."""
OPEN_TRACES, HELD = 1_000, 64 * 2**20
"""Traces that are gathered at once, and bytes of them, at most: the oldest are dropped first."""
QUIET = 2.0
"""Seconds without a further span after which a trace whose root has arrived is whole."""
FORGOTTEN = 60.0
"""Seconds without a further span after which a trace without a root is dropped."""
Span = Mapping[str, Any]


@dataclass(slots=True)
class _Trace:
    last: float = 0.0
    size: int = 0
    spans: list[Span] = field(default_factory=list)


class Traces:
    """Spans of traces by trace id; `share` of the traces is kept, chosen by their ids. `dropped` counts lost spans."""

    def __init__(self, share: float = 1.0) -> None:
        """Begin with none."""
        self.share, self.dropped, self._held = share, 0, 0
        self._open: OrderedDict[str, _Trace] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, spans: Sequence[Span], size: int, now: float) -> None:
        """Add spans as OTLP's JSON has them, of a body of `size` bytes; one without a trace id is left out."""
        with self._lock:
            for span in spans:
                name = str(span.get("traceId") or "")
                if not name or int(digest(name), 16) / 16**16 >= self.share:
                    continue
                trace = self._open.setdefault(name, _Trace())
                trace.last = now
                self._open.move_to_end(name)
                trace.spans.append(span)
                trace.size += size // len(spans)
                self._held += size // len(spans)
            while self._open and (self._held > HELD or len(self._open) > OPEN_TRACES):
                self.dropped += len(self._take(next(iter(self._open))))

    def whole(self, now: float) -> list[list[Span]]:
        """Take out and return the spans of each trace that is whole; `now` is infinite for all that have a root."""
        with self._lock:
            done = []
            for name, trace in list(self._open.items()):
                rooted = any(not span.get("parentSpanId") for span in trace.spans)
                if rooted and now - trace.last >= QUIET:
                    done.append(self._take(name))
                elif now - trace.last >= FORGOTTEN:
                    self.dropped += len(self._take(name))
            return done

    def _take(self, name: str) -> list[Span]:
        trace = self._open.pop(name)
        self._held -= trace.size
        return trace.spans


def spans_of(body: bytes, content_type: str, encoding: str = "") -> list[Span]:
    """Return the spans of an OTLP request, as its JSON has them.

    Raises:
        UsageError: it is neither OTLP's protobuf nor its JSON, or larger than `LARGEST` when it is unpacked.

    """
    try:
        if encoding == "gzip":
            unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
            body = unpacker.decompress(body, LARGEST)
            if unpacker.unconsumed_tail:
                raise UsageError(f"The body is larger than {LARGEST:,} bytes when it is unpacked.")
        request = json.loads(body) if content_type == JSON else _of_protobuf(body)
        if is_deep(request):
            raise UsageError("The body is nested too deeply.")
        scopes = [scope for resource in request.get("resourceSpans", ()) for scope in resource.get("scopeSpans", ())]
        return [storable(dict(span)) for scope in scopes for span in scope.get("spans", ())]
    except (ValueError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        raise UsageError(f"The body is no OTLP request of traces in {content_type}: {str(error)[:200]}.") from None


def _of_protobuf(body: bytes) -> Mapping[str, Any]:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request: Mapping[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
        return request
    except DecodeError as error:
        raise ValueError(str(error)) from None


@contextmanager
def listening(port: int, traces: Traces) -> Iterator[int]:
    """Take traces on this machine at `port` (0: any that is free), and yield the port, until the block ends.

    Raises:
        UsageError: the port is taken, or may not be used.

    """
    handler = type("Handler", (_Handler,), {"traces": traces})
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UsageError(f"Port {port} cannot be used: {error.strerror}. Give another one: --port.") from None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Refused(UsageError):
    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """Takes POST /v1/traces. Its types of content make a browser ask first whether it may, which is not answered."""

    traces: Traces
    timeout = 10

    def do_POST(self) -> None:
        kind = self.headers.get_content_type()
        try:
            self._take(kind)
            status, body = 200, b"{}" if kind == JSON else b""  # an empty ExportTraceServiceResponse
        except UsageError as error:
            status, kind = getattr(error, "status", 400), JSON
            body = json.dumps({"message": str(error)}).encode()
        self.close_connection = status != 200  # what was not read would be taken for the next request
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _take(self, kind: str) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path.partition("?")[0] != PATH or (self.headers.get("Host") or "").rpartition(":")[0] not in HOSTS:
            raise _Refused(404, f"Traces are taken at {PATH}, from this machine.")
        if kind not in (JSON, PROTOBUF):
            raise _Refused(415, f"Send {PROTOBUF} or {JSON}.")
        if not length.isdecimal() or int(length) > LARGEST:
            # A sender that is still writing hears no refusal: what is not taken is read, as far as that is worth it.
            left = min(int(length), 16 * LARGEST) if length.isdecimal() else 0
            while left > 0 and (read := self.rfile.read(min(left, 2**16))):
                left -= len(read)
            raise _Refused(413, f"A body has its Content-Length, and at most {LARGEST:,} bytes.")
        spans = spans_of(self.rfile.read(int(length)), kind, self.headers.get("Content-Encoding", ""))
        self.traces.add(spans, int(length), time.monotonic())

    def log_message(self, *args: object) -> None:
        """Log nothing: paths and addresses are the person's."""
