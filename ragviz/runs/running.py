"""A run: retrieved, answered, judged, judged again; resumable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from ragviz.errors import Deleted, UsageError
from ragviz.judging import controls, forecast, planning, work
from ragviz.metrics import answers as answer_metrics
from ragviz.models.breaker import Breaker
from ragviz.models.spending import Ledger, Spending
from ragviz.records import (
    EvaluatedAnswer,
    IndexInfo,
    Progress,
    Question,
    QuestionSet,
    Retrieved,
    Run,
    RunConfig,
    Score,
    silent,
)
from ragviz.retrieval import search
from ragviz.runs import choices, contexts, control_items, provenance
from ragviz.store.store import Kind, label
from ragviz.workspace import Workspace

BATCH = 100
"""Questions that are retrieved and written down together."""


def run(
    workspace: Workspace, name: str, config: RunConfig, *, budget: float | None = None, progress: Progress = silent
) -> Run:
    """Retrieve for every question that is not rejected, answer and judge as `config` says, and keep it under `name`.

    A run of this name that was stopped goes on when it would do the same; what it has is not asked again. `budget` is
    in dollars for the whole run, what it paid before included.

    Raises:
        UsageError: the name is taken by another run, index and questions are of different corpora, nothing to ask,
            a model or metric that cannot be had.
        BudgetReached: the next model call could cost more; give a greater budget to go on.
        ModelError: an endpoint refuses, or is down for too long; UselessModel: a model gives nothing usable. Whoever
            runs it again after that goes on regardless.

    """
    index, asked, questions, config = _asked(workspace, config)
    index = search.ready(workspace, index)
    choices.check_budget(workspace, config, budget)
    plan = _plan(workspace, config)  # before anything is done: it may be that it cannot be
    current = provenance.run_row(workspace, name, plan, index, asked, questions)
    plan = _paying(workspace, current, plan, budget)
    try:
        with _gone_with(workspace, current, index=config.index, questions=config.questions):
            _retrieve(workspace, current, index, questions, plan.spending, progress)
            if config.answerer != "none" or config.metrics:
                _judge_controlled(workspace, current, _waiting(workspace, current), plan, progress)
            workspace.store.finish_run(current.id, "done")
    except BaseException:
        if not workspace.store.answered(current.id) and not workspace.store.paid(current.id)[0]:
            workspace.store.delete_run(current.id)  # it could not even begin
        raise
    return workspace.store.run(current.id)


@contextmanager
def _gone_with(workspace: Workspace, current: Run, **used: str) -> Iterator[None]:
    """Leave nothing of a run when it, or something that it needs (kind → id), was deleted: it can never be ended.

    Raises:
        Deleted: that is so, whatever else went wrong because of it.

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
        store.delete_run(current.id)
        which = f"run '{current.name}'" if gone[0] == "run" else f"the {label(cast(Kind, gone[0]))} of '{current.name}'"
        raise Deleted(f"Stopped: {which} was deleted.") from error


def is_made_as(workspace: Workspace, current: Run, config: RunConfig) -> bool:
    """Whether a run was made with these choices; its questions may have changed since."""
    return _asked(workspace, config)[3] == current.config


def rejudge(
    workspace: Workspace, current: Run, *, budget: float | None = None, progress: Progress = silent
) -> list[str]:
    """Answer and judge again what failed in a run; return the ids of the questions that were.

    That is every question when the judge could not be relied on, and can be now; nothing else is asked again.

    Raises:
        UsageError: the run has no answers or metrics of answers, or was never finished.

    """
    if current.config.answerer == "none" and not current.config.metrics:
        raise UsageError(f"Run '{current.name}' neither answers nor judges: make one with an answerer.")
    if current.status != "done":
        again = "give its command again, or let it go on on the run page"
        raise UsageError(f"Run '{current.name}' was stopped on the way: {again}.")
    failed, before = _waiting(workspace, current), control_items.controls_of(current)
    if not failed and (before is None or before.reliable):
        return []
    choices.check_budget(workspace, current.config, budget)
    plan = _paying(workspace, current, _plan(workspace, current.config), budget)
    with _gone_with(workspace, current):
        asked = _judge_controlled(workspace, current, failed, plan, progress)
        workspace.store.finish_run(current.id, "done")  # at another time: what was summed up before is not this
    return asked


