"""Figures of two runs question by question: a scatter of their values, and a flow between causes of loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.analysis import flows
from ragviz.analysis.flows import Effect, Flow, Stream
from ragviz.analysis.points import Points
from ragviz.report import style
from ragviz.report.style import BETTER, CLICKABLE, CONTEXT, GRID, WORSE
from ragviz.text.counts import counted

_SMALLEST, _LARGEST = 7, 34  # pixels across a bubble
_TEXT = 19  # pixels across a bubble that has room for its count
_SIDE, _TOP, _GAP = 168, 34, 17  # pixels beside a flow for its labels, above it, between two of its nodes
_BAR = 0.035  # width of a node of a flow, its whole width being 1
_EFFECTS: Mapping[Effect, tuple[str, float, str]] = {
    "rescued": (BETTER, 0.5, "triangle-up"),
    "broken": (WORSE, 0.5, "triangle-down"),
    "moved": (CONTEXT, 0.5, "circle"),
    "stayed": (CONTEXT, 0.16, "circle"),
}
"""Effect of a stream → colour, opacity and mark."""


def score_scatter(
    points: Points,
    names: tuple[str, str],
    *,
    title: str,
    limits: tuple[float, float] = (0.0, 1.0),
    direction: int = 1,
    selected: int | None = None,
) -> go.Figure:
    """Draw every question by its score under the baseline (across) and under the other run (up).

    Blue ▲: the other run is better, orange ▼: worse; `direction` is -1 where a lower score is better. The area of a
    mark grows with the questions at it; its `customdata` is the number of its point, `selected` such a number.
    """
    low, high = limits
    margin = 0.07 * (high - low)
    axis: dict[str, Any] = {"range": [low - margin, high + margin], "tickformat": ".2~f", "gridcolor": GRID}
    if limits == (0.0, 1.0):
        axis["tickvals"] = style.RATE["tickvals"]

    def words(point: int) -> str:
        sides = zip(points.low[point], points.high[point], strict=True)
        return " → ".join(f"{a:.3g}" if b - a < 1e-6 else f"{a:.2f} to {b:.2f}" for a, b in sides)

    figure = _scatter(points, points.places, direction, selected, words)
    titles = [f"{style.named(title)}, {style.named(name, 28)}" for name in names]
    return _on_axes(figure, titles, axis, (low, high), _scatter_words(points, names, title, direction))


def rank_scatter(points: Points, names: tuple[str, str], *, depth: int, selected: int | None = None) -> go.Figure:
    """Draw every question by the rank of its evidence under two runs; depth + 1 stands for "not in the ranking".

    Blue ▲ below the diagonal: the second run ranks the evidence better; orange ▼ above: worse. Marks, `customdata` and
    `selected` are those of `score_scatter`.
    """
    places = np.vectorize(lambda rank: _log_place(rank, depth), otypes=[float])(points.places).reshape(-1, 2)

    def words(point: int) -> str:
        ranks = points.places[point]
        across, up = (f"rank {rank:.0f}" if rank <= depth else f"not in top {depth}" for rank in ranks)
        return f"{across} under {style.named(names[0])}<br>{up} under {style.named(names[1])}"

    figure = _scatter(points, places, -1, selected, words)
    ticks = [*(rank for rank in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if rank <= depth), depth + 1]
    end = _log_place(depth + 1, depth)
    axis = {
        "tickvals": [_log_place(rank, depth) for rank in ticks],
        "ticktext": [str(rank) if rank <= depth else f"not in<br>top {depth}" for rank in ticks],
        "range": [-0.12, end + 0.12],
        "gridcolor": GRID,
    }
    titles = [f"Rank under {style.named(name)}" for name in names]
    return _on_axes(figure, titles, axis, (0, end), _scatter_words(points, names, "the rank of its evidence", -1))


def _on_axes(
    figure: go.Figure, titles: Sequence[str], axis: Mapping[str, Any], ends: tuple[float, float], alt: str
) -> go.Figure:
    figure.update_layout(**style.layout(titles[0], titles[1], 420))
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    line = {"dash": "dot", "width": 1, "color": CONTEXT}
    figure.add_shape(type="line", x0=ends[0], y0=ends[0], x1=ends[1], y1=ends[1], line=line, layer="below")
    return style.described(figure, alt)


def _scatter(
    points: Points, places: NDArray[np.float64], direction: int, selected: int | None, words: Callable[[int], str]
) -> go.Figure:
    """Draw the marks of a scatter at `places`; `words` says where a point is, after the count of its questions."""
    sizes = _sizes(points.counts)
    figure = go.Figure()
    for sign, colour, symbol in ((0, CONTEXT, "circle"), (-1, WORSE, "triangle-down"), (1, BETTER, "triangle-up")):
        chosen = np.flatnonzero(points.higher * direction == sign)
        if not len(chosen):
            continue
        opacity = [1.0 if selected in (None, int(place)) else 0.3 for place in chosen]
        figure.add_trace(
            go.Scatter(
                x=places[chosen, 0],
                y=places[chosen, 1],
                mode="markers+text",
                text=[f"{points.counts[p]:,}" if points.counts[p] > 1 and sizes[p] >= _TEXT else "" for p in chosen],
                textfont={"size": 11},
                customdata=[[int(place)] for place in chosen],
                hovertext=[f"{counted(int(points.counts[p]), 'question')}<br>{words(int(p))}" for p in chosen],
                hovertemplate=style.HOVER,
                marker={
                    "size": sizes[chosen],
                    "color": style.clear(colour, 0.4),
                    "line": {"width": 1.5, "color": colour},
                    "symbol": symbol,
                    "opacity": opacity,
                },
                **CLICKABLE,
            )
        )
    return figure


def _sizes(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the pixels across the marks: their area is in proportion to the count, but for the smallest.

    >>> _sizes(np.array([1, 4, 16])).round(1).tolist(), _sizes(np.array([1])).tolist()
    ([7.0, 12.0, 24.0], [12.0])
    """
    most = max(int(counts.max(initial=1)), 1)
    largest = min(_LARGEST, 8 + 4 * math.sqrt(most))
    return np.asarray(np.maximum(largest * np.sqrt(counts / most), _SMALLEST))


