"""What documents that were added did to the questions about the earlier ones, counted by hand."""

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.job import NewJob
from ragviz.documents import corpora
from ragviz.health import competition, health_sentences
from ragviz.index import indexing
from ragviz.jobs import worker
from ragviz.questions import staleness
from ragviz.runs import measurements, running
from tests.builders import added, asking

TEXTS = {
    "a.md": "Alpha beta stands here.",
    "b.md": "Gamma delta is elsewhere.",
    "d.md": "Epsilon zeta comes last.",
    "e.md": "Nothing of this is asked.",
}
PLAIN = IndexConfig(embedder="", chunk_size=200)


def put(workspace, corpus, name, text, *, replace=False):
    with staleness.refreshing(workspace, corpus):
        corpora.add_file(workspace, corpus, name, text.encode(), replace=replace)


@pytest.fixture
def asked(workspace):
    """Three questions, each found first by BM25 on an index of four documents of one chunk each."""
    corpus = added(workspace, "corpus", TEXTS)
    indexing.build_index(workspace, corpus, "index", PLAIN)
    quotes = {"a.md": "Alpha beta", "b.md": "Gamma delta", "d.md": "Epsilon zeta"}
    question_set = asking(workspace, corpus, [(name, quote, quote, quote) for name, quote in quotes.items()])
    config = RunConfig(workspace.store.indexes.get("index").id, question_set.id, "bm25", k=1, depth=10)
    return workspace, corpus, question_set, running.run(workspace, "first", config)


def test_losses_are_counted_by_document_and_those_to_new_chunks_told_from_others(asked):
    workspace, corpus, _, first = asked
    put(workspace, corpus, "new.md", "Alpha beta, alpha beta.")  # outranks a.md for its question
    put(workspace, corpus, "e.md", "Epsilon zeta, epsilon zeta.", replace=True)  # and this one d.md
    results = workspace.store.rankings.all(first.id)
    job = worker.perform_new(workspace, NewJob("again", "Again", corpus.id, {"run": first.id, "name": "second"}))
    assert job.result["run"] == "second"
    found = competition.competition(workspace, first, workspace.store.runs.get("second"))
    assert (found.added, found.chunks) == (("new.md",), 1)
    assert found.total == competition.Row("", 3, 1.0, 1 / 3, 2 / 3, 2, 1)
    assert found.rows == (
        competition.Row("a.md", 1, 1.0, 0.0, 1.0, 1, 1),
        competition.Row("d.md", 1, 1.0, 0.0, 0.0, 1, 0),
        competition.Row("b.md", 1, 1.0, 1.0, 1.0, 0, 0),
    )
    assert [(each.question_id, each.rank_before, each.rank_after, each.to_competition) for each in found.lost] == [
        ("q0", 1, 2, True),
        ("q2", 1, 2, False),
    ]
    assert health_sentences.competition(found) == [
        "Recall@1 of the 3 questions about the earlier documents was 1.000 in first, and is 0.333 in second.",
        "It is 0.667 when the 1 chunk of 1 new document is left out.",
        "2 questions find less than before: 1 lost to the competition of the new chunks, 1 for other reasons.",
    ]
    at_two = competition.competition(workspace, first, workspace.store.runs.get("second"), 2)
    assert (at_two.total.after, at_two.lost) == (1.0, ())
    assert workspace.store.rankings.all(first.id) == results  # the earlier run stays as it was, and readable
    assert measurements.summary_of(workspace, first).metrics["recall@1"].mean == 1.0


def test_questions_that_are_stale_since_are_left_out(asked):
    workspace, corpus, _, first = asked
    put(workspace, corpus, "a.md", "All is new.", replace=True)
    found = competition.competition(workspace, first, competition.run_again(workspace, first, "second"))
    assert (found.total.n, found.total.lost, found.added) == (2, 0, ())
    assert health_sentences.competition(found)[-1] == "No document was added since: nothing is lost to competition."
