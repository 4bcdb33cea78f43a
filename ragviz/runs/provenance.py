"""What a run was made of: names, versions, and the identity that makes its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ragviz import __version__
from ragviz.core.configuration import RunConfig, identity_of
from ragviz.core.digests import digest
from ragviz.core.index_info import IndexInfo
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.run_info import Run
from ragviz.judging import planning
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.registry import METRICS
from ragviz.retrieval import search
from ragviz.retrieval.reranking import Report
from ragviz.store.codecs import corpus_hash, questions_hash
from ragviz.targets import answering
from ragviz.workspace import Workspace


def run_row(
    workspace: Workspace,
    name: str,
    config: RunConfig,
    plan: planning.Plan,
    index: IndexInfo,
    question_set: QuestionSet,
    questions: Sequence[Question],
    **noted: Any,
) -> Run:
    """Return the interrupted run to resume, or a new one with what is `noted` of its target.

    It has names for people, and `identity`, which makes the fingerprint: equal when the numbers must be equal.
    """
    indexed = set(index.documents)
    documents = [d for d in workspace.store.documents.all(index.corpus_id, replaced=True) if d.id in indexed]
    identity = {
        "corpus": corpus_hash(documents),
        "questions": questions_hash(questions),
        "index": index.config.hash(),
        "embedder": index.embedder_identity,
        **identity_of(config),
        "metrics": digest(*(f"{key}:{metric.version}" for key, metric in sorted(METRICS.items()))),
    }
    identity |= judgement_of(config)
    if reranking := search.identity_of(workspace, index, config.reranker):
        identity["reranking"] = reranking
    if host := _host(plan):
        identity["endpoint"] = host
    if plan.embedder is not None:
        identity["metric embedder"] = plan.embedder.identity
    names: dict[str, Any] = {
        "index": index.name,
        "questions": question_set.name,
        "questions_version": question_set.version,
        "ragviz": __version__,
        "n": len(questions),
    }
    places = {span.document_id for q in questions for group in q.evidence for span in group if not span.stale}
    if unindexed := sorted(places - indexed):
        names["unindexed"] = unindexed
    if config.split and (split := question_set.split):
        of = question_set.asked
        names["split"] = {"side": config.split, "of": of, **asdict(split)}
    if config.limit and len(questions) == config.limit:
        names["of"] = question_set.asked
    provenance = {"identity": identity, "index_config": asdict(index.config), **names, **noted}
    fingerprint = fingerprint_of(identity)
    current = workspace.store.runs.find(name)
    if current is not None and current.fingerprint == fingerprint and current.status != "done":
        workspace.store.runs.set_status(current.id, "running")
        return current
    return workspace.store.runs.add(name, index.corpus_id, config, fingerprint, provenance)


def fingerprint_of(identity: Mapping[str, str]) -> str:
    """Return the digest of what a run's numbers depend on."""
    return digest(*(f"{key}={value}" for key, value in sorted(identity.items())))


def judgement_of(config: RunConfig) -> dict[str, str]:
    """Return what the scores of answers depend on by a run's choices: versions; nothing where nothing is answered."""
    if not config.knows.answers and not config.metrics:
        return {}
    metrics = answer_metrics.ANSWER_METRICS
    versions = [f"{name}:{metrics[name].version}" for name in answer_metrics.measured(config.metrics)]
    return {"judgement": digest(answering.VERSIONS.get(config.answerer, ""), *versions)}


def _host(plan: planning.Plan) -> str:
    """Return the host of the run's models, "" without a model."""
    return next((client.host for client in (plan.answerer, plan.judge) if client is not None), "")


def note_models(workspace: Workspace, current: Run, plan: planning.Plan) -> None:
    """Add the models' hosts, forms of reply and the embedders of its metrics to a run's record.

    The form is known after the first call only, so it cannot be part of the fingerprint. Entries of earlier attempts
    stay in the record.
    """
    provenance = workspace.store.runs.get(current.id).provenance
    used: dict[str, set[str]] = {
        "hosts": {_host(plan)} - {""},
        "forms": {form for client in (plan.answerer, plan.judge) if client is not None for form in client.forms},
        "metric_embedders": {plan.embedder.identity} if plan.embedder is not None else set(),
    }
    models = {key: sorted(used[key] | set(provenance.get("models", {}).get(key, ()))) for key in used}
    workspace.store.runs.note(current.id, models=models)


def note_retrieval(workspace: Workspace, current: Run, questions: int, seconds: float) -> None:
    """Add the time that a batch of questions took to retrieve, and to rerank, to a run's record."""
    before = workspace.store.runs.get(current.id).provenance.get("retrieval", {})
    taken = round(before.get("seconds", 0.0) + seconds, 4)
    workspace.store.runs.note(
        current.id, retrieval={"questions": before.get("questions", 0) + questions, "seconds": taken}
    )


def note_reranking(workspace: Workspace, current: Run, report: Report, questions: Sequence[Question]) -> None:
    """Add what became of reranking these questions to a run's record, beside what stands there of others; empty it.

    The time of what is done once for many questions is in it: the vectors of a chunk's tokens are computed for the
    first question that reads it. `failures` are reasons by question id.
    """
    before = workspace.store.runs.get(current.id).provenance.get("reranking", {})
    asked = {question.id for question in questions}
    failures = {i: reason for i, reason in before.get("failures", {}).items() if i not in asked}
    failures |= {q.id: report.failures[q.query] for q in questions if q.query in report.failures}
    facts: dict[str, Any] = {
        "questions": before.get("questions", 0) + report.questions,
        "seconds": round(before.get("seconds", 0.0) + report.seconds, 3),
    }
    counts = {name: before.get(name, 0) + getattr(report, name) for name in _OF_CALLS}
    facts |= counts if counts["calls"] else {}
    facts |= {"failures": failures} if failures else {}
    workspace.store.runs.note(current.id, reranking=facts)
    report.empty()


_OF_CALLS = ("calls", "prompt_tokens", "completion_tokens", "cost", "unpriced")


def not_reranked(current: Run) -> dict[str, str]:
    """Return why questions of a run kept their retriever's order, by id: their reranking failed."""
    return dict(current.provenance.get("reranking", {}).get("failures", {}))
