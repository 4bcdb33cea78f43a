"""A table: count, filters and download above it, a row that can be pressed, and boxes to tick."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pandas as pd
import streamlit as st

from ragviz.questions.interchange import csv_of
from ragviz.text.markup import shortened, visible
from ragviz.ui import address

Row = TypeVar("Row")
HEIGHTS = {1: 35, 2: 62, 4: 104}
"""Lines of text in a row → its pixels; Streamlit breaks text in rows of more than 60. The header has those of 1."""
_GREY = {"light": "#5F6873", "dark": "#9AA4B0"}
"""The text of rows in grey on both themes: AA contrast."""
_PADDING, _LETTER = 16, 8
"""Pixels beside the text of a cell, and of a letter, with what the breaks of lines leave empty."""


def number(width: int | None = None, written: str | None = None, **more: Any) -> Any:
    """Return a column of numbers that are written as the format `written` says ("%.2f")."""
    return st.column_config.NumberColumn(width=width, format=written, **more)


def bar(width: int = 110, written: str = "%.2f", **more: Any) -> Any:
    """Return a column of shares from 0 to 1, each with a bar."""
    return st.column_config.ProgressColumn(min_value=0, max_value=1, format=written, width=width, **more)


def text(width: int | Literal["small", "medium", "large"], **more: Any) -> Any:
    """Return a column of words with more options than a width, as `st.column_config.TextColumn` has them."""
    return st.column_config.TextColumn(width=width, **more)


def row_above(key: str, words: str = "", *, title: str = "") -> Any:
    """Return the row above the table `key`, for its filters, with a `title` or `words` (markdown) at its beginning."""
    row = st.container(horizontal=True, vertical_alignment="center", key=f"above-{key}")
    if title:
        row.header(title, anchor=False)
    if words:
        row.markdown(words, width="stretch")
    return row


def draw(
    rows: pd.DataFrame,
    key: str,
    *,
    alt: str,
    above: Any = "",
    file: str = "",
    columns: Mapping[str, Any] | None = None,
    among: Sequence[Row] = (),
    opened: Callable[[Row], object] | None = None,
    goes: Callable[[Row], object] | None = None,
    turn: str = "",
    several: bool = False,
    most: int | None = None,
    lines: Literal[1, 2, 4] = 1,
    empty: str = "",
    grey: Sequence[bool] = (),
) -> None:
    """Show rows without an index, their text escaped.

    Args:
        rows: what is shown, and downloaded, in its order.
        key: the table's name; the row above has the key `above-KEY`, the download `KEY-csv`.
        alt: what the table holds, for who does not see it.
        above: words (markdown) for the row above, or the row itself, as `row_above` returns it.
        file: name of the download, without ending; "" for none.
        columns: widths in pixels, or how a column is drawn (`number`, `bar`, `text`), by its name.
        among: what stands in each row.
        opened: called with the one of `among` in whose row a cell is pressed.
        goes: called likewise, after the table is drawn: it may open another page.
        turn: what the table is drawn of: with another one, nothing is selected.
        several: each row has a box to tick too; `ticked` reads which are, by the key `KEY-TURN`.
        most: rows seen at once, None for all.
        lines: of text in a row; longer text is cut by the browser.
        empty: shown in cells without a value.
        grey: which rows are written in grey italics; what that means has to be said beside.

    """
    if file:
        with row_above(key, above) if isinstance(above, str) else above:
            download(lambda: rows, file, f"{key}-csv")
    shown = rows.copy()
    for column, kind in enumerate(rows.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = rows.iloc[:, column].map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
            shown.isetitem(column, cells.array)
    state = f"{key}-{turn}" if turn else key
    config = {name: {"width": each} if isinstance(each, int) else each for name, each in (columns or {}).items()}
    options: dict[str, Any] = {"hide_index": True, "column_config": config, "alt": alt, "key": state}
    options |= {"height": height(len(rows), most, lines), "placeholder": empty}
    options |= {"row_height": None if lines == 1 else HEIGHTS[lines]}
    if opened is not None or goes is not None:

        def pressed() -> None:
            chosen = selected(st.session_state[state], among)
            if chosen is not None and opened is not None:
                opened(chosen)
            elif chosen is not None:
                st.session_state[f"{key}-goes"] = chosen

        options |= {"on_select": pressed}
        options |= {"selection_mode": ["multi-row", "single-cell"] if several else "single-cell"}
    if any(grey):
        style = f"color: {_GREY.get(st.context.theme.type or 'light', _GREY['light'])}; font-style: italic"
        marked = list(grey)
        st.dataframe(shown.style.apply(lambda row: [style if marked[row.name] else ""] * len(row), axis=1), **options)
    else:
        st.dataframe(shown, **options)
    if goes is not None and (going := st.session_state.pop(f"{key}-goes", None)) is not None:
        goes(going)


def download(rows: Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button that downloads rows as `name`.csv, made when it is pressed; a cell without a value is empty."""

    def made() -> bytes:
        shown = rows()
        cells = shown.astype(object).where(shown.notna(), None)
        return csv_of([*map(str, shown.columns)], cells.itertuples(index=False, name=None))

    st.download_button("CSV", made, f"{name}.csv", "text/csv", key=key, help="These rows", on_click="ignore")


def selected(state: Any, among: Sequence[Row]) -> Row | None:
    """Return the one of `among` in whose row a cell is selected; None when none is, or it is not in the table.

    >>> [selected({"selection": {"cells": [(row, "Question")]}}, ["a", "b"]) for row in (1, 2)]
    ['b', None]
    """
    cells = ((state or {}).get("selection") or {}).get("cells") or []
    return among[cells[0][0]] if cells and cells[0][0] < len(among) else None


def ticked(state: Any, among: Sequence[Row]) -> list[Row]:
    """Return those of `among` whose boxes are ticked, in the order of the table.

    >>> ticked({"selection": {"rows": [2, 0, 7], "cells": []}}, ["a", "b", "c"]), ticked(None, ["a"])
    (['a', 'c'], [])
    """
    rows = set(((state or {}).get("selection") or {}).get("rows") or [])
    return [each for place, each in enumerate(among) if place in rows]


def fitting(words: str, width: int, lines: int) -> str:
    """Return as much of a text as some lines of a column of `width` pixels hold: the grid cuts the rest on both sides.

    >>> fitting("Who leads the guild of weavers, and since when?", 232, 1), fitting("谁负责年假的审批？" * 3, 232, 1)
    ('Who leads the guild of…', '谁负责年假的审批？谁负责…')
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words) / max(1, len(words))
    return shortened(words, int(lines * (width - _PADDING) / (_LETTER * (1 + wide))))


def height(count: int, most: int | None, lines: int = 1) -> int | Literal["content"]:
    """Return the height of a table that shows `most` rows at once, and none that is empty.

    >>> height(3, 12, 1), height(40, 12, 1), height(40, None, 1)
    ('content', 455, 'content')
    """
    return "content" if most is None or count <= most else HEIGHTS[1] + HEIGHTS[lines] * most


def page(count: int, size: int, name: str) -> tuple[int, int]:
    """Return first row and end of the page of `size` rows that the parameter `name` names, of `count` rows."""
    last = -(-count // size)
    if last < 2:
        return 0, count

    def read(text: str) -> int | None:
        number = address.number_within(1, count)(text)
        return None if number is None else min(number, last)

    bound = address.bound(name, 1, read, f"1 to {last}")
    place = int(st.number_input(f"Page of {last:,}, {size:,} rows each", 1, last, width=220, **bound)) - 1
    return place * size, min(count, (place + 1) * size)
