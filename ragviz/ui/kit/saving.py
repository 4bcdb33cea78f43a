"""Tables as CSV files, and the format of pictures, which was chosen on Settings in this tab of the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.questions.interchange import csv_of

PICTURE = "picture-format"
PICTURES = {"png": "PNG", "svg": "SVG"}
"""Formats of pictures → their names; plotly makes both in the browser."""


def picture_options() -> dict[str, Any]:
    """Return plotly's options of the button that saves a picture, in the format chosen in this tab, PNG by default."""
    return {"toImageButtonOptions": {"format": st.session_state.get(PICTURE, "png"), "scale": 2}}


def button(rows: pd.DataFrame | Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button that downloads exactly these rows as CSV; a cell without a value is empty.

    The file is made when the button is pressed, of the rows as they are now, whatever becomes of the frame; a function
    that returns the rows is called then. `name` is the file's, without ending.
    """
    kept = rows.copy() if isinstance(rows, pd.DataFrame) else rows

    def made() -> bytes:
        shown = kept if isinstance(kept, pd.DataFrame) else kept()
        cells = shown.astype(object).where(shown.notna(), None)
        return csv_of([*map(str, shown.columns)], cells.itertuples(index=False, name=None))

    st.download_button("CSV", made, f"{name}.csv", "text/csv", key=key, help="These rows", on_click="ignore")


def choose() -> None:
    """Draw the choice of the format of pictures, which the session forgets with its widget on another page."""
    st.session_state[f"choice-{PICTURE}"] = st.session_state.get(PICTURE, "png")
    st.segmented_control(
        "Pictures", [*PICTURES], key=f"choice-{PICTURE}", format_func=PICTURES.__getitem__, required=True,
        on_change=lambda: st.session_state.update({PICTURE: st.session_state[f"choice-{PICTURE}"]}),
    )  # fmt: skip
