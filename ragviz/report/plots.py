"""Figures of results: arrays and estimates in, plotly figures out; no page, no store, no model.

Colour means one thing. A single run is drawn in `ACCENT`, its context in `CONTEXT`; several runs keep `RUN_COLOURS` in
their order in every picture; better and worse are blue and orange with ▲ and ▼. Misses are hatched. Backgrounds are
clear and text takes the page's colour, so that a figure reads on light and on dark. `figure.layout.meta["alt"]` is
the figure in words.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ragviz.records import Estimate

RUN_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C8C8C")
"""Okabe and Ito's set without black and yellow, as in `.streamlit/config.toml`; runs take them in order."""

ACCENT, CONTEXT = RUN_COLOURS[0], RUN_COLOURS[-1]
BETTER, WORSE = RUN_COLOURS[0], RUN_COLOURS[4]
CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]], "scrollZoom": False, "doubleClick": False}
"""Plotly's own options for every figure: a download button and nothing else."""

SINGLE_RANKS = 20  # ranks with a bar of their own; deeper ones share bars
_DASHES = ("solid", "dash", "dot", "dashdot")
# Said, for bars that have an opacity each: plotly fails at a click on one where nothing tells how it is to look.
_CLICKABLE = {"selected": {"marker": {"opacity": 1.0}}, "unselected": {"marker": {"opacity": 0.3}}}
_GRID = "rgba(128, 136, 148, 0.22)"


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure for every k: `k`, `mean`, `low` and `high` have one shape (n,); `n` questions were averaged."""

    name: str
    k: NDArray[np.int_]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: int


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a run found its targets: 1-based `ranks` of those found, shape (found,), and how many were missed."""

    name: str
    ranks: NDArray[np.int_]
    misses: int

    @property
    def total(self) -> int:
        """Questions that have a target."""
        return len(self.ranks) + self.misses


def run_colour(place: int) -> str:
    """Colour of the run at this place of a comparison, counted from 0."""
    return RUN_COLOURS[place % len(RUN_COLOURS)]


# Ranks


