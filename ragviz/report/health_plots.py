"""Figures of what a question set is worth: its drill, and the chunks of an index in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ragviz.health.coverage_map import FOUND, MISSED, NEVER, STATES, CoverageMap
from ragviz.report import style


def noticed(fact: Mapping[str, Any]) -> go.Figure:
    """Draw the share of plantings that is called worse, by size; at 0 are the false alarms."""
    rows = [{"loss": 0.0, **fact["false_alarms"]}, *(row for row in fact["losses"] if row["repetitions"])]
    words = [f"{100 * row['loss']:.0f} points: {row['worse']} of {row['repetitions']} called worse" for row in rows]
    shares = [row["worse"] / row["repetitions"] for row in rows]
    line = style.line([100 * row["loss"] for row in rows], shares, words, "noticed")
    figure = go.Figure(line.update(mode="lines+markers"))
    figure.update_layout(**style.layout("Points of recall that are lost", "Share noticed", 300))
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return style.described(figure, "Share of planted losses that are noticed, by their size; at 0 the false alarms.")


_MARKS: dict[int, dict[str, Any]] = {
    NEVER: {"color": style.CONTEXT, "opacity": 0.6, "size": 5, "symbol": "circle"},
    FOUND: {"color": style.ACCENT, "opacity": 0.85, "size": 7, "symbol": "circle"},
    MISSED: {"color": style.WORSE, "opacity": 0.95, "size": 9, "symbol": "x"},
}
"""How chunks of each state are drawn, the last on top."""


def coverage_scatter(coverage: CoverageMap, *, selected: str = "") -> go.Figure:
    """Draw every chunk of a coverage map, by WebGL; `customdata` is its row of the map."""
    figure = go.Figure()
    for state, name in enumerate(STATES):
        rows = np.flatnonzero(coverage.states == state)
        figure.add_trace(
            go.Scattergl(
                x=coverage.xy[rows, 0],
                y=coverage.xy[rows, 1],
                mode="markers",
                name=f"{name} ({coverage.total[state]:,})",
                marker=_MARKS[state],
                customdata=rows.reshape(-1, 1),
                text=[style.named(coverage.documents[row]) for row in rows],
                hovertemplate=f"%{{text}}<br>{name}<extra></extra>",
                selected={"marker": {"opacity": 1.0}},
                unselected={"marker": {"opacity": _MARKS[state]["opacity"]}},
            )
        )
    if selected in coverage.ids:
        x, y = coverage.xy[coverage.ids.index(selected)]
        marker = {"color": "rgba(0,0,0,0)", "size": 16, "line": {"color": style.RUN_COLOURS[3], "width": 3}}
        figure.add_trace(
            go.Scattergl(x=[x], y=[y], mode="markers", marker=marker, hoverinfo="skip", showlegend=False, name="chosen")
        )
    figure.update_layout(**style.layout("First principal component", "Second principal component", 460))
    figure.update_layout(**style.legend_above())
    figure.update_xaxes(showticklabels=False, gridcolor=style.GRID)
    figure.update_yaxes(showticklabels=False)
    counts = ", ".join(f"{count:,} {name}" for count, name in zip(coverage.total, STATES, strict=True))
    return style.described(figure, f"Chunks of the index in two dimensions: {counts}.")
