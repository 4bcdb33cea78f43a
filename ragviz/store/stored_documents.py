"""The documents in the store: files of a corpus, their earlier texts, passages of imported runs.

Evidence in replaced and deleted ones: who names them, and moving it to where its text is now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.digests import new_id
from ragviz.core.document import Chunk, Document, DocumentInfo, Span
from ragviz.core.errors import Deleted, NotFoundError, UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import SYSTEM, Edit
from ragviz.store import schema
from ragviz.store.database import reading, repeated
from ragviz.store.schema import columns, record
from ragviz.store.transactions import (
    BATCH,
    Repository,
    batches,
    count_change,
    insert,
    insert_missing,
    inserted,
    is_text,
    record_version,
)
from ragviz.text.former_documents import marked

NO_FILES = ("replaced", "passage")
"""Statuses of documents that are not files of their corpus: replaced ones, and passages of imported runs."""
TEXTS = 16  # documents whose texts are read in one query
Written = Callable[[int], None]
"""Is told within a transaction how many rows are written."""


class StoredDocuments(Repository):
    """The documents of all corpora."""

    @repeated
    def add(self, corpus_id: str, *documents: Document, errors: Mapping[str, str] = MappingProxyType({})) -> None:
        """Add documents of different names, and files that could not be read with why in `errors`, by name.

        One of the same name is replaced, and keeps its evidence and text until it is settled; it is deleted when it has
        no text. A file that could not be read does not replace a readable one.
        """
        table, ids = schema.documents, schema.documents.c.id
        here = table.c.corpus_id == corpus_id
        with self._transactions.changing(corpus_id, "corpus") as connection:
            for batch in batches(documents):
                named = sa.and_(here, table.c.name.in_([document.name for document in batch]))
                readable = sa.and_(named, table.c.status == "ok")
                old = {row.name: row.id for row in connection.execute(sa.select(ids, table.c.name).where(readable))}
                new = [each for each in batch if not (each.name in errors and each.name in old)]
                again = {each.id for each in new}
                gone = [old[each.name] for each in new if each.name in old and old[each.name] not in again]
                connection.execute(table.delete().where(named, table.c.status == "error"))
                connection.execute(table.delete().where(here, ids.in_(again)))
                mark_moves(connection, corpus_id, gone)
                connection.execute(table.update().where(here, ids.in_(gone)).values(status="replaced"))
                rows = [_row(corpus_id, each, "error" if each.name in errors else "ok") for each in new]
                insert(connection, table, [row | {"error": errors.get(row["name"], "")} for row in rows])

    @repeated
    def add_passages(self, corpus_id: str, documents: Sequence[Document]) -> None:
        """Add passages of an imported run, whose rankings name them; documents of the same name stay as they are."""
        with self._transactions.changing(corpus_id, "corpus") as connection:
            insert_missing(connection, schema.documents, [_row(corpus_id, each, "passage") for each in documents])

    def all(self, corpus_id: str, *, replaced: bool = False) -> list[DocumentInfo]:
        """Return the files of a corpus by name, unreadable ones too; with `replaced` earlier ones and passages."""
        query = _info_query(corpus_id).order_by(schema.documents.c.name)
        if not replaced:
            query = query.where(schema.documents.c.status.not_in(NO_FILES))
        return [record(DocumentInfo, row) for row in self._rows(query)]

    def readable(self, corpus_id: str) -> list[str]:
        """Return the ids of the readable files of a corpus, by name."""
        table = schema.documents.c
        query = sa.select(table.id).where(table.corpus_id == corpus_id, table.status == "ok")
        return [row.id for row in self._rows(query.order_by(table.name))]

    def names(self, corpus_id: str, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return the names of the documents of a corpus (or of some of them) by id.

        Those that were replaced or removed are marked, and named as long as an index, a run or a version of a question
        set does: "pumps.md (replaced since)".
        """
        rows, documents = list[Row[Any]](), schema.documents.c
        for table, status in ((schema.former_documents, sa.literal("removed")), (schema.documents, documents.status)):
            query = sa.select(table.c.id, table.c.name, status.label("status")).where(table.c.corpus_id == corpus_id)
            rows += self._rows(query) if ids is None else self._transactions.rows_of(query, table.c.id, ids)
        gone = {row.name for row in rows if row.status in ("removed", "replaced")}
        readable = sa.select(documents.name).where(documents.corpus_id == corpus_id, documents.status == "ok")
        current = {row.name for row in self._transactions.rows_of(readable, documents.name, gone)}
        return {
            row.id: marked(row.name, "replaced" if row.name in current else "removed")
            if row.status in ("removed", "replaced")
            else row.name
            for row in rows
        }

    def get(self, corpus_id: str, document_id: str) -> Document:
        """Return a document with its text, or raise NotFoundError."""
        for document in self.texts(corpus_id, [document_id]):
            return document
        raise NotFoundError(f"Document '{document_id}' is not in this corpus any more: it was deleted or replaced.")

    def texts(self, corpus_id: str, ids: Sequence[str]) -> Iterator[Document]:
        """Yield the documents with these ids, `TEXTS` in one query, in the order asked; those gone are left out."""
        for batch in batches(ids, TEXTS):
            here = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.id.in_(batch))
            found = {row.id: row for row in self._rows(sa.select(schema.documents).where(here))}
            yield from (record(Document, found[document_id]) for document_id in batch if document_id in found)

    def find(self, corpus_id: str, name: str) -> DocumentInfo | None:
        """Return the readable document with this name, if there is one."""
        return next(iter(self.named(corpus_id, [name])), None)

    def named(self, corpus_id: str, names: Iterable[str]) -> list[DocumentInfo]:
        """Return the readable documents with these names."""
        query = _info_query(corpus_id).where(schema.documents.c.status == "ok")
        rows = self._transactions.rows_of(query, schema.documents.c.name, filter(is_text, names))
        return [record(DocumentInfo, row) for row in rows]

    @repeated
    def delete(self, corpus_id: str, ids: Sequence[str]) -> None:
        """Delete files from a corpus, with all their texts; evidence in them becomes stale when it is settled."""
        table, here = schema.documents, schema.documents.c.corpus_id == corpus_id
        with self._transactions.changing(corpus_id, "corpus") as connection:
            for batch in batches(ids):
                mark_moves(connection, corpus_id, batch)
                mine = sa.select(table.c.name).where(here, table.c.id.in_(batch))
                earlier = sa.and_(
                    table.c.status == "replaced", table.c.name.in_(connection.execute(mine).scalars().all())
                )
                delete_texts(connection, sa.and_(here, sa.or_(table.c.id.in_(batch), earlier)))


