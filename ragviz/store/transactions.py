"""What the repositories share: transactions, the counts of changes, and inserts that may meet an existing row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from ragviz.core.errors import Deleted
from ragviz.store import schema
from ragviz.store.database import reading, repeated, writing

T = TypeVar("T")
Kind = Literal["corpus", "index", "questions", "run", "experiment"]
TABLES: dict[Kind, sa.Table] = {
    "corpus": schema.corpora,
    "index": schema.indexes,
    "questions": schema.question_sets,
    "run": schema.runs,
    "experiment": schema.experiments,
}
BATCH = 500  # keys in one IN (…): well below SQLite's limit of variables


def label(kind: Kind) -> str:
    """Return the name of a kind in messages."""
    return "question set" if kind == "questions" else kind


class Transactions:
    """Transactions on one database."""

    def __init__(self, engine: Engine) -> None:
        """Use an engine of SQLite or PostgreSQL."""
        self.engine = engine

    @repeated
    def rows(self, query: sa.Select[Any] | sa.CompoundSelect[Any]) -> Sequence[Row[Any]]:
        """Return the rows of a query."""
        with reading(self.engine) as connection:
            return connection.execute(query).all()

    def rows_of(self, query: sa.Select[Any], column: sa.ColumnElement[Any], keys: Iterable[str]) -> Iterator[Row[Any]]:
        """Yield the rows of a query with one of these keys, each key asked for once, `BATCH` of them in one query."""
        for batch in batches(list(dict.fromkeys(keys))):
            yield from self.rows(query.where(column.in_(batch)))

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a writing transaction. A method that does so is `repeated`."""
        with writing(self.engine) as connection:
            yield connection

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
        """Use the tables of a database."""
        self._transactions, self._rows = transactions, transactions.rows


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


def drop_count(connection: Connection, owner_id: str) -> None:
    """Delete the count of changes of a deleted owner; its id is never reused."""
    connection.execute(schema.revisions.delete().where(schema.revisions.c.owner_id == owner_id))


def inserted(connection: Connection, table: sa.Table) -> Any:
    """Return an `INSERT INTO table` that supports `on_conflict_…`."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # loaded already
    return dialect.insert(table)


def insert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, `BATCH` at a time."""
    for batch in batches(rows):
        connection.execute(table.insert(), list(batch))


def insert_missing(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those rows whose primary key is not there yet."""
    for batch in batches(rows):
        connection.execute(inserted(connection, table).on_conflict_do_nothing(), list(batch))


def upsert(connection: Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows in place of those with the same primary key, in its order, so that two writers cannot deadlock."""
    keys = [column.name for column in table.primary_key]
    statement = inserted(connection, table)
    values = {column.name: statement.excluded[column.name] for column in table.c if column.name not in keys}
    statement = statement.on_conflict_do_update(index_elements=keys, set_=values)
    for batch in batches(sorted(rows, key=lambda row: [row[key] for key in keys])):
        connection.execute(statement, list(batch))


def delete_of(connection: Connection, table: sa.Table, owner: sa.ColumnElement[bool], ids: Sequence[str]) -> None:
    """Delete an owner's rows of these questions."""
    for batch in batches(ids):
        connection.execute(table.delete().where(owner, table.c.question_id.in_(batch)))


def batches(items: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield the items, at most `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
