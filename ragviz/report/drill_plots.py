"""Figures of drills: the share of plantings that is noticed, by fault and strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ragviz.report import style


def noticed(fact: Mapping[str, Any], titles: Mapping[str, str], strengths: Sequence[float]) -> go.Figure:
    """Draw for each fault a bar per strength: the share of its plantings that is called worse, without noise.

    With noise it is told beside. `titles` are those of the faults that are drawn, by name; faults that were not planted
    have no bar.
    """
    figure = go.Figure()
    shades = [0.35, 0.65, 1.0]
    found = {(each["fault"], each["strength"]): each for each in fact["faults"]}
    for strength, shade in zip(strengths, shades, strict=True):
        planted = [(title, found[name, strength]) for name, title in titles.items()]
        rows = [(title, row) for title, row in planted if row["repetitions"]]
        words = f"{100 * strength:.0f} points"
        figure.add_trace(
            go.Bar(
                x=[row["worse"] / row["repetitions"] for _, row in rows],
                y=[title for title, _ in rows],
                orientation="h",
                name=words,
                marker={"color": style.clear(style.ACCENT, shade), "line": {"width": 1, "color": style.ACCENT}},
                hovertext=[
                    f"{title}, evidence of {words}: {row['worse']} of {row['repetitions']} plantings are called worse "
                    f"without noise, {row['noisy']['worse']} with the noise of other wordings"
                    for title, row in rows
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    figure.update_layout(
        **style.layout("Plantings that are called worse, without noise", "", 120 + 62 * len(titles)), bargap=0.25
    )
    figure.update_layout(**style.legend_above())
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", showgrid=True, gridcolor=style.GRID)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return style.described(
        figure, "Share of plantings that are called worse without noise, by fault and by points of recall."
    )
