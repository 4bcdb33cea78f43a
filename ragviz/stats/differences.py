"""Paired differences between two sides over the same questions: interval, sign-flip test, equivalence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ragviz.core.errors import UsageError
from ragviz.stats.clusters import Clusters, Floats, checked
from ragviz.stats.intervals import SAMPLES, Moments, finite, interval, moments

FLIPS = 9_999
"""Random sign flips of a randomisation test; its smallest p-value is 1 / (FLIPS + 1)."""

EXACT = 16
"""Up to this many sums that are not 0, all 2**EXACT sign flips are tried instead."""

_CELLS = 2_000_000  # numbers held at once while flipping: bounds memory, whatever n is
_TIED = 1 - 1e-9  # sums taken in another order differ in their last bits: these count as equal


@dataclass(frozen=True, slots=True)
class Difference:
    """Other minus baseline over the same n questions, with a 95 % interval of the mean; None when `n` is 0.

    `wins`, `ties` and `losses` count questions where the other side is higher, equal, lower. `p_value` is two-sided, of
    the sign-flip randomisation test: how often chance alone gives a mean this far from 0; a whole cluster of questions
    flips at once. Where clusters share questions, it is Student's t-test, not below what flips can reach. `error` is
    the standard error of the mean, `freedom` its degrees of freedom, `clusters` and `design_effect` are those of
    `Estimate`, `documents` are those among the clusters, 0 where they are not known.
    Where `generalises` is false, there are too few clusters to say anything about other documents: interval and test
    are about these documents, and questions flip by themselves.
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

    @property
    def excludes_0(self) -> bool:
        """Whether the interval does, whatever a correction for several tests says."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def equivalent(self, margin: float) -> float | None:
        """Return the p-value of two one-sided t-tests (Schuirmann 1987) that the true mean is within ± `margin`.

        None when nothing is known of the spread: no question, or no difference at all.
        """
        from scipy.special import stdtr

        if self.mean is None or self.error <= 0:
            return None
        return float(stdtr(self.freedom, -(margin - abs(self.mean)) / self.error))


def paired_difference(
    baseline: ArrayLike,
    other: ArrayLike,
    clusters: Clusters | None = None,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    flips: int = FLIPS,
) -> Difference:
    """Compare two scores, shape (n,) each, of the same questions in the same order: `other` minus `baseline`.

    Raises:
        UsageError: the two have different lengths.

    """
    first, second = finite(baseline, dimensions=1), finite(other, dimensions=1)
    if len(first) != len(second):
        raise UsageError(
            f"{len(first)} scores cannot be paired with {len(second)}: give both sides the same questions."
        )
    matrix = (second - first)[:, np.newaxis]
    return paired_differences(matrix, clusters, seed=seed, samples=samples, flips=flips)[0]


def paired_differences(
    differences: ArrayLike,
    clusters: Clusters | None = None,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    flips: int = FLIPS,
) -> list[Difference]:
    """Summarise every column of `differences`, shape (n, m), other minus baseline; resamples and flips are shared.

    Differences that are all equal have an interval of no width; with few questions trust the p-value.
    """
    matrix = finite(differences, dimensions=2)
    # Two routes to the same score may differ in the last bit; that is a tie.
    matrix = np.where(np.abs(matrix) < 1e-12, 0.0, matrix)
    n, clusters = len(matrix), checked(clusters, len(matrix))
    if not n:
        return [Difference(None, None, None, 0, 0, 0, 0, None)] * matrix.shape[1]
    known = moments(matrix, clusters)
    low, high = interval(matrix, clusters, known, least=-1.0, seed=seed, samples=samples)
    if clusters.disjoint or not clusters.generalise:
        p_values = sign_flip(clusters.sums(matrix) if clusters.generalise else matrix, seed=seed, flips=flips)
    else:
        p_values = _t_test(known, clusters.count)
    wins, losses = (matrix > 0).sum(axis=0), (matrix < 0).sum(axis=0)
    return [
        Difference(
            mean=float(known.mean[column]),
            low=float(min(low[column], known.mean[column])),
            high=float(max(high[column], known.mean[column])),
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
    """Two-sided p-value of every mean, (m,), by Student's t, at least 2 of the 2**count sign flips of the clusters."""
    from scipy.special import stdtr

    far = np.divide(np.abs(known.mean), known.error, out=np.full_like(known.mean, np.inf), where=known.error > 0)
    return np.where(known.mean == 0, 1.0, np.maximum(2 * stdtr(known.freedom, -far), 2.0 ** (1 - count)))


def sign_flip(sums: Floats, *, seed: int = 0, flips: int = FLIPS) -> Floats:
    """Two-sided p-value of every column of sums by cluster, (clusters, m), whose signs would be chance: (m,).

    Exact where few sums are not 0, else by `flips` random flips.
    """
    p_values = np.ones(sums.shape[1])
    counts = np.count_nonzero(sums, axis=0)
    for column in np.flatnonzero((counts > 0) & (counts <= EXACT)):
        p_values[column] = _exact_p_value(sums[:, column])
    many = counts > EXACT
    if many.any():
        p_values[many] = _sampled_p_values(sums[:, many], seed, flips)
    return p_values


def _exact_p_value(differences: Floats) -> float:
    """Share of all sign flips whose sum is at least as far from 0; a difference of 0 flips into itself."""
    sums = np.zeros(1)
    for value in differences[differences != 0]:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= abs(differences.sum()) * _TIED))


def _sampled_p_values(matrix: Floats, seed: int, flips: int) -> Floats:
    """(1 + flips at least as far from 0) ÷ (1 + flips): the observed signs are one of the flips."""
    random = np.random.default_rng(seed)
    matrix = matrix[matrix.any(axis=1)]
    n = len(matrix)
    observed = np.abs(matrix.sum(axis=0)) * _TIED
    extreme = np.zeros(matrix.shape[1])
    block = max(1, _CELLS // n)
    for start in range(0, flips, block):
        size = min(block, flips - start)
        bits = np.frombuffer(random.bytes(-(-size * n // 8)), dtype=np.uint8)
        signs = np.unpackbits(bits, count=size * n).reshape(size, n) * 2.0 - 1.0
        extreme += (np.abs(signs @ matrix) >= observed).sum(axis=0)
    return np.asarray((1 + extreme) / (1 + flips))
