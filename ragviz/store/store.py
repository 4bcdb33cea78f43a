"""The store, on SQLite or PostgreSQL: a repository for each noun.

Names of corpora, indexes, question sets, runs, experiments are unique. Times are seconds since 1970. No secrets here.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from ragviz.core.errors import ServiceError, UsageError
from ragviz.store import copies, database, schema, waking
from ragviz.store.copies import Snapshot
from ragviz.store.database import may_write, repeated
from ragviz.store.stored_calls import StoredCache, StoredNotes, StoredPayments, StoredPool, StoredPrices
from ragviz.store.stored_corpora import StoredCorpora, StoredIndexes
from ragviz.store.stored_documents import StoredDocuments, StoredEvidence
from ragviz.store.stored_events import StoredEvents
from ragviz.store.stored_experiments import StoredExperiments
from ragviz.store.stored_jobs import StoredJobs
from ragviz.store.stored_questions import StoredQuestions, StoredSets, StoredVersions
from ragviz.store.stored_runs import StoredJudgements, StoredRankings, StoredRuns
from ragviz.store.stored_shares import StoredShares
from ragviz.store.stored_targets import StoredTargets
from ragviz.store.transactions import TABLES, Kind, Transactions, best, named_query


class Store:
    """One database. Safe to use from many threads and processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._transactions = transactions = Transactions(engine)
        self.documents = StoredDocuments(transactions)
        self.evidence = StoredEvidence(transactions)
        self.corpora = StoredCorpora(transactions)
        self.indexes = StoredIndexes(transactions)
        self.sets = StoredSets(transactions)
        self.questions = StoredQuestions(transactions)
        self.versions = StoredVersions(transactions)
        self.runs = StoredRuns(transactions)
        self.rankings = StoredRankings(transactions)
        self.judgements = StoredJudgements(transactions)
        self.payments = StoredPayments(transactions)
        self.prices = StoredPrices(transactions)
        self.experiments = StoredExperiments(transactions)
        self.targets = StoredTargets(transactions)
        self.jobs = StoredJobs(transactions)
        self.shares = StoredShares(transactions)
        self.pool = StoredPool(transactions)
        self.events = StoredEvents(transactions)
        self.noting = transactions.noting

    def cache(self, kind: str) -> StoredCache:
        """Return the cache of one `kind` ("embedding", "model")."""
        return StoredCache(self._transactions, kind)

    def notes(self, kind: str) -> StoredNotes:
        """Return the cache of a `kind` with few entries ("failure"), as they are now."""
        return StoredNotes(self._transactions, kind)

    @property
    def is_shared(self) -> bool:
        """Whether several machines may use it: PostgreSQL."""
        return self._engine.dialect.name == "postgresql"

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written to it: it was opened so, or its role has SELECT alone."""
        return database.is_read_only(self._engine)

    @property
    def address(self) -> str:
        """Where the store is, without a password."""
        return database.shown(self._engine)

    def check(self) -> None:
        """Ask the database once, without waiting until it is back; ServiceError when it does not answer."""

        def ask() -> None:
            with database.reading(self._engine) as connection:
                connection.execute(sa.select(1))

        database.retried(ask, patience=0)

    def damage(self) -> str:
        """Return what is damaged in the database by its own examination, "" when nothing is; see `database.damage`."""
        return database.damage(self._engine)

    def cannot_be_copied(self) -> str:
        """Return why the database cannot be backed up or restored from here, "" where it can."""
        if self._engine.dialect.name == "sqlite":
            return ""
        try:
            copies.program_for(self._engine, "pg_dump")
            copies.program_for(self._engine, "pg_restore")
        except ServiceError as error:
            return str(error)
        return ""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open the database as it is now, to be copied while others write to it."""
        return copies.snapshot(self._engine)

    def revisions(self, *owner_ids: str) -> tuple[int, ...]:
        """Return how often these corpora, indexes, question sets, runs and experiments were changed, by any process.

        Caches are keyed by these numbers, which never decrease. 0 for an owner without a counted change, and for one
        that does not exist.
        """
        table = schema.revisions.c
        rows = self._transactions.rows_of(sa.select(schema.revisions), table.owner_id, owner_ids)
        numbers = {row.owner_id: row.number for row in rows}
        return tuple(numbers.get(owner_id, 0) for owner_id in owner_ids)

    def read_only(self) -> Store:
        """Return the same database, open for reading only: what is computed is not cached, all else raises Refused."""
        return Store(database.read_only(self._engine))

    @repeated
    def lacks_workers(self) -> bool:
        """Return whether no worker was heard of within the minute; False where a person or role may only read."""
        if not self.is_shared or self.is_read_only:
            return False
        with database.reading(self._engine) as connection:
            return not waking.was_worker_seen(connection)

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


