"""A figure of several runs in one metric: their means and intervals, with brackets around what is not told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ragviz.core.call import Estimate
from ragviz.report import style
from ragviz.report.style import ACCENT, CONTEXT, GRID

ROW = 46
"""Pixels of a row of the leaderboard."""
NOTES = 176
"""Pixels for the means and notes beside it, in the larger type of a presentation too."""
LANE = 9
"""Pixels between brackets side by side."""


@dataclass(frozen=True, slots=True)
class Row:
    """A run on the leaderboard: its `place` among the runs compared, from 0, gives its colour; the baseline has 0."""

    name: str
    place: int
    estimate: Estimate
    note: str = ""


def leaderboard(rows: Sequence[Row], groups: Sequence[Sequence[int]] = (), *, x_title: str) -> go.Figure:
    """Draw a row per run, from the top, on one axis from 0 to 1, or of what is beyond: its mean and 95 % interval.

    `groups` are rows, by their places from the top, that one bracket joins; the baseline's name is marked, its mean
    a dotted line.
    """
    figure = go.Figure()
    lanes = _lanes(groups)
    width = LANE * (max(lanes, default=-1) + 1)
    figure.update_layout(**style.layout(x_title, "", 78 + ROW * max(len(rows), 3)))
    figure.update_layout(margin_r=NOTES + width)
    figure.update_xaxes(showgrid=True, gridcolor=GRID)
    if all(0 <= (row.estimate.mean or 0.0) <= 1 for row in rows):
        figure.update_xaxes(range=[0, 1.02], tickvals=[0, 0.5, 1])
    shown = style.all_named((row.name for row in rows), 28)
    figure.update_yaxes(
        tickvals=[-at for at in range(len(rows))],
        ticktext=[f"{'◆ ' if row.place == 0 else ''}{name}" for row, name in zip(rows, shown, strict=True)],
        range=[0.6 - max(len(rows), 3), 0.6],
        showgrid=False,
    )
    beside = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 12 + width, "align": "left", "showarrow": False}
    for at, row in enumerate(rows):
        e, colour, words = row.estimate, style.run_colour(row.place), "no question is scored"
        if e.mean is not None:
            words = f"{e.mean:.2f} {e.interval_words()}"
            drawn = style.mark(e.mean, -at, _words(row), colour, row.name, symbol=style.run_symbol(row.place))
            figure.add_trace(drawn.update(error_x=style.interval(e.low, e.mean, e.high, colour)))
        figure.add_annotation(y=-at, text="<br>".join(filter(None, [words, row.note])), **beside)
    for group, lane in zip(groups, lanes, strict=True):
        _add_bracket(figure, group, lane)
    baseline = next((row.estimate.mean for row in rows if row.place == 0), None)
    if baseline is not None:
        figure.add_vline(x=baseline, line={"dash": "dot", "width": 1.2, "color": CONTEXT})
    means = "; ".join(f"{row.name} {row.estimate.mean:.2f}" for row in rows if row.estimate.mean is not None)
    joined = "; ".join(", ".join(rows[at].name for at in group) for group in groups)
    return style.described(figure, f"{means} ({x_title}).{f' Not told apart: {joined}.' if joined else ''}")


def over_time(rows: Sequence[Row], changed: int | None, *, y_title: str) -> go.Figure:
    """Draw runs from left to right, the oldest first, with their 95 % intervals; a line before the one that changed."""
    means = [(at, row, row.estimate.mean) for at, row in enumerate(rows) if row.estimate.mean is not None]
    words = [_words(row) for _, row, _ in means]
    figure = go.Figure(style.line([at for at, _, _ in means], [mean for _, _, mean in means], words, ""))
    for (at, row, mean), said in zip(means, words, strict=True):
        ends = style.interval(row.estimate.low, mean, row.estimate.high)
        figure.add_trace(style.mark(at, mean, said, ACCENT, row.name).update(error_y=ends))
    figure.update_layout(**style.layout("", y_title, 260))
    figure.update_yaxes(range=[0, 1.02])
    figure.update_xaxes(tickvals=[*range(len(rows))], ticktext=style.all_named((r.name for r in rows), 14))
    if changed is not None:
        figure.add_vline(x=changed - 0.5, line={"dash": "dot", "width": 1.2, "color": CONTEXT})
    told = "; ".join(f"{row.name} {mean:.2f}" for _, row, mean in means)
    return style.described(figure, f"{y_title} of {len(rows)} runs, the oldest first: {told}.")


def _words(row: Row) -> str:
    e = row.estimate
    return style.mean_words(style.named(row.name), e.low, e.mean or 0.0, e.high, e.n)


def _lanes(groups: Sequence[Sequence[int]]) -> list[int]:
    """Return a lane for every bracket, from 0, so that no two in one lane overlap.

    >>> _lanes([(0, 1), (1, 2, 4), (3, 4), (5, 6)])
    [0, 1, 0, 0]
    """
    ends: list[int] = []  # the last row of each lane
    lanes = []
    for group in groups:
        lane = next((lane for lane, end in enumerate(ends) if end < min(group)), len(ends))
        ends[lane : lane + 1] = [max(group)]
        lanes.append(lane)
    return lanes


def _add_bracket(figure: go.Figure, group: Sequence[int], lane: int) -> None:
    """Draw a line beside the rows of a group, with a tick at each of them: rows between two ticks are not in it."""
    line = {"width": 2, "color": CONTEXT}
    x = 6 + LANE * lane
    shared = {"type": "line", "xref": "paper", "xsizemode": "pixel", "xanchor": 1, "line": line}
    figure.add_shape(x0=x + 4, x1=x + 4, y0=0.22 - min(group), y1=-0.22 - max(group), **shared)
    for at in group:
        figure.add_shape(x0=x, x1=x + 4, y0=-at, y1=-at, **shared)
