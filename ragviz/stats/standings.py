"""The place of every run among several: which ranks cannot be excluded, and how often it is best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragviz.stats.clusters import Clusters, Floats, checked
from ragviz.stats.corrections import holm
from ragviz.stats.differences import paired_differences
from ragviz.stats.intervals import SAMPLES, finite, resamples

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """The ranks `low` to `high` that a run may have, 1 the best, and its share of resamples in which it is `best`.

    95 % of such rank intervals hold the true ranks of all runs together (Mogstad, Romano, Shaikh and Wilhelm 2024): a
    run's best rank is behind all runs that are significantly better, by sign flips over all pairs with Holm's
    correction. `best` is None where there are too few documents to resample.
    """

    low: int
    high: int
    best: float | None


def standings(
    values: Floats, clusters: Clusters | None = None, *, seed: int = 0, samples: int = SAMPLES
) -> list[Standing]:
    """Return the standing of every run by its values, shape (runs, n), where higher is better; n at least 1."""
    values = finite(values, dimensions=2)
    runs, clusters = len(values), checked(clusters, values.shape[1])
    pairs = [(first, second) for first in range(runs) for second in range(first + 1, runs)]
    differences = paired_differences(
        np.column_stack([values[first] - values[second] for first, second in pairs]), clusters, seed=seed
    )
    adjusted = holm([difference.p_value or 0.0 for difference in differences])
    better, worse = np.zeros(runs, dtype=int), np.zeros(runs, dtype=int)  # how many are significantly so
    for (first, second), difference, p in zip(pairs, differences, adjusted, strict=True):
        if p <= ALPHA:
            winner, loser = (first, second) if (difference.mean or 0.0) > 0 else (second, first)
            better[loser] += 1
            worse[winner] += 1
    best = _best(values, clusters, seed, samples) if clusters.generalise else [None] * runs
    return [Standing(1 + int(better[run]), runs - int(worse[run]), best[run]) for run in range(runs)]


def _best(values: Floats, clusters: Clusters, seed: int, samples: int) -> list[float | None]:
    """Return the share of resamples of whole clusters in which each run has the greatest mean; ties are shared."""
    sums, sizes = clusters.sums(values.T), clusters.sizes
    best = np.zeros(len(values))
    for counts in resamples(clusters.count, seed, samples):
        means = (counts @ sums) / (counts @ sizes)[:, None]
        first = means >= means.max(axis=1, keepdims=True) - 1e-12
        best += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return [float(share) for share in best / samples]
