"""Figure of what other choices would give: risk against coverage."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from ragviz.report import style
from ragviz.report.style import CONTEXT, WORSE, Floats


def risk_coverage(
    thresholds: Floats, coverage: Floats, risk: Floats, low: Floats, high: Floats, *, chosen: float | None = None
) -> go.Figure:
    """Draw wrong among the answered against the share answered, with its 95 % band; arrays of one shape.

    The right end is the run as it is; `chosen` marks the point of this threshold.
    """
    words = [
        f"Answer from {value:.4g}: {answered:.0%} answered, {wrong:.1%} of these wrong"
        f"<br>95 % interval {least:.1%} to {most:.1%}"
        for value, answered, wrong, least, most in zip(thresholds, coverage, risk, low, high, strict=True)
    ]
    marks = [(-1, CONTEXT, f"The run as it is<br>{words[-1]}", "as it is")]
    told = f"As it is, {coverage[-1]:.0%} are answered and {risk[-1]:.1%} of these are wrong."
    if chosen is not None:
        place = int(np.argmin(np.abs(thresholds - chosen))) if np.isfinite(chosen) else 0
        marks.append((place, WORSE, words[place], "chosen"))
        told += f" Answering from {chosen:.4g}, {coverage[place]:.0%} are answered, {risk[place]:.1%} of these wrong."
    figure = go.Figure([style.band(coverage, low, high), style.line(coverage, risk, words, "Risk")])
    for place, colour, said, name in marks:
        figure.add_trace(style.mark(coverage[place], risk[place], said, colour, name))
        figure.data[-1].update(mode="markers+text", text=[name], textposition="top center", cliponaxis=False)
    figure.update_layout(**style.layout("Coverage: questions answered", "Risk: wrong among the answered", 320))
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", showgrid=False)
    figure.update_yaxes(range=[0, min(1.0, 1.08 * float(np.max(high))) or 1.0], tickformat=".0%")
    return style.described(figure, told)
