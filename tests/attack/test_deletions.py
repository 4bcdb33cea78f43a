"""What a job works on is deleted in the middle of it: the job stops at once, and nothing of it is left behind."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import Deleted
from ragviz.core.job import Job
from ragviz.core.settings import Settings
from ragviz.index import deletion, indexing
from ragviz.jobs import worker
from ragviz.store import schema
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.builders import added, asking

PLACES = ("north", "south", "east", "west", "upper", "lower", "inner", "outer")
TEXT = "\n\n".join(f"The {place} pump was replaced in {1990 + n} by Harlow." for n, place in enumerate(PLACES))
CONFIG = IndexConfig(chunk_size=20, embedder="openai:bags", chunker="sentences")
UNCHANGED = ("cache", "receipts", "prices", "spent", "events")
"""Tables that a deletion leaves as they are: what was paid for."""


@pytest.fixture
def workspace(database_url: str, tmp_path: Path, server, monkeypatch) -> Workspace:
    monkeypatch.setattr(worker, "LOOK", 0.02)
    url = SecretStr(database_url)
    settings = Settings(_env_file=None, home=tmp_path / "home", database_url=url, openai_base_url=server.url)
    workspace = Workspace(settings.model_copy(update={"model": "loopback", "embedder": "openai:bags"}))
    corpus = added(workspace, "笔记", {"a.txt": TEXT})
    indexing.build_index(workspace, corpus, "i", CONFIG)
    asked = [
        (f"The {place} pump was replaced in {1990 + n}", f"When was the {place} pump replaced?", f"{1990 + n}")
        for n, place in enumerate(PLACES)
    ]
    asking(workspace, corpus, [("a.txt", *each) for each in asked], "q")
    return workspace


def rows(workspace: Workspace) -> dict[str, int]:
    """How many rows each table has that holds what a person made."""
    with workspace.store._engine.connect() as connection:
        counts = {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in schema.metadata.sorted_tables
        }
    return {name: count for name, count in counts.items() if name not in UNCHANGED and count}


def begin(workspace: Workspace, kind: str) -> Job:
    store = workspace.store
    corpus = store.corpora.get("笔记")
    config = RunConfig(store.indexes.get("i").id, store.sets.get("q").id, "bm25", answerer="model", metrics=("all",))
    choices = {"chunk_size": 10, "embedder": "openai:bags", "chunker": "sentences"}
    arguments = {
        "run": {"name": "r", "config": asdict(config), "budget": None},
        "index": {"corpus": corpus.id, "name": "i", "config": choices, "fresh": True},
        "questions": {"index": "i", "name": "q", "generator": "model", "limit": 5},
    }[kind]
    return store.jobs.add(kind, f"{kind} 工作", corpus.id, arguments)


DELETIONS: dict[str, Callable[[Workspace], object]] = {
    "corpus": lambda w: deletion.delete_corpus(w, w.store.corpora.get("笔记")),
    "index": lambda w: deletion.delete_index(w, w.store.indexes.get("i")),
    "questions": lambda w: w.store.sets.delete(w.store.sets.get("q").id),
    "run": lambda w: w.store.runs.delete(w.store.runs.get("r").id),
}
WORKED_ON = [
    *(("run", subject) for subject in DELETIONS),
    *(("index", subject) for subject in ("corpus", "index")),
    *(("questions", subject) for subject in ("corpus", "index", "questions")),
]


def test_what_the_jobs_of_a_corpus_printed_goes_with_it(workspace):
    job = begin(workspace, "run")
    log, other = workspace.log_of(job.id), workspace.log_of("another")
    log.parent.mkdir(exist_ok=True)
    for path in (log, other):
        path.write_text("Retrieving 笔记")
    DELETIONS["corpus"](workspace)
    assert (log.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize("seed", seeds(1, 12))
@pytest.mark.parametrize(("kind", "subject"), WORKED_ON)
def test_nothing_is_left_of_a_job_whose_subject_was_deleted(workspace, server, kind, subject, seed):
    store, job = workspace.store, begin(workspace, kind)
    before = rows(workspace)
    moment = Random(f"{kind} {subject} {seed}").randrange(1, 5)  # the job of fewest steps has five
    turns = 0

    def watch(*_: object) -> None:
        nonlocal turns
        turns += 1
        ready = subject != "run" or store.runs.find("r") is not None
        if turns >= moment and ready and not deleted.is_set():
            deleted.set()
            DELETIONS[subject](workspace)
            time.sleep(0.4)  # the next look sees it

    deleted = threading.Event()
    with pytest.raises(Deleted, match="deleted"):
        worker.perform(workspace, job.id, watch)
    assert deleted.is_set()
    after = rows(workspace)
    assert store.runs.all() == []
    if subject == "corpus":
        assert after == {}
    else:
        of_set = {"question_sets", "questions", "set_versions", "question_changes", "mentions"}
        gone = {"index": {"indexes", "cuts", "payments"}, "questions": of_set, "run": set()}[subject]
        fewer = {name for name, count in before.items() if after.get(name, 0) < count} - {"revisions"}
        if kind == "questions":  # the index had paid; the set that is written pays as well, as soon as it is written
            assert fewer - {"payments"} == gone - {"payments"} | {"jobs"}
        else:
            assert fewer == gone | {"jobs"}
        # the set stays, with its questions so far
        growing = {"questions", "payments", "set_facts", *of_set} if kind == "questions" else set()
        assert all(after[name] <= before.get(name, 0) for name in set(after) - growing), (before, after)
    indexes = [path for path in (workspace.settings.home / "indexes").iterdir() if any(path.iterdir())]
    assert bool(indexes) == (subject in ("questions", "run"))
