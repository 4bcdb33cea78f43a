"""Runs: what a question set gets out of an index, its answers and their judgement; resumable, measured, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ragviz import __version__, answer, cases, chunking, evaluate, forecast, gold, indexing, interchange, judging, lost
from ragviz import compare as comparing
from ragviz.errors import UsageError
from ragviz.llm import Usage, dollars
from ragviz.metrics import METRICS
from ragviz.metrics import answers as answer_metrics
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
from ragviz.retrieve import Retriever
from ragviz.store import corpus_hash, questions_hash
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
        ModelError: an endpoint refuses, or is down for too long.

    """
    index, asked, questions, config = _asked(workspace, config)
    search_all = indexing.retriever(workspace, index, config.retriever, config.rrf_constant)
    plan = _plan(workspace, config, budget)  # before anything is done: it may be that it cannot be
    current = _run_row(workspace, name, config, index, asked, questions)
    _retrieve(workspace, current, index, questions, search_all, progress)
    if config.answerer != "none" or config.metrics:
        there = workspace.store.judged_ids(current.id)
        _judge(workspace, current, [q.id for q in questions if there.get(q.id, True)], plan, progress)
    workspace.store.finish_run(current.id, "done")
    return workspace.store.run(current.id)


def rejudge(
    workspace: Workspace, current: Run, *, budget: float | None = None, progress: Progress = silent
) -> list[str]:
    """Answer and judge again what failed in a run, and nothing else; return the ids of the questions that were.

    Raises:
        UsageError: the run has no answers or metrics of answers, or was never finished.

    """
    if current.config.answerer == "none" and not current.config.metrics:
        raise UsageError(f"Run '{current.name}' neither answers nor judges: make one with an answerer.")
    if current.status != "done":
        again = "give its command again, or let it go on on the run page"
        raise UsageError(f"Run '{current.name}' was stopped on the way: {again}.")
    there = workspace.store.judged_ids(current.id)
    failed = [q.id for q in workspace.store.asked(current.id) if there.get(q.id, True)]
    if failed:
        _judge(workspace, current, failed, _plan(workspace, current.config, budget), progress)
        workspace.store.finish_run(current.id, "done")  # at another time: what was summed up before is not this
    return failed


def foresee(workspace: Workspace, config: RunConfig) -> forecast.Forecast:
    """What a run would take, and what of it is paid for already; retrieves, and asks no model.

    Raises:
        UsageError: as `run`.

    """
    index, _, questions, config = _asked(workspace, config)
    if config.answerer == "none" and not config.metrics:
        return forecast.Forecast(questions=len(questions))
    search_all = indexing.retriever(workspace, index, config.retriever, config.rrf_constant)
    rankings = search_all([q.text for q in questions], config.k)
    golds = gold_of(workspace, index, questions)
    found = [Retrieved(q.id, r, g) for q, r, g in zip(questions, rankings, golds, strict=True)]
    items = _items(workspace, index.id, index.corpus_id, config, questions, found)
    return forecast.foresee(items, _plan(workspace, config, None))


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
    for name in (config.model, config.judge):
        if budget is not None and name and not workspace.client(name).priced:
            raise UsageError(f"A budget needs the price of '{name}': enter it on the settings page.")


