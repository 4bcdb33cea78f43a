"""Figures of counts, scores and lengths: arrays in, plotly figures out; no page, no store, no model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.report import style
from ragviz.report.style import ACCENT, CLICKABLE, CONTEXT, WORSE
from ragviz.text.counts import counted

BARS = 24
"""Bars of a histogram of lengths, at most."""


def chunk_lengths(lengths: NDArray[np.int_], limit: int | None, *, height: int = 220) -> go.Figure:
    """Draw chunks by their tokens; those past `limit`, which the embedder would truncate, are hatched."""
    edges = length_edges(lengths, limit)
    counts, _ = np.histogram(lengths, bins=edges)
    past = [limit is not None and int(low) > limit for low in edges[:-1]]
    hover = [
        f"{counted(n, 'chunk')} of {low} to {high - 1} tokens{', longer than the embedder reads' * p}"
        for n, low, high, p in zip(counts, edges[:-1], edges[1:], past, strict=True)
    ]
    colours = [WORSE if each else ACCENT for each in past]
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:] - 1) / 2,
            y=counts,
            width=np.diff(edges),
            customdata=np.stack([edges[:-1], edges[1:] - 1], axis=1),
            hovertext=hover,
            hovertemplate=style.HOVER,
            marker=style.hatched(colours, past),
        )
    )
    figure.update_layout(**style.layout("Tokens in a chunk", "Chunks", height), bargap=0)
    figure.update_yaxes(style.count_axis(int(counts.max(initial=0))))
    figure.update_xaxes(tickformat="d", showgrid=False, range=[0, max(int(edges[-1]), (limit or 0) * 1.08)])
    if limit is not None:
        figure.add_vline(x=limit + 0.5, line=style.CUT | {"color": WORSE})
        at = {"x": limit, "xanchor": "right", "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
        figure.add_annotation(text=f"embedder reads {limit}", **at)
    over = 0 if limit is None else int(np.sum(lengths > limit))
    return style.described(figure, f"{len(lengths)} chunks by their tokens; {over} are longer than the embedder reads.")


def length_edges(lengths: NDArray[np.int_], limit: int | None) -> NDArray[np.int_]:
    """Return integer edges of the bars, one of them right after `limit`, so that no bar is on both sides of it.

    >>> length_edges(np.array([3, 48]), 4)[[0, 1, 2, -1]].tolist()
    [1, 3, 5, 49]
    """
    longest = int(lengths.max(initial=1))
    step = max(1, math.ceil(longest / BARS))
    start = 1 if limit is None else (limit + 1) % step
    start = start - step if start > 1 else start
    return np.arange(start, longest + step + 1, step)


def waterfall(steps: Sequence[tuple[str, int, int]], *, correct: bool = True, selected: int | None = None) -> go.Figure:
    """Draw where questions were lost: (title, count, left) for every step, first all questions, last those left.

    These are `correct`, or else nothing tells of any whether it is.
    A bar's `customdata` is the index of its step; `selected` is such an index, and fades the others.
    """
    last, total = len(steps) - 1, steps[0][1] if steps else 0
    questions = counted(total, "question")
    lost = [0 < place < last for place in range(len(steps))]
    colours = [WORSE] * len(steps)
    opacity = [1.0 if selected in (None, place) else 0.3 for place in range(len(steps))]
    if steps:
        colours[0], colours[last] = CONTEXT, ACCENT if correct else CONTEXT
    figure = go.Figure(
        go.Bar(
            **CLICKABLE,
            orientation="h",
            base=[left if each else 0 for each, (_, _, left) in zip(lost, steps, strict=True)],
            x=[count for _, count, _ in steps],
            y=[title for title, _, _ in steps],
            customdata=[[place] for place in range(len(steps))],
            text=[f"{count:,}" for _, count, _ in steps],
            textposition="outside",
            cliponaxis=False,
            constraintext="none",
            hovertext=[
                f"{title}: {count} of {questions}, {left} left" if place else f"{questions} in all"
                for place, (title, count, left) in enumerate(steps)
            ],
            hovertemplate=style.HOVER,
            marker=style.hatched(colours, lost, opacity=opacity),
        )
    )
    figure.update_layout(**style.layout("Questions", "", 74 + 27 * len(steps)), bargap=0.3)
    figure.update_layout(margin={"t": 4})
    figure.update_xaxes(style.count_axis(total) | {"range": [0, max(total * 1.1, 1)]})
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False, ticksuffix="  ")
    parts = [f"{count} {title.lower()}" for title, count, _ in steps[1:-1] if count]
    parts += [f"{left} {title.lower()}" for title, _, left in steps[-1:]]
    return style.described(figure, f"Of {questions}: {', '.join(parts)}.")


def score_histogram(values: NDArray[np.float64], *, title: str) -> go.Figure:
    """Draw questions by their score from 0 to 1, in tenths; the last bar includes 1."""
    counts, edges = np.histogram(values, bins=np.arange(11) / 10)
    words = [
        f"{counted(int(n), 'question')} of {len(values)} from {low:.1f} to {high:.1f}"
        for n, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=0.092,
            hovertext=words,
            hovertemplate=style.HOVER,
            text=[str(n) if n else "" for n in counts],
            textposition="outside",
            cliponaxis=False,
            marker={"color": ACCENT},
        )
    )
    figure.update_layout(**style.layout(f"{style.named(title)} (0 to 1)", "Questions", 300))
    figure.update_xaxes(style.RATE | {"range": [-0.02, 1.02]}, showgrid=False)
    figure.update_yaxes(style.count_axis(int(counts.max(initial=0))))
    mean = f", mean {values.mean():.2f}" if len(values) else ""
    return style.described(figure, f"{title} of {counted(len(values), 'question')}{mean}.")


QUARTERS = (
    ("complete<br>and concise", 0.75, 0.78),
    ("complete,<br>not concise", 0.75, 0.24),
    ("concise,<br>not complete", 0.25, 0.78),
    ("neither", 0.25, 0.24),
)
"""The four kinds of answers by completeness and conciseness, each above or below one half: words and their place."""


def quarters(complete: NDArray[np.float64], concise: NDArray[np.float64], names: Sequence[str]) -> go.Figure:
    """Draw every question by its answer's completeness and conciseness, shape (n,) each; `customdata` is its index."""
    x, y = _spread(complete, concise)
    hover = [
        f"{style.named(name, 70)}<br>completeness {a:.2f}, conciseness {b:.2f}"
        for name, a, b in zip(names, complete, concise, strict=True)
    ]
    figure = go.Figure(
        go.Scatter(
            x=x,
            y=y,
            mode="markers",
            customdata=[[place] for place in range(len(names))],
            hovertext=hover,
            hovertemplate=style.HOVER,
            marker={"size": 8, "color": style.clear(ACCENT, 0.6), "line": {"width": 1, "color": ACCENT}},
        )
    )
    figure.update_layout(**style.layout("Completeness (0 to 1)", "Conciseness (0 to 1)", 340))
    for axes, line in ((figure.update_xaxes, figure.add_vline), (figure.update_yaxes, figure.add_hline)):
        axes(style.RATE | {"range": [-0.13, 1.13]})
        line(0.5, line=style.CUT)
    whole, short = complete >= 0.5, concise >= 0.5
    counts = [int(each.sum()) for each in (whole & short, whole & ~short, ~whole & short, ~whole & ~short)]
    for count, (words, across, up) in zip(counts, QUARTERS, strict=True):
        text = f"<b>{count}</b> {words}"
        figure.add_annotation(x=across, y=up, text=text, showarrow=False, font={"size": 12}, opacity=0.85)
    said = [f"{count} {words.replace('<br>', ' ')}" for count, (words, _, _) in zip(counts, QUARTERS, strict=True)]
    return style.described(figure, f"{counted(len(names), 'answer')}: {'; '.join(said)}.")


def _spread(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Spread points with the same coordinates on a sunflower spiral, the first of them at the point itself."""
    turns: dict[tuple[float, float], int] = {}
    spread = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        turn = turns[point] = turns.get(point, -1) + 1
        reach, angle = min(0.012 * math.sqrt(turn), 0.11), turn * 2.399963
        spread.append((point[0] + reach * math.cos(angle), point[1] + reach * math.sin(angle)))
    return [a for a, _ in spread], [b for _, b in spread]
