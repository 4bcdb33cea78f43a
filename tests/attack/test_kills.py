"""Every writer is killed after each of its transactions and before each of its statements; then it is repeated.

The n-th statement (or commit) raises what no `except Exception` catches, and from then on the database accepts nothing
of that process, as after a kill. A new process with the same command has to leave what an undisturbed one leaves,
random ids, times and counts of changes aside. On SQLite and on PostgreSQL, by the library, the command line and jobs
that are resumed.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa

from ragviz import cli
from ragviz.cli import console
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import RagvizError
from ragviz.core.settings import Settings
from ragviz.core.verdict import Matrix
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.jobs import worker
from ragviz.runs import running
from ragviz.store import schema
from ragviz.workspace import Workspace
from tests.attack import WHOLE, seeds
from tests.builders import asking
from tests.model_server import ModelServer
from tests.test_imports import result, written

OLD = {"a.txt": "The north pump was replaced in May. It hums at night.", "b.txt": "The valve leaks. It is old."}
NEW = {"a.txt": "A line before. The north pump was replaced in May.", "b.txt": "The valve was mended."}
BAGS = "openai:bags"


POSTGRESQL = os.environ.get("RAGVIZ_TEST_POSTGRESQL_URL")


class Killed(BaseException):
    """Stands for the end of the process."""


@dataclass(frozen=True)
class Place:
    """A home, and the address of its database where that is not in it."""

    home: Path
    database: str | None = None

    def copied(self, home: Path) -> Place:
        shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("ragviz.db*"))
        if self.database is None:
            with sqlite3.connect(self.home / "ragviz.db") as source, sqlite3.connect(home / "ragviz.db") as target:
                source.backup(target)
            return Place(home)
        return Place(home, new_database(str(sa.make_url(self.database).database)))

    def dropped(self) -> None:
        shutil.rmtree(self.home)
        if self.database is not None:
            on_the_server(f'DROP DATABASE "{sa.make_url(self.database).database}" WITH (FORCE)')


def on_the_server(statement: str) -> None:
    engine = sa.create_engine(POSTGRESQL, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def new_database(template: str = "template1") -> str:
    """Create a database on the server of the tests, a copy of another one, and return its address."""
    name = f"kills_{secrets.token_hex(6)}"
    on_the_server(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return sa.make_url(POSTGRESQL).set(database=name).render_as_string(hide_password=False)


@contextmanager
def killed_at(workspace: Workspace, number: int | None) -> Iterator[list[int]]:
    """Kill the process before its `number`-th statement that writes, or commit; yields their count."""
    engine, counts, dead = workspace.store._engine, [0], []

    def step(what: str) -> None:
        if dead:
            raise Killed
        if re.match(r"\s*(INSERT|UPDATE|DELETE|COMMIT)", what):
            counts[0] += 1
            if counts[0] == number:
                dead.append(True)
                raise Killed

    def before(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        step(statement)

    def commit(_connection: Any) -> None:
        step("COMMIT")

    sa.event.listen(engine, "before_cursor_execute", before)
    sa.event.listen(engine, "commit", commit)
    try:
        yield counts
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)
        sa.event.remove(engine, "commit", commit)
        engine.dispose()


def opened(place: Place, url: str) -> Workspace:
    more = {"database_url": place.database} if place.database else {}
    home = place.home
    return Workspace(Settings(_env_file=None, home=home, openai_base_url=url, model="loopback", embedder=BAGS, **more))


def add(workspace: Workspace, texts: dict[str, str], folder: Path) -> None:
    corpus = workspace.store.corpora.get("c")
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    corpora.add_files(workspace, corpus, [(name, folder / name) for name in texts], replace=True)


def begun(workspace: Workspace, folder: Path) -> None:
    """Make a corpus of two documents, an index of it, a set with evidence in both, an answered run."""
    corpus = workspace.store.corpora.add("c")
    add(workspace, OLD, folder)
    build(workspace)
    quotes = {"The north pump was replaced in May.": "a.txt", "It hums at night.": "a.txt", "The valve leaks.": "b.txt"}
    asking(workspace, corpus, [(name, quote, f"What of {quote}?", quote) for quote, name in quotes.items()], "q")
    running.run(workspace, "old", RunConfig("i", "q", "bm25", depth=5, k=3, answerer="extractive"))
    names = ("faithfulness", "completeness")
    failing = running.run(
        workspace, "failing", RunConfig("i", "q", "bm25", depth=5, k=3, answerer="model", metrics=names)
    )
    evaluated = workspace.store.judgements.all(failing.id)["q1"]
    workspace.store.judgements.put(
        failing.id, [(replace(evaluated, matrix=Matrix(), failures={"claims": "No reply."}), [])]
    )


def build(workspace: Workspace) -> None:
    config = IndexConfig(chunker="sentences", chunk_size=20, embedder=BAGS)
    indexing.build_index(workspace, workspace.store.corpora.get("c"), "i", config)


def update(workspace: Workspace, folder: Path) -> None:
    add(workspace, NEW, folder)
    build(workspace)


def command(words: str, workspace: Workspace, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in NEW.items():
        (folder / name).write_text(text, encoding="utf-8")
    row = {"question": "Which?", "answer": "The pump.", "document": "b.txt", "quote": "The valve"}
    rows = [row | {"id": "q1", "question": "What leaks?"}, row | {"id": "n1"}, row | {"id": "n2", "question": "哪个？"}]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    bank = {"key_info": ["pump"], "question": ["Which part?"], "answers": ["the pump"]}
    (folder / "banks.json").write_text(json.dumps({"q0": bank, "q1": bank}), encoding="utf-8")
    (folder / "out.json").write_bytes(written(result(), result(query_id="8")))
    with patch.object(console, "open_workspace", return_value=workspace):
        cli.app([word.replace("FOLDER", str(folder)) for word in words.split()], standalone_mode=False)


COMMANDS: dict[str, str] = {
    "corpus add --replace": "corpus add c FOLDER/a.txt FOLDER/b.txt --replace",
    "corpus add, new": "corpus add c2 FOLDER/a.txt FOLDER/b.txt",
    "corpus remove": "corpus remove c a.txt --yes",
    "corpus delete": "corpus delete c --yes",
    "index build": f"index build c --name i2 --chunker sentences --chunk-size 12 --embedder {BAGS}",
    "index delete": "index delete i --yes",
    "questions import": "questions import c FOLDER/q.jsonl --name imported",
    "questions merge": "questions import c FOLDER/q.jsonl --name q",
    "questions accept": "questions review q q0 q1 q2 --accept",
    "questions reject": "questions review q q0 q2 --reject --reason 重复",
    "questions edit": "questions edit q q1 --question 什么？ --quote leaks --document b.txt",
    "questions add": "questions add own --corpus c --question Which? --answer pump --quote pump --document a.txt",
    "questions banks": "questions banks q FOLDER/banks.json",
    "questions delete": "questions delete q --yes",
    "runs import": "runs import FOLDER/out.json --corpus c --name foreign",
    "runs import, new corpus": "runs import FOLDER/out.json --corpus c3 --name foreign",
    "runs delete": "runs delete old --yes",
    "run, judged": "run --index i --questions q --name new --retriever hybrid -k 3 --depth 5 --answerer model "
    "--metrics faithfulness,completeness",
    "run": "run --index i --questions q --name new --retriever hybrid -k 3 --depth 5 --answerer extractive",
    "rejudge": "rejudge failing",
}


def uploads(workspace: Workspace, _: Path) -> dict[str, Any]:
    folder, staged = corpora.stage(workspace, [(name, text.encode()) for name, text in NEW.items()])
    return {"corpus": "c", "folder": str(folder), "files": staged, "replace": True}


def choices(_: Workspace, __: Path) -> dict[str, Any]:
    return {"corpus": "c", "name": "i", "config": asdict(IndexConfig("sentences", 12, embedder=BAGS)), "fresh": True}


JOBS: dict[str, Callable[[Workspace, Path], dict[str, Any]]] = {
    "documents": uploads,
    "index": choices,
    "questions": lambda *_: {"index": "i", "name": "made", "limit": 2, "generator": "model"},
    "run": lambda *_: {
        "name": "new",
        "config": asdict(RunConfig("i", "q", "bm25", depth=5, k=3, answerer="extractive")),
    },
    "rejudge": lambda *_: {"run": "failing"},
}


def job(kind: str, workspace: Workspace, folder: Path) -> None:
    """Create a job and do it; an existing one is resumed, unless it is done."""
    store = workspace.store
    existing = next(iter(store.jobs.all()), None)
    existing = existing or store.jobs.add(kind, JOB, store.corpora.get("c").id, JOBS[kind](workspace, folder))
    if existing.status != "done":
        worker.perform(workspace, existing.id)


ATTACKED: dict[str, Callable[[Workspace, Path], None]] = {
    "library: index update": update,
    **{f"command: {name}": partial(command, words) for name, words in COMMANDS.items()},
    **{f"job: {kind}": partial(job, kind) for kind in JOBS},
}

JOB = "a job that is killed"
TIMES = {"created", "finished", "built", "added", "started", "heartbeat"}
CHANCE = {"pace", "rate", "controls", "breaker"}


def canonical(workspace: Workspace) -> dict[str, list[str]]:
    """Return every row of the store, sorted, random ids replaced by names, without times and counts."""
    engine, names = workspace.store._engine, {}
    rows: dict[str, list[dict[str, Any]]] = {}
    with engine.connect() as connection:
        for table in schema.metadata.sorted_tables:
            rows[table.name] = [row._asdict() for row in connection.execute(sa.select(table))]
    for table in ("corpora", "indexes", "question_sets", "runs"):
        names |= {row["id"]: f"{table}:{row['name']}" for row in rows[table]}
    names |= {row["build"]: f"build:{row['name']}" for row in rows["indexes"] if row["build"]}
    names |= {row["id"]: f"question {row['position']}" for row in rows["questions"] if len(row["id"]) > 4}
    lines = {"jobs": [f"{row['kind']} {row['status']} {row['error']}" for row in rows["jobs"] if row["title"] == JOB]}
    derived = {"revisions", "payments", "spent", "events", "receipts", "jobs", "summaries"}  # summaries: by revision
    for table in rows.keys() - derived:
        stable = [row for row in rows[table] if table != "cache" or row["kind"] not in CHANCE]
        texts = [str({key: ordered(value) for key, value in sorted(row.items()) if key not in TIMES}) for row in stable]
        for random_id, name in names.items():
            texts = [text.replace(random_id, name) for text in texts]
        lines[table] = sorted(re.sub(r"""['"]seconds['"]: ?[\d.e-]+|, \d+\.\d+\]""", "", text) for text in texts)
    return lines