def _run_row(
    workspace: Workspace,
    name: str,
    config: RunConfig,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> Run:
    """Return the run to go on with, or a new one."""
    provenance = _provenance(workspace, config, index, asked, questions)
    fingerprint = digest(*(f"{key}={value}" for key, value in sorted(provenance["identity"].items())))
    current = workspace.store.run_named(name)
    if current is not None and current.fingerprint == fingerprint and current.status != "done":
        workspace.store.finish_run(current.id, "running")
        return current
    return workspace.store.create_run(name, index.corpus_id, config, fingerprint, provenance)


def _provenance(
    workspace: Workspace,
    config: RunConfig,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> dict[str, Any]:
    """Names for people; and `identity`, which makes the fingerprint: equal where two runs must rank alike."""
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
        identity["judgement"] = digest(answer.VERSIONS.get(config.answerer, ""), *versions)
    names = {"index": index.name, "questions": asked.name, "ragviz": __version__, "n": len(questions)}
    return {"identity": identity, "index_config": asdict(index.config), **names}


def _retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    search_all: Retriever,
    progress: Progress,
) -> None:
    store, depth = workspace.store, current.config.depth
    answered = store.answered(current.id)
    waiting = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    progress(len(answered), len(questions), "questions", "Retrieving")
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        rankings = search_all([q.text for _, q in batch], depth)
        golds = gold_of(workspace, index, [q for _, q in batch])
        results = [
            (place, question, Retrieved(question.id, ranking, golden))
            for (place, question), ranking, golden in zip(batch, rankings, golds, strict=True)
        ]
        store.put_results(current.id, results)
        progress(len(answered) + start + len(batch), len(questions), "questions", "Retrieving")


def gold_of(workspace: Workspace, index: IndexInfo, questions: Sequence[Question]) -> list[tuple[tuple[str, ...], ...]]:
    """Gold chunks of each group of evidence of each question, in this index."""
    documents = {s.document_id for q in questions for group in q.evidence for s in group}
    cuts = workspace.store.cuts(index.build, sorted(documents))
    spans = {
        d: [
            (chunk_id, start, end)
            for chunk_id, (start, end, _) in zip(indexing.chunk_ids(d, c), c.tolist(), strict=True)
        ]
        for d, c in cuts.items()
    }
    return [gold.gold_chunks(q.evidence, lambda d: spans.get(d, [])) for q in questions]


# Answers and their judgement


def _judge(workspace: Workspace, current: Run, ids: Sequence[str], plan: judging.Plan, progress: Progress) -> None:
    """Answer and judge the questions with these ids, and keep what comes of it as it comes."""
    store, config = workspace.store, current.config
    wanted = set(ids)
    pairs = [(q, r) for q, r in zip(store.asked(current.id), store.results(current.id), strict=True) if q.id in wanted]
    items = _items(workspace, config.index, current.corpus_id, config, [q for q, _ in pairs], [r for _, r in pairs])
    before = store.judged(current.id)
    paid, spent = store.paid(current.id)
    again = [_once_more(item, before.get(item.question.id), paid) for item in items]
    plan = replace(
        plan,
        spent=spent,
        pay=partial(store.pay, current.id),
        finished=len(store.answered(current.id)) - len(items),
    )

    def keep(known: Sequence[tuple[Judged, Sequence[Score]]]) -> None:
        store.put_judged(current.id, known)

    judging.work(again, plan, keep, progress)


def _once_more(item: judging.Item, before: Judged | None, calls: int) -> judging.Item:
    """Go on with a question that was tried before: what failed is asked with a seed and in words that are new.

    `calls` are those that the run has paid so far: there are more of them at every try.
    """
    if before is None:
        return item
    paid = tuple(call for call in before.calls if not call.cached)
    return replace(item, seed=2 * judging.ROUNDS * (1 + calls), paid=paid, failed=frozenset(before.failures))


def calls_of(judged: Judged) -> list[Call]:
    """Every model call behind what is known of a question, the answer's first."""
    return [call for call in (judged.answer.call, *judged.calls) if call is not None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a run's answers: everything by question id, in the order of the questions.

    `scores` are by metric first. `causes` tells of every question where it was lost (a key of `lost.CAUSES`), with
    `rulings` on which answers are right. `usage` is what all model calls behind it cost when they were made, by
    whatever run; `paid` are the calls and dollars that this run paid.
    """

    judged: Mapping[str, Judged]
    scores: Mapping[str, Mapping[str, Score]]
    metrics: Mapping[str, evaluate.Scored]
    rulings: Mapping[str, lost.Ruling]
    causes: Mapping[str, str]
    abstention: answer.Abstention
    usage: Usage
    paid: tuple[int, float]

    @property
    def failed(self) -> list[str]:
        """Questions of which a step failed: `rejudge` asks again about those."""
        return [question_id for question_id, judged in self.judged.items() if judged.failures]


def cost_words(found: Judgement) -> str:
    """What the model calls behind a run cost when they were made, and what of it the run itself paid."""
    usage, (calls, paid) = found.usage, found.paid
    if not usage.calls:
        return "No model was asked: nothing was paid."
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens asked and answered"
    asked = f"{usage.calls:,} model calls · {tokens}"
    unpriced = sum(call.cost is None for judged in found.judged.values() for call in calls_of(judged))
    if unpriced == usage.calls:
        return f"{asked} · no price was known"
    cost = dollars(usage.cost) + (f" ({unpriced:,} calls without a price)" if unpriced else "")
    mine = f" when they were made; this run paid {dollars(paid)}, for {calls:,}"
    return f"{asked} · {cost}{mine if dollars(paid) != dollars(usage.cost) else ''}"


def judgement_of(workspace: Workspace, current: Run, k: int | None = None) -> Judgement:
    """Sum up the answers of a run; of one that does not answer only the causes, up to the ranking at `k`, are known.

    Answers were given from the run's own k chunks: for these `k` is of no account.
    """
    store, config = workspace.store, current.config
    k = k if k and config.answerer == "none" else config.k
    questions, results = store.asked(current.id), store.results(current.id)
    judged = store.judged(current.id, keys=workspace.settings.keys)
    scores = answer_metrics.renamed(store.scores(current.id))
    answers = {i: j.answer for i, j in judged.items() if config.answerer != "none"}
    rulings = {q.id: _ruling(q, answers[q.id], scores) for q in questions if q.id in answers}
    if config.answerer != "none":  # of a run that was stopped, the rest is not known
        results = [result for result in results if result.question_id in answers]
    causes = lost.where_lost(questions, results, k, answers, rulings, kind=config.context)
    calls = [call for known in judged.values() for call in calls_of(known)]
    counts = (len(calls), sum(c.prompt_tokens for c in calls), sum(c.completion_tokens for c in calls))
    usage = Usage(*counts, sum(c.seconds for c in calls), sum(c.cost or 0.0 for c in calls))
    return Judgement(
        judged,
        scores,
        evaluate.summarise_scores(scores, seed=config.seed),
        rulings,
        causes,
        answer.abstention(questions, answers.values()),
        usage,
        store.paid(current.id),
    )


def _ruling(question: Question, given: Answer, scores: Mapping[str, Mapping[str, Score]]) -> lost.Ruling:
    mine = [by_question[question.id] for by_question in scores.values() if question.id in by_question]
    values = {score.metric: score.value for score in mine if score.value is not None}
    return lost.is_right(question, given, values, [s.metric for s in mine if s.status == "judge_error"])


def _plan(workspace: Workspace, config: RunConfig, budget: float | None) -> judging.Plan:
    names = answer_metrics.known(config.metrics)  # a run of an earlier version may have others
    vectors = any(answer_metrics.ANSWER_METRICS[name].vectors for name in names)
    check_budget(workspace, config, budget)
    answerer, judge = (workspace.client(name) if name else None for name in (config.model, config.judge))
    return judging.Plan(
        config,
        names,
        workspace.store.cache("bank"),
        answerer=answerer,
        judge=judge,
        embedder=workspace.embedder(workspace.settings.embedder) if vectors else None,
        budget=budget,
        patience=60 * workspace.settings.outage_minutes,
    )


def _items(
    workspace: Workspace,
    index_id: str,
    corpus_id: str,
    config: RunConfig,
    questions: Sequence[Question],
    results: Sequence[Retrieved],
) -> list[judging.Item]:
    """Each question with the chunks it is to be answered from."""
    wanted = [_context_ids(config, result) for result in results]
    chunks = _chunks(workspace, index_id, corpus_id, sorted({i for ids in wanted for i in ids}))
    return [
        judging.Item(question, tuple(chunks[i] for i in ids if i in chunks))
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
    results, questions = store.results(current.id), store.asked(current.id)
    return evaluate.summarise(results, questions, k or config.k, config.depth, seed=config.seed)


def cases_of(workspace: Workspace, current: Run, k: int | None = None) -> list[cases.Case]:
    """Every question of a run with all that became of it, ranked at `k` (default: its own)."""
    store = workspace.store
    results, judgement = store.results(current.id), judgement_of(workspace, current, k)
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
    return cases.files(found, slices, document_names(workspace, current))


def compare_runs(workspace: Workspace, runs: Sequence[Run], k: int | None = None) -> comparing.Comparison:
    """Compare runs, paired by question, with the first of them.

    Raises:
        UsageError: fewer than two runs, runs of different corpora, or none of their questions in common.

    """
    store = workspace.store
    sides = [_side(workspace, current) for current in runs]
    evidence = {q.id: q.evidence for current in runs for q in store.asked(current.id)}
    return comparing.compare(sides, k=k, evidence=evidence)


def _side(workspace: Workspace, current: Run) -> comparing.RunSide:
    choices = {key: value for key, value in asdict(current.config).items() if key not in ("index", "questions")}
    index = {"index": {"name": current.provenance["index"], **current.provenance["index_config"]}}
    parts = {key: current.provenance["identity"][key] for key in ("corpus", "questions", "metrics")}
    scores = answer_metrics.renamed(workspace.store.scores(current.id))
    return comparing.RunSide(current.name, choices | index, parts, workspace.store.results(current.id), scores)
