"""Means of questions that count more or less, with clustered intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.stats.clusters import Clusters, checked, independent_clusters
from ragviz.stats.intervals import finite, quantiles


def weighted_estimate(values: ArrayLike, weights: ArrayLike, clusters: Clusters | None = None) -> Estimate:
    """Estimate Σ w·x ÷ Σ w of `values` and `weights`, (n,), with a 95 % interval; all None without values.

    The variance is the jackknife's: each cluster is left out once, and the mean taken of the others. The interval is
    Student's t with (Σ W_c)² ÷ Σ W_c² − 1 degrees of freedom, where W_c is the weight of a cluster. Scores within
    0 … 1 have ends within it. Where there are too few clusters to speak of other documents, questions are left out
    instead, and the interval speaks of these documents only.

    >>> estimate = weighted_estimate([1, 0, 1], [2, 1, 1])
    >>> estimate.mean, estimate.n
    (0.75, 3)

    Raises:
        UsageError: a weight is not above 0, or there are not as many as values.

    """
    x, w = finite(values, dimensions=1), finite(weights, dimensions=1)
    if len(x) != len(w) or (w <= 0).any():
        raise UsageError(f"{len(w)} weights were given for {len(x)} scores: give one above 0 for each.")
    if not len(x):
        return Estimate(None, None, None, 0)
    groups = checked(clusters, len(x))
    used = groups if groups.generalise else independent_clusters(len(x))
    total = float(w.sum())
    mean = float((w * x).sum() / total)
    if used.count < 2:
        return Estimate(mean, *_whole(x), len(x), groups.count)
    sums = used.sums(np.column_stack([w * x, w]))
    without = (w @ x - sums[:, 0]) / (total - sums[:, 1])
    variance = (used.count - 1) / used.count * float(((without - mean) ** 2).sum())
    freedom = np.array([max(float(sums[:, 1].sum() ** 2 / (sums[:, 1] ** 2).sum()) - 1, 1.0)])
    reach = float(quantiles(freedom)[0]) * variance**0.5
    low, high = mean - reach, mean + reach
    if x.min() >= 0 and x.max() <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    return Estimate(mean, low, high, len(x), groups.count)


def _whole(x: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    """Return the interval of one question: nothing is known of others but the range of scores."""
    return min(0.0, float(x.min())), max(1.0, float(x.max()))
