"""A comparison as `ragviz compare` prints it: the verdict, what differs, every metric, the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragviz.analysis import compare as comparing
from ragviz.analysis import comparison_words, differing, leaderboards, slices, ties
from ragviz.cli import console
from ragviz.metrics import registry
from ragviz.stats import differences

_COLUMNS = ("mean [95 %]", "verdict", "p (adjusted)", "won, tied, lost")


def draw(comparison: comparing.Comparison, metric: str, prices: Mapping[str, ties.Price]) -> None:
    """Print a comparison; `metric` is that of the leaderboard and of all pairs, "" for the primary one."""
    console.say(comparison_words.sentence(comparison, [metric] if metric else []))
    if comparison.asked:
        console.say(f"All runs asked {comparison.asked}.")
    cells = [
        (differing.title(each.key), *(differing.value_words(each.key, value) for value in each.values))
        for each in comparison.settings
    ]
    console.table(("setting", *comparison.runs), cells)
    console.say(comparison_words.rule_words(comparison), *comparison.notes)
    _draw_metrics(comparison, comparison.metrics)
    if comparison.answers:
        _draw_metrics(comparison, comparison.answers, "answers, over the questions that all runs have a score for")
        for row in comparison.answers.values():
            console.say(*comparison_words.missing_words(row, comparison.runs[0]))
    _draw_leaderboard(comparison, comparing.metric_of(comparison, metric), prices)


def draw_slices(found: slices.Slices, by: str, names: tuple[str, str]) -> None:
    """Print the difference between two runs, the baseline first, in each part of the questions by one dimension."""
    rows = []
    for each in found.slices:
        if each.part.by != by:
            continue
        told = ("", f"fewer than {slices.SMALL} questions", "", "")
        if each.difference is not None:
            told = _cells(each.difference, each.verdict or "", each.p_adjusted or 0.0)
        rows.append((each.part.title, each.n, f"{each.baseline:.3f}", f"{each.other:.3f}", *told))
    if not rows:
        console.say(f"By {slices.DIMENSIONS[by].lower()} the questions are all alike, or nothing is said of them.")
        return
    title = f"{found.metric} by {slices.DIMENSIONS[by].lower()}: {' → '.join(names)}"
    console.table((slices.DIMENSIONS[by], "questions", *names, "difference", *_COLUMNS[1:]), rows, title)
    console.say(slices.multiplicity_words(found))


def _draw_metrics(comparison: comparing.Comparison, rows: Mapping[str, comparing.MetricRow], title: str = "") -> None:
    means = [(row.label, *map(console.interval, row.estimates)) for row in rows.values()]
    console.table(("metric", *comparison.runs), means, title)
    deltas = [(row.label, delta.run, *_delta_cells(delta)) for row in rows.values() for delta in row.deltas]
    console.table(("difference", "run", *_COLUMNS), deltas)


def _draw_leaderboard(comparison: comparing.Comparison, metric: str, prices: Mapping[str, ties.Price]) -> None:
    found: Sequence[comparing.Pair] = comparing.pairs(comparison, metric)
    board = leaderboards.leaderboard(comparison, metric, prices, found)
    if len(comparison.runs) > 2:
        cells = [(pair.delta.run, pair.baseline, *_delta_cells(pair.delta)) for pair in found]
        console.table(("run", "against", *_COLUMNS), cells, f"all pairs, by {metric} (Holm)")
        ranks = zip(comparison.runs, comparing.standings_by(comparison, metric, found), strict=True)
        places = [(run, *comparison_words.standing_words(each)) for run, each in ranks]
        console.table(("run", "rank", "best"), places)
        for group in board.groups:
            console.say(f"Not told apart by {metric}: {', '.join(group)}.")
    for by, front in board.fronts.items():
        console.say(f"{registry.title_of(metric)} against {ties.TITLES[by]}: {leaderboards.front_words(front)}")
    console.say(leaderboards.tie_words(board))


def _delta_cells(delta: comparing.Delta) -> tuple[str, str, str, str]:
    return _cells(delta.difference, delta.verdict, delta.p_adjusted)


def _cells(d: differences.Difference, verdict: str, p_adjusted: float) -> tuple[str, str, str, str]:
    interval = "none" if d.mean is None else f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
    if d.mean is not None and d.n < 2:
        interval = f"{d.mean:+.3f} (n={d.n}, no interval)"
    return interval, verdict, comparison_words.p_words(p_adjusted), f"{d.wins}, {d.ties}, {d.losses}"
