"""What a comparison can detect, and how many more questions and documents would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ragviz.stats.differences import Difference

_TOO_MANY = 1_000_000
"""Times as many questions: nobody asks them."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Questions and documents (clusters) beyond those there are, which would probably settle a comparison."""

    questions: int
    documents: int


def detectable(difference: Difference, *, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest true mean difference that questions and documents like these would show with probability `power`.

    Two-sided test at `alpha`, normal approximation. None when the spread is unknown.
    """
    return _reach(power, alpha) * difference.error if difference.error > 0 else None


def needed(difference: Difference, margin: float, *, power: float = 0.8, alpha: float = 0.05) -> Needed | None:
    """Return what would settle a comparison with probability `power`, if its true mean is the one seen.

    It is settled by a difference shown at `alpha`, or by equivalence within ± `margin`, whichever takes less. Further
    documents are as large and as different as those there are; where `difference` says nothing about other documents,
    further questions are about these. None when the spread is unknown, or when it would take `_TOO_MANY` times as many.
    """
    if difference.mean is None or difference.error <= 0:
        return None
    normal, mean = NormalDist(), abs(difference.mean)
    shown = _reach(power, alpha) * difference.error / mean if mean > 1e-12 else math.inf
    sure = normal.inv_cdf(1 - alpha) + normal.inv_cdf((1 + power) / 2 if mean <= 1e-12 else power)
    equivalent = sure * difference.error / (margin - mean) if margin > mean else math.inf
    times = min(shown, equivalent) ** 2
    if times > _TOO_MANY:
        return None
    more = max(times - 1, 0.0)
    documents = math.ceil(more * difference.clusters) if difference.generalises else 0
    return Needed(math.ceil(more * difference.n), documents)


def _reach(power: float, alpha: float) -> float:
    """How many standard errors a true difference must have."""
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
