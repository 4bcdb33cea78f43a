"""Scores that one side lacks: what they could change, and whether the two sides lack them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.stats.clusters import Clusters, Floats, checked
from ragviz.stats.differences import paired_difference


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
