"""What ragviz remembers, on SQLite or PostgreSQL: the queries, each one method of `Store`.

Names of corpora, indexes, question sets and runs are unique. Times are seconds since 1970. Nothing secret is kept here.
Longer than other files: the methods share a connection, its transactions and the counts of changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Literal, NoReturn, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from ragviz import records
from ragviz.errors import Deleted, NotFoundError, ServiceError, UsageError
from ragviz.records import (
    Corpus,
    Document,
    DocumentInfo,
    EvaluatedAnswer,
    IndexConfig,
    IndexInfo,
    IndexStatus,
    Job,
    Question,
    QuestionSet,
    Retrieved,
    Run,
    RunConfig,
    Score,
    digest,
)
from ragviz.store import changes, codecs, database, evidence, schema
from ragviz.store.changes import BATCH, Overtaken
from ragviz.store.codecs import Cuts
from ragviz.store.database import reading, repeated, writing
from ragviz.store.migrations import MIGRATIONS, statements
from ragviz.text.keys import without_keys
from ragviz.text.untrusted import storable

Kind = Literal["corpus", "index", "questions", "run"]

_NO_FILES = ("replaced", "passage")
"""Of a document that is no file of its corpus any more, or never was one."""

_TABLES: dict[Kind, sa.Table] = {
    "corpus": schema.corpora,
    "index": schema.indexes,
    "questions": schema.question_sets,
    "run": schema.runs,
}
_MIGRATING = 7_261_766_069  # PostgreSQL's advisory lock of whoever makes the tables
SETTLES = 5
"""How often moving evidence is begun, when somebody edits at the same time."""


def plain_name(name: str) -> str:
    """Return a name as it is stored and looked up: without blanks at its ends."""
    return name.strip()


def label(kind: Kind) -> str:
    """What a person calls things of this kind."""
    return "question set" if kind == "questions" else kind


class Store:
    """One database. Safe to use from many threads and processes."""

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine whose schema is brought up to date by `migrate`."""
        self._engine = engine

    def migrate(self) -> None:
        """Run the migrations that this database has not had; one that had them all is only read.

        Raises:
            ServiceError: a newer version of ragviz wrote the database.

        """
        with reading(self._engine) as connection:
            if _schema_of(connection) == len(MIGRATIONS):
                return
        with self._write() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
            version = _schema_of(connection)
            schema.version.create(connection, checkfirst=True)
            for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
                for statement in statements(migration, connection.dialect.name):
                    connection.exec_driver_sql(statement)
                connection.execute(schema.version.insert().values(version=number))

    @property
    def address(self) -> str:
        """Where the store is, without a password."""
        return database.shown(self._engine)

    def cache(self, kind: str) -> StoreCache:
        """Return the cache of one `kind` ("embedding", "model")."""
        return StoreCache(self, kind)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """A transaction. A method that opens one is `repeated`."""
        with writing(self._engine) as connection:
            yield connection

    @contextmanager
    def _change(self, owner_id: str, *kinds: Kind) -> Iterator[Connection]:
        """A transaction that changes what a corpus, index, question set or run (one of `kinds`) holds.

        The change is counted first, so that whoever else changes the same waits for the end of this transaction, and
        then sees what it left.

        Raises:
            Deleted: there is none of this id (any more).

        """
        with self._write() as connection:
            changes.changed(connection, owner_id)
            _require(connection, owner_id, kinds)
            yield connection

    @repeated
    def _rows(self, query: sa.Select[Any] | sa.CompoundSelect[Any]) -> Sequence[Row[Any]]:
        with reading(self._engine) as connection:
            return connection.execute(query).all()

    @repeated
    def _name(self, kind: Kind, row: Mapping[str, Any]) -> None:
        """Insert a row with a name of its own, in a corpus that stays meanwhile where it is of one.

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

    # Revisions

    def revisions(self, *owner_ids: str) -> tuple[int, ...]:
        """How often what these corpora, indexes, question sets and runs hold was changed, by whatever process.

        What is kept of them is keyed by this: a number that was seen never comes back. 0 for one that was not changed
        since the store counts, and for one that is not there.
        """
        query = sa.select(schema.revisions)
        found: dict[str, int] = {}
        for batch in changes.batches(list(dict.fromkeys(owner_ids))):
            found.update(tuple(row) for row in self._rows(query.where(schema.revisions.c.owner_id.in_(batch))))
        return tuple(found.get(owner_id, 0) for owner_id in owner_ids)

    @repeated
    def touch(self, owner_id: str) -> None:
        """Count a change that stands elsewhere (in the cache, in a file), as the store's own changes are counted."""
        with self._change(owner_id, *_TABLES):
            pass

    # Corpora

    def create_corpus(self, name: str) -> Corpus:
        """Make an empty corpus.

        Raises:
            UsageError: the name is blank or taken.

        """
        corpus = Corpus(records.new_id(), self._free_name("corpus", name), time.time())
        self._name("corpus", asdict(corpus))
        return corpus

    def corpus_called(self, name: str) -> Corpus:
        """Return the corpus with this name or id, made when there is none; UsageError when the name is blank."""
        try:
            return self.corpus_named(name) or self.create_corpus(name)
        except UsageError:  # another process has made it meanwhile
            if (corpus := self.corpus_named(name)) is None:
                raise
            return corpus

    def corpora(self) -> list[Corpus]:
        """All corpora by name."""
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
        """Count what hangs on a corpus: {"documents", "indexes", "question sets", "runs"}, unreadable files too."""
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
            changes.changed(connection, corpus_id)
            connection.execute(
                schema.corpora.delete().where(schema.corpora.c.id == corpus_id)
            )  # first: nothing is put into it now
            for rows, delete in (
                (schema.runs, changes.delete_run),
                (schema.question_sets, changes.delete_question_set),
            ):
                for row in connection.execute(sa.select(rows.c.id).where(rows.c.corpus_id == corpus_id)).all():
                    delete(connection, row.id)
            for table in (schema.documents, schema.moves):
                connection.execute(table.delete().where(table.c.corpus_id == corpus_id))
            mine = schema.jobs.c.corpus_id == corpus_id
            job_ids = [*connection.execute(sa.select(schema.jobs.c.id).where(mine)).scalars()]
            connection.execute(schema.jobs.delete().where(mine))
            changes.forgotten(connection, corpus_id)
        return job_ids

    # Documents

    def add_document(self, corpus_id: str, document: Document) -> None:
        """Put a document in; one of the same name is replaced, its evidence and its text stay there until `settle`."""
        self._put_document(codecs.document_row(corpus_id, document, "ok"))

    @repeated
    def add_passage(self, corpus_id: str, document: Document) -> None:
        """Keep a passage of an imported run, whose ranking names it; documents of the same name stay as they are."""
        row = codecs.document_row(corpus_id, document, "passage")
        here = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.id == document.id)
        with self._change(corpus_id, "corpus") as connection:
            if connection.execute(sa.select(schema.documents.c.id).where(here)).first() is None:
                connection.execute(schema.documents.insert().values(**row))

    def add_unreadable(self, corpus_id: str, name: str, content_hash: str, size: int, error: str) -> None:
        """Remember a file that could not be read, and why, unless a readable one has its name already."""
        empty = {"characters": 0, "language": "und", "media_type": "", "pages": "[]", "page_count": 0, "text": ""}
        row = {"corpus_id": corpus_id, "id": digest(name, content_hash), "name": name, "status": "error"}
        self._put_document(
            {**empty, **row, "content_hash": content_hash, "size": size, "warnings": "[]", "error": error}
            | {"added": time.time()}
        )

    @repeated
    def _put_document(self, row: dict[str, Any]) -> None:
        """Insert `row`; another one of its name becomes "replaced", or goes when it held no text.

        A file that could not be read takes no readable one's place.
        """
        here = schema.documents.c.corpus_id == row["corpus_id"]
        same_name = sa.and_(here, schema.documents.c.name == row["name"])
        readable = sa.select(schema.documents.c.id).where(same_name, schema.documents.c.status == "ok")
        with self._change(row["corpus_id"], "corpus") as connection:
            if row["status"] == "error" and connection.execute(readable).first() is not None:
                return
            connection.execute(schema.documents.delete().where(same_name, schema.documents.c.status == "error"))
            connection.execute(schema.documents.delete().where(here, schema.documents.c.id == row["id"]))
            changes.leave(connection, row["corpus_id"], connection.execute(readable).scalars().all())
            connection.execute(schema.documents.update().where(same_name).values(status="replaced"))
            connection.execute(schema.documents.insert().values(**row))

    def documents(self, corpus_id: str, *, replaced: bool = False) -> list[DocumentInfo]:
        """All files of a corpus by name, the unreadable among them.

        Those that were replaced since, and the passages of imported runs, are there only when `replaced` is asked for.
        """
        query = codecs.info_query(corpus_id).order_by(schema.documents.c.name)
        if not replaced:
            query = query.where(schema.documents.c.status.not_in(_NO_FILES))
        return [codecs.document_info(row) for row in self._rows(query)]

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

    def document_named(self, corpus_id: str, name: str) -> DocumentInfo | None:
        """Return the readable document with this name, if there is one."""
        named = schema.documents.c.name == name if _is_text(name) else sa.false()
        query = codecs.info_query(corpus_id).where(named, schema.documents.c.status == "ok")
        return next((codecs.document_info(row) for row in self._rows(query)), None)

    @repeated
    def delete_documents(self, corpus_id: str, ids: Sequence[str]) -> None:
        """Delete files from a corpus, their text included; evidence in them turns stale with `settle`."""
        with self._change(corpus_id, "corpus") as connection:
            for batch in changes.batches(ids):
                here = schema.documents.c.corpus_id == corpus_id
                changes.leave(connection, corpus_id, batch)
                connection.execute(schema.documents.delete().where(here, schema.documents.c.id.in_(batch)))

    # Evidence follows its documents

    def settle(self, corpus_id: str) -> None:
        """Move evidence out of documents that were replaced or deleted, and drop replaced texts that no index needs.

        Evidence goes to where its exact text stands now, else it is marked stale. That it is to be moved is written
        down with the replacement or deletion, and struck out with the move: what a kill left is found when the store
        is opened next. The questions are read once, however many documents went, and none when none did.
        """
        for _ in range(SETTLES):
            with suppress(Overtaken):
                self._settle(corpus_id)
                return
        codecs.log.warning(
            "Evidence of corpus %s changes too fast to be moved: it is, when the store is opened next.", corpus_id
        )

    def settle_all(self) -> None:
        """Settle every corpus in which something was left to be done."""
        for row in self._rows(sa.select(schema.moves.c.corpus_id).distinct()):
            self.settle(row.corpus_id)

    @repeated
    def _settle(self, corpus_id: str) -> None:
        """Settle once, or raise `_Overtaken`, with nothing changed, when what it rests on was changed meanwhile."""
        [before] = self.revisions(corpus_id)
        marks = [
            row.document_id
            for row in self._rows(sa.select(schema.moves.c.document_id).where(changes.leaves(corpus_id)))
        ]
        columns = (schema.documents.c.id, schema.documents.c.name, schema.documents.c.status)
        rows = self._rows(sa.select(*columns).where(schema.documents.c.corpus_id == corpus_id))
        needed = {d for index in self.indexes(corpus_id) for d in index.documents}
        unneeded = [row.id for row in rows if row.status == "replaced" and row.id not in needed]
        if not marks and not unneeded:
            return
        moves = list(self._moves_of(corpus_id, rows, everything="" in marks))
        number = sa.select(schema.revisions.c.number).where(schema.revisions.c.owner_id == corpus_id)
        with suppress(Deleted), self._change(corpus_id, "corpus") as connection:
            if connection.execute(number).scalar_one() != before + 1:
                raise Overtaken
            changes.settle(connection, corpus_id, marks, unneeded, moves)

    def _moves_of(self, corpus_id: str, rows: Sequence[Row[Any]], *, everything: bool) -> Iterator[dict[str, str]]:
        """Values of `_MOVE` for every question of a corpus with evidence in a document that is gone.

        `rows` are id, name and status of its documents. With `everything`, a stale piece of evidence whose document is
        there is looked for again too.
        """
        status = {row.id: row.status for row in rows}
        names = {row.name: row.id for row in rows if row.status == "ok"}
        heirs = {row.id: names.get(row.name) for row in rows if row.status == "replaced"}
        document_of = lru_cache(maxsize=8)(partial(self.document, corpus_id))
        for row in self._bodies(corpus_id):
            question, successors = codecs.question_from_json(row.body), dict[str, str | None]()
            for span in (span for group in question.evidence for span in group):
                if span.document_id in heirs or span.document_id not in status:
                    successors[span.document_id] = heirs.get(span.document_id)
                elif everything and span.stale and status[span.document_id] == "ok":
                    successors[span.document_id] = span.document_id
            after = evidence.reanchored(question, successors, document_of)
            if after != question:
                yield {"set": row.set_id, "question": row.id, "old": row.body, "new": codecs.question_to_json(after)}

    def _bodies(self, corpus_id: str) -> Iterator[Row[Any]]:
        """Every question of a corpus as it is kept, read a part at a time."""
        sets = sa.select(schema.question_sets.c.id).where(schema.question_sets.c.corpus_id == corpus_id)
        query = sa.select(schema.questions.c.set_id, schema.questions.c.id, schema.questions.c.body).where(
            schema.questions.c.set_id.in_(sets)
        )
        query = query.order_by(
            schema.questions.c.set_id, schema.questions.c.id
        )  # the order in which two processes lock them
        with reading(self._engine) as connection:
            rows = connection.execution_options(yield_per=BATCH).execute(query)
            yield from cast(Iterator[Row[Any]], rows)

    # Indexes

    def create_index(self, corpus_id: str, name: str, config: IndexConfig) -> IndexInfo:
        """Make the row of an index that is still to be built; UsageError when the name is blank or taken."""
        values: dict[str, Any] = {
            "id": records.new_id(),
            "corpus_id": corpus_id,
            "name": self._free_name("index", name),
        }
        start = {"status": "building", "build": "", "documents": "[]", "chunks": 0, "tokens": 0, "dims": 0}
        row = values | start | {"config": codecs.as_json(config), "embedder_identity": "", "created": time.time()}
        self._name("index", row)
        return self.index(values["id"])

    def indexes(self, corpus_id: str | None = None) -> list[IndexInfo]:
        """All indexes (of a corpus) by name."""
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
        """Write back an index's row, with the `cuts` of the documents when it is a new build; those of others go."""
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
        """Say what is being done with an index, and leave the rest of its row."""
        with self._change(index_id, "index") as connection:
            connection.execute(schema.indexes.update().where(schema.indexes.c.id == index_id).values(status=status))

    @repeated
    def delete_index(self, index_id: str) -> None:
        """Delete an index's row and cuts; its runs stay, their rankings with them."""
        with self._write() as connection:
            changes.changed(connection, index_id)
            build = connection.execute(
                sa.select(schema.indexes.c.build).where(schema.indexes.c.id == index_id)
            ).scalar()
            connection.execute(schema.cuts.delete().where(schema.cuts.c.build == (build or "")))
            connection.execute(schema.payments.delete().where(schema.payments.c.run_id == index_id))
            connection.execute(schema.indexes.delete().where(schema.indexes.c.id == index_id))
            changes.forgotten(connection, index_id)

    def cuts(self, build: str, documents: Sequence[str]) -> dict[str, Cuts]:
        """Cuts of the documents that have any in this build."""
        import numpy as np

        found: dict[str, Cuts] = {}
        for batch in changes.batches(list(dict.fromkeys(documents))):
            query = sa.select(schema.cuts.c.document_id, schema.cuts.c.spans)
            for row in self._rows(query.where(schema.cuts.c.build == build, schema.cuts.c.document_id.in_(batch))):
                found[row.document_id] = np.frombuffer(row.spans, dtype="<i4").reshape(-1, 3)
        return found

    # Questions

    def create_question_set(self, corpus_id: str, name: str) -> QuestionSet:
        """Make an empty question set; UsageError when the name is blank or taken."""
        row = {"id": records.new_id(), "corpus_id": corpus_id, "name": self._free_name("questions", name)}
        self._name("questions", row | {"created": time.time()})
        return self.question_set(row["id"])

    def question_sets(self, corpus_id: str | None = None) -> list[QuestionSet]:
        """All question sets (of a corpus) by name, with their counts by status."""
        query = sa.select(schema.question_sets).order_by(schema.question_sets.c.name)
        if corpus_id is not None:
            query = query.where(schema.question_sets.c.corpus_id == corpus_id)
        return self._question_sets(self._rows(query))

    def _question_sets(self, rows: Sequence[Row[Any]]) -> list[QuestionSet]:
        """Question sets with the counts of their questions."""
        by_set: dict[str, dict[str, int]] = {}
        counts = sa.select(schema.questions.c.set_id, schema.questions.c.status, sa.func.count().label("number"))
        counts = counts.group_by(schema.questions.c.set_id, schema.questions.c.status)
        for batch in changes.batches([row.id for row in rows]):
            for row in self._rows(counts.where(schema.questions.c.set_id.in_(batch))):
                by_set.setdefault(row.set_id, {})[row.status] = row.number
        return [QuestionSet(**row._asdict(), counts=by_set.get(row.id, {})) for row in rows]

    def question_set(self, name: str) -> QuestionSet:
        """Return the question set with this name or id, or raise NotFoundError."""
        return self._question_sets([self._named("questions", name) or self._unknown("questions", name)])[0]

    def question_set_named(self, name: str) -> QuestionSet | None:
        """Return the question set with this name or id, if there is one."""
        row = self._named("questions", name)
        return self._question_sets([row])[0] if row else None

    @repeated
    def delete_question_set(self, set_id: str) -> None:
        """Delete a question set; its runs stay, the questions as they were asked with them."""
        with self._write() as connection:
            changes.delete_question_set(connection, set_id)

    @repeated
    def put_questions(self, set_id: str, questions: Sequence[Question]) -> None:
        """Add questions at the end of a set; one whose id is there already is replaced in its place.

        Evidence in a document that was replaced since it was read is to be moved, by `settle_all`.
        """
        with self._change(set_id, "questions") as connection:
            changes.leave_gone(connection, set_id, questions)
            mine, places = schema.questions.c.set_id == set_id, dict[str, int]()
            for batch in changes.batches([q.id for q in questions]):
                known = sa.select(schema.questions.c.id, schema.questions.c.position).where(
                    mine, schema.questions.c.id.in_(batch)
                )
                places.update((row.id, row.position) for row in connection.execute(known))
                connection.execute(schema.questions.delete().where(mine, schema.questions.c.id.in_(batch)))
            last = connection.execute(sa.select(sa.func.max(schema.questions.c.position)).where(mine)).scalar()
            fresh = max([-1 if last is None else last, *places.values()]) + 1
            rows = []
            for question in {q.id: q for q in questions}.values():
                position = places.get(question.id, fresh)
                fresh += position == fresh
                rows.append({"set_id": set_id, "position": position, **codecs.question_row(question)})
            for rows_batch in changes.batches(rows):
                connection.execute(schema.questions.insert(), rows_batch)

    @repeated
    def put_question(self, set_id: str, question: Question, version: str) -> tuple[bool, Question | None]:
        """Replace the question with this id when it is still that `version`: whether it was, and what stands there now.

        What stands there is None when there is no such question (any more). Evidence in a document that was replaced
        since it was read is to be moved, by `settle_all`.
        """
        mine = sa.and_(schema.questions.c.set_id == set_id, schema.questions.c.id == question.id)
        with self._write() as connection:
            body = connection.execute(sa.select(schema.questions.c.body).where(mine)).scalar()
            current = codecs.question_from_json(body) if body is not None else None
            if current is None or codecs.version_of(current) != version:
                return False, current
            # Another process may have written since: only what was read is replaced.
            same = sa.and_(mine, schema.questions.c.body == body)
            done = connection.execute(schema.questions.update().where(same).values(codecs.question_row(question)))
            if done.rowcount:
                changes.changed(connection, set_id)
                changes.leave_gone(connection, set_id, [question])
        return done.rowcount == 1, question if done.rowcount else current

    @repeated
    def delete_questions(self, set_id: str, ids: Sequence[str]) -> None:
        """Delete single questions of a set."""
        with self._change(set_id, "questions") as connection:
            for batch in changes.batches(ids):
                connection.execute(
                    schema.questions.delete().where(
                        schema.questions.c.set_id == set_id, schema.questions.c.id.in_(batch)
                    )
                )

    def questions(self, set_id: str) -> list[Question]:
        """All questions of a set, in order, whatever their status."""
        query = (
            sa.select(schema.questions.c.body)
            .where(schema.questions.c.set_id == set_id)
            .order_by(schema.questions.c.position)
        )
        return [codecs.question_from_json(row.body) for row in self._rows(query)]

    # Runs

    def create_run(
        self, name: str, corpus_id: str, config: RunConfig, fingerprint: str, provenance: Mapping[str, Any]
    ) -> Run:
        """Make the row of a run that is about to start; UsageError when the name is blank or taken."""
        name = self._free_name("run", name)
        run = Run(records.new_id(), corpus_id, name, config, fingerprint, provenance, "running", time.time(), None)
        body = json.dumps(provenance, sort_keys=True, ensure_ascii=False)
        self._name("run", asdict(run) | {"config": codecs.as_json(config), "provenance": body})
        return run

    @repeated
    def finish_run(self, run_id: str, status: Literal["done", "failed", "running"]) -> None:
        """Say how a run ended ("running" takes it up again)."""
        finished = None if status == "running" else time.time()
        with self._change(run_id, "run") as connection:
            connection.execute(
                schema.runs.update().where(schema.runs.c.id == run_id).values(status=status, finished=finished)
            )

    @repeated
    def note_run(self, run_id: str, **known: Any) -> None:
        """Add what became known of a run while it was made to its provenance; its fingerprint stays."""
        with self._change(run_id, "run") as connection:
            before = connection.execute(
                sa.select(schema.runs.c.provenance).where(schema.runs.c.id == run_id)
            ).scalar_one()
            body = json.dumps({**json.loads(before), **known}, sort_keys=True, ensure_ascii=False)
            connection.execute(schema.runs.update().where(schema.runs.c.id == run_id).values(provenance=body))

    def runs(self, corpus_id: str | None = None) -> list[Run]:
        """All runs (of a corpus), the newest first."""
        query = sa.select(schema.runs).order_by(schema.runs.c.created.desc())
        if corpus_id is not None:
            query = query.where(schema.runs.c.corpus_id == corpus_id)
        return [codecs.run(row) for row in self._rows(query)]

    def run(self, name: str) -> Run:
        """Return the run with this name or id, or raise NotFoundError."""
        return codecs.run(self._named("run", name) or self._unknown("run", name))

    def run_named(self, name: str) -> Run | None:
        """Return the run with this name or id, if there is one."""
        row = self._named("run", name)
        return codecs.run(row) if row else None

    @repeated
    def delete_run(self, run_id: str) -> None:
        """Delete a run with its results, and the passages of an imported one."""
        with self._write() as connection:
            changes.delete_run(connection, run_id)

    @repeated
    def put_results(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Keep what a run found: (place in the run, the question as it was asked, its ranking).

        What it has of a question already stays: its answer may rest on that.
        """
        rows = [
            {
                "run_id": run_id,
                "question_id": question.id,
                "position": position,
                "question": codecs.question_to_json(question),
                "ranking": json.dumps([found.ranking.ids, found.ranking.scores]),
                "gold": json.dumps({"groups": found.gold, "grades": found.grades} if found.grades else found.gold),
            }
            for position, question, found in results
        ]
        with self._change(run_id, "run") as connection:
            for batch in changes.batches(rows):
                connection.execute(_inserted(connection, schema.results).on_conflict_do_nothing(), batch)

    def answered(self, run_id: str) -> set[str]:
        """Ids of the questions a run is through with."""
        return {
            row.question_id for row in self._rows(sa.select(schema.results.c.question_id).where(changes.is_run(run_id)))
        }

    def results(self, run_id: str) -> list[Retrieved]:
        """What a run found, in the order of its questions."""
        columns = (schema.results.c.question_id, schema.results.c.ranking, schema.results.c.gold)
        rows = self._rows(sa.select(*columns).where(changes.is_run(run_id)).order_by(schema.results.c.position))
        return [codecs.retrieved(row) for row in rows]

    def asked(self, run_id: str) -> list[Question]:
        """Questions of a run as they were asked, in order."""
        query = sa.select(schema.results.c.question).where(changes.is_run(run_id)).order_by(schema.results.c.position)
        return [codecs.question_from_json(row.question) for row in self._rows(query)]

    @repeated
    def put_judged(self, run_id: str, judged: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        """Keep what is known of answered questions, and their scores; what was kept of them before goes."""
        ids = [known.question.id for known, _ in judged]
        bodies = [
            {
                "run_id": run_id,
                "question_id": j.question.id,
                "failed": bool(j.failures),
                "body": codecs.judged_to_json(j),
            }
            for j, _ in judged
        ]
        rows = [
            {"run_id": run_id, "question_id": known.question.id} | asdict(score)
            for known, scores in judged
            for score in scores
        ]
        with self._change(run_id, "run") as connection:
            for table, fresh in ((schema.judgements, bodies), (schema.scores, rows)):
                for batch in changes.batches(ids):
                    mine = sa.and_(table.c.run_id == run_id, table.c.question_id.in_(batch))
                    connection.execute(table.delete().where(mine))
                for rows_batch in changes.batches(fresh):
                    connection.execute(table.insert(), rows_batch)

    def judged(
        self, run_id: str, question_ids: Sequence[str] | None = None, *, keys: Sequence[str] = ()
    ) -> dict[str, EvaluatedAnswer]:
        """What is known of the answered questions of a run (or of some of them), by question id.

        What is to be shown is read without `keys`; what is kept is as the models said it.
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
            row.question_id: codecs.judged_from_json(
                without_keys(row.body, keys), codecs.question_from_json(row.question)
            )
            for row in self._rows(query.order_by(schema.results.c.position))
        }

    def judged_ids(self, run_id: str) -> dict[str, bool]:
        """Which questions of a run were answered and judged, and whether a step of it failed."""
        query = sa.select(schema.judgements.c.question_id, schema.judgements.c.failed).where(
            schema.judgements.c.run_id == run_id
        )
        return {row.question_id: row.failed for row in self._rows(query)}

    def scores(self, run_id: str) -> dict[str, dict[str, Score]]:
        """Scores of the answers of a run: metric → question id → score."""
        found: dict[str, dict[str, Score]] = {}
        for row in self._rows(sa.select(schema.scores).where(schema.scores.c.run_id == run_id)):
            score = Score(row.metric, row.value, row.status, row.reason, row.version)
            found.setdefault(row.metric, {})[row.question_id] = score
        return found

    @repeated
    def pay(self, run_id: str, calls: int, dollars: float, most: float | None = None) -> float:
        """Add to what a run, question set or index, by its id, pays for model calls, whatever becomes of them.

        Returns the dollars in all that come of it; when those are above `most`, nothing is added.
        """
        mine = schema.payments.c.run_id == run_id
        with self._change(run_id, "run", "questions", "index") as connection:
            total = dollars + (connection.execute(sa.select(schema.payments.c.dollars).where(mine)).scalar() or 0.0)
            if most is None or total <= most:
                first = _inserted(connection, schema.payments).values(run_id=run_id, calls=calls, dollars=dollars)
                more = {"calls": schema.payments.c.calls + calls, "dollars": total}
                connection.execute(first.on_conflict_do_update(index_elements=[schema.payments.c.run_id], set_=more))
        return float(total)

    def paid(self, run_id: str) -> tuple[int, float]:
        """Model calls that a run, question set or index has paid, and their dollars (0 for a model without a price)."""
        row = next(iter(self._rows(sa.select(schema.payments).where(schema.payments.c.run_id == run_id))), None)
        return (row.calls, row.dollars) if row else (0, 0.0)

    # Jobs

    @repeated
    def create_job(self, kind: str, title: str, corpus_id: str, arguments: Mapping[str, Any]) -> Job:
        """Put a job down as queued."""
        row = {
            "id": records.new_id(),
            "kind": kind,
            "title": title,
            "corpus_id": corpus_id,
            "arguments": json.dumps(arguments, ensure_ascii=False),
            "status": "queued",
            "created": time.time(),
        }
        empty = {"done": 0, "unit": "", "message": "", "host": "", "cancel": False, "result": "{}", "error": ""}
        with self._write() as connection:
            connection.execute(schema.jobs.insert().values(**storable(row | empty)))
        return self.job(str(row["id"]))

    @repeated
    def update_job(self, job_id: str, **values: Any) -> None:
        """Write some columns of a job's row; `result` is a dictionary."""
        if "result" in values:
            values["result"] = json.dumps(values["result"], ensure_ascii=False)
        with self._write() as connection:
            connection.execute(schema.jobs.update().where(schema.jobs.c.id == job_id).values(**storable(values)))

    @repeated
    def queue_job(self, job_id: str) -> bool:
        """Have a job wait for a process; False when one is at it, when it is done, and when it is gone."""
        fresh = {"status": "queued", "cancel": False, "error": "", "finished": None, "created": time.time()}
        with self._write() as connection:
            free = sa.and_(schema.jobs.c.id == job_id, schema.jobs.c.status.not_in(("running", "done")))
            done = connection.execute(schema.jobs.update().where(free).values(**fresh))
        return done.rowcount == 1

    @repeated
    def claim_job(self, job_id: str, **values: Any) -> bool:
        """Set a job running for one process, with that process' `values`; False when another one has it or did it."""
        with self._write() as connection:
            free = sa.and_(schema.jobs.c.id == job_id, schema.jobs.c.status.not_in(("running", "done")))
            done = connection.execute(schema.jobs.update().where(free).values(status="running", cancel=False, **values))
        return done.rowcount == 1

    def jobs(self, limit: int = 100) -> list[Job]:
        """The newest jobs first."""
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
        """Whether a job was asked to stop; reads nothing else of it, and a job may hold the names of all its files."""
        return any(row.cancel for row in self._rows(sa.select(schema.jobs.c.cancel).where(schema.jobs.c.id == job_id)))

    @repeated
    def delete_job(self, job_id: str) -> None:
        """Forget a job; what it made stays."""
        with self._write() as connection:
            connection.execute(schema.jobs.delete().where(schema.jobs.c.id == job_id))

    def ids_of(self, named: Sequence[tuple[Kind, str]]) -> list[str | None]:
        """Id of each thing that has this name or, failing that, id; None where there is none. One query for all."""
        if not named:
            return []
        queries = [
            _named_query(kind, name, "id", "name").add_columns(sa.literal(place).label("place"))
            for place, (kind, name) in enumerate(named)
        ]
        rows = self._rows(sa.union_all(*queries))
        found = [_best([row for row in rows if row.place == place], name) for place, (_, name) in enumerate(named)]
        return [row.id if row else None for row in found]

    def _named(self, kind: Kind, name: str) -> Row[Any] | None:
        """Return the row with this name or, failing that, id."""
        return _best(self._rows(_named_query(kind, name)), name)

    def _unknown(self, kind: Kind, name: str) -> NoReturn:
        table = _TABLES[kind]
        names = [row.name for row in self._rows(sa.select(table.c.name).order_by(table.c.name).limit(9))]
        there = ", ".join(f"'{each}'" for each in names[:8]) + (" …" if len(names) > 8 else "")
        raise NotFoundError(f"There is no {label(kind)} called '{name}'. There is: {there or 'none yet'}.")

    def _free_name(self, kind: Kind, name: str) -> str:
        table, name = _TABLES[kind], plain_name(name)
        if not name or len(name) > 200 or not name.isprintable():
            raise UsageError(f"'{name[:40]}' cannot be a name: give 1 to 200 printable characters.")
        if self._rows(sa.select(table.c.id).where(table.c.name == name)):
            raise _taken(kind, name)
        return name