def _scatter_words(points: Points, names: tuple[str, str], title: str, direction: int) -> str:
    better, worse, level = (int(points.counts[points.higher * direction == sign].sum()) for sign in (1, -1, 0))
    return (
        f"{counted(int(points.counts.sum()), 'question')} by {title}: {names[1]} is better than "
        f"{names[0]} for {better}, worse for {worse}, the same for {level}."
    )


def _log_place(rank: float, depth: int) -> float:
    """Position on the axis: the logarithm of the rank; what is not in the ranking is set apart at the end."""
    return math.log10(rank) if rank <= depth else math.log10(max(depth, 2)) + 0.25


# The flow


def flow(of: Flow, titles: Mapping[str, str], names: tuple[str, str]) -> go.Figure:
    """Draw the causes of the baseline on the left, those of the other run on the right, and streams between them.

    The height of a stream is in proportion to its questions. Blue ▲: lost no longer; orange ▼: lost only now; grey:
    lost at another stage; pale: the same cause. The `customdata` of a mark is the number of its stream.
    """
    nodes = of.causes
    height = max(240, 150 + 62 * len(nodes))
    units = max(of.total, 1) / (height - _TOP - 12 - _GAP * max(len(nodes) - 1, 0))  # questions in a pixel
    figure = go.Figure()
    starts = [_starts(of, before=before, gap=_GAP * units) for before in (True, False)]
    for number, stream in sorted(enumerate(of.streams), key=lambda pair: pair[1].effect != "stayed"):
        ends = [_end(of, stream, starts[side], before=side == 0) for side in (0, 1)]
        _ribbon(figure, stream, ends, titles)
        if stream.effect != "stayed":
            _mark(figure, number, stream, ends[0], titles, roomy=stream.count / units >= 11)
    for side, (before, starts_of) in enumerate(zip((True, False), starts, strict=True)):
        for cause, top in starts_of.items():
            _node(figure, side, top, of.at(cause, before=before), titles[cause])
    figure.update_layout(**style.layout("", "", height))
    figure.update_layout(margin={"l": _SIDE, "r": _SIDE, "t": _TOP, "b": 12})
    figure.update_xaxes(visible=False, range=[0, 1], automargin=False)
    bottom = max(of.total, 1) + _GAP * units * max(len(nodes) - 1, 0)
    figure.update_yaxes(visible=False, range=[bottom, 0], automargin=False)
    for side, name in enumerate(names):
        anchor = ("right", "left")[side]
        figure.add_annotation(
            x=(_BAR, 1 - _BAR)[side], y=1, yref="paper", yanchor="bottom", yshift=8, xanchor=anchor, showarrow=False,
            text=f"<b>{style.named(name, 26)}</b>",
        )  # fmt: skip
    return style.described(figure, flows.words(of))


