"""The rule by which a comparison is decided, declared before its numbers are seen, and the verdicts that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragviz.core.errors import UsageError
from ragviz.metrics.registry import REGISTRY, range_of
from ragviz.stats.differences import ALPHA, Difference

MINIMUM_EFFECT = 0.02
"""The smallest difference that matters unless another is declared, as a share of the metric's range."""

Verdict = Literal["better", "worse", "equivalent", "undecided", "equal"]
"""Of a difference: significant and which way; within the smallest difference that matters; neither is shown; no
question has another value."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What decides between runs: one metric, by its label ("recall@3"), and the smallest difference that matters.

    `declared` says whether a person named the metric; else it is the first of the headline. All other metrics are
    exploratory. `minimum_effect` is a share of a metric's range.
    """

    primary: str
    minimum_effect: float = MINIMUM_EFFECT
    declared: bool = False

    def margin(self, label: str) -> float:
        """Return the smallest difference that matters in a metric's own unit."""
        low, high = range_of(label)
        return self.minimum_effect * (high - low)


def checked_effect(minimum_effect: float | None) -> float:
    """Return the smallest difference that matters, `MINIMUM_EFFECT` for None.

    Raises:
        UsageError: it is not above 0 and below 1.

    """
    effect = MINIMUM_EFFECT if minimum_effect is None else minimum_effect
    if not 0 < effect < 1:
        raise UsageError(
            f"The smallest difference that matters is {effect}; give a share above 0 and below 1, as 0.02."
        )
    return effect


def direction(label: str) -> int:
    """Return 1 where a higher value is better, or this version does not know the metric; -1 where a lower one is."""
    metric = REGISTRY.get(label.split("@")[0])
    return 1 if metric is None or metric.higher_is_better else -1


def verdict_of(label: str, difference: Difference, p_adjusted: float, p_equivalent: float | None) -> Verdict:
    """Return what a difference says: equivalence within what matters comes before a significant difference."""
    if difference.ties == difference.n:
        return "equal"
    if p_equivalent is not None and p_equivalent <= ALPHA:
        return "equivalent"
    if p_adjusted > ALPHA:
        return "undecided"
    return "better" if (difference.mean or 0.0) * direction(label) > 0 else "worse"
