"""Comments of people on questions."""

from __future__ import annotations

import time

import sqlalchemy as sa

from ragviz.core.digests import new_id
from ragviz.core.question_set import Comment
from ragviz.store import schema
from ragviz.store.codecs import columns, record
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository
from ragviz.text.untrusted import storable


class StoredComments(Repository):
    """Comments of people on questions."""

    def all(self, set_id: str, question_id: str = "") -> list[Comment]:
        """Return the comments on a question, or on all of a set, the oldest first."""
        table = schema.comments.c
        query = sa.select(schema.comments).where(table.set_id == set_id).order_by(table.created, table.id)
        rows = self._rows(query.where(table.question_id == question_id) if question_id else query)
        return [record(Comment, row) for row in rows]

    @repeated
    def add(self, set_id: str, question_id: str, author: str, text: str) -> None:
        """Add a comment on a question."""
        row = columns(Comment(new_id(), question_id, author, storable(text), time.time()), schema.comments)
        with self._transactions.changing(set_id, "questions") as connection:
            connection.execute(schema.comments.insert().values(set_id=set_id, **row))

    @repeated
    def delete(self, set_id: str, comment_id: str) -> None:
        """Delete a comment."""
        table = schema.comments
        with self._transactions.changing(set_id, "questions") as connection:
            connection.execute(table.delete().where(table.c.set_id == set_id, table.c.id == comment_id))
