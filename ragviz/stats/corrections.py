"""p-values of several tests, adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    """Return p-values from the least, and the place of each among those given."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    return given[order], order


def _restored(stepped: Floats, order: NDArray[np.int64]) -> list[float]:
    """Return adjusted p-values, at most 1, in the order in which they were given."""
    adjusted = np.empty(len(stepped))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in adjusted]
