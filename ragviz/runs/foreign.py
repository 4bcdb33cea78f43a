"""Runs that another program answered and judged: its claims and verdicts fill the matrix, without any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ValidationError, model_validator

from ragviz import __version__
from ragviz.errors import InputError, UsageError
from ragviz.index import chunking
from ragviz.judging import similarities
from ragviz.metrics import answers as answer_metrics
from ragviz.records import (
    LONGEST_ID,
    Answer,
    AnswerStatus,
    Claim,
    ClaimVerdict,
    Corpus,
    Document,
    EvaluatedAnswer,
    Matrix,
    Question,
    QuestionSet,
    Ranking,
    Retrieved,
    Run,
    RunConfig,
    RunFormat,
    Span,
    Verdict,
    digest,
)
from ragviz.runs import choices
from ragviz.text import language
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable
from ragviz.workspace import Workspace

# Reading


class _Passage(BaseModel):
    doc_id: str | int = ""
    text: str


_VERDICTS: Mapping[str, Verdict] = {"entailment": "supported", "neutral": "absent", "contradiction": "contradicted"}


def _read_verdict(label: object) -> Verdict:
    verdict = _VERDICTS.get(str(label).strip().lower())
    if verdict is None:
        raise ValueError(f"there is no verdict {label!r}: there are Entailment, Neutral and Contradiction")
    return verdict


_Verdict = Annotated[Verdict, BeforeValidator(_read_verdict)]


class _Checked(BaseModel):
    """One result of RAGChecker: claims as triples or sentences, and its verdicts on them."""

    query_id: str | int
    query: str
    gt_answer: str
    response: str
    retrieved_context: list[_Passage] = []
    response_claims: list[list[str] | str]
    gt_answer_claims: list[list[str] | str]
    answer2response: list[_Verdict]
    response2answer: list[_Verdict]
    retrieved2response: list[list[_Verdict]]
    retrieved2answer: list[list[_Verdict]]

    @model_validator(mode="after")
    def _as_many_verdicts_as_claims(self) -> Self:
        claims = {"response": len(self.response_claims), "gt_answer": len(self.gt_answer_claims)}
        lists: list[tuple[str, Sequence[object], str]] = [
            ("answer2response", self.answer2response, "response"),
            ("response2answer", self.response2answer, "gt_answer"),
            ("retrieved2response", self.retrieved2response, "response"),
            ("retrieved2answer", self.retrieved2answer, "gt_answer"),
        ]
        for name, verdicts, of in lists:
            if len(verdicts) != claims[of]:
                raise ValueError(f"{name} has {len(verdicts)} verdicts for {claims[of]} claims")
        if (size := len(str(self.query_id))) > LONGEST_ID:
            raise ValueError(f"query_id has {size:,} characters: at most {LONGEST_ID} can be kept")
        passages = [(passage.doc_id, passage.text) for passage in self.retrieved_context]
        if len(set(passages)) < len(passages):
            raise ValueError("retrieved_context holds the same passage twice")
        for name, rows in (
            ("retrieved2response", self.retrieved2response),
            ("retrieved2answer", self.retrieved2answer),
        ):
            if any(len(row) != len(self.retrieved_context) for row in rows):
                raise ValueError(f"{name} must have a verdict for each of {len(self.retrieved_context)} passages")
        return self


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """A question that another program answered and judged: its passages as (name, text), best first.

    The matrix names its chunks by their position: "0", "1" …
    """

    id: str
    question: str
    reference: str
    answer: str
    passages: tuple[tuple[str, str], ...]
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """The readable results of another program, and a sentence on each that is not readable."""

    answers: tuple[ForeignAnswer, ...]
    problems: tuple[str, ...]


def read_ragchecker(data: bytes, name: str) -> ForeignRun:
    """Read RAGChecker's output (a JSON object with "results", claims and verdicts among them), without any model.

    Raises:
        InputError: the file cannot be read, or holds no readable result.

    """
    try:
        rows = list(parsed(data.decode("utf-8-sig"))["results"])
    except (ValueError, KeyError, TypeError) as error:
        why = f" ({error})" if type(error) is ValueError else ""
        raise InputError(
            f"{name} is no output of RAGChecker: a JSON object with a list of 'results' is needed{why}."
        ) from None
    answers: dict[str, ForeignAnswer] = {}
    problems: list[str] = []
    for number, row in enumerate(rows, start=1):
        if is_deep(row):
            problems.append(f"Result {number}: its lists or objects are nested more than {NESTED} deep.")
            continue
        try:
            answer = _checked(_Checked.model_validate(storable(row)))
            if answers.setdefault(answer.id, answer) is not answer:
                problems.append(f"Result {number}: there is a result with the id '{answer.id}' before it.")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            problems.append(f"Result {number}: {place + ': ' if place else ''}{first['msg']}.")
    if not answers:
        raise InputError(f"{name} holds no result that can be read. {' '.join(problems[:3])}")
    return ForeignRun(tuple(answers.values()), tuple(problems))


def _checked(row: _Checked) -> ForeignAnswer:
    by_chunk = [tuple(map(ClaimVerdict, verdicts)) for verdicts in row.retrieved2answer]
    useful = tuple(
        any(verdicts[place].verdict == "supported" for verdicts in by_chunk)
        for place in range(len(row.retrieved_context))
    )
    matrix = Matrix(
        chunks=tuple(map(str, range(len(row.retrieved_context)))),
        answer_claims=tuple(map(_claim, row.response_claims)),
        reference_claims=tuple(map(_claim, row.gt_answer_claims)),
        answer_by_chunk=tuple(tuple(map(ClaimVerdict, verdicts)) for verdicts in row.retrieved2response),
        reference_by_chunk=tuple(by_chunk),
        answer_by_reference=tuple(map(ClaimVerdict, row.answer2response)),
        reference_by_answer=tuple(map(ClaimVerdict, row.response2answer)),
        useful=useful,
    )
    passages = tuple((str(passage.doc_id), passage.text) for passage in row.retrieved_context)
    return ForeignAnswer(str(row.query_id), row.query, row.gt_answer, row.response, passages, matrix)


def _claim(claim: list[str] | str) -> Claim:
    return Claim(claim if isinstance(claim, str) else " ".join(claim))


LONGEST_SHOWN = 200
"""Characters of another program's name for a passage that are kept in ours."""

