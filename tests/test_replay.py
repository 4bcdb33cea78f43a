"""The prompts behind a judged question are built again as the endpoint received them, over real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragviz.core.call import Call
from ragviz.core.configuration import RunConfig
from ragviz.core.recording import Context
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


def test_a_prompt_of_another_version_is_not_made_up(endpoint: ModelServer) -> None:
    workspace = open_workspace()
    run_id, found = judged(workspace)
    run, question_id = workspace.store.runs.get(run_id), next(iter(found))
    evaluated = workspace.store.judgements.all(run_id)[question_id]

    def older(call: Call) -> Call:
        return replace(call, prompt="0") if call.step == "claims" else call

    result = next(each for each in workspace.store.rankings.all(run_id) if each.question_id == question_id)
    changed = replace(evaluated, calls=tuple(map(older, evaluated.calls)))
    exchanged = {e.call.step: e for e in exchanges.exchanges_of(workspace, run, result, changed)}
    assert exchanged["claims"].messages is None
    assert "version 0" in exchanged["claims"].why
    assert exchanged["context"].messages == next(e.messages for e in found[question_id] if e.call.step == "context")


def test_a_context_that_changed_is_told(endpoint: ModelServer) -> None:
    workspace = open_workspace()
    run_id, found = judged(workspace)
    run, question_id = workspace.store.runs.get(run_id), next(i for i, f in found.items() if f)
    evaluated = workspace.store.judgements.all(run_id)[question_id]
    moved = replace(evaluated, recording=replace(evaluated.recording, contexts=(Context(chunk_id="other"),)))
    result = next(each for each in workspace.store.rankings.all(run_id) if each.question_id == question_id)
    assert {e.why for e in exchanges.exchanges_of(workspace, run, result, moved)} == {replay.CHANGED_CONTEXT}


def test_calls_behind_pooled_verdicts_are_told_from_those_of_the_run(endpoint: ModelServer) -> None:
    workspace = open_workspace()
    judged(workspace, k=2)
    received = len(sent(endpoint))
    config = RunConfig(
        "small", "asked", "bm25", k=3, depth=20, answerer="extractive", metrics=METRICS, judge="loopback"
    )
    run = running.run(workspace, "second", config)
    results = {each.question_id: each for each in workspace.store.rankings.all(run.id)}
    evaluated = workspace.store.judgements.all(run.id)
    found = [
        exchange for i, e in evaluated.items() for exchange in exchanges.exchanges_of(workspace, run, results[i], e)
    ]
    pooled = [exchange for exchange in found if exchange.why == replay.POOLED]
    assert pooled, "chunks were judged for the first run"
    assert all(exchange.call.cached and exchange.call.step == "context" for exchange in pooled)
    own = [exchange for exchange in found if exchange.call.step == "context" and exchange not in pooled]
    assert set(rebuilt(own)) <= set(sent(endpoint)[received:]), "what was asked about the others is built again"
    assert own
