"""A figure: drawn, its values below it as text, its points to be clicked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit import runtime

from ragviz.report import style
from ragviz.text.markup import values

_DRAWING = 0.4
"""Seconds in which a browser draws text, tiles and a bar; with 0.1 it was found to wait for the rest."""


def draw(drawn: go.Figure, key: str, *, clicked: Callable[[tuple[int, ...] | None], object] | None = None) -> None:
    """Show a figure, and its values as text below it."""
    alt, config = (drawn.layout.meta or {}).get("alt"), style.CONFIG | {"toImageButtonOptions": {"scale": 2}}
    select: Any = (lambda: clicked(point_of(st.session_state[key]))) if clicked is not None else "ignore"
    st.plotly_chart(drawn, key=key, config=config, alt=alt, on_select=select, selection_mode="points")
    hovers = [hover for trace in drawn.data if (hover := getattr(trace, "hovertext", None)) is not None]
    if sentences := [words for hover in hovers for words in ([hover] if isinstance(hover, str) else hover)]:
        st.html(values(sentences))


def point_of(state: Any) -> tuple[int, ...] | None:
    """Return the `customdata` of the point that a figure's selection holds, None when nothing is selected.

    >>> point_of({"selection": {"points": [{"customdata": [21, 30]}]}})
    (21, 30)
    >>> point_of({"selection": {"points": [{"customdata": {"0": 3}}]}})
    (3,)
    """
    points = ((state or {}).get("selection") or {}).get("points") or []
    if not points or points[0].get("customdata") is None:
        return None
    data = points[0]["customdata"]
    values = data.values() if isinstance(data, Mapping) else data if isinstance(data, Sequence) else [data]
    return tuple(int(value) for value in values)


def draw_so_far(place: str) -> None:
    """Let the browser draw what is above before the rest is sent: on arrival at `place`, once in a session.

    A browser that gets a page with pictures all at once draws nothing of it until it has loaded Plotly.
    """
    if runtime.exists() and not st.session_state.get(f"drawn-{place}"):
        time.sleep(_DRAWING)
        st.session_state[f"drawn-{place}"] = True