FORMATS: Mapping[RunFormat, Callable[[bytes, str], ForeignRun]] = {"ragchecker": read_ragchecker}
"""Format → reader of its files, given the content, and the name for errors."""


# Storing

FOREIGN = (
    *("faithfulness", "context_precision", "context_precision_plain", "context_recall"),
    *("factual_precision", "factual_recall", "factual_f1", "completeness"),
    *("extractive_questeval_recall", "rouge_l", "token_f1", "exact_match"),
)
"""Metrics that are computed from another program's verdicts and the texts alone."""


def import_run(workspace: Workspace, corpus: Corpus, name: str, foreign_run: ForeignRun) -> Run:
    """Store what another program answered and judged as a run of `corpus`, with its passages; asks no model.

    The passages belong to the run. Those that support a claim of the reference become the evidence, but no gold chunks,
    because which other passages would have answered a question is not known. An interrupted import resumes when the
    same answers are imported under the same name.

    Raises:
        UsageError: the name is blank or taken.

    """
    store, answers = workspace.store, digest(*(repr(each) for each in foreign_run.answers))
    existing, expected = store.run_named(name), ("running", corpus.id, digest(answers))
    if existing is not None and (existing.status, existing.corpus_id, existing.fingerprint) == expected:
        run, question_set = existing, store.question_set(existing.config.questions)
    else:
        run, question_set = _rows(workspace, corpus, name, foreign_run, answers)
    try:
        _store_answers(workspace, run, question_set, foreign_run.answers)
    except BaseException:
        store.delete_run(run.id)
        store.delete_question_set(question_set.id)
        raise
    store.finish_run(run.id, "done")
    return store.run(run.id)


