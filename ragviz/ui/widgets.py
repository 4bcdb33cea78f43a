"""The widgets that pages are built of: tiles, tables, figures, fields, notices, errors, confirmations."""

from __future__ import annotations

import logging
import re
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit import runtime

from ragviz.core import addresses
from ragviz.core.call import Estimate
from ragviz.core.errors import RagvizError
from ragviz.core.index_info import IndexInfo
from ragviz.index import deletion
from ragviz.judging.forecast import Forecast
from ragviz.report import style
from ragviz.store import disk
from ragviz.text.keys import without_keys
from ragviz.text.markup import plain, sentence, shortened, values, visible
from ragviz.ui import cache, formats, wording

log = logging.getLogger("ragviz")
_DRAWING = 0.4
"""Seconds in which a browser draws text, tiles and a bar; with 0.1 it was found to wait for the rest."""


def suggested_name(
    label: str, key: str, suggested: str, explained: str | None = None, *, used_by: str | None = None
) -> str:
    """Return the name typed into a field, else the suggestion; a new suggestion does not replace what was typed.

    When the name has been used, remove `KEY-suggested` from the session, so that the field shows a suggestion again.
    When the button with the key `used_by` was pressed, the name is the one that was in the field then, though it is
    taken by now: the button was pressed twice.
    """
    typed, before = st.session_state.get(key, ""), st.session_state.get(f"{key}-suggested")
    pressed = used_by is not None and bool(st.session_state.get(used_by))
    keeps = typed and (pressed or before not in (None, typed))
    st.session_state[key] = typed if keeps else suggested
    st.session_state[f"{key}-suggested"] = suggested
    name: str = st.text_input(label, key=key, max_chars=200, help=explained)
    return name.strip()


def still_there(key: str, options: Sequence[str], noun: str) -> None:
    """Ignore a click, and say so, when the selected option of the box `key` was deleted; call it before the box."""
    selected, deleted_key = st.session_state.get(key), f"{key}-deleted"
    if selected is not None and selected not in options:
        del st.session_state[key]
        st.session_state[deleted_key] = selected
        st.rerun()
    if (name := st.session_state.pop(deleted_key, None)) is not None:
        st.warning(f"The {noun} “{wording.quoted(name)}” was deleted meanwhile: nothing was done. Choose again.")