def rank_bins(depth: int) -> list[tuple[int, int]]:
    """First and last rank of every bar: single ranks to 20, then at most four wider bars to `depth`.

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
    """Questions by the rank of their target, the missed ones in a hatched bar set apart.

    Bars up to `k` carry the accent. A bar's `customdata` is its first and last rank, (0, 0) for misses; `selected` is
    such a pair, and fades the others.
    """
    bins, counts = _counted(run, depth)
    inside = [k is None or high <= k for _, high in bins]
    figure = go.Figure(
        [_rank_bars(run, bins, counts, depth, colours=[ACCENT if i else CONTEXT for i in inside], texts=True)]
    )
    if selected is not None:
        figure.data[0].marker.opacity = [1.0 if pair == selected else 0.3 for pair in [*bins, (0, 0)]]
    _rank_axes(figure, bins, int(max([*counts, run.misses], default=0)), height)
    if k is not None and k <= depth:
        found = int(np.sum(run.ranks <= k))
        _mark_cut(figure, bins, k, f"k = {k}: {found} of {run.total}")
    return _described(figure, _ranks_in_words(run, depth, k))


def rank_histograms(runs: Sequence[Ranks], *, depth: int, k: int | None = None, height: int = 320) -> go.Figure:
    """Rank histograms of several runs side by side, each in its colour; misses hatched, set apart."""
    figure = go.Figure()
    highest = 0
    bins = rank_bins(depth)
    for place, run in enumerate(runs):
        _, counts = _counted(run, depth)
        colours = [run_colour(place)] * len(bins)
        figure.add_trace(_rank_bars(run, bins, counts, depth, colours=colours, miss=run_colour(place), several=True))
        highest = max(highest, run.misses, *counts)
    _rank_axes(figure, bins, highest, height)
    figure.update_layout(barmode="group", bargroupgap=0.0, showlegend=True, legend=_legend_above())
    if k is not None and k <= depth:
        _mark_cut(figure, bins, k, f"k = {k}")
    return _described(figure, " ".join(f"{run.name}: {_ranks_in_words(run, depth, k)}" for run in runs))


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
    lead = f"{_named(run.name)}: " if several else ""
    hover = [f"{lead}{_found_words(n, run.total)} {_rank_words(*pair)}" for n, pair in zip(counts, bins, strict=True)]
    hover.append(f"{lead}{run.misses} of {run.total} questions missed: no target among the first {depth}")
    patterns = [""] * len(bins) + ["/"]
    return go.Bar(
        name=_named(run.name),
        x=[*_places(bins), _miss_place(bins)],
        y=values,
        width=None if several else [*(1.65 if high > low else 0.82 for low, high in bins), 1.5],
        customdata=[*bins, (0, 0)],
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        **_CLICKABLE,
        text=[str(v) if v else "" for v in values] if texts else None,
        textposition="outside",
        textangle=0,
        constraintext="none",
        cliponaxis=False,
        marker={
            "color": [*colours, miss],
            "line": {"width": [0] * len(bins) + [1.5], "color": [*colours, miss]},
            "pattern": {"shape": patterns, "fillmode": "replace", "size": 6, "solidity": 0.35},
        },
    )


def _places(bins: Sequence[tuple[int, int]]) -> list[float]:
    """Middle of every bar on the axis: a bar of several ranks is twice as wide."""
    widths = [2.0 if high > low else 1.0 for low, high in bins]
    return [sum(widths[:i]) + (width - 1) / 2 for i, width in enumerate(widths)]


def _miss_place(bins: Sequence[tuple[int, int]]) -> float:
    """Middle of the miss bar: clear of the last rank, more so when there are many."""
    last = _places(bins)[-1]
    return last + 2.6 + last * 0.02


def _rank_axes(figure: go.Figure, bins: Sequence[tuple[int, int]], highest: int, height: int) -> None:
    wide = [i for i, (low, high) in enumerate(bins) if high > low]
    named = sorted({0, 1, 2, 4, 9, 14, 19 if not wide else 0} & set(range(len(bins))))
    labels = [str(bins[i][0]) for i in named]
    places, miss = [_places(bins)[i] for i in named], _miss_place(bins)
    if wide:
        places.append((_places(bins)[wide[0]] + _places(bins)[wide[-1]]) / 2)
        labels.append(f"{bins[wide[0]][0]}–{bins[wide[-1]][1]}")
    figure.update_layout(**_layout("Rank of the target chunk", "Questions", height), bargap=0.18)
    figure.update_xaxes(tickvals=[*places, miss], ticktext=[*labels, "miss"], tickangle=0, showgrid=False)
    figure.update_xaxes(range=[-0.7, miss + 1.2])
    figure.update_yaxes(range=[0, max(highest * 1.18, 1)], dtick=_whole_step(highest), tickformat="d")


def _mark_cut(figure: go.Figure, bins: Sequence[tuple[int, int]], k: int, label: str) -> None:
    """Draw where a run cuts its rankings: a dashed line after the bar that holds rank `k`."""
    cut = next(i for i, (_, high) in enumerate(bins) if high >= k)
    at = _places(bins)[cut] + (1.0 if bins[cut][1] > bins[cut][0] else 0.5)
    figure.add_vline(x=at, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    figure.add_annotation(x=at, y=1, yref="paper", yanchor="top", xanchor="left", xshift=4, text=label, showarrow=False)


def _found_words(count: int, total: int) -> str:
    return f"{count} of {total} questions found at"


def _rank_words(low: int, high: int) -> str:
    return f"rank {low}" if low == high else f"ranks {low} to {high}"


def _ranks_in_words(run: Ranks, depth: int, k: int | None) -> str:
    within = "" if k is None else f"{int(np.sum(run.ranks <= k))} of them at rank {k} or better, "
    return (
        f"{len(run.ranks)} of {run.total} questions have their target chunk among the first {depth}, "
        f"{within}{run.misses} are missed."
    )


# Curves


def curves(
    lines: Sequence[Curve],
    *,
    k: int | None = None,
    by_run: bool = False,
    labels: bool = True,
    y_title: str = "Mean over questions (0 to 1)",
    height: int = 320,
) -> go.Figure:
    """Measures against k, each with its 95 % interval as a band; a click's x is a k.

    Measures of one run share the accent and differ in dashes; with `by_run` every line has its run's colour. Up to
    three lines are labelled at their ends; more of them, or `labels` false, get a legend above. `k` is marked.
    """
    figure = go.Figure()
    for place, line in enumerate(lines):
        colour = run_colour(place) if by_run else ACCENT
        figure.add_trace(_band(line, colour))
        figure.add_trace(_line(line, colour, "solid" if by_run else _DASHES[place % len(_DASHES)]))
        if k is not None and len(line.k) and line.k[0] <= k <= line.k[-1]:
            figure.add_trace(_marker_at(line, k, colour))
    figure.update_layout(**_layout("k (chunks kept)", y_title, height), hovermode="closest")
    last = int(max((line.k[-1] for line in lines if len(line.k)), default=1))
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=_k_ticks(last), tickformat="d", showgrid=False)
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    if len(lines) <= 3 and labels:
        _label_ends(figure, lines, by_run)
    else:
        figure.update_layout(showlegend=True, legend=_legend_above())
    if k is not None:
        figure.add_vline(x=k, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    return _described(figure, _curves_in_words(lines, k))


def _band(line: Curve, colour: str) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([line.k, line.k[::-1]]),
        y=np.concatenate([line.high, line.low[::-1]]),
        fill="toself",
        fillcolor=_clear(colour, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{_named(line.name)}, 95 % interval",
    )


def _line(line: Curve, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=line.k,
        y=line.mean,
        mode="lines+markers",  # a line without markers cannot be clicked: these are not seen
        name=_named(line.name),
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
        name=f"{_named(line.name)} at k = {k}",
    )


def _value_words(line: Curve, place: int) -> str:
    mean, low, high = (values[place] for values in (line.mean, line.low, line.high))
    value = f"{_named(line.name)} at k = {line.k[place]}: {mean:.2f}"
    return f"{value}<br>95 % interval {low:.2f} to {high:.2f}, {line.n} questions"


def _k_ticks(last: int) -> list[int]:
    """Whole k worth a label: 1, and then round steps.

    >>> _k_ticks(50), _k_ticks(5)
    ([1, 10, 20, 30, 40, 50], [1, 2, 3, 4, 5])
    """
    step = _whole_step(last)
    return [1, *(k for k in range(step, last + 1, step) if k > 1)]


def _label_ends(figure: go.Figure, lines: Sequence[Curve], by_run: bool) -> None:
    """Write each line's name at its right end, moved apart where the lines meet."""
    ends = sorted((float(line.mean[-1]), place) for place, line in enumerate(lines) if len(line.mean))
    below = -math.inf
    for y, place in ends:
        below = max(y, below + 0.075)
        mark = f'<span style="color:{run_colour(place)}">■</span> ' if by_run else ""
        figure.add_annotation(
            x=1,
            xref="paper",
            y=below,
            text=mark + _named(lines[place].name, 18),
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


# Chunks


def chunk_lengths(lengths: NDArray[np.int_], limit: int | None, *, height: int = 220) -> go.Figure:
    """Chunks by their tokens; those past `limit`, which the embedder would cut short, hatched."""
    edges = length_edges(lengths, limit)
    counts, _ = np.histogram(lengths, bins=edges)
    past = [limit is not None and int(low) > limit for low in edges[:-1]]
    hover = [
        f"{_counted_words(n, 'chunk')} of {low} to {high - 1} tokens{', longer than the embedder reads' * p}"
        for n, low, high, p in zip(counts, edges[:-1], edges[1:], past, strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:] - 1) / 2,
            y=counts,
            width=np.diff(edges),
            customdata=np.stack([edges[:-1], edges[1:] - 1], axis=1),
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "color": [WORSE if p else ACCENT for p in past],
                "line": {"width": 0.5, "color": [WORSE if p else ACCENT for p in past]},
                "pattern": {"shape": ["/" if p else "" for p in past], "fillmode": "replace", "size": 6},
            },
        )
    )
    figure.update_layout(**_layout("Tokens in a chunk", "Chunks", height), bargap=0)
    figure.update_yaxes(dtick=_whole_step(int(counts.max(initial=0))), tickformat="d", rangemode="tozero")
    figure.update_xaxes(tickformat="d", showgrid=False, range=[0, max(int(edges[-1]), (limit or 0) * 1.08)])
    if limit is not None:
        figure.add_vline(x=limit + 0.5, line={"dash": "dash", "width": 1.4, "color": WORSE})
        figure.add_annotation(
            x=limit,
            y=1,
            yref="paper",
            yanchor="bottom",
            xanchor="right",
            text=f"embedder reads {limit}",
            showarrow=False,
        )
    over = 0 if limit is None else int(np.sum(lengths > limit))
    return _described(figure, f"{len(lengths)} chunks by their tokens; {over} are longer than the embedder reads.")


