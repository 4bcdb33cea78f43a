"""The store, on SQLite or PostgreSQL: a repository for each noun.

Names of corpora, indexes, question sets, runs, experiments are unique. Times are seconds since 1970. No secrets here.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from ragviz.store import database, schema
from ragviz.store.database import repeated
from ragviz.store.named_records import best, named_query
from ragviz.store.stored_caches import StoredCache, StoredPool
from ragviz.store.stored_comments import StoredComments
from ragviz.store.stored_corpora import StoredCorpora
from ragviz.store.stored_documents import StoredDocuments
from ragviz.store.stored_evidence import StoredEvidence
from ragviz.store.stored_experiments import StoredExperiments
from ragviz.store.stored_indexes import StoredIndexes
from ragviz.store.stored_jobs import StoredJobs
from ragviz.store.stored_judgements import StoredJudgements
from ragviz.store.stored_payments import StoredPayments
from ragviz.store.stored_prices import StoredPrices
from ragviz.store.stored_questions import StoredQuestions
from ragviz.store.stored_rankings import StoredRankings
from ragviz.store.stored_runs import StoredRuns
from ragviz.store.stored_sets import StoredSets
from ragviz.store.stored_versions import StoredVersions
from ragviz.store.transactions import TABLES, Kind, Transactions


class Store:
    """One database. Safe to use from many threads and processes."""

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine, whose database has the present schema."""
        self._engine = engine
        self._transactions = transactions = Transactions(engine)
        self.documents = StoredDocuments(transactions)
        self.evidence = StoredEvidence(transactions)
        self.corpora = StoredCorpora(transactions)
        self.indexes = StoredIndexes(transactions)
        self.sets = StoredSets(transactions)
        self.questions = StoredQuestions(transactions)
        self.versions = StoredVersions(transactions)
        self.comments = StoredComments(transactions)
        self.runs = StoredRuns(transactions)
        self.rankings = StoredRankings(transactions)
        self.judgements = StoredJudgements(transactions)
        self.payments = StoredPayments(transactions)
        self.prices = StoredPrices(transactions)
        self.experiments = StoredExperiments(transactions)
        self.jobs = StoredJobs(transactions)
        self.pool = StoredPool(transactions)

    def cache(self, kind: str) -> StoredCache:
        """Return the cache of one `kind` ("embedding", "model")."""
        return StoredCache(self._transactions, kind)

    @property
    def address(self) -> str:
        """Where the store is, without a password."""
        return database.shown(self._engine)

    def revisions(self, *owner_ids: str) -> tuple[int, ...]:
        """Return how often these corpora, indexes, question sets, runs and experiments were changed, by any process.

        Caches are keyed by these numbers, which never decrease. 0 for an owner without a counted change, and for one
        that does not exist.
        """
        table = schema.revisions.c
        rows = self._transactions.rows_of(sa.select(schema.revisions), table.owner_id, owner_ids)
        numbers = {row.owner_id: row.number for row in rows}
        return tuple(numbers.get(owner_id, 0) for owner_id in owner_ids)

    @repeated
    def touch(self, owner_id: str) -> None:
        """Count a change that was made elsewhere (in the cache, in a file) like one of the store's own."""
        with self._transactions.changing(owner_id, *TABLES):
            pass

    def ids_of(self, named: Sequence[tuple[Kind, str]]) -> list[str | None]:
        """Return for each (kind, name or id) the id, None when there is none. One query for all."""
        queries = [
            named_query(kind, name, "id", "name").add_columns(sa.literal(place).label("place"))
            for place, (kind, name) in enumerate(named)
        ]
        rows = self._transactions.rows(sa.union_all(*queries)) if queries else []
        matches = [best([row for row in rows if row.place == place], name) for place, (_, name) in enumerate(named)]
        return [row.id if row else None for row in matches]
