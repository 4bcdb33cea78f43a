"""The prompts behind a judged question are built again as the endpoint received them, over real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragviz.core.configuration import RunConfig
from ragviz.judging import replay
from ragviz.runs import exchanges, running
from ragviz.workspace import Workspace, open_workspace
from tests.model_server import ModelServer
from tests.test_pages import bare, built, home  # noqa: F401 - fixtures

METRICS = ("faithfulness", "context_recall", "completeness", "equivalence", "answer_relevancy", "questeval_recall")
OF_CONTEXTS = ("faithfulness", "context_recall")


@pytest.fixture
def endpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> ModelServer:  # noqa: F811
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("RAGVIZ_MODEL", "loopback")
        yield server


def judged(workspace: Workspace, **changes: object) -> tuple[str, dict[str, list[replay.Exchange]]]:
    """Judge a run, and return its id and the exchanges of each question."""
    config = RunConfig("small", "asked", "bm25", depth=20, answerer="model", metrics=METRICS)
    run = running.run(workspace, "replayed", replace(config, **changes))
    results = {each.question_id: each for each in workspace.store.rankings.all(run.id)}
    evaluated = workspace.store.judgements.all(run.id)
    return run.id, {i: exchanges.exchanges_of(workspace, run, results[i], e) for i, e in evaluated.items()}


def sent(server: ModelServer) -> list[tuple[tuple[str, str], ...]]:
    return [tuple((m["role"], m["content"]) for m in body["messages"]) for body in server.bodies if "messages" in body]


def rebuilt(found: Sequence[replay.Exchange]) -> list[tuple[tuple[str, str], ...]]:
    assert all(exchange.messages is not None for exchange in found), [exchange.why for exchange in found]
    return [tuple((m["role"], m["content"]) for m in exchange.messages or ()) for exchange in found]


@pytest.mark.parametrize("context", ["retrieved", "none", "oracle"])
def test_every_prompt_is_built_again_as_the_endpoint_received_it(endpoint: ModelServer, context: str) -> None:
    workspace = open_workspace()
    measured = METRICS if context != "none" else tuple(name for name in METRICS if name not in OF_CONTEXTS)
    run_id, _ = judged(workspace, context=context, metrics=measured)
    run, received = workspace.store.runs.get(run_id), sent(endpoint)
    results = {each.question_id: each for each in workspace.store.rankings.all(run_id)}
    evaluated = workspace.store.judgements.all(run_id)
    found = {i: exchanges.exchanges_of(workspace, run, results[i], each) for i, each in evaluated.items()}
    calls = [exchange for of_question in found.values() for exchange in of_question]
    steps = {"answer", "reference", "bank"} | ({"claims", "context", "comparison"} if context == "retrieved" else set())
    assert {exchange.call.step for exchange in calls} >= steps
    assert set(rebuilt(calls)) <= set(received)
    assert len(received) == len(endpoint.bodies), "nothing is asked to show a prompt"
