"""Means over questions with 95 % intervals, clustered by document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.stats.clusters import Clusters, Floats, checked, numbered

Key = TypeVar("Key")

SAMPLES = 2000
"""Bootstrap resamples of an interval."""

ROUNDING = 1e-5
"""How far a score may be past its range by rounding: a mean of cosines of single precision."""
MANY = 30
"""From this many clusters on, means that are no rates are resampled by cluster; below, Student's t is used."""
LARGE = 2_000
"""From this many clusters on it is used again: 2,000 resamples are off by more than what they correct."""

FEW_SCORES = 10
"""Below this many scores, 0 and one other value that is not 1 may be chance of a metric that has others too."""

_PIECE = 200_000  # numbers drawn at once: bounds memory, whatever n is
_LEVEL = 0.975  # the upper end of a two-sided 95 % interval
_Z = NormalDist().inv_cdf(_LEVEL)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Of every column of values (n, m): arrays of shape (m,).

    `error` is the standard error of `mean`, `freedom` its degrees of freedom (Student's t), `design_effect` the
    variance of the mean ÷ that of as many independent questions; NaN where unknown.
    """

    mean: Floats
    error: Floats
    freedom: Floats
    design_effect: Floats


def moments(matrix: Floats, clusters: Clusters) -> Moments:
    """Return means and their standard errors; at least one row.

    The mean is that of the questions. Its variance is the jackknife's over clusters, each left out once with every
    question that is in it (CR3: Bell and McCaffrey 2002), without what questions in several clusters are counted too
    often (Cameron, Gelbach and Miller 2011). Its degrees of freedom are Satterthwaite's by the fourth
    moment of the clusters' influence, at most 1 ÷ Σ w² − 1 by the shares w of the clusters, their sizes ÷ the sum of
    these: with clusters of equal size and influence, their number − 1. Where nothing can be said about other documents
    (`Clusters.generalise`), it is the variance within the clusters.
    """
    n, count, sizes = len(matrix), clusters.count, clusters.sizes
    mean = matrix.mean(axis=0)
    alone = ((matrix - mean) ** 2).sum(axis=0) / max(n - 1, 1) / n
    if not clusters.generalise:
        variance, freedom_within = _within(matrix, clusters)
        return Moments(mean, np.sqrt(variance), np.full(len(mean), freedom_within), np.full(len(mean), np.nan))
    if n == 1:
        return Moments(mean, np.zeros_like(mean), np.ones_like(mean), np.full(len(mean), np.nan))
    influence = (clusters.sums(matrix) - sizes[:, None] * mean) / (1 - sizes / n)[:, None]
    square, fourth = (influence**2).sum(axis=0), (influence**4).sum(axis=0)
    variance = (count - 1) / count * square / n**2
    if not clusters.disjoint:  # a question's own spread is in the sum of each of its clusters
        more = np.bincount(clusters.rows, minlength=n)[:, None] - 1
        twice = (more * (matrix - mean) ** 2).sum(axis=0) / n**2
        variance = np.maximum(variance - twice, np.minimum(variance, alone))
    most = sizes.sum() ** 2 / (sizes**2).sum() - 1
    uneven = fourth - square**2 / count  # 0 where all clusters have the same influence
    freedom = np.full_like(mean, most)
    np.divide(2 * square**2, uneven, out=freedom, where=uneven > 1e-9 * fourth)
    effect = np.divide(variance, alone, out=np.full_like(mean, np.nan), where=alone > 0)
    return Moments(mean, np.sqrt(variance), np.clip(np.minimum(freedom, most), 1, None), effect)


def _within(matrix: Floats, clusters: Clusters) -> tuple[Floats, float]:
    """Return the variance of the mean when the clusters are given and only their questions vary, (m,); its freedom.

    Questions of the same clusters vary around their own mean; around that of all, where no two are of the same.
    """
    strata = numbered(clusters.labels)
    if strata.count == len(matrix):
        strata = numbered(np.zeros(len(matrix), dtype=np.int64))
    sizes = strata.sizes[:, None]
    squares = strata.sums((matrix - (strata.sums(matrix) / sizes)[strata.labels]) ** 2)
    freedom = float(max(len(matrix) - strata.count, 1))
    pooled = squares.sum(axis=0) / freedom  # also of a cluster of one question
    variances = np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), pooled)
    return np.asarray((sizes * variances).sum(axis=0) / len(matrix) ** 2), freedom


def estimate(values: ArrayLike, clusters: Clusters | None = None, *, seed: int = 0, samples: int = SAMPLES) -> Estimate:
    """Estimate the mean of `values`, shape (n,), with a 95 % interval as `bands` has it. No values: all None.

    >>> recall = estimate([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    >>> f"{recall.mean:.2f} [{recall.low:.2f}, {recall.high:.2f}] n = {recall.n}"
    '0.80 [0.49, 0.94] n = 10'
    """
    return estimates({"": values}, clusters, seed=seed, samples=samples)[""]


def estimates(
    columns: Mapping[Key, ArrayLike], clusters: Clusters | None = None, *, seed: int = 0, samples: int = SAMPLES
) -> dict[Key, Estimate]:
    """Estimate several scores of the same n questions, each of shape (n,): each as `estimate` does alone."""
    if not columns:
        return {}
    matrix = np.column_stack([finite(values, dimensions=1) for values in columns.values()])
    n, clusters = len(matrix), checked(clusters, len(matrix))
    if not n:
        return dict.fromkeys(columns, Estimate(None, None, None, 0))
    known = moments(matrix, clusters)
    low, high = _ends(matrix, clusters, known, seed, samples)
    effects = [None if np.isnan(effect) else float(effect) for effect in known.design_effect]
    return {
        name: Estimate(float(mean), float(least), float(most), n, clusters.count, effect)
        for name, mean, least, most, effect in zip(columns, known.mean, low, high, effects, strict=True)
    }


def bands(
    values: ArrayLike, clusters: Clusters | None = None, *, seed: int = 0, samples: int = SAMPLES
) -> tuple[Floats, Floats, Floats] | tuple[None, None, None]:
    """Mean, low and high of every column of `values`, shape (n, m): three arrays of shape (m,), or None when n is 0.

    95 %, for the mean over documents like these, whose questions are the `clusters`; without them every question counts
    as independent. A column that holds only 0 and one other value v is a rate (hit@k; precision@k with one gold
    chunk), where v is 1 or there are `FEW_SCORES` of them: it gets Wilson's score interval times v, of clustered
    questions with the number of clusters for that of questions, or the interval of its logit by Student's t where that
    is closer (Dean and Pagano 2015 compare intervals of rates in clusters). Other columns get the percentiles of
    a bootstrap of whole clusters, widened as Student's t is against the normal distribution (Hesterberg 2015), from
    `MANY` clusters on, below `LARGE`, that share no question; else Student's t. An interval depends on `seed` and its
    own column, not on the order of the questions or on what else is measured.
    """
    matrix = finite(values, dimensions=2)
    clusters = checked(clusters, len(matrix))
    if not len(matrix):
        return None, None, None
    known = moments(matrix, clusters)
    return known.mean, *_ends(matrix, clusters, known, seed, samples)


def _ends(matrix: Floats, clusters: Clusters, known: Moments, seed: int, samples: int) -> tuple[Floats, Floats]:
    low, high, rates = _rates(matrix, clusters, known)
    if not rates.all():
        rest = Moments(known.mean[~rates], known.error[~rates], known.freedom[~rates], known.design_effect[~rates])
        low[~rates], high[~rates] = interval(matrix[:, ~rates], clusters, rest, seed=seed, samples=samples)
    return np.minimum(low, known.mean), np.maximum(high, known.mean)


def interval(
    matrix: Floats, clusters: Clusters, known: Moments, *, seed: int = 0, samples: int = SAMPLES
) -> tuple[Floats, Floats]:
    """Low and high end of the mean of every column that is no rate, (m,) each.

    Of values that are all within 0 … 1 the ends are too.
    """
    from scipy.special import ndtr

    reach = quantiles(known.freedom)
    low, high = known.mean - reach * known.error, known.mean + reach * known.error
    if MANY <= clusters.count < LARGE and clusters.disjoint:
        means = resampled_means(matrix, clusters, seed=seed, samples=samples)
        apart = clusters.sums(matrix) - clusters.sizes[:, None] * known.mean
        spread = np.sqrt((apart**2).sum(axis=0)) / len(matrix)
        widening = np.divide(known.error, spread, out=np.ones_like(spread), where=spread > 0)
        low, high = percentiles(means, ndtr(-reach * widening))  # widened to the reach of Student's t
    bounded = (matrix.min(axis=0) >= -ROUNDING) & (matrix.max(axis=0) <= 1 + ROUNDING)
    return np.where(bounded, np.maximum(low, 0.0), low), np.where(bounded, np.minimum(high, 1.0), high)


def quantiles(freedom: Floats, level: float | Floats = _LEVEL) -> Floats:
    """Student's t at `level` for degrees of freedom, (m,)."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, level))


def finite(values: ArrayLike, dimensions: int) -> Floats:
    """`values` as float64; a NaN is a missing score, and would spread silently."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise UsageError(f"Scores of shape {array.shape} were given; {dimensions} dimensions are needed.")
    if not np.isfinite(array).all():
        raise UsageError(
            "A score is not a finite number; leave questions without a score out, and report their number."
        )
    return array


def _rates(matrix: Floats, clusters: Clusters, known: Moments) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The 95 % interval of each column as a rate times its one value that is not 0, and which columns are rates."""
    from scipy.special import expit

    value = matrix[np.abs(matrix).argmax(axis=0), np.arange(matrix.shape[1])]
    value[value == 0] = 1.0
    equal = matrix == value
    rates = ((matrix == 0) | equal).all(axis=0) & ((value == 1) | (len(matrix) >= FEW_SCORES))
    share = equal.mean(axis=0)
    ends = _wilson(share, len(matrix), clusters, known)
    spread = share * (1 - share)
    if not clusters.independent and (inside := rates & (spread > 0) & (known.error > 0)).any():
        reach = quantiles(known.freedom) * known.error / np.abs(value)
        centre = np.log(share[inside] / (1 - share[inside]))
        half = reach[inside] / spread[inside]
        logit = expit(centre + np.stack([-half, half]))
        ends[0, inside] = np.maximum(ends[0, inside], logit[0])
        ends[1, inside] = np.minimum(ends[1, inside], logit[1])
    ends = ends * value
    return ends.min(axis=0) + 0.0, ends.max(axis=0) + 0.0, rates  # no -0


def _wilson(share: Floats, n: int, clusters: Clusters, known: Moments) -> Floats:
    """Wilson's score interval of shares, (m,): low and high ends, (2, m).

    In clusters, with as many independent questions as there are clusters, where these speak of other documents.
    """
    count = min(clusters.count, n) if clusters.generalise else n
    freedom = known.freedom
    if clusters.generalise:  # by the sizes of clusters: the spread of a few misses tells nothing of it
        freedom = np.full(len(share), max(clusters.sizes.sum() ** 2 / (clusters.sizes**2).sum() - 1, 1.0))
    reach = np.full(len(share), _Z) if clusters.independent else quantiles(freedom)
    middle = share + reach**2 / (2 * count)
    half = reach * np.sqrt(share * (1 - share) / count + reach**2 / (4 * count * count))
    return np.asarray(np.clip(np.stack([middle - half, middle + half]) / (1 + reach**2 / count), 0.0, 1.0))


def percentiles(means: NDArray[np.float32], tail: Floats) -> tuple[Floats, Floats]:
    """Return the percentiles `tail` and 1 − `tail`, (m,), of every row of `means`, (m, samples), interpolated."""
    ordered, place = np.sort(means, axis=1), np.clip(tail, 0.0, 0.5) * (means.shape[1] - 1)
    return _at(ordered, place), _at(ordered[:, ::-1], place)


def _at(ordered: NDArray[np.float32], place: Floats) -> Floats:
    """Return every row of `ordered`, (m, width), at a place between its columns, (m,)."""
    below, rows = np.floor(place).astype(np.intp), np.arange(len(ordered))
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    values = ordered.astype(np.float64)
    return np.asarray(values[rows, below] + (place - below) * (values[rows, above] - values[rows, below]))


def resampled_means(
    matrix: Floats, clusters: Clusters, *, seed: int = 0, samples: int = SAMPLES
) -> NDArray[np.float32]:
    """Means of every column, (n, m), over clusters drawn with replacement, which share no question: (m, samples).

    The clusters of every column are sorted by it, so that the same values have the same means in whatever order they
    come; columns are therefore not resampled together.
    """
    sums, sizes = clusters.sums(matrix), clusters.sizes
    order = np.lexsort((np.broadcast_to(sizes[:, None], sums.shape), sums / sizes[:, None]), axis=0)
    ordered, ordered_sizes = np.take_along_axis(sums, order, axis=0).T, sizes[order].T
    blocks = []
    for counts in resamples(clusters.count, seed, samples):
        block = ordered.astype(np.float32) @ counts.T
        block /= np.float32(len(matrix)) if clusters.independent else ordered_sizes.astype(np.float32) @ counts.T
        blocks.append(block)
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)


def resamples(n: int, seed: int, samples: int) -> Iterator[NDArray[np.float32]]:
    """How often each of n rows is drawn in each resample: blocks of shape (≤ samples, n) that add up to `samples`."""
    random = np.random.default_rng(seed)
    rows = max(1, _PIECE // n)
    for start in range(0, samples, rows):
        size = min(rows, samples - start)
        drawn = random.integers(0, n, size=(size, n), dtype=np.int32)
        drawn += np.arange(size, dtype=np.int32)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float32)
