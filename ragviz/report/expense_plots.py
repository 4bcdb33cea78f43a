"""Figures of quality against what it takes: tokens read, dollars, seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.core.call import Estimate
from ragviz.report import style
from ragviz.report.style import CONTEXT, GRID


@dataclass(frozen=True, slots=True)
class Reading:
    """A run's mean recall for every k, with its interval, by the tokens that its first k chunks hold on average.

    All arrays have the shape (depth,); `place` gives the run's colour.
    """

    name: str
    place: int
    tokens: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def recall_by_tokens(lines: Sequence[Reading], *, k: int) -> go.Figure:
    """Draw recall against the tokens read, on a logarithmic axis, each run with its k marked; three or fewer get bands.

    Runs with chunks of different sizes are compared fairly where they read as many tokens.
    """
    figure = go.Figure()
    for line in lines:
        colour = style.run_colour(line.place)
        words = [
            f"{style.named(line.name)} at k = {at}: recall {mean:.2f} for {tokens:,.0f} tokens<br>"
            f"95 % interval {low:.2f} to {high:.2f}"
            for at, (tokens, mean, low, high) in enumerate(
                zip(line.tokens, line.mean, line.low, line.high, strict=True), start=1
            )
        ]
        if len(lines) <= 3:
            figure.add_trace(style.band(line.tokens, line.low, line.high, colour, line.name))
        dash, symbol = style.run_dash(line.place), style.run_symbol(line.place)
        figure.add_trace(style.line(line.tokens, line.mean, words, line.name, colour, dash=dash))
        at_k = style.mark(line.tokens[k - 1], line.mean[k - 1], words[k - 1], colour, line.name, symbol=symbol)
        figure.add_trace(at_k.update(showlegend=False))
    figure.update_layout(**style.layout("Tokens read (mean, log scale)", "Recall (0 to 1)", 340), hovermode="closest")
    every = np.concatenate([line.tokens for line in lines])
    low, high = float(every.min()), float(every.max())
    reach = [math.log10(low) - 0.05, math.log10(high) + 0.05]
    figure.update_xaxes(type="log", range=reach, tickvals=_ticks(low, high), tickformat=",d", showgrid=False)
    figure.update_yaxes(style.RATE)
    _add_legend(figure, len(lines))
    said = "; ".join(f"{line.name} {line.mean[k - 1]:.2f} for {line.tokens[k - 1]:,.0f} tokens" for line in lines)
    return style.described(figure, f"Recall at k = {k}: {said}.")


def _add_legend(figure: go.Figure, count: int) -> None:
    figure.update_layout(style.legend_above())
    figure.update_layout(height=figure.layout.height + 20 * max(0, -(-count // 2) - 2))


def _ticks(low: float, high: float) -> list[int]:
    """Return round numbers of tokens for a logarithmic axis.

    >>> _ticks(180, 9000)
    [200, 500, 1000, 2000, 5000]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10**p for p in powers if p >= 0 for step in (1, 2, 5) if low <= step * 10**p <= high]


@dataclass(frozen=True, slots=True)
class Point:
    """A run by what it takes for a question and how good it is; `place` gives its colour, `front` says it is on it."""

    name: str
    place: int
    expense: float
    words: str
    quality: Estimate
    front: bool


def quality_by_expense(points: Sequence[Point], *, x_title: str, y_title: str) -> go.Figure:
    """Draw quality, with its intervals, against expense from 0; a line joins the runs of the Pareto front."""
    on = sorted((p.expense, p.quality.mean or 0.0) for p in points if p.front)
    joined = style.line([x for x, _ in on], [y for _, y in on], [], "Pareto front", CONTEXT, dash="dot", shape="hv")
    figure = go.Figure(joined.update(hoverinfo="skip", showlegend=False))
    for point in points:
        colour, e, mean = style.run_colour(point.place), point.quality, point.quality.mean or 0.0
        text = (
            f"{style.mean_words(style.named(point.name), e.low, mean, e.high, e.n)}<br>{point.words} a question, "
            f"{'on the Pareto front' if point.front else 'dominated'}"
        )
        symbol = "diamond" if point.front else "diamond-open"
        drawn = style.mark(point.expense, mean, text, colour, point.name, size=12, symbol=symbol)
        figure.add_trace(drawn.update(error_y=style.interval(e.low, mean, e.high, colour)))
    figure.update_layout(**style.layout(x_title, y_title, 340), hovermode="closest")
    greatest = max((point.expense for point in points), default=0.0)
    figure.update_xaxes(range=[0, greatest * 1.12 or 1], showgrid=True, gridcolor=GRID)
    figure.update_yaxes(style.RATE)
    _add_legend(figure, len(points))
    said = "; ".join(f"{p.name} {p.quality.mean:.2f} for {p.words}" for p in points if p.quality.mean is not None)
    front = ", ".join(point.name for point in points if point.front)
    return style.described(figure, f"{y_title} by {x_title}: {said}. On the Pareto front: {front}.")
