"""Figures of differences between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ragviz.report import style
from ragviz.report.style import BETTER, CONTEXT, GRID, WORSE


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
    looks = {
        "better": (BETTER, "triangle-up"),
        "worse": (WORSE, "triangle-down"),
        "equivalent": (CONTEXT, "square"),
        "equal": (CONTEXT, "square"),
        "undecided": (CONTEXT, "circle-open"),
    }
    figure = go.Figure()
    for row in rows:
        colour, symbol = looks[row.verdict]
        text = (
            f"{row.measure}: {row.mean:+.3f}, {row.verdict}<br>"
            f"95 % interval {row.low:+.3f} to {row.high:+.3f}, {row.n} questions"
        )
        figure.add_trace(_interval(row.measure, row.mean, row.low, row.high, colour, symbol, text))
    _axes(figure, [row.measure for row in rows], x_title)
    figure.add_vline(x=0, line={"width": 1.2, "color": CONTEXT})
    widest = max(margin or 0.0, max((max(abs(row.low), abs(row.high)) for row in rows), default=0.1))
    figure.update_xaxes(range=[-widest * 1.15 - 0.005, widest * 1.15 + 0.005], tickformat="+.2~f")
    said = "; ".join(f"{row.measure} {row.mean:+.2f} {row.verdict}" for row in rows)
    if margin is None:
        return style.described(figure, f"{said}.")
    figure.add_vrect(x0=-margin, x1=margin, fillcolor=style.clear(CONTEXT, 0.2), line_width=0, layer="below")
    return style.described(figure, f"{said}. Differences within ±{margin:g} are too small to matter.")


def _interval(
    label: str, mean: float, low: float | None, high: float | None, colour: str, symbol: str, text: str
) -> go.Scatter:
    low, high = (mean if low is None else low), (mean if high is None else high)
    error = {"type": "data", "symmetric": False, "array": [high - mean], "arrayminus": [mean - low]}
    return go.Scatter(
        x=[mean],
        y=[label],
        mode="markers",
        name=style.named(label),
        marker={"size": 11, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
        error_x={**error, "color": colour, "thickness": 2, "width": 5},
        hovertext=[text],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _axes(figure: go.Figure, labels: Sequence[str], x_title: str) -> None:
    figure.update_layout(**style.layout(x_title, "", 80 + max(36 * len(labels), 110)))
    figure.update_xaxes(showgrid=True, gridcolor=GRID, tickangle=0, nticks=5)
    short = style.all_named(labels, 28)
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=list(reversed(labels)),
        tickvals=list(labels),
        ticktext=short,
        showgrid=False,
        range=[-0.6, len(labels) - 0.4],
        automargin=True,
    )
