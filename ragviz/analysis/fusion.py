"""Reciprocal rank fusion of stored component rankings with any constant, for all questions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics import rank_metrics
from ragviz.metrics.rank_metrics import Rankings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Every chunk of two rankings of each question, a row a question, by ascending chunk id; (n, m).

    `ids` are the ids of the chunks by their number, ascending. `chunks` are numbers, -1 where there is none; `first`
    and `second` are the 1-based ranks of a chunk in both rankings, infinite where it is in one only.
    """

    ids: tuple[str, ...]
    chunks: Ints
    first: Floats
    second: Floats


def candidates(first: Sequence[Ranking], second: Sequence[Ranking]) -> Candidates:
    """Put two rankings of the same questions side by side.

    Raises:
        UsageError: they are of different numbers of questions.

    """
    if len(first) != len(second):
        raise UsageError(f"{len(first)} rankings cannot be fused with {len(second)}: give both of the same questions.")
    ids = tuple(sorted({*chain.from_iterable(each.ids for each in chain(first, second))}))
    number = {chunk_id: place for place, chunk_id in enumerate(ids)}
    left, right = (_numbers(rankings, number) for rankings in (first, second))
    both = np.concatenate([left, right], axis=1)
    order = np.argsort(np.where(both < 0, len(ids), both), axis=1, kind="stable")  # the first ranking's before
    chunks = np.take_along_axis(both, order, axis=1)
    width = left.shape[1]
    ranks = np.where(order < width, order, order - width) + 1.0
    of_first, of_second = np.where(order < width, ranks, np.inf), np.where(order < width, np.inf, ranks)
    again = np.zeros(chunks.shape, dtype=bool)  # the second place of a chunk that both rankings hold
    again[:, 1:] = (chunks[:, 1:] == chunks[:, :-1]) & (chunks[:, 1:] >= 0)
    of_second[:, :-1][again[:, 1:]] = ranks[again]
    return Candidates(ids, np.where(again, -1, chunks), of_first, of_second)


def _numbers(rankings: Sequence[Ranking], number: dict[str, int]) -> Ints:
    """Return the numbers of ranked chunks, (n, longest), -1 past the end of a ranking."""
    lengths = np.array([len(each.ids) for each in rankings], dtype=np.int64)
    numbers = np.full((len(rankings), int(lengths.max(initial=0))), -1, dtype=np.int64)
    numbers[np.arange(numbers.shape[1]) < lengths[:, np.newaxis]] = [
        number[chunk_id] for each in rankings for chunk_id in each.ids
    ]
    return numbers


def fused(both: Candidates, constant: int, depth: int) -> tuple[Ints, Floats]:
    """Return the numbers of the fused rankings' chunks and their scores, (n, depth): -1 and -inf past the end.

    The same to the last bit as `retrieval.retrievers.fuse`: Σ 1 ÷ (constant + rank), ties by chunk id.

    Raises:
        UsageError: the constant is negative.

    """
    if constant < 0:
        raise UsageError(f"The constant of reciprocal rank fusion is {constant}; use 0 or more, 60 is usual.")
    scores = 1 / (constant + both.first) + 1 / (constant + both.second)
    scores[both.chunks < 0] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    chunks, best = np.take_along_axis(both.chunks, order, axis=1), np.take_along_axis(scores, order, axis=1)
    if (missing := depth - chunks.shape[1]) > 0:
        chunks = np.pad(chunks, ((0, 0), (0, missing)), constant_values=-1)
        best = np.pad(best, ((0, 0), (0, missing)), constant_values=-np.inf)
    return chunks, best


def rankings(both: Candidates, constant: int, own: Rankings) -> tuple[Rankings, Floats]:
    """Fuse for the questions of the rankings that a run stored, `own`, to the same depth; with the scores."""
    chunks, scores = fused(both, constant, own.depth)
    number = {chunk_id: place for place, chunk_id in enumerate(both.ids)}
    return rank_metrics.numbered(own.results, own.unranked, number, chunks), scores


def unequal(both: Candidates, constant: int, results: Sequence[Retrieved], depth: int) -> int:
    """Count the questions whose stored ranking is not what fusing at `constant` gives.

    None, unless a search of the same index does not always give the same ranking.
    """
    chunks, _ = fused(both, constant, depth)
    names = np.array([*both.ids, ""], dtype=object)[chunks]
    stored = [(*each.ranking.ids[:depth], *[""] * (depth - len(each.ranking.ids))) for each in results]
    return sum(tuple(row) != ids for row, ids in zip(names.tolist(), stored, strict=True))
