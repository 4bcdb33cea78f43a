"""Versions of question sets: each names what it replaced, so that any two can be compared."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.question import Question
from ragviz.core.question_set import SYSTEM, Edit, QuestionChange, SetVersion
from ragviz.core.split import Split
from ragviz.store import schema
from ragviz.store.transactions import Repository, batches, insert

UNDO = "undo:"
"""How the key of an edit that takes a version back begins; the number of that version follows."""
RESTORE = "restore:"
"""How the key of an edit that goes back to a version begins; its own number, a colon and that of the version follow."""


class StoredVersions(Repository):
    """The versions of question sets."""

    def all(self, set_id: str) -> list[SetVersion]:
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
        table = schema.questions.c
        query = sa.select(table.id, table.body).where(table.set_id == set_id)
        now = {row.id: row.body for row in self._transactions.rows_of(query, table.id, before)}
        found = []
        for question_id, body in sorted(before.items()):
            later = after.get(question_id, now.get(question_id, ""))
            if body != later:
                found.append(QuestionChange(question_id, _question(body), _question(later)))
        return found

    def of_question(self, set_id: str, question_id: str) -> list[tuple[SetVersion, Question | None]]:
        """Return the versions that changed a question, the newest first, and what the question was before each."""
        table, replaced = schema.set_versions, schema.question_changes
        same = sa.and_(replaced.c.set_id == table.c.set_id, replaced.c.number == table.c.number)
        query = sa.select(table, replaced.c.before).join(replaced, same)
        query = query.where(table.c.set_id == set_id, replaced.c.question_id == question_id)
        rows = self._rows(query.order_by(table.c.number.desc()))
        return [(_version(row, 1), _question(row.before)) for row in rows]

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
        return {row.question_id: row.before for row in self._rows(query)}


def _version(row: Row[Any], questions: int) -> SetVersion:
    key = row.edit_key
    undoes = int(key.removeprefix(UNDO)) if key.startswith(UNDO) else None
    restores = int(key.rpartition(":")[2]) if key.startswith(RESTORE) else None
    by_system = key.startswith(SYSTEM)
    return SetVersion(row.number, row.created, row.author, row.action, questions, undoes, by_system, key, restores)


def _question(body: str) -> Question | None:
    return schema.question_from_json(body) if body else None


def record_version(
    connection: Connection,
    set_id: str,
    edit: Edit,
    before: Mapping[str, str],
    sides: Mapping[str, str] | None = None,
    split: Split | None = None,
) -> None:
    """Add a version of a question set: the bodies that questions had `before`, by id, "" for one that is new.

    Of questions that leave the set, `sides` are those that they had of the set's `split`.

    An edit with the key of the newest version belongs to that version: what it replaced first stays recorded. The
    caller has counted a change of the set in this transaction, so that no other one adds a version meanwhile.
    """
    if not before:
        return
    versions, replaced = schema.set_versions, schema.question_changes
    mine = versions.c.set_id == set_id
    newest = connection.execute(sa.select(versions).where(mine).order_by(versions.c.number.desc()).limit(1)).first()
    known = set[str]()
    if newest is not None and edit.key and newest.edit_key == edit.key:
        number = newest.number
        here = sa.and_(replaced.c.set_id == set_id, replaced.c.number == number)
        for batch in batches(list(before)):
            ids = sa.select(replaced.c.question_id).where(here, replaced.c.question_id.in_(batch))
            known.update(connection.execute(ids).scalars())
    else:
        number = (newest.number if newest is not None else 0) + 1
        values = {"author": edit.author, "action": edit.action, "edit_key": edit.key, "created": time.time()}
        connection.execute(versions.insert().values(set_id=set_id, number=number, **values))
    rows = [
        {"set_id": set_id, "number": number, "question_id": question_id, "before": body}
        | {"side": (sides or {}).get(question_id, ""), "split": split}
        for question_id, body in before.items()
        if question_id not in known
    ]
    insert(connection, replaced, rows)


def last_sides(connection: Connection, set_id: str, split: Split | None) -> dict[str, str]:
    """Return the side of each question that left a set, by id, where it was on a side of the set's present split."""
    table = schema.question_changes.c
    query = sa.select(table.question_id, table.side, table.split).where(table.set_id == set_id, table.side != "")
    rows = connection.execute(query.order_by(table.number)) if split else ()
    return {row.question_id: row.side if row.split == split else "" for row in rows}
