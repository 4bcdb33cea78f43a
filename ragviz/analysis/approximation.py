"""Approximate search against exact search over the same chunks: what the embedder misses, and what the index does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

OUTCOMES: dict[str, str] = {
    "both": "Found by both",
    "neither": "Found by neither: not lost by the index",
    "exact": "Missed by the approximate search only: the index",
    "approximate": "Found by the approximate search only: by chance",
}
"""Outcome of a question → what a person reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Which questions have their evidence among the first `k` chunks by both searches, one, or neither; masks, (n,).

    `agreement` is recall@k of the approximate search against the exact one: the share of the first k chunks that are
    as near as the k nearest.
    """

    k: int
    found: dict[str, Bools]
    agreement: Estimate


def losses(
    approximate: ArrayLike, exact: ArrayLike, near: Ints, k: int, clusters: Clusters, *, seed: int = 0
) -> Losses:
    """Compare the ranks of the evidence, (n,), 0 for none, by both searches.

    `near`, (n, depth), counts how many of the first j + 1 chunks of the approximate search are as near as the
    (j + 1)-th nearest.

    Raises:
        UsageError: the searches are of different numbers of questions, or k is not within the depth.

    """
    first, second = np.asarray(approximate), np.asarray(exact)
    if not len(first) == len(second) == len(near):
        raise UsageError(
            f"The approximate search is of {len(first)} questions, the exact one of {len(second)}: search again."
        )
    if not 1 <= k <= near.shape[1]:
        raise UsageError(f"k = {k} is not within the depth of the searches, {near.shape[1]}.")
    by_approximate, by_exact = (first > 0) & (first <= k), (second > 0) & (second <= k)
    found = {
        "both": by_approximate & by_exact,
        "neither": ~by_approximate & ~by_exact,
        "exact": ~by_approximate & by_exact,
        "approximate": by_approximate & ~by_exact,
    }
    return Losses(k, found, intervals.estimate(near[:, k - 1] / k, clusters, seed=seed))