def add_missing(connection: Connection, corpus_id: str, documents: Sequence[Document], written: Written) -> int:
    """Add readable documents whose names are free in their corpus; those that are there already are not added again.

    Return how many were added; `written` is told how many are, after each batch.

    Raises:
        UsageError: a document of the corpus has the name of one of them, and another text.

    """
    table, present = schema.documents, set[str]()
    for batch in batches(documents):
        here = table.c.corpus_id == corpus_id
        same_name = sa.and_(here, table.c.name.in_([document.name for document in batch]))
        texts = {document.name: document.id for document in batch}
        for row in connection.execute(sa.select(table.c.id, table.c.name).where(same_name, table.c.status == "ok")):
            if row.id != texts[row.name]:
                raise UsageError(f"A document '{row.name}' with another text was added meanwhile: import again.")
            present.add(row.id)
        connection.execute(table.delete().where(same_name, table.c.status == "error"))
        again = [document.id for document in batch if document.id not in present]
        connection.execute(table.delete().where(here, table.c.id.in_(again)))  # replaced, or an imported run's passage
    fresh, done = [each for each in documents if each.id not in present], 0
    for batch in batches(fresh):
        insert(connection, table, [_row(corpus_id, each, "ok") for each in batch])
        done += len(batch)
        written(done)
    return len(fresh)


def mark_moves(connection: Connection, corpus_id: str, document_ids: Collection[str]) -> None:
    """Record that evidence is to move out of documents, in the transaction that replaces or deletes them."""
    rows = [{"corpus_id": corpus_id, "document_id": document_id} for document_id in document_ids]
    insert_missing(connection, schema.moves, rows)


def delete_texts(connection: Connection, documents: sa.ColumnElement[bool]) -> None:
    """Delete documents; their names stay until it is found that nothing names them."""
    table, names = schema.documents, ["corpus_id", "id", "name"]
    rows = sa.select(*(table.c[name] for name in names)).where(documents)
    former = inserted(connection.dialect.name, schema.former_documents).from_select(names, rows)
    connection.execute(former.on_conflict_do_nothing())
    connection.execute(table.delete().where(documents))


def _row(corpus_id: str, document: Document, status: str) -> dict[str, Any]:
    more = {"corpus_id": corpus_id, "status": status, "error": "", "added": time.time()}
    more |= {"characters": len(document.text), "page_count": len(document.pages)}
    return columns(document, schema.documents) | more


def _info_query(corpus_id: str) -> sa.Select[Any]:
    table = schema.documents
    kept = [column for column in table.c if column.name not in ("text", "pages", "page_count")]
    return sa.select(*kept, table.c.page_count.label("pages")).where(table.c.corpus_id == corpus_id)


ATTEMPTS = 5
"""Attempts at moving evidence while other processes edit questions."""
_log = logging.getLogger("ragviz")


class Overtaken(Exception):
    """Another process changed the data that a change was computed from."""


