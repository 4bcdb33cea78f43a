"""Figures of a metric over k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.report import style
from ragviz.report.style import ACCENT, CONTEXT, DASHES


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric for every k: `k`, `mean`, `low` and `high` have the same shape; `n` questions were averaged."""

    name: str
    k: NDArray[np.int_]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int


def curves(
    lines: Sequence[Curve],
    *,
    k: int | None = None,
    by_run: bool = False,
    labels: bool = True,
    y_title: str = "Mean over questions (0 to 1)",
    height: int = 320,
) -> go.Figure:
    """Draw metrics against k, each with its 95 % interval as a band; a click's x is a k.

    Metrics of one run share the accent colour and differ in dashes; with `by_run` every line has its run's colour. Up
    to three lines are labelled at their ends; more of them, or `labels` false, get a legend above. `k` is marked.
    """
    figure = go.Figure()
    for place, line in enumerate(lines):
        colour = style.run_colour(place) if by_run else ACCENT
        figure.add_trace(_band(line, colour))
        figure.add_trace(_line(line, colour, "solid" if by_run else DASHES[place % len(DASHES)]))
        if k is not None and len(line.k) and line.k[0] <= k <= line.k[-1]:
            figure.add_trace(_marker_at(line, k, colour))
    figure.update_layout(**style.layout("k (chunks kept)", y_title, height), hovermode="closest")
    last = int(max((line.k[-1] for line in lines if len(line.k)), default=1))
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=_k_ticks(last), tickformat="d", showgrid=False)
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    if len(lines) <= 3 and labels:
        _label_ends(figure, lines, by_run)
    else:
        figure.update_layout(style.legend_above())
    if k is not None:
        figure.add_vline(x=k, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    return style.described(figure, _curves_in_words(lines, k))


def _band(line: Curve, colour: str) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([line.k, line.k[::-1]]),
        y=np.concatenate([line.high, line.low[::-1]]),
        fill="toself",
        fillcolor=style.clear(colour, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{style.named(line.name)}, 95 % interval",
    )


def _line(line: Curve, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=line.k,
        y=line.mean,
        mode="lines+markers",  # a line without markers cannot be clicked: these are invisible
        name=style.named(line.name),
        line={"color": colour, "width": 2.4, "dash": dash},
        marker={"size": 9, "color": colour, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=line.k,
        hovertext=[_value_words(line, place) for place in range(len(line.k))],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _marker_at(line: Curve, k: int, colour: str) -> go.Scatter:
    place = int(np.searchsorted(line.k, k))
    return go.Scatter(
        x=[k],
        y=[line.mean[place]],
        mode="markers",
        marker={"size": 10, "color": colour, "line": {"width": 2, "color": "rgba(255, 255, 255, 0.9)"}},
        customdata=[k],
        hovertext=[_value_words(line, place)],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        name=f"{style.named(line.name)} at k = {k}",
    )


def _value_words(line: Curve, place: int) -> str:
    mean, low, high = (values[place] for values in (line.mean, line.low, line.high))
    value = f"{style.named(line.name)} at k = {line.k[place]}: {mean:.2f}"
    return f"{value}<br>95 % interval {low:.2f} to {high:.2f}, {line.n} questions"


def _k_ticks(last: int) -> list[int]:
    """Return the k that get a label: 1, and then round steps.

    >>> _k_ticks(50), _k_ticks(5)
    ([1, 10, 20, 30, 40, 50], [1, 2, 3, 4, 5])
    """
    step = style.whole_step(last)
    return [1, *(k for k in range(step, last + 1, step) if k > 1)]


def _label_ends(figure: go.Figure, lines: Sequence[Curve], by_run: bool) -> None:
    """Write each line's name at its right end, moved apart where lines end close together."""
    ends = sorted((float(line.mean[-1]), place) for place, line in enumerate(lines) if len(line.mean))
    below = -math.inf
    for y, place in ends:
        below = max(y, below + 0.075)
        mark = f'<span style="color:{style.run_colour(place)}">■</span> ' if by_run else ""
        figure.add_annotation(
            x=1,
            xref="paper",
            y=below,
            text=mark + style.named(lines[place].name, 18),
            xanchor="left",
            xshift=6,
            showarrow=False,
        )
    longest = max((min(len(line.name), 18) for line in lines), default=0)
    figure.update_layout(margin={"r": 24 + 7 * longest})


def _curves_in_words(lines: Sequence[Curve], k: int | None) -> str:
    if not lines or k is None:
        return f"{', '.join(line.name for line in lines)} for every k."
    values = [
        f"{line.name} {line.mean[int(np.searchsorted(line.k, k))]:.2f}"
        for line in lines
        if len(line.k) and line.k[0] <= k <= line.k[-1]
    ]
    return f"At k = {k}: {', '.join(values)}."
