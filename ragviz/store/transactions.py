"""What the repositories share: transactions, counts of changes, inserts that may meet a row, records with a name."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from ragviz.core.errors import Deleted, NotFoundError, UsageError
from ragviz.core.event import Event
from ragviz.core.question import Split
from ragviz.core.question_set import Edit
from ragviz.store import database, schema
from ragviz.store.database import reading, repeated, writing
from ragviz.store.schema import record
from ragviz.text.untrusted import storable

_log = logging.getLogger("ragviz")

T = TypeVar("T")
Kind = Literal["corpus", "index", "questions", "run", "experiment", "target"]
TABLES: dict[Kind, sa.Table] = {
    "corpus": schema.corpora,
    "index": schema.indexes,
    "questions": schema.question_sets,
    "run": schema.runs,
    "experiment": schema.experiments,
    "target": schema.targets,
}
OWNED: dict[Kind, Sequence[sa.ColumnElement[str]]] = {
    "corpus": [table.c.corpus_id for table in (schema.documents, schema.former_documents, schema.moves)],
    "index": [schema.payments.c.owner_id],
    "questions": [
        *(t.c.set_id for t in (schema.questions, schema.set_facts, schema.set_versions, schema.question_changes)),
        *(table.c.owner_id for table in (schema.payments, schema.mentions)),
    ],
    "run": [
        *(t.c.run_id for t in (schema.results, schema.run_chunks, schema.judgements, schema.scores, schema.summaries)),
        schema.former_names.c.run_id,
        *(table.c.owner_id for table in (schema.payments, schema.mentions)),
    ],
    "experiment": [schema.cells.c.experiment_id],
    "target": [],
}
"""The columns that name the owner of a row: what is deleted with it."""
BATCH = 500  # keys in one IN (…): well below SQLite's limit of variables


def label(kind: Kind) -> str:
    """Return the name of a kind in messages."""
    return "question set" if kind == "questions" else kind


@dataclass(slots=True, eq=False)
class _Joint:
    """Rows that a thread waits to write, together with those of others."""

    table: sa.Table
    rows: Sequence[Mapping[str, Any]]
    written: bool = False


class _Noting(threading.local):
    """The event that is stored with a thread's next transaction."""

    event: Event | None = None


