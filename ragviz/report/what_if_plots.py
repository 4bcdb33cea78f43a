"""Figures of what other choices would give: risk against coverage, recall by the size of the corpus."""

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


def growth(
    chunks: NDArray[np.int64],
    recall: Floats,
    low: Floats,
    high: Floats,
    most: Floats,
    present: int,
    *,
    k: int,
    height: int = 320,
) -> go.Figure:
    """Draw recall@k by the number of chunks in the corpus, a line up to the `present` number and dashes beyond.

    `most` is the recall if evidence deeper than the rankings were just below them.
    """
    figure = go.Figure(_band(chunks, low, np.maximum(high, most)))
    words = [
        f"{count:,} chunks: recall@{k} {value:.3f}{' (extrapolated)' if count > present else ''}"
        f"<br>95 % interval {least:.3f} to {greatest:.3f}"
        for count, value, least, greatest in zip(chunks.tolist(), recall, low, high, strict=True)
    ]
    for name, part, dash in (
        ("From the ranks", chunks <= present, "solid"),
        ("Extrapolated", chunks >= present, "dot"),
    ):
        places = np.flatnonzero(part)
        shown = [words[place] for place in places]
        figure.add_trace(_line(chunks[places], recall[places], shown, name, dash))
    at = int(np.argmin(np.abs(chunks - present)))
    figure.add_trace(_point(present, recall[at], CONTEXT, f"Now<br>{words[at]}", "now"))
    figure.update_layout(**style.layout("Chunks in the corpus (logarithmic)", f"Recall@{k}", height))
    figure.update_layout(style.legend_above())
    figure.update_xaxes(type="log", showgrid=False, tickvals=chunks[:: max(1, len(chunks) // 6)], tickformat=",d")
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    return style.described(
        figure,
        f"Recall@{k} is {recall[at]:.2f} with {present:,} chunks, {recall[0]:.2f} with {int(chunks[0]):,}, and "
        f"extrapolated {recall[-1]:.2f} with {int(chunks[-1]):,}.",
    )


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
