"""Small multiples: one panel for each run, all on the same axes, with the baseline in each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ragviz.report import style
from ragviz.report.curve_plots import Curve, Ranks, rank_bins
from ragviz.report.style import CONTEXT, GRID

PANEL = 150
"""Pixels of a panel's height."""


def columns_for(count: int) -> int:
    """Return how many panels stand side by side.

    >>> [columns_for(count) for count in (4, 5, 6, 7, 9, 12)]
    [4, 3, 3, 4, 3, 4]
    """
    return 3 if count in (5, 6, 9) else 4


def curves(lines: Sequence[Curve], *, k: int, y_title: str) -> go.Figure:
    """Draw a metric against k, a panel for each run with its 95 % interval; the first, the baseline, dotted in all."""
    figure = _panels([line.name for line in lines], "k (chunks kept)", y_title)
    for place, line in enumerate(lines):
        at = _at(place, len(lines))
        if place:
            figure.add_trace(_line(lines[0], CONTEXT, "dot", width=1.6), **at)
        figure.add_trace(_band(line, style.run_colour(place)), **at)
        figure.add_trace(_line(line, style.run_colour(place), "solid", width=2.2), **at)
    last = int(max(line.k[-1] for line in lines))
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=[1, last], showgrid=False, fixedrange=True)
    figure.update_yaxes(range=[0, 1.03], tickvals=[0, 0.5, 1], tickformat=".2~f", gridcolor=GRID, fixedrange=True)
    figure.add_vline(x=k, line={"dash": "dash", "width": 1, "color": CONTEXT})
    values = "; ".join(f"{line.name} {line.mean[k - 1]:.2f}" for line in lines if k <= len(line.mean))
    return style.described(figure, f"{y_title} at k = {k}: {values}.")


def histograms(runs: Sequence[Ranks], *, depth: int, k: int) -> go.Figure:
    """Draw questions by the rank of their evidence, a panel for each run; the first, the baseline, as steps in all."""
    figure = _panels([run.name for run in runs], "Rank of the evidence (its last passage)", "Questions")
    bins = rank_bins(depth)
    places = np.arange(len(bins) + 1) + np.array([0.0] * len(bins) + [1.0])  # misses are set apart
    labels = [str(low) if low == high else f"{low}–{high}" for low, high in bins] + [f"not in top {depth}"]
    counted = [[int(np.sum((r.ranks >= low) & (r.ranks <= high))) for low, high in bins] + [r.misses] for r in runs]
    for place, (run, counts) in enumerate(zip(runs, counted, strict=True)):
        at, colour = _at(place, len(runs)), style.run_colour(place)
        hover = [
            f"{style.named(run.name)}: {n} of {run.total} questions at rank {label}" if label != labels[-1] else
            f"{style.named(run.name)}: {n} of {run.total} questions {label}"
            for n, label in zip(counts, labels, strict=True)
        ]  # fmt: skip
        bars = go.Bar(
            x=places, y=counts, width=0.9, name=style.named(run.name), hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "color": colour,
                "line": {"width": [0] * len(bins) + [1.2], "color": colour},
                "pattern": {"shape": [""] * len(bins) + ["/"], "fillmode": "replace", "size": 5, "solidity": 0.35},
            },
        )  # fmt: skip
        figure.add_trace(bars, **at)
        if place:
            steps = go.Scatter(
                x=places, y=counted[0], mode="lines", hoverinfo="skip", name="baseline",
                line={"shape": "hvh", "width": 1.4, "color": CONTEXT, "dash": "dot"},
            )  # fmt: skip
            figure.add_trace(steps, **at)
    middle = [0, *(i for i, (low, _) in enumerate(bins) if low in (10, 20))]
    figure.update_xaxes(
        tickvals=[places[i] for i in (*middle, len(bins))], ticktext=[*(labels[i] for i in middle), "none"],
        showgrid=False, fixedrange=True, tickangle=0,
    )  # fmt: skip
    highest = max(map(max, counted))
    figure.update_yaxes(
        range=[0, max(highest * 1.1, 1)], dtick=style.whole_step(highest), tickformat="d", gridcolor=GRID,
        fixedrange=True,
    )  # fmt: skip
    cut = next((i for i, (_, high) in enumerate(bins) if high >= k), len(bins) - 1)
    figure.add_vline(x=float(places[cut]) + 0.5, line={"dash": "dash", "width": 1, "color": CONTEXT})
    said = "; ".join(
        f"{run.name} {int(np.sum(run.ranks <= k))} at rank {k} or better, {run.misses} not in top {depth}"
        for run in runs
    )
    return style.described(figure, f"Of {runs[0].total} questions: {said}.")


def _at(place: int, count: int) -> dict[str, int]:
    """Return row and column of a panel, from 1."""
    row, column = divmod(place, columns_for(count))
    return {"row": row + 1, "col": column + 1}


def _panels(names: Sequence[str], x_title: str, y_title: str) -> go.Figure:
    columns = columns_for(len(names))
    rows = -(-len(names) // columns)
    height = 70 + rows * PANEL
    titles = [
        f'<span style="color:{style.run_colour(place)}">■</span> {name}'
        for place, name in enumerate(style.all_named(names, 22))
    ]
    figure = make_subplots(
        rows=rows, cols=columns, shared_xaxes="all", shared_yaxes="all", subplot_titles=titles,
        horizontal_spacing=0.025, vertical_spacing=34 / height, x_title=x_title, y_title=y_title,
    )  # fmt: skip
    shared = style.layout("", "", height)
    figure.update_layout(**{name: value for name, value in shared.items() if name not in ("xaxis", "yaxis")})
    figure.update_layout(margin={"l": 64, "r": 12, "t": 30, "b": 52}, bargap=0.1)
    figure.update_annotations(font_size=12)
    return figure


def _band(line: Curve, colour: str) -> go.Scatter:
    return go.Scatter(
        x=np.concatenate([line.k, line.k[::-1]]), y=np.concatenate([line.high, line.low[::-1]]), fill="toself",
        fillcolor=style.clear(colour, 0.2), line={"width": 0}, mode="lines", hoverinfo="skip",
        name=f"{style.named(line.name)}, 95 % interval",
    )  # fmt: skip


def _line(line: Curve, colour: str, dash: str, *, width: float) -> go.Scatter:
    words = [
        f"{style.named(line.name)} at k = {k}: {mean:.2f}<br>95 % interval {low:.2f} to {high:.2f}, {line.n} questions"
        for k, mean, low, high in zip(line.k, line.mean, line.low, line.high, strict=True)
    ]
    return go.Scatter(
        x=line.k, y=line.mean, mode="lines", name=style.named(line.name),
        line={"color": colour, "width": width, "dash": dash}, hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
