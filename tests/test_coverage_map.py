"""The coverage map: places against a full decomposition, states by hand, a bounded number of points."""

import numpy as np
import pytest

from ragviz.core.chunk import Chunk
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.span import Span
from ragviz.documents import corpora
from ragviz.health import coverage_map, health_sentences
from ragviz.health.coverage_map import FOUND, MISSED, NEVER
from ragviz.index import indexing
from ragviz.runs import running
from ragviz.workspace import Workspace
from tests.test_pages import Hashing


def test_places_are_those_of_a_full_singular_value_decomposition():
    random = np.random.default_rng(0)
    rows = (random.standard_normal((400, 40)) * np.linspace(3, 0.1, 40)).astype(np.float32)
    xy, explained = coverage_map.placed(rows)
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    for axis in range(2):
        expected = left[:, axis] * sizes[axis]
        assert abs(np.corrcoef(xy[:, axis], expected)[0, 1]) > 0.999
        assert np.linalg.norm(xy[:, axis]) == pytest.approx(sizes[axis], rel=1e-3)
    assert explained == pytest.approx((sizes[:2] ** 2).sum() / (sizes**2).sum(), rel=1e-3)
    again, _ = coverage_map.placed(rows)
    assert np.array_equal(xy, again)


def test_rows_that_were_not_sampled_are_projected_on_the_same_components():
    random = np.random.default_rng(1)
    rows = (random.standard_normal((600, 20)) * np.linspace(4, 0.2, 20)).astype(np.float32)
    whole, _ = coverage_map.placed(rows)
    part, _ = coverage_map.placed(rows, most=300)
    assert part.shape == whole.shape
    assert abs(np.corrcoef(whole[:, 0], part[:, 0])[0, 1]) > 0.98


def test_all_that_is_missed_is_drawn_and_the_rest_by_chance():
    states = np.zeros(1000, np.int8)
    states[[3, 500]], states[100:110] = MISSED, FOUND
    rows = coverage_map.sampled(states, 50)
    assert len(rows) == 50
    assert {3, 500, *range(100, 110)} <= set(rows.tolist())
    assert rows.tolist() == sorted(rows.tolist())
    assert len(coverage_map.sampled(states, 1000)) == 1000


def test_a_passage_is_missed_when_none_of_its_chunks_is_among_the_first_k():
    result = Retrieved("q", Ranking(("a", "b", "c"), (3.0, 2.0, 1.0)), (("b",), ("c", "d"), ()))
    assert coverage_map.missed_groups(result, 3, 2) == [False, True, True]
    assert coverage_map.missed_groups(result, 2, 2) == [False, False], "the question has changed since"
    assert coverage_map.missed_groups(None, 1, 2) == [False]


@pytest.fixture(params=["hashing", ""])
def filled(request, workspace, monkeypatch):
    """Three documents of one chunk each, two of them asked about; one of these is missed at k = 1."""
    monkeypatch.setattr(Workspace, "embedder", lambda *_: Hashing())
    store = workspace.store
    corpus = store.corpora.add("plant")
    texts = {"a.txt": "The pump leaks oil.", "b.txt": "The pump of the pump house drips.", "c.txt": "Tea at noon."}
    for name, text in texts.items():
        corpora.add_file(workspace, corpus, name, text.encode())
    name = "all-MiniLM-L6-v2" if request.param else ""
    indexing.build_index(workspace, corpus, "index", IndexConfig(chunk_size=40, embedder=name))
    owners = {name: store.documents.find(corpus.id, name).id for name in texts}

    def asked(number, name, words):
        text = texts[name]
        return Question(f"q{number}", words, "yes", ((Span(owners[name], 0, len(text), text),),), "hand", "accepted")

    questions = [asked(0, "a.txt", "pump pump house?"), asked(1, "b.txt", "What drips in the pump house?")]
    store.questions.put(store.sets.add(corpus.id, "asked").id, questions)
    config = RunConfig(index="index", questions="asked", retriever="bm25", k=1, depth=3)
    running.run(workspace, "words", config)
    ids = {name: Chunk.make_id(owners[name], 0, len(text)) for name, text in texts.items()}
    return workspace, questions, ids, bool(request.param)


def test_chunks_are_asked_about_missed_or_neither(filled):
    workspace, questions, ids, has_vectors = filled
    store = workspace.store
    index, run = store.indexes.get("index"), store.runs.get("words")
    coverage = coverage_map.coverage_map(workspace, index, questions, run)
    states = dict(zip(coverage.ids, coverage.states.tolist(), strict=True))
    assert states == {ids["a.txt"]: MISSED, ids["b.txt"]: FOUND, ids["c.txt"]: NEVER}
    assert coverage.total == (1, 1, 1)
    assert coverage.basis == ("embeddings" if has_vectors else "words")
    place = {name: coverage.xy[coverage.ids.index(chunk_id)] for name, chunk_id in ids.items()}
    near = np.linalg.norm(place["a.txt"] - place["b.txt"])
    assert near < np.linalg.norm(place["a.txt"] - place["c.txt"])
    said = health_sentences.coverage(coverage)
    assert "2 of 3 chunks are asked about, 1 of them missed by words at k = 1; 1 are not." in said
    without = coverage_map.coverage_map(workspace, index, questions)
    assert without.total == (1, 2, 0)
    assert "missed" not in health_sentences.coverage(without)
