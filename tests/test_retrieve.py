"""Retrievers: fusion against numbers worked by hand, and all three over a real local index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.backends.opening import open_index
from ragviz.backends.protocol import Index
from ragviz.core.chunk import Chunk
from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.ranking import Ranking
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.retrieval import retrievers, search
from ragviz.retrieval.reranking import Candidates, reranked
from ragviz.retrieval.retriever import Retriever, RetrieverSpec, Sources
from ragviz.retrieval.retrievers import RETRIEVERS, bm25, fuse, hybrid, knn
from ragviz.workspace import Workspace

TEXTS = {"cats": "cats purr at night", "dogs": "dogs bark at cats", "fish": "fish swim silently"}
VECTORS = {"cats": (1.0, 0.0), "dogs": (0.8, 0.6), "fish": (0.0, 1.0)}


def fixed(*rankings: Ranking) -> Retriever:
    """A retriever that gives these rankings, cut at the depth."""
    return lambda questions, depth: [Ranking(r.ids[:depth], r.scores[:depth]) for r in rankings]


def ranked(*ids: str) -> Ranking:
    return Ranking(ids, tuple(float(-place) for place in range(len(ids))))


def embedder(vectors: dict[str, Sequence[float]]) -> Any:
    """Questions by name to their vectors; refuses to embed them as passages."""

    def embed(texts: Sequence[str], kind: str) -> np.ndarray:
        assert kind == "query"
        return np.array([vectors[text] for text in texts], np.float32).reshape(-1, 2)

    return SimpleNamespace(embed=embed)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = open_index("pets", "local", folder=tmp_path)
    writer = index.rebuild(2)
    chunks = [Chunk(key, "d", 0, len(text), text, 4) for key, text in TEXTS.items()]
    writer.add(chunks, np.array(list(VECTORS.values()), np.float32))
    writer.publish(3)
    return index


def test_fusion_by_hand():
    """With constant 60: b is 1/62 + 1/61, a is 1/61 + 1/63, c is 1/63, d is 1/62."""
    fused = fuse([ranked("a", "b", "c"), ranked("b", "d", "a")], depth=10)
    assert fused.ids == ("b", "a", "d", "c")
    assert fused.scores == pytest.approx((1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63))


def test_fusion_breaks_ties_by_id():
    assert fuse([ranked("z", "b"), ranked("a", "c")], depth=3).ids == ("a", "z", "b")
    assert fuse([ranked("z", "a"), ranked("a", "z")], depth=3).ids == ("a", "z")


def test_fusion_of_nothing():
    assert fuse([ranked(), ranked()], depth=5) == Ranking((), ())
    assert fuse([ranked("a"), ranked()], depth=5).ids == ("a",)


@given(
    st.permutations([f"c{n}" for n in range(12)]),
    st.permutations([f"c{n}" for n in range(6, 18)]),
    st.integers(0, 100),
)
def test_fusion_is_the_formula(first, second, constant):
    fused = fuse([ranked(*first), ranked(*second)], 50, constant)
    scores = {
        chunk_id: sum(1 / (constant + side.index(chunk_id) + 1) for side in (first, second) if chunk_id in side)
        for chunk_id in {*first, *second}
    }
    assert dict(zip(fused.ids, fused.scores, strict=True)) == pytest.approx(scores)
    assert list(zip(map(float.__neg__, fused.scores), fused.ids, strict=True)) == sorted(
        zip(map(float.__neg__, fused.scores), fused.ids, strict=True)
    )


def test_hybrid_fuses_deeper_rankings_than_requested():
    """The best chunk is 40th in both: seen at depth 5 too, and the head is the same at every depth up to 100."""
    first = ranked(*(f"a{n:02d}" for n in range(39)), "both", *(f"a{n:02d}" for n in range(40, 120)))
    second = ranked(*(f"b{n:02d}" for n in range(39)), "both", *(f"b{n:02d}" for n in range(40, 120)))
    search = hybrid(fixed(first), fixed(second))
    assert search(["?"], 5)[0].ids[0] == "both"
    deep = search(["?"], 100)[0]
    assert all(search(["?"], depth)[0].ids == deep.ids[:depth] for depth in (1, 5, 50, 99))
    assert len(search(["?"], 150)[0].ids) == 150


def test_hybrid_fuses_each_question_separately():
    search = hybrid(fixed(ranked("a"), ranked("b")), fixed(ranked(), ranked("c")))
    assert [ranking.ids for ranking in search(["one", "two"], 5)] == [("a",), ("b", "c")]


def test_hybrid_refuses_a_negative_constant():
    with pytest.raises(UsageError, match="constant of reciprocal rank fusion is -1"):
        hybrid(fixed(), fixed(), -1)


def test_knn(index: Index):
    rankings = knn(index, embedder({"cat?": (1, 0), "sea?": (0, 1)}))(["sea?", "cat?"], 2)
    assert [ranking.ids for ranking in rankings] == [("fish", "dogs"), ("cats", "dogs")]
    assert rankings[0].scores == pytest.approx((1, 0.6))


def test_bm25(index: Index):
    assert [ranking.ids for ranking in bm25(index)(["who barks? dogs bark", "fish", "?"], 2)] == [
        ("dogs",),
        ("fish",),
        (),
    ]


def sources(index: Index, vectors: dict[str, Sequence[float]] | None = None, constant: int = 60) -> Sources:
    """What retrievers are built from; without `vectors` there is no embedder."""
    return Sources(index, None if vectors is None else embedder(vectors), texts, constant)


def texts(chunk_ids: Sequence[str]) -> list[str]:
    return [TEXTS[chunk_id] for chunk_id in chunk_ids]


def test_no_questions(index: Index):
    for spec in RETRIEVERS.values():
        assert spec.build(sources(index, {}))([], 5) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("knn", ("cats", "dogs", "fish")), ("bm25", ("fish",)), ("hybrid", ("fish", "cats", "dogs"))],
)
def test_retrievers_by_name(index: Index, name: Any, expected: tuple[str, ...]):
    """A question that is a cat by its vector and a fish by its word: fused, 1/63 + 1/61 for fish, 1/61 for cats."""
    assert RETRIEVERS[name].build(sources(index, {"fish": (1, 0)}))(["fish"], 3)[0].ids == expected


def test_the_constant_reaches_the_fusion(index: Index):
    search = RETRIEVERS["hybrid"].build(sources(index, {"cats": (1, 0)}, constant=0))
    assert search(["cats"], 1)[0] == Ranking(("cats",), (2.0,))


@pytest.mark.parametrize("name", list(RETRIEVERS))
def test_a_retriever_needs_what_it_declares(index: Index, name: Any):
    spec = RETRIEVERS[name]
    if "embedder" in spec.needs:
        with pytest.raises(UsageError, match="needs the embedder"):
            spec.build(sources(index))
    else:
        assert spec.build(sources(index))(["fish"], 3)[0].ids == ("fish",)


# reranking


def letters(candidates: Sequence[Candidates]) -> list[list[float]]:
    """Scores of texts: how many different letters of the question each has."""
    return [[len(set(each.question) & set(text)) for text in each.texts] for each in candidates]


def letter_texts(chunk_ids: Sequence[str]) -> list[str]:
    return [{"a": "xy", "b": "zx", "c": "z", "d": "xyz"}[chunk_id] for chunk_id in chunk_ids]


def test_reranking_by_hand():
    """ "xy" shares 2 letters with a, 1 with b, 0 with c and 2 with d: a before d, for its id; "z" 0, 1, 1, 1."""
    search = reranked(fixed(ranked("c", "d", "b", "a"), ranked("d", "c", "b")), letters, letter_texts, 4)
    assert search(["xy", "z"], 10) == [
        Ranking(("a", "d", "b", "c"), (2.0, 2.0, 1.0, 0.0)),
        Ranking(("b", "c", "d"), (1.0, 1.0, 1.0)),
    ]
    assert search(["xy", "z"], 2) == [Ranking(("a", "d"), (2.0, 2.0)), Ranking(("b", "c"), (1.0, 1.0))]


def test_what_is_behind_the_depth_keeps_its_order_behind():
    """Of c, b, d, a the first two are scored, 0 and 1; the others follow with the scores −1 and −2."""
    search = reranked(fixed(ranked("c", "b", "d", "a")), letters, letter_texts, 2)
    whole = Ranking(("b", "c", "d", "a"), (1.0, 0.0, -1.0, -2.0))
    assert search(["xy"], 10) == [whole]
    for depth in (1, 2, 3):
        assert search(["xy"], depth) == [Ranking(whole.ids[:depth], whole.scores[:depth])]


def test_the_scorer_is_handed_questions_texts_and_scores_in_one_call():
    calls: list[Sequence[Candidates]] = []

    def by_reversed_scores(candidates: Sequence[Candidates]) -> list[Sequence[float]]:
        calls.append(candidates)
        return [[-score for score in each.ranking.scores] for each in candidates]

    search = reranked(fixed(ranked("a", "b"), Ranking((), ()), ranked("c")), by_reversed_scores, letter_texts, 5)
    assert [ranking.ids for ranking in search(["one", "none", "two"], 5)] == [("b", "a"), (), ("c",)]
    assert calls == [
        [Candidates("one", ranked("a", "b"), ("xy", "zx")), Candidates("two", ranked("c"), ("z",))],
    ]


def test_nothing_to_rerank_calls_no_scorer():
    def fails(candidates: Sequence[Candidates]) -> list[list[float]]:
        raise AssertionError(candidates)

    assert reranked(fixed(Ranking((), ())), fails, letter_texts, 5)(["one"], 5) == [Ranking((), ())]
    assert reranked(fixed(), fails, letter_texts, 5)([], 5) == []


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0]], "gave 1 scores for 2 chunks of 'one'"),
        ([[1.0, math.nan]], "gave chunk b the score nan for 'one'"),
        ([[math.inf, 0.0]], "gave chunk a the score inf for 'one'"),
        ([], "scored 0 of 1 questions"),
    ],
)
def test_scores_that_cannot_be_ranked_are_an_error(scores: list[list[float]], message: str):
    search = reranked(fixed(ranked("a", "b")), lambda candidates: scores, letter_texts, 5)
    with pytest.raises(ModelError, match=message):
        search(["one"], 5)


def test_a_reranking_depth_of_0_is_refused():
    with pytest.raises(UsageError, match="depth to rerank is 0"):
        reranked(fixed(), letters, letter_texts, 0)


def test_a_reranker_over_an_index(index: Index):
    """Chunks in the order of their first letters: "cats purr" before "dogs bark"."""

    def by_first_letter(candidates: Sequence[Candidates]) -> list[list[float]]:
        return [[-float(ord(text[0])) for text in each.texts] for each in candidates]

    search = reranked(bm25(index), by_first_letter, texts, 10)
    assert search(["dogs cats", "penguin"], 10) == [
        Ranking(("cats", "dogs"), (-float(ord("c")), -float(ord("d")))),
        Ranking((), ()),
    ]


def test_a_reranker_reads_the_texts_of_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A registered retriever that wraps another: the longest of the chunks that share a word with the query first."""
    workspace = Workspace(Settings(_env_file=None, home=tmp_path))
    corpus = workspace.store.corpora.add("pets")
    for name, text in TEXTS.items():
        corpora.add_file(workspace, corpus, f"{name}.txt", text.encode())
    indexing.build_index(workspace, corpus, "words", IndexConfig(embedder=""))
    info = workspace.store.indexes.get("words")

    def lengths(candidates: Sequence[Candidates]) -> list[list[float]]:
        return [[float(len(text)) for text in each.texts] for each in candidates]

    longest = RetrieverSpec(
        "Longest first.",
        lambda sources: reranked(bm25(sources.index), lengths, sources.texts, 20),
        needs=frozenset({"texts"}),
    )
    monkeypatch.setattr(retrievers, "RETRIEVERS", {"longest": longest})
    monkeypatch.setattr(search, "RETRIEVERS", {"longest": longest})
    hits = search.search(workspace, info, "cats dogs", "longest", 5)  # type: ignore[arg-type]
    assert [(hit.document_name, hit.hit.score) for hit in hits] == [("cats.txt", 18.0), ("dogs.txt", 17.0)]
    assert retrievers.offered(info.config) == ["longest"]

    ids = [hit.hit.chunk_id for hit in hits]
    read = search.texts_of(workspace, corpus.id)
    assert read([*ids, ids[0], "a passage"]) == [TEXTS["cats"], TEXTS["dogs"], TEXTS["cats"], ""]
