"""A file in which another program logged what it read, answered and perhaps judged, in whatever shape."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ragviz.core.errors import InputError
from ragviz.targets.logged_roles import ROLES
from ragviz.targets.target import Target

if TYPE_CHECKING:  # the formats and roles are listed by `ragviz --help`
    from ragviz.targets.logged_item import Reading

__all__ = ["AUTO", "EXTENSIONS", "FORMATS", "ROLES", "TARGET", "read"]


FORMATS: Mapping[str, str] = {
    "rows": "rows of a question, its answer and contexts, or of one context each: CSV, TSV, Excel, JSON, JSON Lines, "
    "Parquet. Columns are recognised by what Ragas, DeepEval, TruLens, Phoenix, Langfuse, RAGChecker, promptfoo, "
    "AutoRAG, Haystack and others call them, and can be chosen.",
    "inspectorraget": "a file of InspectorRAGet: tasks, documents, the answers and scores of one or several models.",
    "spans": "traces of OpenInference, OpenTelemetry GenAI, OpenLLMetry or TruLens, in JSON of OTLP, Jaeger, Tempo or "
    "Phoenix: question and answer from the outermost span, contexts from those that retrieve.",
}
"""What a file of a format holds, by its name; all but `rows` have a file of ours, which makes rows of it."""
EXTENSIONS = ("csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "xlsx", "xlsm")
AUTO = "auto"
"""In place of a format's name: the one that the file is recognised as."""


def read(data: bytes, name: str, file_format: str = AUTO, roles: Mapping[str, str] | None = None) -> Reading:
    """Read a file; the `name` is for errors, and tells Excel from other archives.

    `roles` are columns by role, in place of those that are guessed; "" for a role that no column has.

    Raises:
        InputError: it cannot be read, holds no answers and no contexts, or has no such column; no such role.

    """
    from ragviz.targets import logged_content, logged_rows

    content = logged_content.opened(data, name)
    shapes = [each for each in FORMATS if each != "rows"] if file_format == AUTO else [file_format]
    for shape in shapes:
        if shape != "rows":
            rows = import_module(f"ragviz.targets.{shape}").rows(content)
            if rows:
                return logged_rows.read(logged_content.Content(name, rows), roles or {}, shape)
            if file_format != AUTO:
                raise InputError(f"'{name}' is no file of {shape}: leave the format to be recognised.")
    return logged_rows.read(content, roles or {}, "rows")


SYSTEM = Target("what the system read", hands_over=None, live=False)
"""A running system that was asked: through an endpoint, or as a function."""
TARGET = Target("the passages of an imported file", hands_over=None, live=False)
