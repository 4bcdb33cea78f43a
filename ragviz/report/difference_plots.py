"""Figures of differences between runs."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ragviz.report import style
from ragviz.report.style import BETTER, CONTEXT, GRID, WORSE
from ragviz.stats.differences import Difference

LOOKS = {
    "better": (BETTER, "triangle-up"),
    "worse": (WORSE, "triangle-down"),
    "equivalent": (CONTEXT, "square"),
    "equal": (CONTEXT, "square"),
    "undecided": (CONTEXT, "circle-open"),
}
"""Verdict → colour and mark."""


def differences(rows: Sequence[tuple[str, Difference, str]], *, x_title: str, margin: float | None = None) -> go.Figure:
    """Draw differences on a common axis around 0: ▲ blue better, ▼ orange worse, grey ■ equivalent, ○ undecided.

    A row is what it is of, a difference, and the verdict of the comparison's rule; one without a difference is left
    out. A band to ± `margin` is where they are too small to matter.
    """
    figure = go.Figure()
    drawn = [(name, d.mean, d.low, d.high, d.n, verdict) for name, d, verdict in rows
             if d.mean is not None and d.low is not None and d.high is not None]  # fmt: skip
    for name, mean, low, high, n, verdict in drawn:
        colour, symbol = LOOKS[verdict]
        text = f"{style.named(name)}: {mean:+.3f}, {verdict}<br>95 % interval {low:+.3f} to {high:+.3f}, {n} questions"
        mark = style.mark(mean, name, text, colour, name, symbol=symbol)
        figure.add_trace(mark.update(error_x=style.interval(low, mean, high, colour)))
    labels = [name for name, *_ in drawn]
    figure.update_layout(**style.layout(x_title, "", 80 + max(36 * len(labels), 110)))
    ends = [abs(end) for _, _, low, high, *_ in drawn for end in (low, high)]
    widest = max([margin or 0.0, *(ends or [0.1])]) * 1.15 + 0.005
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
    said = "; ".join(f"{name} {mean:+.2f} {verdict}" for name, mean, *_, verdict in drawn)
    if margin is None:
        return style.described(figure, f"{said}.")
    figure.add_vrect(x0=-margin, x1=margin, fillcolor=style.clear(CONTEXT, 0.2), line_width=0, layer="below")
    return style.described(figure, f"{said}. Differences within ±{margin:g} are too small to matter.")
