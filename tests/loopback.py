"""Servers on loopback: real HTTP, answered by a method, in a thread while a `with` block lasts."""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

Reply = tuple[int, bytes, Mapping[str, str]]
"""Status, body, and headers beside its length and its type, which is JSON."""


class Handler(BaseHTTPRequestHandler):
    """Hands each request with its body to the server, and sends what it returns."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def handle_request(self) -> None:
        reply = self.server.answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if reply is not None:
            self.send(*reply)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = lambda self: self.handle_request()  # noqa: N815

    def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        common = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**common, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Loopback(ThreadingHTTPServer):
    """A server at `url`, over TLS by a PEM file with key and certificate; `connections` counts those made to it."""

    daemon_threads = True
    request_queue_size = 256
    connections = 0

    def __init__(self, handler: type[BaseHTTPRequestHandler] = Handler, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http{'s' * bool(certificate)}://127.0.0.1:{self.server_port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def answer(self, request: Handler, body: bytes) -> Reply | None:
        """Return what is sent; None for nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Print nothing of connections that a client ends."""


@contextmanager
def hanging(*, full: bool) -> Iterator[int]:
    """A port where connections are taken and nothing is said; with a full queue none is taken."""
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0 if full else 64))
        for _ in range(4 * full):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]
