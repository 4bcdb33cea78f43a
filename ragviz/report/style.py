"""What all figures share: colours, layout, axes, wording, and the traces that they are drawn of."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

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
HOVER = "%{hovertext}<extra></extra>"
"""Hovering shows the text of a mark, and nothing else."""
CUT = {"dash": "dash", "width": 1.2, "color": CONTEXT}
"""The line at a k, or at another limit."""
RATE = {"range": [0, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f", "gridcolor": GRID}
"""An axis from 0 to 1."""
Floats = NDArray[np.float64]


def run_colour(place: int) -> str:
    """Return the colour of the run at this 0-based position of a comparison."""
    return RUN_COLOURS[place % len(RUN_COLOURS)]


def run_symbol(place: int) -> str:
    """Return the mark of the run at this 0-based position: those past the last colour repeat it with an open mark."""
    return "circle" if place < len(RUN_COLOURS) else "circle-open"


def run_dash(place: int) -> str:
    """Return the dash of the line of the run at this 0-based position: those past the last colour repeat it dashed."""
    return "solid" if place < len(RUN_COLOURS) else "dash"


# Layout and axes


def layout(x_title: str, y_title: str, height: int) -> dict[str, Any]:
    """Return the layout of a figure with these axis titles, `height` pixels high."""
    axis = {"automargin": True, "zeroline": False, "fixedrange": True}
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 26, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "hoverlabel": {"bgcolor": "#222B36", "bordercolor": "#8C8C8C", "font": {"color": "#FFFFFF"}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": CONTEXT, "activecolor": CONTEXT},
        "xaxis": {"title": {"text": x_title}, **axis},
        "yaxis": {"title": {"text": y_title}, "gridcolor": GRID, **axis},
    }


def legend_above() -> dict[str, Any]:
    """Return the layout of a figure with a legend above: one row has room even where plotly makes none (a resize)."""
    place = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "title": {"text": ""}}
    return {"showlegend": True, "legend": place, "margin": {"t": 46}}


def count_axis(highest: int) -> dict[str, Any]:
    """Return an axis of counts up to `highest`, with room for a label above the bar."""
    return {"range": [0, max(highest * 1.18, 1)], "dtick": whole_step(highest), "tickformat": "d", "gridcolor": GRID}


def whole_step(highest: int) -> int:
    """Return the distance of about five ticks with integer, round values.

    >>> [whole_step(n) for n in (0, 4, 12, 50, 90, 1200)]
    [1, 1, 5, 10, 20, 500]
    """
    rough = max(highest, 1) / 5
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    return int(next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough))


# Traces


def band(x: NDArray[Any], low: Floats, high: Floats, colour: str = ACCENT, name: str = "") -> go.Scatter:
    """Return the area between the ends of 95 % intervals; arrays of one shape."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=clear(colour, 0.2),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{named(name)}, 95 % interval".removeprefix(", "),
    )


def line(x: Any, y: Any, words: Sequence[str], name: str, colour: str = ACCENT, **look: Any) -> go.Scatter:
    """Return a line whose points say their `words`; `look` is what else plotly's line takes."""
    drawn = {"color": colour, "width": 2.4, **look}
    return go.Scatter(x=x, y=y, mode="lines", name=named(name), line=drawn, hovertext=words, hovertemplate=HOVER)


def mark(x: float, y: float | str, words: str, colour: str, name: str = "", **marker: Any) -> go.Scatter:
    """Return a single mark that says its `words`; `marker` is what else plotly's marker takes."""
    look = {"size": 11, "color": colour, "line": {"width": 2, "color": colour}, **marker}
    return go.Scatter(
        x=[x], y=[y], mode="markers", marker=look, hovertext=[words], hovertemplate=HOVER, name=named(name)
    )


def interval(low: float | None, mean: float, high: float | None, colour: str = ACCENT) -> dict[str, Any]:
    """Return the error bar of a mean: its interval, or of no length without one."""
    up, down = (0.0 if bound is None else abs(bound - mean) for bound in (high, low))
    return {"array": [up], "arrayminus": [down], "symmetric": False, "color": colour, "thickness": 2, "width": 5}


def hatched(colours: Sequence[str], lost: Sequence[bool], **look: Any) -> dict[str, Any]:
    """Return the look of bars, those of what is `lost` hatched and outlined; `look` is what else a marker takes."""
    pattern = {"shape": ["/" if each else "" for each in lost], "fillmode": "replace", "size": 6, "solidity": 0.35}
    outline = {"width": [1.2 if each else 0 for each in lost], "color": colours}
    return {"color": colours, "line": outline, "pattern": pattern, **look}


def clear(colour: str, opacity: float) -> str:
    """Return a colour #rrggbb with this opacity, from 0 to 1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


# Words


def mean_words(name: str, low: float | None, mean: float, high: float | None, n: int | None = None) -> str:
    """Say a mean with its interval, and over how many questions, for hovering."""
    ends = "" if low is None or high is None else f"<br>95 % interval {low:.2f} to {high:.2f}"
    return f"{name}: {mean:.2f}{ends}" + ("" if n is None else f", {n} questions")


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
    ['sample-ex…100…', 'sample-ex…200…']
    """
    return [html.escape(name, quote=False) for name in distinct(names, most)]


def described(figure: go.Figure, alt: str) -> go.Figure:
    """Return the figure with a text alternative for screen readers."""
    figure.update_layout(meta={"alt": alt})
    return figure
