"""Tables as they were drawn before `kit/table.py`, which replaces this file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import pandas as pd
import streamlit as st

from ragviz.text.markup import visible


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
TWO_LINES = 62
FOUR_LINES = 104


def height_of(count: int, most: int, row: int = ROW) -> int | Literal["content"]:
    """Return the height of a table that shows `most` rows at once, and none that is empty.

    >>> height_of(3, 12), height_of(40, 12)
    ('content', 455)
    """
    return "content" if count <= most else ROW + row * most


def above_table(key: str) -> Any:
    """Return the row above a table, for its count and buttons; its end is kept free for the table's toolbar."""
    return st.container(horizontal=True, vertical_alignment="center", key=f"above-{key}")
