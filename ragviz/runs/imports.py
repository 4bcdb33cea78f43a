"""Runs of a logged file: what another program read and answered, with its verdicts where the file has them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Literal

from ragviz import __version__
from ragviz.core.configuration import RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Corpus, Document
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import AnswerStatus, Context, Knows, Recording
from ragviz.core.run_info import Run
from ragviz.core.span import Span
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.index import chunking
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import running, summaries
from ragviz.targets.logged_item import Log, LoggedItem
from ragviz.text import language
from ragviz.text.denial import abstains
from ragviz.workspace import Workspace

LONGEST_SHOWN = 200
"""Characters of another program's name for a passage that are kept in ours."""


def import_run(workspace: Workspace, corpus: Corpus, name: str, log: Log) -> Run:
    """Store what a file holds as a run of `corpus`, with its passages; asks no model.

    The passages belong to the run. Those that support a claim of the reference become the evidence, but no gold chunks,
    because which other passages would have answered a question is not known. The run has the metrics that the file's
    texts and verdicts allow; `running.judge` adds others. An interrupted import resumes when the same file is imported
    under the same name.

    Raises:
        UsageError: the name is blank or taken.

    """
    store, content = workspace.store, digest(*(repr(each) for each in log.items))
    existing, expected = store.runs.find(name), ("running", corpus.id, digest(content))
    if existing is not None and (existing.status, existing.corpus_id, existing.fingerprint) == expected:
        run, question_set = existing, store.sets.get(existing.config.questions)
    else:
        run, question_set = _rows(workspace, corpus, name, log, content)
    try:
        recorded = []
        for place, item in enumerate(log.items):
            question, retrieved, evaluated = _stored(workspace, run, item, log.origin)
            store.questions.put(question_set.id, [question])
            store.rankings.put(run.id, [(place, question, retrieved)])
            store.judgements.put(run.id, [(evaluated, ())])
            recorded.append(evaluated)
        names = answer_metrics.with_values(recorded, run.knows)
        run = store.runs.configure(run.id, replace(run.config, metrics=names), run.fingerprint)
        running.score(workspace, run)
    except BaseException:
        store.runs.delete(run.id)
        store.sets.delete(question_set.id)
        raise
    summaries.finish(workspace, run)
    return store.runs.get(run.id)


def _rows(workspace: Workspace, corpus: Corpus, name: str, log: Log, content: str) -> tuple[Run, QuestionSet]:
    """Create a run and its question set; an empty set of that name was left by an interrupted import, and is used.

    `content` is the digest of the file's items.
    """
    store = workspace.store
    existing = store.sets.find(name)
    resumed = existing is not None and existing.corpus_id == corpus.id and not existing.total
    question_set = existing if existing is not None and resumed else store.sets.add(corpus.id, name)
    knows = Knows(
        ranking=False,
        contexts=any(each.contexts for each in log.items),
        answers=any(each.answer is not None for each in log.items),
        reference=any(each.reference.strip() for each in log.items),
        again=False,
    )
    provenance: dict[str, Any] = {
        "identity": {"answers": content, "corpus": "", "questions": "", "metrics": ""},
        "index_config": {},
        "index": "imported",
        "questions": question_set.name,
        "ragviz": __version__,
        "n": len(log.items),
        "target": "file",
        "knows": asdict(knows),
    }
    depth = max([len(each.contexts) for each in log.items] + [1])
    answerer: Literal["imported", "none"] = "imported" if knows.answers else "none"
    config = RunConfig("", question_set.id, "imported", depth=depth, k=depth, answerer=answerer)
    try:
        return store.runs.add(name, corpus.id, config, digest(content), provenance), question_set
    except UsageError:
        if not resumed:
            store.sets.delete(question_set.id)
        raise


def _stored(
    workspace: Workspace, run: Run, item: LoggedItem, origin: str
) -> tuple[Question, Retrieved, EvaluatedAnswer]:
    """Store the passages of an item under its run; return its question, ranking, and recording with its verdicts."""
    chunks, matrix = [], item.matrix or Matrix()
    for place, passage in enumerate(item.contexts):
        shown = passage.id[:LONGEST_SHOWN] or place
        document = _document(f"{run.name}/{item.id}-{shown}.txt", passage.text)
        workspace.store.documents.add_passage(run.corpus_id, document)
        chunks.append(chunking.cut_out(document, 0, len(passage.text), 0))
    useful = matrix.useful or (False,) * len(chunks)
    supporting = [chunk for chunk, is_useful in zip(chunks, useful, strict=True) if is_useful]
    spans = [Span(chunk.document_id, 0, chunk.end, chunk.text) for chunk in supporting]
    evidence = (tuple(spans) or (Span("", 0, 0, item.reference, stale=True),),)
    lang = language.of_short(item.question, language.detect("\n".join(each.text for each in item.contexts)))
    question = Question(item.id, item.question, item.reference, evidence, "import", "accepted", language=lang)
    ids = tuple(chunk.id for chunk in chunks)
    ranking = Ranking(ids, tuple(1 / rank for rank in range(1, len(ids) + 1)))
    recording = Recording(item.id, tuple(map(Context.of, chunks)), origin=origin)
    if (said := item.answer) is not None:
        status: AnswerStatus = "failed" if not said.strip() else "refused" if abstains(said) else "answered"
        reason = "" if said.strip() else "the response is empty in the imported file"
        recording = replace(recording, answer=said, status=status, reason=reason)
    evaluated = EvaluatedAnswer(question, recording, replace(matrix, chunks=ids), given=_given(item.matrix))
    evaluated = replace(evaluated, verdicts={origin: dict(item.scores)} if item.scores else {})
    return question, Retrieved(item.id, ranking, ()), evaluated


def _given(matrix: Matrix | None) -> tuple[str, ...]:
    """Return the steps of which a file holds all verdicts."""
    if matrix is None or matrix.answer_claims is None or matrix.reference_claims is None:
        return ()
    by_chunk = matrix.answer_by_chunk is not None and matrix.reference_by_chunk is not None
    compared = matrix.answer_by_reference is not None and matrix.reference_by_answer is not None
    return ("reference", "claims", *(["context"] if by_chunk else []), *(["comparison"] if compared else []))


def _document(name: str, text: str) -> Document:
    data = text.encode("utf-8", "surrogatepass")
    document_id = Document.make_id(name, text)
    return Document(document_id, name, text, (), language.detect(text), "text/plain", digest(data), len(data))
