"""Curves and histograms of several runs: overlaid, or from four on a panel for each, with the baseline in all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ragviz.report import curve_plots, style
from ragviz.report.curve_plots import Curve, Ranks
from ragviz.report.style import CONTEXT, CUT

OVERLAID = 3
"""Runs that one picture of curves or bars shows together."""
PANEL = 150
"""Pixels of a panel's height."""


def columns_for(count: int) -> int:
    """Return how many panels stand side by side.

    >>> [columns_for(count) for count in (4, 5, 6, 7, 9, 12)]
    [4, 3, 3, 4, 3, 4]
    """
    return 3 if count in (5, 6, 9) else 4


def curves(lines: Sequence[Curve], *, k: int, y_title: str) -> go.Figure:
    """Draw a metric of runs against k with 95 % intervals; the first, the baseline, is dotted in every panel."""
    if len(lines) <= OVERLAID:
        return curve_plots.curves(lines, k=k, by_run=True, y_title=y_title)
    figure = _panels([line.name for line in lines], "k (chunks kept)", y_title)
    for place, line in enumerate(lines):
        at, colour = _at(place, len(lines)), style.run_colour(place)
        if place:
            figure.add_trace(curve_plots.line_of(lines[0], CONTEXT, "dot"), **at)
        figure.add_trace(style.band(line.k, line.low, line.high, colour, line.name), **at)
        figure.add_trace(curve_plots.line_of(line, colour, "solid"), **at)
    last = int(max(line.k[-1] for line in lines))
    figure.update_xaxes(range=[0.4, last + 0.6], tickvals=[1, last], showgrid=False)
    figure.update_yaxes(style.RATE | {"tickvals": [0, 0.5, 1]})
    figure.add_vline(x=k, line=CUT)
    values = "; ".join(f"{line.name} {line.mean[k - 1]:.2f}" for line in lines)
    return style.described(figure, f"{y_title} at k = {k}: {values}.")


def histograms(runs: Sequence[Ranks], *, depth: int, k: int) -> go.Figure:
    """Draw questions by the rank of their evidence; the first run, the baseline, stands as steps in every panel."""
    if len(runs) <= OVERLAID:
        return curve_plots.rank_histograms(runs, depth=depth, k=k)
    figure = _panels([run.name for run in runs], "Rank of the evidence (its last passage)", "Questions")
    bins = curve_plots.rank_bins(depth)
    places = np.arange(len(bins) + 1) + np.array([0.0] * len(bins) + [1.0])  # misses are set apart
    baseline = [*runs[0].counted(bins), runs[0].misses]
    for place, run in enumerate(runs):
        bars = curve_plots.rank_bars(run, bins, style.run_colour(place), several=True)
        figure.add_trace(bars.update(x=places, width=0.9), **_at(place, len(runs)))
        if place:
            steps = style.line(places, baseline, [], "baseline", CONTEXT, shape="hvh", width=1.4, dash="dot")
            figure.add_trace(steps.update(hoverinfo="skip"), **_at(place, len(runs)))
    shown = [0, *(i for i, (low, _) in enumerate(bins) if low in (10, 20)), len(bins)]
    labels = [*(str(low) for low, _ in bins), "none"]
    figure.update_xaxes(
        tickvals=[places[i] for i in shown], ticktext=[labels[i] for i in shown], showgrid=False, tickangle=0
    )
    figure.update_yaxes(style.count_axis(max(max([*run.counted(bins), run.misses]) for run in runs)))
    cut = next(i for i, (_, high) in enumerate(bins) if high >= k)
    figure.add_vline(x=float(places[cut]) + 0.5, line=CUT)
    said = "; ".join(
        f"{run.name} {run.within(k)} at rank {k} or better, {run.misses} not in top {depth}" for run in runs
    )
    return style.described(figure, f"Of {runs[0].total} questions: {said}.")


def _at(place: int, count: int) -> dict[str, int]:
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
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=titles,
        horizontal_spacing=0.025,
        vertical_spacing=34 / height,
        x_title=x_title,
        y_title=y_title,
    )
    shared = style.layout("", "", height)
    figure.update_layout(**{name: value for name, value in shared.items() if name not in ("xaxis", "yaxis")})
    figure.update_layout(margin={"l": 64, "r": 12, "t": 30, "b": 52}, bargap=0.1)
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(fixedrange=True)
    figure.update_annotations(font_size=12)
    return figure
