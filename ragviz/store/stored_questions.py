"""Question sets, their questions with splits and facts, and their versions.

A version names what it replaced, so that any two can be compared.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.digests import new_id
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.core.question import ASKED, SIDES, Question, Side, Split
from ragviz.core.question_set import DELETED, EDITED, SYSTEM, Edit, QuestionChange, QuestionSet, SetVersion
from ragviz.core.stopping import Progress, silent
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.schema import columns
from ragviz.store.stored_documents import StoredEvidence, add_missing, documents_in, mark_gone, mention
from ragviz.store.transactions import (
    NamedRecords,
    Repository,
    batches,
    count_change,
    insert,
    plain_name,
    record_version,
    require,
    upsert,
)


class StoredQuestions(Repository):
    """The questions of all sets; every change makes a version of its set."""

    @repeated
    def put(
        self,
        set_id: str,
        questions: Sequence[Question],
        split: Split | None = None,
        edit: Edit = EDITED,
        facts: Mapping[str, Any] | None = None,
        *,
        back: bool = False,
    ) -> None:
        """Add questions at the end of a set; one with an existing id is replaced in its place.

        That makes a version of the set, named by `edit`, where a question is new or changed. `facts` of the set (see
        `StoredSets.put_fact`) are stored in the same transaction.

        A replaced question keeps its side of the set's split, and a new one has none; with `split`, that becomes the
        set's, and the questions are on the sides that they name. With `back`, a question that was in the set before is
        on the side that it had then, unless the split was made again since with other choices.

        Evidence in a document that was replaced since it was read is moved by `StoredEvidence.settle_all`.
        """
        with self._transactions.changing(set_id, "questions") as connection:
            sides = last_sides(connection, set_id, _split_of(connection, set_id)) if back else {}
            _write(connection, set_id, questions, split, edit, sides)
            put_facts(connection, set_id, facts or {})

    @repeated
    def put_import(
        self,
        corpus_id: str,
        name: str,
        documents: Sequence[Document],
        questions: Sequence[Question],
        split: Split | None,
        edit: Edit,
        progress: Progress = silent,
    ) -> int:
        """Add documents to a corpus and questions to its set `name`, created when missing, in one transaction.

        Return how many documents were added: those that are in the corpus already are not added again. Questions are
        written as `put` says. `progress` is told within the transaction how many rows are written; what it raises
        undoes all of them.

        Raises:
            UsageError: a document of the same name with another text was added meanwhile, the set belongs to another
                corpus, or its name is blank.
            Deleted: the corpus is gone.

        """
        sets = StoredSets(self._transactions)
        name = name if sets.find(name) else sets.free_name(name)
        total = len(documents) + len(questions)

        def written(rows: int) -> None:
            progress(rows, total, "rows", f"Storing row {rows:,}")  # each message is a chance to cancel

        table = schema.question_sets
        with self._transactions.changing(corpus_id, "corpus") as connection:
            added = add_missing(connection, corpus_id, documents, written)
            row = connection.execute(sa.select(table).where(table.c.name == plain_name(name))).first()
            if row is not None and row.corpus_id != corpus_id:
                raise UsageError(f"Question set '{row.name}' belongs to another corpus: choose another name.")
            set_id = row.id if row is not None else new_id()
            if row is None:
                values = {"id": set_id, "corpus_id": corpus_id, "name": name, "created": time.time()}
                connection.execute(table.insert().values(**values))
            count_change(connection, set_id)
            _write(connection, set_id, questions, split, edit, written=lambda rows: written(len(documents) + rows))
        return added

    @repeated
    def replace(
        self, set_id: str, question: Question, version: str, edit: Edit = EDITED
    ) -> tuple[bool, Question | None]:
        """Replace the question with this id if it still has that `version`: return whether it had, and the current one.

        The current one is None when there is no such question (any more). Evidence in a document that was replaced
        since it was read is moved by `StoredEvidence.settle_all`.
        """
        table = schema.questions
        mine = sa.and_(table.c.set_id == set_id, table.c.id == question.id)
        with self._transactions.writing() as connection:
            row = connection.execute(sa.select(table.c.body, table.c.split).where(mine)).first()
            current = schema.question(row.body, row.split) if row is not None else None
            if row is None or current is None or schema.version_of(current) != version:
                return False, current
            body = schema.question_to_json(question)
            # Another process may have written since: only the version that was read is replaced.
            update = table.update().where(mine, table.c.body == row.body).values(status=question.status, body=body)
            if connection.execute(update).rowcount != 1:
                return False, current
            count_change(connection, set_id)
            if body != row.body:
                record_version(connection, set_id, edit, {question.id: row.body})
            mark_gone(connection, set_id, [question])
            mention(connection, set_id, documents_in([question]))
        return True, question

    @repeated
    def delete(self, set_id: str, ids: Sequence[str], edit: Edit = DELETED) -> None:
        """Delete single questions of a set; their sides of its split are recorded with the version that this makes."""
        table, before, sides = schema.questions, dict[str, str](), dict[str, str]()
        with self._transactions.changing(set_id, "questions") as connection:
            for batch in batches(ids):
                mine = sa.and_(table.c.set_id == set_id, table.c.id.in_(batch))
                for row in connection.execute(sa.select(table.c.id, table.c.body, table.c.split).where(mine)):
                    before[row.id], sides[row.id] = row.body, row.split
                connection.execute(table.delete().where(mine))
            record_version(connection, set_id, edit, before, sides, _split_of(connection, set_id))

    def all(self, set_id: str, ids: Sequence[str] | None = None) -> list[Question]:
        """Return all questions of a set, in order, whatever their status; with `ids` those of them that there are."""
        table = schema.questions.c
        query = sa.select(table.body, table.split).where(table.set_id == set_id).order_by(table.position)
        rows = self._rows(query) if ids is None else self._transactions.rows_of(query, table.id, ids)
        return [schema.question(row.body, row.split) for row in rows]

    def decoded(
        self, set_id: str, known: Mapping[str, schema.StoredQuestion] = MappingProxyType({})
    ) -> dict[str, schema.StoredQuestion]:
        """Return all questions of a set by id, in order; of those that are as they were in `known`, the same objects.

        Decoding takes most of the time of reading: of a set that was read before, only what has changed is decoded.
        """
        table, read = schema.questions, dict[str, schema.StoredQuestion]()
        query = sa.select(table.c.id, table.c.body, table.c.split).where(table.c.set_id == set_id)
        for row in self._rows(query.order_by(table.c.position)):
            stored = known.get(row.id)
            if stored is None or (stored.body, stored.split) != (row.body, row.split):
                stored = schema.StoredQuestion(row.body, row.split, schema.question(row.body, row.split))
            read[row.id] = stored
        return read


def _split_of(connection: Connection, set_id: str) -> Split | None:
    sets = schema.question_sets.c
    split: Split | None = connection.execute(sa.select(sets.split).where(sets.id == set_id)).scalar_one()
    return split


def _write(
    connection: Connection,
    set_id: str,
    questions: Sequence[Question],
    split: Split | None,
    edit: Edit,
    last_sides: Mapping[str, str] = MappingProxyType({}),
    written: Callable[[int], None] = lambda _: None,
) -> None:
    """Write questions as `StoredQuestions.put` says, in a transaction that has counted a change of their set.

    `written` is told how many are written, after each batch.
    """
    mark_gone(connection, set_id, questions)
    table = schema.questions
    mine, places, sides = table.c.set_id == set_id, dict[str, int](), dict(last_sides)
    before: dict[str, str] = {question.id: "" for question in questions}
    last = connection.execute(sa.select(sa.func.max(table.c.position)).where(mine)).scalar()
    for batch in batches(list(before) if last is not None else []):
        for row in connection.execute(sa.select(table).where(mine, table.c.id.in_(batch))):
            places[row.id], sides[row.id], before[row.id] = row.position, row.split, row.body
        connection.execute(table.delete().where(mine, table.c.id.in_(batch)))
    fresh, done = 0 if last is None else last + 1, 0
    changed = dict[str, str]()
    for some in batches(list({question.id: question for question in questions}.values())):
        rows = list[dict[str, Any]]()
        for question in some:
            position = places.get(question.id, fresh)
            fresh += position == fresh
            side = question.split if split else sides.get(question.id, "")
            body = schema.question_to_json(question)
            place = {"set_id": set_id, "id": question.id, "position": position, "split": side}
            rows.append(place | {"status": question.status, "body": body})
            if before[question.id] != body:
                changed[question.id] = before[question.id]
        insert(connection, table, rows)
        mention(connection, set_id, documents_in(some))
        done += len(some)
        written(done)
    record_version(connection, set_id, edit, changed)
    if split:
        sets = schema.question_sets
        connection.execute(sets.update().where(sets.c.id == set_id).values(split=split))


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
            super().delete(set_id)
            StoredEvidence(self._transactions).settle(corpus_id)

    @repeated
    def put_fact(self, set_id: str, name: str, value: Any, *, counted: bool = True) -> None:
        """Store what belongs to a question set as JSON, in place of an earlier value of this name; None removes it.

        `counted` makes it a change of the set, so that pages that show it are drawn anew; what is not is only computed,
        and a store for reading only forgets it.
        """
        if self._transactions.read_only and not counted:
            return
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
        """Store a split in place of an earlier one, None for none: `sides` by question; the others are on neither."""
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


UNDO = "undo:"
"""How the key of an edit that takes a version back begins; the number of that version follows."""


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
        """Return the bodies, as of a version, of the questions that changed later; "" for one not yet there."""
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
    return SetVersion(row.number, row.created, row.author, row.action, questions, undoes, key.startswith(SYSTEM))


def _question(body: str) -> Question | None:
    return schema.question_from_json(body) if body else None


def last_sides(connection: Connection, set_id: str, split: Split | None) -> dict[str, str]:
    """Return the side of each question that left a set, by id, where it was on a side of the set's present split."""
    table = schema.question_changes.c
    query = sa.select(table.question_id, table.side, table.split).where(table.set_id == set_id, table.side != "")
    rows = connection.execute(query.order_by(table.number)) if split else ()
    return {row.question_id: row.side if row.split == split else "" for row in rows}
