"""Runs: what a question set gets out of an index, its answers and their judgement; resumable, measured, compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, cast

from ragviz import __version__
from ragviz.analysis import compare as comparing
from ragviz.analysis import diagnose, doubts, evaluate
from ragviz.answers import answering
from ragviz.errors import Deleted, ModelError, UsageError
from ragviz.index import chunking, indexing
from ragviz.judging import controls
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.registry import METRICS
from ragviz.models.breaker import Breaker
from ragviz.models.chat import Completion, Request, Usage
from ragviz.models.embedding import REMOTE
from ragviz.models.spending import Ledger, Spending, dollars
from ragviz.questions import interchange
from ragviz.records import (
    Answer,
    Call,
    Chunk,
    IndexInfo,
    Judged,
    Progress,
    Question,
    QuestionSet,
    Retrieved,
    Run,
    RunConfig,
    Score,
    digest,
    silent,
)
from ragviz.retrieval import gold
from ragviz.runs import cases
from ragviz.scheduler import forecast, work
from ragviz.store.store import Kind, corpus_hash, label, questions_hash
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
    index = indexing.ready(workspace, index)
    check_budget(workspace, config, budget)
    plan = _plan(workspace, config)  # before anything is done: it may be that it cannot be
    current = _run_row(workspace, name, plan, index, asked, questions)
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
    failed, before = _waiting(workspace, current), controls_of(current)
    if not failed and (before is None or before.reliable):
        return []
    check_budget(workspace, current.config, budget)
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
    index = indexing.ready(workspace, index)
    paid = Ledger()
    spending = Spending(paid)
    golds = gold_of(workspace, index, questions)
    search_all = indexing.retriever(workspace, index, config.retriever, config.rrf_constant, spending=spending)
    rankings = search_all([q.text for q in questions], config.k)
    spending.settle()
    found = [Retrieved(q.id, r, *g) for q, r, g in zip(questions, rankings, golds, strict=True)]
    items = _items(workspace, index.id, index.corpus_id, config, questions, found)
    plan = _plan(workspace, config)
    plan = replace(plan, edition=_record(workspace, plan).edition)
    asked = [] if plan.judge is None else controls.made(questions, plan.steps)
    edition = _record(workspace, plan).next
    told = forecast.foresee(items, plan, [replace(each.request, edition=edition) for each in asked], probe=True)
    return replace(told, paid_calls=paid.calls, paid=paid.dollars)


def _asked(workspace: Workspace, config: RunConfig) -> tuple[IndexInfo, QuestionSet, list[Question], RunConfig]:
    """Index, question set, the questions to be asked, and the choices with nothing left open."""
    store = workspace.store
    index, asked = store.index(config.index), store.question_set(config.questions)
    config = resolved(workspace, replace(config, index=index.id, questions=asked.id))
    check_run(config)
    if index.corpus_id != asked.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{asked.name}' are of different corpora.")
    questions = [q for q in store.questions(asked.id) if q.status != "rejected"]
    if not questions:
        raise UsageError(f"Question set '{asked.name}' has no question that is not rejected: generate or import some.")
    return index, asked, questions, config


def resolved(workspace: Workspace, config: RunConfig) -> RunConfig:
    """`config` with its models and metrics named.

    Without any metric named, a model's answers are judged by all there are, others by those that need no judge; "none"
    stands for none. "all" leaves out the metrics of the context where there is none (closed book).

    Raises:
        UsageError: a model is needed and none is configured, or a metric cannot be had.

    """
    answers, settings = config.answerer != "none", workspace.settings
    asked = tuple(name for name in config.metrics if name != "none")
    if not config.metrics and answers:
        asked = ("all",) if config.answerer == "model" else answer_metrics.chosen(("all",), judge=False)
    names = answer_metrics.chosen(asked, judge=bool(config.judge) or settings.model_configured, answers=answers)
    if config.context == "none" and "all" in asked:
        names = tuple(name for name in names if not answer_metrics.ANSWER_METRICS[name].of_context)
    judged = bool(answer_metrics.steps_of(names))
    if (config.answerer == "model" or judged) and not settings.model_configured:
        raise UsageError("No model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.")
    return replace(
        config,
        metrics=names,
        model=(config.model or settings.model) if config.answerer == "model" else "",
        judge=(config.judge or settings.judge or settings.model) if judged else "",
    )


def check_run(config: RunConfig) -> None:
    """Raise UsageError for a k or depth that cannot be used."""
    if not 1 <= config.k <= config.depth:
        raise UsageError(f"k must be from 1 to the depth, {config.depth}: {config.k} is not.")
    if config.depth > 1000:
        raise UsageError(f"Depth may be at most 1,000: {config.depth} is more.")
    if config.seed < 0:
        raise UsageError(f"A seed is 0 or more: {config.seed} is not.")
    if config.context_tokens < 1:
        raise UsageError(f"Give the context 1 token or more, not {config.context_tokens}.")
    if not 0 <= config.temperature <= 2:
        raise UsageError(f"Temperature must be from 0 to 2: {config.temperature} is not.")


def check_budget(workspace: Workspace, config: RunConfig, budget: float | None) -> None:
    """Raise UsageError for a budget over models whose prices are not known; None is none."""
    if budget is None:
        return
    index = workspace.store.index_named(config.index) if config.retriever != "bm25" else None
    embedders = [index.config.embedder] if index is not None else []
    embedders += [workspace.settings.embedder] if _compares_vectors(config) else []
    remote = (name.removeprefix(REMOTE) for name in embedders if name.startswith(REMOTE))
    for name in (config.model, config.judge, *remote):
        if name and not workspace.client(name).priced:
            raise UsageError(f"A budget needs the price of '{name}': enter it on the settings page.")


def _run_row(
    workspace: Workspace,
    name: str,
    plan: work.Plan,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> Run:
    """Return the run to go on with, or a new one."""
    provenance = _provenance(workspace, plan, index, asked, questions)
    fingerprint = digest(*(f"{key}={value}" for key, value in sorted(provenance["identity"].items())))
    current = workspace.store.run_named(name)
    if current is not None and current.fingerprint == fingerprint and current.status != "done":
        workspace.store.finish_run(current.id, "running")
        return current
    return workspace.store.create_run(name, index.corpus_id, plan.config, fingerprint, provenance)


def _provenance(
    workspace: Workspace,
    plan: work.Plan,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> dict[str, Any]:
    """Names for people; and `identity`, which makes the fingerprint: equal where two runs must have equal numbers."""
    config = plan.config
    indexed = set(index.documents)
    documents = [d for d in workspace.store.documents(index.corpus_id, replaced=True) if d.id in indexed]
    identity = {
        "corpus": corpus_hash(documents),
        "questions": questions_hash(questions),
        "index": index.config.hash(),
        "embedder": index.embedder_identity,
        **{key: str(value) for key, value in asdict(config).items() if key not in ("index", "questions")},
        "metrics": digest(*(f"{key}:{metric.version}" for key, metric in sorted(METRICS.items()))),
    }
    if config.answerer != "none" or config.metrics:
        versions = [f"{name}:{answer_metrics.ANSWER_METRICS[name].version}" for name in config.metrics]
        identity["judgement"] = digest(answering.VERSIONS.get(config.answerer, ""), *versions)
    if host := _host(plan):
        identity["endpoint"] = host
    if plan.embedder is not None:
        identity["metric embedder"] = plan.embedder.identity
    names = {"index": index.name, "questions": asked.name, "ragviz": __version__, "n": len(questions)}
    return {"identity": identity, "index_config": asdict(index.config), **names}


def _host(plan: work.Plan) -> str:
    """Where the models of a run are asked, "" when none is."""
    return next((client.host for client in (plan.answerer, plan.judge) if client is not None), "")


def _note_models(workspace: Workspace, current: Run, plan: work.Plan) -> None:
    """Add to a run's record what its models were asked through: hosts, forms of reply, embedders of its metrics.

    The form is known after the first call only, so it cannot be part of the fingerprint. What an earlier try or a
    judging again went through stays in the record.
    """
    kept = workspace.store.run(current.id).provenance
    used: dict[str, set[str]] = {
        "hosts": {_host(plan)} - {""},
        "forms": {form for client in (plan.answerer, plan.judge) if client is not None for form in client.forms},
        "metric_embedders": {plan.embedder.identity} if plan.embedder is not None else set(),
    }
    models = {key: sorted(used[key] | set(kept.get("models", {}).get(key, ()))) for key in used}
    workspace.store.note_run(current.id, models=models)


def _retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    spending: Spending,
    progress: Progress,
) -> None:
    store, depth = workspace.store, current.config.depth
    search_all = indexing.retriever(
        workspace, index, current.config.retriever, current.config.rrf_constant, spending=spending
    )
    answered = store.answered(current.id)
    waiting = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    progress(len(answered), len(questions), "questions", "Retrieving")
    try:
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            golds = gold_of(workspace, index, [q for _, q in batch])
            rankings = search_all([q.text for _, q in batch], depth)  # after it the index is known to be the same
            results = [
                (place, question, Retrieved(question.id, ranking, *golden))
                for (place, question), ranking, golden in zip(batch, rankings, golds, strict=True)
            ]
            store.put_results(current.id, results)
            progress(len(answered) + start + len(batch), len(questions), "questions", "Retrieving")
    finally:
        spending.settle()


def gold_of(
    workspace: Workspace, index: IndexInfo, questions: Sequence[Question]
) -> list[tuple[tuple[tuple[str, ...], ...], dict[str, float]]]:
    """Gold chunks of each group of evidence of each question, in this index, and their grades where these are not 1."""
    documents = {s.document_id for q in questions for group in q.evidence for s in group}
    cuts = workspace.store.cuts(index.build, sorted(documents))
    spans = {
        d: [
            (chunk_id, start, end)
            for chunk_id, (start, end, _) in zip(indexing.chunk_ids(d, c), c.tolist(), strict=True)
        ]
        for d, c in cuts.items()
    }

    def cuts_of(document_id: str) -> Sequence[gold.Cut]:
        return spans.get(document_id, [])

    return [(gold.gold_chunks(q.evidence, cuts_of), gold.grades(q.evidence, cuts_of)) for q in questions]


# Answers and their judgement


def _waiting(workspace: Workspace, current: Run) -> list[str]:
    """Questions that are not answered and judged yet, or of which a step failed."""
    there = workspace.store.judged_ids(current.id)
    return [question.id for question in workspace.store.asked(current.id) if there.get(question.id, True)]


def _judge_controlled(
    workspace: Workspace, current: Run, ids: Sequence[str], plan: work.Plan, progress: Progress
) -> list[str]:
    """Ask the judge its control items, then judge the questions with these ids; return the ids that were judged.

    What a judge said that could not be relied on is judged again when it now can, all of it: until that is done, the
    run is not called reliable. Control items are kept per judge; a run that paid calls and found all of its control
    items in the cache asks them anew, for another model may answer at the same address under the same name now.
    """
    before = controls_of(current)
    found, edition = _controlled(workspace, current, plan, progress)
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
        anew, _ = _controlled(workspace, current, plan, progress, anew=True)
        assert anew is not None
        workspace.store.note_run(current.id, controls=controls.to_json(anew))
    return wanted


def _judge(workspace: Workspace, current: Run, ids: Sequence[str], plan: work.Plan, progress: Progress) -> None:
    """Answer and judge the questions with these ids, and keep what comes of it as it comes."""
    store, config = workspace.store, current.config
    wanted = set(ids)
    pairs = [(q, r) for q, r in zip(store.asked(current.id), store.results(current.id), strict=True) if q.id in wanted]
    items = _items(workspace, config.index, current.corpus_id, config, [q for q, _ in pairs], [r for _, r in pairs])
    before = store.judged(current.id)
    again = [_once_more(item, before.get(item.question.id), store.paid(current.id)[0]) for item in items]
    plan = replace(plan, finished=len(store.answered(current.id)) - len(items))

    def keep(known: Sequence[tuple[Judged, Sequence[Score]]]) -> None:
        store.put_judged(current.id, known)

    try:
        work.work(again, plan, keep, progress)
    finally:
        _note_models(workspace, current, plan)


def _paying(workspace: Workspace, current: Run, plan: work.Plan, budget: float | None) -> work.Plan:
    """Return `plan` with what the run pays written into its row, embeddings too.

    Its breaker knows whether a person goes on with this run regardless.
    """
    spending = workspace.spending(current.id, budget)
    embedder = workspace.embedder(plan.embedder.name, spending) if plan.embedder is not None else None
    calls = current.provenance.get("n", 0) * len(plan.steps)
    breaker = Breaker(workspace.store.cache("breaker"), current.id, calls or None)
    return replace(plan, spending=spending, embedder=embedder, breaker=breaker)


def coverage_words(found: Judgement, total: int) -> str:
    """How many of `total` questions have a score, by the judge's measures (else by all), and which have fewest."""
    judged = {n: s for n, s in found.metrics.items() if answer_metrics.ANSWER_METRICS[n].judged} or found.metrics
    if not judged:
        return ""
    counts = {name: scored.statuses.get("ok", 0) for name, scored in judged.items()}
    low, high = min(counts.values()), max(counts.values())
    if low == high:
        return f"{low:,} of {total:,} scored by every measure"
    fewest = [answer_metrics.ANSWER_METRICS[name].title for name, count in counts.items() if count == low]
    more = f" and {len(fewest) - 2} more" if len(fewest) > 2 else ""
    return f"{low:,} to {high:,} of {total:,} scored, fewest by {', '.join(fewest[:2])}{more}"


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the numbers of a run can be taken as they stand, and a sentence on each thing that speaks against it."""

    run: str
    problems: tuple[str, ...]
    controls: controls.Controls | None

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.problems

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if self.problems:
            return f"Run '{self.run}' did not pass: {' '.join(self.problems)}"
        return f"Run '{self.run}' passed: {self.controls.sentence if self.controls else 'no judge was controlled.'}"


def check(workspace: Workspace, current: Run) -> Checked:
    """Check that a run is finished, that no step failed, and that its judge can be relied on."""
    store, controlled, problems = workspace.store, controls_of(current), []
    if current.status != "done":
        problems.append("It is not finished.")
    if failed := sum(store.judged_ids(current.id).values()):
        problems.append(f"A step failed for {failed} of {len(store.asked(current.id))} questions.")
    if controlled is not None and not controlled.reliable:
        problems.append(controlled.sentence)
    return Checked(current.name, tuple(problems), controlled)


def judge_to_json(current: Run) -> dict[str, Any]:
    """Who answered and who judged a run, with the versions of the prompts and what the control items told."""
    config, controlled = current.config, controls_of(current)
    judges: dict[str, Any] = {"model": config.judge, "host": controlled.host if controlled else None}
    judges["prompts"] = dict(controlled.prompts) if controlled else None
    answers = {"answerer": config.answerer, "model": config.model, "version": answering.VERSIONS.get(config.answerer)}
    return {
        "answerer": answers if config.answerer != "none" else None,
        "judge": judges | {"controls": controls.to_json(controlled) if controlled else None} if config.judge else None,
    }


def judge_words(current: Run) -> str:
    """Who answered and who judged, and by which prompts; "" without a judge."""
    config, controlled = current.config, controls_of(current)
    if not config.judge:
        return ""
    by = f"judged by {config.judge}" + (f" at {controlled.host}" if controlled else "")
    prompts = ", ".join(f"{step} {version}" for step, version in controlled.prompts.items()) if controlled else ""
    from_whom = config.model or config.answerer
    answered = f"answered by {from_whom} · " if config.answerer != "none" else ""
    return f"{answered}{by}{f' · prompts: {prompts}' if prompts else ''}"


# Whether the judge can be relied on


@dataclass(frozen=True, slots=True)
class Editions:
    """Of a judge's replies: the `edition` that is served, the last that was `tried`, and whether that was `bad`.

    A judge that failed its control items is asked those anew by every run, for another may run at its address now; once
    it does well, nothing that it said before is served again.
    """

    edition: int = 0
    tried: int = 0
    bad: bool = False

    @property
    def next(self) -> int:
        """Edition of the control items that are to be asked."""
        return self.new if self.bad else self.edition

    @property
    def new(self) -> int:
        """An edition that nothing was asked in yet."""
        return max(self.edition, self.tried) + 1

    def after(self, controls: controls.Controls) -> Editions:
        """What follows from control items that were asked in the edition `next`, or in a `new` one."""
        if not controls.reliable:
            return Editions(self.edition, max(self.tried, controls.edition), bad=True)
        if self.bad:
            return Editions(controls.edition, controls.edition)
        return Editions(self.edition, max(self.tried, controls.edition))


def _editions_key(plan: work.Plan) -> str:
    assert plan.judge is not None
    return digest("judge", plan.judge.model, plan.judge.base_url, json.dumps(answer_metrics.PROMPTS), length=32)


def _record(workspace: Workspace, plan: work.Plan) -> Editions:
    if plan.judge is None:
        return Editions()
    key = _editions_key(plan)
    body = workspace.store.cache("controls").get_many([key]).get(key)
    return Editions(**json.loads(body)) if body else Editions()


def _controlled(
    workspace: Workspace, current: Run, plan: work.Plan, progress: Progress, *, anew: bool = False
) -> tuple[controls.Controls | None, int]:
    """Ask the judge of a run its control items; return the outcome, None without any, and the edition to judge by.

    With `anew` none of its replies comes from the cache.
    """
    items = controls.made(workspace.store.asked(current.id), plan.steps) if plan.judge is not None else []
    if plan.judge is None or not items:
        return None, _record(workspace, plan).edition
    record = _record(workspace, plan)
    progress(0, len(items), "control items", "Asking the control items")
    edition = record.new if anew else record.next
    replies = _asked_apart([replace(item.request, edition=edition) for item in items], plan)
    told = [told for item, reply in zip(items, replies, strict=True) for told in controls.judged(item, reply)]
    prompts, usage = dict(answer_metrics.PROMPTS), _usage_of(replies)
    fresh = not any(isinstance(reply, Completion) and reply.cached for reply in replies)
    found = controls.Controls(plan.judge.model, plan.judge.host, prompts, tuple(told), edition, usage, fresh)
    record = record.after(found)
    body = json.dumps(asdict(record)).encode()
    workspace.store.cache("controls").put_many({_editions_key(plan): body})
    return found, record.edition


def _asked_apart(requests: Sequence[Request[Any]], plan: work.Plan) -> list[Completion[Any] | ModelError]:
    """Have the judge reply to requests that belong to no question, within the budget; what failed is its error."""
    assert plan.judge is not None
    client = plan.judge
    asker = work.Asker(plan)
    ask = partial(plan.breaker.watching(asker, "control items"), client)
    replies: list[Completion[Any] | ModelError] = []
    try:
        for reply in client.complete_many(requests, ask):
            if isinstance(reply, ModelError) and reply.outage:
                raise reply
            replies.append(reply)
        return replies
    finally:
        asker.settle()


def _usage_of(replies: Sequence[Completion[Any] | ModelError]) -> Usage:
    paid = [reply for reply in replies if isinstance(reply, Completion)]
    counts = (len(paid), sum(c.prompt_tokens for c in paid), sum(c.completion_tokens for c in paid))
    return Usage(*counts, sum(c.seconds for c in paid), sum(c.cost or 0.0 for c in paid))


def controls_of(current: Run) -> controls.Controls | None:
    """How the judge of a run did on its control items; None when it was asked none."""
    body = current.provenance.get("controls")
    return controls.from_json(body) if body else None


def _once_more(item: work.Item, before: Judged | None, calls: int) -> work.Item:
    """Go on with a question that was tried before: what failed is asked with a seed and in words that are new.

    `calls` are those that the run has paid so far: there are more of them at every try.
    """
    if before is None:
        return item
    paid = tuple(call for call in before.calls if not call.cached)
    return replace(item, seed=2 * work.ROUNDS * (1 + calls), paid=paid, failed=frozenset(before.failures))


def calls_of(judged: Judged) -> list[Call]:
    """Every model call behind what is known of a question: those of a bank that was there before, the answer's …."""
    own = [call for call in (judged.answer.call, *judged.calls) if call is not None]
    said = {(call.step, call.raw) for call in own}
    made_before = judged.bank.calls if judged.bank is not None else ()
    return [*(call for call in made_before if (call.step, call.raw) not in said), *own]