def _rows(
    workspace: Workspace, corpus: Corpus, name: str, foreign_run: ForeignRun, answers: str
) -> tuple[Run, QuestionSet]:
    """Create a run and its question set; an empty set of that name was left by an interrupted import, and is used.

    `answers` is the digest of the answers.
    """
    store = workspace.store
    existing = store.question_set_named(name)
    resumed = existing is not None and existing.corpus_id == corpus.id and not existing.total
    question_set = existing if existing is not None and resumed else store.create_question_set(corpus.id, name)
    provenance: dict[str, Any] = {
        "identity": {"answers": answers, "corpus": "", "questions": "", "metrics": ""},
        "index_config": {},
        "index": "imported",
        "questions": question_set.name,
        "ragviz": __version__,
        "n": len(foreign_run.answers),
    }
    depth = max([len(each.passages) for each in foreign_run.answers] + [1])
    config = RunConfig("", question_set.id, "imported", depth, depth, answerer="model", metrics=FOREIGN)
    try:
        return store.create_run(name, corpus.id, config, digest(answers), provenance), question_set
    except UsageError:
        if not resumed:
            store.delete_question_set(question_set.id)
        raise


def _store_answers(workspace: Workspace, run: Run, question_set: QuestionSet, answers: Sequence[ForeignAnswer]) -> None:
    store, plan = workspace.store, choices.plan_of(run.config, FOREIGN, workspace.store.cache("bank"))
    for place, each in enumerate(answers):
        question, retrieved, evaluated = _foreign(workspace, run, each)
        store.put_questions(question_set.id, [question])
        store.put_results(run.id, [(place, question, retrieved)])
        [with_similarities] = similarities.with_similarities([evaluated], [], plan)
        store.put_judged(run.id, [(with_similarities, answer_metrics.scores(with_similarities, FOREIGN))])


def _foreign(workspace: Workspace, run: Run, answer: ForeignAnswer) -> tuple[Question, Retrieved, EvaluatedAnswer]:
    """Store the passages of one answer under its run; return its question, ranking and evaluated answer."""
    chunks = []
    for place, (name, text) in enumerate(answer.passages):
        document = _document(f"{run.name}/{answer.id}-{name[:LONGEST_SHOWN] or place}.txt", text)
        workspace.store.add_passage(run.corpus_id, document)
        chunks.append(chunking.cut_out(document, 0, len(text), 0))
    useful = [chunk for chunk, is_useful in zip(chunks, answer.matrix.useful or (), strict=True) if is_useful]
    spans = [Span(chunk.document_id, 0, chunk.end, chunk.text) for chunk in useful]
    evidence = (tuple(spans) or (Span("", 0, 0, answer.reference, stale=True),),)
    lang = language.of_short(answer.question, language.detect("\n".join(text for _, text in answer.passages)))
    question = Question(answer.id, answer.question, answer.reference, evidence, "import", "accepted", language=lang)
    ids = tuple(chunk.id for chunk in chunks)
    ranking = Ranking(ids, tuple(1 / rank for rank in range(1, len(ids) + 1)))
    retrieved = Retrieved(answer.id, ranking, ())
    status: AnswerStatus = "answered" if answer.answer.strip() else "failed"
    reason = "" if answer.answer.strip() else "the response is empty in the imported file"
    stored = Answer(answer.id, answer.answer, status, "imported", ids, reason=reason)
    return question, retrieved, EvaluatedAnswer(question, stored, replace(answer.matrix, chunks=ids))


def _document(name: str, text: str) -> Document:
    data = text.encode("utf-8", "surrogatepass")
    document_id = Document.make_id(name, text)
    return Document(document_id, name, text, (), language.detect(text), "text/plain", digest(data), len(data))