class StoredEvidence(Repository):
    """Evidence that is to move because its documents changed."""

    def settle(self, corpus_id: str, author: str = "") -> None:
        """Move evidence out of replaced or deleted documents, and delete replaced texts that no index and no run needs.

        Evidence moves to where its exact text is now, else it is marked stale. Outstanding moves are recorded with the
        replacement or deletion, and cleared with the move: those that a kill left are done when the store is opened
        next. The questions are read once, however many documents changed, and not at all when none did. `author` is who
        changed the documents, for the versions that this makes.
        """
        for _ in range(ATTEMPTS):
            with suppress(Overtaken):
                self._settle(corpus_id, author)
                return
        _log.warning(
            "Evidence of corpus %s changes too fast to be moved; it is moved when the store is opened next.", corpus_id
        )

    def settle_all(self) -> None:
        """Settle every corpus with outstanding moves."""
        for row in self._rows(sa.select(schema.moves.c.corpus_id).distinct()):
            self.settle(row.corpus_id)

    @repeated
    def _settle(self, corpus_id: str, author: str) -> None:
        """Settle once, or raise `Overtaken`, with nothing changed, when another process changed the data meanwhile."""
        documents, moves, former = schema.documents, schema.moves, schema.former_documents
        number = sa.select(schema.revisions.c.number).where(schema.revisions.c.owner_id == corpus_id)
        before = sum(row.number for row in self._rows(number))
        marks = [m.document_id for m in self._rows(sa.select(moves).where(moves.c.corpus_id == corpus_id))]
        columns = (documents.c.id, documents.c.name, documents.c.status)
        rows = self._rows(sa.select(*columns).where(documents.c.corpus_id == corpus_id))
        indexed = self._rows(sa.select(schema.indexes.c.documents).where(schema.indexes.c.corpus_id == corpus_id))
        needed = {document_id for row in indexed for document_id in row.documents}
        spare = self._rows(sa.select(documents.c.id).where(_is_spare(corpus_id)))
        unneeded = [row.id for row in spare if row.id not in needed]
        forgotten = sa.and_(former.c.corpus_id == corpus_id, ~_is_mentioned(former, schema.runs, schema.question_sets))
        if not marks and not unneeded and not self._rows(sa.select(former.c.id).where(forgotten).limit(1)):
            return
        moved = list(self._moved(corpus_id, rows))
        with suppress(Deleted), self._transactions.changing(corpus_id, "corpus") as connection:
            if connection.execute(number).scalar_one() != before + 1:
                raise Overtaken
            _move(connection, moved, author)
            for ids in batches(marks):
                mine = sa.and_(moves.c.corpus_id == corpus_id, moves.c.document_id.in_(ids))
                connection.execute(moves.delete().where(mine))
            for ids in batches(unneeded):
                delete_texts(connection, sa.and_(_is_spare(corpus_id), documents.c.id.in_(ids)))
            connection.execute(former.delete().where(forgotten))

    def _moved(self, corpus_id: str, rows: Sequence[Row[Any]]) -> Iterator[dict[str, str]]:
        """Yield the values of `_MOVE` for every question of a corpus with evidence in a replaced or deleted document.

        `rows` are id, name and status of its documents.
        """
        known = {row.id for row in rows}
        names = {row.name: row.id for row in rows if row.status == "ok"}
        replacements = {row.id: names.get(row.name) for row in rows if row.status == "replaced"}

        @lru_cache(maxsize=8)
        def document_of(document_id: str) -> Document:
            try:
                return StoredDocuments(self._transactions).get(corpus_id, document_id)
            except NotFoundError:  # another process has deleted it since `rows` were read
                raise Overtaken from None

        for row in self._questions(corpus_id):
            question = schema.question_from_json(row.body)
            successors = {
                span.document_id: replacements.get(span.document_id)
                for span in question.spans
                if span.document_id in replacements or span.document_id not in known
            }
            moved = reanchored(question, successors, document_of)
            if moved != question:
                yield {"set": row.set_id, "question": row.id, "old": row.body, "new": schema.question_to_json(moved)}

    def _questions(self, corpus_id: str) -> Iterator[Row[Any]]:
        table = schema.questions.c
        sets = sa.select(schema.question_sets.c.id).where(schema.question_sets.c.corpus_id == corpus_id)
        query = sa.select(table.set_id, table.id, table.body).where(table.set_id.in_(sets))
        query = query.order_by(table.set_id, table.id)  # one order of locks for all processes
        with reading(self._transactions.engine) as connection:
            rows = connection.execution_options(yield_per=BATCH).execute(query)
            yield from cast(Iterator[Row[Any]], rows)


