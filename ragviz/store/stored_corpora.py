"""Corpora and their indexes, with the places where they cut their documents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig, IndexInfo, IndexStatus
from ragviz.core.digests import new_id
from ragviz.core.document import Corpus
from ragviz.core.errors import UsageError
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.schema import Cuts, columns
from ragviz.store.stored_documents import NO_FILES
from ragviz.store.transactions import TABLES, Kind, NamedRecords, count_change, delete_record, insert


class StoredCorpora(NamedRecords[Corpus]):
    """Corpora, and what is deleted with them."""

    kind, record = "corpus", Corpus

    def add(self, name: str) -> Corpus:
        """Create an empty corpus; UsageError when the name is blank or taken."""
        corpus = Corpus(new_id(), self.free_name(name), time.time())
        self._insert(asdict(corpus))
        return corpus

    def ensure(self, name: str) -> Corpus:
        """Return the corpus with this name or id, created when missing; UsageError when the name is blank."""
        try:
            return self.find(name) or self.add(name)
        except UsageError:  # another process has created it meanwhile
            if (corpus := self.find(name)) is None:
                raise
            return corpus

    def holdings(self, corpus_id: str) -> dict[str, int]:
        """Count a corpus's {"documents", "indexes", "question sets", "runs"}, unreadable files too."""
        tables = {
            "documents": schema.documents,
            "indexes": schema.indexes,
            "question sets": schema.question_sets,
            "runs": schema.runs,
        }
        counts = {kind: sa.select(sa.func.count()).where(t.c.corpus_id == corpus_id) for kind, t in tables.items()}
        counts["documents"] = counts["documents"].where(schema.documents.c.status.not_in(NO_FILES))
        row = self._rows(sa.select(*(count.scalar_subquery().label(kind) for kind, count in counts.items())))[0]
        return dict(row._mapping)

    @repeated
    def delete(self, corpus_id: str) -> list[str]:  # type: ignore[override]  # others have no jobs
        """Delete a corpus with all but its indexes, which must be gone already; return the ids of its deleted jobs."""
        with self._transactions.writing() as connection:
            count_change(connection, corpus_id)
            # First: nothing can be added to it from now on.
            connection.execute(schema.corpora.delete().where(schema.corpora.c.id == corpus_id))
            kinds: tuple[Kind, ...] = ("run", "questions", "experiment")
            for kind in kinds:
                table = TABLES[kind]
                for row in connection.execute(sa.select(table.c.id).where(table.c.corpus_id == corpus_id)).all():
                    delete_record(connection, kind, row.id)
            delete_record(connection, "corpus", corpus_id)
            mine = schema.jobs.c.corpus_id == corpus_id
            job_ids = [*connection.execute(sa.select(schema.jobs.c.id).where(mine)).scalars()]
            connection.execute(schema.jobs.delete().where(mine))
        return job_ids


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

    def set_status(self, index_id: str, status: IndexStatus) -> None:
        """Set the status of an index only."""
        self._change(index_id, status=status)

    @repeated
    def delete(self, index_id: str) -> None:
        """Delete an index's row and cuts; its runs stay, their rankings with them."""
        builds = sa.select(schema.indexes.c.build).where(schema.indexes.c.id == index_id)
        with self._transactions.writing() as connection:
            count_change(connection, index_id)  # waits for other writers of it
            connection.execute(schema.cuts.delete().where(schema.cuts.c.build.in_(builds)))
            delete_record(connection, "index", index_id)

    def cuts(self, build: str, documents: Sequence[str]) -> dict[str, Cuts]:
        """Return the cuts of a build, for the documents that have any."""
        table = schema.cuts.c
        query = sa.select(table.document_id, table.spans).where(table.build == build)
        return {
            row.document_id: schema.cuts_of(row.spans)
            for row in self._transactions.rows_of(query, table.document_id, documents)
        }
