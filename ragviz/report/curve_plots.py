"""Figures of a metric over k, and of the ranks by which the evidence of each question is found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.report import style
from ragviz.report.style import ACCENT, CLICKABLE, CONTEXT, DASHES, WORSE


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric for every k: `k`, `mean`, `low` and `high` have the same shape; `n` questions were averaged."""

    name: str
    k: NDArray[np.int_]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int


def curves(
    lines: Sequence[Curve],
    *,
    k: int | None = None,
    by_run: bool = False,
    labels: bool = True,
    y_title: str = "Mean over questions (0 to 1)",
    height: int = 320,
) -> go.Figure:
    """Draw metrics against k, each with its 95 % interval as a band; a click's x is a k.

    Metrics of one run share the accent colour and differ in dashes; with `by_run` every line has its run's colour. Up
    to three lines are labelled at their ends; more of them, or `labels` false, get a legend above. `k` is marked.
    """
    figure = go.Figure()
    for place, line in enumerate(lines):
        colour = style.run_colour(place) if by_run else ACCENT
        figure.add_trace(_band(line, colour))
        figure.add_trace(_line(line, colour, "solid" if by_run else DASHES[place % len(DASHES)]))
        if k is not None and len(line.k) and line.k[0] <= k <= line.k[-1]:
            figure.add_trace(_marker_at(line, k, colour))
    figure.update_layout(**style.layout("k (chunks kept)", y_title, height), hovermode="closest")
    last = int(max((line.k[-1] for line in lines if len(line.k)), default=1))
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=_k_ticks(last), tickformat="d", showgrid=False)
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    if len(lines) <= 3 and labels:
        _label_ends(figure, lines, by_run)
    else:
        figure.update_layout(style.legend_above())
    if k is not None:
        figure.add_vline(x=k, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    return style.described(figure, _curves_in_words(lines, k))


def _band(line: Curve, colour: str) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([line.k, line.k[::-1]]),
        y=np.concatenate([line.high, line.low[::-1]]),
        fill="toself",
        fillcolor=style.clear(colour, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{style.named(line.name)}, 95 % interval",
    )


def _line(line: Curve, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=line.k,
        y=line.mean,
        mode="lines+markers",  # a line without markers cannot be clicked: these are invisible
        name=style.named(line.name),
        line={"color": colour, "width": 2.4, "dash": dash},
        marker={"size": 9, "color": colour, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=line.k,
        hovertext=[_value_words(line, place) for place in range(len(line.k))],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _marker_at(line: Curve, k: int, colour: str) -> go.Scatter:
    place = int(np.searchsorted(line.k, k))
    return go.Scatter(
        x=[k],
        y=[line.mean[place]],
        mode="markers",
        marker={"size": 10, "color": colour, "line": {"width": 2, "color": "rgba(255, 255, 255, 0.9)"}},
        customdata=[k],
        hovertext=[_value_words(line, place)],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        name=f"{style.named(line.name)} at k = {k}",
    )


def _value_words(line: Curve, place: int) -> str:
    mean, low, high = (values[place] for values in (line.mean, line.low, line.high))
    value = f"{style.named(line.name)} at k = {line.k[place]}: {mean:.2f}"
    return f"{value}<br>95 % interval {low:.2f} to {high:.2f}, {line.n} questions"


def _k_ticks(last: int) -> list[int]:
    """Return the k that get a label: 1, and then round steps.

    >>> _k_ticks(50), _k_ticks(5)
    ([1, 10, 20, 30, 40, 50], [1, 2, 3, 4, 5])
    """
    step = style.whole_step(last)
    return [1, *(k for k in range(step, last + 1, step) if k > 1)]


def _label_ends(figure: go.Figure, lines: Sequence[Curve], by_run: bool) -> None:
    """Write each line's name at its right end, moved apart where lines end close together."""
    ends = sorted((float(line.mean[-1]), place) for place, line in enumerate(lines) if len(line.mean))
    below, names = -math.inf, style.all_named((line.name for line in lines), 18)
    for y, place in ends:
        below = max(y, below + 0.075)
        mark = f'<span style="color:{style.run_colour(place)}">■</span> ' if by_run else ""
        figure.add_annotation(
            x=1,
            xref="paper",
            y=below,
            text=mark + names[place],
            xanchor="left",
            xshift=6,
            showarrow=False,
        )
    longest = max((min(len(line.name), 18) for line in lines), default=0)
    figure.update_layout(margin={"r": 24 + 7 * longest})


def _curves_in_words(lines: Sequence[Curve], k: int | None) -> str:
    if not lines or k is None:
        return f"{', '.join(line.name for line in lines)} for every k."
    values = [
        f"{line.name} {line.mean[int(np.searchsorted(line.k, k))]:.2f}"
        for line in lines
        if len(line.k) and line.k[0] <= k <= line.k[-1]
    ]
    return f"At k = {k}: {', '.join(values)}."


UNEVEN = 50  # the tallest bar, in median bars, from which on a histogram is drawn on a logarithmic scale
CROWDED = 300  # questions in a bar from which on its label is turned
SINGLE_RANKS = 20  # ranks with their own bar; deeper ones share bars


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of a run's evidence: 1-based `ranks` of what was found, shape (found,), and the questions it was not."""

    name: str
    ranks: NDArray[np.int_]
    misses: int

    @property
    def total(self) -> int:
        """Questions with evidence."""
        return len(self.ranks) + self.misses


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


def rank_histogram(
    run: Ranks, *, depth: int, k: int | None = None, selected: tuple[int, int] | None = None, height: int = 320
) -> go.Figure:
    """Draw questions by the rank of their evidence, those not found in a hatched bar set apart.

    Bars up to `k` have the accent colour. A bar's `customdata` is its first and last rank, (0, 0) for misses;
    `selected` is such a pair, and fades the others.
    """
    bins, counts = _counted(run, depth)
    inside = [k is None or high <= k for _, high in bins]
    figure = go.Figure(
        [_rank_bars(run, bins, counts, depth, colours=[ACCENT if i else CONTEXT for i in inside], texts=True)]
    )
    if selected is not None:
        figure.data[0].marker.opacity = [1.0 if pair == selected else 0.3 for pair in [*bins, (0, 0)]]
    _rank_axes(figure, bins, int(max([*counts, run.misses], default=0)), height)
    if is_uneven([*counts, run.misses]):
        _on_a_log_scale(figure, max([*counts, run.misses]))
    if k is not None and k <= depth:
        within_k = int(np.sum(run.ranks <= k))
        _mark_cut(figure, bins, k, f"k = {k}: {within_k} of {run.total}")
    return style.described(figure, _ranks_in_words(run, depth, k))


def is_uneven(counts: Sequence[int]) -> bool:
    """Whether bars of these heights can be read on a logarithmic scale only: the tallest dwarfs half of the others.

    >>> is_uneven([30, 9, 4, 1, 0, 12]), is_uneven([3100, 420, 60, 11, 9, 4, 0]), is_uneven([900, 800, 700])
    (False, True, False)
    """
    drawn = sorted(count for count in counts if count)
    return bool(drawn) and drawn[-1] >= UNEVEN * drawn[len(drawn) // 2]


def _on_a_log_scale(figure: go.Figure, highest: int) -> None:
    """Draw counts to `highest` on a logarithmic axis that begins below 1, so that one question is seen."""
    figure.update_yaxes(
        type="log",
        range=[math.log10(0.6), math.log10(highest * 4)],
        tickvals=[10**power for power in range(len(str(highest)) + 1)],
        tickformat=",d",
        dtick=None,
        title={"text": "Questions (log scale)"},
    )


def rank_histograms(runs: Sequence[Ranks], *, depth: int, k: int | None = None, height: int = 320) -> go.Figure:
    """Draw the rank histograms of several runs side by side, each in its colour; misses hatched, set apart."""
    figure = go.Figure()
    highest = 0
    bins = rank_bins(depth)
    for place, run in enumerate(runs):
        _, counts = _counted(run, depth)
        colours = [style.run_colour(place)] * len(bins)
        figure.add_trace(
            _rank_bars(run, bins, counts, depth, colours=colours, miss=style.run_colour(place), several=True)
        )
        highest = max(highest, run.misses, *counts)
    _rank_axes(figure, bins, highest, height)
    figure.update_layout(style.legend_above(), barmode="group", bargroupgap=0.0)
    if k is not None and k <= depth:
        _mark_cut(figure, bins, k, f"k = {k}")
    return style.described(figure, " ".join(f"{run.name}: {_ranks_in_words(run, depth, k)}" for run in runs))


def _counted(run: Ranks, depth: int) -> tuple[list[tuple[int, int]], list[int]]:
    bins = rank_bins(depth)
    return bins, [int(np.sum((run.ranks >= low) & (run.ranks <= high))) for low, high in bins]


def _rank_bars(
    run: Ranks,
    bins: Sequence[tuple[int, int]],
    counts: Sequence[int],
    depth: int,
    *,
    colours: list[str],
    miss: str = WORSE,
    texts: bool = False,
    several: bool = False,
) -> go.Bar:
    values = [*counts, run.misses]
    lead = f"{style.named(run.name)}: " if several else ""
    hover = [
        f"{lead}{n} of {run.total} questions found at {_rank_words(*pair)}"
        for n, pair in zip(counts, bins, strict=True)
    ]
    hover.append(f"{lead}{run.misses} of {run.total} questions not in top {depth}: a passage has no chunk there")
    patterns = [""] * len(bins) + ["/"]
    return go.Bar(
        name=style.named(run.name),
        x=[*_places(bins), _miss_place(bins)],
        y=values,
        width=None if several else [*(1.65 if high > low else 0.82 for low, high in bins), 1.5],
        customdata=[*bins, (0, 0)],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        **CLICKABLE,
        text=[f"{v:,}" if v else "" for v in values] if texts else None,
        textposition="outside",
        textangle=-90 if max(values, default=0) >= CROWDED else 0,  # four digits are wider than a bar
        constraintext="none",
        cliponaxis=False,
        marker={
            "color": [*colours, miss],
            "line": {"width": [0] * len(bins) + [1.5], "color": [*colours, miss]},
            "pattern": {"shape": patterns, "fillmode": "replace", "size": 6, "solidity": 0.35},
        },
    )


def _places(bins: Sequence[tuple[int, int]]) -> list[float]:
    """Return the middle of every bar on the axis: a bar of several ranks is twice as wide."""
    widths = [2.0 if high > low else 1.0 for low, high in bins]
    return [sum(widths[:i]) + (width - 1) / 2 for i, width in enumerate(widths)]


def _miss_place(bins: Sequence[tuple[int, int]]) -> float:
    """Return the middle of the bar of misses: apart from the last rank, farther when there are many."""
    last = _places(bins)[-1]
    return last + 2.6 + last * 0.02


def _rank_axes(figure: go.Figure, bins: Sequence[tuple[int, int]], highest: int, height: int) -> None:
    wide = [i for i, (low, high) in enumerate(bins) if high > low]
    named = sorted({0, 1, 2, 4, 9, 14, 19 if not wide else 0} & set(range(len(bins))))
    labels = [str(bins[i][0]) for i in named]
    places, miss = [_places(bins)[i] for i in named], _miss_place(bins)
    places += [_places(bins)[i] for i in wide]
    labels += [f"{bins[i][0]}–<br>{bins[i][1]}" for i in wide]
    figure.update_layout(**style.layout("Rank of the evidence (its last passage)", "Questions", height), bargap=0.18)
    figure.update_xaxes(
        tickvals=[*places, miss], ticktext=[*labels, f"not in<br>top {bins[-1][1]}"], tickangle=0, showgrid=False
    )
    figure.update_xaxes(range=[-0.7, miss + 1.2])
    figure.update_yaxes(range=[0, max(highest * 1.18, 1)], dtick=style.whole_step(highest), tickformat="d")


def _mark_cut(figure: go.Figure, bins: Sequence[tuple[int, int]], k: int, label: str) -> None:
    """Draw a dashed line after the bar that holds rank `k`, with a label."""
    cut = next(i for i, (_, high) in enumerate(bins) if high >= k)
    at = _places(bins)[cut] + (1.0 if bins[cut][1] > bins[cut][0] else 0.5)
    figure.add_vline(x=at, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="top", xanchor="left", xshift=4, text=label, showarrow=False)


def _rank_words(low: int, high: int) -> str:
    return f"rank {low}" if low == high else f"ranks {low} to {high}"


def _ranks_in_words(run: Ranks, depth: int, k: int | None) -> str:
    within = "" if k is None else f"{int(np.sum(run.ranks <= k))} of them at rank {k} or better, "
    return (
        f"{len(run.ranks)} of {run.total} questions have their evidence among the first {depth}, "
        f"{within}{run.misses} are not in top {depth}."
    )
