"""Names of documents that were replaced or removed since something referred to them: "pumps.md (replaced since)"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

UNKNOWN = "a deleted document"
"""Stands for the name of a document that no table holds any more."""
_MARKS = {"replaced": " (replaced since)", "removed": " (removed since)"}


def marked(name: str, became: Literal["replaced", "removed"]) -> str:
    """Return the name of a document that is not as it was.

    >>> marked("pumps.md", "removed")
    'pumps.md (removed since)'
    """
    return name + _MARKS[became]


def unmarked(name: str) -> str:
    """Return the name that the document's file had.

    >>> unmarked("pumps.md (replaced since)"), unmarked("pumps.md")
    ('pumps.md', 'pumps.md')
    """
    mark = next(filter(name.endswith, _MARKS.values()), "")
    return name.removesuffix(mark)


def is_among(name: str, names: Iterable[str]) -> bool:
    """Return whether one of `names` is `name`, or the document that was called so.

    >>> is_among("pumps.md", ["pumps.md (removed since)"]), is_among("valves.md", ["pumps.md"])
    (True, False)
    """
    return any(name in (each, unmarked(each)) for each in names)