def length_edges(lengths: NDArray[np.int_], limit: int | None, most: int = 24) -> NDArray[np.int_]:
    """Whole edges of the bars, one of them right behind `limit`, so that no bar stands on both sides of it.

    >>> length_edges(np.array([3, 9]), 4, most=5)
    array([ 1,  3,  5,  7,  9, 11])
    """
    longest = int(lengths.max(initial=1))
    step = max(1, math.ceil(longest / most))
    start = 1 if limit is None else (limit + 1) % step
    start = start - step if start > 1 else start
    return np.arange(start, longest + step + 1, step)


# Comparisons


def forest(
    rows: Sequence[tuple[str, Estimate]],
    *,
    x_title: str,
    baseline: int | None = None,
    notes: Sequence[str] = (),
) -> go.Figure:
    """One row per run on a common axis from 0 to 1: its mean, its 95 % interval; the baseline's mean as a line.

    A run's note stands above its row.
    """
    figure = go.Figure()
    known = [(place, label, e) for place, (label, e) in enumerate(rows) if e.mean is not None]
    for place, label, e in known:
        text = f"{_named(label)}: {e.mean:.2f}<br>95 % interval {e.low:.2f} to {e.high:.2f}, {e.n} questions"
        figure.add_trace(_interval(label, e.mean or 0.0, e.low, e.high, run_colour(place), "circle", text))
    for (label, _), note in zip(rows, notes, strict=False):
        figure.add_annotation(x=1, xref="paper", y=label, text=note, xanchor="right", yshift=15, showarrow=False)
    _forest_axes(figure, [label for label, _ in rows], x_title)
    figure.update_xaxes(range=[0, 1.02], tickvals=[0, 0.5, 1])
    if baseline is not None and rows[baseline][1].mean is not None:
        figure.add_vline(x=rows[baseline][1].mean, line={"dash": "dot", "width": 1.2, "color": CONTEXT})
    return _described(figure, "; ".join(f"{label} {e.mean:.2f}" for _, label, e in known) + f" ({x_title}).")


