"""The pictures of a report of several configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragviz.analysis import compare, points, ties
from ragviz.analysis.compare import Comparison, headline, pairs
from ragviz.core.configuration import Run
from ragviz.metrics.registry import METRICS, scale_of, title_of
from ragviz.report import curve_plots, difference_plots, expense_plots, leaderboard_plots, pair_plots, small_multiples
from ragviz.report.change_card import Decided
from ragviz.report.page import Figure, figure
from ragviz.runs import comparisons, moved_questions
from ragviz.text.names import distinct
from ragviz.workspace import Workspace

SHORT = 26
"""Characters of a run's name in a picture."""


def drawn(workspace: Workspace, decided: Decided, runs: Sequence[Run]) -> list[Figure]:
    """Return the pictures; `runs` are those of the comparison, in its order."""
    comparison = decided.comparison
    parts = [_leaderboard(comparison)]
    row = comparison.rows[comparison.rule.primary]
    names = dict(zip(comparison.runs, distinct(comparison.runs, SHORT), strict=True))
    metric, base = title_of(row.label), comparison.runs[0]
    plot = difference_plots.differences(
        [(names[delta.run], delta.difference, delta.verdict) for delta in row.deltas],
        x_title=f"Difference of {metric} to {names[base]}",
        margin=comparison.rule.margin(row.label),
    )
    note = "Lines are 95 % intervals; within the band, differences are too small to matter."
    parts.append(figure(plot, f"{metric} against the baseline", note))
    several = {name: comparison.rows[name].deltas[decided.candidate - 1] for name in headline(comparison)}
    if len(several) > 1:
        plot = difference_plots.differences(
            [(title_of(name), delta.difference, delta.verdict) for name, delta in several.items()],
            x_title=f"Difference to {names[base]}",
        )
        other = comparison.runs[decided.candidate]
        parts.append(figure(plot, f"{other} against the baseline", f"{metric} decides, the rest is exploratory."))
    parts += _flow(workspace, [runs[0], runs[decided.candidate]], comparison.k)
    if comparison.metrics:
        parts += _of_rankings(workspace, comparison, runs, list(names.values()), decided.candidate)
    return parts


def _leaderboard(comparison: Comparison) -> Figure:
    metric = comparison.rule.primary
    row, names = comparison.rows[metric], distinct(comparison.runs, SHORT)
    order = compare.ranking_by(comparison, metric)
    at = {comparison.runs[place]: place_of for place_of, place in enumerate(order)}
    found = pairs(comparison, metric)
    joined = [[at[run] for run in group] for group in ties.brackets(list(at), found)]
    ranks = {run: f"rank {each.words}" for run, each in ties.standings(comparison.runs, found).items()}
    rows = [
        leaderboard_plots.Row(names[place], place, row.estimates[place], ranks.get(comparison.runs[place], ""))
        for place in order
    ]
    plot = leaderboard_plots.leaderboard(rows, joined, x_title=f"{title_of(metric)}{scale_of(metric)}")
    note = "◆ is the baseline. Lines are 95 % intervals; runs in one bracket cannot be separated."
    if len(names) > 2:
        note += " Ranks are those that the pairs do not exclude."
    return figure(plot, f"{title_of(metric)} of each run", note)


def _flow(workspace: Workspace, pair: Sequence[Run], k: int) -> Iterator[Figure]:
    moved = moved_questions.streams(pair[0], pair[1], k, comparisons.stored(workspace))
    if moved.flow.total:
        first, second = distinct([run.name for run in pair], SHORT)
        plot = pair_plots.flow(moved.flow, moved.titles, (first, second))
        yield figure(plot, "Where questions moved between causes of loss")


def _of_rankings(
    workspace: Workspace, comparison: Comparison, runs: Sequence[Run], names: Sequence[str], candidate: int
) -> Iterator[Figure]:
    n, k, depth = len(comparison.question_ids), comparison.k, comparison.depth
    bands = [of["recall"] for of in comparisons.curves(workspace, runs, comparison)]
    places, title = np.arange(1, depth + 1), METRICS["recall"].name
    lines = [curve_plots.Curve(name, places, *band, n) for name, band in zip(names, bands, strict=True)]
    plot = small_multiples.curves(lines, k=k, y_title=f"{title} (0 to 1)")
    yield figure(plot, f"{title} against k", "Bands are 95 % intervals.")
    readings, common = [], comparisons.in_common(workspace, {run.name: run for run in runs})
    for place, (run, band) in enumerate(zip(runs, bands, strict=True)):
        tokens = common[run.name].tokens
        if tokens is not None and len(tokens) >= depth and tokens[0] > 0:  # 0: nothing was ranked
            readings.append(expense_plots.Reading(names[place], place, tokens[:depth], *band))
    if readings:
        plot = expense_plots.recall_by_tokens(readings, k=k)
        yield figure(plot, f"{title} against tokens read", "Fair between chunks of different sizes.")
    ranks = comparison.ranks
    ranked = [curve_plots.Ranks(name, each[each > 0], int((each == 0).sum()))
              for name, each in zip(names, ranks, strict=True)]  # fmt: skip
    yield figure(small_multiples.histograms(ranked, depth=depth, k=k), "At which rank the evidence is")
    both = points.points_of_ranks(ranks[[0, candidate]], depth)
    plot = pair_plots.rank_scatter(both, (names[0], names[candidate]), depth=depth)
    yield figure(plot, "Every question's rank in both", "Below the diagonal, the change ranks evidence better.")
