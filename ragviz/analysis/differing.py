"""The choices of a configuration as a person reads them: their names, and which of them a run uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.fields import Field, fields_of

OF_INDEX = "index."
"""What stands before a choice of a run's index in its dotted name."""
NAMED = {"index": "Index", "index.name": "Index"}
"""What stands beside the choices in a run's table."""


def field_of(key: str) -> Field | None:
    """Return the declaration of a choice of a run ("k"), or of its index ("index.chunk_size")."""
    if key.startswith(OF_INDEX):
        return fields_of(IndexConfig).get(key.removeprefix(OF_INDEX))
    return fields_of(RunConfig).get(key)


def title(key: str) -> str:
    """Return the name of a choice by its dotted key; options of a backend have their own names.

    >>> title("index.chunk_size"), title("index.options.ef_construction"), title("of a later version")
    ('Chunk size (tokens)', 'Backend: ef construction', 'of a later version')
    """
    if key in NAMED:
        return NAMED[key]
    if (field := field_of(key)) is not None:
        return field.label
    group = "index.options."
    return f"Backend: {key.removeprefix(group).replace('_', ' ')}" if key.startswith(group) else key


def used(key: str, config: Mapping[str, Any]) -> bool:
    """Whether a run with this configuration uses a choice: the RRF constant counts in hybrid retrieval only."""
    if key in ("k", "depth") and "retriever" not in config:
        return False  # another system's
    field, record = field_of(key), IndexConfig if key.startswith(OF_INDEX) else RunConfig
    given = config.get("index", {}) if record is IndexConfig else config
    return field is None or field.counts({**{name: each.default for name, each in fields_of(record).items()}, **given})


def value_words(key: str, value: object) -> str:
    """Return the value of a choice as a table shows it; a dash where a run has no such choice.

    >>> value_words("metrics", ["faithfulness", "token_f1"]), value_words("split", ""), value_words("model", None)
    ('faithfulness, token_f1', 'all questions', '–')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    field = field_of(key)
    return (field.title(value) if field is not None and value is not None else str(value or "")) or "–"
