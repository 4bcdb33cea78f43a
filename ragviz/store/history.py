"""Versions of question sets: each names what it replaced, so that any two can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.question import Question
from ragviz.core.question_set import SYSTEM, QuestionChange, SetVersion
from ragviz.store import changes, codecs, schema

Rows = Callable[[sa.Select[Any]], Sequence[Row[Any]]]
"""Runs a query: `Store._rows`."""


UNDO = "undo:"
"""How the key of an edit that takes a version back begins; the number of that version follows."""
RESTORE = "restore:"
"""How the key of an edit that goes back to a version begins; its own number, a colon and that of the version follow."""


class StoreHistory:
    """The versions of question sets."""

    def __init__(self, rows: Rows) -> None:
        """Use the tables of versions and changes."""
        self._rows = rows

    def versions(self, set_id: str) -> list[SetVersion]:
        """Return all versions of a set, the newest first; version 0, the set before its first edit, is not listed."""
        table, replaced = schema.set_versions, schema.question_changes
        counts = (
            sa.select(replaced.c.number, sa.func.count().label("questions"))
            .where(replaced.c.set_id == set_id)
            .group_by(replaced.c.number)
            .subquery()
        )
        query = sa.select(table, counts.c.questions).join(counts, counts.c.number == table.c.number)
        rows = self._rows(query.where(table.c.set_id == set_id).order_by(table.c.number.desc()))
        return [_version(row, row.questions) for row in rows]

    def changes(self, set_id: str, older: int, newer: int | None = None) -> list[QuestionChange]:
        """Return the questions that differ between two versions of a set, by id; `newer` None is the present one.

        What an edit changed and a later one changed back is left out. A side of a split is not part of a version.
        """
        after = {} if newer is None else self._replaced(set_id, newer)
        before = self._replaced(set_id, older)
        now = self._bodies(set_id, list(before))
        found = []
        for question_id, body in sorted(before.items()):
            later = after.get(question_id, now.get(question_id, ""))
            if body != later:
                found.append(QuestionChange(question_id, _question_of(body), _question_of(later)))
        return found

    def latest(self, set_id: str, question_id: str) -> SetVersion | None:
        """Return the newest version that changed a question, None without one; its `questions` is 0."""
        table, replaced = schema.set_versions, schema.question_changes
        same = sa.and_(replaced.c.set_id == table.c.set_id, replaced.c.number == table.c.number)
        query = sa.select(table).join(replaced, same)
        query = query.where(table.c.set_id == set_id, replaced.c.question_id == question_id)
        rows = self._rows(query.order_by(table.c.number.desc()).limit(1))
        return _version(rows[0], 0) if rows else None

    def of_question(self, set_id: str, question_id: str) -> list[tuple[SetVersion, Question | None]]:
        """Return the versions that changed a question, the newest first, and what the question was before each."""
        table, replaced = schema.set_versions, schema.question_changes
        same = sa.and_(replaced.c.set_id == table.c.set_id, replaced.c.number == table.c.number)
        query = sa.select(table, replaced.c.before).join(replaced, same)
        query = query.where(table.c.set_id == set_id, replaced.c.question_id == question_id)
        rows = self._rows(query.order_by(table.c.number.desc()))
        return [(_version(row, 1), _question_of(row.before)) for row in rows]

    def _replaced(self, set_id: str, number: int) -> dict[str, str]:
        """Return the bodies, as of a version, of the questions that later versions changed; "" for one not yet there.

        That is what the first later version replaced.
        """
        table = schema.question_changes
        first = (
            sa.select(table.c.question_id, sa.func.min(table.c.number).label("number"))
            .where(table.c.set_id == set_id, table.c.number > number)
            .group_by(table.c.question_id)
            .subquery()
        )
        same = sa.and_(first.c.question_id == table.c.question_id, first.c.number == table.c.number)
        query = sa.select(table.c.question_id, table.c.before).join(first, same).where(table.c.set_id == set_id)
        return {row.question_id: codecs.without_side(row.before) for row in self._rows(query)}

    def _bodies(self, set_id: str, ids: Sequence[str]) -> dict[str, str]:
        table, bodies = schema.questions, dict[str, str]()
        for batch in changes.batches(ids):
            query = sa.select(table.c.id, table.c.body).where(table.c.set_id == set_id, table.c.id.in_(batch))
            bodies.update((row.id, row.body) for row in self._rows(query))
        return bodies


def _version(row: Row[Any], questions: int) -> SetVersion:
    key = row.edit_key
    undoes = int(key.removeprefix(UNDO)) if key.startswith(UNDO) else None
    _, _, to = key.removeprefix(RESTORE).partition(":")
    restores = int(to) if key.startswith(RESTORE) and to else None
    by_system = key.startswith(SYSTEM)
    return SetVersion(row.number, row.created, row.author, row.action, questions, undoes, by_system, key, restores)


def _question_of(body: str) -> Question | None:
    return codecs.question_from_json(codecs.without_side(body)) if body else None