def foresee(workspace: Workspace, config: RunConfig) -> forecast.Forecast:
    """What a run would take, and what of it is paid for already; retrieves, and asks no chat model but for its pace.

    Raises:
        UsageError: as `run`.

    """
    index, _, questions, config = _asked(workspace, config)
    if config.answerer == "none" and not config.metrics:
        return forecast.Forecast(questions=len(questions))
    index = search.ready(workspace, index)
    paid = Ledger()
    spending = Spending(paid)
    golds = contexts.gold_of(workspace, index, questions)
    search_all = search.retriever(workspace, index, config.retriever, config.rrf_constant, spending=spending)
    rankings = search_all([q.text for q in questions], config.k)
    spending.settle()
    found = [Retrieved(q.id, r, *g) for q, r, g in zip(questions, rankings, golds, strict=True)]
    items = contexts.items(workspace, index.id, index.corpus_id, config, questions, found)
    plan = _plan(workspace, config)
    plan = replace(plan, edition=control_items.editions_of(workspace, plan).edition)
    asked = [] if plan.judge is None else controls.made(questions, plan.steps)
    edition = control_items.editions_of(workspace, plan).next
    told = forecast.foresee(items, plan, [replace(each.request, edition=edition) for each in asked], probe=True)
    return replace(told, paid_calls=paid.calls, paid=paid.dollars)


def _asked(workspace: Workspace, config: RunConfig) -> tuple[IndexInfo, QuestionSet, list[Question], RunConfig]:
    """Index, question set, the questions to be asked, and the choices with nothing left open."""
    store = workspace.store
    index, asked = store.index(config.index), store.question_set(config.questions)
    config = choices.resolved(workspace, replace(config, index=index.id, questions=asked.id))
    choices.check_run(config)
    if index.corpus_id != asked.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{asked.name}' are of different corpora.")
    questions = [q for q in store.questions(asked.id) if q.status != "rejected"]
    if not questions:
        raise UsageError(f"Question set '{asked.name}' has no question that is not rejected: generate or import some.")
    return index, asked, questions, config


def _retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    spending: Spending,
    progress: Progress,
) -> None:
    store, depth = workspace.store, current.config.depth
    search_all = search.retriever(
        workspace, index, current.config.retriever, current.config.rrf_constant, spending=spending
    )
    answered = store.answered(current.id)
    waiting = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    progress(len(answered), len(questions), "questions", "Retrieving")
    try:
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            golds = contexts.gold_of(workspace, index, [q for _, q in batch])
            rankings = search_all([q.text for _, q in batch], depth)  # after it the index is known to be the same
            results = [
                (place, question, Retrieved(question.id, ranking, *golden))
                for (place, question), ranking, golden in zip(batch, rankings, golds, strict=True)
            ]
            store.put_results(current.id, results)
            progress(len(answered) + start + len(batch), len(questions), "questions", "Retrieving")
    finally:
        spending.settle()


# Answers and their judgement


def _waiting(workspace: Workspace, current: Run) -> list[str]:
    """Questions that are not answered and judged yet, or of which a step failed."""
    there = workspace.store.judged_ids(current.id)
    return [question.id for question in workspace.store.asked(current.id) if there.get(question.id, True)]