class StoreCache:
    """A `records.Cache` in the store: one kind of content-addressed bytes."""

    def __init__(self, store: Store, kind: str) -> None:
        """Keep everything under `kind`."""
        self._store, self._kind = store, kind

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there; absent keys are left out."""
        found: dict[str, bytes] = {}
        for batch in changes.batches(keys):
            query = sa.select(schema.cache.c.key, schema.cache.c.value).where(
                schema.cache.c.kind == self._kind, schema.cache.c.key.in_(batch)
            )
            found.update((row.key, row.value) for row in self._store._rows(query))
        return found

    @repeated
    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep `items`; a key that is there already is overwritten."""
        rows = [{"kind": self._kind, "key": key, "value": value} for key, value in sorted(items.items())]
        with self._store._write() as connection:
            fresh = _inserted(
                connection, schema.cache
            )  # in the order of their keys: two writers do not wait in a circle
            fresh = fresh.on_conflict_do_update(
                index_elements=[schema.cache.c.kind, schema.cache.c.key], set_={"value": fresh.excluded.value}
            )
            for batch in changes.batches(rows):
                connection.execute(fresh, batch)


def _schema_of(connection: Connection) -> int:
    """How many migrations a database had, 0 for a new one.

    Raises:
        ServiceError: a newer version of ragviz wrote it.

    """
    if not sa.inspect(connection).has_table(schema.version.name):
        return 0
    version = int(connection.execute(sa.select(sa.func.max(schema.version.c.version))).scalar() or 0)
    if version > len(MIGRATIONS):
        raise ServiceError(f"The database has schema {version}, this ragviz knows {len(MIGRATIONS)}: upgrade ragviz.")
    return version


