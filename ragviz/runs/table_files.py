"""Tables of a run written as CSV, JSON Lines or Parquet, with the same values in each."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from ragviz.questions.interchange import csv_of
from ragviz.runs.tables import TABLES, Column

Rows = Sequence[Sequence[Any]]


def _csv(columns: Sequence[Column], rows: Rows) -> bytes:
    """Write CSV: a list is its JSON, None an empty cell, text that would be a formula gets a ' in front."""
    return csv_of([column.name for column in columns], rows)


def _jsonl(columns: Sequence[Column], rows: Rows) -> bytes:
    """Write an object a line; no line for an empty table."""
    names = [column.name for column in columns]
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode()


def _parquet(columns: Sequence[Column], rows: Rows) -> bytes:
    """Write Parquet with a declared type for every column, so that an empty one has it too; descriptions in its schema.

    Types: text string, integer int64, number double, yes/no bool; lists of string and of int64.
    """
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
        "texts": pa.list_(pa.string()),
        "integers": pa.list_(pa.int64()),
    }
    schema = pa.schema(
        [pa.field(c.name, types[c.kind], metadata={"description": c.explanation}) for c in columns],
    )
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, type=field.type) for column, field in zip(cells, schema, strict=True)]
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


FORMATS: dict[str, Callable[[Sequence[Column], Rows], bytes]] = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}
"""Name of a format, which is the ending of its files, → the function that writes it."""


def written(name: str, rows: Rows, file_format: str) -> bytes:
    """Write the rows of the table `name` in one of `FORMATS`."""
    return FORMATS[file_format](TABLES[name].columns, rows)