def _judge_controlled(
    workspace: Workspace, current: Run, ids: Sequence[str], plan: planning.Plan, progress: Progress
) -> list[str]:
    """Ask the judge its control items, then judge the questions with these ids; return the ids that were judged.

    What a judge said that could not be relied on is judged again when it now can, all of it: until that is done, the
    run is not called reliable. Control items are kept per judge; a run that paid calls and found all of its control
    items in the cache asks them anew, for another model may answer at the same address under the same name now.
    """
    before = control_items.controls_of(current)
    found, edition = control_items.controlled(workspace, current, plan, progress)
    if found is not None and before is not None and before.fresh:
        found = replace(found, fresh=True)  # an earlier try of this run asked them
    mended = before is not None and not before.reliable and found is not None and found.reliable
    wanted = [question.id for question in workspace.store.asked(current.id)] if mended else list(ids)
    if found is not None and not mended:
        workspace.store.note_run(current.id, controls=controls.to_json(found))
    if wanted:
        _judge(workspace, current, wanted, replace(plan, edition=edition), progress)
    if found is not None and mended:
        workspace.store.note_run(current.id, controls=controls.to_json(found))
    if found is not None and not found.fresh and workspace.store.paid(current.id)[0]:
        anew, _ = control_items.controlled(workspace, current, plan, progress, anew=True)
        assert anew is not None
        workspace.store.note_run(current.id, controls=controls.to_json(anew))
    return wanted


def _judge(workspace: Workspace, current: Run, ids: Sequence[str], plan: planning.Plan, progress: Progress) -> None:
    """Answer and judge the questions with these ids, and keep what comes of it as it comes."""
    store, config = workspace.store, current.config
    wanted = set(ids)
    pairs = [(q, r) for q, r in zip(store.asked(current.id), store.results(current.id), strict=True) if q.id in wanted]
    items = contexts.items(
        workspace, config.index, current.corpus_id, config, [q for q, _ in pairs], [r for _, r in pairs]
    )
    before = store.judged(current.id)
    again = [_once_more(item, before.get(item.question.id), store.paid(current.id)[0]) for item in items]
    plan = replace(plan, finished=len(store.answered(current.id)) - len(items))

    def keep(known: Sequence[tuple[EvaluatedAnswer, Sequence[Score]]]) -> None:
        store.put_judged(current.id, known)

    try:
        work.work(again, plan, keep, progress)
    finally:
        provenance.note_models(workspace, current, plan)


def _paying(workspace: Workspace, current: Run, plan: planning.Plan, budget: float | None) -> planning.Plan:
    """Return `plan` with what the run pays written into its row, embeddings too.

    Its breaker knows whether a person goes on with this run regardless.
    """
    spending = workspace.spending(current.id, budget)
    embedder = workspace.embedder(plan.embedder.name, spending) if plan.embedder is not None else None
    calls = current.provenance.get("n", 0) * len(plan.steps)
    breaker = Breaker(workspace.store.cache("breaker"), current.id, calls or None)
    return replace(plan, spending=spending, embedder=embedder, breaker=breaker)


def _once_more(item: planning.Item, before: EvaluatedAnswer | None, calls: int) -> planning.Item:
    """Go on with a question that was tried before: what failed is asked with a seed and in words that are new.

    `calls` are those that the run has paid so far: there are more of them at every try.
    """
    if before is None:
        return item
    paid = tuple(call for call in before.calls if not call.cached)
    return replace(item, seed=2 * work.ROUNDS * (1 + calls), paid=paid, failed=frozenset(before.failures))


def _plan(workspace: Workspace, config: RunConfig) -> planning.Plan:
    names = answer_metrics.current_names(config.metrics)  # a run of an earlier version may have others
    answerer, judge = (workspace.client(name) if name else None for name in (config.model, config.judge))
    return choices.plan_of(
        config,
        names,
        workspace.store.cache("bank"),
        answerer=answerer,
        judge=judge,
        embedder=workspace.embedder(workspace.settings.embedder) if choices.compares_vectors(config) else None,
        patience=60 * workspace.settings.outage_minutes,
    )
