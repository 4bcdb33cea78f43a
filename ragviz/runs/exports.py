"""Every question of a run and every mean, as records and as files."""

from __future__ import annotations

from ragviz.analysis import evaluate
from ragviz.questions import interchange
from ragviz.records import Run
from ragviz.retrieval import search
from ragviz.runs import cases, control_items, judgements, measurements
from ragviz.workspace import Workspace


def cases_of(workspace: Workspace, current: Run, k: int | None = None) -> list[cases.Case]:
    """Return the case of every question of a run, ranked at `k` (default: its own)."""
    store = workspace.store
    results, judgement = measurements.results_of(workspace, current), judgements.judgement_of(workspace, current, k)
    hits = {hit.chunk_id: hit for r in results for hit in r.ranking.hits()[: k or current.config.k]}
    texts = {f.chunk.id: f.chunk for f in search.with_chunks(workspace, current.corpus_id, [*hits.values()]) if f.chunk}
    return cases.cases(
        measurements.summary_of(workspace, current, k),
        store.run_questions(current.id),
        results,
        measurements.document_names(workspace, current),
        chunks=texts,
        evaluated=judgement.evaluated,
        scores=judgement.scores,
        causes=judgement.causes,
    )


def breakdown_of(workspace: Workspace, current: Run, k: int | None = None) -> list[evaluate.Slice]:
    """Return every mean of a run, over all questions, per kind and per document, ranked at `k` (default: its own)."""
    questions, names = workspace.store.run_questions(current.id), measurements.document_names(workspace, current)
    documents = {question.id: interchange.documents_of(question, names) for question in questions}
    summary, scores = measurements.summary_of(workspace, current, k), judgements.judgement_of(workspace, current).scores
    return evaluate.breakdown(summary, scores, questions, documents, seed=current.config.seed)


def export_run(workspace: Workspace, current: Run) -> dict[str, bytes]:
    """Write a run as files (see `cases`), by file name."""
    run_cases, slices = cases_of(workspace, current), breakdown_of(workspace, current)
    return cases.files(
        run_cases, slices, measurements.document_names(workspace, current), control_items.controls_of(current)
    )
