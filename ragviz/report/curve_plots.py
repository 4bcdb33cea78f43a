"""Figures of a metric over k, and of the ranks by which the evidence of each question is found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.report import style
from ragviz.report.style import ACCENT, CLICKABLE, CONTEXT, CUT, DASHES, WORSE, Floats


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric for every k from 1: `mean`, `low` and `high` have the same shape; `n` questions were averaged."""

    name: str
    mean: Floats
    low: Floats
    high: Floats
    n: int

    @property
    def k(self) -> NDArray[np.int_]:
        """Every k, of the shape of `mean`."""
        return np.arange(1, len(self.mean) + 1)


def curves(
    lines: Sequence[Curve],
    *,
    k: int,
    by_run: bool = False,
    y_title: str = "Mean over questions (0 to 1)",
) -> go.Figure:
    """Draw metrics against k, each with its 95 % interval as a band; a click's x is a k.

    Metrics of one run share the accent colour and differ in dashes; they are labelled at their
    ends. With `by_run` every line has its run's colour, which a legend explains. `k` is marked.
    """
    figure, said = go.Figure(), []
    for place, line in enumerate(lines):
        colour = style.run_colour(place) if by_run else ACCENT
        drawn = line_of(line, colour, "solid" if by_run else DASHES[place % len(DASHES)])
        hidden = {"marker": {"opacity": 0}}
        drawn.update(mode="lines+markers", marker={"size": 9, "color": colour, "opacity": 0}, customdata=line.k)
        figure.add_trace(style.band(line.k, line.low, line.high, colour, line.name))
        figure.add_trace(drawn.update(selected=hidden, unselected=hidden))  # without markers it cannot be clicked
        said.append(f"{line.name} {line.mean[k - 1]:.2f}")
        look = {"size": 10, "line": {"width": 2, "color": "rgba(255, 255, 255, 0.9)"}}
        mark = style.mark(k, line.mean[k - 1], drawn.hovertext[k - 1], colour, line.name, **look)
        figure.add_trace(mark.update(customdata=[k], showlegend=False))
    figure.update_layout(**style.layout("k (chunks kept)", y_title, 320), hovermode="closest")
    last = max(int(line.k[-1]) for line in lines)
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=_k_ticks(last), tickformat="d", showgrid=False)
    figure.update_yaxes(style.RATE)
    if by_run:
        figure.update_layout(style.legend_above())
    else:
        _label_ends(figure, lines)
    figure.add_vline(x=k, line=CUT)
    return style.described(figure, f"At k = {k}: {', '.join(said)}.")


def line_of(line: Curve, colour: str, dash: str) -> go.Scatter:
    """Return the line of a metric, which says its value at each k."""
    words = [
        style.mean_words(f"{style.named(line.name)} at k = {k}", low, mean, high, line.n)
        for k, low, mean, high in zip(line.k, line.low, line.mean, line.high, strict=True)
    ]
    return style.line(line.k, line.mean, words, line.name, colour, dash=dash)


def _k_ticks(last: int) -> list[int]:
    """Return the k that get a label: 1, and then round steps.

    >>> _k_ticks(50), _k_ticks(5)
    ([1, 10, 20, 30, 40, 50], [1, 2, 3, 4, 5])
    """
    step = style.whole_step(last)
    return [1, *(k for k in range(step, last + 1, step) if k > 1)]


def _label_ends(figure: go.Figure, lines: Sequence[Curve]) -> None:
    below = -math.inf
    for y, name in sorted((float(line.mean[-1]), line.name) for line in lines):
        below = max(y, below + 0.075)
        figure.add_annotation(x=1, xref="paper", y=below, text=name, xanchor="left", xshift=6, showarrow=False)
    figure.update_layout(margin={"r": 24 + 7 * max(len(line.name) for line in lines)})


# The ranks of the evidence

CROWDED = 300  # questions in a bar from which on its label is turned
SINGLE_RANKS = 20  # ranks with their own bar; deeper ones share bars
Bins = Sequence[tuple[int, int]]
"""First and last rank of every bar."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The 1-based ranks of a run's evidence, one a question, 0 where it was not found."""

    name: str
    ranks: NDArray[np.int_]

    @property
    def total(self) -> int:
        """Questions with evidence."""
        return len(self.ranks)

    @property
    def misses(self) -> int:
        """Those whose evidence was not found."""
        return self.total - self.within(int(self.ranks.max(initial=0)))

    def within(self, k: int) -> int:
        """Return how many questions find their evidence at rank `k` or better."""
        return int(np.sum((self.ranks > 0) & (self.ranks <= k)))

    def counted(self, bins: Bins) -> list[int]:
        """Return how many questions each bar stands for."""
        return [int(np.sum((self.ranks >= low) & (self.ranks <= high))) for low, high in bins]

    def words(self, depth: int, k: int) -> str:
        """Say how many questions find their evidence."""
        return (
            f"{self.total - self.misses} of {self.total} questions have their evidence among the first {depth}, "
            f"{self.within(k)} of them at rank {k} or better, {self.misses} are not in top {depth}."
        )


