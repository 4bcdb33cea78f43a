"""A running system on loopback, to be asked as a target: real HTTP, answers of a function, faults by a script."""

import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from tests.loopback import Handler, Loopback, Reply

FAULTS = ("late", "drop", "half", "page", "429")


class SystemServer(Loopback):
    """Answers `{"id": …, "question": …}`, or a path, with `answers(body)` as JSON while the `with` block lasts.

    `fail` is the share of calls with one of `faults`, `script` the faults of the next calls ("ok": none; a pair is a
    status and a body; "events" and "lines" stream the answer by halves). `paid` counts whole answers by id of question;
    `seen` are the headers of the calls.
    """

    def __init__(
        self, answers: Callable[[Mapping[str, Any]], Mapping[str, Any]], *, fail: float = 0.0, latency: float = 0.0
    ) -> None:
        super().__init__()
        self.url += "/ask"
        self.answers, self.fail, self.latency, self.faults = answers, fail, latency, FAULTS
        self.script: deque[Any] = deque()
        self.paid: Counter[str] = Counter()
        self.seen: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        self.most = self.now = 0
        self._random, self._lock = random.Random(1), threading.Lock()

    def answer(self, request: Handler, body: bytes) -> Reply | None:
        asked = json.loads(body) if body else {"path": request.path}
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.bodies.append(asked)
            self.seen.append(dict(request.headers))
            fails = self._random.random() < self.fail
            fault = self.script.popleft() if self.script else self._random.choice(self.faults) if fails else "ok"
        try:
            time.sleep(self.latency)
            return self._reply(request, fault, asked)
        finally:
            with self._lock:
                self.now -= 1

    def _reply(self, request: Handler, fault: Any, asked: Mapping[str, Any]) -> Reply | None:
        if isinstance(fault, tuple):
            status, text = fault
            return status, text.encode(), {"Location": text} if 300 <= status < 400 else {}
        if fault in ("late", "drop"):
            time.sleep(1.2 if fault == "late" else 0.0)
            request.close_connection = True
            return None
        if fault == "page":
            return 200, b"<html><title>Bad gateway</title><p>Try later</p></html>", {"Content-Type": "text/html"}
        if fault == "429":
            return 429, b'{"error": {"message": "Slow down"}}', {"Retry-After": "0.05"}
        whole = {"events": _events, "lines": _lines}.get(fault, json.dumps)(self.answers(asked)).encode()
        if fault == "half":
            request.close_connection = True
            return 200, whole[: len(whole) // 2], {"Content-Length": str(len(whole))}
        with self._lock:
            self.paid[str(asked.get("id", ""))] += 1
        return 200, whole, {}


def _halves(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = told["answer"]
    half = len(text) // 2
    return [{"answer": text[:half]}, {"answer": text[half:]}, {**told, "answer": None}]


def _events(told: Mapping[str, Any]) -> str:
    return "".join(f"event: message\r\ndata: {json.dumps(each)}\r\n\r\n" for each in _halves(told)) + "data: [DONE]\n\n"


def _lines(told: Mapping[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in _halves(told))
