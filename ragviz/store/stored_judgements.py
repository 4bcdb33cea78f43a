"""The evaluated answers of runs in the store, and their scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict

import sqlalchemy as sa

from ragviz.core.question import Question
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store import codecs, schema
from ragviz.store.database import repeated
from ragviz.store.transactions import Repository, delete_of, insert
from ragviz.text.keys import without_keys


class StoredJudgements(Repository):
    """The evaluated answers of all runs."""

    @repeated
    def put(self, run_id: str, evaluated: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        """Store evaluated answers and their scores, replacing earlier ones of the same questions."""
        ids = [answer.question.id for answer, _ in evaluated]
        bodies = [
            {"run_id": run_id, "question_id": answer.question.id}
            | {"failed": bool(answer.failures), "body": codecs.evaluated_to_json(answer)}
            for answer, _ in evaluated
        ]
        scores = [
            {"run_id": run_id, "question_id": answer.question.id} | asdict(score)
            for answer, scores in evaluated
            for score in scores
        ]
        with self._transactions.changing(run_id, "run") as connection:
            for table, rows in ((schema.judgements, bodies), (schema.scores, scores)):
                delete_of(connection, table, table.c.run_id == run_id, ids)
                insert(connection, table, rows)

    def of(self, run_id: str, questions: Sequence[Question], keys: Sequence[str]) -> dict[str, EvaluatedAnswer]:
        """Return what `all` does, in the order of `questions`: those of the run, not read again."""
        table = schema.judgements.c
        rows = self._rows(sa.select(table.question_id, table.body).where(table.run_id == run_id))
        bodies = {row.question_id: row.body for row in rows}
        return {
            q.id: codecs.evaluated_from_json(without_keys(bodies[q.id], keys), q) for q in questions if q.id in bodies
        }

    def all(
        self, run_id: str, question_ids: Sequence[str] | None = None, *, keys: Sequence[str] = ()
    ) -> dict[str, EvaluatedAnswer]:
        """Return the evaluated answers of a run (or of some of its questions), by question id.

        `keys` are removed from them, to be shown; stored texts are as the models returned them.
        """
        table, results = schema.judgements.c, schema.results.c
        same = sa.and_(results.run_id == table.run_id, results.question_id == table.question_id)
        query = sa.select(table.question_id, table.body, results.question).join(schema.results, same)
        query = query.where(table.run_id == run_id).order_by(results.position)
        if question_ids is not None:
            query = query.where(table.question_id.in_(list(question_ids)))
        return {
            row.question_id: codecs.evaluated_from_json(
                without_keys(row.body, keys), codecs.question_from_json(row.question)
            )
            for row in self._rows(query)
        }

    def failed(self, run_id: str) -> dict[str, bool]:
        """Return for each evaluated question of a run whether a judge's step failed."""
        table = schema.judgements.c
        rows = self._rows(sa.select(table.question_id, table.failed).where(table.run_id == run_id))
        return {row.question_id: row.failed for row in rows}

    def scores(
        self, run_id: str, *, metrics: Collection[str] | None = None, question_id: str | None = None
    ) -> dict[str, dict[str, Score]]:
        """Return the scores of a run's answers (by some metrics, of one question): metric → question id → score."""
        table = schema.scores.c
        query = sa.select(table.question_id, table.metric, table.value, table.status, table.reason, table.version)
        query = query.where(table.run_id == run_id)
        if metrics is not None:
            query = query.where(table.metric.in_(metrics))
        if question_id is not None:
            query = query.where(table.question_id == question_id)
        scores: dict[str, dict[str, Score]] = {}
        for of_question, *values in map(tuple, self._rows(query)):
            scores.setdefault(values[0], {})[of_question] = Score(*values)
        return scores