@dataclass(frozen=True, slots=True)
class Change:
    """A measure's difference from the baseline with its 95 % interval, over `n` questions both runs were asked.

    `told_apart` says whether a test rules chance out.
    """

    measure: str
    mean: float
    low: float
    high: float
    n: int
    told_apart: bool
    higher_is_better: bool = True

    @property
    def verdict(self) -> str:
        """Better, worse, or undecided: it may be chance."""
        if not self.told_apart:
            return "undecided"
        return "better" if (self.mean > 0) == self.higher_is_better else "worse"


def differences(rows: Sequence[Change], *, x_title: str) -> go.Figure:
    """Differences on a common axis around 0: ▲ blue better, ▼ orange worse, grey when it may be chance."""
    looks = {
        "better": (BETTER, "triangle-up"),
        "worse": (WORSE, "triangle-down"),
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
    _forest_axes(figure, [row.measure for row in rows], x_title)
    figure.add_vline(x=0, line={"width": 1.2, "color": CONTEXT})
    widest = max((max(abs(row.low), abs(row.high)) for row in rows), default=0.1)
    figure.update_xaxes(range=[-widest * 1.15 - 0.005, widest * 1.15 + 0.005], tickformat="+.2~f")
    return _described(figure, "; ".join(f"{row.measure} {row.mean:+.2f} {row.verdict}" for row in rows) + ".")


def _interval(
    label: str, mean: float, low: float | None, high: float | None, colour: str, symbol: str, text: str
) -> go.Scatter:
    low, high = (mean if low is None else low), (mean if high is None else high)
    error = {"type": "data", "symmetric": False, "array": [high - mean], "arrayminus": [mean - low]}
    return go.Scatter(
        x=[mean],
        y=[label],
        mode="markers",
        name=_named(label),
        marker={"size": 11, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
        error_x={**error, "color": colour, "thickness": 2, "width": 5},
        hovertext=[text],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _forest_axes(figure: go.Figure, labels: Sequence[str], x_title: str) -> None:
    figure.update_layout(**_layout(x_title, "", 80 + max(36 * len(labels), 110)))
    figure.update_xaxes(showgrid=True, gridcolor=_GRID, tickangle=0, nticks=5)
    short = [_named(label, 28) for label in labels]
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
    """Every question's rank under two runs: `ranks` has shape (n, 2), 0 stands for a miss.

    Blue ▲ below the diagonal: the second run ranks the target better; orange ▼ above: worse. A bubble grows with the
    questions that share a place; its `customdata` is the pair of ranks.
    """
    first, second = (np.where(ranks[:, side] > 0, ranks[:, side], depth + 1) for side in (0, 1))
    looks = (
        ("better", second < first, BETTER, "triangle-up"),
        ("worse", second > first, WORSE, "triangle-down"),
        ("level", second == first, CONTEXT, "circle"),
    )
    figure = go.Figure([_bubbles(ranks[chosen], names, depth, colour, symbol) for _, chosen, colour, symbol in looks])
    titles = [f"Rank under {_named(name)}" for name in names]
    figure.update_layout(**_layout(titles[0], titles[1], height))
    axis = _rank_axis(depth)
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    end = _log_place(0, depth)
    figure.add_shape(type="line", x0=0, y0=0, x1=end, y1=end, line={"dash": "dot", "width": 1, "color": CONTEXT})
    counted = {verdict: int(chosen.sum()) for verdict, chosen, _, _ in looks}
    return _described(
        figure,
        f"{names[1]} ranks the target better than {names[0]} for {counted['better']} questions, "
        f"worse for {counted['worse']}, the same for {counted['level']}.",
    )


def _bubbles(ranks: NDArray[np.int_], names: tuple[str, str], depth: int, colour: str, symbol: str) -> go.Scatter:
    places, counts = np.unique(ranks.reshape(-1, 2), axis=0, return_counts=True)
    first, second = map(_named, names)
    hover = [
        f"{_counted_words(n, 'question')}: {_rank_or_miss(x)} under {first}, {_rank_or_miss(y)} under {second}"
        for (x, y), n in zip(places, counts, strict=True)
    ]
    return go.Scatter(
        x=[_log_place(x, depth) for x, _ in places],
        y=[_log_place(y, depth) for _, y in places],
        mode="markers",
        customdata=places,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"size": 7 + 4 * np.sqrt(counts), "color": colour, "symbol": symbol, "opacity": 0.75},
    )


def _rank_axis(depth: int) -> dict[str, Any]:
    ticks = [*(rank for rank in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500) if rank <= depth), 0]
    return {
        "tickvals": [_log_place(rank, depth) for rank in ticks],
        "ticktext": [str(rank) if rank else "miss" for rank in ticks],
        "range": [-0.12, _log_place(0, depth) + 0.12],
        "gridcolor": _GRID,
    }


def _log_place(rank: int, depth: int) -> float:
    """Place on the axis: the logarithm of the rank; misses stand apart at the end."""
    return math.log10(rank) if rank else math.log10(max(depth, 2)) + 0.25


def _rank_or_miss(rank: int) -> str:
    return f"rank {rank}" if rank else "missed"


# Answers


def waterfall(steps: Sequence[tuple[str, int, int]], *, selected: int | None = None, height: int = 0) -> go.Figure:
    """Where questions were lost: (title, count, left) for every step, the first all questions, the last those left.

    A bar's `customdata` is the place of its step; `selected` is one, and fades the others.
    """
    last = len(steps) - 1
    total = steps[0][1] if steps else 0
    starts = [0 if place in (0, last) else left for place, (_, _, left) in enumerate(steps)]
    colours = [CONTEXT if place == 0 else ACCENT if place == last else WORSE for place in range(len(steps))]
    figure = go.Figure(
        go.Bar(
            **_CLICKABLE,
            orientation="h",
            base=starts,
            x=[count for _, count, _ in steps],
            y=[title for title, _, _ in steps],
            customdata=[[place] for place in range(len(steps))],
            text=[str(count) for _, count, _ in steps],
            textposition="outside",
            cliponaxis=False,
            constraintext="none",
            hovertext=[
                _lost_words(title, count, total, left, place) for place, (title, count, left) in enumerate(steps)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "color": colours,
                "opacity": [1.0 if selected in (None, place) else 0.3 for place in range(len(steps))],
                "line": {"width": [0 if c != WORSE else 1.2 for c in colours], "color": colours},
                "pattern": {
                    "shape": ["/" if c == WORSE else "" for c in colours],
                    "fillmode": "replace",
                    "size": 6,
                    "solidity": 0.35,
                },
            },
        )
    )
    figure.update_layout(**_layout("Questions", "", height or 74 + 27 * len(steps)), bargap=0.3)
    figure.update_layout(margin={"t": 4})
    figure.update_xaxes(range=[0, max(total * 1.1, 1)], dtick=_whole_step(total), tickformat="d", gridcolor=_GRID)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False, ticksuffix="  ")
    lost = ", ".join(f"{count} {title.lower()}" for title, count, _ in steps[1:-1] if count)
    fine = steps[-1][1] if steps else 0
    return _described(figure, f"Of {_counted_words(total, 'question')}: {lost + ', ' if lost else ''}{fine} fine.")


