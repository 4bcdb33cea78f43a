"""Reviews of questions by people, and comments on questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core import digests
from ragviz.core.question_set import Comment, Review
from ragviz.store import changes, schema
from ragviz.store.database import repeated
from ragviz.text.untrusted import storable

Rows = Callable[[sa.Select[Any]], Sequence[Row[Any]]]
"""Runs a query: `Store._rows`."""
Change = Callable[[str, Literal["questions"]], AbstractContextManager[Connection]]
"""Opens a transaction that changes a question set: `Store._change`."""


class StoreReviews:
    """Reviews of questions by people, and comments on questions."""

    def __init__(self, rows: Rows, change: Change) -> None:
        """Use the tables of reviews and comments."""
        self._rows, self._change = rows, change

    def all(self, set_id: str, question_id: str = "") -> list[Review]:
        """Return all assignments and verdicts of a set, or those of a question, by question and reviewer."""
        table = schema.reviews
        query = sa.select(table).where(table.c.set_id == set_id).order_by(table.c.question_id, table.c.reviewer)
        query = query.where(table.c.question_id == question_id) if question_id else query
        return [
            Review(row.question_id, row.reviewer, row.assigned, row.verdict or None, row.decided, row.version)
            for row in self._rows(query)
        ]

    @repeated
    def put(self, set_id: str, reviews: Sequence[Review]) -> None:
        """Store assignments and verdicts, in place of those of the same question and reviewer."""
        rows = [
            asdict(review) | {"set_id": set_id, "verdict": review.verdict or ""}
            for review in sorted(reviews, key=lambda review: (review.question_id, review.reviewer))
        ]
        with self._change(set_id, "questions") as connection:
            insert = changes.inserted(connection, schema.reviews)
            values = {name: insert.excluded[name] for name in ("assigned", "verdict", "decided", "version")}
            upsert = insert.on_conflict_do_update(index_elements=["set_id", "question_id", "reviewer"], set_=values)
            for batch in changes.batches(rows):
                connection.execute(upsert, batch)

    @repeated
    def remove(self, set_id: str, reviewer: str, question_ids: Sequence[str]) -> None:
        """Delete a reviewer's assignments and verdicts on these questions."""
        table = schema.reviews
        with self._change(set_id, "questions") as connection:
            for batch in changes.batches(question_ids):
                mine = sa.and_(table.c.set_id == set_id, table.c.reviewer == reviewer)
                connection.execute(table.delete().where(mine, table.c.question_id.in_(batch)))

    def comments(self, set_id: str, question_id: str = "") -> list[Comment]:
        """Return the comments on a question, or on all of a set, the oldest first."""
        table = schema.comments
        query = sa.select(table).where(table.c.set_id == set_id).order_by(table.c.created, table.c.id)
        rows = self._rows(query.where(table.c.question_id == question_id) if question_id else query)
        return [Comment(row.id, row.question_id, row.author, row.text, row.created) for row in rows]

    @repeated
    def comment(self, set_id: str, question_id: str, author: str, text: str) -> None:
        """Add a comment on a question."""
        row = {"question_id": question_id, "author": author, "text": storable(text), "created": time.time()}
        with self._change(set_id, "questions") as connection:
            connection.execute(schema.comments.insert().values(set_id=set_id, id=digests.new_id(), **row))

    @repeated
    def delete_comment(self, set_id: str, comment_id: str) -> None:
        """Delete a comment."""
        table = schema.comments
        with self._change(set_id, "questions") as connection:
            connection.execute(table.delete().where(table.c.set_id == set_id, table.c.id == comment_id))
