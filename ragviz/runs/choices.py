"""The choices of a run: defaults filled in, and checked; the record of a run that is made with them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import islice, zip_longest
from typing import Any

from ragviz import __version__
from ragviz.core.configuration import REMOTE, IndexConfig, IndexInfo, Run, RunConfig, identity_of
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.fields import checked, fields_of
from ragviz.core.garbage import without_collection
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.reply_cache import Cache
from ragviz.judging import planning, similarities, steps
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.registry import METRICS
from ragviz.models.chat import ModelClient
from ragviz.models.vectors import Embedder
from ragviz.retrieval import rerankers, retrievers, search
from ragviz.retrieval.reranking import Report
from ragviz.store.schema import corpus_hash, questions_hash
from ragviz.targets import answering, hand_made
from ragviz.targets.target import Target
from ragviz.targets.targets import TARGETS, check_models
from ragviz.workspace import Workspace


def run_config(index: IndexConfig, given: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a run on an index like `index` of which `given` is said.

    The retriever is by default the first that the index can serve, the depth of reranking the reranker's own.

    Raises:
        UsageError: there is no such choice; a value has the wrong type, or is out of range.

    """
    values = checked(RunConfig, given)
    values.setdefault("retriever", retrievers.offered(index)[0])
    values.setdefault("rerank_depth", rerankers.default_depth(values.get("reranker", rerankers.NONE)))
    return RunConfig(**values)


def resolved(workspace: Workspace, config: RunConfig) -> RunConfig:
    """Return `config` with its models and metrics named.

    By default a model's answers are measured by all metrics, others by those that need no judge; "none" stands for no
    metric. "all" leaves out the metrics that need more than the run will know.

    Raises:
        UsageError: a model is needed and none is configured, a metric does not exist or is not possible, the index
            cannot serve the retriever, or the choices are those of a hand-made run.

    """
    check_models(config)
    if (index := workspace.store.indexes.find(config.index)) is not None:
        retrievers.check_offered(index.config, config.retriever)
        rerankers.check_offered(index.config, config.reranker)
    knows, settings = config.knows, workspace.settings
    chosen = tuple(name for name in config.metrics if name != "none")
    if not config.metrics and knows.answers:
        chosen = ("all",) if config.asks_model else answer_metrics.chosen(("all",), judge=False, knows=knows)
    names = answer_metrics.chosen(chosen, judge=bool(config.judge) or settings.model_configured, knows=knows)
    judged = bool(answer_metrics.steps_of(names))
    reranker = rerankers.spec_of(config.reranker)
    asks = reranker is not None and reranker.asks
    if (config.asks_model or judged or asks) and not settings.model_configured:
        raise UsageError("No model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.")
    return replace(
        config,
        metrics=names or (("none",) if knows.answers and "none" in config.metrics else ()),  # () stands for the default
        model=(config.model or settings.model) if config.asks_model else "",
        judge=(config.judge or settings.judge or settings.model) if judged else "",
        reranker=f"{config.reranker}:{settings.model}" if asks and ":" not in config.reranker else config.reranker,
        rerank_depth=config.rerank_depth
        if config.reranker != rerankers.NONE
        else rerankers.default_depth(rerankers.NONE),
    )


def plan_of(
    config: RunConfig,
    names: Sequence[str],
    banks: Cache,
    answerer: ModelClient | None = None,
    judge: ModelClient | None = None,
    embedder: Embedder | None = None,
    target: Target | None = None,
    **more: Any,
) -> planning.Plan:
    """Return the plan of a run with the metrics `names`; `more` are other fields of the plan.

    `target` is what answers, by default that of the choices; one that brings verdicts along needs no judge.
    """
    target = target or TARGETS[config.context]
    answers = target.answers(config)
    judged = () if target.verdicts else answer_metrics.steps_of(names)
    required_steps = steps.required(judged, answered=answers is not None)
    inputs = frozenset(each for name in names for each in answer_metrics.ANSWER_METRICS[name].inputs)
    score = partial(answer_metrics.scores, names=names)
    made = (answers, target.verdicts, required_steps, inputs, score)
    return planning.Plan(banks, *made, answerer, judge, embedder, **more)