REVISION = "1"
"""The newest revision in `migrations/versions`: the one that `schema` describes."""
MIGRATIONS = "ragviz.store:migrations"
_MIGRATING = 7_261_766_069  # PostgreSQL's advisory lock for migrations
_log = logging.getLogger("ragviz")
_in_this_process = threading.Lock()  # Alembic has one environment in a process
OWN_TABLES = frozenset({"corpora", "question_sets", "runs"})
"""Tables that every database of ragviz has."""


def open_store(url: str, home: Path | None = None) -> Store:
    """Open the store at a SQLAlchemy `url` and bring its schema up to date.

    Before that, an older one is copied into the folder `home`, by default that of a SQLite file.

    Raises:
        UsageError: `url` is not an address of a database, or of one that holds another program's tables.
        ServiceError: the database cannot be reached or used, or a newer ragviz wrote it. The password is never shown.

    """
    engine = database.open_engine(url)
    database.retried(partial(refuse_foreign, engine), database.AT_FIRST)
    database.prepare(engine)
    database.retried(partial(upgrade, engine, home), database.AT_FIRST)
    store = Store(engine)
    with database.reading(engine) as connection:
        if not may_write(connection):
            return store.read_only()
    try:
        store.evidence.settle_all()
    except ServiceError as error:  # reading must work without the right to write
        _log.warning("Evidence that a killed process left is not moved yet. %s", error)
    return store


def refuse_foreign(engine: Engine) -> None:
    """Raise UsageError when the database holds tables, and not those of ragviz; nothing is changed in it."""
    with database.reading(engine) as connection:
        tables = sa.inspect(connection).get_table_names()
    if tables and not OWN_TABLES.issubset(tables):
        some = ", ".join(sorted(tables)[:3])
        raise UsageError(
            f"The database {database.shown(engine)} holds tables of another program ({some}{' …' * (len(tables) > 3)}),"
            " and nothing was created in it: set RAGVIZ_DATABASE_URL to an empty database, or unset it for a SQLite "
            "file in RAGVIZ_HOME."
        )


def unreleased(columns: Mapping[str, Set[str]]) -> str:
    """Return what is wrong with a database of this revision that has other `columns`, by table; "" when nothing is."""
    for name, table in sorted(schema.metadata.tables.items()):
        here = columns.get(name, set())
        if others := sorted(here ^ {*table.c.keys()}):
            part = f"column {others[0]} in table {name}" if here else f"table {name}"
            return f"is of a version before the first release: it has {'a' if others[0] in here else 'no'} {part}"
    return ""


def upgrade(engine: Engine, home: Path | None = None) -> None:
    """Run the missing migrations in one transaction; a database that has them all is only read.

    An older one is copied first, into the folder `home`; an upgrade that is interrupted leaves it as it was.
    Of several processes that open a database at once, one migrates and the others wait for it.

    Raises:
        ServiceError: a newer version of ragviz wrote the database; UsageError: an unreleased one did.

    """
    with database.reading(engine) as connection:
        if _revision_of(connection) == REVISION:
            if reason := unreleased(copies.columns_of(connection)):
                raise UsageError(
                    f"The database {database.shown(engine)} {reason}. Move it away, or set RAGVIZ_HOME to another "
                    "folder."
                )
            if connection.dialect.name != "postgresql" or not may_write(connection) or waking.exists(connection):
                return
    from alembic import command
    from alembic.config import Config

    copy = None
    with _in_this_process, database.writing(engine) as connection:
        if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
        if (revision := _revision_of(connection)) != REVISION:
            if revision is not None:
                copy = copies.before_upgrade(engine, home, revision, REVISION)
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", MIGRATIONS)
            command.upgrade(config, "head")
        if connection.dialect.name == "postgresql" and not waking.exists(connection):
            waking.create(connection)
    if copy is not None:
        kept = copy.with_name(f"{copy.stem}-{time.strftime('%Y%m%d-%H%M%S')}{copy.suffix}")
        copy.rename(kept)
        _log.warning(f"The database was upgraded. {kept} is a copy of it as it was: delete it when it is not needed.")


def _revision_of(connection: Connection) -> str | None:
    """Return the revision of a database, None for a new one; ServiceError when this version does not know it."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(sa.text("SELECT max(version_num) FROM alembic_version")).scalar()
    if revision is not None and (not revision.isdecimal() or int(revision) > int(REVISION)):
        raise ServiceError(
            f"The database {database.shown(connection.engine)} has schema {revision}, this ragviz knows {REVISION}: "
            "upgrade ragviz."
        )
    return str(revision) if revision is not None else None


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file; it and its folder are created when missing, for this user only.

    A file that is there is not opened: closing it would end the locks that SQLite holds on it in this process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # SQLite says why it cannot be opened
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    return database.file_url(path)
