"""Make a run: retrieve, answer, judge, judge again; an interrupted run resumes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

from ragviz.core import processes
from ragviz.core.configuration import IndexInfo, Run, RunConfig
from ragviz.core.errors import Deleted, UsageError
from ragviz.core.garbage import without_collection
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.core.share import Share
from ragviz.core.stopping import Progress, silent
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import controls, forecast, planning, work
from ragviz.metrics import answers as answer_metrics
from ragviz.models.refusals import Breaker
from ragviz.models.requests import Completion, Ledger, Request, Spending
from ragviz.retrieval import listwise, rerankers, search
from ragviz.retrieval.reranking import AskMany, Report
from ragviz.retrieval.retrievers import Retriever, compares_vectors
from ragviz.runs import choices, contexts, control_items, overviews, shared_retrieval
from ragviz.store import stored_calls
from ragviz.store.transactions import Kind, label
from ragviz.targets.targets import TARGETS, check_models, target_of
from ragviz.workspace import Workspace

BATCH = 1_000
"""Questions that are retrieved and stored together, at most."""
FIRST_BATCH = 10
"""Questions of the first batch; the next are larger, unless a slow retriever would report too rarely."""
TOGETHER = 1.0
"""Seconds that a batch may take for the next one to be twice as large."""


def run(
    workspace: Workspace,
    name: str,
    config: RunConfig,
    *,
    budget: float | None = None,
    pooled: bool = False,
    target_name: str = "",
    told: control_items.Told | None = None,
    progress: Progress = silent,
) -> Run:
    """Retrieve for every question that is not rejected, answer and judge as `config` says, and store it as `name`.

    `target_name` names a target that is no choice of a run: its choices are taken as they are. The runs of a sweep
    share what judges `told` of their control items.

    An interrupted run of this name with the same fingerprint resumes, and repeats nothing. `budget` is in dollars for
    the whole run, including what it paid before. A `pooled` run takes over the rankings of another one that would be
    the same.

    Raises:
        UsageError: the name is taken by another run, index and questions are of different corpora, there is no
            question, or a model or metric is not available.
        BudgetReached: the next model call could cost more; give a greater budget to resume.
        ModelError: an endpoint refuses, or is down for too long; UselessModel: a model gives nothing usable. Running
            it again after that continues regardless.

    """
    processes.share_memory_of_threads()
    noted: dict[str, Any] = {"target": target_name, "knows": {"again": False}} if target_name else {}
    index, question_set, questions, config = _inputs(workspace, config, target_name)
    index = search.ready(workspace, index)
    choices.check_budget(workspace, config, budget)
    plan = _plan(workspace, config, target_name)  # before anything is stored: it may raise
    current = choices.run_row(workspace, name, config, plan, index, question_set, questions, **noted)
    plan = _paying(workspace, current, plan, budget)
    try:
        with _deleted_with(workspace, current, index=config.index, questions=config.questions):
            if pooled:
                take_rankings(workspace, current, index, questions)
            retrieved = retrieve(workspace, current, index, questions, plan.spending, progress, budget)
            if config.knows.answers or config.metrics:
                retrieved = []  # judging takes long: the rankings are read again at its end
                _judge_controlled(workspace, current, _unfinished(workspace, current), plan, progress, told)
            whole = len(retrieved) == len(questions)  # else some were there before
            overviews.finish(workspace, current, retrieved if whole else None)
    except BaseException:
        if not workspace.store.rankings.question_ids(current.id) and not workspace.store.payments.of(current.id).calls:
            workspace.store.runs.delete(current.id)  # it did not begin
        raise
    return workspace.store.runs.get(current.id)


@contextmanager
def _deleted_with(workspace: Workspace, current: Run, **used: str) -> Iterator[None]:
    """Delete a run that fails after it, or something that it needs (kind → id), was deleted: it can never finish.

    Raises:
        Deleted: in that case, in place of the error that the deletion caused.

    """
    store = workspace.store
    try:
        yield
    except BaseException as error:
        needed = {"run": current.id} | used
        ids = store.ids_of([(cast(Kind, kind), each) for kind, each in needed.items()])
        gone = [kind for kind, current_id in zip(needed, ids, strict=True) if current_id is None]
        if not gone:
            raise
        store.runs.delete(current.id)
        which = f"run '{current.name}'" if gone[0] == "run" else f"the {label(cast(Kind, gone[0]))} of '{current.name}'"
        raise Deleted(f"Stopped: {which} was deleted.") from error


def is_made_as(workspace: Workspace, current: Run, config: RunConfig) -> bool:
    """Whether a run was made with these choices; its questions may have changed since."""
    return _inputs(workspace, config)[3] == current.config


def rejudge(
    workspace: Workspace, current: Run, *, budget: float | None = None, progress: Progress = silent
) -> list[str]:
    """Answer and judge again what failed in a run; return the ids of those questions.

    These are all questions when the judge was not reliable and is now; nothing else is asked again.

    Raises:
        UsageError: the run has no answers or metrics of answers, was never finished, or was written by hand.

    """
    check_models(current.config)
    if not current.knows.answers and not current.config.metrics:
        raise UsageError(f"Run '{current.name}' neither answers nor judges: make one with an answerer.")
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' was interrupted: give its command again, or resume it on the run page.")
    failed, before = _unfinished(workspace, current), control_items.controls_of(current)
    if not failed and (before is None or before.reliable):
        return []
    choices.check_budget(workspace, current.config, budget)
    plan = _paying(workspace, current, _plan(workspace, current.config, current.provenance.get("target", "")), budget)
    with _deleted_with(workspace, current):
        judged_ids = _judge_controlled(workspace, current, failed, plan, progress)
        overviews.finish(workspace, current)  # a new time of finishing: cached summaries are out of date
    return judged_ids


def judge(
    workspace: Workspace,
    current: Run,
    metrics: Sequence[str] = ("all",),
    judge: str = "",
    *,
    budget: float | None = None,
    progress: Progress = silent,
) -> list[str]:
    """Judge what was recorded elsewhere by further metrics; return the ids of its questions.

    Verdicts that came with the recordings stay, and are not asked for. `judge` is the model (default: the configured).

    Raises:
        UsageError: the run was made here, or is not finished; a metric is not possible, or no model is configured.

    """
    plan, config = judging_plan(workspace, current, metrics, judge)
    choices.check_budget(workspace, config, budget)
    host = plan.judge.host if plan.judge else ""
    identity = current.provenance["identity"] | choices.judgement_of(config) | {"endpoint": host}
    current = workspace.store.runs.configure(current.id, config, choices.fingerprint_of(identity))
    workspace.store.runs.note(current.id, identity=identity)
    ids = [question.id for question in workspace.store.rankings.questions(current.id)]
    with _deleted_with(workspace, current):
        judged_ids = _judge_controlled(workspace, current, ids, _paying(workspace, current, plan, budget), progress)
        overviews.finish(workspace, current)
    return judged_ids


def judging_plan(
    workspace: Workspace, current: Run, metrics: Sequence[str], judge: str = ""
) -> tuple[planning.Plan, RunConfig]:
    """Return how a run that was recorded elsewhere is judged by further metrics, and its choices then; see `judge`."""
    if current.knows.again or target_of(current).hands_over is not None:
        raise UsageError(
            f"Run '{current.name}' was made here: make it again with these metrics; what it has paid for is cached."
        )
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' was interrupted: import its file again.")
    settings = workspace.settings
    asked = answer_metrics.chosen(metrics, judge=bool(judge) or settings.model_configured, knows=current.knows)
    names = tuple(name for name in answer_metrics.ANSWER_METRICS if name in {*asked, *current.config.metrics})
    by = (judge or settings.judge or settings.model) if answer_metrics.steps_of(asked) else current.config.judge
    config = replace(current.config, metrics=names, judge=by)
    return _plan(workspace, config, current.provenance["target"]), config


def score(workspace: Workspace, current: Run, progress: Progress = silent) -> None:
    """Compute the scores of what was recorded elsewhere, from its texts and the verdicts that came with it."""
    store = workspace.store
    ids = [question.id for question in store.rankings.questions(current.id)]
    plan = replace(_plan(workspace, current.config, current.provenance["target"]), steps=frozenset())
    for start in range(0, len(ids), BATCH):
        evaluated = store.judgements.all(current.id, ids[start : start + BATCH])
        items = contexts.to_judge(workspace, current, [*evaluated.values()])
        work.work(items, plan, partial(store.judgements.put, current.id))
        progress(start + len(items), len(ids), "questions", "Scoring answers")


def foresee(workspace: Workspace, config: RunConfig) -> forecast.Forecast:
    """Estimate the calls and cost of a run and what is cached; retrieves, and calls a chat model only for its pace.

    Raises:
        UsageError: as `run`.

    """
    index, _, questions, config = _inputs(workspace, config)
    reranker = rerankers.model_of(config.reranker)
    judges = config.knows.answers or bool(config.metrics)
    client, dry = workspace.client(reranker) if reranker else None, forecast.DryRun("reranking")
    if not judges and client is None:
        return forecast.Forecast(questions=len(questions))
    index = search.ready(workspace, index)
    paid = Ledger()
    spending = Spending(paid)
    golds = contexts.gold_of(workspace, index, questions)

    def ask(requests: Sequence[Request[Any]]) -> list[Completion[Any]]:
        assert client is not None
        return [dry(client, each, listwise.placeholder(each)) for each in requests]

    search_all = retriever_of(workspace, index, config, spending, ask=ask if client else None)
    rankings = search_all([q.query for q in questions], config.k)
    spending.settle()
    about: dict[str, Any] = {"paid_calls": paid.total.calls, "paid": paid.total.dollars}
    if not judges:
        return replace(dry.forecast(len(questions), workspace.settings.model_concurrency, probe=True), **about)
    pairs = [(q, Retrieved(q.id, r, *g)) for q, r, g in zip(questions, rankings, golds, strict=True)]
    items = contexts.to_answer(workspace, index.corpus_id, config, TARGETS[config.context], pairs)
    return replace(_foreseen(workspace, items, _plan(workspace, config), dry), **about)


def foresee_judging(workspace: Workspace, current: Run, metrics: Sequence[str], judge: str = "") -> forecast.Forecast:
    """Estimate the calls and cost of judging what was recorded elsewhere; raises as `judge`."""
    plan, _ = judging_plan(workspace, current, metrics, judge)
    evaluated = workspace.store.judgements.all(current.id)
    items = contexts.to_judge(workspace, current, [*evaluated.values()])
    return _foreseen(workspace, items, plan)


def _foreseen(
    workspace: Workspace, items: Sequence[planning.Item], plan: planning.Plan, dry: forecast.DryRun | None = None
) -> forecast.Forecast:
    editions = control_items.editions_of(workspace, plan)
    control = [] if plan.judge is None else controls.make([item.question for item in items], plan.steps)
    requests = [replace(item.request, edition=editions.next) for item in control]
    return forecast.foresee(items, replace(plan, edition=editions.edition), requests, probe=True, dry=dry)


def added(first: forecast.Forecast, second: forecast.Forecast) -> forecast.Forecast:
    """Return what both take together, one after the other; what is not known of one is not known of both."""
    return replace(
        second,
        calls={**first.calls, **second.calls},
        cached=first.cached + second.cached,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cost=None if first.cost is None or second.cost is None else first.cost + second.cost,
        seconds=None if first.seconds is None or second.seconds is None else first.seconds + second.seconds,
    )


def _inputs(
    workspace: Workspace, config: RunConfig, target_name: str = ""
) -> tuple[IndexInfo, QuestionSet, list[Question], RunConfig]:
    """Return index, question set, the questions that are asked, and the choices with defaults filled in.

    These are the questions of the run's side of the split, or all, up to its limit; rejected ones are left out.
    """
    store = workspace.store
    index, question_set = store.indexes.get(config.index), store.sets.get(config.questions)
    config = replace(config, index=index.id, questions=question_set.id)
    config = config if target_name else choices.resolved(workspace, config)
    choices.check_run(config)
    if index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    asks = TARGETS[target_name or config.context].asks
    return index, question_set, choices.asked(workspace, question_set, config, asks), config


def retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    spending: Spending,
    progress: Progress,
    budget: float | None = None,
) -> list[tuple[Question, Retrieved]]:
    """Retrieve to the run's depth for the questions that have no result in it yet, and store the results.

    Returns those of this machine, where no other took part; else none.
    """
    answered = workspace.store.rankings.question_ids(current.id)
    unanswered = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    retrieving = _retrieving(workspace, current, index, len(questions), spending, progress)
    progress(len(answered), len(questions), "questions", "Retrieving")
    try:
        if shared_retrieval.is_shared(workspace, current, index, unanswered):
            total = len(questions)
            shared_retrieval.retrieve_together(workspace, current, unanswered, retrieving, total, budget, progress)
            return []
        return retrieving(unanswered, len(answered))
    finally:
        spending.settle()


def help_with(workspace: Workspace, share: Share, progress: Progress) -> int:
    """Retrieve for questions of a run that another machine makes, until none is left; return for how many.

    Raises:
        UsageError: this machine would rank otherwise.

    """
    current = workspace.store.runs.get(share.subject)
    index = search.ready(workspace, workspace.store.indexes.get(current.config.index))
    shared_retrieval.check_same(workspace, current, index)
    spending = workspace.spending(current.id, share.facts["budget"])
    retrieving = _retrieving(workspace, current, index, share.facts["total"], spending, progress)
    try:
        return shared_retrieval.take_shards(workspace, share, retrieving, progress)
    finally:
        spending.settle()


def _retrieving(
    workspace: Workspace, current: Run, index: IndexInfo, everything: int, spending: Spending, progress: Progress
) -> Callable[[Sequence[shared_retrieval.Placed], int], list[tuple[Question, Retrieved]]]:
    """Return what retrieves for questions in batches, stores the results, and returns them.

    It gets the questions with their places, and how many of `everything` are finished.
    """
    store, depth, report = workspace.store, current.config.depth, Report()
    finished = 0

    def within(done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report a part of a batch that is counted: the questions stay what is counted above it."""
        if total is None:
            progress(done, total, unit, message)
        else:
            progress(finished, everything, "questions", f"{message}: {done:,} of {total:,} {unit}")

    search_all = retriever_of(workspace, index, current.config, spending, within, report)
    learnt, work = store.cache("rate"), questions_by(current.config, index.config.embedder)
    embeds, embedding = compares_vectors(current.config.retriever), f"questions embedded by {index.config.embedder}"

    def retrieving(unanswered: Sequence[shared_retrieval.Placed], before: int) -> list[tuple[Question, Retrieved]]:
        nonlocal finished
        found = list[tuple[Question, Retrieved]]()
        start, size, finished = 0, FIRST_BATCH, before
        while batch := unanswered[start : start + size]:
            began = time.monotonic()
            with without_collection():
                golds = contexts.gold_of(workspace, index, [q for _, q in batch])
                embedded, spent, searched = report.embedded, report.embedding, time.monotonic()
                rankings = search_all([q.query for _, q in batch], depth)  # after it the index is known to be the same
                searched = time.monotonic() - searched
                results = [
                    (place, question, Retrieved(question.id, ranking, *gold))
                    for (place, question), ranking, gold in zip(batch, rankings, golds, strict=True)
                ]
                store.rankings.put(current.id, results)
                found += [(question, result) for _, question, result in results]
            if report.questions:
                choices.note_reranking(workspace, current, report, [q for _, q in batch])
            took = time.monotonic() - began
            if start:  # the first batch waits for the embedder
                stored_calls.learn(learnt, work, len(batch), took)
                computed = report.embedded - embedded
                stored_calls.learn(learnt, embedding, computed, report.embedding - spent)
                kept = len({q.query for _, q in batch}) - computed if embeds else 0
                taken = stored_calls.duration(learnt, embedding, kept) if kept else 0.0  # as when they were computed
                if taken is not None:
                    choices.note_retrieval(workspace, current, len(batch), searched + taken)
            start += len(batch)
            finished = before + start
            size = min(BATCH, 2 * size) if took < TOGETHER else size
            progress(finished, everything, "questions", "Retrieving")
        return found

    return retrieving


