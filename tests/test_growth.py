"""The work for one item does not grow with the number of items: counted in steps of SQLite, not in seconds."""

import gc
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import DocumentInfo
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.runs import choices, running
from ragviz.workspace import Workspace
from tests.builders import asking

STRIDE = 100
"""Steps between two counts."""


class Steps:
    """Counts what the database of a workspace does."""

    def __init__(self, workspace: Workspace) -> None:
        self.count, self.statements = 0, []
        engine = workspace.store._engine
        sa.event.listen(engine, "checkout", self._watch)
        sa.event.listen(engine, "before_cursor_execute", self._note)

    def _watch(self, connection, *_) -> None:
        connection.set_progress_handler(self._step, STRIDE)

    def _step(self) -> int:
        self.count += 1
        return 0

    def _note(self, _connection, _cursor, statement, *_) -> None:
        self.statements.append(statement)

    def of(self, work: Callable[[], object]) -> int:
        before = self.count
        work()
        return (self.count - before) * STRIDE


@pytest.fixture
def steps(workspace) -> Steps:
    return Steps(workspace)


def write(folder, count: int, text: str = "Note {n}: the pump was replaced.", start: int = 0):
    folder.mkdir(exist_ok=True)
    for n in range(start, start + count):
        (folder / f"{n:05}.txt").write_text(text.format(n=n), encoding="utf-8")
    return [(f"{n:05}.txt", folder / f"{n:05}.txt") for n in range(start, start + count)]


def test_the_last_document_costs_what_the_first_did(workspace, steps, tmp_path):
    corpus = workspace.store.corpora.add("notes")
    files = write(tmp_path / "in", 600)
    rounds = [
        steps.of(lambda part=files[at : at + 100]: corpora.add_files(workspace, corpus, part))
        for at in range(0, 600, 100)
    ]
    assert rounds[-1] < 1.5 * rounds[1], rounds


def test_evidence_is_moved_in_one_reading_of_the_questions(workspace, steps, tmp_path):
    store = workspace.store
    corpus = store.corpora.add("notes")
    corpora.add_files(workspace, corpus, write(tmp_path / "in", 60))
    quote = "the pump was replaced"
    question_set = asking(
        workspace, corpus, [(info.name, quote, info.name, "!") for info in store.documents.all(corpus.id)]
    )
    files = write(tmp_path / "in", 60, "A line before. Note {n}: the pump was replaced.")
    steps.statements.clear()
    outcomes = corpora.add_files(workspace, corpus, files, replace=True)
    assert {outcome.status for outcome in outcomes} == {"replaced"}
    readings = [s for s in steps.statements if s.startswith("SELECT") and "questions.body" in s]
    assert len(readings) == 1
    names = {d.id: d.name for d in store.documents.all(corpus.id)}
    for asked_question in store.questions.all(question_set.id):
        [[span]] = asked_question.evidence
        assert not span.stale
        document = store.documents.get(corpus.id, span.document_id)
        assert document.text[span.start : span.end] == quote
        assert names[span.document_id] == asked_question.text


def test_an_index_of_many_documents_is_compared_with_its_corpus_at_once(workspace, monkeypatch):
    """No set is built, and no tuple searched, once for each document."""
    ids = tuple(f"d{n}" for n in range(20_000))
    infos = [DocumentInfo(i, "c", f"{i}.txt", "ok", 0, 9, "en", "", "", 9, (), "", 0.0) for i in ids]
    store = workspace.store
    corpus = store.corpora.add("notes")
    info = store.indexes.add(corpus.id, "i", IndexConfig())
    monkeypatch.setattr(store.documents, "all", lambda *_, **__: infos)
    gc.disable()
    began = time.process_time()
    assert indexing.stale(workspace, replace(info, documents=ids[1:])) == ([infos[0]], [], [])
    question_set = store.sets.add(corpus.id, "s")
    config = RunConfig(info.id, question_set.id)
    plan = running._plan(workspace, config)
    choices.run_row(workspace, "r", config, plan, replace(info, documents=ids), question_set, [])
    assert time.process_time() - began < 2
