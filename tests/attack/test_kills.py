"""Every writer is killed after each of its transactions and before each of its statements; then it is done again.

The n-th statement (or commit) raises what no `except Exception` catches, and from then on the database takes nothing
more of that process, as after a kill. What is opened anew and given the same command has to end with what an
undisturbed one has, ids drawn by chance, times and counts of changes aside.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ragviz import authoring, corpora, foreign, indexing, pipeline, running
from ragviz.config import Settings
from ragviz.records import IndexConfig, Question, RunConfig, Span
from ragviz.workspace import Workspace
from tests.attack import WHOLE, seeds
from tests.model_server import ModelServer
from tests.test_foreign import result, written

OLD = {"a.txt": "The north pump was replaced in May. It hums at night.", "b.txt": "The valve leaks. It is old."}
NEW = {"a.txt": "A line before. The north pump was replaced in May.", "b.txt": "The valve was mended."}
BAGS = "openai:bags"


class Killed(BaseException):
    """Stands for the end of the process."""


@contextmanager
def killed_at(workspace: Workspace, number: int | None) -> Iterator[list[int]]:
    """Let the process die before its `number`-th statement that writes, or its commit; counts those there were."""
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


def opened(home: Path, url: str) -> Workspace:
    return Workspace(Settings(_env_file=None, home=home, openai_base_url=url, model="loopback", embedder=BAGS))


def add(workspace: Workspace, texts: dict[str, str], folder: Path) -> None:
    corpus = workspace.store.corpus("c")
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    corpora.add_files(workspace, corpus, [(name, folder / name) for name in texts], replace=True)


def begun(workspace: Workspace, folder: Path) -> None:
    """A corpus of two documents, an index of it, a set with evidence in both, an answered run."""
    corpus = workspace.store.create_corpus("c")
    add(workspace, OLD, folder)
    build(workspace, folder)
    asked = workspace.store.create_question_set(corpus.id, "q")
    quotes = ("The north pump was replaced in May.", "It hums at night.", "The valve leaks.")
    infos = {info.name: info for info in workspace.store.documents(corpus.id)}
    questions = []
    for number, quote in enumerate(quotes):
        name = next(name for name, text in OLD.items() if quote in text)
        start = OLD[name].index(quote)
        span = Span(infos[name].id, start, start + len(quote), quote)
        questions.append(Question(f"q{number}", f"What of {name} {number}?", quote, ((span,),), "hand", "accepted"))
    workspace.store.put_questions(asked.id, questions)
    running.run(workspace, "old", RunConfig("i", "q", "bm25", depth=5, k=3, answerer="extractive"))


def build(workspace: Workspace, _: Path, size: int = 20) -> None:
    config = IndexConfig(chunker="sentences", chunk_size=size, embedder=BAGS)
    indexing.build_index(workspace, workspace.store.corpus("c"), "i", config)


def remove(workspace: Workspace, _: Path) -> None:
    corpus = workspace.store.corpus("c")
    ids = [info.id for info in workspace.store.documents(corpus.id) if info.name == "a.txt"]
    if ids:
        corpora.delete_documents(workspace, corpus, ids)


def delete_corpus(workspace: Workspace, _: Path) -> None:
    if corpus := workspace.store.corpus_named("c"):
        indexing.delete_corpus(workspace, corpus)


def delete_index(workspace: Workspace, _: Path) -> None:
    if info := workspace.store.index_named("i"):
        indexing.delete_index(workspace, info)


def import_questions(workspace: Workspace, _: Path) -> None:
    rows = [{"id": f"n{n}", "question": f"Which {n}?", "answer": "The pump.", "document": "a.txt"} for n in range(3)]
    data = "\n".join(json.dumps(row | {"quote": "The north pump"}) for row in rows).encode()
    pipeline.import_questions(workspace, workspace.store.corpus("c"), data, "q.jsonl", "imported")


def edit_question(workspace: Workspace, _: Path) -> None:
    asked = workspace.store.question_set("q")
    question = authoring.question_of(workspace.store, asked, "q1")
    changed = authoring.changed(question, text="What hums?")
    authoring.save(workspace.store, asked, changed, authoring.version_of(question))


def import_run(workspace: Workspace, _: Path) -> None:
    done = workspace.store.run_named("foreign")
    if done is None or done.status != "done":
        found = foreign.read_ragchecker(written(result(), result(query_id="8")), "out.json")
        foreign.import_run(workspace, workspace.store.corpus("c"), "foreign", found)


def run(workspace: Workspace, _: Path, **more: Any) -> None:
    done = workspace.store.run_named("new")
    if done is None or done.status != "done":
        config = RunConfig("i", "q", "hybrid", **{"depth": 5, "k": 3, "answerer": "extractive", **more})
        running.run(workspace, "new", config)


def judged(workspace: Workspace, folder: Path) -> None:
    run(workspace, folder, answerer="model", metrics=("faithfulness", "completeness"))


def generate(workspace: Workspace, _: Path) -> None:
    pipeline.generate_questions(workspace, "i", "made", generator="model", limit=2)


WRITERS: dict[str, Callable[[Workspace, Path], None]] = {
    "corpus add --replace": lambda workspace, folder: add(workspace, NEW, folder),
    "corpus add": lambda workspace, folder: add(workspace, {"c.txt": "The roof is new.", "d.txt": ""}, folder),
    "corpus remove": remove,
    "corpus delete": delete_corpus,
    "index build": build,
    "index update": lambda workspace, folder: (add(workspace, NEW, folder), build(workspace, folder))[0],
    "index rebuild": lambda workspace, folder: build(workspace, folder, 12),
    "index delete": delete_index,
    "questions import": import_questions,
    "questions edit": edit_question,
    "questions generate": generate,
    "runs import": import_run,
    "run": run,
    "run, judged": judged,
}

TIMES = {"created", "finished", "built", "added", "started", "heartbeat"}
CHANCE = {"pace", "controls", "breaker"}


def canonical(workspace: Workspace) -> dict[str, list[str]]:
    """Every row of the store, sorted, ids drawn by chance replaced by what they name; no times, no counts."""
    engine, names = workspace.store._engine, {}
    tables = sa.MetaData()
    tables.reflect(engine)
    rows: dict[str, list[dict[str, Any]]] = {}
    with engine.connect() as connection:
        for table in tables.sorted_tables:
            rows[table.name] = [row._asdict() for row in connection.execute(sa.select(table))]
    for table in ("corpora", "indexes", "question_sets", "runs"):
        names |= {row["id"]: f"{table}:{row['name']}" for row in rows[table]}
    names |= {row["build"]: f"build:{row['name']}" for row in rows["indexes"] if row["build"]}
    lines = {}
    for table in rows.keys() - {"revisions", "payments", "schema_version"}:
        kept = [row for row in rows[table] if table != "cache" or row["kind"] not in CHANCE]
        texts = [str({key: value for key, value in sorted(row.items()) if key not in TIMES}) for row in kept]
        for drawn, name in names.items():
            texts = [text.replace(drawn, name) for text in texts]
        lines[table] = sorted(re.sub(r'"seconds": ?[\d.e-]+|, \d+\.\d+\]', "", text) for text in texts)
    return lines


def without_timing(lines: dict[str, list[str]]) -> dict[str, list[str]]:
    """What models said and took is compared by the scores that came of it."""
    return {table: texts for table, texts in lines.items() if table not in ("cache", "judgements", "runs")} | {
        "runs": [re.search(r"'status': '\w+'", text).group() for text in lines["runs"]]
    }


def sound(workspace: Workspace) -> None:
    """No evidence stands in a document that is gone, none is called stale whose words are there."""
    store = workspace.store
    for asked in store.question_sets():
        there = {
            info.id for info in store.documents(asked.corpus_id, replaced=True) if info.status in ("ok", "passage")
        }
        for question in store.questions(asked.id):
            for span in (span for group in question.evidence for span in group):
                assert span.stale or span.document_id in there, (question.id, span)
                if span.stale and span.document_id in there:
                    text = store.document(asked.corpus_id, span.document_id).text
                    assert not span.text or span.text not in text, (question.id, span)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def steps_of(count: int, seed: int) -> list[int]:
    """Every statement in the long form, else five drawn from the seed, the last among them."""
    numbers = range(1, count + 1)
    return list(numbers) if WHOLE else sorted({*random.Random(seed).sample(numbers, min(4, count)), count})


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", seeds(1, 1))
def test_a_killed_writer_done_again_leaves_what_an_undisturbed_one_does(writer, seed, server, tmp_path):
    work, base = WRITERS[writer], tmp_path / "base"
    begun(opened(base, server.url), tmp_path / "in")
    calm = opened(copied(base, tmp_path / "calm"), server.url)
    with killed_at(calm, None) as counts:
        work(calm, tmp_path / "new")
    wanted, count = without_timing(canonical(calm)), counts[0]
    assert count >= 2
    for number in steps_of(count, seed):
        home = copied(base, tmp_path / f"at-{number}")
        dying = opened(home, server.url)
        with killed_at(dying, number), suppress(Killed):
            work(dying, tmp_path / "new")
        again = opened(home, server.url)
        sound(again)
        work(again, tmp_path / "new")
        assert without_timing(canonical(again)) == wanted, f"killed at {number} of {count}"


def copied(base: Path, home: Path) -> Path:
    """The folder of a workspace, with its database as it stands."""
    import shutil
    import sqlite3

    shutil.copytree(base, home, ignore=shutil.ignore_patterns("ragviz.db*"))
    with sqlite3.connect(base / "ragviz.db") as source, sqlite3.connect(home / "ragviz.db") as target:
        source.backup(target)
    return home


def test_what_earlier_versions_left_is_mended_once(server, tmp_path):
    """As a kill between their two transactions left it: evidence in a pruned document, and evidence called stale."""
    workspace = opened(tmp_path / "home", server.url)
    begun(workspace, tmp_path / "in")
    store = workspace.store
    [asked] = [each for each in store.question_sets() if each.name == "q"]
    first, second, third = store.questions(asked.id)
    lost = replace(first.evidence[0][0], document_id="0" * 32)
    called = replace(third.evidence[0][0], stale=True)
    store.put_questions(asked.id, [replace(first, evidence=((lost,),)), replace(third, evidence=((called,),))])
    with store._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM schema_version WHERE version >= 7")
        connection.exec_driver_sql("DROP TABLE moves")
    store = opened(tmp_path / "home", server.url).store
    found = store.questions(asked.id)
    assert found[0].evidence[0][0].stale
    assert found[1:] == [second, third]
    before = store.revisions(asked.id, asked.corpus_id)
    assert opened(tmp_path / "home", server.url).store.revisions(asked.id, asked.corpus_id) == before, "only once"


def test_prices_are_written_in_one_step(tmp_path, monkeypatch):
    workspace = Workspace(Settings(_env_file=None, home=tmp_path))
    workspace.set_prices({"m": (1.0, 2.0)})

    def half(path: Path, text: str, **_: Any) -> None:
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
        raise Killed

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(Killed):
        workspace.set_prices({"m": (3.0, 4.0)})
    assert workspace.prices() == {"m": (1.0, 2.0)}
