"""Rows within a logged file: lists of objects, columns as lists, objects by id; and columns of objects within rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragviz.documents.tables_in import REFUSED, SHORT, structured
from ragviz.targets.logged_content import Content, Row, as_rows, plain
from ragviz.targets.logged_roles import ROLES

SAMPLE, DEEPEST, MOST_COLUMNS, MOST_SYSTEMS = 200, 4, 1_000, 50
"""Rows from which roles are guessed, levels of objects within objects with columns; columns, systems at most."""


def name_of(whole: Any, path: tuple[str, ...], beside: Sequence[tuple[str, ...]]) -> str:
    """Return what a list is called: by the key that tells it from those beside it, or by the name of that object."""
    at = next((n for n in range(len(path)) if len({each[n] for each in beside}) > 1), len(path) - 1)
    above = whole
    for part in path[: at + 1]:
        above = above[int(part) if isinstance(above, list) else part]
    named = above if isinstance(above, dict) and path[at].isdigit() else {}
    return str(next((named[key] for key in ("name", "system", "model", "label", "id") if named.get(key)), path[at]))


def lists_in(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, Row], ...]]]:
    """Yield the lists of objects in a value with the keys that lead there: also columns of equal length, as rows."""
    if len(path) > DEEPEST + 2:
        return
    if isinstance(value, dict):
        if rows := transposed(value):
            yield path, as_rows(rows)
    elif value and isinstance(value, list) and isinstance(value[0], dict):
        yield path, as_rows(value)
    else:
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value[:MOST_SYSTEMS]):
        yield from lists_in(each, (*path, str(key)))


def transposed(value: Mapping[str, Any]) -> list[Row]:
    """Return the rows of an object that is columns, or objects with keys in common; none of others.

    >>> transposed({"question": ["A?", "B?"], "scores": {"care": [1, 0]}, "version": 2})
    [{'question': 'A?', 'care': 1}, {'question': 'B?', 'care': 0}]
    """
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # as pandas splits a table
        return [dict(zip(value["columns"], cells, strict=False)) for cells in value["data"] if isinstance(cells, list)]
    asked = next((each for key, each in value.items() if plain(key) in ROLES["question"].names.split()), None)
    if isinstance(asked, list) and asked and not isinstance(asked[0], dict):
        within = [inner for inner in value.values() if isinstance(inner, dict)]
        columns = {k: each for part in (value, *within) for k, each in part.items() if isinstance(each, list)}
        columns = {key: each for key, each in columns.items() if len(each) == len(asked)}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    inner = [*value.values()]
    if len(inner) < 2 or not all(isinstance(each, dict) for each in inner) or not set.intersection(*map(set, inner)):
        return []
    if isinstance(asked, dict):
        return [{column: cells.get(key) for column, cells in value.items()} for key in asked]
    key_is = "question" if any(" " in key for key in value) else "id"
    return [{key_is: key, **each} for key, each in value.items()]


def columns_of(tables: Sequence[Content], levels: int = DEEPEST) -> tuple[str, ...]:
    """Return the columns of rows, those of objects within them joined by dots, in the order in which they come."""
    names: dict[str, None] = {}
    for table in tables:
        for _, row in table.rows[:SAMPLE]:
            if REFUSED not in row:
                names |= dict.fromkeys(_paths(row, levels))
    return tuple(name for name in names if name and name != SHORT)[:MOST_COLUMNS]


def _paths(row: Row, levels: int, before: str = "") -> Iterator[str]:
    for key, value in row.items():
        yield f"{before}{key}"
        inner = structured(value) if isinstance(value, str) and value[:1] == "{" else value
        if isinstance(inner, dict) and levels > 1 and len(inner) <= MOST_COLUMNS:
            yield from _paths(inner, levels - 1, f"{before}{key}.")


def cell(row: Row, column: str) -> Any:
    """Return what a row has in a column, also in one of an object within it; None where it has none."""
    if column in row:
        return row[column]
    first, dot, rest = column.partition(".")
    while dot:
        if first in row:
            inner = structured(row[first])
            if isinstance(inner, dict) and (found := cell(inner, rest)) is not None:
                return found
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return None
