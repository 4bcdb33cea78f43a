"""Paired differences between two sides over the same questions: interval, test, equivalence, on one standard error.

Their p-values adjusted for the number of tests; what they can detect, how many more questions would settle them, and
what scores that one side lacks could change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.errors import UsageError
from ragviz.stats.clusters import Clusters, Floats, checked
from ragviz.stats.intervals import ROUNDING, Moments, finite, moments, quantiles

ALPHA = 0.05
"""p-values up to this are significant: 1 − the level of an interval that is not corrected for several tests."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Other minus baseline over the same n questions, with a 95 % interval of the mean; None when `n` is 0.

    `wins`, `ties` and `losses` count questions where the other side is higher, equal, lower. `p_value` is two-sided, of
    Student's t-test with the standard error of the interval: it is below 0.05 where the interval excludes 0. `error` is
    that standard error, `freedom` its degrees of freedom, `clusters` and `design_effect` are those of `Estimate`,
    `documents` are those among the clusters, 0 where they are not known. Where `generalises` is false, there are too
    few documents to say anything about others: interval and test are about these. `alone` is the interval by itself
    where `low` and `high` are corrected for several tests (see `corrected`).
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    wins: int
    ties: int
    losses: int
    p_value: float | None
    clusters: int = 0
    generalises: bool = True
    error: float = 0.0
    freedom: float = 1.0
    design_effect: float | None = None
    documents: int = 0
    alone: tuple[float, float] | None = None

    def equivalent(self, margin: float) -> float | None:
        """Return the p-value of two one-sided t-tests (Schuirmann 1987) that the true mean is within ± `margin`.

        None when nothing is known of the spread: no question, or no difference at all.
        """
        from scipy.special import stdtr

        if self.mean is None or self.error <= 0:
            return None
        return float(stdtr(self.freedom, -(margin - abs(self.mean)) / self.error))


def corrected(difference: Difference, p_adjusted: float, tests: int, most: float = 1.0) -> Difference:
    """Return a difference with the interval on which a corrected verdict rests: without 0 where that is significant.

    Its level is 1 − 0.05 ÷ the factor by which the p-value was adjusted (`tests` for an adjusted p of 1), its ends are
    within ± `most`, the greatest difference that the metric allows.
    """
    low, high = difference.alone or (difference.low, difference.high)
    if difference.mean is None or low is None or high is None or difference.error <= 0 or tests < 2:
        return replace(difference, low=low, high=high, alone=None)
    times = p_adjusted / difference.p_value if p_adjusted < 1 and difference.p_value else float(tests)
    reach = float(quantiles(np.array([difference.freedom]), 1 - ALPHA / times / 2)[0]) * difference.error
    ends = max(difference.mean - reach, -most), min(difference.mean + reach, most)
    return replace(difference, low=ends[0], high=ends[1], alone=(low, high))


def paired_difference(baseline: ArrayLike, other: ArrayLike, clusters: Clusters | None = None) -> Difference:
    """Compare two scores, shape (n,) each, of the same questions in the same order: `other` minus `baseline`.

    Raises:
        UsageError: the two have different lengths.

    """
    first, second = finite(baseline, dimensions=1), finite(other, dimensions=1)
    if len(first) != len(second):
        raise UsageError(
            f"{len(first)} scores cannot be paired with {len(second)}: give both sides the same questions."
        )
    return paired_differences((second - first)[:, np.newaxis], clusters)[0]


def paired_differences(differences: ArrayLike, clusters: Clusters | None = None) -> list[Difference]:
    """Summarise every column of `differences`, shape (n, m), other minus baseline.

    Ends of differences within −1 … 1 are so too. Differences that are all equal have an interval of no width, and the
    p-value of the sign flips of all clusters, 2 ÷ 2**clusters.
    """
    matrix = finite(differences, dimensions=2)
    # Two routes to the same score may differ in the last bit; that is a tie.
    matrix = np.where(np.abs(matrix) < 1e-12, 0.0, matrix)
    n, clusters = len(matrix), checked(clusters, len(matrix))
    if not n:
        return [Difference(None, None, None, 0, 0, 0, 0, None)] * matrix.shape[1]
    known = moments(matrix, clusters)
    reach = quantiles(known.freedom) * known.error
    bounded = np.abs(matrix).max(axis=0) <= 1 + ROUNDING
    low, high = np.where(bounded, np.maximum(known.mean - reach, -1), known.mean - reach), known.mean + reach
    high = np.where(bounded, np.minimum(high, 1), high)
    p_values = _t_test(known, clusters.count if clusters.generalise else n)
    wins, losses = (matrix > 0).sum(axis=0), (matrix < 0).sum(axis=0)
    return [
        Difference(
            mean=float(known.mean[column]),
            low=float(low[column]),
            high=float(high[column]),
            n=n,
            wins=int(wins[column]),
            ties=int(n - wins[column] - losses[column]),
            losses=int(losses[column]),
            p_value=float(p_values[column]),
            clusters=clusters.count,
            generalises=clusters.generalise,
            error=float(known.error[column]),
            freedom=float(known.freedom[column]),
            design_effect=None if np.isnan(known.design_effect[column]) else float(known.design_effect[column]),
            documents=clusters.documents or 0,
        )
        for column in range(matrix.shape[1])
    ]


