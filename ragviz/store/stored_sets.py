"""The question sets in the store, with their splits and facts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.digests import new_id
from ragviz.core.question import ASKED
from ragviz.core.question_set import QuestionSet
from ragviz.core.split import SIDES, Side, Split
from ragviz.store import schema
from ragviz.store.codecs import columns
from ragviz.store.database import repeated
from ragviz.store.named_records import NamedRecords
from ragviz.store.stored_evidence import StoredEvidence
from ragviz.store.transactions import batches, count_change, drop_count, require, upsert


class StoredSets(NamedRecords[QuestionSet]):
    """Question sets, with the counts of their questions."""

    kind = "questions"

    def _records(self, rows: Sequence[Row[Any]]) -> list[QuestionSet]:
        statuses: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
        sides: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
        questions, versions = schema.questions.c, schema.set_versions.c
        grouping = (questions.set_id, questions.status, questions.split)
        counts = sa.select(*grouping, sa.func.count().label("number")).group_by(*grouping)
        for row in self._transactions.rows_of(counts, questions.set_id, statuses):
            statuses[row.set_id][row.status] += row.number
            if row.status in ASKED:
                sides[row.set_id][row.split] += row.number
        newest = sa.select(versions.set_id, sa.func.max(versions.number).label("number")).group_by(versions.set_id)
        numbers = {row.set_id: row.number for row in self._transactions.rows_of(newest, versions.set_id, statuses)}
        return [
            QuestionSet(
                row.id, row.corpus_id, row.name, row.created, dict(statuses[row.id]), row.split, dict(sides[row.id]),
                numbers.get(row.id, 0),
            )
            for row in rows
        ]  # fmt: skip

    def add(self, corpus_id: str, name: str) -> QuestionSet:
        """Create an empty question set; UsageError when the name is blank or taken."""
        made = QuestionSet(new_id(), corpus_id, self.free_name(name), time.time(), {})
        self._insert(columns(made, schema.question_sets))
        return made

    def delete(self, set_id: str) -> None:
        """Delete a question set; its runs stay, with their copies of the questions."""
        for corpus_id in self._corpus_of(set_id):
            self._delete(set_id)
            StoredEvidence(self._transactions).settle(corpus_id)

    @repeated
    def _delete(self, set_id: str) -> None:
        with self._transactions.writing() as connection:
            delete_rows(connection, set_id)

    @repeated
    def put_fact(self, set_id: str, name: str, value: Any, *, counted: bool = True) -> None:
        """Store what belongs to a question set as JSON, in place of an earlier value of this name; None removes it.

        `counted` makes it a change of the set, so that pages that show it are drawn anew.
        """
        with self._transactions.writing() as connection:
            if counted:
                count_change(connection, set_id)
            require(connection, set_id, "questions")
            put_facts(connection, set_id, {name: value})

    def fact(self, set_id: str, name: str) -> Any:
        """Return what `put_fact` stored under this name; None without it."""
        table = schema.set_facts
        rows = self._rows(sa.select(table.c.body).where(table.c.set_id == set_id, table.c.name == name))
        return rows[0].body if rows else None

    @repeated
    def put_split(self, set_id: str, split: Split | None, sides: Mapping[str, Side]) -> None:
        """Store a split in place of an earlier one: the side of each question by id; the others are on neither.

        None removes the split.
        """
        table = schema.questions
        mine = table.c.set_id == set_id
        with self._transactions.changing(set_id, "questions") as connection:
            connection.execute(schema.question_sets.update().where(self._table.c.id == set_id).values(split=split))
            connection.execute(table.update().where(mine, table.c.split != "").values(split=""))
            for side in SIDES if split else ():
                for batch in batches([question_id for question_id, s in sides.items() if s == side]):
                    connection.execute(table.update().where(mine, table.c.id.in_(batch)).values(split=side))


def put_facts(connection: Connection, set_id: str, facts: Mapping[str, Any]) -> None:
    """Store facts of a question set in place of earlier ones of their names; None removes one."""
    table = schema.set_facts
    for name, value in facts.items():
        if value is None:
            connection.execute(table.delete().where(table.c.set_id == set_id, table.c.name == name))
        else:
            upsert(connection, table, [{"set_id": set_id, "name": name, "body": value}])


def delete_rows(connection: Connection, set_id: str) -> None:
    """Delete a question set with its questions."""
    count_change(connection, set_id)  # waits for other writers of it
    for table in (
        schema.questions, schema.set_facts, schema.set_versions, schema.question_changes,
        schema.comments,
    ):  # fmt: skip
        connection.execute(table.delete().where(table.c.set_id == set_id))
    connection.execute(schema.payments.delete().where(schema.payments.c.owner_id == set_id))
    connection.execute(schema.mentions.delete().where(schema.mentions.c.owner_id == set_id))
    connection.execute(schema.question_sets.delete().where(schema.question_sets.c.id == set_id))
    drop_count(connection, set_id)