def _lost_words(title: str, count: int, total: int, left: int, place: int) -> str:
    share = f"{title}: {count} of {_counted_words(total, 'question')}"
    return f"{_counted_words(count, 'question')} in all" if place == 0 else f"{share}, {left} left"


def score_histogram(values: NDArray[np.float64], *, title: str, height: int = 300) -> go.Figure:
    """Questions by their score from 0 to 1, in tenths; the last bar holds 1 too."""
    counts, edges = np.histogram(values, bins=np.linspace(0, 1, 11))
    words = [
        f"{_counted_words(int(n), 'question')} of {len(values)} from {low:.1f} to {high:.1f}"
        for n, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=0.092,
            hovertext=words,
            hovertemplate="%{hovertext}<extra></extra>",
            text=[str(n) if n else "" for n in counts],
            textposition="outside",
            cliponaxis=False,
            marker={"color": ACCENT},
        )
    )
    highest = int(counts.max(initial=0))
    figure.update_layout(**_layout(f"{_named(title)} (0 to 1)", "Questions", height))
    figure.update_xaxes(range=[-0.02, 1.02], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f", showgrid=False)
    figure.update_yaxes(range=[0, max(highest * 1.18, 1)], dtick=_whole_step(highest), tickformat="d")
    mean = f", mean {values.mean():.2f}" if len(values) else ""
    return _described(figure, f"{title} of {_counted_words(len(values), 'question')}{mean}.")


QUARTERS = {
    "all": "complete<br>and concise",
    "much": "complete,<br>not concise",
    "little": "concise,<br>not complete",
    "off": "neither",
}
"""What an answer looks like by its completeness and conciseness, each above or below one half."""


def quarters(
    complete: NDArray[np.float64], concise: NDArray[np.float64], names: Sequence[str], *, height: int = 340
) -> go.Figure:
    """Every question by its answer's completeness and conciseness, shape (n,) each; `customdata` is its place.

    Questions of one place are spread around it, so that each can be clicked.
    """
    figure = go.Figure()
    x, y = _spread(complete, concise)
    hover = [
        f"{_named(name, 70)}<br>completeness {a:.2f}, conciseness {b:.2f}"
        for name, a, b in zip(names, complete, concise, strict=True)
    ]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="markers",
            customdata=[[place] for place in range(len(names))],
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            marker={"size": 8, "color": ACCENT, "opacity": 0.6},
        )
    )
    figure.update_layout(**_layout("Completeness (0 to 1)", "Conciseness (0 to 1)", height))
    axis = {"range": [-0.13, 1.13], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f", "gridcolor": _GRID}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    for line in (figure.add_vline, figure.add_hline):
        line(0.5, line={"dash": "dash", "width": 1.2, "color": CONTEXT})
    counts = _quarter_counts(complete, concise)
    places = {"all": (0.75, 0.78), "much": (0.75, 0.24), "little": (0.25, 0.78), "off": (0.25, 0.24)}
    for name, (across, up) in places.items():
        text = f"<b>{counts[name]}</b> {QUARTERS[name]}"
        figure.add_annotation(
            x=across, y=up, text=text, showarrow=False, font={"size": 12}, opacity=0.85, xanchor="center"
        )
    told = "; ".join(f"{counts[name]} {words.replace('<br>', ' ')}" for name, words in QUARTERS.items())
    return _described(figure, f"{_counted_words(len(names), 'answer')}: {told}.")


def _quarter_counts(complete: NDArray[np.float64], concise: NDArray[np.float64]) -> dict[str, int]:
    whole, short = complete >= 0.5, concise >= 0.5
    kinds = {"all": whole & short, "much": whole & ~short, "little": ~whole & short, "off": ~whole & ~short}
    return {name: int(chosen.sum()) for name, chosen in kinds.items()}


def _spread(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Places on a sunflower's spiral around each shared point, the first of them on the point itself."""
    seen: dict[tuple[float, float], int] = {}
    spread = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        turn = seen[point] = seen.get(point, -1) + 1
        reach, angle = min(0.012 * math.sqrt(turn), 0.11), turn * 2.399963
        spread.append((point[0] + reach * math.cos(angle), point[1] + reach * math.sin(angle)))
    return [a for a, _ in spread], [b for _, b in spread]


# What all figures share


def _layout(x_title: str, y_title: str, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 26, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": CONTEXT, "activecolor": CONTEXT},
        "xaxis": {"title": {"text": x_title}, "automargin": True, "zeroline": False, "fixedrange": True},
        "yaxis": {
            "title": {"text": y_title},
            "automargin": True,
            "zeroline": False,
            "gridcolor": _GRID,
            "fixedrange": True,
        },
    }


def _legend_above() -> dict[str, Any]:
    return {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "title": {"text": ""}}


def _whole_step(highest: int) -> int:
    """Distance of ticks that are whole and round, about five of them.

    >>> [_whole_step(n) for n in (0, 4, 12, 50, 90, 1200)]
    [1, 1, 5, 10, 20, 500]
    """
    rough = max(highest, 1) / 5
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    return int(next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough))


def _clear(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def _counted_words(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _named(name: str, most: int = 40) -> str:
    """A name as a figure may write it: not too long, and no markup of plotly's."""
    return html.escape(name if len(name) <= most else name[: most - 1] + "…", quote=False)


def _described(figure: go.Figure, alt: str) -> go.Figure:
    figure.update_layout(meta={"alt": alt})
    return figure
