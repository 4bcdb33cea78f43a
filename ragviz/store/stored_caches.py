"""What was paid once and is kept by content: caches of bytes, and the pool of verdicts on chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa

from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository, Transactions, upsert
from ragviz.text.untrusted import storable


class StoredCache(Repository):
    """A `Cache` in the store: one kind of content-addressed bytes."""

    def __init__(self, transactions: Transactions, kind: str) -> None:
        """Use the entries of `kind`."""
        super().__init__(transactions)
        self._kind = kind

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        table = schema.cache.c
        query = sa.select(table.key, table.value).where(table.kind == self._kind)
        return {row.key: row.value for row in self._transactions.rows_of(query, table.key, keys)}

    def held(self, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` that are cached; no value is read."""
        table = schema.cache.c
        query = sa.select(table.key).where(table.kind == self._kind)
        return {row.key for row in self._transactions.rows_of(query, table.key, keys)}

    @repeated
    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten."""
        with self._transactions.writing() as connection:
            upsert(connection, schema.cache, [{"kind": self._kind, "key": key, "value": v} for key, v in items.items()])


class StoredPool(Repository):
    """A `Pool` in the store."""

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterator[tuple[str, str, str, str]]:
        """Yield (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        table = schema.verdicts.c
        query = sa.select(table.subject, table.judge, table.chunk, table.body)
        query = query.where(table.judge == judge) if judge else query
        yield from map(tuple, self._transactions.rows_of(query, table.subject, subjects))

    @repeated
    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk); one that is there is replaced."""
        rows = [
            {"subject": subject, "judge": judge, "chunk": chunk, "body": storable(body)}
            for (subject, chunk), body in verdicts.items()
        ]
        with self._transactions.writing() as connection:
            upsert(connection, schema.verdicts, rows)
