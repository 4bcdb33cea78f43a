"""Parts of transactions: deletions with all that depends on them, moves of evidence, counts of changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ragviz.core.chunk import Chunk
from ragviz.core.digests import new_id
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import SYSTEM, Edit
from ragviz.store import codecs, schema
from ragviz.store.codecs import T

BATCH = 500  # keys in one IN (…): well below SQLite's limit of variables
TEXTS = 64  # documents whose texts are read in one query
Stored = Callable[[int], None]
"""Is told within a transaction how many rows it has written."""


def unheard(rows: int) -> None:
    """Tell nobody how many rows are written."""


def add_documents(connection: Connection, corpus_id: str, documents: Sequence[Document], stored: Stored) -> int:
    """Add readable documents whose names are free in their corpus; those that are there already are not added again.

    Return how many were added; `stored` is told how many are, after each batch.

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
    fresh = [each for each in documents if each.id not in present]
    for number, batch in enumerate(batches(fresh)):
        connection.execute(table.insert(), [codecs.document_row(corpus_id, each, "ok") for each in batch])
        stored(number * BATCH + len(batch))
    return len(fresh)


def delete_question_set(connection: Connection, set_id: str) -> None:
    """Delete a question set with its questions."""
    count_change(connection, set_id)  # waits for other writers of it
    connection.execute(schema.questions.delete().where(schema.questions.c.set_id == set_id))
    connection.execute(schema.payments.delete().where(schema.payments.c.run_id == set_id))
    for table in (
        schema.set_facts, schema.set_versions, schema.question_changes, schema.comments,
    ):  # fmt: skip
        connection.execute(table.delete().where(table.c.set_id == set_id))
    connection.execute(schema.mentions.delete().where(schema.mentions.c.owner_id == set_id))
    connection.execute(schema.question_sets.delete().where(schema.question_sets.c.id == set_id))
    drop_revision(connection, set_id)


def delete_run(connection: Connection, run_id: str) -> None:
    """Delete a run with all its rows, and the passages of an imported one."""
    count_change(connection, run_id)  # waits for other writers of it
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
    for table in (
        schema.results,
        schema.judgements,
        schema.scores,
        schema.payments,
        schema.summaries,
        schema.former_names,
    ):
        connection.execute(table.delete().where(table.c.run_id == run_id))
    connection.execute(schema.mentions.delete().where(schema.mentions.c.owner_id == run_id))
    connection.execute(schema.runs.delete().where(schema.runs.c.id == run_id))
    drop_revision(connection, run_id)


def delete_experiment(connection: Connection, experiment_id: str) -> None:
    """Delete an experiment with its cells."""
    count_change(connection, experiment_id)  # waits for other writers of it
    connection.execute(schema.cells.delete().where(schema.cells.c.experiment_id == experiment_id))
    connection.execute(schema.experiments.delete().where(schema.experiments.c.id == experiment_id))
    drop_revision(connection, experiment_id)


def count_change(connection: Connection, owner_id: str) -> None:
    """Count one change of a corpus, index, question set or run, in the transaction that makes it.

    Until that ends, no other transaction can count a change of the same one.
    """
    count = "INSERT INTO revisions (owner_id, number) VALUES (:id, 1) "
    count += "ON CONFLICT (owner_id) DO UPDATE SET number = revisions.number + 1"
    connection.execute(sa.text(count), {"id": owner_id})


def keep_summary(connection: Connection, run_id: str) -> None:
    """Keep the summary of a run valid over a change, counted just before, that none of its numbers depend on."""
    keep = "UPDATE summaries SET revision = revision + 1 WHERE run_id = :id AND revision = "
    keep += "(SELECT number - 1 FROM revisions WHERE owner_id = :id)"
    connection.execute(sa.text(keep), {"id": run_id})


class Overtaken(Exception):
    """Another process changed the data that a change was computed from."""


def documents_in(questions: Iterable[Question], chunk_ids: Iterable[str] = ()) -> set[str]:
    """Return the ids of the documents that questions, by evidence and source chunks, and other chunks name."""
    found = set[str]()
    chunks = set(chunk_ids)
    for question in questions:
        found.update(span.document_id for group in question.evidence for span in group)
        chunks.update(question.source_chunks)
    return found | {place[0] for place in map(Chunk.parse_id, chunks) if place}


