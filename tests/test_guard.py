"""The server answers its own names and pages only: a real server, asked over real sockets."""

import asyncio
import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from ragviz.ui.server import Guard
from tests.test_browser import serving

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "streamlit",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of a dashboard that is also known as ragviz.example."""
    with serving(tmp_path_factory.mktemp("guard"), RAGVIZ_ALLOWED_HOSTS="ragviz.example, Proxy.Example.") as server:
        yield urlsplit(server.url).port


def response_to(port: int, path: str, headers: Mapping[str, str], method: str = "GET") -> tuple[int, Mapping[str, str]]:
    """Status and headers of the answer to one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()


OWN = "127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (OWN, f"http://{OWN}"),
        ("localhost:{port}", "http://localhost:{port}"),
        ("[::1]:{port}", "http://[::1]:{port}"),
        ("ragviz.example", "https://ragviz.example"),
        ("proxy.example", "https://proxy.example"),
        (OWN, None),
    ],
)
def test_its_own_pages_open_the_socket(port: int, host: str, origin: str | None) -> None:
    assert handshake(port, host, origin) == 101


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example:{port}", "http://evil.example:{port}"),  # a name made to resolve to 127.0.0.1
        ("evil.example", None),
        ("127.0.0.1.evil.example:{port}", "http://127.0.0.1.evil.example:{port}"),
        (OWN, "http://evil.example"),
        (OWN, "https://ragviz.example"),
        (OWN, "http://localhost:{port}"),  # another origin for a browser, and for us
        (OWN, "http://127.0.0.1:1"),
        (OWN, "null"),
        (OWN, "http://[broken"),
        ("", None),
        ("evil.example@" + OWN, None),  # odd forms that no browser sends, and that a proxy may read otherwise
        (OWN + ", evil.example", None),
        (OWN + "/evil.example", None),
        ("127.0.0.1:999999", None),
        ("[::1", None),
        (OWN, "chrome-extension://" + OWN),
        (OWN, "http://" + OWN + "/"),
        (OWN, "http://evil.example@" + OWN),
    ],
)
def test_foreign_pages_do_not(port: int, host: str, origin: str | None) -> None:
    assert handshake(port, host, origin) == 403


def handshake(port: int, host: str, origin: str | None) -> int:
    headers = {"Host": host.format(port=port), **HANDSHAKE}
    if origin is not None:
        headers["Origin"] = origin.format(port=port)
    return response_to(port, "/_stcore/stream", headers)[0]


def test_nothing_frames_it(port: int) -> None:
    status, headers = response_to(port, "/", {"Host": f"127.0.0.1:{port}"})
    assert status == 200
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert headers["x-frame-options"] == "DENY"


PATHS = [
    *("/", "/settings", "/_stcore/health", "/_stcore/host-config", "/_stcore/upload_file/session/file", "/media/file"),
    *("/_stcore/agent/interact", "/_stcore/agent/mcp", "/_stcore/metrics", "/component/a/b", "/app/static/a"),
    *("/static/a.js", "//evil.example/", "/static/../../../etc/passwd", "/component/%2e%2e/%2e%2e/etc/passwd"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_everything_is_guarded(port: int, path: str, method: str) -> None:
    own, evil = f"127.0.0.1:{port}", "http://evil.example"
    assert response_to(port, path, {"Host": "evil.example", "X-Forwarded-Host": own}, method)[0] == 403
    assert response_to(port, path, {"Host": own, "Origin": evil, "Content-Length": "0"}, method)[0] == 403


def test_a_request_is_taken_by_its_host_header_and_has_one(port: int) -> None:
    own = f"127.0.0.1:{port}"
    for lines, status in {
        (f"GET http://{own}/ HTTP/1.1", "Host: evil.example"): 403,
        ("GET / HTTP/1.0",): 403,
        ("GET / HTTP/1.1",): 400,
        ("GET / HTTP/1.1", f"Host: {own}", "Host: evil.example"): 400,
        ("GET / HTTP/1.1", "Host: evil.example", f"Host: {own}"): 400,
    }.items():
        with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
            raw.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
            assert int(raw.recv(100).split()[1]) == status, lines


def test_a_refusal_names_the_variable() -> None:
    guard = Guard(Starlette())
    assert guard.refusal("ragviz.example", None) == (
        "The host 'ragviz.example' is not one this dashboard answers to: name it in RAGVIZ_ALLOWED_HOSTS."
    )


def test_a_browser_that_goes_while_it_is_sent_something_ends_its_session_without_an_error() -> None:
    """Streamlit sends from one task and receives in another: the one that receives is to see that the browser went."""
    ended: list[int] = []

    async def session(socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            await socket.send_bytes(b"what is drawn")
        try:
            await socket.receive_bytes()
        except WebSocketDisconnect as gone:
            ended.append(gone.code)

    async def receive() -> Message:
        return coming.pop(0)

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            raise OSError("the browser is gone")

    coming: list[Message] = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1001}]
    scope = {"type": "websocket", "path": "/", "root_path": "", "headers": [(b"host", b"localhost")]}
    asyncio.run(Guard(Starlette(routes=[WebSocketRoute("/", session)]))(scope, receive, send))
    assert ended == [1001]