def _behind(judged: Iterable[Judged]) -> list[Call]:
    """The calls behind all of these questions; those of a bank that several share are there once."""
    calls: list[Call] = []
    banks: set[tuple[str, str]] = set()
    for known in judged:
        shared = (known.bank.maker, known.question.answer) if known.bank is not None else ("", "")
        bank_is_new = shared not in banks
        banks.add(shared)
        calls += [call for call in calls_of(known) if bank_is_new or call.step != "bank"]
    return calls


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a run's answers: everything by question id, in the order of the questions.

    `scores` are by metric first. `causes` tells of every question where it was lost (a key of `diagnose.CAUSES`), with
    `rulings` on which answers are right. `usage` is what all model calls behind it cost when they were made, by
    whatever run; `paid` are the calls and dollars that this run paid.
    `controls` tells how the judge did on the control items, None when it was asked none.
    """

    judged: Mapping[str, Judged]
    scores: Mapping[str, Mapping[str, Score]]
    metrics: Mapping[str, evaluate.Scored]
    rulings: Mapping[str, diagnose.Ruling]
    causes: Mapping[str, str]
    abstention: answering.Abstention
    usage: Usage
    paid: tuple[int, float]
    controls: controls.Controls | None = None

    @property
    def doubts(self) -> list[doubts.Doubt]:
        """Questions to look at first: their scores contradict the words of their answers."""
        return doubts.doubts(self.judged.values(), self.scores)

    @property
    def failed(self) -> list[str]:
        """Questions of which a step failed: `rejudge` asks again about those."""
        return [question_id for question_id, judged in self.judged.items() if judged.failures]


def cost_words(found: Judgement) -> str:
    """What the model calls behind a run cost when they were made, and what the run itself paid, priced or not."""
    usage, (calls, paid) = found.usage, found.paid
    if not usage.calls and not calls:
        return "No model was asked: nothing was paid."
    behind = _behind(found.judged.values())
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens asked and answered"
    priced = [call.cost for call in behind if call.cost is not None]
    without = f" ({len(behind) - len(priced):,} calls without a price)" if len(priced) < len(behind) else ""
    cost = f"{dollars(usage.cost)}{without} when they were made" if priced else "no price was known"
    mine = f"this run paid {dollars(paid)}, for {calls:,} calls" if priced or paid else f"this run paid {calls:,} calls"
    mine += ", embeddings and those that failed included"
    if not usage.calls:
        return f"No model calls behind it; {mine}"
    return f"{usage.calls:,} model calls behind it · {tokens} · {cost}; {mine}"


def judgement_of(workspace: Workspace, current: Run, k: int | None = None) -> Judgement:
    """Sum up the answers of a run; of one that does not answer only the causes, up to the ranking at `k`, are known.

    Answers were given from the run's own k chunks: for these `k` is of no account.
    """
    store, config = workspace.store, current.config
    k = k if k and config.answerer == "none" else config.k
    questions, results = store.asked(current.id), results_of(workspace, current)
    judged = store.judged(current.id, keys=workspace.settings.keys)
    scores = answer_metrics.renamed(store.scores(current.id))
    answers = {i: j.answer for i, j in judged.items() if config.answerer != "none"}
    rulings = {q.id: _ruling(q, answers[q.id], scores) for q in questions if q.id in answers}
    if config.answerer != "none":  # of a run that was stopped, the rest is not known
        results = [result for result in results if result.question_id in answers]
    causes = diagnose.where_lost(questions, results, k, answers, rulings, kind=config.context)
    calls = _behind(judged.values())
    counts = (len(calls), sum(c.prompt_tokens for c in calls), sum(c.completion_tokens for c in calls))
    usage = Usage(*counts, sum(c.seconds for c in calls), sum(c.cost or 0.0 for c in calls))
    controlled = controls_of(current)
    return Judgement(
        judged,
        scores,
        evaluate.summarise_scores(scores, seed=config.seed),
        rulings,
        causes,
        answering.abstention(questions, answers.values()),
        usage + controlled.usage if controlled else usage,
        store.paid(current.id),
        controlled,
    )


def _ruling(question: Question, given: Answer, scores: Mapping[str, Mapping[str, Score]]) -> diagnose.Ruling:
    mine = [by_question[question.id] for by_question in scores.values() if question.id in by_question]
    values = {score.metric: score.value for score in mine if score.value is not None}
    return diagnose.is_right(question, given, values, [s.metric for s in mine if s.status == "judge_error"])


def _plan(workspace: Workspace, config: RunConfig) -> work.Plan:
    names = answer_metrics.known(config.metrics)  # a run of an earlier version may have others
    answerer, judge = (workspace.client(name) if name else None for name in (config.model, config.judge))
    return work.Plan(
        config,
        names,
        workspace.store.cache("bank"),
        answerer=answerer,
        judge=judge,
        embedder=workspace.embedder(workspace.settings.embedder) if _compares_vectors(config) else None,
        patience=60 * workspace.settings.outage_minutes,
    )


def _compares_vectors(config: RunConfig) -> bool:
    return any(answer_metrics.ANSWER_METRICS[name].vectors for name in answer_metrics.known(config.metrics))


def _items(
    workspace: Workspace,
    index_id: str,
    corpus_id: str,
    config: RunConfig,
    questions: Sequence[Question],
    results: Sequence[Retrieved],
) -> list[work.Item]:
    """Each question with the chunks it is to be answered from."""
    wanted = [_context_ids(config, result) for result in results]
    chunks = _chunks(workspace, index_id, corpus_id, sorted({i for ids in wanted for i in ids}))
    return [
        work.Item(question, tuple(chunks[i] for i in ids if i in chunks))
        for question, ids in zip(questions, wanted, strict=True)
    ]


def _context_ids(config: RunConfig, result: Retrieved) -> tuple[str, ...]:
    if config.context == "none":
        return ()
    if config.context == "oracle":
        return tuple(dict.fromkeys(chunk_id for group in result.gold for chunk_id in group[:1]))
    return result.ranking.ids[: config.k]


def _chunks(workspace: Workspace, index_id: str, corpus_id: str, ids: Sequence[str]) -> dict[str, Chunk]:
    """Chunks by id, with their tokens where the index still has these cuts; those whose document is gone left out."""
    store = workspace.store
    places: dict[str, list[tuple[int, int]]] = {}
    for chunk_id in ids:
        document_id, start, end = chunk_id.rsplit("-", 2)
        places.setdefault(document_id, []).append((int(start), int(end)))
    build = next((info.build for info in store.indexes(corpus_id) if info.id == index_id), "")
    cuts = store.cuts(build, list(places))
    tokens = {(d, start, end): size for d, rows in cuts.items() for start, end, size in rows.tolist()}
    return {
        (chunk := chunking.cut_out(document, start, end, tokens.get((document.id, start, end), 0))).id: chunk
        for document in store.document_texts(corpus_id, list(places))
        for start, end in places[document.id]
    }


def summary_of(workspace: Workspace, current: Run, k: int | None = None) -> evaluate.Summary:
    """Measure a run at `k` (default: its own).

    Raises:
        UsageError: `k` is not from 1 to the run's depth.

    """
    store, config = workspace.store, current.config
    if k is not None and not 1 <= k <= config.depth:
        raise UsageError(f"k must be from 1 to the depth of run '{current.name}', {config.depth}: {k} is not.")
    if unranked_words(current):
        nothing = evaluate.summarise([], [], k or config.k, config.depth, seed=config.seed)
        return replace(nothing, metrics={})
    results, questions = store.results(current.id), store.asked(current.id)
    return evaluate.summarise(results, questions, k or config.k, config.depth, seed=config.seed)


def unranked_words(current: Run) -> str:
    """Why a run's rankings cannot be measured; "" when they can."""
    if current.config.retriever != "imported":
        return ""
    return (
        "Recall, hits, MRR and the other ranking measures are not known of an imported run: its file tells which "
        "of the retrieved passages support the reference, not what should have been retrieved."
    )


