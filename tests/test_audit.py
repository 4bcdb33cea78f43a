"""Who did what: every verb leaves one event, with the person who acts, in the transaction of what was done."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ragviz.core.errors import Refused, UsageError
from ragviz.core.event import Event, Wanted
from ragviz.core.job import NewJob
from ragviz.core.person import Person
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.jobs import queue
from ragviz.service import audit_verbs, corpus_verbs, index_verbs, job_verbs, question_verbs, run_verbs, settings_verbs
from ragviz.workspace import Workspace
from tests.model_server import ModelServer
from tests.test_access import READS, VERBS

KEY = "sk-in-a-file-of-its-own"
SILENT = {"job_verbs.submit", "job_verbs.perform", "settings_verbs.test", "settings_verbs.tried"}
"""The first two create the job of another verb, with its event; a store that is tested need not be there."""


def opened(home: Path, person: Person, **more: Any) -> Workspace:
    return Workspace(Settings(_env_file=None, home=home, **more), person)


def events(workspace: Workspace) -> list[Event]:
    return list(workspace.store.events.all(Wanted()))


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if hasattr(verb, "__wrapped__")])
def test_every_verb_that_changes_something_leaves_one_event_of_who_acts(name, tmp_path, monkeypatch):
    """The verb's own work is left out: two transactions, or a job that waits."""
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)  # no process is started
    workspace, verb = opened(tmp_path, Person("Ann", "admin")), VERBS[name]
    asked = NewJob("sample", "x", "", {})
    makes_job = verb.__annotations__["return"] == "NewJob"

    def work(*_: object, **__: object) -> NewJob:
        for each in () if makes_job else ("a", "b"):
            with workspace.store._transactions.writing():
                assert each
        return asked

    parts = dict(zip(verb.__code__.co_freevars, verb.__closure__, strict=True))
    real, parts["do"].cell_contents = parts["do"].cell_contents, work
    try:
        made = verb(workspace, *given_of(real, positional=True), **dict(given_of(real, positional=False)))
        if makes_job:
            job_verbs.submit(workspace, made)
            job_verbs.submit(workspace, made)  # a second press
    finally:
        parts["do"].cell_contents = real
    silent = name.partition(".")[2] in READS or name.startswith("audit_verbs") or name in SILENT
    left = [(each.person, each.role, bool(each.verb and each.noun)) for each in events(workspace)]
    assert left == ([] if silent else [("Ann", "admin", True)])


def given_of(verb: Any, *, positional: bool) -> list[Any]:
    """Arguments for all that a verb needs beside the workspace, in order, or by name where it has to be named."""
    needed = [each for each in inspect.signature(verb).parameters.values() if each.default is each.empty]
    if positional:
        return [{} for each in needed[1:] if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return [(each.name, None) for each in needed if each.kind == each.KEYWORD_ONLY]


def test_an_error_before_anything_was_done_leaves_no_event(tmp_path):
    workspace = opened(tmp_path, Person("Ann", "editor"))
    corpus_verbs.create(workspace, "pumps")
    with pytest.raises(UsageError):
        corpus_verbs.create(workspace, "pumps")
    with pytest.raises(Refused):
        corpus_verbs.delete(workspace, workspace.store.corpora.get("pumps"))
    assert [(each.verb, each.noun, each.name) for each in events(workspace)] == [("create", "corpus", "pumps")]
    with pytest.raises(Refused, match="takes the role 'admin'"):
        audit_verbs.count(workspace, Wanted())


def test_what_was_done_and_paid_is_told_without_texts_and_keys(tmp_path, monkeypatch, command_line):
    def audit(*options: str) -> list[Mapping[str, Any]]:
        code, out, err = command_line("audit", *options)
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "a.txt").write_text("The pump was replaced in 1999 by the firm of Harlow.")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "key"))
    home = tmp_path / "home"
    monkeypatch.setenv("RAGVIZ_HOME", str(home))
    with ModelServer() as server:
        server.key = KEY
        workspace = opened(home, Person("Ann", "admin"), openai_base_url=server.url, model="loopback")
        store, before = workspace.store, workspace.store.prices.all()
        settings_verbs.put_prices(workspace, before | {"loopback": (10.0, 20.0)}, before)
        corpus, *_ = corpus_verbs.add_documents(workspace, "pumps", [tmp_path / "a.txt"], password="of a document")
        build = index_verbs.build(workspace, corpus, "i", {"embedder": "none"})
        built = job_verbs.perform(workspace, build)
        question_set = question_verbs.open_set(workspace, corpus, "q")
        question = Question("q1", "When was the pump replaced?", "In 1999.", (), "hand")
        question_verbs.add(workspace, question_set, question)
        config = {
            "retriever": "bm25",
            "answerer": "model",
            "instructions": "Answer like a pump.",
            "metrics": ("faithfulness",),
        }
        config = run_verbs.configured(workspace, store.indexes.get("i"), question_set, config)
        ran = job_verbs.perform(workspace, run_verbs.make(workspace, "r", config, 5.0))
        run = store.runs.get("r")
        paid = {name: value for name, value in asdict(store.payments.of(run.id)).items() if value}
        assert paid["dollars"] == pytest.approx(sum(10 * sent + 20 * got for _, sent, got in server.billed) / 1e6)
        run_verbs.rename(workspace, run, "renamed")
        run_verbs.delete(workspace, store.runs.get("renamed"))
    ends = [{"kind": job.kind, "status": "done"} for job in (built, ran)]
    assert [(e.verb, e.noun, e.subject, e.name, dict(e.details)) for e in events(workspace)] == [
        ("change", "prices", "", "", {"prices": {"loopback": [10.0, 20.0]}}),
        ("add", "documents", "", "pumps", {"paths": 1}),
        ("create", "corpus", "", "pumps", {}),
        ("build", "index", "", "i", {"corpus": "pumps", "job": built.id}),
        ("end", "job", built.id, "Build i", ends[0]),
        ("create", "question set", "", "q", {"corpus": "pumps"}),
        ("add", "question", question_set.id, "q", {}),
        ("make", "run", "", "r", {"budget": 5.0, "job": ran.id}),
        ("end", "job", ran.id, "Run r", ends[1] | paid),
        ("rename", "run", "", "renamed", {"run": "r"}),
        ("delete", "run", run.id, "renamed", {}),
    ]
    printed = audit("--since", "2020-01-01", "--person", "Ann")
    assert printed == [event.plain() for event in events(workspace)]
    assert datetime.fromisoformat(printed[0]["time"]).timestamp() == pytest.approx(events(workspace)[0].time, abs=1e-3)
    assert audit("--since", "2999-01-01") == audit("--person", "Bob") == []
    assert [each["name"] for each in audit("--verb", "delete")] == ["renamed"]
    wanted = Wanted(verb="add")
    assert [e.noun for e in audit_verbs.newest(workspace, wanted, 0, 1)] == ["question"]
    assert [e.noun for e in audit_verbs.newest(workspace, wanted, 1, 9)] == ["documents"]
    assert audit_verbs.count(workspace, wanted) == 2
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"renamed" in kept
    assert KEY.encode() not in kept
