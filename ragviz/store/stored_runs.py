"""Runs with what was retrieved, answered and judged for each question."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, islice, pairwise
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ragviz.core.configuration import Run, RunConfig
from ragviz.core.digests import new_id
from ragviz.core.document import Chunk
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.store import schema
from ragviz.store.database import reading, repeated
from ragviz.store.schema import columns
from ragviz.store.stored_documents import StoredEvidence, documents_in, mention
from ragviz.store.transactions import (
    NamedRecords,
    Repository,
    Transactions,
    batches,
    count_change,
    delete_of,
    delete_record,
    insert,
    insert_missing,
    is_text,
    plain_name,
    require,
    taken,
    upsert,
)
from ragviz.text.untrusted import without_keys

LONGEST_TAG, MOST_TAGS, LONGEST_NOTE = 50, 20, 2_000
"""Characters of a tag, tags of a run, characters of its note, at most."""


class StoredRuns(NamedRecords[Run]):
    """Runs, with their summaries."""

    kind, record, newest_first = "run", Run, True

    def add(
        self,
        name: str,
        corpus_id: str,
        config: RunConfig,
        fingerprint: str,
        provenance: Mapping[str, Any],
        person: str = "",
    ) -> Run:
        """Create the row of a run that is about to start; UsageError when the name is blank or taken."""
        name = self.free_name(name)
        known = _in_order(provenance)
        run = Run(new_id(), corpus_id, name, config, fingerprint, known, "running", time.time(), None, person=person)
        self._insert(columns(run, schema.runs))
        return run

    def get(self, name: str) -> Run:
        """Return the run with this name or id, else the one that was called so, or raise NotFoundError."""
        if (found := self.find(name)) is not None:
            return found
        former = schema.former_names.c
        called = former.name == plain_name(name) if is_text(name) else sa.false()
        renamed = sa.select(schema.runs).join(schema.former_names, former.run_id == schema.runs.c.id)
        return next(iter(self._records(self._rows(renamed.where(called)))), None) or super().get(name)

    def names(self, given: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return id and present name of the runs with these names, ids or former names, by what was given.

        What is no run's is left out. A name goes before an id, both before a former name.
        """
        asked = list(dict.fromkeys(plain_name(name) for name in given if is_text(name)))
        runs, former = schema.runs.c, schema.former_names.c

        def found_by(column: sa.Column[str], place: int) -> sa.Select[Any]:
            chosen = sa.select(runs.id, runs.name, column.label("given"), sa.literal(place).label("place"))
            return chosen.where(column.in_(asked))

        formerly = found_by(former.name, 2).join_from(schema.former_names, schema.runs, former.run_id == runs.id)
        query = sa.union_all(found_by(runs.name, 0), found_by(runs.id, 1), formerly)
        rows = sorted(self._rows(query), key=lambda row: -row.place) if asked else []
        found = {row.given: (row.id, row.name) for row in rows}
        return {name: found[plain_name(name)] for name in given if plain_name(name) in found}

    def set_status(self, run_id: str, status: Literal["done", "failed", "running"]) -> None:
        """Set the status of a run ("running" resumes it)."""
        self._change(run_id, status=status, finished=None if status == "running" else time.time())

    def note(self, run_id: str, **facts: Any) -> None:
        """Add facts that became known during a run to its provenance; its fingerprint stays."""
        self._note(run_id, lambda _: facts)

    def change_note(self, run_id: str, name: str, change: Callable[[Any], Any]) -> None:
        """Replace one fact of a run's provenance, {} where there is none yet: several machines may do so at once."""
        self._note(run_id, lambda known: {name: change(known.get(name, {}))})

    @repeated
    def _note(self, run_id: str, facts_of: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        runs = schema.runs.c
        with self._transactions.changing(run_id, "run") as connection:
            known = connection.execute(sa.select(runs.provenance).where(runs.id == run_id)).scalar_one()
            connection.execute(self._update(run_id).values(provenance=_in_order({**known, **facts_of(known)})))

    def configure(self, run_id: str, config: RunConfig, fingerprint: str) -> Run:
        """Replace the choices of a run that is measured anew, and its fingerprint; return it."""
        self._change(run_id, config=config, fingerprint=fingerprint)
        return self.get(run_id)

    @repeated
    def rename(self, run_id: str, name: str) -> None:
        """Give a finished run another name; `get` finds it by its former names too, until others take them.

        Raises:
            UsageError: the name is blank or taken, or the run is not finished: its job knows it by its name.
            Deleted: there is no such run (any more).

        """
        runs, former = schema.runs, schema.former_names
        mine = sa.select(runs.c.name, runs.c.status).where(runs.c.id == run_id)
        if plain_name(name) in [row.name for row in self._rows(mine)]:
            return
        name = self.free_name(name)
        try:
            with self._transactions.changing(run_id, "run") as connection:
                before = connection.execute(mine).one()
                if before.status == "running":
                    raise UsageError(f"Run '{before.name}' is not finished: rename it when it is.")
                # The new name is no former one; the old one was perhaps another's.
                connection.execute(former.delete().where(former.c.name.in_([name, before.name])))
                connection.execute(former.insert().values(name=before.name, run_id=run_id))
                connection.execute(self._update(run_id).values(name=name))
                _keep_summary(connection, run_id)
        except sa.exc.IntegrityError:
            raise taken("run", name) from None

    @repeated
    def label(self, run_id: str, *, note: str | None = None, tags: Sequence[str] | None = None) -> None:
        """Replace the note or the tags of a run; None leaves them.

        Raises:
            UsageError: the note is longer than `LONGEST_NOTE`; a tag is blank, has a comma or line end, or is
                longer than `LONGEST_TAG`.
            Deleted: there is no such run (any more).

        """
        if note is not None and len(note.strip()) > LONGEST_NOTE:
            raise UsageError(f"The note has {len(note.strip()):,} characters; it can have {LONGEST_NOTE:,}.")
        values: dict[str, Any] = {} if note is None else {"note": note.strip()}
        values |= {} if tags is None else {"tags": checked_tags(tags)}
        if values:
            with self._transactions.changing(run_id, "run") as connection:
                connection.execute(self._update(run_id).values(**values))
                _keep_summary(connection, run_id)

    def _update(self, run_id: str) -> sa.Update:
        return schema.runs.update().where(schema.runs.c.id == run_id)

    def summaries(self, run_ids: Sequence[str], version: str) -> dict[str, Any]:
        """Return the stored summaries of this version that are up to date, by run id; one query for 500 runs."""
        query = self._up_to_date(schema.summaries.c.body, version)
        return {row.run_id: row.body for row in self._transactions.rows_of(query, schema.summaries.c.run_id, run_ids)}

    def overview(self, run_id: str, version: str) -> Any:
        """Return what `put_summary` stored as the overview of a run, None where that is of an earlier state."""
        query = self._up_to_date(schema.summaries.c.overview, version).where(schema.summaries.c.run_id == run_id)
        return next((row.overview for row in self._rows(query)), None)

    def _up_to_date(self, column: sa.Column[str], version: str) -> sa.Select[Any]:
        table, revisions = schema.summaries, schema.revisions
        query = sa.select(table.c.run_id, column).join(revisions, revisions.c.owner_id == table.c.run_id)
        return query.where(table.c.version == version, table.c.revision == revisions.c.number)

    @repeated
    def put_summary(self, run_id: str, revision: int, version: str, body: Any, overview: Any) -> None:
        """Store summary and overview of a run, as of this count of its changes; Deleted when the run is gone."""
        if self._transactions.read_only:
            return
        row = {"run_id": run_id, "revision": revision, "version": version, "body": body, "overview": overview}
        with self._transactions.writing() as connection:
            require(connection, run_id, "run")
            upsert(connection, schema.summaries, [row])

    def delete(self, run_id: str) -> None:
        """Delete a run with its results, the passages of an imported one, and replaced texts that only it names."""
        for corpus_id in self._corpus_of(run_id):
            self._delete(run_id)
            StoredEvidence(self._transactions).settle(corpus_id)

    @repeated
    def _delete(self, run_id: str) -> None:
        runs, documents = schema.runs.c, schema.documents
        with self._transactions.writing() as connection:
            count_change(connection, run_id)  # waits for other writers of it
            run = connection.execute(sa.select(runs.corpus_id, runs.config).where(runs.id == run_id)).first()
            if run is not None and not run.config.index:
                places = map(Chunk.parse_id, chunk_ids(connection, run_id))
                for batch in batches(sorted({place[0] for place in places if place})):
                    mine = sa.and_(documents.c.corpus_id == run.corpus_id, documents.c.id.in_(batch))
                    connection.execute(documents.delete().where(mine, documents.c.status == "passage"))
            delete_record(connection, "run", run_id)


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Return tags without blanks at their ends and without repetitions, in order.

    Raises:
        UsageError: one is blank, holds a comma or a line end, or is longer than `LONGEST_TAG`; more than `MOST_TAGS`.

    >>> checked_tags([" baseline", "v2", "baseline"])
    ['baseline', 'v2']
    """
    checked = list(dict.fromkeys(tag.strip() for tag in tags))
    for tag in checked:
        if not tag or len(tag) > LONGEST_TAG or "," in tag or not tag.isprintable():
            raise UsageError(
                f"'{tag[:60]}' cannot be a tag: give 1 to {LONGEST_TAG} printable characters without a comma."
            )
    if len(checked) > MOST_TAGS:
        raise UsageError(f"{len(checked)} tags are too many: a run has at most {MOST_TAGS}.")
    return checked


def _in_order(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run rests on as JSON holds it, in the order of the names, at every depth."""
    ordered: dict[str, Any] = json.loads(json.dumps(provenance, sort_keys=True))
    return ordered


def _keep_summary(connection: Connection, run_id: str) -> None:
    """Keep the summary of a run valid over a change, counted just before, that none of its numbers depend on."""
    keep = "UPDATE summaries SET revision = revision + 1 WHERE run_id = :id AND revision = "
    keep += "(SELECT number - 1 FROM revisions WHERE owner_id = :id)"
    connection.execute(sa.text(keep), {"id": run_id})


class StoredJudgements(Repository):
    """The evaluated answers of all runs."""

    @repeated
    def put(self, run_id: str, evaluated: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        """Store evaluated answers and their scores, replacing earlier ones of the same questions."""
        ids = [answer.question.id for answer, _ in evaluated]
        bodies = [
            {"run_id": run_id, "question_id": answer.question.id}
            | {"failed": bool(answer.failures), "body": schema.evaluated_to_json(answer)}
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

    def of(self, run_id: str, questions: Sequence[Question], keys: Sequence[str]) -> Iterator[EvaluatedAnswer]:
        """Yield what `all` returns of these questions, in their order: they are not read again.

        They are read some hundred at a time, so that a large run takes no more memory than a small one.
        """
        table = schema.judgements.c
        query = sa.select(table.question_id, table.body).where(table.run_id == run_id)
        for batch in batches(questions, 100):
            rows = self._transactions.rows_of(query, table.question_id, [question.id for question in batch])
            bodies = {row.question_id: row.body for row in rows}
            for question in batch:
                if question.id in bodies:
                    yield schema.evaluated_from_json(without_keys(bodies[question.id], keys), question)

    def all(
        self, run_id: str, question_ids: Sequence[str] | None = None, *, keys: Sequence[str] = ()
    ) -> dict[str, EvaluatedAnswer]:
        """Return the evaluated answers of a run (or of some of its questions), by question id.

        `keys` are removed from them, to be shown; stored texts are as the models returned them.
        """
        questions = StoredRankings(self._transactions).questions(run_id, question_ids)
        return {evaluated.question.id: evaluated for evaluated in self.of(run_id, questions, keys)}

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


class StoredRankings(Repository):
    """The rankings of all runs, with the questions as they were asked and their gold chunks.

    A run numbers its chunks as they come: their ids are stored once, in blocks that are only added to. A ranking is the
    numbers of its chunks (2 bytes each, 4 from 65,537 on) and their scores (4 or 8): 300 or 500 bytes for 50 chunks.
    """

    def __init__(self, transactions: Transactions) -> None:
        super().__init__(transactions)
        self._numbers: tuple[str, dict[str, int]] = "", {}

    @repeated
    def put(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Add results of a run: (position in the run, the question as asked, its ranking).

        An existing result of a question stays, because its answer may rest on it.
        """
        with self._transactions.changing(run_id, "run") as connection:
            self._write(connection, run_id, results)

    @repeated
    def replace(self, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Store results in place of those of the same questions, whose answers, verdicts and scores are deleted."""
        with self._transactions.changing(run_id, "run") as connection:
            for table in (schema.results, schema.judgements, schema.scores):
                delete_of(connection, table, table.c.run_id == run_id, [question.id for _, question, _ in results])
            self._write(connection, run_id, results)

    def _write(self, connection: Connection, run_id: str, results: Sequence[tuple[int, Question, Retrieved]]) -> None:
        """Write results that are not there yet; the caller has counted a change: nobody else numbers chunks.

        The numbers are remembered: they never change, and to read all of them takes longer than to write.
        """
        import numpy as np

        known_run, numbers = self._numbers
        numbers = numbers if known_run == run_id else {}
        self._numbers = "", {}  # until this is written
        for chunk_id in chunk_ids(connection, run_id, len(numbers)):
            numbers[chunk_id] = len(numbers)
        first = len(numbers)
        rankings = [result.ranking for _, _, result in results]
        ranked = [numbers.setdefault(chunk_id, len(numbers)) for each in rankings for chunk_id in each.ids]
        width = 2 if len(numbers) <= 2**16 else 4
        chunks, scores = np.array(ranked, f"<u{width}"), _scores(rankings)
        ends = list(accumulate([len(each.ids) for each in rankings], initial=0))
        if new := list(islice(numbers, first, None)):
            ids = zlib.compress(json.dumps(new).encode())
            connection.execute(schema.run_chunks.insert().values(run_id=run_id, first=first, ids=ids))
        rows: list[dict[str, Any]] = [
            {
                "run_id": run_id,
                "question_id": question.id,
                "position": position,
                "question": schema.question_to_json(question),
                "chunks": bytes([width]) + chunks[start:end].tobytes(),
                "scores": packed,
                "gold": {"groups": result.gold, "grades": result.grades},
            }
            for (position, question, result), packed, (start, end) in zip(results, scores, pairwise(ends), strict=True)
        ]
        insert_missing(connection, schema.results, rows)
        mention(connection, run_id, documents_in([question for _, question, _ in results], new))
        self._numbers = run_id, numbers

    @repeated
    def put_gold(self, run_id: str, results: Sequence[tuple[Question, Retrieved]]) -> None:
        """Store evidence and gold chunks of questions in place of those before; rankings, answers and scores stay."""
        table = schema.results
        mine = sa.and_(table.c.run_id == run_id, table.c.question_id == sa.bindparam("of"))
        values = [
            {"of": q.id, "asked": schema.question_to_json(q), "found": {"groups": r.gold, "grades": r.grades}}
            for q, r in results
        ]
        update = table.update().where(mine).values(question=sa.bindparam("asked"), gold=sa.bindparam("found"))
        with self._transactions.changing(run_id, "run") as connection:
            for batch in batches(values):
                connection.execute(update, list(batch))
            mention(connection, run_id, documents_in([question for question, _ in results]))

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
                Ranking(tuple(ids[numbers].tolist()), tuple(np.frombuffer(row.scores, kind).tolist())),
                tuple(map(tuple, row.gold["groups"])),
                row.gold["grades"],
            )
            for row in rows
            for numbers in [np.frombuffer(row.chunks, f"<u{row.chunks[0]}", offset=1)]
            for kind in ["<f4" if len(row.scores) == 4 * len(numbers) else "<f8"]
        ]

    def questions(self, run_id: str, question_ids: Sequence[str] | None = None) -> list[Question]:
        """Return a run's questions (or some of them) as they were asked, in order."""
        table = schema.results.c
        query = sa.select(table.question).where(table.run_id == run_id).order_by(table.position)
        if question_ids is not None:
            query = query.where(table.question_id.in_(list(question_ids)))
        return [schema.question_from_json(row.question) for row in self._rows(query)]

    def decoded(self, run_id: str) -> dict[str, schema.StoredQuestion]:
        """Return a run's questions by id, in order, as `StoredQuestions.decoded` takes those that it knows."""
        table = schema.results.c
        query = sa.select(table.question_id, table.question).where(table.run_id == run_id).order_by(table.position)
        return {
            row.question_id: schema.StoredQuestion(row.question, "", schema.question_from_json(row.question))
            for row in self._rows(query)
        }


def chunk_ids(connection: Connection, run_id: str, first: int = 0) -> list[str]:
    """Return the ids of a run's chunks, by their number, from number `first` on, where a block begins."""
    table = schema.run_chunks.c
    query = sa.select(table.ids).where(table.run_id == run_id, table.first >= first).order_by(table.first)
    return [i for block in connection.execute(query).scalars() for i in json.loads(zlib.decompress(block))]


def _scores(rankings: Sequence[Ranking]) -> Iterator[bytes]:
    """Yield the scores of each ranking: float32 where that changes none, as of Tantivy and NumPy, else float64."""
    import numpy as np

    whole = np.array([score for each in rankings for score in each.scores], "<f8")
    with np.errstate(over="ignore"):
        half = whole.astype("<f4")
    same = half == whole
    start = 0
    for each in rankings:
        mine = slice(start, start + len(each.scores))
        yield (half if same[mine].all() else whole)[mine].tobytes()
        start = mine.stop
