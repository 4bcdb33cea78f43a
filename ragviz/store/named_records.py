"""Records with a name of their own: corpora, indexes, question sets, runs, experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.errors import NotFoundError, UsageError
from ragviz.store.codecs import record
from ragviz.store.database import repeated
from ragviz.store.transactions import TABLES, Kind, Repository, label, require
from ragviz.text.untrusted import storable

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
        return self.find(name) or self._unknown(name)

    def find(self, name: str) -> R | None:
        """Return the record with this name or id, if there is one."""
        row = best(self._rows(named_query(self.kind, name)), name)
        return self._records([row])[0] if row else None

    def _unknown(self, name: str) -> Any:
        names = self._rows(sa.select(self._table.c.name).order_by(self._table.c.name).limit(9))
        existing = ", ".join(f"'{row.name}'" for row in names[:8]) + (" …" if len(names) > 8 else "")
        raise NotFoundError(f"There is no {label(self.kind)} called '{name}'. There is: {existing or 'none yet'}.")

    def free_name(self, name: str) -> str:
        """Return a name as it is stored; UsageError when it is blank, too long, unprintable or taken."""
        name = plain_name(name)
        if not name or len(name) > 200 or not name.isprintable():
            raise UsageError(f"'{name[:40]}' cannot be a name: give 1 to 200 printable characters.")
        if self._rows(sa.select(self._table.c.id).where(self._table.c.name == name)):
            raise taken(self.kind, name)
        return name

    @repeated
    def _insert(self, row: Mapping[str, Any]) -> None:
        """Insert a row; its corpus, if it has one, cannot be deleted meanwhile.

        Raises:
            UsageError: another process has taken the name meanwhile.
            Deleted: the corpus is gone.

        """
        try:
            with self._transactions.writing() as connection:
                if "corpus_id" in row:
                    require(connection, row["corpus_id"], "corpus")
                connection.execute(self._table.insert().values(**row))
        except sa.exc.IntegrityError:
            raise taken(self.kind, row["name"]) from None

    def _corpus_of(self, owner_id: str) -> list[str]:
        """Return the id of the corpus of a record; [] when there is none with this id."""
        rows = self._rows(sa.select(self._table.c.corpus_id).where(self._table.c.id == owner_id))
        return [row.corpus_id for row in rows]
