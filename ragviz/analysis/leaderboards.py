"""Several runs in order of one metric: which cannot be told apart, what breaks a tie, which are on the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragviz.analysis import ties
from ragviz.analysis.compare import Comparison, Pair, pairs, ranking_by
from ragviz.analysis.rules import direction
from ragviz.analysis.ties import By, Choice, Price
from ragviz.text.counts import counted, enumerated


@dataclass(frozen=True, slots=True)
class Front:
    """The runs that none dominates, cheapest first; and each dominated run with those of the front that dominate it."""

    runs: tuple[str, ...]
    dominated: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Runs in order of one metric: `order` is from the best mean; `groups` are the brackets (see `brackets`).

    `tied` are the contenders (see `ties.contenders`), `choice` is the one preferred of several. `fronts` are
    the Pareto fronts by what tells runs apart (see `telling`).
    """

    order: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    tied: tuple[str, ...]
    choice: Choice
    fronts: Mapping[By, Front]


def leaderboard(
    comparison: Comparison, metric: str, prices: Mapping[str, Price], found: Sequence[Pair] = ()
) -> Leaderboard:
    """Return the leaderboard by a metric; `prices` are by run, `found` all pairs where these are known already.

    Raises:
        NotFoundError: the comparison has no such metric.

    """
    order = tuple(comparison.runs[place] for place in ranking_by(comparison, metric))
    found = found or pairs(comparison, metric)
    preferred = ties.contenders(comparison.runs[0], comparison.rows[metric].deltas, lambda: found)
    tied = tuple(run for run in order if run in preferred)
    fronts = {by: front_by(comparison, metric, prices, by) for by in telling(prices)}
    groups = tuple(ties.brackets(order, found))
    return Leaderboard(order, groups, tied, ties.broken(tied, prices), fronts)


def telling(prices: Mapping[str, Price]) -> list[By]:
    """Return what is known of two runs or more, and is not the same for all of these: tokens read, dollars, seconds."""
    known: dict[By, set[float]] = {
        by: {amount for price in prices.values() if (amount := getattr(price, by)) is not None} for by in ties.TITLES
    }
    return [by for by, amounts in known.items() if len(amounts) > 1]


def front_by(comparison: Comparison, metric: str, prices: Mapping[str, Price], by: By) -> Front:
    """Return the Pareto front of the runs whose expense `by` is known, by their means of a metric."""
    estimates = zip(comparison.runs, comparison.rows[metric].estimates, strict=True)
    return front(
        {
            run: (expense, direction(metric) * estimate.mean)
            for run, estimate in estimates
            if run in prices and (expense := getattr(prices[run], by)) is not None and estimate.mean is not None
        }
    )


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


def front_words(of: Front) -> str:
    """Say which runs are on the front, and which are dominated by which.

    >>> front_words(front({"a": (300, 0.7), "b": (600, 0.8), "c": (700, 0.8)}))
    'On the front: a and b. Dominated: c (by b).'
    >>> front_words(front({"a": (300, 0.7), "b": (600, 0.8), "c": (700, 0.6)}))
    'On the front: a and b. Dominated: c (by a and 1 other).'
    >>> front_words(front({"a": (300, 0.7), "b": (600, 0.6)}))
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


def tie_words(of: Leaderboard) -> str:
    """Say which of the tied runs is preferred, and by what; "" where there is one to choose."""
    return ties.words(of.tied, of.choice) if len(of.tied) > 1 else ""
