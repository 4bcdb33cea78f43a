"""Tables as CSV files."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from ragviz.questions.interchange import csv_of


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