def retriever_of(
    workspace: Workspace,
    index: IndexInfo,
    config: RunConfig,
    spending: Spending,
    progress: Progress = silent,
    report: Report | None = None,
    ask: AskMany | None = None,
) -> Retriever:
    """Return the retriever of a run's choices over an index, with its reranker; raises as `search.retriever`."""
    return search.retriever(
        workspace,
        index,
        config.retriever,
        config.rrf_constant,
        reranker=config.reranker,
        rerank_depth=config.rerank_depth,
        report=report,
        ask=ask,
        spending=spending,
        progress=progress,
    )


def questions_by(config: RunConfig, embedder: str) -> str:
    """Return what the rate of retrieving for questions is called; `embedder` is that of the index."""
    reranked = "" if config.reranker == "none" else f", {config.rerank_depth} reranked by {config.reranker}"
    return f"questions by {config.retriever} with {embedder}{reranked}"


# Rankings of an earlier run


def take_rankings(workspace: Workspace, current: Run, index: IndexInfo, questions: Sequence[Question]) -> int:
    """Copy into a run the rankings of another one that asked the same in the same way; return how many.

    Such a run differs in k, or in how it answers and is judged. It asked the present build of the index, and all of its
    reranking succeeded. What it recorded of the time that retrieving took is copied too.
    """
    store, have = workspace.store, workspace.store.rankings.question_ids(current.id)
    missing = {question.id: place for place, question in enumerate(questions) if question.id not in have}

    def asked_of(run: Run) -> tuple[object, ...]:
        config, asked = run.config, run.provenance["identity"]["questions"]
        return (config.index, config.depth, config.split, config.limit, asked, *choices.rankings_by(run))

    donors = (
        run
        for run in store.runs.all(current.corpus_id)
        if run.id != current.id and run.status == "done" and run.created >= (index.built or 0.0)
        if asked_of(run) == asked_of(current) and not choices.not_reranked(run)
    )
    if not missing or (donor := next(donors, None)) is None:
        return 0
    stored = zip(store.rankings.questions(donor.id), store.rankings.all(donor.id), strict=True)
    taken = [(missing[question.id], question, result) for question, result in stored if question.id in missing]
    store.rankings.put(current.id, taken)
    facts = {name: donor.provenance[name] for name in ("retrieval", "reranking") if name in donor.provenance}
    if taken and not have:
        store.runs.note(current.id, rankings_of=donor.name, **facts)
    return len(taken)


