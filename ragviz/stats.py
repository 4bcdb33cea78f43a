"""Arrays in, numbers out: how sure a mean is, and whether two runs differ significantly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.errors import UsageError
from ragviz.records import Estimate

Floats = NDArray[np.float64]
Key = TypeVar("Key")

SAMPLES = 2000
"""Bootstrap resamples of an interval."""

FLIPS = 9_999
"""Random sign flips of a randomisation test; its smallest p-value is 1 / (FLIPS + 1)."""

EXACT = 16
"""Up to this many differences that are not 0, all 2**EXACT sign flips are tried instead."""

_CELLS = 2_000_000  # numbers held at once while resampling: bounds memory, whatever n is
_KEPT = 160  # rows up to which resamples are kept: 2 bytes each, 0.6 MB for 2,000 resamples
_TIED = 1 - 1e-9  # sums taken in another order differ in their last bits: these count as equal


@dataclass(frozen=True, slots=True)
class Difference:
    """Other minus baseline over the same questions, with a bootstrap 95 % interval of the mean; None when `n` is 0.

    `wins`, `ties` and `losses` count questions where the other side is higher, equal, lower. `p_value` is two-sided,
    of the sign-flip randomisation test: how often chance alone gives a mean this far from 0.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    wins: int
    ties: int
    losses: int
    p_value: float | None


def bootstrap(values: ArrayLike, *, seed: int = 0, samples: int = SAMPLES) -> Estimate:
    """Estimate the mean of `values`, shape (n,), with a 95 % interval.

    The interval is the percentile bootstrap's, but for rates (see `bootstrap_columns`). No values: all None.

    >>> recall = bootstrap([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
    >>> f"{recall.mean:.2f} [{recall.low:.2f}, {recall.high:.2f}] n = {recall.n}"
    '0.80 [0.49, 0.94] n = 10'
    """
    column = _finite(values, dimensions=1)[:, np.newaxis]
    return _estimate(*bootstrap_columns(column, seed=seed, samples=samples), column=0, n=len(column))


def estimates(columns: Mapping[Key, ArrayLike], *, seed: int = 0, samples: int = SAMPLES) -> dict[Key, Estimate]:
    """Estimate several scores of the same n questions, each of shape (n,): each as `bootstrap` does alone."""
    if not columns:
        return {}
    matrix = np.column_stack([_finite(values, dimensions=1) for values in columns.values()])
    bands = bootstrap_columns(matrix, seed=seed, samples=samples)
    return {name: _estimate(*bands, column=column, n=len(matrix)) for column, name in enumerate(columns)}


def bootstrap_columns(
    values: ArrayLike, *, seed: int = 0, samples: int = SAMPLES
) -> tuple[Floats, Floats, Floats] | tuple[None, None, None]:
    """Mean, low and high of every column of `values`, shape (n, m): three arrays of shape (m,), or None when n is 0.

    Percentile bootstrap, 95 %, of the sorted values: an interval depends on `seed` and the values of its own column,
    not on the order in which the questions are read or on what else is measured. A column that holds only 0 and one
    other value v is a rate (hit@k; precision@k with one gold chunk): it gets Wilson's score interval times v, because a
    bootstrap of values that are all equal is an interval of no width, however few they are. Values that are all equal
    count as a rate of 1 whose next question may be 0.
    """
    matrix = _finite(values, dimensions=2)
    if not len(matrix):
        return None, None, None
    mean = matrix.mean(axis=0)
    low, high, rates = _wilson(matrix)
    if not rates.all():
        low[~rates], high[~rates] = _percentiles(matrix[:, ~rates], seed, samples)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


def paired_difference(
    baseline: ArrayLike, other: ArrayLike, *, seed: int = 0, samples: int = SAMPLES, flips: int = FLIPS
) -> Difference:
    """Compare two scores, shape (n,) each, of the same questions in the same order: `other` minus `baseline`.

    Raises:
        UsageError: the two have different lengths.

    """
    first, second = _finite(baseline, dimensions=1), _finite(other, dimensions=1)
    if len(first) != len(second):
        raise UsageError(
            f"{len(first)} scores cannot be paired with {len(second)}: give both sides the same questions."
        )
    return paired_differences((second - first)[:, np.newaxis], seed=seed, samples=samples, flips=flips)[0]


