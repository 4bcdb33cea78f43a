"""Several runs in order of one metric: which cannot be told apart, what breaks a tie, which are on the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragviz.analysis import brackets, pareto, ties
from ragviz.analysis.compare import Comparison, Pair, pairs, ranking_by
from ragviz.analysis.pareto import Front
from ragviz.analysis.rules import direction
from ragviz.analysis.ties import By, Choice, Price


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Runs in one metric: `order` is from the best mean; `groups` are the brackets (see `brackets`).

    `tied` are the contenders (see `brackets.contenders`), `choice` is the one preferred of several. `fronts` are
    the Pareto fronts by what tells runs apart (see `telling`).
    """

    metric: str
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
    preferred = brackets.contenders(comparison.runs, found)
    tied = tuple(run for run in order if run in preferred)
    fronts = {by: front_by(comparison, metric, prices, by) for by in telling(prices)}
    groups = tuple(brackets.brackets(order, found))
    return Leaderboard(metric, order, groups, tied, ties.broken(tied, prices), fronts)


def telling(prices: Mapping[str, Price]) -> list[By]:
    """Return what is known of two runs or more, and is not the same for all of these: tokens read, dollars, seconds."""
    known: dict[By, set[float]] = {
        by: {amount for price in prices.values() if (amount := getattr(price, by)) is not None} for by in ties.TITLES
    }
    return [by for by, amounts in known.items() if len(amounts) > 1]


def front_by(comparison: Comparison, metric: str, prices: Mapping[str, Price], by: By) -> Front:
    """Return the Pareto front of the runs whose expense `by` is known, by their means of a metric."""
    estimates = zip(comparison.runs, comparison.rows[metric].estimates, strict=True)
    return pareto.front(
        {
            run: (expense, direction(metric) * estimate.mean)
            for run, estimate in estimates
            if run in prices and (expense := getattr(prices[run], by)) is not None and estimate.mean is not None
        }
    )


def tie_words(of: Leaderboard) -> str:
    """Say which of the tied runs is preferred, and by what; "" where one run beats all others."""
    return ties.words(of.tied, of.choice) if len(of.tied) > 1 else ""


def to_json(of: Leaderboard, prices: Mapping[str, Price]) -> dict[str, Any]:
    """Return the leaderboard as the command line prints it, with what each run takes for a question."""
    return {
        "order": of.order,
        "brackets": of.groups,
        "tied": of.tied,
        "preferred": asdict(of.choice) if of.choice.by else None,
        "tie": tie_words(of),
        "takes": {run: asdict(price) for run, price in prices.items()},
        "pareto": {by: asdict(front) for by, front in of.fronts.items()},
    }
