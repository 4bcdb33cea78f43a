"""The rankings of runs in the store, with the questions as they were asked and their gold chunks.

A run numbers its chunks as they come: their ids are stored once, in blocks that are only added to. A ranking is the
numbers of its chunks (4 bytes each) and their scores (8 bytes each): 600 bytes for 50 chunks.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.store import codecs, schema
from ragviz.store.database import reading, repeated
from ragviz.store.stored_evidence import documents_in, mention
from ragviz.store.transactions import Repository, delete_of, insert_missing


class StoredRankings(Repository):
    """The rankings of all runs."""

    @repeated
    def put(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Add results of a run: (position in the run, the question as asked, its ranking).

        An existing result of a question stays, because its answer may rest on it.
        """
        with self._transactions.changing(run_id, "run") as connection:
            _write(connection, run_id, results)

    @repeated
    def replace(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Store results in place of those of the same questions, whose answers, verdicts and scores are deleted."""
        with self._transactions.changing(run_id, "run") as connection:
            for table in (schema.results, schema.judgements, schema.scores):
                delete_of(connection, table, table.c.run_id == run_id, [question.id for _, question, _ in results])
            _write(connection, run_id, results)

    def question_ids(self, run_id: str) -> set[str]:
        """Return the ids of the questions that a run has results of."""
        table = schema.results.c
        return {row.question_id for row in self._rows(sa.select(table.question_id).where(table.run_id == run_id))}

    def common(self, run_ids: Sequence[str]) -> int:
        """Return how many questions all of these runs have results of."""
        mine, of_question = schema.results.c.run_id.in_(run_ids), schema.results.c.question_id
        shared = sa.select(of_question).where(mine).group_by(of_question).having(sa.func.count() == len(set(run_ids)))
        return int(self._rows(sa.select(sa.func.count()).select_from(shared.subquery()))[0][0])

    @repeated
    def all(self, run_id: str, question_ids: Sequence[str] | None = None) -> list[Retrieved]:
        """Return the results of a run (or of some of its questions), in the order of its questions."""
        import numpy as np

        table = schema.results.c
        query = sa.select(table.question_id, table.chunks, table.scores, table.gold).where(table.run_id == run_id)
        if question_ids is not None:
            query = query.where(table.question_id.in_(question_ids))
        with reading(self._transactions.engine) as connection:
            rows = connection.execute(query.order_by(table.position)).all()
            ids = np.array(chunk_ids(connection, run_id) if rows else [], dtype=object)
        return [
            Retrieved(
                row.question_id,
                Ranking(
                    tuple(ids[np.frombuffer(row.chunks, "<u4")].tolist()),
                    tuple(np.frombuffer(row.scores, "<f8").tolist()),
                ),
                tuple(map(tuple, row.gold["groups"])),
                row.gold["grades"],
            )
            for row in rows
        ]

    def questions(self, run_id: str) -> list[Question]:
        """Return a run's questions as they were asked, in order."""
        table = schema.results.c
        rows = self._rows(sa.select(table.question).where(table.run_id == run_id).order_by(table.position))
        return [codecs.question_from_json(row.question) for row in rows]


def chunk_ids(connection: Connection, run_id: str) -> list[str]:
    """Return the ids of the chunks that a run's rankings name; a chunk's number is its place here."""
    table = schema.run_chunks.c
    blocks = connection.execute(sa.select(table.ids).where(table.run_id == run_id).order_by(table.first)).scalars()
    return [chunk_id for block in blocks for chunk_id in json.loads(zlib.decompress(block))]


def _write(connection: Connection, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
    """Write results that are not there yet; the caller has counted a change, so that nobody else numbers chunks."""
    import numpy as np

    numbers = {chunk_id: number for number, chunk_id in enumerate(chunk_ids(connection, run_id))}
    first = len(numbers)
    for _, _, result in results:
        for chunk_id in result.ranking.ids:
            numbers.setdefault(chunk_id, len(numbers))
    new = list(numbers)[first:]
    if new:
        ids = zlib.compress(json.dumps(new).encode())
        connection.execute(schema.run_chunks.insert().values(run_id=run_id, first=first, ids=ids))
    rows: list[dict[str, Any]] = [
        {
            "run_id": run_id,
            "question_id": question.id,
            "position": position,
            "question": codecs.question_to_json(question),
            "chunks": np.array([numbers[i] for i in result.ranking.ids], "<u4").tobytes(),
            "scores": np.array(result.ranking.scores, "<f8").tobytes(),
            "gold": {"groups": result.gold, "grades": result.grades},
        }
        for position, question, result in results
    ]
    insert_missing(connection, schema.results, rows)
    mention(connection, run_id, documents_in([question for _, question, _ in results], new))
