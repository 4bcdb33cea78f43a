"""The server answers its own names and pages only: a real server, asked over real sockets."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from starlette.applications import Starlette

from ragviz.guard import Guard

ROOT = Path(__file__).resolve().parent.parent
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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = int(probe.getsockname()[1])
    env = os.environ | {
        "RAGVIZ_HOME": str(tmp_path_factory.mktemp("home")),
        "RAGVIZ_ALLOWED_HOSTS": "ragviz.example, Proxy.Example.",
    }
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true", f"--server.port={number}"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                assert asked(number, "/_stcore/health", {"Host": "127.0.0.1"})[0] == 200
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        yield number
    finally:
        process.terminate()
        process.wait(timeout=30)


def asked(port: int, path: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str]]:
    """Status and headers of the answer to one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest("GET", path, skip_host=True)
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
    ],
)
def test_foreign_pages_do_not(port: int, host: str, origin: str | None) -> None:
    assert handshake(port, host, origin) == 403


def handshake(port: int, host: str, origin: str | None) -> int:
    headers = {"Host": host.format(port=port), **HANDSHAKE}
    if origin is not None:
        headers["Origin"] = origin.format(port=port)
    return asked(port, "/_stcore/stream", headers)[0]


def test_nothing_frames_it(port: int) -> None:
    status, headers = asked(port, "/", {"Host": f"127.0.0.1:{port}"})
    assert status == 200
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert headers["x-frame-options"] == "DENY"


def test_files_are_guarded_too(port: int) -> None:
    assert asked(port, "/", {"Host": "evil.example"})[0] == 403
    assert asked(port, "/_stcore/health", {"Host": f"127.0.0.1:{port}", "Origin": "http://evil.example"})[0] == 403


def test_a_refusal_names_the_variable() -> None:
    guard = Guard(Starlette())
    assert guard.refusal("ragviz.example", None) == (
        "The host 'ragviz.example' is not one this dashboard answers to: name it in RAGVIZ_ALLOWED_HOSTS."
    )