def check_run(config: RunConfig) -> None:
    """Raise UsageError for a choice that cannot be used."""
    for name, field in fields_of(RunConfig).items():
        field.checked(getattr(config, name))
    rerankers.spec_of(config.reranker)
    if config.k > config.depth:
        raise UsageError(f"k must be from 1 to the depth, {config.depth}: {config.k} is not.")
    if config.instructions and not config.asks_model:
        raise UsageError(f"Instructions are for a model that answers: the answerer '{config.answerer}' reads none.")


@without_collection()
def asked(
    workspace: Workspace, question_set: QuestionSet, config: RunConfig, asks: Callable[[Question], bool]
) -> list[Question]:
    """Return the questions that a run asks: of its side of the split, up to its limit, that the target can be asked.

    Raises:
        UsageError: there is none.

    """
    questions = [each for each in workspace.store.questions.all(question_set.id) if each.asked and asks(each)]
    if not questions:
        raise UsageError(
            f"Question set '{question_set.name}' has no question that is not rejected: generate or import some."
        )
    if config.split:
        questions = [each for each in questions if each.split == config.split]
        check_split(question_set, config.split, len(questions))
    return drawn(questions, config.limit, config.seed)


def drawn(questions: Sequence[Question], limit: int, seed: int) -> list[Question]:
    """Return at most `limit` questions, 0 for all, in their order; drawn with `seed`, so that documents take turns.

    A question is of the document where its first evidence stands; those without evidence are one more.
    """
    if not 0 < limit < len(questions):
        return list(questions)
    generator = random.Random(seed)  # noqa: S311 - nothing secret
    by_document: dict[str, list[Question]] = {}
    for question in generator.sample(questions, len(questions)):
        document = next((span.document_id for span in question.spans), "")
        by_document.setdefault(document, []).append(question)
    turns = (question for turn in zip_longest(*by_document.values()) for question in turn if question is not None)
    chosen = {question.id for question in islice(turns, limit)}
    return [question for question in questions if question.id in chosen]


def check_split(question_set: QuestionSet, side: str, count: int) -> None:
    """Raise UsageError when a question set has no split, or `count`, the questions on a side of it, is 0."""
    make = f"make one on the page Questions, or with `ragviz questions split {question_set.name} --kind stratified`"
    if question_set.split is None:
        raise UsageError(f"Question set '{question_set.name}' is not split into validation and test: {make}.")
    if not count:
        raise UsageError(
            f"Question set '{question_set.name}' has no question on the side {side} that is not rejected: make its "
            "split again."
        )


def check_budget(workspace: Workspace, config: RunConfig, budget: float | None) -> None:
    """Raise UsageError for a budget below 0, and where one, or the month, limits models without a price."""
    if budget is not None and not budget >= 0:
        raise UsageError(f"A budget is 0 dollars or more: {budget} is not.")
    index = workspace.store.indexes.find(config.index) if retrievers.compares_vectors(config.retriever) else None
    embedders = [index.config.embedder] if index is not None else []
    embedders += [workspace.settings.embedder] if compares_vectors(config) else []
    remote = (name.removeprefix(REMOTE) for name in embedders if name.startswith(REMOTE))
    for name in (config.model, config.judge, rerankers.model_of(config.reranker), *remote):
        if name not in ("", hand_made.NAME):  # what was written by hand costs nothing
            workspace.check_price(name, budget)


def compares_vectors(config: RunConfig) -> bool:
    """Whether a metric of the run compares embeddings of texts."""
    names = answer_metrics.measured(config.metrics)
    return any(similarities.COSINES & {*answer_metrics.ANSWER_METRICS[name].inputs} for name in names)


