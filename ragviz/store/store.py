"""The store, on SQLite or PostgreSQL: each query is a method of `Store`.

Names of corpora, indexes, question sets, runs, experiments are unique. Times are seconds since 1970. No secrets here.
Longer than 500 lines: the methods share a connection, its transactions and the counts of changes.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Literal, NoReturn, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from ragviz.core import digests
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Corpus, Document, DocumentInfo
from ragviz.core.errors import Deleted, NotFoundError, UsageError
from ragviz.core.experiment import Cell, Confirmation, Experiment
from ragviz.core.index_info import IndexInfo, IndexStatus
from ragviz.core.job import Job
from ragviz.core.progress import Progress, silent
from ragviz.core.question import ASKED, Question
from ragviz.core.question_set import DELETED, EDITED, Edit, QuestionSet
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.core.split import SIDES, Side, Split
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store import changes, codecs, database, evidence, labels, schema
from ragviz.store.changes import BATCH, Overtaken
from ragviz.store.codecs import Cuts
from ragviz.store.comments import StoreComments
from ragviz.store.database import reading, repeated, writing
from ragviz.store.history import StoreHistory
from ragviz.text.former_documents import marked
from ragviz.text.keys import without_keys
from ragviz.text.untrusted import storable

Kind = Literal["corpus", "index", "questions", "run", "experiment"]

_NO_FILES = ("replaced", "passage")
"""Statuses of documents that are not files of their corpus: replaced ones, and passages of imported runs."""

_TABLES: dict[Kind, sa.Table] = {
    "corpus": schema.corpora,
    "index": schema.indexes,
    "questions": schema.question_sets,
    "run": schema.runs,
    "experiment": schema.experiments,
}
_SUBMITTING = 7_261_766_070  # PostgreSQL's advisory lock for jobs that are created once
SETTLES = 5
"""Attempts at moving evidence while other processes edit questions."""


def plain_name(name: str) -> str:
    """Return a name as it is stored and looked up: without blanks at its ends."""
    return name.strip()


def label(kind: Kind) -> str:
    """Return the name of a kind in messages."""
    return "question set" if kind == "questions" else kind


class Store:
    """One database. Safe to use from many threads and processes."""

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine, whose database has the present schema."""
        self._engine = engine

    @property
    def address(self) -> str:
        """Where the store is, without a password."""
        return database.shown(self._engine)

    def cache(self, kind: str) -> StoreCache:
        """Return the cache of one `kind` ("embedding", "model")."""
        return StoreCache(self, kind)

    @property
    def pool(self) -> StorePool:
        """The verdicts on chunks that all runs share."""
        return StorePool(self)

    @property
    def history(self) -> StoreHistory:
        """The versions of question sets."""
        return StoreHistory(self._rows)

    @property
    def comments(self) -> StoreComments:
        """Comments on questions."""
        return StoreComments(self._rows, self._change)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """Open a writing transaction. A method that does so is `repeated`."""
        with writing(self._engine) as connection:
            yield connection

    @contextmanager
    def _change(self, owner_id: str, *kinds: Kind) -> Iterator[Connection]:
        """Open a transaction that changes a corpus, index, question set, run or experiment (one of `kinds`).

        The change is counted first, so that other transactions that change the same one wait for the end of this one,
        and then see its result.

        Raises:
            Deleted: none has this id (any more).

        """
        with self._write() as connection:
            changes.count_change(connection, owner_id)
            _require(connection, owner_id, kinds)
            yield connection

    @repeated
    def _rows(self, query: sa.Select[Any] | sa.CompoundSelect[Any]) -> Sequence[Row[Any]]:
        with reading(self._engine) as connection:
            return connection.execute(query).all()

    @repeated
    def _name(self, kind: Kind, row: Mapping[str, Any]) -> None:
        """Insert a row with a unique name; its corpus, if it has one, cannot be deleted meanwhile.

        Raises:
            UsageError: another process has taken the name meanwhile.
            Deleted: the corpus is gone.

        """
        try:
            with self._write() as connection:
                if "corpus_id" in row:
                    _require(connection, row["corpus_id"], ("corpus",))
                connection.execute(_TABLES[kind].insert().values(**row))
        except sa.exc.IntegrityError:
            raise _taken(kind, row["name"]) from None

    def _corpus_of(self, table: sa.Table, owner_id: str) -> list[str]:
        """Return the id of the corpus of a run or a question set; [] when there is none with this id."""
        return [row.corpus_id for row in self._rows(sa.select(table.c.corpus_id).where(table.c.id == owner_id))]

    @repeated
    def _delete(self, owner_id: str, delete: Callable[[Connection, str], None]) -> None:
        with self._write() as connection:
            delete(connection, owner_id)

    # Revisions

    def revisions(self, *owner_ids: str) -> tuple[int, ...]:
        """Return how often these corpora, indexes, question sets, runs and experiments were changed, by any process.

        Caches are keyed by these numbers, which never decrease. 0 for an owner without a counted change, and for one
        that does not exist.
        """
        query = sa.select(schema.revisions)
        numbers: dict[str, int] = {}
        for batch in changes.batches(list(dict.fromkeys(owner_ids))):
            numbers.update(tuple(row) for row in self._rows(query.where(schema.revisions.c.owner_id.in_(batch))))
        return tuple(numbers.get(owner_id, 0) for owner_id in owner_ids)

    @repeated
    def touch(self, owner_id: str) -> None:
        """Count a change that was made elsewhere (in the cache, in a file) like one of the store's own."""
        with self._change(owner_id, *_TABLES):
            pass

    # Corpora

    def create_corpus(self, name: str) -> Corpus:
        """Create an empty corpus.

        Raises:
            UsageError: the name is blank or taken.

        """
        corpus = Corpus(digests.new_id(), self._free_name("corpus", name), time.time())
        self._name("corpus", asdict(corpus))
        return corpus

    def corpus_called(self, name: str) -> Corpus:
        """Return the corpus with this name or id, created when missing; UsageError when the name is blank."""
        try:
            return self.corpus_named(name) or self.create_corpus(name)
        except UsageError:  # another process has created it meanwhile
            if (corpus := self.corpus_named(name)) is None:
                raise
            return corpus

    def corpora(self) -> list[Corpus]:
        """Return all corpora by name."""
        return [
            Corpus(**row._asdict()) for row in self._rows(sa.select(schema.corpora).order_by(schema.corpora.c.name))
        ]

    def corpus(self, name: str) -> Corpus:
        """Return the corpus with this name or id, or raise NotFoundError."""
        return Corpus(**(self._named("corpus", name) or self._unknown("corpus", name))._asdict())

    def corpus_named(self, name: str) -> Corpus | None:
        """Return the corpus with this name or id, if there is one."""
        row = self._named("corpus", name)
        return Corpus(**row._asdict()) if row else None

    def holdings(self, corpus_id: str) -> dict[str, int]:
        """Count a corpus's {"documents", "indexes", "question sets", "runs"}, unreadable files too."""
        tables = {
            "documents": schema.documents,
            "indexes": schema.indexes,
            "question sets": schema.question_sets,
            "runs": schema.runs,
        }
        counts = {kind: sa.select(sa.func.count()).where(t.c.corpus_id == corpus_id) for kind, t in tables.items()}
        counts["documents"] = counts["documents"].where(schema.documents.c.status.not_in(_NO_FILES))
        row = self._rows(sa.select(*(count.scalar_subquery().label(kind) for kind, count in counts.items())))[0]
        return dict(row._mapping)

    @repeated
    def delete_corpus(self, corpus_id: str) -> list[str]:
        """Delete a corpus with its documents, question sets, runs and jobs; its indexes must be gone already.

        Returns the ids of the jobs.
        """
        with self._write() as connection:
            changes.count_change(connection, corpus_id)
            connection.execute(
                schema.corpora.delete().where(schema.corpora.c.id == corpus_id)
            )  # first: nothing can be added to it from now on
            for rows, delete in (
                (schema.runs, changes.delete_run),
                (schema.question_sets, changes.delete_question_set),
                (schema.experiments, changes.delete_experiment),
            ):
                for row in connection.execute(sa.select(rows.c.id).where(rows.c.corpus_id == corpus_id)).all():
                    delete(connection, row.id)
            for table in (schema.documents, schema.former_documents, schema.moves):
                connection.execute(table.delete().where(table.c.corpus_id == corpus_id))
            mine = schema.jobs.c.corpus_id == corpus_id
            job_ids = [*connection.execute(sa.select(schema.jobs.c.id).where(mine)).scalars()]
            connection.execute(schema.jobs.delete().where(mine))
            changes.drop_revision(connection, corpus_id)
        return job_ids

    # Documents

    def add_document(self, corpus_id: str, document: Document) -> None:
        """Add a document; one of the same name is replaced, and keeps its evidence and text until `settle`."""
        self._put_document(codecs.document_row(corpus_id, document, "ok"))

    @repeated
    def add_passage(self, corpus_id: str, document: Document) -> None:
        """Add a passage of an imported run, whose ranking names it; documents of the same name stay as they are."""
        row = codecs.document_row(corpus_id, document, "passage")
        here = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.id == document.id)
        with self._change(corpus_id, "corpus") as connection:
            if connection.execute(sa.select(schema.documents.c.id).where(here)).first() is None:
                connection.execute(schema.documents.insert().values(**row))

    def add_unreadable(self, corpus_id: str, name: str, content_hash: str, size: int, error: str) -> None:
        """Add a file that could not be read, and why, unless a readable one has its name already."""
        empty = {"characters": 0, "language": "und", "media_type": "", "pages": "[]", "page_count": 0, "text": ""}
        row = {"corpus_id": corpus_id, "id": digest(name, content_hash), "name": name, "status": "error"}
        self._put_document(
            {**empty, **row, "content_hash": content_hash, "size": size, "warnings": "[]", "error": error}
            | {"added": time.time()}
        )

    @repeated
    def _put_document(self, row: dict[str, Any]) -> None:
        """Insert `row`; another one of its name becomes "replaced", or is deleted when it has no text.

        A file that could not be read does not replace a readable one.
        """
        here = schema.documents.c.corpus_id == row["corpus_id"]
        same_name = sa.and_(here, schema.documents.c.name == row["name"])
        readable = sa.select(schema.documents.c.id).where(same_name, schema.documents.c.status == "ok")
        with self._change(row["corpus_id"], "corpus") as connection:
            if row["status"] == "error" and connection.execute(readable).first() is not None:
                return
            connection.execute(schema.documents.delete().where(same_name, schema.documents.c.status == "error"))
            connection.execute(schema.documents.delete().where(here, schema.documents.c.id == row["id"]))
            changes.mark_moves(connection, row["corpus_id"], connection.execute(readable).scalars().all())
            former = schema.documents.update().where(same_name, schema.documents.c.status == "ok")
            connection.execute(former.values(status="replaced"))
            connection.execute(schema.documents.insert().values(**row))

    def documents(self, corpus_id: str, *, replaced: bool = False) -> list[DocumentInfo]:
        """Return all files of a corpus by name, the unreadable among them.

        With `replaced`, also replaced files and the passages of imported runs.
        """
        query = codecs.info_query(corpus_id).order_by(schema.documents.c.name)
        if not replaced:
            query = query.where(schema.documents.c.status.not_in(_NO_FILES))
        return [codecs.document_info(row) for row in self._rows(query)]

    def document_names(self, corpus_id: str, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return the names of the documents of a corpus (or of some of them) by id.

        Those that were replaced or removed are marked, and named as long as an index, a run or a version of a question
        set does: "pumps.md (replaced since)".
        """
        rows = list[Row[Any]]()
        for table, status in (
            (schema.former_documents, sa.literal("removed")),
            (schema.documents, schema.documents.c.status),
        ):
            query = sa.select(table.c.id, table.c.name, status.label("status")).where(table.c.corpus_id == corpus_id)
            for batch in [None] if ids is None else changes.batches(ids):
                rows += self._rows(query if batch is None else query.where(table.c.id.in_(batch)))
        gone = {row.name for row in rows if row.status in ("removed", "replaced")}
        current = self._current_names(corpus_id, list(gone))
        return {
            row.id: marked(row.name, "replaced" if row.name in current else "removed")
            if row.status in ("removed", "replaced")
            else row.name
            for row in rows
        }

    def _current_names(self, corpus_id: str, names: Sequence[str]) -> set[str]:
        """Return those of `names` that a readable document has."""
        readable = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.status == "ok")
        query, name = sa.select(schema.documents.c.name).where(readable), schema.documents.c.name
        return {row.name for batch in changes.batches(names) for row in self._rows(query.where(name.in_(batch)))}

    def document(self, corpus_id: str, document_id: str) -> Document:
        """Return a document with its text, or raise NotFoundError."""
        return next(iter(self.document_texts(corpus_id, [document_id])), None) or _missing(document_id)

    def document_texts(self, corpus_id: str, ids: Sequence[str]) -> Iterator[Document]:
        """Yield the documents with these ids one at a time, in the order asked; those that are gone are left out."""
        for document_id in ids:
            query = sa.select(schema.documents).where(
                schema.documents.c.corpus_id == corpus_id, schema.documents.c.id == document_id
            )
            for row in self._rows(query):
                yield codecs.document(row)

    def many_texts(self, corpus_id: str, ids: Sequence[str]) -> Iterator[Document]:
        """Yield the documents with these ids, `changes.TEXTS` in one query, in the order asked; others are left out."""
        for batch in changes.batches(ids, changes.TEXTS):
            here = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.id.in_(batch))
            rows = {row.id: row for row in self._rows(sa.select(schema.documents).where(here))}
            yield from (codecs.document(rows[document_id]) for document_id in batch if document_id in rows)

    def document_named(self, corpus_id: str, name: str) -> DocumentInfo | None:
        """Return the readable document with this name, if there is one."""
        named = schema.documents.c.name == name if _is_text(name) else sa.false()
        query = codecs.info_query(corpus_id).where(named, schema.documents.c.status == "ok")
        return next((codecs.document_info(row) for row in self._rows(query)), None)

    @repeated
    def delete_documents(self, corpus_id: str, ids: Sequence[str]) -> None:
        """Delete files from a corpus, with all their texts; evidence in them becomes stale with `settle`."""
        with self._change(corpus_id, "corpus") as connection:
            for batch in changes.batches(ids):
                changes.mark_moves(connection, corpus_id, batch)
                changes.delete_documents(connection, corpus_id, batch)

    # Evidence of replaced documents

    def settle(self, corpus_id: str, author: str = "") -> None:
        """Move evidence out of replaced or deleted documents, and delete replaced texts that no index and no run needs.

        Evidence moves to where its exact text is now, else it is marked stale. Outstanding moves are recorded with the
        replacement or deletion, and cleared with the move: those that a kill left are done when the store is opened
        next. The questions are read once, however many documents changed, and not at all when none did. `author` is who
        changed the documents, for the versions that this makes.
        """
        for _ in range(SETTLES):
            with suppress(Overtaken):
                self._settle(corpus_id, author)
                return
        codecs.log.warning(
            "Evidence of corpus %s changes too fast to be moved; it is moved when the store is opened next.", corpus_id
        )

    def settle_all(self) -> None:
        """Settle every corpus with outstanding moves."""
        for row in self._rows(sa.select(schema.moves.c.corpus_id).distinct()):
            self.settle(row.corpus_id)

    @repeated
    def _settle(self, corpus_id: str, author: str) -> None:
        """Settle once, or raise `Overtaken`, with nothing changed, when another process changed the data meanwhile."""
        [before] = self.revisions(corpus_id)
        marks = [
            row.document_id
            for row in self._rows(sa.select(schema.moves.c.document_id).where(changes.moves_of(corpus_id)))
        ]
        columns = (schema.documents.c.id, schema.documents.c.name, schema.documents.c.status)
        rows = self._rows(sa.select(*columns).where(schema.documents.c.corpus_id == corpus_id))
        needed = {d for index in self.indexes(corpus_id) for d in index.documents}
        spare = self._rows(sa.select(schema.documents.c.id).where(changes.is_spare(corpus_id)))
        unneeded = [row.id for row in spare if row.id not in needed]
        forgotten = sa.select(schema.former_documents.c.id).where(changes.is_forgotten(corpus_id)).limit(1)
        if not marks and not unneeded and not self._rows(forgotten):
            return
        moves = list(self._moves_of(corpus_id, rows))
        number = sa.select(schema.revisions.c.number).where(schema.revisions.c.owner_id == corpus_id)
        with suppress(Deleted), self._change(corpus_id, "corpus") as connection:
            if connection.execute(number).scalar_one() != before + 1:
                raise Overtaken
            changes.settle(connection, corpus_id, marks, unneeded, moves, author)

    def _moves_of(self, corpus_id: str, rows: Sequence[Row[Any]]) -> Iterator[dict[str, str]]:
        """Yield the values of `_MOVE` for every question of a corpus with evidence in a replaced or deleted document.

        `rows` are id, name and status of its documents.
        """
        known = {row.id for row in rows}
        names = {row.name: row.id for row in rows if row.status == "ok"}
        replacements = {row.id: names.get(row.name) for row in rows if row.status == "replaced"}
        document_of = lru_cache(maxsize=8)(partial(self._document_now, corpus_id))
        for row in self._bodies(corpus_id):
            question, successors = codecs.question_from_json(row.body), dict[str, str | None]()
            for span in (span for group in question.evidence for span in group):
                if span.document_id in replacements or span.document_id not in known:
                    successors[span.document_id] = replacements.get(span.document_id)
            moved = evidence.reanchored(question, successors, document_of)
            if moved != question:
                yield {"set": row.set_id, "question": row.id, "old": row.body, "new": codecs.question_to_json(moved)}

    def _document_now(self, corpus_id: str, document_id: str) -> Document:
        """Return a document of `rows` above; `Overtaken` when another process has deleted it since they were read."""
        try:
            return self.document(corpus_id, document_id)
        except NotFoundError:
            raise Overtaken from None

    def _bodies(self, corpus_id: str) -> Iterator[Row[Any]]:
        """Yield every question of a corpus as stored, fetched in batches."""
        sets = sa.select(schema.question_sets.c.id).where(schema.question_sets.c.corpus_id == corpus_id)
        query = sa.select(schema.questions.c.set_id, schema.questions.c.id, schema.questions.c.body).where(
            schema.questions.c.set_id.in_(sets)
        )
        query = query.order_by(schema.questions.c.set_id, schema.questions.c.id)  # one order of locks for all processes
        with reading(self._engine) as connection:
            rows = connection.execution_options(yield_per=BATCH).execute(query)
            yield from cast(Iterator[Row[Any]], rows)

    # Indexes

    def create_index(self, corpus_id: str, name: str, config: IndexConfig) -> IndexInfo:
        """Create the row of an index to be built; UsageError when the name is blank or taken."""
        values: dict[str, Any] = {
            "id": digests.new_id(),
            "corpus_id": corpus_id,
            "name": self._free_name("index", name),
        }
        start = {"status": "building", "build": "", "documents": "[]", "chunks": 0, "tokens": 0, "dims": 0}
        row = values | start | {"config": codecs.as_json(config), "embedder_identity": "", "created": time.time()}
        self._name("index", row)
        return self.index(values["id"])

    def indexes(self, corpus_id: str | None = None) -> list[IndexInfo]:
        """Return all indexes (of a corpus) by name."""
        query = sa.select(schema.indexes).order_by(schema.indexes.c.name)
        if corpus_id is not None:
            query = query.where(schema.indexes.c.corpus_id == corpus_id)
        return [codecs.index_info(row) for row in self._rows(query)]

    def index(self, name: str) -> IndexInfo:
        """Return the index with this name or id, or raise NotFoundError."""
        return codecs.index_info(self._named("index", name) or self._unknown("index", name))

    def index_named(self, name: str) -> IndexInfo | None:
        """Return the index with this name or id, if there is one."""
        row = self._named("index", name)
        return codecs.index_info(row) if row else None

    @repeated
    def update_index(self, info: IndexInfo, cuts: Mapping[str, Cuts] | None = None) -> None:
        """Update an index's row, with the `cuts` of its documents when it is a new build; those of an older one go."""
        values = asdict(info) | {"config": codecs.as_json(info.config), "documents": json.dumps(info.documents)}
        with self._change(info.id, "index") as connection:
            old = connection.execute(sa.select(schema.indexes.c.build).where(schema.indexes.c.id == info.id)).scalar()
            connection.execute(schema.indexes.update().where(schema.indexes.c.id == info.id).values(**values))
            spans = [
                {"build": info.build, "document_id": document_id, "spans": rows.astype("<i4").tobytes()}
                for document_id, rows in (cuts or {}).items()
            ]
            for batch in changes.batches(spans):
                connection.execute(schema.cuts.insert(), batch)
            if old and old != info.build:
                connection.execute(schema.cuts.delete().where(schema.cuts.c.build == old))

    @repeated
    def set_index_status(self, index_id: str, status: IndexStatus) -> None:
        """Set the status of an index only."""
        with self._change(index_id, "index") as connection:
            connection.execute(schema.indexes.update().where(schema.indexes.c.id == index_id).values(status=status))

    @repeated
    def delete_index(self, index_id: str) -> None:
        """Delete an index's row and cuts; its runs stay, their rankings with them."""
        with self._write() as connection:
            changes.count_change(connection, index_id)
            build = connection.execute(
                sa.select(schema.indexes.c.build).where(schema.indexes.c.id == index_id)
            ).scalar()
            connection.execute(schema.cuts.delete().where(schema.cuts.c.build == (build or "")))
            connection.execute(schema.payments.delete().where(schema.payments.c.run_id == index_id))
            connection.execute(schema.indexes.delete().where(schema.indexes.c.id == index_id))
            changes.drop_revision(connection, index_id)

    def cuts(self, build: str, documents: Sequence[str]) -> dict[str, Cuts]:
        """Return the cuts of a build, for the documents that have any."""
        import numpy as np

        cuts: dict[str, Cuts] = {}
        for batch in changes.batches(list(dict.fromkeys(documents))):
            query = sa.select(schema.cuts.c.document_id, schema.cuts.c.spans)
            for row in self._rows(query.where(schema.cuts.c.build == build, schema.cuts.c.document_id.in_(batch))):
                cuts[row.document_id] = np.frombuffer(row.spans, dtype="<i4").reshape(-1, 3)
        return cuts

    # Questions

    def create_question_set(self, corpus_id: str, name: str) -> QuestionSet:
        """Create an empty question set; UsageError when the name is blank or taken."""
        row = {"id": digests.new_id(), "corpus_id": corpus_id, "name": self._free_name("questions", name)}
        self._name("questions", row | {"created": time.time(), "split": ""})
        return self.question_set(row["id"])

    def question_sets(self, corpus_id: str | None = None) -> list[QuestionSet]:
        """Return all question sets (of a corpus) by name, with their counts by status."""
        query = sa.select(schema.question_sets).order_by(schema.question_sets.c.name)
        if corpus_id is not None:
            query = query.where(schema.question_sets.c.corpus_id == corpus_id)
        return self._question_sets(self._rows(query))

    def _question_sets(self, rows: Sequence[Row[Any]]) -> list[QuestionSet]:
        """Return the question sets of rows, with the counts of their questions."""
        statuses: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
        sides: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
        versions: dict[str, int] = {}
        grouping = (schema.questions.c.set_id, schema.questions.c.status, schema.questions.c.split)
        counts = sa.select(*grouping, sa.func.count().label("number")).group_by(*grouping)
        for batch in changes.batches([row.id for row in rows]):
            for row in self._rows(counts.where(schema.questions.c.set_id.in_(batch))):
                statuses[row.set_id][row.status] += row.number
                if row.status in ASKED:
                    sides[row.set_id][row.split] += row.number
            newest = sa.func.max(schema.set_versions.c.number).label("number")
            numbers = sa.select(schema.set_versions.c.set_id, newest).group_by(schema.set_versions.c.set_id)
            for row in self._rows(numbers.where(schema.set_versions.c.set_id.in_(batch))):
                versions[row.set_id] = row.number
        return [
            QuestionSet(
                row.id, row.corpus_id, row.name, row.created, dict(statuses[row.id]),
                codecs.split_from_json(row.split), dict(sides[row.id]), versions.get(row.id, 0),
            )
            for row in rows
        ]  # fmt: skip

    def question_set(self, name: str) -> QuestionSet:
        """Return the question set with this name or id, or raise NotFoundError."""
        return self._question_sets([self._named("questions", name) or self._unknown("questions", name)])[0]

    def question_set_named(self, name: str) -> QuestionSet | None:
        """Return the question set with this name or id, if there is one."""
        row = self._named("questions", name)
        return self._question_sets([row])[0] if row else None

    def delete_question_set(self, set_id: str) -> None:
        """Delete a question set; its runs stay, with their copies of the questions."""
        for corpus_id in self._corpus_of(schema.question_sets, set_id):
            self._delete(set_id, changes.delete_question_set)
            self.settle(corpus_id)

    @repeated
    def put_questions(
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
        `put_set_fact`) are stored in the same transaction.

        A replaced question keeps its side of the set's split, and a new one has none; with `split`, that becomes the
        set's, and the questions are on the sides that they name. With `back`, a question that was in the set before is
        on the side that it had then, unless the split was made again since with other choices.

        Evidence in a document that was replaced since it was read is moved by `settle_all`.
        """
        with self._change(set_id, "questions") as connection:
            last_sides = changes.last_sides(connection, set_id) if back else {}
            self._write_questions(connection, set_id, questions, split, edit, last_sides)
            for name, value in (facts or {}).items():
                _put_set_fact(connection, set_id, name, value)

    def _write_questions(
        self,
        connection: Connection,
        set_id: str,
        questions: Sequence[Question],
        split: Split | None,
        edit: Edit,
        last_sides: Mapping[str, str] | None = None,
        stored: changes.Stored = changes.unheard,
    ) -> None:
        """Write questions as `put_questions` says, in a transaction that has counted a change of their set.

        `stored` is told how many are written, after each batch.
        """
        changes.mark_gone(connection, set_id, questions)
        mine, places, sides = schema.questions.c.set_id == set_id, dict[str, int](), dict(last_sides or {})
        before: dict[str, str] = {question.id: "" for question in questions}
        has_some = connection.execute(sa.select(schema.questions.c.id).where(mine).limit(1)).first() is not None
        for batch in changes.batches([q.id for q in questions] if has_some else []):
            for row in connection.execute(sa.select(schema.questions).where(mine, schema.questions.c.id.in_(batch))):
                places[row.id], sides[row.id], before[row.id] = row.position, row.split, row.body
            connection.execute(schema.questions.delete().where(mine, schema.questions.c.id.in_(batch)))
        last = connection.execute(sa.select(sa.func.max(schema.questions.c.position)).where(mine)).scalar()
        fresh = max([-1 if last is None else last, *places.values()]) + 1
        changed = dict[str, str]()
        for number, some in enumerate(changes.batches(list({q.id: q for q in questions}.values()))):
            rows = list[dict[str, Any]]()
            for question in some:
                position = places.get(question.id, fresh)
                fresh += position == fresh
                side = question.split if split else sides.get(question.id, "")
                rows.append({"set_id": set_id, "position": position, "split": side} | codecs.question_row(question))
                if before[question.id] != rows[-1]["body"]:
                    changed[question.id] = before[question.id]
            connection.execute(schema.questions.insert(), rows)
            changes.mention(connection, set_id, changes.documents_in(some))
            stored(number * changes.BATCH + len(some))
        changes.record_version(connection, set_id, edit, changed)
        if split:
            values = {"split": codecs.split_to_json(split)}
            this = schema.question_sets.c.id == set_id
            connection.execute(schema.question_sets.update().where(this).values(values))

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
        written as `put_questions` says. `progress` is told within the transaction how many rows are written; what it
        raises undoes all of them.

        Raises:
            UsageError: a document of the same name with another text was added meanwhile, the set belongs to another
                corpus, or its name is blank.
            Deleted: the corpus is gone.

        """
        if self._named("questions", name) is None:
            name = self._free_name("questions", name)
        total = len(documents) + len(questions)

        def stored(rows: int) -> None:
            progress(rows, total, "rows", f"Storing row {rows:,}")  # each message is a chance to cancel

        with self._change(corpus_id, "corpus") as connection:
            added = changes.add_documents(connection, corpus_id, documents, stored)
            sets = schema.question_sets
            row = connection.execute(sa.select(sets).where(sets.c.name == plain_name(name))).first()
            if row is not None and row.corpus_id != corpus_id:
                raise UsageError(f"Question set '{row.name}' belongs to another corpus: choose another name.")
            if row is None:
                set_id = digests.new_id()
                values = {"id": set_id, "corpus_id": corpus_id, "name": name}
                connection.execute(sets.insert().values(**values, created=time.time(), split=""))
            else:
                set_id = row.id
            changes.count_change(connection, set_id)
            self._write_questions(
                connection, set_id, questions, split, edit, stored=lambda rows: stored(len(documents) + rows)
            )
        return added

    @repeated
    def put_question(
        self, set_id: str, question: Question, version: str, edit: Edit = EDITED
    ) -> tuple[bool, Question | None]:
        """Replace the question with this id if it still has that `version`: return whether it had, and the current one.

        The current one is None when there is no such question (any more). Evidence in a document that was replaced
        since it was read is moved by `settle_all`.
        """
        mine = sa.and_(schema.questions.c.set_id == set_id, schema.questions.c.id == question.id)
        with self._write() as connection:
            row = connection.execute(sa.select(schema.questions.c.body, schema.questions.c.split).where(mine)).first()
            current = codecs.question(row.body, row.split) if row is not None else None
            if row is None or current is None or codecs.version_of(current) != version:
                return False, current
            # Another process may have written since: only the version that was read is replaced.
            same = sa.and_(mine, schema.questions.c.body == row.body)
            done = connection.execute(schema.questions.update().where(same).values(codecs.question_row(question)))
            if done.rowcount:
                changes.count_change(connection, set_id)
                if codecs.question_to_json(question) != row.body:
                    changes.record_version(connection, set_id, edit, {question.id: row.body})
                changes.mark_gone(connection, set_id, [question])
                changes.mention(connection, set_id, changes.documents_in([question]))
        return done.rowcount == 1, question if done.rowcount else current

    @repeated
    def delete_questions(self, set_id: str, ids: Sequence[str], edit: Edit = DELETED) -> None:
        """Delete single questions of a set; their sides of its split are recorded with the version that this makes."""
        table, before, sets = schema.questions, dict[str, str](), schema.question_sets
        with self._change(set_id, "questions") as connection:
            split = connection.execute(sa.select(sets.c.split).where(sets.c.id == set_id)).scalar_one()
            for batch in changes.batches(ids):
                mine = sa.and_(table.c.set_id == set_id, table.c.id.in_(batch))
                for row in connection.execute(sa.select(table.c.id, table.c.body, table.c.split).where(mine)):
                    before[row.id] = codecs.with_side(row.body, row.split, split)
                connection.execute(table.delete().where(mine))
            changes.record_version(connection, set_id, edit, before)

    def questions(self, set_id: str, ids: Sequence[str] | None = None) -> list[Question]:
        """Return all questions of a set, in order, whatever their status; with `ids` those of them that there are."""
        table = schema.questions
        query = sa.select(table.c.body, table.c.split).where(table.c.set_id == set_id).order_by(table.c.position)
        queries = [query] if ids is None else [query.where(table.c.id.in_(batch)) for batch in changes.batches(ids)]
        return [codecs.question(row.body, row.split) for each in queries for row in self._rows(each)]

    def stored_questions(
        self, set_id: str, known: Mapping[str, codecs.StoredQuestion] = MappingProxyType({})
    ) -> dict[str, codecs.StoredQuestion]:
        """Return all questions of a set by id, in order; of those that are as they were in `known`, the same objects.

        Decoding takes most of the time of reading: of a set that was read before, only what has changed is decoded.
        """
        table, read = schema.questions, dict[str, codecs.StoredQuestion]()
        query = sa.select(table.c.id, table.c.body, table.c.split).where(table.c.set_id == set_id)
        for row in self._rows(query.order_by(table.c.position)):
            stored = known.get(row.id)
            if stored is None or (stored.body, stored.split) != (row.body, row.split):
                stored = codecs.StoredQuestion(row.body, row.split, codecs.question(row.body, row.split))
            read[row.id] = stored
        return read

    @repeated
    def put_set_fact(self, set_id: str, name: str, value: Any, *, counted: bool = True) -> None:
        """Store what belongs to a question set as JSON, in place of an earlier value of this name; None removes it.

        `counted` makes it a change of the set, so that pages that show it are drawn anew.
        """
        with self._change(set_id, "questions") if counted else self._write() as connection:
            _require(connection, set_id, ("questions",))
            _put_set_fact(connection, set_id, name, value)

    def set_fact(self, set_id: str, name: str) -> Any:
        """Return what `put_set_fact` stored under this name; None without it."""
        table = schema.set_facts
        rows = self._rows(sa.select(table.c.body).where(table.c.set_id == set_id, table.c.name == name))
        return json.loads(rows[0].body) if rows else None

    @repeated
    def put_split(self, set_id: str, split: Split | None, sides: Mapping[str, Side]) -> None:
        """Store a split in place of an earlier one: the side of each question by id; the others are on neither.

        None removes the split.
        """
        table = schema.questions
        mine = table.c.set_id == set_id
        with self._change(set_id, "questions") as connection:
            values = {"split": codecs.split_to_json(split)}
            connection.execute(schema.question_sets.update().where(schema.question_sets.c.id == set_id).values(values))
            connection.execute(table.update().where(mine, table.c.split != "").values(split=""))
            for side in SIDES if split else ():
                for batch in changes.batches([question_id for question_id, s in sides.items() if s == side]):
                    connection.execute(table.update().where(mine, table.c.id.in_(batch)).values(split=side))

    # Runs

    def create_run(
        self, name: str, corpus_id: str, config: RunConfig, fingerprint: str, provenance: Mapping[str, Any]
    ) -> Run:
        """Create the row of a run that is about to start; UsageError when the name is blank or taken."""
        name = self._free_name("run", name)
        run = Run(digests.new_id(), corpus_id, name, config, fingerprint, provenance, "running", time.time(), None)
        body = json.dumps(provenance, sort_keys=True, ensure_ascii=False)
        self._name("run", asdict(run) | {"config": codecs.as_json(config), "provenance": body, "tags": "[]"})
        return run

    @repeated
    def finish_run(self, run_id: str, status: Literal["done", "failed", "running"]) -> None:
        """Set the status of a run ("running" resumes it)."""
        finished = None if status == "running" else time.time()
        with self._change(run_id, "run") as connection:
            connection.execute(
                schema.runs.update().where(schema.runs.c.id == run_id).values(status=status, finished=finished)
            )

    @repeated
    def note_run(self, run_id: str, **facts: Any) -> None:
        """Add facts that became known during a run to its provenance; its fingerprint stays."""
        with self._change(run_id, "run") as connection:
            provenance = connection.execute(
                sa.select(schema.runs.c.provenance).where(schema.runs.c.id == run_id)
            ).scalar_one()
            body = json.dumps({**json.loads(provenance), **facts}, sort_keys=True, ensure_ascii=False)
            connection.execute(schema.runs.update().where(schema.runs.c.id == run_id).values(provenance=body))

    def runs(self, corpus_id: str | None = None) -> list[Run]:
        """Return all runs (of a corpus), the newest first."""
        query = sa.select(schema.runs).order_by(schema.runs.c.created.desc())
        if corpus_id is not None:
            query = query.where(schema.runs.c.corpus_id == corpus_id)
        return [codecs.run(row) for row in self._rows(query)]

    def run(self, name: str) -> Run:
        """Return the run with this name or id, else the one that was called so, or raise NotFoundError."""
        return codecs.run(self._named("run", name) or self._formerly(name) or self._unknown("run", name))

    def _formerly(self, name: str) -> Row[Any] | None:
        """Return the row of the run that was last renamed from this name."""
        if not _is_text(name):
            return None
        former = sa.select(schema.former_names.c.run_id).where(schema.former_names.c.name == plain_name(name))
        rows = self._rows(sa.select(schema.runs).where(schema.runs.c.id == former.scalar_subquery()))
        return next(iter(rows), None)

    def run_named(self, name: str) -> Run | None:
        """Return the run with this name or id, if there is one."""
        row = self._named("run", name)
        return codecs.run(row) if row else None

    @repeated
    def rename_run(self, run_id: str, name: str) -> None:
        """Give a finished run another name; `run` finds it by its former names too, until others take them.

        Raises:
            UsageError: the name is blank or taken, or the run is not finished: its job knows it by its name.
            Deleted: there is no such run (any more).

        """
        if plain_name(name) == self._name_of(run_id):
            return
        name = self._free_name("run", name)
        mine = schema.runs.c.id == run_id
        try:
            with self._change(run_id, "run") as connection:
                before = connection.execute(sa.select(schema.runs.c.name, schema.runs.c.status).where(mine)).one()
                if before.status == "running":
                    raise UsageError(f"Run '{before.name}' is not finished: rename it when it is.")
                for taken in (name, before.name):  # the new name is no former one; the old one was perhaps another's
                    connection.execute(schema.former_names.delete().where(schema.former_names.c.name == taken))
                connection.execute(schema.former_names.insert().values(name=before.name, run_id=run_id))
                connection.execute(schema.runs.update().where(mine).values(name=name))
                changes.keep_summary(connection, run_id)
        except sa.exc.IntegrityError:
            raise _taken("run", name) from None

    def _name_of(self, run_id: str) -> str | None:
        row = next(iter(self._rows(sa.select(schema.runs.c.name).where(schema.runs.c.id == run_id))), None)
        return row.name if row else None

    @repeated
    def label_run(self, run_id: str, *, note: str | None = None, tags: Sequence[str] | None = None) -> None:
        """Replace the note or the tags of a run; None leaves them.

        Raises:
            UsageError: the note is longer than `labels.LONGEST_NOTE`; a tag is blank, has a comma or line end, or is
                longer than `labels.LONGEST_TAG`.
            Deleted: there is no such run (any more).

        """
        values: dict[str, str] = {}
        if note is not None:
            values["note"] = labels.checked_note(note)
        if tags is not None:
            values["tags"] = json.dumps(labels.checked_tags(tags), ensure_ascii=False)
        if values:
            with self._change(run_id, "run") as connection:
                connection.execute(schema.runs.update().where(schema.runs.c.id == run_id).values(**values))
                changes.keep_summary(connection, run_id)

    def run_names(self, given: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return id and present name of the runs with these names, ids or former names, by what was given.

        What is no run's is left out. A name goes before an id, both before a former name.
        """
        asked = list(dict.fromkeys(plain_name(name) for name in given if _is_text(name)))
        runs, former = schema.runs.c, schema.former_names.c

        def found_by(column: sa.Column[str], place: int) -> sa.Select[Any]:
            chosen = sa.select(runs.id, runs.name, column.label("given"), sa.literal(place).label("place"))
            return chosen.where(column.in_(asked))

        formerly = found_by(former.name, 2).join_from(schema.former_names, schema.runs, former.run_id == runs.id)
        query = sa.union_all(found_by(runs.name, 0), found_by(runs.id, 1), formerly)
        rows = sorted(self._rows(query), key=lambda row: -row.place) if asked else []
        found = {row.given: (row.id, row.name) for row in rows}
        return {name: found[plain_name(name)] for name in given if plain_name(name) in found}

    def summaries(self, run_ids: Sequence[str], version: str) -> dict[str, Any]:
        """Return the stored summaries of this version that are up to date, by run id; one query for 500 runs."""
        query = self._up_to_date(schema.summaries.c.body, version)
        return {
            row.run_id: json.loads(row.body)
            for batch in changes.batches(run_ids)
            for row in self._rows(query.where(schema.summaries.c.run_id.in_(batch)))
        }

    def overview(self, run_id: str, version: str) -> Any:
        """Return what `put_summary` stored as the overview of a run, None where that is of an earlier state."""
        query = self._up_to_date(schema.summaries.c.overview, version).where(schema.summaries.c.run_id == run_id)
        return next((json.loads(row.overview) for row in self._rows(query)), None)

    def _up_to_date(self, column: sa.Column[str], version: str) -> sa.Select[Any]:
        table, revisions = schema.summaries, schema.revisions
        query = sa.select(table.c.run_id, column).join(revisions, revisions.c.owner_id == table.c.run_id)
        return query.where(table.c.version == version, table.c.revision == revisions.c.number)

    @repeated
    def put_summary(
        self, run_id: str, revision: int, version: str, body: Mapping[str, Any], overview: Mapping[str, Any]
    ) -> None:
        """Store the summary and the overview of a run as of this count of its changes, in place of older ones.

        Raises:
            Deleted: there is no such run (any more).

        """
        row = {"revision": revision, "version": version, "body": json.dumps(body), "overview": json.dumps(overview)}
        with self._write() as connection:
            _require(connection, run_id, ("run",))
            insert = changes.inserted(connection, schema.summaries).values(run_id=run_id, **row)
            connection.execute(insert.on_conflict_do_update(index_elements=[schema.summaries.c.run_id], set_=row))

    def delete_run(self, run_id: str) -> None:
        """Delete a run with its results, the passages of an imported one, and replaced texts that only it names."""
        for corpus_id in self._corpus_of(schema.runs, run_id):
            self._delete(run_id, changes.delete_run)
            self.settle(corpus_id)

    @repeated
    def put_results(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Add results of a run: (position in the run, the question as asked, its ranking).

        An existing result of a question stays, because its answer may rest on it.
        """
        rows = _result_rows(run_id, results)
        with self._change(run_id, "run") as connection:
            for batch in changes.batches(rows):
                connection.execute(changes.inserted(connection, schema.results).on_conflict_do_nothing(), batch)
            changes.mention(connection, run_id, _documents_of(results))

    @repeated
    def replace_results(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Store results in place of those of the same questions, whose answers, verdicts and scores are deleted."""
        rows = _result_rows(run_id, results)
        with self._change(run_id, "run") as connection:
            for batch in changes.batches([question.id for _, question, _ in results]):
                for table in (schema.results, schema.judgements, schema.scores):
                    mine = sa.and_(table.c.run_id == run_id, table.c.question_id.in_(batch))
                    connection.execute(table.delete().where(mine))
            for rows_batch in changes.batches(rows):
                connection.execute(schema.results.insert(), rows_batch)
            changes.mention(connection, run_id, _documents_of(results))

    def answered(self, run_id: str) -> set[str]:
        """Return the ids of the questions that a run has results of."""
        return {
            row.question_id for row in self._rows(sa.select(schema.results.c.question_id).where(changes.is_run(run_id)))
        }

    def common_questions(self, run_ids: Sequence[str]) -> int:
        """Return how many questions all of these runs have results of."""
        mine, of_question = schema.results.c.run_id.in_(run_ids), schema.results.c.question_id
        shared = sa.select(of_question).where(mine).group_by(of_question).having(sa.func.count() == len(set(run_ids)))
        return int(self._rows(sa.select(sa.func.count()).select_from(shared.subquery()))[0][0])

    def results(self, run_id: str, question_ids: Sequence[str] | None = None) -> list[Retrieved]:
        """Return the results of a run (or of some of its questions), in the order of its questions."""
        columns = (schema.results.c.question_id, schema.results.c.ranking, schema.results.c.gold)
        query = sa.select(*columns).where(changes.is_run(run_id)).order_by(schema.results.c.position)
        if question_ids is not None:
            query = query.where(schema.results.c.question_id.in_(question_ids))
        return [codecs.retrieved(row) for row in self._rows(query)]

    def run_questions(self, run_id: str) -> list[Question]:
        """Return a run's questions as they were asked, in order."""
        query = sa.select(schema.results.c.question).where(changes.is_run(run_id)).order_by(schema.results.c.position)
        return [codecs.question_from_json(row.question) for row in self._rows(query)]

    @repeated
    def put_evaluated(self, run_id: str, evaluated: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        """Store evaluated answers and their scores, replacing earlier ones of the same questions."""
        ids = [answer.question.id for answer, _ in evaluated]
        bodies = [
            {
                "run_id": run_id,
                "question_id": answer.question.id,
                "failed": bool(answer.failures),
                "body": codecs.evaluated_to_json(answer),
            }
            for answer, _ in evaluated
        ]
        rows = [
            {"run_id": run_id, "question_id": answer.question.id} | asdict(score)
            for answer, scores in evaluated
            for score in scores
        ]
        with self._change(run_id, "run") as connection:
            for table, fresh in ((schema.judgements, bodies), (schema.scores, rows)):
                for batch in changes.batches(ids):
                    mine = sa.and_(table.c.run_id == run_id, table.c.question_id.in_(batch))
                    connection.execute(table.delete().where(mine))
                for rows_batch in changes.batches(fresh):
                    connection.execute(table.insert(), rows_batch)

    def evaluated_to(
        self, run_id: str, questions: Sequence[Question], keys: Sequence[str]
    ) -> dict[str, EvaluatedAnswer]:
        """Return what `evaluated_answers` does, in the order of `questions`: those of the run, not read again."""
        table = schema.judgements
        query = sa.select(table.c.question_id, table.c.body).where(table.c.run_id == run_id)
        bodies = {row.question_id: row.body for row in self._rows(query)}
        return {
            q.id: codecs.evaluated_from_json(without_keys(bodies[q.id], keys), q) for q in questions if q.id in bodies
        }

    def evaluated_answers(
        self, run_id: str, question_ids: Sequence[str] | None = None, *, keys: Sequence[str] = ()
    ) -> dict[str, EvaluatedAnswer]:
        """Return the evaluated answers of a run (or of some of its questions), by question id.

        `keys` are removed from them, to be shown; stored texts are as the models returned them.
        """
        columns = (schema.judgements.c.question_id, schema.judgements.c.body, schema.results.c.question)
        same = sa.and_(
            schema.results.c.run_id == schema.judgements.c.run_id,
            schema.results.c.question_id == schema.judgements.c.question_id,
        )
        query = sa.select(*columns).join(schema.results, same).where(schema.judgements.c.run_id == run_id)
        if question_ids is not None:
            query = query.where(schema.judgements.c.question_id.in_(list(question_ids)))
        return {
            row.question_id: codecs.evaluated_from_json(
                without_keys(row.body, keys), codecs.question_from_json(row.question)
            )
            for row in self._rows(query.order_by(schema.results.c.position))
        }

    def judged_ids(self, run_id: str) -> dict[str, bool]:
        """Return for each evaluated question of a run whether a judge's step failed."""
        query = sa.select(schema.judgements.c.question_id, schema.judgements.c.failed).where(
            schema.judgements.c.run_id == run_id
        )
        return {row.question_id: row.failed for row in self._rows(query)}

    def scores(
        self, run_id: str, *, metrics: Collection[str] | None = None, question_id: str | None = None
    ) -> dict[str, dict[str, Score]]:
        """Return the scores of a run's answers (by some metrics, of one question): metric → question id → score."""
        names = ("question_id", "metric", "value", "status", "reason", "version")
        query = sa.select(*(schema.scores.c[name] for name in names)).where(schema.scores.c.run_id == run_id)
        if metrics is not None:
            query = query.where(schema.scores.c.metric.in_(metrics))
        if question_id is not None:
            query = query.where(schema.scores.c.question_id == question_id)
        scores: dict[str, dict[str, Score]] = {}
        for question_id, metric, value, status, reason, version in map(tuple, self._rows(query)):
            scores.setdefault(metric, {})[question_id] = Score(metric, value, status, reason, version)
        return scores

    @repeated
    def pay(self, run_id: str, calls: int, dollars: float, most: float | None = None) -> float:
        """Add to the cost of model calls of a run, question set or index, by its id, and return all its dollars.

        When those would exceed `most`, nothing is added.
        """
        mine = schema.payments.c.run_id == run_id
        with self._change(run_id, "run", "questions", "index") as connection:
            total = dollars + (connection.execute(sa.select(schema.payments.c.dollars).where(mine)).scalar() or 0.0)
            if most is None or total <= most:
                first = changes.inserted(connection, schema.payments)
                first = first.values(run_id=run_id, calls=calls, dollars=dollars)
                more = {"calls": schema.payments.c.calls + calls, "dollars": total}
                connection.execute(first.on_conflict_do_update(index_elements=[schema.payments.c.run_id], set_=more))
        return float(total)

    def paid(self, run_id: str) -> tuple[int, float]:
        """Return the model calls that a run, question set or index paid, and their dollars (0 without a price)."""
        row = next(iter(self._rows(sa.select(schema.payments).where(schema.payments.c.run_id == run_id))), None)
        return (row.calls, row.dollars) if row else (0, 0.0)

    # Experiments

    @repeated
    def create_experiment(self, experiment: Experiment) -> Experiment:
        """Store a new experiment with its cells; UsageError when the name is blank or taken."""
        name = self._free_name("experiment", experiment.name)
        try:
            with self._write() as connection:
                _require(connection, experiment.corpus_id, ("corpus",))
                changes.count_change(connection, experiment.id)
                row = codecs.experiment_row(experiment) | {"name": name}
                connection.execute(schema.experiments.insert().values(**row))
                connection.execute(schema.cells.insert(), codecs.cell_rows(experiment.id, experiment.cells))
        except sa.exc.IntegrityError:
            raise _taken("experiment", name) from None
        return self.experiment(experiment.id)

    @repeated
    def replace_experiment(self, experiment: Experiment) -> Experiment:
        """Store other cells and another rule of an experiment of which no result was seen.

        Raises:
            UsageError: a result was stored meanwhile.

        """
        table = schema.experiments
        row = codecs.experiment_row(experiment)
        with self._change(experiment.id, "experiment") as connection:
            mine = sa.and_(table.c.id == experiment.id, table.c.seen.is_(None))
            if connection.execute(table.update().where(mine).values(**row)).rowcount != 1:
                raise UsageError(f"A result of experiment '{experiment.name}' was seen: its rule stays as it is.")
            connection.execute(schema.cells.delete().where(schema.cells.c.experiment_id == experiment.id))
            connection.execute(schema.cells.insert(), codecs.cell_rows(experiment.id, experiment.cells))
        return self.experiment(experiment.id)

    @repeated
    def add_cells(self, experiment_id: str, cells: Sequence[Cell]) -> Experiment:
        """Add cells at the end of an experiment's."""
        with self._change(experiment_id, "experiment") as connection:
            mine = schema.cells.c.experiment_id == experiment_id
            last = connection.execute(sa.select(sa.func.max(schema.cells.c.number)).where(mine)).scalar()
            rows = codecs.cell_rows(experiment_id, cells)
            first = -1 if last is None else last
            connection.execute(
                schema.cells.insert(), [row | {"number": first + n} for n, row in enumerate(rows, start=1)]
            )
        return self.experiment(experiment_id)

    def experiments(self, corpus_id: str | None = None) -> list[Experiment]:
        """Return all experiments (of a corpus), the newest first; two queries."""
        query = sa.select(schema.experiments).order_by(schema.experiments.c.created.desc())
        if corpus_id is not None:
            query = query.where(schema.experiments.c.corpus_id == corpus_id)
        return self._experiments(self._rows(query))

    def _experiments(self, rows: Sequence[Row[Any]]) -> list[Experiment]:
        cells: dict[str, list[Row[Any]]] = {row.id: [] for row in rows}
        query = sa.select(schema.cells).order_by(schema.cells.c.number)
        for batch in changes.batches(list(cells)):
            for cell in self._rows(query.where(schema.cells.c.experiment_id.in_(batch))):
                cells[cell.experiment_id].append(cell)
        return [codecs.experiment(row, cells[row.id]) for row in rows]

    def experiment(self, name: str) -> Experiment:
        """Return the experiment with this name or id, or raise NotFoundError."""
        return self._experiments([self._named("experiment", name) or self._unknown("experiment", name)])[0]

    def experiment_named(self, name: str) -> Experiment | None:
        """Return the experiment with this name or id, if there is one."""
        row = self._named("experiment", name)
        return self._experiments([row])[0] if row else None

    @repeated
    def put_cell(self, experiment_id: str, cell: Cell) -> None:
        """Store what became of a cell; when its run is done, a result of the experiment is seen from now on."""
        mine = sa.and_(schema.cells.c.experiment_id == experiment_id, schema.cells.c.name == cell.name)
        values = {"state": cell.state, "reason": cell.reason, "index_id": cell.index_id, "run_id": cell.run_id}
        unseen = sa.and_(schema.experiments.c.id == experiment_id, schema.experiments.c.seen.is_(None))
        with self._change(experiment_id, "experiment") as connection:
            connection.execute(schema.cells.update().where(mine).values(**values))
            if cell.state == "done":
                connection.execute(schema.experiments.update().where(unseen).values(seen=time.time()))

    @repeated
    def confirm_experiment(self, experiment_id: str, confirmation: Confirmation) -> bool:
        """Store a confirmation; False when there is one already, which stays."""
        table = schema.experiments
        first = sa.and_(table.c.id == experiment_id, table.c.confirmation == "")
        with self._change(experiment_id, "experiment") as connection:
            values = {"confirmation": codecs.confirmation_to_json(confirmation)}
            return connection.execute(table.update().where(first).values(**values)).rowcount == 1

    @repeated
    def delete_experiment(self, experiment_id: str) -> None:
        """Delete an experiment with its cells; its indexes and runs stay."""
        with self._write() as connection:
            changes.delete_experiment(connection, experiment_id)

    # Jobs

    @repeated
    def create_job(self, kind: str, title: str, corpus_id: str, arguments: Mapping[str, Any]) -> Job:
        """Create a queued job."""
        row = _job_row(kind, title, corpus_id, arguments)
        with self._write() as connection:
            connection.execute(schema.jobs.insert().values(**row))
        return self.job(str(row["id"]))

    @repeated
    def create_job_once(
        self,
        kind: str,
        title: str,
        corpus_id: str,
        arguments: Mapping[str, Any],
        duplicates: Callable[[Sequence[Job]], Job | None],
        press: str = "",
        since: float | None = None,
    ) -> tuple[Job, bool]:
        """Create a queued job, unless `duplicates` finds it among those that may be it already.

        Those are the jobs with the idempotency key `press` ("" has none), and of its kind and corpus the queued and
        running ones and those created at the time `since` or later. Returns the job, and whether it is new. Of two
        callers at once, also in two processes, the second sees the job of the first. `duplicates` may raise, and then
        nothing is created.
        """
        jobs = schema.jobs.c
        recent = sa.or_(jobs.status.in_(("queued", "running")), sa.false() if since is None else jobs.created >= since)
        pressed = sa.and_(jobs.press == press, sa.literal(bool(press)))
        seen = sa.or_(sa.and_(jobs.kind == kind, jobs.corpus_id == corpus_id, recent), pressed)
        with self._write() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SUBMITTING)))
            query = sa.select(schema.jobs).where(seen).order_by(schema.jobs.c.created)
            existing = duplicates([codecs.job(row) for row in connection.execute(query)])
            row = _job_row(kind, title, corpus_id, arguments, press)
            if existing is None:
                connection.execute(schema.jobs.insert().values(**row))
        return (self.job(str(row["id"])), True) if existing is None else (existing, False)

    @repeated
    def update_job(self, job_id: str, **values: Any) -> None:
        """Write some columns of a job's row; `result` is a dictionary."""
        if "result" in values:
            values["result"] = json.dumps(values["result"], ensure_ascii=False)
        with self._write() as connection:
            connection.execute(schema.jobs.update().where(schema.jobs.c.id == job_id).values(**storable(values)))

    @repeated
    def queue_job(self, job_id: str) -> bool:
        """Queue a job again; False when it is running, done or deleted."""
        fresh = {"status": "queued", "cancel": False, "error": "", "finished": None, "created": time.time()}
        with self._write() as connection:
            free = sa.and_(schema.jobs.c.id == job_id, schema.jobs.c.status.not_in(("running", "done")))
            done = connection.execute(schema.jobs.update().where(free).values(**fresh))
        return done.rowcount == 1

    @repeated
    def claim_job(self, job_id: str, **values: Any) -> bool:
        """Set a job running for one process, with its `values`; False when another one took or finished the job."""
        with self._write() as connection:
            free = sa.and_(schema.jobs.c.id == job_id, schema.jobs.c.status.not_in(("running", "done")))
            done = connection.execute(schema.jobs.update().where(free).values(status="running", cancel=False, **values))
        return done.rowcount == 1

    def jobs(self, limit: int = 100) -> list[Job]:
        """Return the jobs, the newest first."""
        return [
            codecs.job(row)
            for row in self._rows(sa.select(schema.jobs).order_by(schema.jobs.c.created.desc()).limit(limit))
        ]

    def job(self, job_id: str) -> Job:
        """Return a job by id, or raise NotFoundError."""
        rows = self._rows(sa.select(schema.jobs).where(schema.jobs.c.id == job_id if _is_text(job_id) else sa.false()))
        if not rows:
            raise NotFoundError(f"There is no job '{job_id}'. `ragviz jobs` lists them.")
        return codecs.job(rows[0])

    def cancelled(self, job_id: str) -> bool:
        """Return whether a job is to stop; reads nothing else of it, as its arguments may be large."""
        return any(row.cancel for row in self._rows(sa.select(schema.jobs.c.cancel).where(schema.jobs.c.id == job_id)))

    @repeated
    def delete_job(self, job_id: str) -> None:
        """Delete a job; its results stay."""
        with self._write() as connection:
            connection.execute(schema.jobs.delete().where(schema.jobs.c.id == job_id))

    def ids_of(self, named: Sequence[tuple[Kind, str]]) -> list[str | None]:
        """Return for each (kind, name or id) the id, None when there is none. One query for all."""
        if not named:
            return []
        queries = [
            _named_query(kind, name, "id", "name").add_columns(sa.literal(place).label("place"))
            for place, (kind, name) in enumerate(named)
        ]
        rows = self._rows(sa.union_all(*queries))
        matches = [_best([row for row in rows if row.place == place], name) for place, (_, name) in enumerate(named)]
        return [row.id if row else None for row in matches]

    def _named(self, kind: Kind, name: str) -> Row[Any] | None:
        """Return the row with this name or, failing that, id."""
        return _best(self._rows(_named_query(kind, name)), name)

    def _unknown(self, kind: Kind, name: str) -> NoReturn:
        table = _TABLES[kind]
        names = [row.name for row in self._rows(sa.select(table.c.name).order_by(table.c.name).limit(9))]
        existing = ", ".join(f"'{each}'" for each in names[:8]) + (" …" if len(names) > 8 else "")
        raise NotFoundError(f"There is no {label(kind)} called '{name}'. There is: {existing or 'none yet'}.")

    def _free_name(self, kind: Kind, name: str) -> str:
        table, name = _TABLES[kind], plain_name(name)
        if not name or len(name) > 200 or not name.isprintable():
            raise UsageError(f"'{name[:40]}' cannot be a name: give 1 to 200 printable characters.")
        if self._rows(sa.select(table.c.id).where(table.c.name == name)):
            raise _taken(kind, name)
        return name


class StoreCache:
    """A `Cache` in the store: one kind of content-addressed bytes."""

    def __init__(self, store: Store, kind: str) -> None:
        """Use the entries of `kind`."""
        self._store, self._kind = store, kind

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        values: dict[str, bytes] = {}
        for batch in changes.batches(keys):
            query = sa.select(schema.cache.c.key, schema.cache.c.value).where(
                schema.cache.c.kind == self._kind, schema.cache.c.key.in_(batch)
            )
            values.update((row.key, row.value) for row in self._store._rows(query))
        return values

    def held(self, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` that are cached; no value is read."""
        held: set[str] = set()
        for batch in changes.batches(keys):
            query = sa.select(schema.cache.c.key).where(
                schema.cache.c.kind == self._kind, schema.cache.c.key.in_(batch)
            )
            held.update(row.key for row in self._store._rows(query))
        return held

    @repeated
    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten."""
        rows = [{"kind": self._kind, "key": key, "value": value} for key, value in sorted(items.items())]
        with self._store._write() as connection:
            # rows sorted by key, so that two writers cannot deadlock
            insert = changes.inserted(connection, schema.cache)
            upsert = insert.on_conflict_do_update(
                index_elements=[schema.cache.c.kind, schema.cache.c.key], set_={"value": insert.excluded.value}
            )
            for batch in changes.batches(rows):
                connection.execute(upsert, batch)


class StorePool:
    """A `Pool` in the store."""

    def __init__(self, store: Store) -> None:
        """Use the table of verdicts."""
        self._store = store

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterator[tuple[str, str, str, str]]:
        """Yield (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        table = schema.verdicts.c
        for batch in changes.batches(subjects):
            query = sa.select(table.subject, table.judge, table.chunk, table.body).where(table.subject.in_(batch))
            rows = self._store._rows(query.where(table.judge == judge) if judge else query)
            yield from ((row.subject, row.judge, row.chunk, row.body) for row in rows)

    @repeated
    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk); one that is there is replaced."""
        rows = [
            {"subject": subject, "judge": judge, "chunk": chunk, "body": storable(body)}
            for (subject, chunk), body in sorted(verdicts.items())
        ]
        with self._store._write() as connection:
            # rows sorted by key, so that two writers cannot deadlock
            insert = changes.inserted(connection, schema.verdicts)
            upsert = insert.on_conflict_do_update(
                index_elements=["subject", "judge", "chunk"], set_={"body": insert.excluded.body}
            )
            for batch in changes.batches(rows):
                connection.execute(upsert, batch)


def _job_row(kind: str, title: str, corpus_id: str, arguments: Mapping[str, Any], press: str = "") -> dict[str, Any]:
    """Return the row of a new job, which is queued."""
    row = {"id": digests.new_id(), "kind": kind, "title": title, "corpus_id": corpus_id, "status": "queued"}
    row["press"] = press
    empty = {"done": 0, "unit": "", "message": "", "host": "", "cancel": False, "result": "{}", "error": ""}
    body = json.dumps(arguments, ensure_ascii=False)
    complete: dict[str, Any] = storable(row | empty | {"arguments": body, "created": time.time()})
    return complete


def _result_rows(run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> list[dict[str, Any]]:
    return [
        {
            "run_id": run_id,
            "question_id": question.id,
            "position": position,
            "question": codecs.question_to_json(question),
            "ranking": json.dumps([result.ranking.ids, result.ranking.scores]),
            "gold": json.dumps({"groups": result.gold, "grades": result.grades} if result.grades else result.gold),
        }
        for position, question, result in results
    ]


def _documents_of(results: Sequence[tuple[int, Question, Retrieved]]) -> set[str]:
    """Return the ids of the documents that results name: those of chunks in rankings, and of evidence."""
    ranked = {chunk_id for _, _, result in results for chunk_id in result.ranking.ids}
    return changes.documents_in((question for _, question, _ in results), ranked)


def _named_query(kind: Kind, name: str, *columns: str) -> sa.Select[Any]:
    """Return the query for a name or id (without blanks at the ends, as names are stored): `columns`, or all."""
    table, name = _TABLES[kind], plain_name(name)
    query = sa.select(*(table.c[column] for column in columns)) if columns else sa.select(table)
    return query.where(sa.or_(table.c.name == name, table.c.id == name) if _is_text(name) else sa.false())


def _is_text(name: str) -> bool:
    """Return whether a name can be in the database: NULs and lone surrogates cannot, not even in a query."""
    return bool(storable(name) == name)


def _best(rows: Sequence[Row[Any]], name: str) -> Row[Any] | None:
    """Return the row with this name, else that with this id."""
    return next((row for row in rows if row.name == plain_name(name)), next(iter(rows), None))


def _require(connection: Connection, owner_id: str, kinds: Sequence[Kind]) -> None:
    """Lock the row with this id against deletion until the transaction ends; raise `Deleted` when it is gone."""
    for kind in kinds:
        table = _TABLES[kind]
        locking = sa.select(table.c.id).where(table.c.id == owner_id).with_for_update(read=True)
        if connection.execute(locking).first() is not None:
            return
    raise Deleted(f"Stopped: the {' or '.join(map(label, kinds))} that was worked on was deleted.")


def _put_set_fact(connection: Connection, set_id: str, name: str, value: Any) -> None:
    """Store a fact of a question set in place of an earlier one of its name; None removes it."""
    table = schema.set_facts
    connection.execute(table.delete().where(table.c.set_id == set_id, table.c.name == name))
    if value is not None:
        body = storable(json.dumps(value, ensure_ascii=False))
        connection.execute(table.insert().values(set_id=set_id, name=name, body=body))


def _taken(kind: Kind, name: str) -> UsageError:
    article = "an" if label(kind)[0] in "aeiou" else "a"
    return UsageError(
        f"There is already {article} {label(kind)} called '{name}': choose another name, or delete it first."
    )


def _missing(document_id: str) -> Document:
    raise NotFoundError(f"Document '{document_id}' is not in this corpus any more: it was deleted or replaced.")
