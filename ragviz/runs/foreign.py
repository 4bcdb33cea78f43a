"""Runs that another program answered and judged: its claims and verdicts fill the matrix, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragviz import __version__
from ragviz.core.answer import Answer, AnswerStatus
from ragviz.core.configuration import RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Corpus, Document
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.run_info import Run
from ragviz.core.span import Span
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.index import chunking
from ragviz.judging import similarities
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import choices, summaries
from ragviz.runs.formats import ForeignAnswer, ForeignRun
from ragviz.text import language
from ragviz.workspace import Workspace

LONGEST_SHOWN = 200
"""Characters of another program's name for a passage that are kept in ours."""

FOREIGN = tuple(name for name, metric in answer_metrics.ANSWER_METRICS.items() if metric.of_verdicts)
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
    existing, expected = store.runs.find(name), ("running", corpus.id, digest(answers))
    if existing is not None and (existing.status, existing.corpus_id, existing.fingerprint) == expected:
        run, question_set = existing, store.sets.get(existing.config.questions)
    else:
        run, question_set = _rows(workspace, corpus, name, foreign_run, answers)
    try:
        _store_answers(workspace, run, question_set, foreign_run.answers)
    except BaseException:
        store.runs.delete(run.id)
        store.sets.delete(question_set.id)
        raise
    summaries.finish(workspace, run)
    return store.runs.get(run.id)


def _rows(
    workspace: Workspace, corpus: Corpus, name: str, foreign_run: ForeignRun, answers: str
) -> tuple[Run, QuestionSet]:
    """Create a run and its question set; an empty set of that name was left by an interrupted import, and is used.

    `answers` is the digest of the answers.
    """
    store = workspace.store
    existing = store.sets.find(name)
    resumed = existing is not None and existing.corpus_id == corpus.id and not existing.total
    question_set = existing if existing is not None and resumed else store.sets.add(corpus.id, name)
    provenance: dict[str, Any] = {
        "identity": {"answers": answers, "corpus": "", "questions": "", "metrics": ""},
        "index_config": {},
        "index": "imported",
        "questions": question_set.name,
        "ragviz": __version__,
        "n": len(foreign_run.answers),
    }
    depth = max([len(each.passages) for each in foreign_run.answers] + [1])
    config = RunConfig("", question_set.id, "imported", depth=depth, k=depth, answerer="model", metrics=FOREIGN)
    try:
        return store.runs.add(name, corpus.id, config, digest(answers), provenance), question_set
    except UsageError:
        if not resumed:
            store.sets.delete(question_set.id)
        raise


def _store_answers(workspace: Workspace, run: Run, question_set: QuestionSet, answers: Sequence[ForeignAnswer]) -> None:
    store, plan = workspace.store, choices.plan_of(run.config, FOREIGN, workspace.store.cache("bank"))
    for place, each in enumerate(answers):
        question, retrieved, evaluated = _foreign(workspace, run, each)
        store.questions.put(question_set.id, [question])
        store.rankings.put(run.id, [(place, question, retrieved)])
        [with_similarities] = similarities.with_similarities([evaluated], [], plan)
        store.judgements.put(run.id, [(with_similarities, answer_metrics.scores(with_similarities, FOREIGN))])


def _foreign(workspace: Workspace, run: Run, answer: ForeignAnswer) -> tuple[Question, Retrieved, EvaluatedAnswer]:
    """Store the passages of one answer under its run; return its question, ranking and evaluated answer."""
    chunks = []
    for place, (name, text) in enumerate(answer.passages):
        document = _document(f"{run.name}/{answer.id}-{name[:LONGEST_SHOWN] or place}.txt", text)
        workspace.store.documents.add_passage(run.corpus_id, document)
        chunks.append(chunking.cut_out(document, 0, len(text), 0))
    useful = answer.matrix.useful or (False,) * len(chunks)
    supporting = [chunk for chunk, is_useful in zip(chunks, useful, strict=True) if is_useful]
    spans = [Span(chunk.document_id, 0, chunk.end, chunk.text) for chunk in supporting]
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
