"""Figure of a drill: the share of planted losses that is noticed, by their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from ragviz.report import style


def noticed(fact: Mapping[str, Any]) -> go.Figure:
    """Draw the share of plantings that is called worse, by size; at 0 are the false alarms."""
    figure = go.Figure()
    rows = [{"loss": 0.0, **fact["false_alarms"]}, *(row for row in fact["losses"] if row["repetitions"])]
    figure.add_trace(
        go.Scatter(
            x=[100 * row["loss"] for row in rows],
            y=[row["worse"] / row["repetitions"] for row in rows],
            mode="lines+markers",
            line={"color": style.ACCENT},
            hovertext=[f"{row['worse']} of {row['repetitions']} called worse" for row in rows],
            hovertemplate="%{x:.0f} points: %{hovertext}<extra></extra>",
        )
    )
    figure.update_layout(**style.layout("Points of recall that are lost", "Share noticed", 300))
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return style.described(figure, "Share of planted losses that are noticed, by their size; at 0 the false alarms.")
