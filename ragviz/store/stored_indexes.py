"""The indexes in the store, with the places where they cut their documents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig
from ragviz.core.digests import new_id
from ragviz.core.index_info import IndexInfo, IndexStatus
from ragviz.store import schema
from ragviz.store.codecs import Cuts, columns
from ragviz.store.database import repeated
from ragviz.store.named_records import NamedRecords
from ragviz.store.transactions import count_change, drop_count, insert


class StoredIndexes(NamedRecords[IndexInfo]):
    """Indexes: their configuration and state; chunks and vectors are in the backends."""

    kind, record = "index", IndexInfo

    def add(self, corpus_id: str, name: str, config: IndexConfig) -> IndexInfo:
        """Create the row of an index to be built; UsageError when the name is blank or taken."""
        name = self.free_name(name)
        info = IndexInfo(new_id(), corpus_id, name, config, "building", "", (), 0, 0, 0, "", time.time(), None)
        self._insert(columns(info, schema.indexes))
        return info

    @repeated
    def update(self, info: IndexInfo, cuts: Mapping[str, Cuts] | None = None) -> None:
        """Update an index's row, with the `cuts` of its documents when it is a new build; those of an older one go."""
        mine, build = schema.indexes.c.id == info.id, schema.indexes.c.build
        spans = [
            {"build": info.build, "document_id": document_id, "spans": rows.astype("<i4").tobytes()}
            for document_id, rows in (cuts or {}).items()
        ]
        with self._transactions.changing(info.id, "index") as connection:
            old = connection.execute(sa.select(build).where(mine)).scalar()
            connection.execute(schema.indexes.update().where(mine).values(**columns(info, schema.indexes)))
            insert(connection, schema.cuts, spans)
            if old and old != info.build:
                connection.execute(schema.cuts.delete().where(schema.cuts.c.build == old))

    @repeated
    def set_status(self, index_id: str, status: IndexStatus) -> None:
        """Set the status of an index only."""
        with self._transactions.changing(index_id, "index") as connection:
            connection.execute(schema.indexes.update().where(schema.indexes.c.id == index_id).values(status=status))

    @repeated
    def delete(self, index_id: str) -> None:
        """Delete an index's row and cuts; its runs stay, their rankings with them."""
        table, mine = schema.indexes, schema.indexes.c.id == index_id
        with self._transactions.writing() as connection:
            count_change(connection, index_id)
            build = connection.execute(sa.select(table.c.build).where(mine)).scalar()
            connection.execute(schema.cuts.delete().where(schema.cuts.c.build == (build or "")))
            connection.execute(schema.payments.delete().where(schema.payments.c.owner_id == index_id))
            connection.execute(table.delete().where(mine))
            drop_count(connection, index_id)

    def cuts(self, build: str, documents: Sequence[str]) -> dict[str, Cuts]:
        """Return the cuts of a build, for the documents that have any."""
        import numpy as np

        table = schema.cuts.c
        query = sa.select(table.document_id, table.spans).where(table.build == build)
        return {
            row.document_id: np.frombuffer(row.spans, dtype="<i4").reshape(-1, 3)
            for row in self._transactions.rows_of(query, table.document_id, documents)
        }
