"""Security in front of a real Elasticsearch node that has none: TLS, sign-in and privileges.

The node that `make elasticsearch` builds has no module for security: Elastic's own could not be fetched where this was
written. This forwards what a user may ask, and refuses the rest with the status and the words of that module.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

API_KEY = base64.b64encode(b"id:secret").decode()
BUILDER = ("builder", "pass/word@1")
READER = ("reader", "reads-only")
READS = ("_search", "_msearch", "_count", "_stats", "_mapping", "_alias")
DENIED = (
    "action [indices:admin/create] is unauthorized for user [reader] with effective roles [reader] on indices [{}], "
    "this action is granted by the index privileges [create_index,manage,all]"
)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Handler(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        sent = self.headers.get("authorization", "")
        names = {f"ApiKey {API_KEY}": "key", basic(*BUILDER): "builder", basic(*READER): "reader"}
        index, _, verb = self.path.partition("?")[0][1:].partition("/")
        reads = self.command in ("GET", "HEAD") or verb in READS
        if sent not in names:
            words = "unable to authenticate user" if sent else "missing authentication credentials"
            self.refuse(401, f"{words} for REST request [{self.path}]")
        elif names[sent] == "reader" and not reads:
            self.refuse(403, DENIED.format(index))
        else:
            self.forward(body)

    def forward(self, body: bytes) -> None:
        node = http.client.HTTPConnection(self.server.node, timeout=60)
        kept = ("content-type", "accept")
        node.request(self.command, self.path, body, {name: self.headers[name] for name in kept if self.headers[name]})
        reply = node.getresponse()
        self.give(reply.status, reply.read(), dict(reply.getheaders()))
        node.close()

    def refuse(self, status: int, reason: str) -> None:
        error = {"type": "security_exception", "reason": reason}
        body = {"error": {"root_cause": [error], **error}, "status": status}
        self.give(status, json.dumps(body).encode(), {"content-type": "application/json"})

    def give(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() in ("content-type", "x-elastic-product"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *args: Any) -> None:
        pass


class Front(ThreadingHTTPServer):
    def __init__(self, node: str, certificate: Path) -> None:
        self.node = urlsplit(node).netloc
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, *_: object) -> None:
        """A handshake that the client ends."""


@contextmanager
def secured(node: str, certificate: Path) -> Iterator[str]:
    """The address of the node with security, by a PEM file of key and certificate."""
    front = Front(node, certificate)
    threading.Thread(target=front.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://127.0.0.1:{front.server_port}"
    front.shutdown()
    front.server_close()
