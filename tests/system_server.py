"""A running system on loopback, to be asked as a target: real HTTP, answers of a function, faults by a script."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("late", "drop", "half", "page", "429")


class SystemServer:
    """Answers `{"id": …, "question": …}` with `answers(body)` as JSON while the `with` block lasts.

    `fail` is the share of calls with one of `faults`, `script` the faults of the next calls ("ok": none; a pair is a
    status and a body; "events" and "lines" stream the answer by halves). `paid` counts whole answers by id of question;
    `seen` are the headers of the calls.
    """

    def __init__(
        self, answers: Callable[[Mapping[str, Any]], Mapping[str, Any]], *, fail: float = 0.0, latency: float = 0.0
    ) -> None:
        self.answers, self.fail, self.latency, self.faults = answers, fail, latency, FAULTS
        self.script: deque[Any] = deque()
        self.paid: Counter[str] = Counter()
        self.seen: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        self.most = self.now = 0
        self._random, self._lock = random.Random(1), threading.Lock()
        self._http = _HTTPServer(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/ask"

    def __enter__(self) -> SystemServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def fault(self) -> Any:
        with self._lock:
            if self.script:
                return self.script.popleft()
            return self._random.choice(self.faults) if self._random.random() < self.fail else "ok"


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: SystemServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HTTPServer

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with owner._lock:
            owner.now += 1
            owner.most = max(owner.most, owner.now)
            owner.bodies.append(body)
            owner.seen.append(dict(self.headers))
        try:
            time.sleep(owner.latency)
            self._answer(owner.fault(), body)
        finally:
            with owner._lock:
                owner.now -= 1

    def do_GET(self) -> None:
        self._send(200, json.dumps(self.server.owner.answers({"path": self.path})))

    def _answer(self, fault: Any, body: Mapping[str, Any]) -> None:
        owner = self.server.owner
        if isinstance(fault, tuple):
            self._send(*fault)
        elif fault == "late":
            time.sleep(1.2)
            self.close_connection = True
        elif fault == "drop":
            self.close_connection = True
        elif fault == "half":
            self._send(200, json.dumps(owner.answers(body)), part=0.5)
        elif fault == "page":
            self._send(200, "<html><title>Bad gateway</title><p>Try later</p></html>", kind="text/html")
        elif fault == "429":
            self._send(429, '{"error": {"message": "Slow down"}}', after="0.05")
        else:
            told = owner.answers(body)
            with owner._lock:
                owner.paid[str(body.get("id", ""))] += 1
            self._send(200, {"events": _events, "lines": _lines}.get(fault, json.dumps)(told))

    def _send(self, status: int, text: str, part: float = 1.0, after: str = "", kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if after:
            self.send_header("Retry-After", after)
        if 300 <= status < 400:
            self.send_header("Location", text)
        self.end_headers()
        self.wfile.write(data[: int(len(data) * part)])
        self.close_connection = part < 1 or self.close_connection

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _halves(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = told["answer"]
    half = len(text) // 2
    return [{"answer": text[:half]}, {"answer": text[half:]}, {**told, "answer": None}]


def _events(told: Mapping[str, Any]) -> str:
    return "".join(f"event: message\r\ndata: {json.dumps(each)}\r\n\r\n" for each in _halves(told)) + "data: [DONE]\n\n"


def _lines(told: Mapping[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in _halves(told))
