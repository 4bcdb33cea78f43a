"""Colours, layout and wording that all figures share."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go

from ragviz.text.markup import without_middle
from ragviz.text.names import distinct

RUN_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C8C8C")
"""Okabe and Ito's set without black and yellow, as in `.streamlit/config.toml`; runs take them in order."""

ACCENT, CONTEXT = RUN_COLOURS[0], RUN_COLOURS[-1]
BETTER, WORSE = RUN_COLOURS[0], RUN_COLOURS[4]
CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]], "scrollZoom": False, "doubleClick": False}
"""Plotly's own options for every figure: a download button and nothing else."""

DASHES = ("solid", "dash", "dot", "dashdot")
# Set explicitly: without it, plotly fails at a click on bars with an opacity each.
CLICKABLE = {"selected": {"marker": {"opacity": 1.0}}, "unselected": {"marker": {"opacity": 0.3}}}
GRID = "rgba(128, 136, 148, 0.22)"


def run_colour(place: int) -> str:
    """Return the colour of the run at this 0-based position of a comparison."""
    return RUN_COLOURS[place % len(RUN_COLOURS)]


def run_symbol(place: int) -> str:
    """Return the mark of the run at this 0-based position: those past the last colour repeat it with an open mark."""
    return "circle" if place < len(RUN_COLOURS) else "circle-open"


def run_dash(place: int) -> str:
    """Return the dash of the line of the run at this 0-based position: those past the last colour repeat it dashed."""
    return "solid" if place < len(RUN_COLOURS) else "dash"


def layout(x_title: str, y_title: str, height: int) -> dict[str, Any]:
    """Return the layout of a figure with these axis titles, `height` pixels high."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 26, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "hoverlabel": {"bgcolor": "#222B36", "bordercolor": "#8C8C8C", "font": {"color": "#FFFFFF"}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": CONTEXT, "activecolor": CONTEXT},
        "xaxis": {"title": {"text": x_title}, "automargin": True, "zeroline": False, "fixedrange": True},
        "yaxis": {
            "title": {"text": y_title},
            "automargin": True,
            "zeroline": False,
            "gridcolor": GRID,
            "fixedrange": True,
        },
    }


def legend_above() -> dict[str, Any]:
    """Return the layout of a figure with a legend above: one row has room even where plotly makes none (a resize)."""
    place = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "title": {"text": ""}}
    return {"showlegend": True, "legend": place, "margin": {"t": 46}}


def whole_step(highest: int) -> int:
    """Return the distance of about five ticks with integer, round values.

    >>> [whole_step(n) for n in (0, 4, 12, 50, 90, 1200)]
    [1, 1, 5, 10, 20, 500]
    """
    rough = max(highest, 1) / 5
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    return int(next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough))


def clear(colour: str, opacity: float) -> str:
    """Return a colour #rrggbb with this opacity, from 0 to 1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def counted_words(count: int, noun: str) -> str:
    """Write a count with its noun, in the plural where it is not 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def named(name: str, most: int = 40) -> str:
    """Shorten a name for a figure to `most` characters, and escape plotly's markup in it.

    Its middle is left out.

    >>> named("sample-hybrid-rerank", 11), named("a < b")
    ('sampl…erank', 'a &lt; b')
    """
    return html.escape(without_middle(name, most), quote=False)


def all_named(names: Iterable[str], most: int) -> list[str]:
    """Shorten names that stand in one figure as `named` does, so that they stay distinct.

    >>> all_named(["sample-experiment · 100 knn", "sample-experiment · 200 knn"], 14)
    ['sampl…100 knn', 'sampl…200 knn']
    """
    return [html.escape(name, quote=False) for name in distinct(names, most)]


def described(figure: go.Figure, alt: str) -> go.Figure:
    """Return the figure with a text alternative for screen readers."""
    figure.update_layout(meta={"alt": alt})
    return figure
