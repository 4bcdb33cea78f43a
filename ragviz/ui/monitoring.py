"""What watches the dashboard asks it, on a port of its own: GET /healthz, and GET /metrics in Prometheus's text format.

The figures of jobs and models are sums that the database makes over all that it holds: they are the same whichever
process is asked. Those of requests and errors are of this process.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

from ragviz import __version__, logs
from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.settings import settings
from ragviz.store import database
from ragviz.ui import cache
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("ragviz")


class Requests:
    """ASGI middleware that counts answers by status, the seconds until these began, and the connected browsers."""

    counts: ClassVar[Counter[str]] = Counter()
    seconds = 0.0
    browsers = 0

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it."""
        if scope["type"] == "websocket":
            Requests.browsers += 1
            try:
                await self._app(scope, receive, send)
            finally:
                Requests.browsers -= 1
            return
        began = time.monotonic()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                Requests.seconds += time.monotonic() - began
                Requests.counts[str(message["status"])] += 1
            await send(message)

        await self._app(scope, receive, send_counted)


class Errors(logging.Filter):
    """Counts what is logged as an error, defects of pages among it, and filters nothing."""

    count = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Count a record."""
        Errors.count += record.levelno >= logging.ERROR
        return True


def figures(workspace: Workspace) -> Iterator[str]:
    """Yield the lines of all figures; the store is asked twice, however much it holds."""
    yield from _lines("ragviz_info", "gauge", "Version of ragviz.", [(f'{{version="{__version__}"}}', 1)])
    jobs = workspace.store.jobs.sums()
    of = [(f'{{kind="{row.kind}",status="{row.status}"}}', row) for row in jobs]
    yield from _lines("ragviz_jobs", "gauge", "Jobs in the store.", [(labels, row.jobs) for labels, row in of])
    queued = [time.time() - row.first for row in jobs if row.status == "queued"]
    oldest = [("", max(queued, default=0))]
    yield from _lines("ragviz_queue_wait_seconds", "gauge", "Age of the oldest waiting job.", oldest)
    waited, worked = ([(labels, getattr(row, part) or 0) for labels, row in of] for part in ("waited", "worked"))
    yield from _lines("ragviz_jobs_waited_seconds", "gauge", "Seconds that these jobs waited for their turn.", waited)
    yield from _lines("ragviz_jobs_worked_seconds", "gauge", "Seconds that these jobs took.", worked)
    paid = workspace.store.payments.sum()
    tokens = (('{kind="prompt"}', paid.prompt_tokens), ('{kind="completion"}', paid.completion_tokens))
    yield from _lines("ragviz_model_calls", "gauge", "Calls of models for what is in the store.", [("", paid.calls)])
    yield from _lines("ragviz_model_tokens", "gauge", "Tokens of these calls.", tokens)
    yield from _lines("ragviz_model_dollars", "gauge", "Cost of these calls.", [("", paid.dollars)])
    free = shutil.disk_usage(workspace.settings.home).free
    yield from _lines("ragviz_home_free_bytes", "gauge", "Room on the disk of RAGVIZ_HOME.", [("", free)])
    yield from _lines("ragviz_browsers", "gauge", "Connected browsers.", [("", Requests.browsers)])
    yield from _lines("ragviz_errors_total", "counter", "Errors logged by this process.", [("", Errors.count)])
    by_status = [(f'{{code="{status}"}}', count) for status, count in sorted(Requests.counts.copy().items())]
    yield from _lines("ragviz_http_responses_total", "counter", "Answers by this process.", by_status)
    took = [("", Requests.seconds)]
    yield from _lines("ragviz_http_response_seconds_total", "counter", "Seconds until these answers began.", took)


def _lines(name: str, kind: str, words: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield from (f"# HELP {name} {words}", f"# TYPE {name} {kind}")
    yield from (f"{name}{labels} {value}" for labels, value in values)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        try:
            with database.answering():
                if self.path == "/metrics":
                    self._answer(200, "\n".join([*figures(cache.machine()), ""]))
                elif self.path == "/healthz":
                    cache.machine().store.check()
                    self._answer(200, "ok\n")
                else:
                    self._answer(404, "There are /healthz and /metrics.\n")
        except RagvizError as error:
            self._answer(503, f"{error}\n")

    def _answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing: it is asked every few seconds."""


def listen(address: str) -> ThreadingHTTPServer:
    """Listen at RAGVIZ_METRICS, "host:port" or a port of 127.0.0.1, in a thread.

    Raises:
        UsageError: the address cannot be listened at.

    """
    host, _, port = address.rpartition(":")
    try:
        server = ThreadingHTTPServer((host.strip("[]") or "127.0.0.1", int(port)), _Handler)
    except OSError as error:
        raise UsageError(
            f"RAGVIZ_METRICS is {address!r}, where nothing can listen ({error.strerror}): name a free port of this "
            "machine, or an address of it with a port."
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@asynccontextmanager
async def lifespan(_: Any) -> AsyncIterator[None]:
    """Log as configured, and answer what watches, as long as the dashboard's server lives."""
    watched = None
    _log.addFilter(Errors())
    try:
        configured = settings()
        logs.configure(configured)
        _log.info("The dashboard of ragviz %s serves", __version__)
        watched = listen(configured.metrics) if configured.metrics else None
    except UsageError as error:  # pages say what setting cannot be used
        _log.error("%s", error)
    yield
    if watched is not None:
        watched.shutdown()
