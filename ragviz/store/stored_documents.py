"""The documents in the store: files of a corpus, their earlier texts, and passages of imported runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.digests import digest
from ragviz.core.document import Document, DocumentInfo
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.store import schema
from ragviz.store.codecs import columns, record
from ragviz.store.database import repeated
from ragviz.store.named_records import is_text
from ragviz.store.transactions import Repository, batches, insert, insert_missing, inserted
from ragviz.text.former_documents import marked

NO_FILES = ("replaced", "passage")
"""Statuses of documents that are not files of their corpus: replaced ones, and passages of imported runs."""
TEXTS = 16  # documents whose texts are read in one query
Written = Callable[[int], None]
"""Is told within a transaction how many rows are written."""


class StoredDocuments(Repository):
    """The documents of all corpora."""

    def add(self, corpus_id: str, document: Document) -> None:
        """Add a document; one of the same name is replaced, and keeps its evidence and text until it is settled."""
        self._put(_row(corpus_id, document, "ok"))

    @repeated
    def add_passage(self, corpus_id: str, document: Document) -> None:
        """Add a passage of an imported run, whose ranking names it; documents of the same name stay as they are."""
        with self._transactions.changing(corpus_id, "corpus") as connection:
            insert_missing(connection, schema.documents, [_row(corpus_id, document, "passage")])

    def add_unreadable(self, corpus_id: str, name: str, content_hash: str, size: int, error: str) -> None:
        """Add a file that could not be read, and why, unless a readable one has its name already."""
        document = Document(digest(name, content_hash), name, "", (), "und", "", content_hash, size)
        self._put(_row(corpus_id, document, "error") | {"error": error})

    @repeated
    def _put(self, row: dict[str, Any]) -> None:
        """Insert `row`; another one of its name becomes "replaced", or is deleted when it has no text.

        A file that could not be read does not replace a readable one.
        """
        table = schema.documents
        here = table.c.corpus_id == row["corpus_id"]
        same_name = sa.and_(here, table.c.name == row["name"])
        readable = sa.and_(same_name, table.c.status == "ok")
        query = sa.select(table.c.id).where(readable)
        with self._transactions.changing(row["corpus_id"], "corpus") as connection:
            if row["status"] == "error" and connection.execute(query).first() is not None:
                return
            connection.execute(table.delete().where(same_name, table.c.status == "error"))
            connection.execute(table.delete().where(here, table.c.id == row["id"]))
            mark_moves(connection, row["corpus_id"], connection.execute(query).scalars().all())
            connection.execute(table.update().where(readable).values(status="replaced"))
            connection.execute(table.insert().values(**row))

    def all(self, corpus_id: str, *, replaced: bool = False) -> list[DocumentInfo]:
        """Return all files of a corpus by name, the unreadable among them.

        With `replaced`, also replaced files and the passages of imported runs.
        """
        query = _info_query(corpus_id).order_by(schema.documents.c.name)
        if not replaced:
            query = query.where(schema.documents.c.status.not_in(NO_FILES))
        return [_info(row) for row in self._rows(query)]

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
        named = schema.documents.c.name == name if is_text(name) else sa.false()
        query = _info_query(corpus_id).where(named, schema.documents.c.status == "ok")
        return next((_info(row) for row in self._rows(query)), None)

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
    former = inserted(connection, schema.former_documents).from_select(names, rows)
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


def _info(row: Row[Any]) -> DocumentInfo:
    return DocumentInfo(**row._asdict())
