"""Runs and versions of question sets stay readable when documents are replaced and removed: they name them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.question import Question
from ragviz.core.span import Span
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.runs import cases, exports, running
from ragviz.workspace import Workspace, open_workspace
from tests.test_freshness import deleted, rebuilt
from tests.test_inspect import home, judged, server  # noqa: F401 - fixtures
from tests.test_pages import MARKED, built, show, words  # noqa: F401 - a fixture

NOTES = {
    "north.md": "The north pump moves 300 litres an hour.",
    "south.md": "The south pump moves 500 litres an hour.",
    "east.md": "The east pump was sold in May.",
}


@pytest.fixture
def asked(workspace: Workspace) -> Workspace:
    """A run of a question about each of three files, the first of which is replaced, the second removed since."""
    store, corpus = workspace.store, workspace.store.corpora.add("notes")
    for name, text in NOTES.items():
        corpora.add_file(workspace, corpus, name, text.encode())
    indexing.build_index(workspace, corpus, "words", IndexConfig(embedder=""))
    info = store.indexes.get("words")
    question_set = store.sets.add(corpus.id, "asked")
    spans = {d.name: Span(d.id, 0, 10, NOTES[d.name][:10]) for d in store.documents.all(corpus.id)}
    questions = [Question(name, f"What of {name}?", "It moves.", ((span,),), "hand") for name, span in spans.items()]
    store.questions.put(question_set.id, [replace(each, status="accepted") for each in questions])
    running.run(workspace, "earlier", RunConfig(info.id, question_set.id, retriever="bm25", depth=5, k=3))
    corpora.add_file(workspace, corpus, "north.md", f"Of late. {NOTES['north.md']}".encode(), replace=True)
    corpora.delete_documents(workspace, corpus, [spans["south.md"].document_id])
    indexing.build_index(workspace, corpus, "words", info.config)
    return workspace


def test_the_parts_and_cases_of_an_earlier_run_name_its_documents(asked):
    run = asked.store.runs.get("earlier")
    by_document = [part.name for part in exports.breakdown_of(asked, run) if part.by == "document"]
    assert sorted(by_document) == ["east.md", "north.md (replaced since)", "south.md (removed since)"]
    found = {case.question.id: case for case in exports.cases_of(asked, run)}
    assert found["north.md"].documents == ("north.md (replaced since)",)
    texts = {chunk.text for case in found.values() for chunk in case.chunks.values()}
    assert texts == {NOTES["north.md"], NOTES["east.md"]}, "of what was removed there is no text"
    assert [case.question.id for case in cases.chosen(found.values(), document="south.md")] == ["south.md"]
    written = exports.export_run(asked, run, files=["dataset.csv"])["dataset.csv"].decode()
    assert "north.md" in written
    assert "since)" not in written, "an import looks for the file"


def test_the_case_of_an_earlier_run_shows_the_text_that_was_replaced_since(home):  # noqa: F811
    workspace = open_workspace()
    rebuilt(workspace)
    shown = words(show("inspect", run="told", question="q7"))
    assert "(replaced since)" in shown
    assert "was removed" not in shown
    assert "in no document any more" not in shown
    deleted(workspace)
    shown = words(show("inspect", run="told", question="q7"))
    assert "(removed since)" in shown
    assert "The text of this chunk is gone: its document was removed" in shown
    assert "in no document any more" not in shown
