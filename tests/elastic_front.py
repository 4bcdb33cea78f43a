"""Security in front of a real Elasticsearch node that has none: TLS, sign-in and privileges.

The node that `make elasticsearch` builds has no module for security: Elastic's own could not be fetched where this was
written. This forwards what a user may ask, and refuses the rest with the status and the words of that module.
"""

import base64
import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

from tests.loopback import Handler, Loopback, Reply

API_KEY = base64.b64encode(b"id:secret").decode()
BUILDER = ("builder", "pass/word@1")
READER = ("reader", "reads-only")
PASSED_ON = ("content-type", "x-elastic-product")
READS = ("_search", "_msearch", "_count", "_stats", "_mapping", "_alias")
DENIED = (
    "action [indices:admin/create] is unauthorized for user [reader] with effective roles [reader] on indices [{}], "
    "this action is granted by the index privileges [create_index,manage,all]"
)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Front(Loopback):
    """The node with security, by a PEM file of key and certificate."""

    def __init__(self, node: str, certificate: Path) -> None:
        super().__init__(certificate=certificate)
        self.node = urlsplit(node).netloc

    def answer(self, request: Handler, body: bytes) -> Reply:
        sent = request.headers.get("authorization", "")
        names = {f"ApiKey {API_KEY}": "key", basic(*BUILDER): "builder", basic(*READER): "reader"}
        index, _, verb = request.path.partition("?")[0][1:].partition("/")
        reads = request.command in ("GET", "HEAD") or verb in READS
        if sent not in names:
            words = "unable to authenticate user" if sent else "missing authentication credentials"
            return refused(401, f"{words} for REST request [{request.path}]")
        if names[sent] == "reader" and not reads:
            return refused(403, DENIED.format(index))
        node = http.client.HTTPConnection(self.node, timeout=60)
        kept = {name: request.headers[name] for name in ("content-type", "accept") if request.headers[name]}
        node.request(request.command, request.path, body, kept)
        reply = node.getresponse()
        headers = {name.title(): value for name, value in reply.getheaders() if name.lower() in PASSED_ON}
        given = reply.status, reply.read(), headers
        node.close()
        return given


def refused(status: int, reason: str) -> Reply:
    error = {"type": "security_exception", "reason": reason}
    return status, json.dumps({"error": {"root_cause": [error], **error}, "status": status}).encode(), {}
