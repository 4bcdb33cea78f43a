"""Retrievers: fusion against numbers worked by hand, and all three over a real local index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.backends.opening import open_index
from ragviz.backends.protocol import Index
from ragviz.errors import UsageError
from ragviz.records import Chunk, Ranking
from ragviz.retrieval.retrievers import RETRIEVERS, Retriever, bm25, fuse, hybrid, knn

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


def test_hybrid_looks_deeper_than_it_is_asked():
    """The best chunk is 40th in both: seen at depth 5 too, and the head is the same at every depth up to 100."""
    first = ranked(*(f"a{n:02d}" for n in range(39)), "both", *(f"a{n:02d}" for n in range(40, 120)))
    second = ranked(*(f"b{n:02d}" for n in range(39)), "both", *(f"b{n:02d}" for n in range(40, 120)))
    search = hybrid(fixed(first), fixed(second))
    assert search(["?"], 5)[0].ids[0] == "both"
    deep = search(["?"], 100)[0]
    assert all(search(["?"], depth)[0].ids == deep.ids[:depth] for depth in (1, 5, 50, 99))
    assert len(search(["?"], 150)[0].ids) == 150


def test_hybrid_keeps_the_questions_apart():
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


def test_no_questions(index: Index):
    for build in RETRIEVERS.values():
        assert build(index, embedder({}), 60)([], 5) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("knn", ("cats", "dogs", "fish")), ("bm25", ("fish",)), ("hybrid", ("fish", "cats", "dogs"))],
)
def test_retrievers_by_name(index: Index, name: Any, expected: tuple[str, ...]):
    """A question that is a cat by its vector and a fish by its word: fused, 1/63 + 1/61 for fish, 1/61 for cats."""
    assert RETRIEVERS[name](index, embedder({"fish": (1, 0)}), 60)(["fish"], 3)[0].ids == expected


def test_the_constant_reaches_the_fusion(index: Index):
    search = RETRIEVERS["hybrid"](index, embedder({"cats": (1, 0)}), 0)
    assert search(["cats"], 1)[0] == Ranking(("cats",), (2.0,))


def test_bm25_needs_no_embedder(index: Index):
    assert RETRIEVERS["bm25"](index, None, 60)(["fish"], 3)[0].ids == ("fish",)


@pytest.mark.parametrize("name", ["knn", "hybrid"])
def test_the_others_do(index: Index, name: Any):
    build: Callable[..., Retriever] = RETRIEVERS[name]
    with pytest.raises(UsageError, match="needs the embedder"):
        build(index, None, 60)
