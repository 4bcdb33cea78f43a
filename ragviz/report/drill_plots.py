"""Figures of drills: the share of plantings that is noticed, by fault and strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ragviz.report import style


def noticed(fact: Mapping[str, Any], titles: Mapping[str, str], strengths: Sequence[float]) -> go.Figure:
    """Draw for each fault a bar per size: the share of its plantings that is called worse, with noise.

    A line stands at the rate of false alarms. `titles` are those of the faults that are drawn, by name; one that was
    not planted has no bar.
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
                x=[row["noisy"]["worse"] / row["repetitions"] for _, row in rows],
                y=[title for title, _ in rows],
                orientation="h",
                name=words,
                marker={"color": style.clear(style.ACCENT, shade), "line": {"width": 1, "color": style.ACCENT}},
                hovertext=[
                    f"{title}, evidence of {words}: {row['noisy']['worse']} of {row['repetitions']} plantings are "
                    f"called worse with the noise of other wordings, {row['worse']} without"
                    f"<br>The gate stops {row['noisy']['stopped']}, {row['stopped']} without"
                    for title, row in rows
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    figure.update_layout(**style.layout("Plantings that are called worse", "", 120 + 62 * len(titles)), bargap=0.25)
    figure.update_layout(**style.legend_above())
    alarms = fact["false_alarms"]["worse"] / fact["false_alarms"]["repetitions"]
    figure.add_vline(alarms, line={"dash": "dot", "color": style.CONTEXT}, annotation={"text": "false alarms"})
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", showgrid=True, gridcolor=style.GRID)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return style.described(
        figure,
        "Share of plantings that are called worse, by fault and points of recall; a line at the rate of false alarms.",
    )