def results_of(workspace: Workspace, current: Run) -> list[Retrieved]:
    """Rankings of a run, with gold chunks where these are known: imported ones have none, whatever was kept of them."""
    results = workspace.store.results(current.id)
    return [replace(result, gold=(), grades={}) for result in results] if unranked_words(current) else results


def cases_of(workspace: Workspace, current: Run, k: int | None = None) -> list[cases.Case]:
    """Every question of a run with all that became of it, ranked at `k` (default: its own)."""
    store = workspace.store
    results, judgement = results_of(workspace, current), judgement_of(workspace, current, k)
    hits = {hit.chunk_id: hit for r in results for hit in r.ranking.hits()[: k or current.config.k]}
    texts = {f.chunk.id: f.chunk for f in indexing.found(workspace, current.corpus_id, [*hits.values()]) if f.chunk}
    return cases.cases(
        summary_of(workspace, current, k),
        store.asked(current.id),
        results,
        document_names(workspace, current),
        chunks=texts,
        judged=judgement.judged,
        scores=judgement.scores,
        causes=judgement.causes,
    )


def document_names(workspace: Workspace, current: Run) -> dict[str, str]:
    """Names of the documents of a run's corpus by id, those that were replaced too."""
    return {d.id: d.name for d in workspace.store.documents(current.corpus_id, replaced=True)}


