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


def recall_by_tokens(lines: Sequence[Reading], *, k: int, height: int = 340) -> go.Figure:
    """Draw recall against the tokens read, on a logarithmic axis, each run with its k marked; three or fewer get bands.

    Runs with chunks of different sizes are compared fairly where they read as many tokens.
    """
    figure = go.Figure()
    for line in lines:
        if len(lines) <= 3:
            figure.add_trace(_band(line))
        figure.add_trace(_line(line))
        figure.add_trace(_mark(line, k))
    figure.update_layout(
        **style.layout("Tokens read (mean, log scale)", "Recall (0 to 1)", height), hovermode="closest"
    )
    every = np.concatenate([line.tokens for line in lines])
    low, high = float(every.min()), float(every.max())
    figure.update_xaxes(
        type="log", range=[math.log10(low) - 0.05, math.log10(high) + 0.05], tickvals=_ticks(low, high),
        tickformat=",d", showgrid=False,
    )  # fmt: skip
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    _add_legend(figure, len(lines))
    said = "; ".join(f"{line.name} {line.mean[k - 1]:.2f} for {line.tokens[k - 1]:,.0f} tokens" for line in lines)
    return style.described(figure, f"Recall at k = {k}: {said}.")


def _add_legend(figure: go.Figure, count: int) -> None:
    """Add a legend above the figure, which grows with its rows."""
    figure.update_layout(style.legend_above())
    figure.update_layout(height=figure.layout.height + 20 * max(0, -(-count // 2) - 2))


def _ticks(low: float, high: float) -> list[int]:
    """Return round numbers of tokens for a logarithmic axis.

    >>> _ticks(180, 9000)
    [200, 500, 1000, 2000, 5000]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10**p for p in powers if p >= 0 for step in (1, 2, 5) if low <= step * 10**p <= high]


def _band(line: Reading) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([line.tokens, line.tokens[::-1]]),
        y=np.concatenate([line.high, line.low[::-1]]),
        fill="toself",
        fillcolor=style.clear(style.run_colour(line.place), 0.18),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{style.named(line.name)}, 95 % interval",
    )


def _line(line: Reading) -> go.Scatter:
    hover = [_reading_words(line, at) for at in range(len(line.tokens))]
    return go.Scatter(
        x=line.tokens,
        y=line.mean,
        mode="lines",
        name=style.named(line.name),
        line={"color": style.run_colour(line.place), "width": 2.4, "dash": style.run_dash(line.place)},
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _mark(line: Reading, k: int) -> go.Scatter:
    colour = style.run_colour(line.place)
    return go.Scatter(
        x=[line.tokens[k - 1]],
        y=[line.mean[k - 1]],
        mode="markers",
        name=f"{style.named(line.name)} at k = {k}",
        marker={
            "size": 11, "color": colour, "symbol": style.run_symbol(line.place), "line": {"width": 2, "color": colour},
        },
        hovertext=[_reading_words(line, k - 1)],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )  # fmt: skip


def _reading_words(line: Reading, at: int) -> str:
    return (
        f"{style.named(line.name)} at k = {at + 1}: recall {line.mean[at]:.2f} for {line.tokens[at]:,.0f} tokens<br>"
        f"95 % interval {line.low[at]:.2f} to {line.high[at]:.2f}"
    )


@dataclass(frozen=True, slots=True)
class Point:
    """A run by what it takes for a question and how good it is; `place` gives its colour, `front` says it is on it."""

    name: str
    place: int
    expense: float
    words: str
    quality: Estimate
    front: bool


def quality_by_expense(points: Sequence[Point], *, x_title: str, y_title: str, height: int = 340) -> go.Figure:
    """Draw quality, with its intervals, against expense from 0; a line joins the runs of the Pareto front.

    Runs that are dominated are drawn with open marks.
    """
    figure = go.Figure()
    on = sorted((p.expense, p.quality.mean or 0.0) for p in points if p.front)
    figure.add_trace(
        go.Scatter(
            x=[x for x, _ in on],
            y=[y for _, y in on],
            mode="lines",
            line={"color": CONTEXT, "width": 1.4, "dash": "dot", "shape": "hv"},
            hoverinfo="skip",
            showlegend=False,
            name="Pareto front",
        )
    )
    for point in points:
        figure.add_trace(_point(point))
    figure.update_layout(**style.layout(x_title, y_title, height), hovermode="closest")
    greatest = max((point.expense for point in points), default=0.0)
    figure.update_xaxes(range=[0, greatest * 1.12 or 1], showgrid=True, gridcolor=GRID)
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    _add_legend(figure, len(points))
    said = "; ".join(f"{p.name} {p.quality.mean:.2f} for {p.words}" for p in points if p.quality.mean is not None)
    front = ", ".join(point.name for point in points if point.front)
    return style.described(figure, f"{y_title} by {x_title}: {said}. On the Pareto front: {front}.")


def _point(point: Point) -> go.Scatter:
    colour, e = style.run_colour(point.place), point.quality
    mean = e.mean or 0.0
    low, high = (mean if bound is None else bound for bound in (e.low, e.high))
    text = (
        f"{style.named(point.name)}: {mean:.2f} for {point.words} a question<br>"
        f"95 % interval {low:.2f} to {high:.2f}, {e.n} questions<br>"
        f"{'on the Pareto front' if point.front else 'dominated'}"
    )
    return go.Scatter(
        x=[point.expense],
        y=[mean],
        mode="markers",
        name=style.named(point.name),
        marker={
            "size": 12, "color": colour, "symbol": "diamond" if point.front else "diamond-open",
            "line": {"width": 2, "color": colour},
        },
        error_y={
            "type": "data", "symmetric": False, "array": [high - mean], "arrayminus": [mean - low], "color": colour,
            "thickness": 1.4, "width": 4,
        },
        hovertext=[text],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
