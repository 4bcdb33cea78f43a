"""A figure of the chunks of an index in two dimensions, by what a question set asks of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ragviz.health.coverage_map import FOUND, MISSED, NEVER, STATES, CoverageMap
from ragviz.report import style

_MARKS: dict[int, dict[str, Any]] = {
    NEVER: {"color": style.CONTEXT, "opacity": 0.6, "size": 5, "symbol": "circle"},
    FOUND: {"color": style.ACCENT, "opacity": 0.85, "size": 7, "symbol": "circle"},
    MISSED: {"color": style.WORSE, "opacity": 0.95, "size": 9, "symbol": "x"},
}
"""How chunks of each state are drawn, the last on top."""


def coverage_scatter(coverage: CoverageMap, *, height: int = 460, selected: str = "") -> go.Figure:
    """Draw every chunk of a coverage map, by WebGL; `customdata` is its row of the map.

    `selected` is the id of a chunk that is ringed.
    """
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
    figure.update_layout(**style.layout("First principal component", "Second principal component", height))
    figure.update_layout(**style.legend_above())
    figure.update_xaxes(showticklabels=False, gridcolor=style.GRID)
    figure.update_yaxes(showticklabels=False)
    counts = ", ".join(f"{count:,} {name}" for count, name in zip(coverage.total, STATES, strict=True))
    return style.described(figure, f"Chunks of the index in two dimensions: {counts}.")