def breakdown_of(workspace: Workspace, current: Run, k: int | None = None) -> list[evaluate.Slice]:
    """Every mean of a run, over all questions, per kind and per document, ranked at `k` (default: its own)."""
    questions, names = workspace.store.asked(current.id), document_names(workspace, current)
    documents = {question.id: interchange.documents_of(question, names) for question in questions}
    summary, scores = summary_of(workspace, current, k), judgement_of(workspace, current).scores
    return evaluate.breakdown(summary, scores, questions, documents, seed=current.config.seed)


def export_run(workspace: Workspace, current: Run) -> dict[str, bytes]:
    """Write a run as files (see `cases`), by file name."""
    found, slices = cases_of(workspace, current), breakdown_of(workspace, current)
    return cases.files(found, slices, document_names(workspace, current), controls_of(current))


def compare_runs(workspace: Workspace, runs: Sequence[Run], k: int | None = None) -> comparing.Comparison:
    """Compare runs, paired by question, with the first of them.

    Raises:
        UsageError: fewer than two runs, runs of different corpora, or none of their questions in common.

    """
    store = workspace.store
    of_models = ("endpoint", "metric embedder")  # compared where every run has them: earlier versions told neither
    more = [key for key in of_models if all(key in current.provenance["identity"] for current in runs)]
    sides = [_side(workspace, current, more) for current in runs]
    evidence = {q.id: q.evidence for current in runs for q in store.asked(current.id)}
    return comparing.compare(sides, k=k, evidence=evidence)


def _side(workspace: Workspace, current: Run, more: Sequence[str]) -> comparing.RunSide:
    """A run as it is compared; `more` parts of its identity are looked at beside the three that all runs have."""
    choices = {key: value for key, value in asdict(current.config).items() if key not in ("index", "questions")}
    index = {"index": {"name": current.provenance["index"], **current.provenance["index_config"]}}
    identity = current.provenance["identity"]
    parts = {key: identity[key] for key in ("corpus", "questions", "metrics")}
    parts |= {key: identity[key] for key in more}
    scores = answer_metrics.renamed(workspace.store.scores(current.id))
    controlled = controls_of(current)
    doubt = controlled.sentence if controlled is not None and not controlled.reliable else ""
    return comparing.RunSide(current.name, choices | index, parts, results_of(workspace, current), scores, doubt)
