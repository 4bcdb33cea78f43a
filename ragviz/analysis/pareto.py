"""Which runs no other beats on quality and expense at once: the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
    on = f"{of.runs[0]} alone" if len(of.runs) == 1 else _listed(of.runs)
    worse = "; ".join(f"{run} (by {_first(by)})" for run, by in of.dominated.items())
    return f"On the front: {on}. {f'Dominated: {worse}' if worse else 'No run is dominated'}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first(names: Sequence[str]) -> str:
    others = len(names) - 1
    return f"{names[0]} and {others} other{'s' * (others != 1)}" if others else names[0]


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    (expense, quality), (others_expense, others_quality) = one, other
    return expense <= others_expense and quality >= others_quality and one != other
