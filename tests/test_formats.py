"""Tables of pages as files: the same rows read back from each format."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
from pyarrow import parquet

from ragviz.ui.kit import saving

ROWS = pd.DataFrame(
    {
        "question": ["=1+1", "阀门在哪里？", None],
        "n": [1, 2, 3],
        "score": [0.5, np.nan, 1.0],
        "tags": [["a", "b"], [], None],
        "mixed": [1, "–", 2.5],
        "when": [pd.Timestamp("2026-01-02 03:04:05"), None, None],
    }
)


def test_jsonl_has_an_object_a_line_with_null_for_what_is_missing() -> None:
    read = [json.loads(line) for line in saving.jsonl_file(ROWS).decode().splitlines()]
    assert read == [
        {"question": "=1+1", "n": 1, "score": 0.5, "tags": ["a", "b"], "mixed": 1, "when": "2026-01-02T03:04:05"},
        {"question": "阀门在哪里？", "n": 2, "score": None, "tags": [], "mixed": "–", "when": None},
        {"question": None, "n": 3, "score": 1.0, "tags": None, "mixed": 2.5, "when": None},
    ]
    assert saving.jsonl_file(ROWS[:0]) == b""


def test_parquet_keeps_types_and_writes_a_mixed_column_as_json() -> None:
    table = parquet.read_table(io.BytesIO(saving.parquet_file(ROWS)))
    assert table.schema.names == list(ROWS.columns)
    assert {name: str(table.schema.field(name).type) for name in ("question", "n", "score", "tags", "mixed")} == {
        "question": "string",
        "n": "int64",
        "score": "double",
        "tags": "list<element: string>",
        "mixed": "string",
    }
    assert table.column("question").to_pylist() == ["=1+1", "阀门在哪里？", None]
    assert table.column("score").to_pylist() == [0.5, None, 1.0]
    assert table.column("mixed").to_pylist() == ["1", '"–"', "2.5"]
    assert parquet.read_table(io.BytesIO(saving.parquet_file(ROWS[:0]))).num_rows == 0
