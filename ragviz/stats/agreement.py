"""Agreement of two raters on categories, beyond what chance explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two raters over `n` items: the share on which they agree, and Cohen's kappa.

    Kappa is (observed − expected) ÷ (1 − expected), from −1 to 1, 0 as by chance (Cohen 1960). It is None without an
    item, and where both raters give one and the same category to all, so that chance explains everything.
    """

    n: int
    agreed: int
    kappa: float | None

    @property
    def share(self) -> float | None:
        """The share of items on which they agree; None without an item."""
        return self.agreed / self.n if self.n else None


def agreement(one: Sequence[Hashable], other: Sequence[Hashable]) -> Agreement:
    """Compare two raters' categories of the same items, in the same order.

    >>> agreement(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    Agreement(n=4, agreed=3, kappa=0.5)
    """
    n = len(one)
    agreed = sum(a == b for a, b in zip(one, other, strict=True))
    if not n:
        return Agreement(0, 0, None)
    first, second = Counter(one), Counter(other)
    expected = sum(count * second[category] for category, count in first.items()) / n**2
    return Agreement(n, agreed, (agreed / n - expected) / (1 - expected) if expected < 1 else None)
