"""Builders of retrievers: functions that rank the chunks of an index for many questions at once.

hybrid(knn(index, embedder), bm25(index))(["How long is parental leave?"], 50)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ragviz.errors import UsageError
from ragviz.records import Ranking, RetrieverName

if TYPE_CHECKING:
    from ragviz.backends.protocol import Index
    from ragviz.models.vectors import Embedder

Retriever = Callable[[Sequence[str], int], list[Ranking]]
"""(questions, depth) → one ranking for each question, at most `depth` long."""

FUSED_DEPTH = 100
"""How deep `hybrid` looks into both rankings at least, so that the head does not change with the depth asked for."""


def knn(index: Index, embedder: Embedder) -> Retriever:
    """Rank by the similarity of the question's vector; the scores are the similarity's own."""
    return lambda questions, depth: index.knn(embedder.embed(questions, "query"), depth)


def bm25(index: Index) -> Retriever:
    """Rank by BM25; chunks that share no term with the question are not in its ranking."""
    return index.bm25


def hybrid(first: Retriever, second: Retriever, constant: int = 60) -> Retriever:
    """Fuse two rankings of each question by reciprocal rank (Cormack et al. 2009).

    The score of a chunk is the sum of 1 / (`constant` + rank) over the rankings that have it, ties by chunk id. Both
    are asked for max(depth, 100) chunks.

    Raises:
        UsageError: `constant` is negative.

    """
    if constant < 0:
        raise UsageError(f"The constant of reciprocal rank fusion is {constant}; use 0 or more, 60 is usual.")

    def ranked(questions: Sequence[str], depth: int) -> list[Ranking]:
        reach = max(depth, FUSED_DEPTH)
        pairs = zip(first(questions, reach), second(questions, reach), strict=True)
        return [fuse(pair, depth, constant) for pair in pairs]

    return ranked


def fuse(rankings: Sequence[Ranking], depth: int, constant: int = 60) -> Ranking:
    """Reciprocal rank fusion of rankings of one question, cut at `depth`.

    >>> fuse([Ranking(("a", "b"), (0.9, 0.8)), Ranking(("b",), (7.5,))], depth=2, constant=0)
    Ranking(ids=('b', 'a'), scores=(1.5, 1.0))
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking.ids, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (constant + rank)
    best = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:depth]
    return Ranking(tuple(best), tuple(scores[chunk_id] for chunk_id in best))


def _knn(index: Index, embedder: Embedder | None, _: int) -> Retriever:
    return knn(index, _needed(embedder))


def _bm25(index: Index, _: Embedder | None, __: int) -> Retriever:
    return bm25(index)


def _hybrid(index: Index, embedder: Embedder | None, constant: int) -> Retriever:
    return hybrid(knn(index, _needed(embedder)), bm25(index), constant)


def _needed(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        raise UsageError("This retriever compares vectors and needs the embedder that the index was built with.")
    return embedder


RETRIEVERS: Mapping[RetrieverName, Callable[[Index, Embedder | None, int], Retriever]] = {
    "knn": _knn,
    "bm25": _bm25,
    "hybrid": _hybrid,
}
"""Builders by name, each of (index, embedder, constant of the fusion); "bm25" needs no embedder: give None."""