def _inserted(connection: Connection, table: sa.Table) -> Any:
    """`INSERT INTO table` that can say what becomes of a row whose key is there (`on_conflict_…`)."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # the one that is loaded already
    return dialect.insert(table)


def _named_query(kind: Kind, name: str, *columns: str) -> sa.Select[Any]:
    """Ask for what has this name or id (blanks at the ends do not count, as where it was made): `columns`, or all."""
    table, name = _TABLES[kind], plain_name(name)
    query = sa.select(*(table.c[column] for column in columns)) if columns else sa.select(table)
    return query.where(sa.or_(table.c.name == name, table.c.id == name) if _is_text(name) else sa.false())


def _is_text(name: str) -> bool:
    """Whether anything can be called so: no database takes a NUL or half a surrogate pair, not even to look for it."""
    return bool(storable(name) == name)


def _best(rows: Sequence[Row[Any]], name: str) -> Row[Any] | None:
    """Of what has this name or id the one that has it as its name."""
    return next((row for row in rows if row.name == plain_name(name)), next(iter(rows), None))


def _require(connection: Connection, owner_id: str, kinds: Sequence[Kind]) -> None:
    """Hold what has this id until the transaction ends: nobody deletes it meanwhile; `Deleted` when it is gone."""
    for kind in kinds:
        table = _TABLES[kind]
        held = sa.select(table.c.id).where(table.c.id == owner_id).with_for_update(read=True)
        if connection.execute(held).first() is not None:
            return
    raise Deleted(f"Stopped: the {' or '.join(map(label, kinds))} that was worked on was deleted.")


def _taken(kind: Kind, name: str) -> UsageError:
    taken = f"There is already a {label(kind)} called '{name}'"
    return UsageError(f"{taken}: choose another name, or delete it first.")


def _missing(document_id: str) -> Document:
    raise NotFoundError(f"Document '{document_id}' is not in this corpus any more: it was deleted or replaced.")
