"""Figures of differences between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ragviz.report import style
from ragviz.report.style import BETTER, CONTEXT, GRID, WORSE

LOOKS = {
    "better": (BETTER, "triangle-up"),
    "worse": (WORSE, "triangle-down"),
    "equivalent": (CONTEXT, "square"),
    "equal": (CONTEXT, "square"),
    "undecided": (CONTEXT, "circle-open"),
}
"""Verdict → colour and mark."""


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of a metric, or a run, from the baseline with its 95 % interval, over the `n` questions of both.

    `verdict` is that of the comparison's rule: better, worse, equivalent, undecided or equal.
    """

    measure: str
    mean: float
    low: float
    high: float
    n: int
    verdict: str


def differences(rows: Sequence[Change], *, x_title: str, margin: float | None = None) -> go.Figure:
    """Draw differences on a common axis around 0: ▲ blue better, ▼ orange worse, grey ■ equivalent, ○ undecided.

    A band to ± `margin` is where they are too small to matter.
    """
    figure = go.Figure()
    for row in rows:
        colour, symbol = LOOKS[row.verdict]
        text = (
            f"{style.named(row.measure)}: {row.mean:+.3f}, {row.verdict}<br>"
            f"95 % interval {row.low:+.3f} to {row.high:+.3f}, {row.n} questions"
        )
        drawn = style.mark(row.mean, row.measure, text, colour, row.measure, symbol=symbol)
        figure.add_trace(drawn.update(error_x=style.interval(row.low, row.mean, row.high, colour)))
    labels = [row.measure for row in rows]
    figure.update_layout(**style.layout(x_title, "", 80 + max(36 * len(labels), 110)))
    widest = max(margin or 0.0, max((max(abs(row.low), abs(row.high)) for row in rows), default=0.1)) * 1.15 + 0.005
    figure.update_xaxes(range=[-widest, widest], tickformat="+.2~f", gridcolor=GRID, tickangle=0, nticks=5)
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=labels[::-1],
        tickvals=labels,
        ticktext=style.all_named(labels, 28),
        showgrid=False,
        range=[-0.6, len(labels) - 0.4],
    )
    figure.add_vline(x=0, line={"width": 1.2, "color": CONTEXT})
    said = "; ".join(f"{row.measure} {row.mean:+.2f} {row.verdict}" for row in rows)
    if margin is None:
        return style.described(figure, f"{said}.")
    figure.add_vrect(x0=-margin, x1=margin, fillcolor=style.clear(CONTEXT, 0.2), line_width=0, layer="below")
    return style.described(figure, f"{said}. Differences within ±{margin:g} are too small to matter.")
