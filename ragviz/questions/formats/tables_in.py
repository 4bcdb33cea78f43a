"""Tables that are no text, of Excel and Parquet, as lines of JSON: a row as the object of its columns."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from ragviz.core.errors import InputError

EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def kind_of(head: bytes, name: str) -> str:
    """Return "parquet" or "excel" by the first bytes of a file, and the name where they are a .zip's; else ""."""
    if head[:4] == b"PAR1":
        return "parquet"
    return "excel" if head[:2] == b"PK" and name.lower().endswith((".xlsx", ".xlsm")) else ""


def as_lines(data: bytes, kind: str, name: str) -> bytes:
    """Return the rows of a table as JSON Lines in UTF-8, row 2 in line 2: line 1 is left blank for the titles.

    Of a workbook the first sheet with cells is read, its cells as they are shown.

    Raises:
        InputError: it is damaged, or holds no table.

    """
    try:
        rows = _of_parquet(data) if kind == "parquet" else _of_excel(data)
    except Exception as error:  # any error of a reader concerns this file only
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise InputError(
            f"'{name}' is a damaged {kind.capitalize()} file ({reason[0][:200]}): save it again."
        ) from None
    lines = "\n".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    if not lines:
        raise InputError(f"'{name}' is {'an Excel' if kind == 'excel' else 'a Parquet'} file without a row.")
    return f"\n{lines}\n".encode("utf-8", "replace")


def _of_parquet(data: bytes) -> Iterable[Mapping[str, Any]]:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()  # type: ignore[no-any-return]


def _of_excel(data: bytes) -> Iterable[Mapping[str, Any]]:
    import kreuzberg

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.getinfo("xl/workbook.xml")
    for table in kreuzberg.extract_bytes_sync(data, EXCEL).tables:
        titles, *rows = table.cells or [[]]
        if rows:
            return [dict(zip(map(str.strip, titles), row, strict=False)) for row in rows]
    return []