def mention(connection: Connection, owner_id: str, document_ids: Collection[str]) -> None:
    """Record which documents a run or a version of a question set names: their names are kept as long as it is."""
    rows = [{"owner_id": owner_id, "document_id": document_id} for document_id in sorted(document_ids)]
    insert = inserted(connection, schema.mentions).on_conflict_do_nothing()
    for batch in batches(rows):
        connection.execute(insert, batch)


def is_mentioned(documents: sa.Table, *owners: sa.Table) -> sa.ColumnElement[bool]:
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


def is_forgotten(corpus_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for the former documents of a corpus that no run and no question set names any more."""
    former = schema.former_documents
    return sa.and_(former.c.corpus_id == corpus_id, ~is_mentioned(former, schema.runs, schema.question_sets))


def is_spare(corpus_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for the replaced documents of a corpus that no run names."""
    table = schema.documents
    replaced = sa.and_(table.c.corpus_id == corpus_id, table.c.status == "replaced")
    return sa.and_(replaced, ~is_mentioned(table, schema.runs))


def delete_texts(connection: Connection, documents: sa.ColumnElement[bool]) -> None:
    """Delete documents; their names stay until `settle` finds that nothing names them."""
    table, columns = schema.documents, ["corpus_id", "id", "name"]
    names = sa.select(*(table.c[name] for name in columns)).where(documents)
    former = inserted(connection, schema.former_documents).from_select(columns, names)
    connection.execute(former.on_conflict_do_nothing())
    connection.execute(table.delete().where(documents))


def delete_documents(connection: Connection, corpus_id: str, ids: Sequence[str]) -> None:
    """Delete files of a corpus, with the earlier texts of theirs that are kept for runs: their names stay."""
    table = schema.documents
    here = table.c.corpus_id == corpus_id
    names = connection.execute(sa.select(table.c.name).where(here, table.c.id.in_(ids))).scalars().all()
    earlier = sa.and_(table.c.status == "replaced", table.c.name.in_(names))
    delete_texts(connection, sa.and_(here, sa.or_(table.c.id.in_(ids), earlier)))


_MOVE = sa.text("UPDATE questions SET body = :new WHERE set_id = :set AND id = :question AND body = :old")


def mark_moves(connection: Connection, corpus_id: str, document_ids: Sequence[str]) -> None:
    """Record that evidence is to move out of documents, in the transaction that replaces or deletes them."""
    if document_ids:
        mark = "INSERT INTO moves (corpus_id, document_id) VALUES (:corpus, :document) ON CONFLICT DO NOTHING"
        connection.execute(sa.text(mark), [{"corpus": corpus_id, "document": d} for d in document_ids])


def mark_gone(connection: Connection, set_id: str, questions: Sequence[Question]) -> None:
    """Record that evidence is to move out of documents that are replaced or deleted when the questions are written.

    The others are locked until the transaction ends: a process that replaces one of them then sees these questions.
    """
    spans = (span for question in questions for group in question.evidence for span in group)
    ids, existing = sorted({span.document_id for span in spans if not span.stale}), set[str]()
    if not ids:
        return
    owner = sa.select(schema.question_sets.c.corpus_id).where(schema.question_sets.c.id == set_id)
    corpus_id = connection.execute(owner).scalar_one()
    usable = sa.and_(schema.documents.c.corpus_id == corpus_id, schema.documents.c.status.in_(("ok", "passage")))
    for batch in batches(ids):
        locking = (
            sa.select(schema.documents.c.id).where(usable, schema.documents.c.id.in_(batch)).with_for_update(read=True)
        )
        existing.update(connection.execute(locking).scalars())
    if gone := [document_id for document_id in ids if document_id not in existing]:
        count_change(connection, corpus_id)  # a concurrent `settle` has not seen these questions: it starts again
        mark_moves(connection, corpus_id, gone)


def settle(
    connection: Connection,
    corpus_id: str,
    marks: Sequence[str],
    unneeded: Sequence[str],
    moves: Sequence[Mapping[str, str]],
    author: str = "",
) -> None:
    """Move evidence, delete the `marks` of documents it is moved out of, and delete `unneeded` replaced documents.

    A question set whose evidence is moved has a new version, by the `author` who changed the documents. Texts stay that
    a run names, and names that a run or a version of a set names.
    """
    for batch in batches(moves):
        if connection.execute(_MOVE, list(batch)).rowcount != len(batch):
            raise Overtaken  # a question was edited since it was read
    for ids in batches(marks):
        connection.execute(schema.moves.delete().where(moves_of(corpus_id), schema.moves.c.document_id.in_(ids)))
    for ids in batches(unneeded):
        delete_texts(connection, sa.and_(is_spare(corpus_id), schema.documents.c.id.in_(ids)))
    moved: dict[str, dict[str, str]] = {}
    named: dict[str, set[str]] = {}
    for values in moves:
        moved.setdefault(values["set"], {})[values["question"]] = values["old"]
        named.setdefault(values["set"], set()).update(documents_in([codecs.question_from_json(values["new"])]))
    for set_id, before in moved.items():
        count_change(connection, set_id)
        edit = Edit(author, "evidence moved with its documents", f"{SYSTEM}{new_id()}")
        record_version(connection, set_id, edit, before)
        mention(connection, set_id, named[set_id])
    connection.execute(schema.former_documents.delete().where(is_forgotten(corpus_id)))


def record_version(connection: Connection, set_id: str, edit: Edit, before: Mapping[str, str]) -> None:
    """Add a version of a question set: the bodies that questions had `before`, by id, "" for one that is new.

    An edit with the key of the newest version belongs to that version: what it replaced first stays recorded. The
    caller has counted a change of the set in this transaction, so that no other one adds a version meanwhile.
    """
    if not before:
        return
    versions, replaced = schema.set_versions, schema.question_changes
    mine = versions.c.set_id == set_id
    newest = connection.execute(sa.select(versions).where(mine).order_by(versions.c.number.desc()).limit(1)).first()
    if newest is not None and edit.key and newest.edit_key == edit.key:
        number, known = newest.number, set[str]()
        here = sa.and_(replaced.c.set_id == set_id, replaced.c.number == number)
        for batch in batches(list(before)):
            ids = sa.select(replaced.c.question_id).where(here, replaced.c.question_id.in_(batch))
            known.update(connection.execute(ids).scalars())
    else:
        number, known = (newest.number if newest is not None else 0) + 1, set[str]()
        values = {"author": edit.author, "action": edit.action, "edit_key": edit.key, "created": time.time()}
        connection.execute(versions.insert().values(set_id=set_id, number=number, **values))
    rows = [
        {"set_id": set_id, "number": number, "question_id": question_id, "before": body}
        for question_id, body in before.items()
        if question_id not in known
    ]
    for rows_batch in batches(rows):
        connection.execute(replaced.insert(), list(rows_batch))


def last_sides(connection: Connection, set_id: str) -> dict[str, str]:
    """Return the side of each question that left a set, by id, where it was on a side of the set's present split."""
    sets, replaced = schema.question_sets, schema.question_changes
    split = connection.execute(sa.select(sets.c.split).where(sets.c.id == set_id)).scalar_one()
    if not split:
        return {}
    rows = sa.select(replaced.c.question_id, replaced.c.before).where(replaced.c.set_id == set_id)
    left = rows.where(replaced.c.before.contains(', "side": [', autoescape=True)).order_by(replaced.c.number)
    return {row.question_id: codecs.side_in(row.before, split) for row in connection.execute(left)}


def drop_revision(connection: Connection, owner_id: str) -> None:
    """Delete the count of changes of a deleted owner; its id is never reused."""
    connection.execute(schema.revisions.delete().where(schema.revisions.c.owner_id == owner_id))


def moves_of(corpus_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for the outstanding moves of a corpus."""
    return schema.moves.c.corpus_id == corpus_id


def is_run(run_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for the results of a run."""
    return schema.results.c.run_id == run_id


def inserted(connection: Connection, table: sa.Table) -> Any:
    """Return an `INSERT INTO table` that supports `on_conflict_…`."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # loaded already
    return dialect.insert(table)


def batches(items: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield the items, at most `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
