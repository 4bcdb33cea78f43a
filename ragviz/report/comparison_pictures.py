"""The pictures of a report of several configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from ragviz.analysis import compare, points, ties
from ragviz.analysis.compare import Comparison, Pair, headline, pairs
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
    row = comparison.rows[comparison.rule.primary]
    names = dict(zip(comparison.runs, distinct(comparison.runs, SHORT), strict=True))
    metric, base = title_of(row.label), comparison.runs[0]
    found = pairs(comparison, row.label)
    plot, _ = leaderboard(comparison, row.label, found, x_title=f"{metric}{scale_of(row.label)}")
    note = "◆ is the baseline. Lines are 95 % intervals; runs in one bracket cannot be separated."
    note += " Ranks are those that the pairs do not exclude." if len(names) > 2 else ""
    parts = [figure(plot, f"{metric} of each run", note)]
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
    moved = moved_questions.streams(runs[0], runs[decided.candidate], comparison.k, comparisons.stored(workspace))
    if moved.flow.total:
        first, second = distinct([runs[0].name, runs[decided.candidate].name], SHORT)
        plot = pair_plots.flow(moved.flow, moved.titles, (first, second))
        parts.append(figure(plot, "Where questions moved between causes of loss"))
    if comparison.metrics:
        parts += _of_rankings(workspace, comparison, runs, list(names.values()), decided.candidate)
    return parts


def leaderboard(
    comparison: Comparison, metric: str, found: Sequence[Pair], notes: Sequence[str] = (), *, x_title: str
) -> tuple[go.Figure, bool]:
    """Draw the runs of a comparison, the best on top; return whether a bracket joins some, too.

    `found` are all pairs in the metric; `notes` stand beside the runs, by default the ranks that the pairs leave.
    """
    estimates, names = comparison.rows[metric].estimates, distinct(comparison.runs, SHORT)
    ranks = ties.standings(comparison.runs, found)  # of two runs, there are none
    notes = notes or [f"rank {ranks[run].words}" if run in ranks else "" for run in comparison.runs]
    order = compare.ranking_by(comparison, metric)
    at = {comparison.runs[place]: row for row, place in enumerate(order)}
    joined = [[at[run] for run in group] for group in ties.brackets(list(at), found)]
    rows = [leaderboard_plots.Row(names[place], place, estimates[place], notes[place]) for place in order]
    return leaderboard_plots.leaderboard(rows, joined, x_title=x_title), bool(joined)


def _of_rankings(
    workspace: Workspace, comparison: Comparison, runs: Sequence[Run], names: Sequence[str], candidate: int
) -> Iterator[Figure]:
    n, k, depth = len(comparison.question_ids), comparison.k, comparison.depth
    bands = [of["recall"] for of in comparisons.curves(workspace, runs, comparison)]
    title = METRICS["recall"].name
    lines = [curve_plots.Curve(name, *band, n) for name, band in zip(names, bands, strict=True)]
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
    ranked = [curve_plots.Ranks(name, each) for name, each in zip(names, ranks, strict=True)]
    yield figure(small_multiples.histograms(ranked, depth=depth, k=k), "At which rank the evidence is")
    both = points.points_of_ranks(ranks[[0, candidate]], depth)
    plot = pair_plots.rank_scatter(both, (names[0], names[candidate]), depth=depth)
    yield figure(plot, "Every question's rank in both", "Below the diagonal, the change ranks evidence better.")
