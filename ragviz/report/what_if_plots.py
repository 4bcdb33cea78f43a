"""Figure of what other choices would give: risk against coverage."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.report import style
from ragviz.report.style import ACCENT, CONTEXT, WORSE

Floats = NDArray[np.float64]


def risk_coverage(
    thresholds: Floats,
    coverage: Floats,
    risk: Floats,
    low: Floats,
    high: Floats,
    *,
    chosen: float | None = None,
    height: int = 320,
) -> go.Figure:
    """Draw wrong among the answered against the share answered, with its 95 % band; arrays of one shape.

    The right end is the run as it is; `chosen` marks the point of this threshold.
    """
    figure = go.Figure(_band(coverage, low, high))
    words = [
        f"Answer from {value:.4g}: {answered:.0%} answered, {wrong:.1%} of these wrong"
        f"<br>95 % interval {least:.1%} to {most:.1%}"
        for value, answered, wrong, least, most in zip(thresholds, coverage, risk, low, high, strict=True)
    ]
    figure.add_trace(_line(coverage, risk, words, "Risk"))
    figure.add_trace(_point(coverage[-1], risk[-1], CONTEXT, f"The run as it is<br>{words[-1]}", "as it is"))
    told = f"As it is, {coverage[-1]:.0%} are answered and {risk[-1]:.1%} of these are wrong."
    if chosen is not None:
        place = int(np.argmin(np.abs(thresholds - chosen))) if np.isfinite(chosen) else 0
        figure.add_trace(_point(coverage[place], risk[place], WORSE, words[place], "chosen"))
        told += f" Answering from {chosen:.4g}, {coverage[place]:.0%} are answered, {risk[place]:.1%} of these wrong."
    figure.update_layout(**style.layout("Coverage: questions answered", "Risk: wrong among the answered", height))
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", showgrid=False)
    figure.update_yaxes(range=[0, min(1.0, 1.08 * float(np.max(high))) or 1.0], tickformat=".0%")
    return style.described(figure, told)


def _band(x: NDArray[np.generic], low: Floats, high: Floats) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=style.clear(ACCENT, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name="95 % interval",
    )


def _line(x: NDArray[np.generic], y: Floats, words: list[str], name: str, dash: str = "solid") -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name=name,
        line={"color": ACCENT, "width": 2.4, "dash": dash},
        hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _point(x: float, y: float, colour: str, words: str, name: str) -> go.Scatter:
    return go.Scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[name],
        textposition="top center",
        cliponaxis=False,
        marker={"size": 10, "color": colour, "line": {"width": 2, "color": "rgba(255, 255, 255, 0.9)"}},
        hovertext=[words],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        name=name,
    )