def _starts(of: Flow, *, before: bool, gap: float) -> dict[str, float]:
    starts, top = {}, 0.0
    for cause in of.causes:
        if count := of.at(cause, before=before):
            starts[cause] = top
            top += count + gap
    return starts


def _end(of: Flow, stream: Stream, starts: Mapping[str, float], *, before: bool) -> tuple[float, float]:
    order = {cause: place for place, cause in enumerate(of.causes)}
    own, other = (stream.source, stream.target) if before else (stream.target, stream.source)
    above = 0
    for each in of.streams:
        cause, opposite = (each.source, each.target) if before else (each.target, each.source)
        if cause == own and order[opposite] < order[other]:
            above += each.count
    return starts[own] + above, starts[own] + above + stream.count


def _ribbon(figure: go.Figure, stream: Stream, ends: list[tuple[float, float]], titles: Mapping[str, str]) -> None:
    colour, opacity, _ = _EFFECTS[stream.effect]
    t = np.linspace(0, 1, 24)
    x, bend = _BAR + t * (1 - 2 * _BAR), 3 * t**2 - 2 * t**3
    top, bottom = (ends[0][i] + (ends[1][i] - ends[0][i]) * bend for i in (0, 1))
    figure.add_trace(
        go.Scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([top, bottom[::-1]]),
            mode="lines",
            line={"width": 0.4 if stream.effect == "stayed" else 0.8, "color": style.clear(colour, 0.8)},
            fill="toself",
            fillcolor=style.clear(colour, opacity),
            hoveron="fills",
            hoverinfo="text",
            text=_stream_words(stream, titles),
        )
    )


def _mark(
    figure: go.Figure, number: int, stream: Stream, end: tuple[float, float], titles: Mapping[str, str], *, roomy: bool
) -> None:
    """Draw what can be clicked of a stream: a mark where it begins, with its count where there is room."""
    colour, _, symbol = _EFFECTS[stream.effect]
    words = _stream_words(stream, titles)
    figure.add_trace(
        go.Scatter(
            x=[_BAR + 0.035],
            y=[sum(end) / 2],
            mode="markers+text",
            text=[f"{stream.count:,}" if roomy else ""],
            textposition="middle right",
            textfont={"size": 11},
            marker={"size": 9 if roomy else 6, "symbol": symbol, "color": colour},
            customdata=[[number]],
            hovertext=[words],
            hovertemplate=style.HOVER,
            **CLICKABLE,
        )
    )


def _stream_words(stream: Stream, titles: Mapping[str, str]) -> str:
    questions = counted(stream.count, "question")
    if stream.effect == "stayed":
        return f"{questions}: {style.named(titles[stream.source])} in both"
    return f"{questions} from {style.named(titles[stream.source])}<br>to {style.named(titles[stream.target])}"


def _node(figure: go.Figure, side: int, top: float, count: int, title: str) -> None:
    x = (0.0, 1 - _BAR)[side]
    figure.add_shape(
        type="rect", x0=x, x1=x + _BAR, y0=top, y1=top + count, line={"width": 0}, fillcolor=CONTEXT, layer="above"
    )  # fmt: skip
    figure.add_annotation(
        x=(0, 1)[side], y=top + count / 2, xanchor=("right", "left")[side], xshift=(-8, 8)[side], showarrow=False,
        text=f"{style.named(title, 23)} <b>{count:,}</b>", font={"size": 12},
    )  # fmt: skip