@contextmanager
def nothing(sentence: str) -> Iterator[None]:
    """Draw an empty state: the sentence says what is missing, the body draws the buttons or links that make it."""
    with st.container(border=True):
        st.markdown(sentence)
        with st.container(horizontal=True, gap="small"):
            yield


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the errors of the body in place: those raised on purpose by their message, defects by a short notice."""
    try:
        yield
    except RagvizError as error:
        st.error(sentence(str(error)))
    except Exception as error:
        if isinstance(error, OSError) and (explained := disk.explained(error)) is not None:
            st.error(plain(str(explained)))
            return
        log.error("A defect in ragviz\n%s", _traceback())
        st.error(
            f"This part could not be shown: a defect in ragviz ({type(error).__name__}). The traceback is in the "
            "terminal that runs the app; please report it with what you did. The rest of the page works."
        )


def _traceback() -> str:
    """Return the traceback of the current exception, without keys and passwords."""
    keys: tuple[str, ...] = ()
    with suppress(RagvizError):
        keys = cache.workspace().settings.keys
    return without_keys(addresses.within(traceback.format_exc()), keys)


@st.dialog("Are you sure?")
def confirm(
    sentence: str, verb: str, action: Callable[[], object], box: str = "", ticked: Callable[[], object] | None = None
) -> None:
    """Ask once before something is deleted; `sentence` says what is deleted with it.

    With the checkbox labelled `box` ticked, `ticked` is called instead of `action`; without a label there is no box.
    """
    st.markdown(plain(sentence))
    if box and ticked and st.checkbox(plain(box), key="confirm-box"):
        action = ticked
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Cancel", key="confirm-keep"):
            st.rerun()
        if st.button(verb, type="primary", key="confirm-do"):
            with errors_shown():
                action()
                st.rerun()


def leaving(indexes: Iterable[IndexInfo]) -> str:
    """Return the label of the checkbox that deletes indexes here though not on their server, "" when all are local."""
    remote = [where for info in indexes if (where := deletion.remote(cache.workspace(), info))]
    return f"Also when the server cannot be reached: {'; '.join(remote)} then stay there." if remote else ""


def tiles() -> Any:
    """Return the row for tiles, four side by side where there is room."""
    return st.grid(4, min_column_width=140)


_COUNT = re.compile(r"n = [\d,]+( of [\d,]+)?")


def tile(label: str, value: str, note: str = "", *, explained: str | None = None) -> None:
    """Draw one number with its note: range or interval, and n; no line ends within “n = 7 of 9”."""
    st.metric(
        label.replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓"),
        value,
        delta=_COUNT.sub(lambda count: count[0].replace(" ", "\u00a0"), note) or None,
        delta_color="off",
        delta_arrow="off",
        help=explained,
        border=True,
        height="stretch",
    )


def draw_so_far(place: str) -> None:
    """Let the browser draw what is above before the rest is sent: on arrival at `place`, once in a session.

    A browser that gets a page with pictures all at once draws nothing of it until it has loaded Plotly.
    """
    if runtime.exists() and not st.session_state.get(f"drawn-{place}"):
        time.sleep(_DRAWING)
        st.session_state[f"drawn-{place}"] = True


def estimate_tile(label: str, estimate: Estimate, *, explained: str | None = None, better: str = "↑") -> None:
    """Draw a mean with its 95 % interval, its n, and an arrow for which direction is better."""
    value, note = estimate_words(estimate)
    tile(f"{label} {better}".strip(), value, note, explained=explained)


def estimate_words(estimate: Estimate) -> tuple[str, str]:
    """Return value and note of a mean's tile.

    >>> estimate_words(Estimate(0.8333, 0.741, 0.899, 80))
    ('0.83', '[0.74, 0.90] · n = 80')
    >>> estimate_words(Estimate(None, None, None, 0))
    ('–', 'no question is scored')
    """
    if estimate.mean is None:
        return "–", "no question is scored"
    return f"{estimate.mean:.2f}", f"{estimate.interval_words()} · n = {estimate.n:,}"


def figure(drawn: go.Figure, key: str, *, on_select: Callable[[], None] | None = None) -> None:
    """Show a figure, and its values as text below it.

    With `on_select` its points can be clicked, and `st.session_state[key]` holds the selection.
    """
    alt, config = (drawn.layout.meta or {}).get("alt"), style.CONFIG | formats.picture_options()
    if on_select is None:
        st.plotly_chart(drawn, key=key, config=config, alt=alt)
    else:
        st.plotly_chart(drawn, key=key, config=config, alt=alt, on_select=on_select, selection_mode="points")
    if sentences := [words for trace in drawn.data for words in _hover_texts(trace)]:
        st.html(values(sentences))


def _hover_texts(trace: Any) -> Sequence[str]:
    hover = getattr(trace, "hovertext", None)
    return [] if hover is None else [hover] if isinstance(hover, str) else list(hover)


def clicked(state: Any) -> tuple[int, ...] | None:
    """Return the `customdata` of the point that a figure's selection holds, None when nothing is selected.

    >>> clicked({"selection": {"points": [{"customdata": [21, 30]}]}})
    (21, 30)
    >>> clicked({"selection": {"points": [{"customdata": {"0": 3}}]}})
    (3,)
    """
    points = ((state or {}).get("selection") or {}).get("points") or []
    if not points or points[0].get("customdata") is None:
        return None
    data = points[0]["customdata"]
    values = data.values() if isinstance(data, Mapping) else data if isinstance(data, Sequence) else [data]
    return tuple(int(value) for value in values)


Row = TypeVar("Row")


def selected(state: Any, rows: Sequence[Row]) -> Row | None:
    """Return the one of `rows` in which a cell is selected; None when none is, or it is not in the table.

    >>> [selected({"selection": {"cells": [(row, "Question")]}}, ["a", "b"]) for row in (1, 2)]
    ['b', None]
    """
    cells = ((state or {}).get("selection") or {}).get("cells") or []
    return rows[cells[0][0]] if cells and cells[0][0] < len(rows) else None


def ticked(state: Any, ids: Sequence[str]) -> list[str]:
    """Return the ids of the rows whose boxes are ticked, in the order of the table.

    >>> ticked({"selection": {"rows": [2, 0, 7], "cells": []}}, ["a", "b", "c"]), ticked(None, ["a"])
    (['a', 'c'], [])
    """
    rows = set(((state or {}).get("selection") or {}).get("rows") or [])
    return [row_id for place, row_id in enumerate(ids) if place in rows]


def forecast_tiles(forecast: Forecast) -> None:
    """Draw the tiles of a dry run: calls, tokens, cost, time."""
    unpaid = forecast.total - forecast.cached
    tile("Model calls", f"{forecast.total:,}", f"{forecast.cached:,} of them already paid")
    tokens = f"{forecast.prompt_tokens:,} input + {forecast.completion_tokens:,} output"
    tile("Tokens to pay", f"{forecast.prompt_tokens + forecast.completion_tokens:,}", f"{tokens}, estimated")
    dollars = "–" if forecast.cost is None else f"\\${forecast.cost:,.2f}"
    tile("Cost", dollars, "no price known: enter it in Settings" if forecast.cost is None else "estimated")
    duration = wording.duration(forecast.seconds) if unpaid and forecast.seconds is not None else "–"
    basis = "from this endpoint's earlier calls" if forecast.seconds is not None else "the endpoint does not answer"
    tile("Time for the calls", duration, basis if unpaid else "all are paid")


def interval_words(estimate: Estimate) -> str:
    """Return an interval as a cell shows it."""
    return "" if estimate.mean is None else estimate.interval_words()


def table(
    rows: pd.DataFrame,
    key: str,
    *,
    columns: Mapping[str, Any] | None = None,
    on_select: Callable[[], None] | None = None,
    height: int | Literal["auto", "content", "stretch"] = "auto",
    alt: str | None = None,
    empty: str = "",
    several: bool = False,
    row_height: int | None = None,
) -> None:
    """Show rows without an index; with `on_select` a click anywhere in a row is put into `st.session_state[key]`.

    With `several` each row has a box to tick too; `ticked` reads which are. `empty` is shown in cells without a value.
    In rows of `TWO_LINES` pixels, long text is broken.
    """
    shown = rows.copy()
    for place, column in enumerate(rows.dtypes):
        if not pd.api.types.is_numeric_dtype(column):
            cells = rows.iloc[:, place].map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
            shown.isetitem(place, cells.array)
    options: dict[str, Any] = {"hide_index": True, "column_config": columns, "height": height, "alt": alt, "key": key}
    options |= {"placeholder": empty, "row_height": row_height}
    if on_select is not None:
        options |= {
            "on_select": on_select,
            "selection_mode": ["multi-row", "single-cell"] if several else "single-cell",
        }
    st.dataframe(shown, **options)


ROW = 35
"""Pixels of a row of a table, its header too."""
TWO_LINES = 62
"""Pixels of a row in which text stands in two lines: Streamlit breaks text in rows of more than 60."""

FOUR_LINES = 104
"""Pixels of a row in which text stands in up to four lines."""
_PADDING, _LETTER = 16, 8
"""Pixels beside the text of a cell, and of a letter, with what the breaks of lines leave empty."""


def fitting(text: str, width: int, lines: int) -> str:
    """Return as much of a text as some lines of a column of `width` pixels hold: the grid cuts the rest on both sides.

    >>> fitting("Who leads the guild of weavers, and since when?", 232, 1), fitting("谁负责年假的审批？" * 3, 232, 1)
    ('Who leads the guild of…', '谁负责年假的审批？谁负责…')
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text) / max(1, len(text))
    return shortened(text, int(lines * (width - _PADDING) / (_LETTER * (1 + wide))))


