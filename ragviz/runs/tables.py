"""What results.csv does not hold of a run, as flat tables: their columns with type and description, and their rows.

Numbers that count ranks, claims or sentences start at 1; what is not known or does not apply is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragviz.analysis.evaluate import Slice
from ragviz.core.ranking import Retrieved
from ragviz.core.verdict import Claim, ClaimVerdict
from ragviz.judging.controls import Controls
from ragviz.metrics import questeval
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs.cases import Case, document_of
from ragviz.runs.judgements import calls_behind
from ragviz.text.untrusted import storable, without_keys

ColumnKind = Literal["text", "integer", "number", "yes/no"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What the tables of a run are filled from: its cases, its means and its judge's control items.

    `names` are those of the documents by id; `keys` are removed from every text. `chosen_by` names the experiment that
    chose the run's configuration on the run's own questions, if one did. `rankings` reach to the run's depth.
    """

    cases: Sequence[Case]
    slices: Sequence[Slice]
    names: Mapping[str, str]
    controls: Controls | None = None
    keys: Sequence[str] = ()
    chosen_by: str = ""
    rankings: Sequence[Retrieved] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    kind: ColumnKind
    explanation: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what a row is, its columns, and the function that yields its rows, cells in the order of `columns`."""

    explanation: str
    columns: tuple[Column, ...]
    fill: Callable[[Contents], Iterable[Sequence[Any]]]


def rows(name: str, contents: Contents) -> list[tuple[Any, ...]]:
    """Return the rows of the table `name`, without keys, and without what no file can hold (lone surrogates, NUL)."""
    return [
        tuple(storable(without_keys(cell, contents.keys)) if isinstance(cell, str) else cell for cell in row)
        for row in TABLES[name].fill(contents)
    ]


def _scores(contents: Contents) -> Iterator[Sequence[Any]]:
    for case in contents.cases:
        for name, value in case.ranking.items():
            yield case.question.id, name, "ranking", value, "ok", None, None
        for name, score in case.scores.items():
            of = "judged" if name in ANSWER_METRICS and ANSWER_METRICS[name].judged else "lexical or embedding"
            why = score.reason if score.status != "ok" else case.reason(score)
            yield case.question.id, name, of, score.value, score.status, why or None, score.version
        for name, given in case.evaluated.scores_of_maker.items() if case.evaluated else ():
            yield case.question.id, name, "imported", given, "ok", None, None


def _claims(contents: Contents) -> Iterator[Sequence[Any]]:
    for case in contents.cases:
        if case.evaluated is None:
            continue
        matrix = case.evaluated.matrix
        for of, claims, by_chunk, other, by_other in (
            ("answer", matrix.answer_claims, matrix.answer_by_chunk, "reference", matrix.answer_by_reference),
            ("reference", matrix.reference_claims, matrix.reference_by_chunk, "answer", matrix.reference_by_answer),
        ):
            for place, claim in enumerate(claims or ()):
                row = by_chunk[place] if by_chunk else ()
                passages: list[tuple[Any, ...]] = [
                    ("passage", number, chunk_id, document_of(chunk_id, contents.names), *_verdict(verdict))
                    for number, (chunk_id, verdict) in enumerate(zip(matrix.chunks, row, strict=False), start=1)
                ]
                others = [(other, None, None, None, *_verdict(by_other[place]))] if by_other else []
                for verdict in [*passages, *others] or [(None,) * 6]:
                    yield case.question.id, of, place + 1, claim.text, _sentence(claim), *verdict


def _verdict(verdict: ClaimVerdict) -> tuple[str, int | None]:
    return verdict.verdict, _sentence(verdict)


def _sentence(of: Claim | ClaimVerdict) -> int | None:
    return None if of.sentence is None else of.sentence + 1


def _rankings(contents: Contents) -> Iterator[Sequence[Any]]:
    for result in contents.rankings:
        gold = {chunk_id for group in result.gold for chunk_id in group}
        for hit in result.ranking.hits():
            document = document_of(hit.chunk_id, contents.names)
            yield result.question_id, hit.rank, hit.chunk_id, float(hit.score), document, hit.chunk_id in gold


def _questeval(contents: Contents) -> Iterator[Sequence[Any]]:
    for case in contents.cases:
        for row in questeval.rows(case.evaluated, case.documents) if case.evaluated else ():
            asked = (row.number, row.key or None, row.asked, row.reference_answer, row.generated_answer)
            yield row.question_id, row.variant, *asked, row.f1, row.answerable_by, row.maker


def _calls(contents: Contents) -> Iterator[Sequence[Any]]:
    banks: set[tuple[str, str]] = set()
    for evaluated in [case.evaluated for case in contents.cases if case.evaluated]:
        for call in calls_behind(evaluated, banks):
            tokens = (call.prompt_tokens, call.completion_tokens, call.estimated)
            cost = (call.seconds, call.cost, call.cached)
            yield evaluated.question.id, call.step, call.model, call.prompt, *tokens, *cost, call.raw


def _means(contents: Contents) -> Iterator[Sequence[Any]]:
    """Yield every mean with what it is of, its n and interval, who has no score, and for judged metrics the judge."""
    controls, nobody = contents.controls, (None, None, None)
    judge = (controls.judge, controls.accuracy, controls.reliable) if controls else nobody
    for part in contents.slices:
        of = (part.by, part.name or None, part.questions, part.misses)
        for name, scored in part.metrics.items():
            judged = name in ANSWER_METRICS and ANSWER_METRICS[name].judged
            without = ", ".join(f"{n} {status}" for status, n in scored.statuses.items() if status != "ok") or None
            e = scored.estimate
            numbers = (e.mean, *(e.interval or (None, None)), e.n, without)
            yield *of, name, *numbers, *(judge if judged else nobody), contents.chosen_by or None


_QUESTION_ID = Column("question_id", "text", "id of the run's question")
_DOCUMENT = Column("document", "text", "name of the document that the passage is part of")
_CHUNK_ID = Column("chunk_id", "text", "id of the chunk, as in results.csv")


TABLES: dict[str, Table] = {
    "scores": Table(
        "a score of a question, or the reason why there is none",
        (
            _QUESTION_ID,
            Column("metric", "text", "its name, as in the table of means"),
            Column("group", "text", "ranking, judged, lexical or embedding, or imported with the answer"),
            Column("value", "number", "the score"),
            Column("status", "text", "ok, not_applicable, no_answer, judge_error or skipped"),
            Column("reason", "text", "why there is no score, or the judge's reason for it"),
            Column("version", "text", "version of formula and prompts; none for rankings"),
        ),
        _scores,
    ),
    "claims": Table(
        "a claim of an answer or of a reference, and the verdict of one text on it; a claim that was checked against "
        "no text has one row",
        (
            _QUESTION_ID,
            Column("claim_of", "text", "answer or reference: the text that makes the claim"),
            Column("claim", "integer", "its number in that text"),
            Column("text", "text", "the claim"),
            Column("sentence", "integer", "sentence of its text that makes it"),
            Column("checked_against", "text", "passage, reference or answer"),
            Column("passage", "integer", "number of the passage in the answer's context"),
            _CHUNK_ID,
            _DOCUMENT,
            Column("verdict", "text", "supported, together (only with other passages), contradicted or absent"),
            Column("verdict_sentence", "integer", "sentence of the checked text that the verdict rests on"),
        ),
        _claims,
    ),
    "rankings": Table(
        "a chunk in the ranking of a question, to the run's depth",
        (
            _QUESTION_ID,
            Column("rank", "integer", "its rank"),
            _CHUNK_ID,
            Column("score", "number", "the retriever's score"),
            _DOCUMENT,
            Column("gold", "yes/no", "whether it holds evidence"),
        ),
        _rankings,
    ),
    "questeval": Table(
        "a RAGQuestEval question, made from the reference",
        (
            _QUESTION_ID,
            Column("variant", "text", "judged (by a model) or extractive (without a model)"),
            Column("number", "integer", "its number among those of the reference"),
            Column("key", "text", "the key information it asks for"),
            Column("asked", "text", "the question"),
            Column("reference_answer", "text", "the reference's answer; none: unanswerable"),
            Column("generated_answer", "text", "the generated answer's answer; none: unanswerable"),
            Column("f1", "number", "token F1 of both, where both answer"),
            Column("answerable_by", "text", "both, reference (missed by the answer), answer or neither"),
            Column("maker", "text", "what made the questions: a model's name, extractive or import"),
        ),
        _questeval,
    ),
    "calls": Table(
        "a call of a model about a question, the answerer's and the judge's; one that serves several questions is "
        "listed with the first. Control items and calls of a reranker are not among them",
        (
            _QUESTION_ID,
            Column("step", "text", "what was asked: answer, claims, context …"),
            Column("model", "text", "the model"),
            Column("prompt", "text", "version of the prompt"),
            Column("prompt_tokens", "integer", "input tokens"),
            Column("completion_tokens", "integer", "output tokens"),
            Column("estimated", "yes/no", "whether tokens were counted from the texts, as the endpoint reported none"),
            Column("seconds", "number", "time in flight"),
            Column("cost", "number", "dollars when it was made; none without a known price"),
            Column("cached", "yes/no", "whether the reply was there already, so that this run did not pay"),
            Column("reply", "text", "the raw reply"),
        ),
        _calls,
    ),
    "means": Table(
        "a mean of a metric over all questions, or those of one kind, type, style or document",
        (
            Column("by", "text", "all, kind, type, style or document"),
            Column("name", "text", "the kind, type, style or document"),
            Column("questions", "integer", "questions in it"),
            Column("misses", "integer", "those whose evidence is not in the ranking"),
            Column("metric", "text", "the metric's name"),
            Column("mean", "number", "mean over the n questions with a score"),
            Column("low", "number", "lower end of the 95 % interval"),
            Column("high", "number", "upper end of the 95 % interval"),
            Column("n", "integer", "questions with a score"),
            Column("without", "text", "how many have none, by status"),
            Column("judge", "text", "the model that judged; none for other metrics"),
            Column("judge_accuracy", "number", "its accuracy on control items"),
            Column("judge_reliable", "yes/no", "whether it can be relied on by them"),
            Column(
                "chosen_by", "text", "the experiment that chose the run's configuration on these questions; else none"
            ),
        ),
        _means,
    ),
}
"""Every table by its name, which is also the name of its file."""
