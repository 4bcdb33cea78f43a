"""Retrievers: fusion against numbers worked by hand, and what a reranker makes of a ranking."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.core.errors import ModelError
from ragviz.core.ranking import Ranking
from ragviz.retrieval.reranking import Candidates, reranked
from ragviz.retrieval.retrievers import Retriever, fuse, hybrid


def fixed(*rankings: Ranking) -> Retriever:
    """A retriever that gives these rankings, cut at the depth."""
    return lambda questions, depth: [Ranking(r.ids[:depth], r.scores[:depth]) for r in rankings]


def ranked(*ids: str) -> Ranking:
    return Ranking(ids, tuple(float(-place) for place in range(len(ids))))


def test_fusion_by_hand():
    """With constant 60: b is 1/62 + 1/61, a is 1/61 + 1/63, c is 1/63, d is 1/62."""
    fused = fuse([ranked("a", "b", "c"), ranked("b", "d", "a")], depth=10)
    assert fused.ids == ("b", "a", "d", "c")
    assert fused.scores == pytest.approx((1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63))


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


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0, math.nan]], "gave chunk b the score nan for 'one'"),
        ([[math.inf, 0.0]], "gave chunk a the score inf for 'one'"),
    ],
)
def test_scores_that_cannot_be_ranked_are_an_error(scores: list[list[float]], message: str):
    search = reranked(fixed(ranked("a", "b")), lambda candidates: scores, letter_texts, 5)
    with pytest.raises(ModelError, match=message):
        search(["one"], 5)