def height_of(count: int, most: int, row: int = ROW) -> int | Literal["content"]:
    """Return the height of a table that shows `most` rows at once, and none that is empty.

    >>> height_of(3, 12), height_of(40, 12)
    ('content', 455)
    """
    return "content" if count <= most else ROW + row * most


def above_table(key: str) -> Any:
    """Return the row above a table, for its count and buttons; its end is kept free for the table's toolbar."""
    return st.container(horizontal=True, vertical_alignment="center", key=f"above-{key}")


def table_button(rows: pd.DataFrame | Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button that downloads exactly these rows, in the format chosen on Settings, which names the button.

    The file is made when the button is pressed, of the rows as they are now, whatever becomes of the frame; a function
    that returns the rows is called then. `name` is the file's, without ending.
    """
    make, chosen = _kept(rows) if isinstance(rows, pd.DataFrame) else rows, formats.table_format()
    st.download_button(
        chosen.name,
        lambda: chosen.write(make()),
        f"{name}.{chosen.ending}",
        chosen.media_type,
        key=key,
        help="Downloads these rows. Settings offers CSV, JSON Lines and Parquet.",
        on_click="ignore",
    )


def _kept(rows: pd.DataFrame) -> Callable[[], pd.DataFrame]:
    """Return a function that returns the rows as they are now."""
    kept = rows.copy()
    return lambda: kept
