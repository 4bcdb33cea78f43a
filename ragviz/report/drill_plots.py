"""Figure of a drill: the share of planted losses that is noticed, by their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from ragviz.report import style


def noticed(fact: Mapping[str, Any]) -> go.Figure:
    """Draw the share of plantings that is called worse, and that the gate stops, by size; at 0 are the false alarms."""
    figure = go.Figure()
    rows = [{"loss": 0.0, **fact["false_alarms"]}, *(row for row in fact["losses"] if row["repetitions"])]
    for title, name, color in (("called worse", "worse", style.ACCENT), ("stopped", "stopped", style.CONTEXT)):
        figure.add_trace(
            go.Scatter(
                x=[100 * row["loss"] for row in rows],
                y=[row[name] / row["repetitions"] for row in rows],
                name=title,
                mode="lines+markers",
                line={"color": color},
                hovertext=[f"{row[name]} of {row['repetitions']} {title}" for row in rows],
                hovertemplate="%{x:.0f} points: %{hovertext}<extra></extra>",
            )
        )
    figure.update_layout(**style.layout("Points of recall that are lost", "Share noticed", 300))
    figure.update_layout(**style.legend_above())
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return style.described(figure, "Share of planted losses that are noticed, by their size; at 0 the false alarms.")