# Answers and their judgement


def _unfinished(workspace: Workspace, current: Run) -> list[str]:
    """Return the ids of questions that are not answered and judged yet, or of which a step failed."""
    judged_ids = workspace.store.judgements.failed(current.id)
    return [
        question.id for question in workspace.store.rankings.questions(current.id) if judged_ids.get(question.id, True)
    ]


def _judge_controlled(
    workspace: Workspace,
    current: Run,
    ids: Sequence[str],
    plan: planning.Plan,
    progress: Progress,
    told: control_items.Told | None = None,
) -> list[str]:
    """Ask the judge its control items, then judge the questions with these ids; return the ids that were judged.

    When an unreliable judge is reliable now, all questions are judged again; until that is done, the run is not called
    reliable.
    """
    before, told = control_items.controls_of(current), {} if told is None else told
    outcome, edition = control_items.controlled(workspace, current, plan, told, progress)
    reliable_again = before is not None and not before.reliable and outcome is not None and outcome.reliable
    judged_ids = (
        [question.id for question in workspace.store.rankings.questions(current.id)] if reliable_again else list(ids)
    )
    if outcome is not None and not reliable_again:
        workspace.store.runs.note(current.id, controls=controls.to_json(outcome))
    if judged_ids:
        _judge(workspace, current, judged_ids, replace(plan, edition=edition), progress)
    if outcome is not None and reliable_again:
        workspace.store.runs.note(current.id, controls=controls.to_json(outcome))
    return judged_ids


