"""The corpora in the store."""

from __future__ import annotations

import time
from dataclasses import asdict

import sqlalchemy as sa

from ragviz.core.digests import new_id
from ragviz.core.document import Corpus
from ragviz.core.errors import UsageError
from ragviz.store import schema, stored_experiments, stored_runs, stored_sets
from ragviz.store.database import repeated
from ragviz.store.named_records import NamedRecords
from ragviz.store.stored_documents import NO_FILES
from ragviz.store.transactions import count_change, drop_count


class StoredCorpora(NamedRecords[Corpus]):
    """Corpora, and what is deleted with them."""

    kind, record = "corpus", Corpus

    def add(self, name: str) -> Corpus:
        """Create an empty corpus.

        Raises:
            UsageError: the name is blank or taken.

        """
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
    def delete(self, corpus_id: str) -> list[str]:
        """Delete a corpus with its documents, question sets, runs and jobs; its indexes must be gone already.

        Returns the ids of the jobs.
        """
        with self._transactions.writing() as connection:
            count_change(connection, corpus_id)
            connection.execute(
                schema.corpora.delete().where(schema.corpora.c.id == corpus_id)
            )  # first: nothing can be added to it from now on
            for rows, delete in (
                (schema.runs, stored_runs.delete_rows),
                (schema.question_sets, stored_sets.delete_rows),
                (schema.experiments, stored_experiments.delete_rows),
            ):
                for row in connection.execute(sa.select(rows.c.id).where(rows.c.corpus_id == corpus_id)).all():
                    delete(connection, row.id)
            for table in (schema.documents, schema.former_documents, schema.moves):
                connection.execute(table.delete().where(table.c.corpus_id == corpus_id))
            mine = schema.jobs.c.corpus_id == corpus_id
            job_ids = [*connection.execute(sa.select(schema.jobs.c.id).where(mine)).scalars()]
            connection.execute(schema.jobs.delete().where(mine))
            drop_count(connection, corpus_id)
        return job_ids