def paired_differences(
    differences: ArrayLike, *, seed: int = 0, samples: int = SAMPLES, flips: int = FLIPS
) -> list[Difference]:
    """Summarise every column of `differences`, shape (n, m), other minus baseline; resamples and flips are shared.

    Differences that are all equal have an interval of no width; with few questions trust the p-value.
    """
    matrix = _finite(differences, dimensions=2)
    # Two routes to the same score may differ in the last bit; that is a tie.
    matrix = np.where(np.abs(matrix) < 1e-12, 0.0, matrix)
    n = len(matrix)
    if not n:
        return [Difference(None, None, None, 0, 0, 0, 0, None)] * matrix.shape[1]
    mean = matrix.mean(axis=0)
    low, high = _percentiles(matrix, seed, samples)
    p_values = _sign_flip(matrix, seed, flips)
    wins, losses = (matrix > 0).sum(axis=0), (matrix < 0).sum(axis=0)
    ties = n - wins - losses
    numbers = zip(mean, np.minimum(low, mean), np.maximum(high, mean), wins, ties, losses, p_values, strict=True)
    return [
        Difference(float(mid), float(lo), float(hi), n, int(won), int(tied), int(lost), float(p))
        for mid, lo, hi, won, tied, lost, p in numbers
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: below 0.05 holds for all of them together.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if len(p_values) else []


def minimum_detectable_difference(differences: ArrayLike, *, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest true mean difference that as many questions as these would show with probability `power`.

    Two-sided test at `alpha`, normal approximation, spread estimated from `differences`, shape (n,). None when the
    spread is unknown: fewer than two differences, or all equal.
    """
    values = _finite(differences, dimensions=1)
    spread = _spread(values)
    return None if spread is None else _reach(power, alpha) * spread / math.sqrt(len(values))


def questions_needed(
    differences: ArrayLike, *, difference: float | None = None, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """How many questions in all would show a true mean of `difference` (default: the mean seen) with that `power`.

    The counterpart of `minimum_detectable_difference`, under the same assumptions. None when the spread is unknown
    or the difference is 0: no number of questions shows a difference that does not exist.
    """
    values = _finite(differences, dimensions=1)
    spread = _spread(values)
    if spread is None:
        return None
    target = float(values.mean()) if difference is None else difference
    return None if abs(target) < 1e-12 else math.ceil((_reach(power, alpha) * spread / target) ** 2)


def _reach(power: float, alpha: float) -> float:
    """How many standard errors a true difference must have."""
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)


def _spread(values: Floats) -> float | None:
    """Sample standard deviation, None when nothing is known about it."""
    if len(values) < 2:
        return None
    spread = float(values.std(ddof=1))
    return spread if spread > 1e-12 else None


def _finite(values: ArrayLike, dimensions: int) -> Floats:
    """`values` as float64; a NaN is a missing score, and would spread silently."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise UsageError(f"Scores of shape {array.shape} were given; {dimensions} dimensions are needed.")
    if not np.isfinite(array).all():
        raise UsageError(
            "A score is not a finite number; leave questions without a score out, and report their number."
        )
    return array


def _estimate(mean: Floats | None, low: Floats | None, high: Floats | None, *, column: int, n: int) -> Estimate:
    """One column of `bootstrap_columns`."""
    if mean is None or low is None or high is None:
        return Estimate(None, None, None, 0)
    return Estimate(float(mean[column]), float(low[column]), float(high[column]), n)


def _wilson(matrix: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Wilson's 95 % interval of each column times its one value that is not 0, and which columns are such rates."""
    value = matrix[np.abs(matrix).argmax(axis=0), np.arange(matrix.shape[1])]
    value[value == 0] = 1.0
    equal = matrix == value
    rates = ((matrix == 0) | equal).all(axis=0)
    n, z = len(matrix), NormalDist().inv_cdf(0.975)
    share = equal.sum(axis=0) / n
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    ends = np.clip(np.stack([middle - half, middle + half]) / (1 + z * z / n), 0.0, 1.0) * value
    return ends.min(axis=0) + 0.0, ends.max(axis=0) + 0.0, rates  # no -0


def _percentiles(matrix: Floats, seed: int, samples: int) -> tuple[Floats, Floats]:
    """2.5 and 97.5 % of the means of resampled rows, one of each per column; at least one row.

    Every column is sorted by itself, so that the same values have the same interval in whatever order they come.
    """
    n = len(matrix)
    matrix = np.sort(matrix, axis=0)
    means = [counts @ matrix / n for counts in _resamples(n, seed, samples)]
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975], axis=0)
    least, most = matrix.min(axis=0), matrix.max(axis=0)
    return np.clip(low, least, most), np.clip(high, least, most)


def _resamples(n: int, seed: int, samples: int) -> Iterator[Floats]:
    """How often each of n rows is drawn in each resample: blocks of shape (≤ samples, n) that add up to `samples`."""
    random = np.random.default_rng(seed)
    block = max(1, _CELLS // n)
    if samples <= block and n <= _KEPT:
        yield _small_resamples(n, seed, samples).astype(np.float64)
        return
    for start in range(0, samples, block):
        yield _drawn(random, n, min(block, samples - start)).astype(np.float64)


@lru_cache(maxsize=128)
def _small_resamples(n: int, seed: int, samples: int) -> NDArray[np.uint16]:
    """Return the only block of `_resamples`, which many documents with as many questions share; 80 MB in all."""
    return _drawn(np.random.default_rng(seed), n, samples).astype(np.uint16)


def _drawn(random: np.random.Generator, n: int, size: int) -> NDArray[np.intp]:
    """Return how often each of n rows is drawn in each of `size` resamples, (size, n)."""
    drawn = random.integers(0, n, size=(size, n), dtype=np.int32) + np.arange(size, dtype=np.int32)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)


def _sign_flip(matrix: Floats, seed: int, flips: int) -> Floats:
    """Two-sided p-value per column: exact where few differences are not 0, else by `flips` random flips."""
    p_values = np.ones(matrix.shape[1])
    counts = np.count_nonzero(matrix, axis=0)
    for column in np.flatnonzero((counts > 0) & (counts <= EXACT)):
        p_values[column] = _exact_p_value(matrix[:, column])
    many = counts > EXACT
    if many.any():
        p_values[many] = _sampled_p_values(matrix[:, many], seed, flips)
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
