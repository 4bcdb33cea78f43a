"""p-values of several tests, adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: below 0.05 holds for all of them together.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, "holm")


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values: of those at most 0.05, one in twenty is expected to be chance.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    return _adjusted(p_values, "fdr_bh")


def _adjusted(p_values: Sequence[float], method: str) -> list[float]:
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method=method)[1]] if len(p_values) else []
