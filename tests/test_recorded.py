"""Runs recorded of a running system: nothing is lost and nothing paid twice, whatever fails and whoever is killed."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ragviz
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Span
from ragviz.core.errors import NotFoundError, ServiceError, UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.settings import Settings
from ragviz.index import indexing
from ragviz.jobs import worker
from ragviz.library.project import Project
from ragviz.runs import contexts, imports, judgements, measurements, recorded, running
from ragviz.service import target_verbs
from ragviz.targets import logged_file
from ragviz.targets.callables import Called
from ragviz.targets.endpoint import Asker, of_choices
from ragviz.targets.logged_item import Passage
from ragviz.workspace import Workspace
from tests.builders import added, asking
from tests.conftest import ROOT, CommandResult
from tests.system_server import SystemServer

BODY = '{"id": "{{id}}", "question": "{{question}}"}'


def questions_in(workspace: Workspace, count: int) -> QuestionSet:
    corpus = workspace.store.corpora.ensure("pools")
    question_set = workspace.store.sets.add(corpus.id, "asked")
    unknown = ((Span("", 0, 0, "?", stale=True),),)
    questions = [
        Question(f"q{n}", f"When does pool {n} open?", f"Pool {n} opens at {n}.", unknown, "hand", "accepted")
        for n in range(count)
    ]
    workspace.store.questions.put(question_set.id, [*questions, replace(questions[0], id="no", status="rejected")])
    return workspace.store.sets.get("asked")


def told(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"answer": f"Answer to {body['id']}.", "sources": [{"text": f"About {body['id']}"}, {"text": "Common"}]}


def target(server: SystemServer, **choices: Any) -> Any:
    chosen = {"url": server.url, "body": BODY, "contexts": "sources[].text", "timeout": 1.0, "concurrency": 4}
    return of_choices("bot", chosen | choices)


def answers(workspace: Workspace, run: str) -> dict[str, tuple[str, str]]:
    evaluated = workspace.store.judgements.all(workspace.store.runs.get(run).id)
    return {i: (each.recording.status, each.recording.answer) for i, each in evaluated.items()}


@pytest.mark.model
def test_of_a_third_of_faults_and_three_kills_no_item_is_lost_and_none_paid_twice(tmp_path: Path) -> None:
    """Each kill may lose what was in flight, four questions; all else is asked until it is answered, and then never."""
    home = tmp_path / "home"
    workspace = Workspace(Settings(_env_file=None, home=home))
    question_set = questions_in(workspace, 60)
    with SystemServer(told, fail=0.3, latency=0.03) as server:
        workspace.store.targets.add(target(server))
        env = {**os.environ, "RAGVIZ_HOME": str(home), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "ragviz", "runs", "record", "asked", "--target", "bot", "--name", "live"]
        for kill in range(1, 4):
            process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while sum(server.paid.values()) < 12 * kill and process.poll() is None:
                time.sleep(0.01)
            assert process.poll() is None, "it was to be killed at work"
            process.kill()
            process.wait()
        for _ in range(6):
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
            assert done.returncode in (0, 1), done.stderr
            if done.returncode == 0:
                break
            assert "got no answer: the same command asks them again" in done.stderr
        twice = {i: count for i, count in server.paid.items() if count > 1}
        asked = sum(server.paid.values())
        assert subprocess.run(command, env=env, capture_output=True).returncode == 0
        assert sum(server.paid.values()) == asked, "all are answered: none is asked again"
    assert answers(workspace, "live") == {f"q{n}": ("answered", f"Answer to q{n}.") for n in range(60)}
    assert sum(twice.values()) - len(twice) <= 3 * 4, twice
    run = workspace.store.runs.get("live")
    assert (run.status, run.provenance["n"], run.config.questions) == ("done", 60, question_set.id)


def test_what_failed_is_kept_with_its_reason_and_asked_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    question_set = questions_in(workspace, 5)
    with SystemServer(told) as server:
        server.script += ["page", "ok", (500, "Out of memory")]
        asker = Asker(target(server, retries=0, concurrency=1))
        run = recorded.record(workspace, question_set, "live", asker)
        running.judge(workspace, run, ["rouge_l"])  # it stays the same run
        assert [answers(workspace, "live")[f"q{n}"][0] for n in range(5)] == [
            "failed", "answered", "failed", "answered", "answered",
        ]  # fmt: skip
        evaluated = workspace.store.judgements.all(run.id)
        assert "HTTP 500 (Out of memory)" in evaluated["q2"].recording.reason
        assert [*recorded.unanswered(workspace, run)] == ["q0", "q2"]
        assert judgements.check(workspace, run).problems == ("2 questions got no answer.",)
        workspace.store.targets.add(asker.endpoint)
        done = worker.perform_new(workspace, target_verbs.record(workspace, "bot", question_set, "live", {}))
        assert done.result["unanswered"] == {}
        run = workspace.store.runs.get("live")
        assert dict(server.paid) == {f"q{n}": 1 for n in range(5)}
        assert run.provenance["asked"]["target"] == "bot"
        with pytest.raises(UsageError, match="already a run called 'live'"):
            recorded.record(workspace, question_set, "live", Asker(target(server, answer="sources[0].text")))
    monkeypatch.setattr(recorded, "HOPELESS", 3)
    with pytest.raises(
        ServiceError, match=r"3 questions in a row failed, the last so: Target 'bot' .* cannot be reached"
    ):
        recorded.record(workspace, question_set, "gone", Asker(target(server, url="http://127.0.0.1:9/", retries=0)))
    assert workspace.store.runs.find("gone") is None


def test_a_submitted_job_asks_its_target_whatever_it_is_called_by_now_and_calls_no_function(
    workspace: Workspace, command_line: Callable[..., CommandResult]
) -> None:
    question_set = questions_in(workspace, 1)
    with SystemServer(told) as server:
        given = {"url": server.url, "body": BODY}
        target_verbs.add(workspace, "bot", given)
        new = target_verbs.record(workspace, "bot", question_set, "live", {})
        target_verbs.add(workspace, "renamed", given, replaces="bot")
        worker.perform_new(workspace, new)
        assert (dict(server.paid), answers(workspace, "live")["q0"][0]) == ({"q0": 1}, "answered")
    with pytest.raises(UsageError, match="leave out the colon"):
        target_verbs.add(workspace, "subprocess:getoutput", given)
    target_verbs.delete(workspace, "renamed")
    for gone in (new.arguments["target"], "subprocess:getoutput"):
        arguments = {**new.arguments, "target": gone, "name": "gone"}
        with pytest.raises(NotFoundError, match=f"There is no target called '{gone}'"):
            worker.perform_new(workspace, replace(new, arguments=arguments, event=None))
    given = ("--target", "tests.test_recorded:later", "--name", "called")
    assert command_line("runs", "record", "asked", *given)[0] == 0, "in a person's own process"
    assert answers(workspace, "called")["q0"][0] == "answered"


def test_repeats_tell_how_far_a_system_disagrees_with_itself(workspace: Workspace) -> None:
    """By hand: q0 says "p b", "P b", "p c": F1 1, 0.5, 0.5; its contexts {x}, {x}, {x, y}: 1, 0.5, 0.5; q1 is equal."""
    question_set = questions_in(workspace, 2)
    said = {"q0": [("p b", ["x"]), ("P b", ["x"]), ("p c", ["x", "y"])], "q1": [("d", ["z"])] * 3}
    turns = {i: iter(each) for i, each in said.items()}

    def ask(text: str) -> tuple[str, list[str]]:
        return next(turns[f"q{text.split()[3]}"])

    run = recorded.record(workspace, question_set, "live", Called(ask), repeats=3)
    assert run.provenance["agreement"] == {
        "runs": 3, "n": 2, "differ": 0.5, "token_f1": pytest.approx((1 + 0.5 + 0.5 + 3) / 6),
        "jaccard": pytest.approx((1 + 0.5 + 0.5 + 3) / 6),
    }  # fmt: skip
    assert [each.name for each in workspace.store.runs.all() if "repeats of live" in each.tags] == [
        "live, repeat 3", "live, repeat 2", "live",
    ]  # fmt: skip
    assert measurements.agreement_words(run) == (
        "Asked 3 times, it gives 50% of 2 questions different answers; two answers to the same question share 0.83 of "
        "their words (token F1), and 0.83 of their contexts (Jaccard)."
    )


NODE = SimpleNamespace(node=SimpleNamespace(text="N", node_id="n1", metadata={"file_name": "n.txt"}), score=0.7)
DOCUMENT = SimpleNamespace(page_content="P", metadata={"source": "p.pdf"}, id=None)


class Chain:
    def get_input_jsonschema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"input": {"type": "string"}}}

    def invoke(self, given: Mapping[str, str]) -> dict[str, Any]:
        return {"input": given["input"], "context": [DOCUMENT], "answer": "A"}


class Engine:
    def query(self, text: str) -> Any:
        return SimpleNamespace(response="A", source_nodes=[NODE])


class Pipeline:
    def inputs(self) -> dict[str, Any]:
        text = {"type": str, "is_mandatory": True}
        return {"retriever": {"query": text, "top_k": {"type": int}}, "prompt": {"question": text}}

    def outputs(self, include_components_with_connected_outputs: bool = False) -> dict[str, Any]:
        return {"retriever": {"documents": {}}, "llm": {"replies": {}}}

    def run(self, data: Mapping[str, Any], include_outputs_from: set[str]) -> dict[str, Any]:
        assert data == {"retriever": {"query": "Why?"}, "prompt": {"question": "Why?"}}
        assert include_outputs_from == {"retriever"}
        found = [SimpleNamespace(id="d", content="H", meta={"file_path": "h.md"}, score=0.9)]
        return {"retriever": {"documents": found}, "llm": {"replies": ["A", "B"]}}


async def later(text: str) -> dict[str, Any]:
    return {"answer": "A", "contexts": [{"text": "T", "id": 3, "score": 1}], "prompt_tokens": 5}


@pytest.mark.parametrize(
    ("target", "passages"),
    [
        (lambda text: "A", ()),
        (lambda text: ("A", ["one", "two"]), (Passage("one"), Passage("two"))),
        (later, (Passage("T", "3", "", 1.0),)),
        (Chain(), (Passage("P", "", "p.pdf"),)),
        (Engine(), (Passage("N", "n1", "n.txt", 0.7),)),
        (Pipeline(), (Passage("H", "d", "h.md", 0.9),)),
        (SimpleNamespace(invoke=lambda text: SimpleNamespace(content="A")), ()),
    ],
    ids=["text", "pair", "async", "langchain", "llamaindex", "haystack", "message"],
)
def test_functions_and_objects_are_called_by_what_they_have(target: Any, passages: tuple[Passage, ...]) -> None:
    item = Called(target).ask(Question("q", "Why?", "", (), "hand"))
    assert (item.error, item.answer, item.contexts) == ("", "A", passages)
    assert item.seconds is not None


def test_what_a_function_raises_is_the_reason(workspace: Workspace) -> None:
    item = Called(lambda text: 1 / 0, "half").ask(Question("q", "Why?", "", (), "hand"))
    assert item.error == "'half' raised ZeroDivisionError: division by zero"
    assert (
        "returned n, in which no text is an answer"
        in Called(lambda text: {"n": 1}).ask(Question("q", "?", "", (), "hand")).error
    )
    with pytest.raises(UsageError, match="A int cannot be asked"):
        Called(3)
    workspace.calls_functions = True
    with pytest.raises(UsageError, match="'no:such' cannot be called"):
        recorded.system_of(workspace, "no:such")
    assert json.dumps(Called(later).identity) == '{"callable": "tests.test_recorded:later"}'


@pytest.fixture
def made_here(workspace: Workspace) -> Project:
    """A run "here" of six questions, answered from an index by the extractive answerer."""
    project = Project(workspace)
    places = ("pool", "library", "museum", "bakery", "station", "school")
    said = "The {} of Ebbing opens at {} in the morning. It is in street number {}.\n\nNothing else."
    corpus = added(workspace, "ebbing", {f"{p}.txt": said.format(p, n + 6, n) for n, p in enumerate(places)})
    indexing.build_index(workspace, corpus, "small", IndexConfig(chunk_size=20, embedder=""))
    rows = [
        (f"{p}.txt", f"opens at {n + 6} in", f"When does the {p} open in the morning?", f"At {n + 6}.")
        for n, p in enumerate(places)
    ]
    asking(workspace, corpus, rows)
    project.run("small", "asked", "here", retriever="bm25", k=2, answerer="extractive")
    return project


def test_a_pipeline_scores_the_same_made_here_and_recorded_by_each_door(made_here: Project) -> None:
    workspace = made_here.workspace
    store = workspace.store
    here = store.runs.get("here")
    evaluated = [*store.judgements.all(here.id).values()]
    items = contexts.to_judge(workspace, here, evaluated)
    told = {
        item.question.text: {
            "question": item.question.text,
            "answer": item.recording.answer,
            "contexts": [context.text for context in item.recording.contexts],
            "reference": item.question.answer,
        }
        for item in items
    }
    assert len(told) == 6

    async def ask(text: str) -> tuple[str, list[str]]:
        return told[text]["answer"], told[text]["contexts"]

    with SystemServer(lambda body: told[body["question"]]) as server:
        asked = made_here.endpoint("bot", url=server.url, contexts="contexts")
        assert made_here.endpoint("bot", url=server.url, contexts="contexts") == asked
        made_here.record(asked, "asked", "by http")
    made_here.record(ask, "asked", "by function", concurrency=3)
    lines = "".join(json.dumps(row) + "\n" for row in told.values()).encode()
    [log] = logged_file.read(lines, "log.jsonl").logs
    imports.import_run(workspace, store.corpora.get("ebbing"), "by file", log, store.sets.get("asked"))
    expected = store.judgements.scores(here.id)
    measured = measurements.summary_of(workspace, here, 2, curves=False).metrics
    for name in ("by http", "by function", "by file"):
        scores = store.judgements.scores(store.runs.get(name).id)
        assert scores == {metric: each for metric, each in expected.items() if metric in scores}, name
        assert "token_f1" in scores
        assert len(scores["token_f1"]) == 6
        ranked = measurements.summary_of(workspace, store.runs.get(name), 2, curves=False).metrics
        means = {metric: each.mean for metric, each in ranked.items() if metric.endswith("@2")}
        assert means == {metric: measured[metric].mean for metric in means}, name
        assert means["recall@2"] > 0


def test_a_check_fails_in_a_test_with_the_sentence_of_the_command(
    made_here: Project, command_line: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGVIZ_HOME", str(made_here.workspace.settings.home))
    run = made_here.open_run("here")
    ragviz.check(run, "token_f1>=0")
    with pytest.raises(AssertionError) as failed:
        ragviz.check(run, "token_f1>=0.99")
    code, printed, _ = command_line("check", "here", "--require", "token_f1>=0.99")
    assert (code, printed) == (1, f"{failed.value}\n")
    assert "FAILED" in printed
