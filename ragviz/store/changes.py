"""What a change takes with it, inside its transaction: results, scores, evidence, counts of changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ragviz.records import Chunk, Question
from ragviz.store import schema
from ragviz.store.codecs import T

BATCH = 500  # keys in one IN (…): well below SQLite's limit of variables


def delete_question_set(connection: Connection, set_id: str) -> None:
    """Delete a question set with its questions."""
    changed(connection, set_id)  # whoever writes to it ends first
    connection.execute(schema.questions.delete().where(schema.questions.c.set_id == set_id))
    connection.execute(schema.payments.delete().where(schema.payments.c.run_id == set_id))
    connection.execute(schema.question_sets.delete().where(schema.question_sets.c.id == set_id))
    forgotten(connection, set_id)


def delete_run(connection: Connection, run_id: str) -> None:
    """Delete a run with all that was kept of it."""
    changed(connection, run_id)  # whoever writes to it ends first
    imported = sa.select(schema.runs.c.corpus_id, schema.results.c.ranking).join(
        schema.results, schema.results.c.run_id == schema.runs.c.id
    )
    imported = imported.where(schema.runs.c.id == run_id, schema.runs.c.config.contains('"retriever": "imported"'))
    passages = {
        (row.corpus_id, document_id)
        for row in connection.execute(imported)
        for document_id, _, _ in filter(None, map(Chunk.parse_id, json.loads(row.ranking)[0]))
    }
    for corpus_id in {corpus_id for corpus_id, _ in passages}:
        for batch in batches([document_id for _, document_id in passages]):
            mine = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.id.in_(batch))
            connection.execute(schema.documents.delete().where(mine, schema.documents.c.status == "passage"))
    for table in (schema.results, schema.judgements, schema.scores, schema.payments):
        connection.execute(table.delete().where(table.c.run_id == run_id))
    connection.execute(schema.runs.delete().where(schema.runs.c.id == run_id))
    forgotten(connection, run_id)


def changed(connection: Connection, owner_id: str) -> None:
    """Count one change of what a corpus, index, question set or run holds, in the transaction that makes it.

    Until that ends, nobody else can count a change of the same.
    """
    count = "INSERT INTO revisions (owner_id, number) VALUES (:id, 1) "
    count += "ON CONFLICT (owner_id) DO UPDATE SET number = revisions.number + 1"
    connection.execute(sa.text(count), {"id": owner_id})


class Overtaken(Exception):
    """Somebody else changed meanwhile what a change rests on."""


_MOVE = sa.text("UPDATE questions SET body = :new WHERE set_id = :set AND id = :question AND body = :old")


def leave(connection: Connection, corpus_id: str, document_ids: Sequence[str]) -> None:
    """Write down that evidence is to be moved out of documents, in the transaction that replaces or deletes them."""
    if document_ids:
        mark = "INSERT INTO moves (corpus_id, document_id) VALUES (:corpus, :document) ON CONFLICT DO NOTHING"
        connection.execute(sa.text(mark), [{"corpus": corpus_id, "document": d} for d in document_ids])


def leave_gone(connection: Connection, set_id: str, questions: Sequence[Question]) -> None:
    """Write down that evidence is to be moved out of documents that are gone already when the questions are written.

    The others are held until the transaction ends: whoever replaces one of them then finds these questions.
    """
    spans = (span for question in questions for group in question.evidence for span in group)
    ids, there = sorted({span.document_id for span in spans if not span.stale}), set[str]()
    if not ids:
        return
    owner = sa.select(schema.question_sets.c.corpus_id).where(schema.question_sets.c.id == set_id)
    corpus_id = connection.execute(owner).scalar_one()
    usable = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.status.in_(("ok", "passage")))
    for batch in batches(ids):
        held = (
            sa.select(schema.documents.c.id).where(usable, schema.documents.c.id.in_(batch)).with_for_update(read=True)
        )
        there.update(connection.execute(held).scalars())
    if gone := [document_id for document_id in ids if document_id not in there]:
        changed(connection, corpus_id)  # whoever moves evidence meanwhile has not seen these questions: begins anew
        leave(connection, corpus_id, gone)


def settle(
    connection: Connection,
    corpus_id: str,
    marks: Sequence[str],
    unneeded: Sequence[str],
    moves: Sequence[Mapping[str, str]],
) -> None:
    """Move evidence, strike out that it was to be moved, and drop the documents that nothing needs any more."""
    for batch in batches(moves):
        if connection.execute(_MOVE, list(batch)).rowcount != len(batch):
            raise Overtaken  # a question was edited since it was read
    for ids in batches(marks):
        connection.execute(schema.moves.delete().where(leaves(corpus_id), schema.moves.c.document_id.in_(ids)))
    for ids in batches(unneeded):
        here = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.status == "replaced")
        connection.execute(schema.documents.delete().where(here, schema.documents.c.id.in_(ids)))
    for set_id in {values["set"] for values in moves}:
        changed(connection, set_id)


def forgotten(connection: Connection, owner_id: str) -> None:
    """Drop the count of what is gone: its id is given to nothing else."""
    connection.execute(schema.revisions.delete().where(schema.revisions.c.owner_id == owner_id))


def leaves(corpus_id: str) -> sa.ColumnElement[bool]:
    """Selects what is still to be moved in a corpus."""
    return schema.moves.c.corpus_id == corpus_id


def is_run(run_id: str) -> sa.ColumnElement[bool]:
    """Selects the results of a run."""
    return schema.results.c.run_id == run_id


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items, at most `BATCH` at a time."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
