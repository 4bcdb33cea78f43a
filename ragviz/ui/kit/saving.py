"""Tables and pictures as files, in the formats that were chosen on Settings in this tab of the browser."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.questions.interchange import csv_of

TABLE, PICTURE = "table-format", "picture-format"
PICTURES = {"png": "PNG", "svg": "SVG"}
"""Formats of pictures → their names; plotly makes both in the browser."""


def csv_file(rows: pd.DataFrame) -> bytes:
    """Return rows as a CSV file as `csv_of` writes it; a cell without a value is empty."""
    return csv_of([*map(str, rows.columns)], _cells(rows).itertuples(index=False, name=None))


def jsonl_file(rows: pd.DataFrame) -> bytes:
    """Return rows as an object a line, in UTF-8; a cell without a value is null."""
    names = [*map(str, rows.columns)]
    cells = _cells(rows).itertuples(index=False, name=None)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=_plain) for row in cells)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def parquet_file(rows: pd.DataFrame) -> bytes:
    """Return rows as a Parquet file; cells of a column that have several types are written as their JSON."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {}
    for name in rows.columns:
        cells = [_plain(cell) for cell in _cells(rows[[name]])[name]]
        try:
            columns[str(name)] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            texts = [None if cell is None else json.dumps(cell, ensure_ascii=False, default=str) for cell in cells]
            columns[str(name)] = pa.array(texts)
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How tables are saved: the name on buttons, the ending and media type of files, and what writes one."""

    name: str
    ending: str
    media_type: str
    write: Callable[[pd.DataFrame], bytes]


TABLES: Mapping[str, TableFormat] = {
    "csv": TableFormat("CSV", "csv", "text/csv", csv_file),
    "jsonl": TableFormat("JSON Lines", "jsonl", "application/jsonl", jsonl_file),
    "parquet": TableFormat("Parquet", "parquet", "application/vnd.apache.parquet", parquet_file),
}
"""Formats of tables by their endings."""


def table_format() -> TableFormat:
    """Return the format in which tables are saved in this tab: CSV where none was chosen."""
    return TABLES[st.session_state.get(TABLE, "csv")]


def picture_options() -> dict[str, Any]:
    """Return plotly's options of the button that saves a picture, in the format chosen in this tab, PNG by default."""
    return {"toImageButtonOptions": {"format": st.session_state.get(PICTURE, "png"), "scale": 2}}


def button(rows: pd.DataFrame | Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button that downloads exactly these rows, in the format chosen on Settings, which names the button.

    The file is made when the button is pressed, of the rows as they are now, whatever becomes of the frame; a function
    that returns the rows is called then. `name` is the file's, without ending.
    """
    kept = rows.copy() if isinstance(rows, pd.DataFrame) else rows
    chosen = table_format()
    st.download_button(
        chosen.name,
        lambda: chosen.write(kept if isinstance(kept, pd.DataFrame) else kept()),
        f"{name}.{chosen.ending}",
        chosen.media_type,
        key=key,
        help="Downloads these rows. Settings offers CSV, JSON Lines and Parquet.",
        on_click="ignore",
    )


def choose() -> None:
    """Draw the choice of both formats."""
    with st.container(horizontal=True, gap="large"):
        _choice("Tables", TABLE, {ending: each.name for ending, each in TABLES.items()})
        _choice("Pictures", PICTURE, PICTURES)


def _choice(label: str, key: str, names: Mapping[str, str]) -> None:
    """Draw a choice that outlives its widget, which the session forgets when another page is opened."""

    def keep() -> None:
        st.session_state[key] = st.session_state[f"choice-{key}"]

    st.session_state[f"choice-{key}"] = st.session_state.get(key, next(iter(names)))
    st.segmented_control(
        label, [*names], key=f"choice-{key}", format_func=names.__getitem__, on_change=keep, required=True
    )


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.astype(object).where(rows.notna(), None)


def _plain(cell: Any) -> Any:
    """Return a cell as Python's own type: numbers of numpy by their values, times as ISO 8601."""
    if hasattr(cell, "item"):
        return cell.item()
    return cell.isoformat() if hasattr(cell, "isoformat") else cell