def ordered(value: Any) -> Any:
    """A JSON value with its keys in order, however it was stored."""
    if isinstance(value, dict):
        return {key: ordered(each) for key, each in sorted(value.items())}
    return [ordered(each) for each in value] if isinstance(value, list) else value


def without_timing(lines: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what models replied, how long they took, and what questions cost: their scores are compared.

    Versions of question sets are left out too: an edit that is killed and repeated can be two versions.
    """
    paid = re.compile(r"""['"](?:calls|prompt_tokens|completion_tokens|dollars)['"]: [\d.e-]+""")
    took = re.compile(r'(\["\w+", "[^"]*", "[^"]*", \d+, \d+), [\d.e-]+, [^,]+, (?:true|false)')
    left_out = ("cache", "judgements", "runs", "set_versions", "question_changes")
    return {table: texts for table, texts in lines.items() if table not in left_out} | {
        "runs": sorted(" ".join(re.findall(r"'(?:name|status)': '[^']*'", text)) for text in lines["runs"]),
        "verdicts": sorted(took.sub(r"\1", text) for text in lines["verdicts"]),
        "set_facts": sorted(paid.sub("", text) for text in lines["set_facts"]),
    }


def sound(workspace: Workspace) -> None:
    """Check that no evidence is in a deleted document, and that none is stale whose text still exists."""
    store = workspace.store
    for question_set in store.sets.all():
        existing = {
            info.id
            for info in store.documents.all(question_set.corpus_id, replaced=True)
            if info.status in ("ok", "passage")
        }
        for question in store.questions.all(question_set.id):
            for span in (span for group in question.evidence for span in group):
                assert span.stale or span.document_id in existing, (question.id, span)
                if span.stale and span.document_id in existing:
                    text = store.documents.get(question_set.corpus_id, span.document_id).text
                    assert not span.text or span.text not in text, (question.id, span)


def buried(workspace: Workspace) -> None:
    """Mark the process of every job, which is this one, as ended."""
    with workspace.store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE jobs SET pid_started = 0")


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module", params=["sqlite", *["postgresql"] * bool(POSTGRESQL)])
def base(request, server, tmp_path_factory) -> Iterator[Place]:
    """The state in which every writer starts, on each database."""
    folder = tmp_path_factory.mktemp("base")
    place = Place(folder / "home", new_database() if request.param == "postgresql" else None)
    workspace = opened(place, server.url)
    begun(workspace, folder / "in")
    workspace.store._engine.dispose()
    yield place
    place.dropped()


@pytest.mark.parametrize("writer", ATTACKED)
@pytest.mark.parametrize("seed", seeds(1, 1))
def test_a_killed_writer_that_is_repeated_leaves_what_an_undisturbed_one_does(
    writer, seed, base, server, tmp_path, monkeypatch
):
    monkeypatch.setattr(worker, "LOOK", 60.0)  # the thread of the heartbeat is not what is killed here
    work = ATTACKED[writer]
    already_done = RagvizError if writer.startswith("command") else ()
    undisturbed = opened(base.copied(tmp_path / "calm"), server.url)
    with killed_at(undisturbed, None) as counts:
        work(undisturbed, tmp_path / "new")
    expected, count = without_timing(canonical(undisturbed)), counts[0]
    undisturbed.store._engine.dispose()
    assert count >= 2
    one = random.Random(f"{writer} {seed}").randint(1, count)
    for number in range(1, count + 1) if WHOLE else sorted({one, count}):
        place = base.copied(tmp_path / f"at-{number}")
        dying = opened(place, server.url)
        with killed_at(dying, number), suppress(Killed):
            work(dying, tmp_path / "new")
        reopened = opened(place, server.url)
        sound(reopened)
        buried(reopened)
        with suppress(already_done):  # it was done already, and says so
            work(reopened, tmp_path / "new")
        sound(reopened)
        assert without_timing(canonical(reopened)) == expected, f"killed at {number} of {count}"
        reopened.store._engine.dispose()
        place.dropped()