def rank_bins(depth: int) -> list[tuple[int, int]]:
    """Return first and last rank of every bar: single ranks to 20, then at most four wider bars to `depth`.

    >>> rank_bins(3)
    [(1, 1), (2, 2), (3, 3)]
    >>> rank_bins(50)[-3:]
    [(21, 30), (31, 40), (41, 50)]
    """
    bins = [(rank, rank) for rank in range(1, min(depth, SINGLE_RANKS) + 1)]
    width = max(10, math.ceil((depth - SINGLE_RANKS) / 40) * 10)
    bins += [(low, min(low + width - 1, depth)) for low in range(SINGLE_RANKS + 1, depth + 1, width)]
    return bins


def rank_histogram(run: Ranks, *, depth: int, k: int, selected: tuple[int, int] | None = None) -> go.Figure:
    """Draw questions by the rank of their evidence, those not found in a hatched bar set apart.

    Bars up to `k` have the accent colour. A bar's `customdata` is its first and last rank, (0, 0) for misses;
    `selected` is such a pair, and fades the others.
    """
    bins = rank_bins(depth)
    bar = rank_bars(run, bins)
    colours = [*(ACCENT if high <= k else CONTEXT for _, high in bins), WORSE]
    highest = max(bar.y)
    bar.update(
        marker={"color": colours, "line": {"color": colours}},
        width=[*(1.65 if high > low else 0.82 for low, high in bins), 1.5],
        text=[f"{count:,}" if count else "" for count in bar.y],
        textposition="outside",
        textangle=-90 if highest >= CROWDED else 0,  # four digits are wider than a bar
        constraintext="none",
        cliponaxis=False,
    )
    if selected is not None:
        bar.marker.opacity = [1.0 if pair == selected else 0.3 for pair in [*bins, (0, 0)]]
    figure = go.Figure(bar)
    _rank_axes(figure, bins, highest)
    _mark_cut(figure, bins, k, f"k = {k}: {run.within(k)} of {run.total}")
    return style.described(figure, run.words(depth, k))


def rank_histograms(runs: Sequence[Ranks], *, depth: int, k: int) -> go.Figure:
    """Draw the rank histograms of several runs side by side, each in its colour; misses hatched, set apart."""
    bins = rank_bins(depth)
    figure = go.Figure([rank_bars(run, bins, style.run_colour(at), several=True) for at, run in enumerate(runs)])
    _rank_axes(figure, bins, max(max(bar.y) for bar in figure.data))
    figure.update_layout(style.legend_above(), barmode="group", bargroupgap=0.0)
    _mark_cut(figure, bins, k, f"k = {k}")
    return style.described(figure, " ".join(f"{run.name}: {run.words(depth, k)}" for run in runs))


def rank_bars(run: Ranks, bins: Bins, colour: str = ACCENT, *, several: bool = False) -> go.Bar:
    """Return the bars of a run, the last that of its misses; where there are `several` runs, hovering names it."""
    lead, depth = f"{style.named(run.name)}: " if several else "", bins[-1][1]
    values = [*run.counted(bins), run.misses]
    hover = [
        f"{lead}{count} of {run.total} questions found at {f'rank {low}' if low == high else f'ranks {low} to {high}'}"
        for count, (low, high) in zip(values, bins, strict=False)
    ]
    hover.append(f"{lead}{run.misses} of {run.total} questions not in top {depth}: a passage has no chunk there")
    return go.Bar(
        name=style.named(run.name),
        x=[*_places(bins), _miss_place(bins)],
        y=values,
        customdata=[*bins, (0, 0)],
        hovertext=hover,
        hovertemplate=style.HOVER,
        marker=style.hatched([colour] * len(values), [False] * len(bins) + [True]),
        **CLICKABLE,
    )


def _places(bins: Bins) -> list[float]:
    """Return the middle of every bar on the axis: a bar of several ranks is twice as wide."""
    widths = [2.0 if high > low else 1.0 for low, high in bins]
    return [sum(widths[:i]) + (width - 1) / 2 for i, width in enumerate(widths)]


def _miss_place(bins: Bins) -> float:
    """Return the middle of the bar of misses: apart from the last rank, farther when there are many."""
    last = _places(bins)[-1]
    return last + 2.6 + last * 0.02


def _rank_axes(figure: go.Figure, bins: Bins, highest: int) -> None:
    wide = [i for i, (low, high) in enumerate(bins) if high > low]
    single = sorted({0, 1, 2, 4, 9, 14, 19 if not wide else 0} & set(range(len(bins))))
    labels = [*(str(bins[i][0]) for i in single), *(f"{bins[i][0]}–<br>{bins[i][1]}" for i in wide)]
    places, miss = [_places(bins)[i] for i in (*single, *wide)], _miss_place(bins)
    figure.update_layout(**style.layout("Rank of the evidence (its last passage)", "Questions", 320), bargap=0.18)
    figure.update_xaxes(
        tickvals=[*places, miss],
        ticktext=[*labels, f"not in<br>top {bins[-1][1]}"],
        tickangle=0,
        showgrid=False,
        range=[-0.7, miss + 1.2],
    )
    figure.update_yaxes(style.count_axis(highest))


def _mark_cut(figure: go.Figure, bins: Bins, k: int, label: str) -> None:
    cut = next(i for i, (_, high) in enumerate(bins) if high >= k)
    at = _places(bins)[cut] + (1.0 if bins[cut][1] > bins[cut][0] else 0.5)
    figure.add_vline(x=at, line=CUT)
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="top", xanchor="left", xshift=4, text=label, showarrow=False)
