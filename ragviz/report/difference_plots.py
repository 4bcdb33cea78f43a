"""Figures of differences between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

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
    short = [style.named(label, 28) for label in labels]
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


def rank_scatter(ranks: NDArray[np.int_], names: tuple[str, str], *, depth: int, height: int = 380) -> go.Figure:
    """Draw every question's rank under two runs: `ranks` has shape (n, 2), 0 where the evidence is not in the ranking.

    Blue ▲ below the diagonal: the second run ranks the evidence better; orange ▼ above: worse. A bubble grows with the
    number of questions at a point; its `customdata` is the pair of ranks.
    """
    first, second = (np.where(ranks[:, side] > 0, ranks[:, side], depth + 1) for side in (0, 1))
    looks = (
        ("better", second < first, BETTER, "triangle-up"),
        ("worse", second > first, WORSE, "triangle-down"),
        ("level", second == first, CONTEXT, "circle"),
    )
    figure = go.Figure([_bubbles(ranks[chosen], names, depth, colour, symbol) for _, chosen, colour, symbol in looks])
    titles = [f"Rank under {style.named(name)}" for name in names]
    figure.update_layout(**style.layout(titles[0], titles[1], height))
    axis = _rank_axis(depth)
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    end = _log_place(0, depth)
    figure.add_shape(type="line", x0=0, y0=0, x1=end, y1=end, line={"dash": "dot", "width": 1, "color": CONTEXT})
    counted = {verdict: int(chosen.sum()) for verdict, chosen, _, _ in looks}
    return style.described(
        figure,
        f"{names[1]} ranks the evidence better than {names[0]} for {counted['better']} questions, "
        f"worse for {counted['worse']}, the same for {counted['level']}.",
    )


def _bubbles(ranks: NDArray[np.int_], names: tuple[str, str], depth: int, colour: str, symbol: str) -> go.Scatter:
    places, counts = np.unique(ranks.reshape(-1, 2), axis=0, return_counts=True)
    first, second = map(style.named, names)
    hover = [
        f"{style.counted_words(n, 'question')}<br>{_place(x, depth)} under {first}<br>{_place(y, depth)} under {second}"
        for (x, y), n in zip(places, counts, strict=True)
    ]
    return go.Scatter(
        x=[_log_place(x, depth) for x, _ in places],
        y=[_log_place(y, depth) for _, y in places],
        mode="markers",
        customdata=places,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "size": 7 + 4 * np.sqrt(counts),
            "color": style.clear(colour, 0.75),
            "line": {"width": 1, "color": colour},
            "symbol": symbol,
            "opacity": 1,  # plotly's own for several sizes is 0.7, of the outline too
        },
    )


def _rank_axis(depth: int) -> dict[str, Any]:
    ticks = [*(rank for rank in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if rank <= depth), 0]
    return {
        "tickvals": [_log_place(rank, depth) for rank in ticks],
        "ticktext": [str(rank) if rank else f"not in<br>top {depth}" for rank in ticks],
        "range": [-0.12, _log_place(0, depth) + 0.12],
        "gridcolor": GRID,
    }


def _log_place(rank: int, depth: int) -> float:
    """Position on the axis: the logarithm of the rank; what is not in the ranking is set apart at the end."""
    return math.log10(rank) if rank else math.log10(max(depth, 2)) + 0.25


def _place(rank: int, depth: int) -> str:
    return f"rank {rank}" if rank else f"not in top {depth}"