def metrics_hash() -> str:
    """Return the digest of the versions of all metrics of rankings."""
    return digest(*(f"{key}:{metric.version}" for key, metric in sorted(METRICS.items())))


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
    identity = {
        "corpus": corpus_hash({*workspace.store.documents.readable(index.corpus_id)}.intersection(index.documents)),
        "questions": questions_hash(questions),
        "index": index.config.hash(),
        "embedder": index.embedder_identity,
        **identity_of(config),
        "metrics": metrics_hash(),
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
    made_by = workspace.person.name
    return workspace.store.runs.add(name, index.corpus_id, config, fingerprint, provenance, made_by)


def fingerprint_of(identity: Mapping[str, str]) -> str:
    """Return the digest of what a run's numbers depend on."""
    return digest(*(f"{key}={value}" for key, value in sorted(identity.items())))


State = tuple[str, str, str]
"""Documents, configuration and embedder of an index: of two with the same the rankings are the same."""


def state_of(run: Run) -> State:
    """Return the state in which a run searched its index."""
    identity = run.provenance["identity"]
    return identity["corpus"], identity["index"], identity["embedder"]


def ranked_by(config: RunConfig) -> tuple[str, ...]:
    """Return the choices that rankings depend on, as far as they count."""
    constant = str(config.rrf_constant) if config.retriever == "hybrid" else ""
    reranked = (config.reranker, str(config.rerank_depth)) if config.reranker != rerankers.NONE else ("", "")
    return (config.retriever, constant, *reranked)


def rankings_by(run: Run) -> tuple[str, ...]:
    """Return what the rankings of a run depend on beside its questions and its depth."""
    return (*state_of(run), *ranked_by(run.config), run.provenance["identity"].get("reranking", ""))


def judgement_of(config: RunConfig) -> dict[str, str]:
    """Return what the scores of answers depend on by a run's choices: versions; nothing where nothing is answered."""
    if not config.knows.answers and not config.metrics:
        return {}
    metrics = answer_metrics.ANSWER_METRICS
    versions = [f"{name}:{metrics[name].version}" for name in answer_metrics.measured(config.metrics)]
    return {"judgement": digest(answering.VERSIONS.get(config.answerer, ""), *versions)}


def _host(plan: planning.Plan) -> str:
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

    def added(before: Mapping[str, Any]) -> dict[str, Any]:
        taken = round(before.get("seconds", 0.0) + seconds, 4)
        return {"questions": before.get("questions", 0) + questions, "seconds": taken}

    workspace.store.runs.change_note(current.id, "retrieval", added)


def note_reranking(workspace: Workspace, current: Run, report: Report, questions: Sequence[Question]) -> None:
    """Add what became of reranking these questions to a run's record, beside what stands there; empty `report`.

    The time of what is done once for many questions is in it: the vectors of a chunk's tokens are computed for the
    first question that reads it. `failures` are reasons by question id.
    """

    def added(before: Mapping[str, Any]) -> dict[str, Any]:
        failures = dict(before.get("failures", {}))
        failures |= {q.id: report.failures[q.query] for q in questions if q.query in report.failures}
        facts: dict[str, Any] = {
            "questions": before.get("questions", 0) + report.questions,
            "seconds": round(before.get("seconds", 0.0) + report.seconds, 3),
        }
        counts = {name: before.get(name, 0) + getattr(report, name) for name in _OF_CALLS}
        return facts | (counts if counts["calls"] else {}) | ({"failures": failures} if failures else {})

    workspace.store.runs.change_note(current.id, "reranking", added)
    report.empty()


_OF_CALLS = ("calls", "prompt_tokens", "completion_tokens", "cost", "unpriced")


def not_reranked(current: Run) -> dict[str, str]:
    """Return why questions of a run kept their retriever's order, by id: their reranking failed."""
    return dict(current.provenance.get("reranking", {}).get("failures", {}))
