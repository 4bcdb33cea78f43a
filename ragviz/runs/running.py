"""Make a run: retrieve, answer, judge, judge again; an interrupted run resumes."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from ragviz.core.configuration import RunConfig
from ragviz.core.errors import Deleted, UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import controls, forecast, planning, work
from ragviz.models.breaker import Breaker
from ragviz.models.spending import Ledger, Spending
from ragviz.retrieval import listwise, rerankers, search
from ragviz.retrieval.reranking import AskMany, Report
from ragviz.retrieval.retriever import Retriever
from ragviz.runs import choices, contexts, control_items, pooling, provenance, summaries
from ragviz.store import rates
from ragviz.store.transactions import Kind, label
from ragviz.workspace import Workspace

BATCH = 100
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
    progress: Progress = silent,
) -> Run:
    """Retrieve for every question that is not rejected, answer and judge as `config` says, and store it as `name`.

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
    index, question_set, questions, config = _inputs(workspace, config)
    index = search.ready(workspace, index)
    choices.check_budget(workspace, config, budget)
    plan = _plan(workspace, config)  # before anything is stored: it may raise
    current = provenance.run_row(workspace, name, plan, index, question_set, questions)
    plan = _paying(workspace, current, plan, budget)
    try:
        with _deleted_with(workspace, current, index=config.index, questions=config.questions):
            if pooled:
                pooling.take_rankings(workspace, current, index, questions)
            retrieve(workspace, current, index, questions, plan.spending, progress)
            if config.answerer != "none" or config.metrics:
                _judge_controlled(workspace, current, _unfinished(workspace, current), plan, progress)
            summaries.finish(workspace, current)
    except BaseException:
        if not workspace.store.rankings.question_ids(current.id) and not workspace.store.payments.of(current.id)[0]:
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
    """Rerank, answer and judge again what failed in a run; return the ids of those questions.

    These are all questions when the judge was not reliable and is now; nothing else is asked again.

    Raises:
        UsageError: the run has no answers or metrics of answers, was never finished, or was written by hand.

    """
    choices.check_not_hand_made(current.config)
    not_reranked = provenance.not_reranked(current)
    if current.config.answerer == "none" and not current.config.metrics and not not_reranked:
        raise UsageError(f"Run '{current.name}' neither answers nor judges: make one with an answerer.")
    if current.status != "done":
        raise UsageError(f"Run '{current.name}' was interrupted: give its command again, or resume it on the run page.")
    failed, before = _unfinished(workspace, current), control_items.controls_of(current)
    if not failed and not not_reranked and (before is None or before.reliable):
        return []
    choices.check_budget(workspace, current.config, budget)
    plan = _paying(workspace, current, _plan(workspace, current.config), budget)
    with _deleted_with(workspace, current):
        if not_reranked:
            _rerank_again(workspace, current, not_reranked, plan.spending, progress)
            failed = _unfinished(workspace, current)  # those of another ranking now have no answer
        judges = current.config.answerer != "none" or bool(current.config.metrics)
        judged_ids = _judge_controlled(workspace, current, failed, plan, progress) if judges else []
        summaries.finish(workspace, current)  # a new time of finishing: cached summaries are out of date
    return list(dict.fromkeys([*not_reranked, *judged_ids]))


def foresee(workspace: Workspace, config: RunConfig) -> forecast.Forecast:
    """Estimate the calls and cost of a run and what is cached; retrieves, and calls a chat model only for its pace.

    Raises:
        UsageError: as `run`.

    """
    index, _, questions, config = _inputs(workspace, config)
    reranker = rerankers.model_of(config.reranker)
    judges = config.answerer != "none" or bool(config.metrics)
    if not judges and not reranker:
        return forecast.Forecast(questions=len(questions))
    index = search.ready(workspace, index)
    paid = Ledger()
    spending = Spending(paid)
    golds = contexts.gold_of(workspace, index, questions)
    dry = listwise.DryRun(workspace.client(reranker)) if reranker else None
    search_all = retriever_of(workspace, index, config, spending, ask=dry)
    rankings = search_all([q.query for q in questions], config.k)
    spending.settle()
    reranking = _reranking_of(dry, len(questions))
    if not judges:
        return replace(reranking, paid_calls=paid.calls, paid=paid.dollars)
    results = [Retrieved(q.id, r, *g) for q, r, g in zip(questions, rankings, golds, strict=True)]
    items = contexts.items(workspace, index.id, index.corpus_id, config, questions, results)
    plan = _plan(workspace, config)
    editions = control_items.editions_of(workspace, plan)
    control = [] if plan.judge is None else controls.make(questions, plan.steps)
    requests = [replace(item.request, edition=editions.next) for item in control]
    estimate = forecast.foresee(items, replace(plan, edition=editions.edition), requests, probe=True)
    return replace(added(reranking, estimate), paid_calls=paid.calls, paid=paid.dollars)


