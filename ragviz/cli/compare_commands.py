"""`ragviz compare`: the verdict, what differs, every metric, the leaderboard, parts of the questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragviz.analysis import compare as comparing
from ragviz.analysis import comparison_words, differing, flows, leaderboards, ties
from ragviz.cli import console
from ragviz.cli.options import Json, MinimumEffect, Primary
from ragviz.health import synthetic
from ragviz.metrics import registry
from ragviz.runs import comparisons, moved_questions

COLUMNS = ("mean [95 %]", "verdict", "p (adjusted)", "won, tied, lost")
"""Of a difference."""


def compare(
    run_names: Annotated[list[str], typer.Argument(metavar="RUN RUN...")],
    k: Annotated[int | None, typer.Option("-k", help="Default: the first run's.")] = None,
    metric: Annotated[str, typer.Option(help="All pairs by this one, as mrr; default: the primary one.")] = "",
    primary: Primary = "",
    minimum_effect: MinimumEffect = None,
    as_json: Json = False,
) -> None:
    """Compare two to twelve runs with the first, question by question, and each with each by one metric.

    Rankings over the common questions with evidence; of answers, means over the questions that all runs have a score
    for, differences over those that both have one for.
    Intervals and tests treat questions about the same documents as one cluster. The primary metric decides (Holm);
    all others are exploratory (Benjamini-Hochberg). --json adds where each question was lost before and after, and the
    differences by document, kind, type, style, language and length.
    """
    workspace = console.open_workspace()
    runs = comparisons.not_too_many([workspace.store.runs.get(name) for name in run_names])
    sources = comparisons.stored(workspace)
    comparison = comparisons.compare_runs(
        workspace, runs, k, primary=primary, minimum_effect=minimum_effect, sources=sources
    )
    decided_by = comparing.metric_of(comparison, metric)
    prices = comparisons.prices(workspace, {run.name: run for run in runs}, comparison.k, decided_by, sources)
    generated = synthetic.banner([run.config for run in runs], sources.overview(runs[0]).asked.generators)
    body: dict[str, Any] = {}
    if as_json:
        body = comparison_words.to_json(comparison, metric, prices) | {"warning": generated}
        body |= moved_questions.to_json(workspace, runs, comparison, body["metric"], sources)

    def draw() -> None:
        console.say(f"Warning: {generated}" if generated else "")
        console.say(comparison_words.sentence(comparison, [metric] if metric else []))
        _draw(comparison, decided_by, prices)
        for other in runs[1:]:
            moved = flows.words(moved_questions.streams(runs[0], other, comparison.k, sources).flow)
            console.say(f"{runs[0].name} → {other.name}: {moved}")

    console.show(body, as_json, draw)


def _draw(comparison: comparing.Comparison, metric: str, prices: Mapping[str, ties.Price]) -> None:
    console.say(f"All runs asked {comparison.asked}." if comparison.asked else "")
    settings = [
        (differing.title(each.key), *(differing.value_words(each.key, value) for value in each.values))
        for each in comparison.settings
    ]
    console.table(("setting", *comparison.runs), settings)
    console.say(comparison_words.rule_words(comparison), *comparison.notes)
    _draw_metrics(comparison, comparison.metrics)
    if comparison.answers:
        _draw_metrics(comparison, comparison.answers, "answers, over the questions that all runs have a score for")
        for row in comparison.answers.values():
            console.say(*comparison_words.missing_words(row, comparison.runs[0]))
    pairs = comparing.pairs(comparison, metric)
    board = leaderboards.leaderboard(comparison, metric, prices, pairs)
    if len(comparison.runs) > 2:
        rows = [(pair.delta.run, pair.baseline, *_delta_cells(pair.delta)) for pair in pairs]
        console.table(("run", "against", *COLUMNS), rows, f"all pairs, by {metric} (Holm)")
        standings = ties.standings(comparison.runs, pairs)
        console.table(("run", "rank"), [(run, each.words) for run, each in standings.items()])
        console.say(*(f"Not told apart by {metric}: {', '.join(group)}." for group in board.groups))
    for by, front in board.fronts.items():
        console.say(f"{registry.title_of(metric)} against {ties.TITLES[by]}: {leaderboards.front_words(front)}")
    console.say(leaderboards.tie_words(board))


def _draw_metrics(comparison: comparing.Comparison, rows: Mapping[str, comparing.MetricRow], title: str = "") -> None:
    means = [(row.label, *map(console.interval, row.estimates)) for row in rows.values()]
    console.table(("metric", *comparison.runs), means, title)
    deltas = [(row.label, delta.run, *_delta_cells(delta)) for row in rows.values() for delta in row.deltas]
    console.table(("difference", "run", *COLUMNS), deltas)


def _delta_cells(delta: comparing.Delta) -> tuple[str, str, str, str]:
    d = delta.difference
    counted = f"{d.wins}, {d.ties}, {d.losses}"
    return comparison_words.difference_words(d), delta.verdict, comparison_words.p_words(delta.p_adjusted), counted
