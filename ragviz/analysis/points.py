"""Questions by their values in two runs, gathered at points: what a scatter shows, and what a click on it lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.metrics.rank_metrics import Floats

MOST = 400
"""Distinct pairs of values up to which each is a point of its own; more are gathered in cells."""
CELLS = 40
"""Cells along an axis."""
_DIGITS = 6  # values that differ less are equal


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """m points of n questions: `places`, (m, 2), are the values under the baseline and under the other run.

    `counts`, (m,), are the questions of each, `of`, (n,), is the point of each question, `keys` name the points in an
    address. `low` and `high`, (m, 2), are the limits of the values at a point: the same, or those of a cell, whose
    means `places` are. No point holds both questions that are higher under one run and ones that are not. `higher`,
    (m,), is 1 where the other run is higher, 0 where both are equal, -1 where it is lower.
    """

    places: Floats
    counts: NDArray[np.int64]
    of: NDArray[np.int64]
    low: Floats
    high: Floats
    higher: NDArray[np.int64]
    keys: tuple[str, ...]

    def members(self, key: str) -> NDArray[np.int64] | None:
        """Return the questions at a point by their places from 0; None when there is no such point."""
        return np.flatnonzero(self.of == self.keys.index(key)) if key in self.keys else None


def points_of(values: ArrayLike, *, most: int = MOST) -> Points:
    """Gather questions by their values under two runs, (2, n), at the places where at least one of them is.

    Up to `most` distinct pairs are points; more are gathered in `CELLS` × `CELLS` squares over the range of the values.

    >>> same = points_of([[0, 0, 1, 0.5], [1, 1, 1, 0]])
    >>> same.keys, same.counts.tolist(), same.of.tolist(), same.higher.tolist()
    (('0,1', '0.5,0', '1,1'), [2, 1, 1], [0, 0, 2, 1], [1, -1, 0])
    """
    pairs = np.round(np.asarray(values, dtype=np.float64).T.reshape(-1, 2), _DIGITS) + 0.0  # + 0.0: no −0
    higher = np.sign(pairs[:, 1] - pairs[:, 0]).astype(np.int64)
    distinct, of = np.unique(pairs, axis=0, return_inverse=True)
    if len(distinct) <= most:
        keys = tuple(f"{_written(x)},{_written(y)}" for x, y in distinct)
        return _gathered(pairs, higher, of.ravel(), keys)
    low, width = pairs.min(), (pairs.max() - pairs.min()) / CELLS
    squares = np.minimum((pairs - low) / width, CELLS - 1).astype(np.int64)
    labelled, of = np.unique(np.column_stack([squares, higher]), axis=0, return_inverse=True)
    keys = tuple(f"{x}.{y}{'=+-'[sign]}" for x, y, sign in labelled)
    return _gathered(pairs, higher, of.ravel(), keys)


def points_of_ranks(ranks: ArrayLike, depth: int) -> Points:
    """Gather questions by the ranks of their evidence, (2, n), 0 where it is not found: then the rank is depth + 1.

    Every pair of ranks is a point of its own.

    >>> points_of_ranks([[1, 0], [3, 0]], 20).keys
    ('1,3', '21,21')
    """
    found = np.asarray(ranks)
    return points_of(np.where(found > 0, found, depth + 1), most=(depth + 1) ** 2)


def _gathered(pairs: Floats, higher: NDArray[np.int64], of: NDArray[np.int64], keys: tuple[str, ...]) -> Points:
    count = len(keys)
    counts = np.bincount(of, minlength=count)
    sums = np.column_stack([np.bincount(of, weights=pairs[:, side], minlength=count) for side in (0, 1)])
    low, high = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(low, of, pairs)
    np.maximum.at(high, of, pairs)
    sign = np.zeros(count, dtype=np.int64)
    sign[of] = higher
    return Points(sums / np.maximum(counts, 1)[:, None], counts, of, low, high, sign, keys)


def _written(value: float) -> str:
    return f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") or "0"
