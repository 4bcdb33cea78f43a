"""Comments of people on questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core import digests
from ragviz.core.question_set import Comment
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.text.untrusted import storable

Rows = Callable[[sa.Select[Any]], Sequence[Row[Any]]]
"""Runs a query: `Store._rows`."""
Change = Callable[[str, Literal["questions"]], AbstractContextManager[Connection]]
"""Opens a transaction that changes a question set: `Store._change`."""


class StoreComments:
    """Comments of people on questions."""

    def __init__(self, rows: Rows, change: Change) -> None:
        """Use the table of comments."""
        self._rows, self._change = rows, change

    def all(self, set_id: str, question_id: str = "") -> list[Comment]:
        """Return the comments on a question, or on all of a set, the oldest first."""
        table = schema.comments
        query = sa.select(table).where(table.c.set_id == set_id).order_by(table.c.created, table.c.id)
        rows = self._rows(query.where(table.c.question_id == question_id) if question_id else query)
        return [Comment(row.id, row.question_id, row.author, row.text, row.created) for row in rows]

    @repeated
    def add(self, set_id: str, question_id: str, author: str, text: str) -> None:
        """Add a comment on a question."""
        row = {"question_id": question_id, "author": author, "text": storable(text), "created": time.time()}
        with self._change(set_id, "questions") as connection:
            connection.execute(schema.comments.insert().values(set_id=set_id, id=digests.new_id(), **row))

    @repeated
    def delete(self, set_id: str, comment_id: str) -> None:
        """Delete a comment."""
        table = schema.comments
        with self._change(set_id, "questions") as connection:
            connection.execute(table.delete().where(table.c.set_id == set_id, table.c.id == comment_id))