class Transactions:
    """Transactions on one database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._for_one_query = engine.execution_options(alone=True)
        self._turn = threading.Lock()
        # A thread that waits here is woken at once, where SQLite would look again and again, more and more rarely.
        self._turns = self._turn if engine.dialect.name == "sqlite" else nullcontext()
        self._joint: deque[_Joint] = deque()
        self.read_only = database.is_read_only(engine)
        self._noting = _Noting()

    @repeated
    def rows(
        self, query: sa.Select[Any] | sa.CompoundSelect[Any], parameters: Mapping[str, Any] | None = None
    ) -> Sequence[Row[Any]]:
        """Return the rows of a query."""
        with reading(self._for_one_query) as connection:
            return connection.execute(query, parameters).all()

    def rows_of(self, query: sa.Select[Any], column: sa.ColumnElement[Any], keys: Iterable[str]) -> Iterator[Row[Any]]:
        """Yield the rows of a query with one of these keys, each key asked for once, `BATCH` of them in one query."""
        for batch in batches(list(dict.fromkeys(keys))):
            yield from self.rows(query.where(column.in_(batch)))

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a writing transaction. A method that does so is `repeated`."""
        event = self._noting.event
        with self._turns, writing(self.engine) as connection:
            yield connection
            if event is not None:
                note(connection, event)
        if event is not None:
            self._noting.event = None
            if event.role:  # a job logs its end itself
                about = {"job": {"job": event.subject}, "run": {"run": event.name}}.get(event.noun, {})
                _log.info("%s %s '%s'", event.verb, event.noun, event.name, extra={"person": event.person, **about})

    @contextmanager
    def noting(self, event: Event) -> Iterator[None]:
        """Store an event with what is done inside: in the first transaction, or at the end when there was none.

        What raises an error before its first transaction has done nothing, and leaves no event.
        """
        outer, self._noting.event = self._noting.event, event
        try:
            yield
            if self._noting.event is not None:
                self._note_alone()
        finally:
            self._noting.event = outer

    @repeated
    def _note_alone(self) -> None:
        with self.writing():
            pass

    def upsert(self, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows in place of those with the same primary key; what many threads write at once is one transaction.

        It is stored when this returns.
        """
        mine = _Joint(table, rows)
        self._joint.append(mine)
        self._write_joint(mine)

    @repeated
    def _write_joint(self, mine: _Joint) -> None:
        """Write what this thread and others are waiting to write, unless another has done so meanwhile."""
        with self._turn:
            if mine.written:
                return
            joint = [mine, *(each for each in self._taken() if each is not mine)]
            try:
                with writing(self.engine) as connection:
                    for table in dict.fromkeys(each.table for each in joint):
                        upsert(connection, table, [row for each in joint if each.table is table for row in each.rows])
            except BaseException:
                self._joint.extend(each for each in joint if each is not mine)
                raise
            for each in joint:
                each.written = True

    def _taken(self) -> Iterator[_Joint]:
        with suppress(IndexError):
            while True:
                yield self._joint.popleft()

    @contextmanager
    def changing(self, owner_id: str, *kinds: Kind) -> Iterator[Connection]:
        """Open a transaction that changes a corpus, index, question set, run or experiment (one of `kinds`).

        The change is counted first, so that other transactions that change the same one wait for the end of this one,
        and then see its result. A method that does so is `repeated`.

        Raises:
            Deleted: none has this id (any more).

        """
        with self.writing() as connection:
            count_change(connection, owner_id)
            require(connection, owner_id, *kinds)
            yield connection


class Repository:
    """Rows of one noun."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions, self._rows = transactions, transactions.rows


def note(connection: Connection, event: Event) -> None:
    """Store an event, in the transaction that does what it says."""
    connection.execute(schema.events.insert().values(**schema.columns(event, schema.events)))


def require(connection: Connection, owner_id: str, *kinds: Kind) -> None:
    """Lock the row with this id against deletion until the transaction ends; raise `Deleted` when it is gone."""
    for kind in kinds:
        table = TABLES[kind]
        locking = sa.select(table.c.id).where(table.c.id == owner_id).with_for_update(read=True)
        if connection.execute(locking).first() is not None:
            return
    raise Deleted(f"Stopped: the {' or '.join(map(label, kinds))} that was worked on was deleted.")


def count_change(connection: Connection, owner_id: str) -> None:
    """Count one change of a corpus, index, question set, run or experiment, in the transaction that makes it.

    Until that ends, no other transaction can count a change of the same one.
    """
    count = "INSERT INTO revisions (owner_id, number) VALUES (:id, 1) "
    count += "ON CONFLICT (owner_id) DO UPDATE SET number = revisions.number + 1"
    connection.execute(sa.text(count), {"id": owner_id})


def delete_record(connection: Connection, kind: Kind, owner_id: str) -> None:
    """Delete a record with the rows that it owns, and its count of changes; its id is never reused."""
    count_change(connection, owner_id)  # waits for other writers of it
    for column in (TABLES[kind].c.id, *OWNED[kind], schema.revisions.c.owner_id):
        connection.execute(sa.delete(column.table).where(column == owner_id))


def inserted(dialect: str, table: sa.Table) -> Any:
    """Return an `INSERT INTO table` that supports `on_conflict_…`."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table)


@cache
def _upserting(dialect: str, table: sa.Table) -> Any:
    statement, keys = inserted(dialect, table), [column.name for column in table.primary_key]
    values = {column.name: statement.excluded[column.name] for column in table.c if column.name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=values)


def insert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, `BATCH` at a time."""
    for batch in batches(rows):
        connection.execute(table.insert(), list(batch))


def insert_missing(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those rows whose primary key is not there yet."""
    for batch in batches(rows):
        connection.execute(inserted(connection.dialect.name, table).on_conflict_do_nothing(), list(batch))


def upsert(connection: Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows in place of those with the same primary key, in its order, so that two writers cannot deadlock."""
    keys = [column.name for column in table.primary_key]
    statement = _upserting(connection.dialect.name, table)
    for batch in batches(sorted(rows, key=lambda row: [row[key] for key in keys])):
        connection.execute(statement, list(batch))


def delete_of(connection: Connection, table: sa.Table, owner: sa.ColumnElement[bool], ids: Sequence[str]) -> None:
    """Delete an owner's rows of these questions."""
    for batch in batches(ids):
        connection.execute(table.delete().where(owner, table.c.question_id.in_(batch)))


def batches(items: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield the items, at most `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


R = TypeVar("R")


def plain_name(name: str) -> str:
    """Return a name as it is stored and looked up: without blanks at its ends."""
    return name.strip()


def is_text(name: str) -> bool:
    """Return whether a name can be in the database: NULs and lone surrogates cannot, not even in a query."""
    return bool(storable(name) == name)


def named_query(kind: Kind, name: str, *columns: str) -> sa.Select[Any]:
    """Return the query for a name or id (without blanks at the ends, as names are stored): `columns`, or all."""
    table, name = TABLES[kind], plain_name(name)
    query = sa.select(*(table.c[column] for column in columns)) if columns else sa.select(table)
    return query.where(sa.or_(table.c.name == name, table.c.id == name) if is_text(name) else sa.false())


def best(rows: Sequence[Row[Any]], name: str) -> Row[Any] | None:
    """Return the row with this name, else that with this id."""
    return next((row for row in rows if row.name == plain_name(name)), next(iter(rows), None))


def taken(kind: Kind, name: str) -> UsageError:
    """Return the error for a name that another record has."""
    article = "an" if label(kind)[0] in "aeiou" else "a"
    return UsageError(
        f"There is already {article} {label(kind)} called '{name}': choose another name, or delete it first."
    )


class NamedRecords(Repository, Generic[R]):
    """The records of one kind; their names are unique."""

    kind: ClassVar[Kind]
    record: ClassVar[type]
    newest_first: ClassVar[bool] = False

    @property
    def _table(self) -> sa.Table:
        return TABLES[self.kind]

    def _records(self, rows: Sequence[Row[Any]]) -> list[R]:
        return [record(self.record, row) for row in rows]

    def all(self, corpus_id: str | None = None) -> list[R]:
        """Return all records (of a corpus): runs and experiments the newest first, others by name."""
        columns = self._table.c
        query = sa.select(self._table).order_by(columns.created.desc() if self.newest_first else columns.name)
        return self._records(self._rows(query if corpus_id is None else query.where(columns.corpus_id == corpus_id)))

    def get(self, name: str) -> R:
        """Return the record with this name or id, or raise NotFoundError."""
        if (found := self.find(name)) is not None:
            return found
        names = self._rows(sa.select(self._table.c.name).order_by(self._table.c.name).limit(9))
        existing = ", ".join(f"'{row.name}'" for row in names[:8]) + (" …" if len(names) > 8 else "")
        raise NotFoundError(f"There is no {label(self.kind)} called '{name}'. There is: {existing or 'none yet'}.")

    def find(self, name: str) -> R | None:
        """Return the record with this name or id, if there is one."""
        row = best(self._rows(named_query(self.kind, name)), name)
        return self._records([row])[0] if row else None

    def free_name(self, name: str) -> str:
        """Return a name as it is stored; UsageError when it is blank, too long, unprintable or taken."""
        name = plain_name(name)
        if not name or len(name) > 200 or not name.isprintable():
            raise UsageError(f"'{name[:40]}' cannot be a name: give 1 to 200 printable characters.")
        if self._rows(sa.select(self._table.c.id).where(self._table.c.name == name)):
            raise taken(self.kind, name)
        return name

    @repeated
    def _insert(self, row: Mapping[str, Any], *owned: tuple[sa.Table, Sequence[Mapping[str, Any]]]) -> None:
        """Insert a row, whose name may be taken meanwhile, with rows that it owns; its corpus cannot go meanwhile."""
        try:
            with self._transactions.writing() as connection:
                if "corpus_id" in row:
                    require(connection, row["corpus_id"], "corpus")
                connection.execute(self._table.insert().values(**row))
                for table, rows in owned:
                    insert(connection, table, rows)
        except sa.exc.IntegrityError:
            raise taken(self.kind, row["name"]) from None

    @repeated
    def _change(self, owner_id: str, **values: Any) -> None:
        """Write columns of a record, as a change of it; `Deleted` when it is gone."""
        with self._transactions.changing(owner_id, self.kind) as connection:
            connection.execute(self._table.update().where(self._table.c.id == owner_id).values(**values))

    @repeated
    def delete(self, owner_id: str) -> None:
        """Delete a record with the rows that it owns; what was made with it stays."""
        with self._transactions.writing() as connection:
            delete_record(connection, self.kind, owner_id)

    def _corpus_of(self, owner_id: str) -> list[str]:
        rows = self._rows(sa.select(self._table.c.corpus_id).where(self._table.c.id == owner_id))
        return [row.corpus_id for row in rows]


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