def _t_test(known: Moments, count: int) -> Floats:
    """Two-sided p-value of every mean, (m,), by Student's t; of means without spread by sign flips of the clusters."""
    from scipy.special import stdtr

    spread = known.error > 1e-12
    far = np.divide(np.abs(known.mean), known.error, out=np.zeros_like(known.mean), where=spread)
    flips = np.where(known.mean == 0, 1.0, 2.0 ** (1 - count))
    return np.where(spread, 2 * stdtr(known.freedom, -far), flips)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: below 0.05 holds for all of them together.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    ordered, order = _ascending(p_values)
    stepped = np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values: of those at most 0.05, one in twenty is expected to be chance.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    ordered, order = _ascending(p_values)
    count = len(ordered)
    stepped = np.minimum.accumulate((ordered * count / np.arange(1, count + 1))[::-1])[::-1]
    return _restored(stepped, order)


def _ascending(p_values: Sequence[float]) -> tuple[Floats, NDArray[np.int64]]:
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    return given[order], order


def _restored(stepped: Floats, order: NDArray[np.int64]) -> list[float]:
    """Return adjusted p-values, at most 1, in the order in which they were given."""
    adjusted = np.empty(len(stepped))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in adjusted]


POWER = 0.8
"""Probability with which a true difference is to be shown."""
_ROUNDING = 1e-9
_TOO_MANY = 1_000_000
"""Times as many questions: nobody asks them."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Questions and documents beyond those there are, which would probably settle a comparison.

    Where documents are not known, `documents` counts clusters.
    """

    questions: int
    documents: int


def detectable(difference: Difference) -> float | None:
    """Smallest true mean difference that questions and documents like these would show with probability `POWER`.

    Two-sided test at `ALPHA`, normal approximation. None when the spread is unknown.
    """
    return _reach(ALPHA) * difference.error if difference.error > 0 else None


def needed(difference: Difference, margin: float, *, tests: int = 1) -> Needed | None:
    """Return what would settle a comparison with probability `POWER`, if its true mean is the one seen.

    It is settled by a difference shown at `ALPHA` ÷ `tests`, or by equivalence within ± `margin` at the same level (two
    one-sided tests), whichever takes less; `tests` is the number of comparisons that are corrected together. Normal
    approximation. Further documents are as large and as different as those there are; where `difference` says nothing
    about other documents, further questions are about these. None when the spread is unknown, or when it would take
    `_TOO_MANY` times as many.
    """
    if difference.mean is None or difference.error <= 0:
        return None
    level, mean = ALPHA / tests, abs(difference.mean)
    shown = (_reach(level) * difference.error / mean) ** 2 if mean > 1e-12 else math.inf
    times = min(shown, _times_equivalent(mean / difference.error, margin / difference.error, level))
    if times > _TOO_MANY:
        return None
    more = max(times - 1, 0.0)
    documents = (difference.documents or difference.clusters) if difference.generalises else 0
    return Needed(*(math.ceil(more * count - _ROUNDING) for count in (difference.n, documents)))


def _times_equivalent(mean: float, margin: float, alpha: float) -> float:
    """Return how many times as many questions show equivalence; `mean` and `margin` are in standard errors."""
    if mean >= margin:
        return math.inf
    normal = NormalDist()
    below, above = 0.0, (normal.inv_cdf(1 - alpha) + normal.inv_cdf((1 + POWER) / 2)) / (margin - mean)
    for _ in range(60):  # the power grows with the root of the questions; at `above` it is enough
        root = (below + above) / 2
        outside = normal.inv_cdf(1 - alpha) - root * margin
        enough = normal.cdf(-outside - root * mean) + normal.cdf(-outside + root * mean) - 1 >= POWER
        below, above = (below, root) if enough else (root, above)
    return above**2


def _reach(alpha: float) -> float:
    """How many standard errors a true difference must have."""
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(POWER)


@dataclass(frozen=True, slots=True)
class Missing:
    """Of n questions that both sides were asked: how many lack a score on the baseline, on the other side, on both.

    `low` and `high` bound the mean difference over all n: the missing scores of the other side the least and those of
    the baseline the greatest that the metric allows, and the other way round. `p_value` is that of the test
    that both sides lack scores equally often.
    """

    n: int
    baseline: int
    other: int
    both: int
    low: float
    high: float
    p_value: float


def missing(
    baseline: Floats,
    other: Floats,
    clusters: Clusters | None = None,
    *,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Missing | None:
    """Describe missing scores, NaN in `baseline` or `other`, shape (n,) each; None when every question has both.

    `limits` are the least and the greatest value that the metric can have.
    """
    lacks: tuple[NDArray[np.bool_], NDArray[np.bool_]] = (np.isnan(baseline), np.isnan(other))
    if not (lacks[0] | lacks[1]).any():
        return None
    clusters = checked(clusters, len(baseline))
    least, greatest = limits
    low = np.where(lacks[1], least, other) - np.where(lacks[0], greatest, baseline)
    high = np.where(lacks[1], greatest, other) - np.where(lacks[0], least, baseline)
    alike = paired_difference(lacks[0].astype(float), lacks[1].astype(float), clusters)
    return Missing(
        n=len(baseline),
        baseline=int((lacks[0] & ~lacks[1]).sum()),
        other=int((lacks[1] & ~lacks[0]).sum()),
        both=int((lacks[0] & lacks[1]).sum()),
        low=float(low.mean()),
        high=float(high.mean()),
        p_value=alike.p_value if alike.p_value is not None else 1.0,
    )
