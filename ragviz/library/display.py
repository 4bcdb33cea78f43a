"""How a terminal and a notebook show a result: a title, and its first rows as a table."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragviz.core.stopping import Progress, silent
from ragviz.text.markup import visible

if TYPE_CHECKING:
    import pandas as pd

ROWS = 10
"""Rows of a table that are shown; a result's `to_pandas()` has all of them."""


@contextmanager
def watched(progress: Progress) -> Iterator[Progress]:
    """Yield `progress`; where nobody listens, one that draws a bar in a terminal or a notebook."""
    if progress is not silent:
        yield progress
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not (console.is_terminal or console.is_jupyter)) as bar:
        task = bar.add_task("")

        def draw(done: int, total: int | None, unit: str, message: str = "") -> None:
            bar.update(task, completed=done, total=total, description=escape(f"{message}, {unit}" if unit else message))

        yield draw


class Shown(ABC):
    """A result with a `repr` for terminals and HTML for notebooks.

    Names and texts in it come from documents, questions and models: none of them is markup there, or steers a terminal.
    """

    __slots__ = ()

    @abstractmethod
    def _title(self) -> str:
        """What it is, in a line."""

    def to_pandas(self) -> pd.DataFrame:
        """Its numbers as a table."""
        raise NotImplementedError

    def _table(self) -> pd.DataFrame:
        """What is shown below the title; nothing when it has no rows."""
        return self.to_pandas()

    def __repr__(self) -> str:
        table = _plain(self._table())
        rows = table.to_string(max_rows=ROWS, max_colwidth=60, float_format="{:.3f}".format, na_rep="")
        return f"{visible(self._title())}\n{rows}" if len(table) else visible(self._title())

    def _repr_html_(self) -> str:
        table = _plain(self._table())
        rows = table.to_html(max_rows=ROWS, float_format="{:.3f}".format, na_rep="", border=0, escape=True)
        return f"<p>{html.escape(visible(self._title()))}</p>{rows if len(table) else ''}"


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The table without control characters in its texts and in the names of its rows."""
    shown = table.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    return shown.rename(index=lambda name: visible(name) if isinstance(name, str) else name)
