"""Which runs no other beats on quality and expense at once: the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragviz.text.counts import counted, enumerated


@dataclass(frozen=True, slots=True)
class Front:
    """The runs that none dominates, cheapest first; and each dominated run with those of the front that dominate it."""

    runs: tuple[str, ...]
    dominated: Mapping[str, tuple[str, ...]]


def front(points: Mapping[str, tuple[float, float]]) -> Front:
    """Return the Pareto front of runs by (expense, quality), the less of the first and the more of the second better.

    A run dominates another when it is at least as good in both, and better in one. Equal runs do not dominate each
    other. Only estimates are compared: two runs on the front need not be apart.

    >>> front({"a": (300, 0.7), "b": (600, 0.8), "c": (700, 0.8), "d": (900, 0.6)})
    Front(runs=('a', 'b'), dominated={'c': ('b',), 'd': ('a', 'b')})
    """
    best = [run for run in points if not any(_dominates(points[other], points[run]) for other in points)]
    best.sort(key=lambda run: (points[run][0], -points[run][1]))
    dominated = {
        run: tuple(other for other in best if _dominates(points[other], points[run]))
        for run in points
        if run not in best
    }
    return Front(tuple(best), dominated)


def words(of: Front) -> str:
    """Say which runs are on the front, and which are dominated by which.

    >>> words(front({"a": (300, 0.7), "b": (600, 0.8), "c": (700, 0.8)}))
    'On the front: a and b. Dominated: c (by b).'
    >>> words(front({"a": (300, 0.7), "b": (600, 0.8), "c": (700, 0.6)}))
    'On the front: a and b. Dominated: c (by a and 1 other).'
    >>> words(front({"a": (300, 0.7), "b": (600, 0.6)}))
    'On the front: a alone. Dominated: b (by a).'
    """
    on = f"{of.runs[0]} alone" if len(of.runs) == 1 else enumerated(of.runs)
    worse = []
    for run, by in of.dominated.items():
        others = [counted(len(by) - 1, "other")] if len(by) > 1 else []
        worse.append(f"{run} (by {enumerated([by[0], *others])})")
    return (
        f"On the front: {on}. Dominated: {'; '.join(worse)}." if worse else f"On the front: {on}. No run is dominated."
    )


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    (expense, quality), (others_expense, others_quality) = one, other
    return expense <= others_expense and quality >= others_quality and one != other