def _reranking_of(dry: listwise.DryRun | None, questions: int) -> forecast.Forecast:
    """Return what the calls of a reranker take, nothing without one."""
    if dry is None:
        return forecast.Forecast(questions=questions)
    counts = (dry.prompt_tokens, dry.completion_tokens)
    unpaid = {dry.client: (dry.unpaid, dry.completion_tokens)} if dry.unpaid else {}
    seconds = forecast.duration(unpaid, dry.client.concurrency, probe=True)
    calls = {"reranking": dry.calls}
    return forecast.Forecast(questions, calls, dry.cached, *counts, dry.client.price(*counts), seconds)


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


def _inputs(workspace: Workspace, config: RunConfig) -> tuple[IndexInfo, QuestionSet, list[Question], RunConfig]:
    """Return index, question set, the questions that are asked, and the choices with defaults filled in.

    These are the questions of the run's side of the split, or all; rejected ones are left out.
    """
    store = workspace.store
    index, question_set = store.indexes.get(config.index), store.sets.get(config.questions)
    config = choices.resolved(workspace, replace(config, index=index.id, questions=question_set.id))
    choices.check_run(config)
    if index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    questions = [q for q in store.questions.all(question_set.id) if q.asked]
    if not questions:
        raise UsageError(
            f"Question set '{question_set.name}' has no question that is not rejected: generate or import some."
        )
    if config.split:
        questions = [question for question in questions if question.split == config.split]
        choices.check_split(question_set, config.split, len(questions))
    return index, question_set, questions, config


def retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    spending: Spending,
    progress: Progress,
) -> None:
    """Retrieve to the run's depth for the questions that have no result in it yet, and store the results."""
    store, depth = workspace.store, current.config.depth
    answered = store.rankings.question_ids(current.id)
    finished, report = len(answered), Report()

    def within(done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report a part of a batch that is counted: the questions stay what is counted above it."""
        if total is None:
            progress(done, total, unit, message)
        else:
            progress(finished, len(questions), "questions", f"{message}: {done:,} of {total:,} {unit}")

    search_all = retriever_of(workspace, index, current.config, spending, within, report)
    unanswered = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    progress(len(answered), len(questions), "questions", "Retrieving")
    learnt, work = store.cache("rate"), questions_by(current.config, index.config.embedder)
    start, size = 0, FIRST_BATCH
    try:
        while batch := unanswered[start : start + size]:
            began = time.monotonic()
            golds = contexts.gold_of(workspace, index, [q for _, q in batch])
            searched = time.monotonic()
            rankings = search_all([q.query for _, q in batch], depth)  # after it the index is known to be the same
            searched = time.monotonic() - searched
            results = [
                (place, question, Retrieved(question.id, ranking, *gold))
                for (place, question), ranking, gold in zip(batch, rankings, golds, strict=True)
            ]
            store.rankings.put(current.id, results)
            if report.questions:
                provenance.note_reranking(workspace, current, report, [q for _, q in batch])
            took = time.monotonic() - began
            if start:  # the first batch waits for the embedder
                rates.learn(learnt, work, len(batch), took)
                provenance.note_retrieval(workspace, current, len(batch), searched)
            start += len(batch)
            finished = len(answered) + start
            size = min(BATCH, 2 * size) if took < TOGETHER else size
            progress(finished, len(questions), "questions", "Retrieving")
    finally:
        spending.settle()


def _rerank_again(
    workspace: Workspace, current: Run, ids: Collection[str], spending: Spending, progress: Progress
) -> None:
    """Rerank the questions with these ids: where it does not fail again, the new ranking has no answer yet."""
    store, config, report = workspace.store, current.config, Report()
    index = search.ready(workspace, store.indexes.get(config.index))
    asked = [(place, q) for place, q in enumerate(store.rankings.questions(current.id)) if q.id in ids]
    earlier = {result.question_id: result for result in store.rankings.all(current.id)}
    search_all = retriever_of(workspace, index, config, spending, progress, report)
    try:
        rankings = search_all([q.query for _, q in asked], config.depth)
    finally:
        spending.settle()
    again = [
        (place, question, replace(earlier[question.id], ranking=ranking))
        for (place, question), ranking in zip(asked, rankings, strict=True)
        if question.query not in report.failures
    ]
    store.rankings.replace(current.id, again)
    provenance.note_reranking(workspace, current, report, [q for _, q in asked])


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


# Answers and their judgement


def _unfinished(workspace: Workspace, current: Run) -> list[str]:
    """Return the ids of questions that are not answered and judged yet, or of which a step failed."""
    judged_ids = workspace.store.judgements.failed(current.id)
    return [
        question.id for question in workspace.store.rankings.questions(current.id) if judged_ids.get(question.id, True)
    ]


def _judge_controlled(
    workspace: Workspace, current: Run, ids: Sequence[str], plan: planning.Plan, progress: Progress
) -> list[str]:
    """Ask the judge its control items, then judge the questions with these ids; return the ids that were judged.

    When an unreliable judge is reliable now, all questions are judged again; until that is done, the run is not called
    reliable. Replies to control items are cached per judge; a run that paid calls and found all of its control items in
    the cache asks them anew, because another model may answer at the same address under the same name now.
    """
    before = control_items.controls_of(current)
    outcome, edition = control_items.controlled(workspace, current, plan, progress)
    if outcome is not None and before is not None and before.fresh:
        outcome = replace(outcome, fresh=True)  # an earlier attempt of this run asked them
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
    if outcome is not None and not outcome.fresh and workspace.store.payments.of(current.id)[0]:
        anew, _ = control_items.controlled(workspace, current, plan, progress, anew=True)
        assert anew is not None
        workspace.store.runs.note(current.id, controls=controls.to_json(anew))
    return judged_ids


def _judge(workspace: Workspace, current: Run, ids: Sequence[str], plan: planning.Plan, progress: Progress) -> None:
    """Answer and judge the questions with these ids, and store each as it is finished."""
    store, config = workspace.store, current.config
    to_judge = set(ids)
    pairs = [
        (q, r)
        for q, r in zip(store.rankings.questions(current.id), store.rankings.all(current.id), strict=True)
        if q.id in to_judge
    ]
    items = contexts.items(
        workspace, config.index, current.corpus_id, config, [q for q, _ in pairs], [r for _, r in pairs]
    )
    earlier = store.judgements.all(current.id)
    retried = [_retried(item, earlier.get(item.question.id), store.payments.of(current.id)[0]) for item in items]
    plan = replace(plan, finished=len(store.rankings.question_ids(current.id)) - len(items))

    def keep(batch: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        store.judgements.put(current.id, batch)

    try:
        work.work(retried, plan, keep, progress)
    finally:
        provenance.note_models(workspace, current, plan)


def _paying(workspace: Workspace, current: Run, plan: planning.Plan, budget: float | None) -> planning.Plan:
    """Return `plan` with its spending, embeddings too, recorded in the run's row.

    Its breaker knows whether a person resumed this run after an outage.
    """
    spending = workspace.spending(current.id, budget)
    embedder = workspace.embedder(plan.embedder.name, spending) if plan.embedder is not None else None
    calls = current.provenance.get("n", 0) * len(plan.steps)
    breaker = Breaker(workspace.store.cache("breaker"), current.id, calls or None)
    return replace(plan, spending=spending, embedder=embedder, breaker=breaker)


def _retried(item: planning.Item, earlier: EvaluatedAnswer | None, calls: int) -> planning.Item:
    """Return the item of a question that was tried before, whose failed steps are asked with a new seed and new words.

    `calls` are those that the run has paid so far, more at every attempt, and so the seed is new.
    """
    if earlier is None:
        return item
    paid = tuple(call for call in earlier.calls if not call.cached)
    return replace(item, seed=2 * work.ROUNDS * (1 + calls), paid=paid, failed=frozenset(earlier.failures))


def _plan(workspace: Workspace, config: RunConfig) -> planning.Plan:
    answerer, judge = (workspace.client(name) if name else None for name in (config.model, config.judge))
    return choices.plan_of(
        config,
        choices.measured(config),
        workspace.store.cache("bank"),
        answerer=answerer,
        judge=judge,
        embedder=workspace.embedder(workspace.settings.embedder) if choices.compares_vectors(config) else None,
        patience=60 * workspace.settings.outage_minutes,
        pool=workspace.store.pool,
    )
