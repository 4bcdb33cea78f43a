"""The place of every run among several: which ranks cannot be excluded, and how often it is best."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from ragviz.stats.clusters import Clusters, Floats, checked
from ragviz.stats.intervals import LARGE, SAMPLES, finite, resamples


@dataclass(frozen=True, slots=True)
class Standing:
    """The ranks `low` to `high` that a run may have, 1 the best, and its share of resamples in which it is `best`.

    A run's best rank is behind all runs that are significantly better than it, its worst before all that it is better
    than (Mogstad, Romano, Shaikh and Wilhelm 2024). `best` is None where there are too few documents to resample.
    """

    low: int
    high: int
    best: float | None


def standings(
    values: Floats,
    better: Collection[tuple[int, int]],
    clusters: Clusters | None = None,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
) -> list[Standing]:
    """Return the standing of every run by its values, shape (runs, n), where higher is better; n at least 1.

    `better` are the pairs that are significantly apart, by their numbers from 0: the better run, the worse one.
    """
    values = finite(values, dimensions=2)
    runs, clusters = len(values), checked(clusters, values.shape[1])
    best = _best(values, clusters, seed, samples) if clusters.generalise else [None] * runs
    behind, before = ([pair[side] for pair in better] for side in (1, 0))
    return [Standing(1 + behind.count(run), runs - before.count(run), best[run]) for run in range(runs)]


def _best(values: Floats, clusters: Clusters, seed: int, samples: int) -> list[float | None]:
    """Return the share of resamples of whole clusters in which each run has the greatest mean; ties are shared."""
    best = np.zeros(len(values))
    for means in _resampled(values, clusters, seed, samples):
        first = means >= means.max(axis=1, keepdims=True) - 1e-9
        best += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    return [float(share) for share in best / samples]


def _resampled(values: Floats, clusters: Clusters, seed: int, samples: int) -> Iterator[Floats]:
    """Yield means of the runs, (≤ samples, runs): from `LARGE` clusters on by their normal distribution."""
    sums, sizes = clusters.parts(values.T), clusters.parts(np.ones((clusters.n, 1)))[:, 0]
    if clusters.count < LARGE:
        for counts in resamples(clusters.count, seed, samples):
            yield (counts @ sums) / (counts @ sizes)[:, None]
        return
    mean = sums.sum(axis=0) / sizes.sum()
    influence = (sums - sizes[:, None] * mean) / sizes.sum()
    variances, axes = np.linalg.eigh(influence.T @ influence)
    drawn = np.random.default_rng(seed).standard_normal((samples, len(values)))
    yield mean + (drawn * np.sqrt(np.maximum(variances, 0.0))) @ axes.T