def _judge(workspace: Workspace, current: Run, ids: Sequence[str], plan: planning.Plan, progress: Progress) -> None:
    store, earlier = workspace.store, workspace.store.judgements.all(current.id)
    to_judge, paid = set(ids), store.payments.of(current.id).calls
    stored = zip(store.rankings.questions(current.id), store.rankings.all(current.id), strict=True)
    pairs = [(question, result) for question, result in stored if question.id in to_judge]
    if target_of(current).hands_over is None:
        items = contexts.to_judge(workspace, current, [earlier[question.id] for question, _ in pairs])
    else:
        items = contexts.to_answer(workspace, current.corpus_id, current.config, target_of(current), pairs)
    retried = []
    for item in items:
        if before := earlier.get(item.question.id):  # what failed is asked with a new seed: more is paid by now
            calls = tuple(call for call in before.calls if not call.cached)
            failed = frozenset(before.failures)
            item = replace(item, seed=2 * work.ROUNDS * (1 + paid), paid=calls, failed=failed)
        retried.append(item)
    plan = replace(plan, finished=len(store.rankings.question_ids(current.id)) - len(items))
    for each in (each for each in earlier.values() if each.question.id not in to_judge):
        for step in plan.steps - each.failures.keys():
            plan.breaker.count(step, 1, 0)  # what the models gave for the rest of the run

    def keep(batch: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        store.judgements.put(current.id, batch)

    try:
        work.work(retried, plan, keep, progress)
    finally:
        choices.note_models(workspace, current, plan)


def _paying(workspace: Workspace, current: Run, plan: planning.Plan, budget: float | None) -> planning.Plan:
    """Return `plan` with its spending, embeddings too, recorded in the run's row, and the run's breaker."""
    spending = workspace.spending(current.id, budget)
    embedder = workspace.embedder(plan.embedder.name, spending) if plan.embedder is not None else None
    calls = current.provenance.get("n", 0) * len(plan.steps)
    breaker = Breaker(workspace.store.cache("breaker"), current.id, calls or None)
    return replace(plan, spending=spending, embedder=embedder, breaker=breaker)


def _plan(workspace: Workspace, config: RunConfig, target_name: str = "") -> planning.Plan:
    target = TARGETS[target_name or config.context]
    names = answer_metrics.measured(config.metrics)
    asked = ("", "") if target.verdicts else (config.model, config.judge)
    answerer, judge = (workspace.client(name) if name else None for name in asked)
    embedder = (
        workspace.store.indexes.get(config.index).config.embedder if target.verdicts else workspace.settings.embedder
    )
    return choices.plan_of(
        config,
        names,
        workspace.store.cache("bank"),
        answerer=answerer,
        judge=judge,
        embedder=workspace.embedder(embedder) if choices.compares_vectors(config) else None,
        target=target,
        patience=60 * workspace.settings.outage_minutes,
        pool=workspace.store.pool,
        failures=workspace.store.notes("failure"),
    )
