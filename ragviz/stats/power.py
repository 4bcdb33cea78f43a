"""What a comparison can detect, and how many more questions and documents would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ragviz.stats.differences import Difference

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


def detectable(difference: Difference, *, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest true mean difference that questions and documents like these would show with probability `power`.

    Two-sided test at `alpha`, normal approximation. None when the spread is unknown.
    """
    return _reach(power, alpha) * difference.error if difference.error > 0 else None


def needed(
    difference: Difference, margin: float, *, power: float = 0.8, alpha: float = 0.05, tests: int = 1
) -> Needed | None:
    """Return what would settle a comparison with probability `power`, if its true mean is the one seen.

    It is settled by a difference shown at `alpha` ÷ `tests`, or by equivalence within ± `margin` at the same level (two
    one-sided tests), whichever takes less; `tests` is the number of comparisons that are corrected together. Normal
    approximation. Further documents are as large and as different as those there are; where `difference` says nothing
    about other documents, further questions are about these. None when the spread is unknown, or when it would take
    `_TOO_MANY` times as many.
    """
    if difference.mean is None or difference.error <= 0:
        return None
    level, mean = alpha / tests, abs(difference.mean)
    shown = (_reach(power, level) * difference.error / mean) ** 2 if mean > 1e-12 else math.inf
    times = min(shown, _times_equivalent(mean / difference.error, margin / difference.error, power, level))
    if times > _TOO_MANY:
        return None
    more = max(times - 1, 0.0)
    documents = (difference.documents or difference.clusters) if difference.generalises else 0
    return Needed(*(math.ceil(more * count - _ROUNDING) for count in (difference.n, documents)))


def _times_equivalent(mean: float, margin: float, power: float, alpha: float) -> float:
    """Return how many times as many questions show equivalence; `mean` and `margin` are in standard errors."""
    if mean >= margin:
        return math.inf
    normal = NormalDist()
    below, above = 0.0, (normal.inv_cdf(1 - alpha) + normal.inv_cdf((1 + power) / 2)) / (margin - mean)
    for _ in range(60):  # the power grows with the root of the questions; at `above` it is enough
        root = (below + above) / 2
        outside = normal.inv_cdf(1 - alpha) - root * margin
        enough = normal.cdf(-outside - root * mean) + normal.cdf(-outside + root * mean) - 1 >= power
        below, above = (below, root) if enough else (root, above)
    return above**2


def _reach(power: float, alpha: float) -> float:
    """How many standard errors a true difference must have."""
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
