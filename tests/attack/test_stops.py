"""A person stops a job while its calls wait: it ends within two seconds, whatever they wait for."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from ragviz import jobs, stopping
from ragviz.errors import Cancelled
from ragviz.judging import claims, work
from ragviz.models import weights
from ragviz.runs import running
from ragviz.text import words
from ragviz.workspace import Workspace
from tests import model_server
from tests.attack import seeds
from tests.model_server import ModelServer
from tests.test_running import config, environment, server, workspace  # noqa: F401 - fixtures

LONG = 20.0
"""Seconds that what is waited for would last."""


def _silent(handler: model_server._Handler) -> None:
    time.sleep(LONG)


def _trickled(handler: model_server._Handler, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n") -> None:
    handler.wfile.write(head)
    for _ in range(int(LONG)):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(1.0)


def _failing(status: int, **headers: str) -> Callable[[model_server._Handler], None]:
    def answer(handler: model_server._Handler) -> None:
        handler.error(status, "not now", headers={name.replace("_", "-"): value for name, value in headers.items()})

    return answer


WAITS: dict[str, Callable[[model_server._Handler], None]] = {
    "a server that never answers": _silent,
    "a byte a second": _trickled,
    "a byte a second of the head": lambda handler: _trickled(handler, b"HTTP/1.1 200 OK\r\nX: "),
    "a retry": _failing(500),
    "an outage": _failing(503),
    "a server that says when": _failing(429, Retry_After="100"),
}


def stuck(monkeypatch: pytest.MonkeyPatch, wait: str, path: str) -> threading.Event:
    """Have calls to addresses that end so wait; tells of the first."""
    real, came = model_server._Handler.answer, threading.Event()

    def answer(handler: model_server._Handler, body: dict, fault: str) -> bool:
        if not handler.path.endswith(path):
            return real(handler, body, fault)
        came.set()
        WAITS[wait](handler)
        handler.close_connection = True
        return False

    monkeypatch.setattr(model_server._Handler, "answer", answer)
    return came


def seconds_to_stop(opened: Workspace, came: threading.Event, kind: str, arguments: dict) -> float:
    """Do a job in a thread, stop it a little after its first call, and tell how long that took."""
    job = opened.store.create_job(kind, "it", "", arguments)
    ends: list[BaseException] = []

    def perform() -> None:
        try:
            jobs.perform(opened, job.id)
        except BaseException as error:
            ends.append(error)

    thread = threading.Thread(target=perform)
    thread.start()
    assert came.wait(60)
    time.sleep(0.3)
    started = time.monotonic()
    jobs.cancel(opened, opened.store.job(job.id))
    thread.join(60)
    took = time.monotonic() - started
    assert [type(error) for error in ends] == [Cancelled]
    assert opened.store.job(job.id).status == "cancelled"
    return took


@pytest.mark.parametrize("_", seeds(1, 5))
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("work", ["judging", "retrieving", "questions"])
def test_a_job_that_is_stopped_ends_within_two_seconds(workspace, monkeypatch, wait, work, _):  # noqa: F811
    workspace.client("loopback")._backoff = 8.0
    choices = asdict(replace(config(), retriever="knn" if work == "retrieving" else "bm25"))
    run = ("run", {"name": "r", "config": choices, "budget": None})
    made = ("questions", {"index": "i", "name": "made", "generator": "model", "limit": 6})
    came = stuck(monkeypatch, wait, "/embeddings" if work == "retrieving" else "/completions")
    kind, arguments = made if work == "questions" else run
    took = [seconds_to_stop(workspace, came, kind, arguments)]
    while took[-1] >= 2.0 and len(took) < 3:  # a machine that does much else may be late once
        came.clear()
        took.append(seconds_to_stop(workspace, came, kind, arguments | {"name": f"again {len(took)}"}))
    assert min(took) < 2.0


@pytest.mark.parametrize("loads", ["words", "the embedder"])
def test_a_run_that_is_stopped_while_it_loads_libraries_ends_within_two_seconds(workspace, monkeypatch, loads):  # noqa: F811
    came = threading.Event()

    def load(*_: object, **__: object) -> None:
        came.set()
        time.sleep(LONG)

    if loads == "words":
        monkeypatch.setattr(words, "load", load)
    else:
        workspace.settings.embedder = weights.PACKAGED
        monkeypatch.setattr(weights, "_load", load)
    choices = asdict(config(metrics=("embedding_similarity",)))
    assert seconds_to_stop(workspace, came, "run", {"name": "r", "config": choices, "budget": None}) < 2.0


def test_what_is_in_flight_comes_home_when_it_is_quick(workspace, server, monkeypatch):  # noqa: F811
    """A stop leaves a little time to replies that are paid; the run goes on with them."""
    monkeypatch.setattr(stopping, "GRACE", 30.0)
    server.latency = 0.2

    def stop(done: int, _: int | None, __: str, message: str = "") -> None:
        if done and message.startswith(work.WORKING):
            raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        running.run(workspace, "r", config(metrics=("token_f1",)), progress=stop)
    server.latency = 0.0
    running.run(workspace, "r", config(metrics=("token_f1",)))
    asked = [str(body["messages"]) for body in server.bodies if "messages" in body]
    assert len(set(asked)) == len(asked), "no call was paid twice"


def test_a_person_who_stops_one_run_stops_no_other(workspace, server):  # noqa: F811
    with ModelServer(latency=0.2) as slow:
        client = Workspace(workspace.settings.model_copy(update={"openai_base_url": slow.url})).client("m")
        request = claims.claims_request("When?", "It was replaced in 1998.")
        halt, replies = stopping.Stopping(), []

        def first() -> None:
            stopping.follow(halt)
            with pytest.raises(Cancelled):
                client.ask(request)

        threads = [threading.Thread(target=work) for work in (first, lambda: replies.append(client.ask(request)))]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        halt.drop(0)
        for thread in threads:
            thread.join(20)
    assert [reply.parsed is not None for reply in replies] == [True]