def reanchored(
    question: Question, successors: Mapping[str, str | None], document_of: Callable[[str], Document]
) -> Question:
    """Return the question with spans of replaced documents moved to where their exact text is now, else stale.

    `successors` maps the id of each replaced document to its successor's, None for a deleted one; `document_of` reads a
    document. A span whose text occurs more than once moves to the occurrence nearest to its old position (ties: the
    earlier). A stale span is tried again when its document is replaced once more, or is its own successor.
    """

    def moved(span: Span) -> Span:
        if span.document_id not in successors or (successors[span.document_id] == span.document_id and not span.stale):
            return span
        successor, quote = successors[span.document_id], span.text
        if successor is None:
            return replace(span, stale=True)
        text = document_of(successor).text if quote else ""
        found = [at for at in (text.rfind(quote, 0, span.start + len(quote)), text.find(quote, span.start)) if at >= 0]
        if not quote or not found:
            return replace(span, document_id=successor, stale=True)
        start = min(found, key=lambda at: abs(at - span.start))
        return replace(span, document_id=successor, start=start, end=start + len(span.text), stale=False)

    if all(span.document_id not in successors for span in question.spans):
        return question
    return replace(question, evidence=tuple(tuple(map(moved, group)) for group in question.evidence))


def documents_in(questions: Iterable[Question], chunk_ids: Iterable[str] = ()) -> set[str]:
    """Return the ids of the documents that questions, by evidence and source chunks, and other chunks name."""
    found = set[str]()
    chunks = set(chunk_ids)
    for question in questions:
        found.update(span.document_id for span in question.spans)
        chunks.update(question.source_chunks)
    return found | {place[0] for place in map(Chunk.parse_id, chunks) if place}


def mention(connection: Connection, owner_id: str, document_ids: Collection[str]) -> None:
    """Record which documents a run or a version of a question set names: their names are kept as long as it is."""
    rows = [{"owner_id": owner_id, "document_id": document_id} for document_id in sorted(document_ids)]
    insert_missing(connection, schema.mentions, rows)


def mark_gone(connection: Connection, set_id: str, questions: Sequence[Question]) -> None:
    """Record that evidence is to move out of documents that are replaced or deleted when the questions are written.

    The others are locked until the transaction ends: a process that replaces one of them then sees these questions.
    """
    spans = (span for question in questions for span in question.spans)
    ids, existing = sorted({span.document_id for span in spans if not span.stale}), set[str]()
    if not ids:
        return
    owner = sa.select(schema.question_sets.c.corpus_id).where(schema.question_sets.c.id == set_id)
    corpus_id = connection.execute(owner).scalar_one()
    table = schema.documents.c
    usable = sa.select(table.id).where(table.corpus_id == corpus_id, table.status.in_(("ok", "passage")))
    for batch in batches(ids):
        locking = usable.where(table.id.in_(batch)).with_for_update(read=True)
        existing.update(connection.execute(locking).scalars())
    if gone := [document_id for document_id in ids if document_id not in existing]:
        count_change(connection, corpus_id)  # a concurrent `settle` has not seen these questions: it starts again
        mark_moves(connection, corpus_id, gone)


_MOVE = sa.text("UPDATE questions SET body = :new WHERE set_id = :set AND id = :question AND body = :old")


def _move(connection: Connection, moves: Sequence[Mapping[str, str]], author: str) -> None:
    """Move evidence, which makes a version of each set, by the `author` who changed the documents."""
    for batch in batches(moves):
        if connection.execute(_MOVE, list(batch)).rowcount != len(batch):
            raise Overtaken  # a question was edited since it was read
    before: dict[str, dict[str, str]] = {}
    named: dict[str, set[str]] = {}
    for values in moves:
        before.setdefault(values["set"], {})[values["question"]] = values["old"]
        named.setdefault(values["set"], set()).update(documents_in([schema.question_from_json(values["new"])]))
    for set_id, bodies in before.items():
        count_change(connection, set_id)
        record_version(
            connection, set_id, Edit(author, "evidence moved with its documents", f"{SYSTEM}{new_id()}"), bodies
        )
        mention(connection, set_id, named[set_id])


def _is_mentioned(documents: sa.Table, *owners: sa.Table) -> sa.ColumnElement[bool]:
    """Return the condition that one of the `owners`, of its corpus, mentions a document."""
    mentions = schema.mentions.c
    named = [
        sa.exists().where(
            mentions.document_id == documents.c.id,
            mentions.owner_id == owner.c.id,
            owner.c.corpus_id == documents.c.corpus_id,
        )
        for owner in owners
    ]
    return sa.or_(*named)


def _is_spare(corpus_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for the replaced documents of a corpus that no run names."""
    table = schema.documents
    replaced = sa.and_(table.c.corpus_id == corpus_id, table.c.status == "replaced")
    return sa.and_(replaced, ~_is_mentioned(table, schema.runs))
