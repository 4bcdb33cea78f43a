"""What the first screen of a run shows: computed once for a state of the run, stored, and read without its answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis.evaluate import Summary, bound_to
from ragviz.analysis.sides import Column, column
from ragviz.analysis.ties import Price
from ragviz.core.call import Estimate
from ragviz.core.configuration import Run
from ragviz.core.digests import digest
from ragviz.core.errors import Deleted
from ragviz.core.garbage import without_collection
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import Recording
from ragviz.metrics import rank_metrics
from ragviz.metrics.registry import METRICS, label
from ragviz.models.requests import Usage, dollars
from ragviz.runs import contexts, control_items, judgements, measurements
from ragviz.runs.judgements import Judgement
from ragviz.store.schema import decoded
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a run: ids, the ids of the documents that hold the evidence of each, who made each, kinds."""

    ids: tuple[str, ...]
    documents: tuple[tuple[str, ...], ...]
    generators: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def kind_of(self) -> dict[str, str]:
        """The kinds of the questions, by id."""
        return dict(zip(self.ids, self.kinds, strict=True))


@dataclass(frozen=True, slots=True)
class Overview:
    """The measures of a run's rankings, with curves, and the judgement of its answers, both at the run's own k.

    `questions` counts all questions that the run has asked. `tokens` are those that the first k chunks of a ranking
    hold on average, (depth,), and `reach` those down to the rank by which the evidence of a question has come, (n,);
    None where they are not known (see `contexts.tokens_read`). `given` are those that the
    answerer is given, (depth,) (see `contexts.tokens_given`). `answering` are the calls that answered, and `unpriced`
    how many of them have no price. `answers` are the scores of the answers by metric, and
    those of the program that wrote them by its names. `seconds` is how long another system took on average, None where
    that is not told.
    """

    questions: int
    summary: Summary
    judgement: Judgement
    tokens: NDArray[np.float64] | None
    reach: NDArray[np.int64] | None
    given: NDArray[np.float64] | None
    answering: Usage
    unpriced: int
    asked: Asked
    answers: Mapping[str, Column]
    seconds: float | None = None

    @property
    def scores(self) -> dict[str, Column]:
        """The scores of the answers by the metrics of ragviz, in their order."""
        return {name: self.answers[name] for name in self.judgement.metrics}


Pairs = Sequence[tuple[Question, Retrieved]]
"""The questions of a run, each with what was retrieved for it."""


@without_collection()
def computed(workspace: Workspace, current: Run, retrieved: Pairs | None = None) -> Overview:
    """Compute the overview of a run from everything that is stored of it; rankings are read unless they are given."""
    retrieved = measurements.pairs_of(workspace, current) if retrieved is None else retrieved
    summary = measurements.summary_of(workspace, current, retrieved=retrieved)
    judgement = judgements.judgement_of(workspace, current, retrieved=retrieved)
    read = _read(workspace, current, [result for _, result in retrieved], summary.ranks)
    answering = _answering(judgement.recordings.values())
    of_questions = Asked(
        tuple(question.id for question, _ in retrieved),
        tuple(tuple(bound_to(question)) for question, _ in retrieved),
        tuple(question.generator for question, _ in retrieved),
        tuple(question.kind for question, _ in retrieved),
    )
    scores = {**judgement.scores, **judgement.scores_of_maker}
    answers = {  # in the order of the questions
        name: column({i: by_question[i] for i in of_questions.ids if i in by_question})
        for name, by_question in scores.items()
    }
    took = _took(current, judgement.recordings.values())
    return Overview(len(retrieved), summary, judgement, *read, *answering, of_questions, answers, took)


def narrowed(
    workspace: Workspace, current: Run, overview: Overview, results: Sequence[Retrieved], ids: Collection[str]
) -> Overview:
    """Return an overview whose tokens and calls are those of some of the questions; `results` are of all of them."""
    ranks = overview.summary.ranks[[question_id in ids for question_id in overview.summary.question_ids]]
    tokens, reach, given = _read(workspace, current, [each for each in results if each.question_id in ids], ranks)
    judged = workspace.store.judgements.all(current.id, keys=workspace.settings.keys)
    recordings = [each.recording for question_id, each in judged.items() if question_id in ids]
    answering, unpriced = _answering(recordings)
    took = _took(current, recordings)
    read = replace(overview, tokens=tokens, reach=reach, given=given)
    return replace(read, answering=answering, unpriced=unpriced, seconds=took)


def _took(current: Run, recordings: Iterable[Recording]) -> float | None:
    told = [each.seconds for each in recordings if each.seconds is not None]
    return sum(told) / len(told) if told and current.knows.opaque else None


def _answering(recordings: Iterable[Recording]) -> tuple[Usage, int]:
    """Return the calls that answered, and how many of them have no price."""
    calls = [each.usage for each in recordings if each.usage is not None]
    return Usage.of(calls), sum(call.cost is None for call in calls)


def _read(
    workspace: Workspace, current: Run, results: Sequence[Retrieved], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None, NDArray[np.float64] | None]:
    index = next((i for i in workspace.store.indexes.all(current.corpus_id) if i.id == current.config.index), None)
    if index is None or not index.build or not len(ranks):
        return None, None, None
    sizes = contexts.sizes_of(workspace, index)
    rankings = rank_metrics.read(results, current.config.depth)
    read = contexts.tokens_read(rankings, sizes, ranks)
    return *read, contexts.tokens_given(rankings, results, sizes, current)


def to_be_stored(overview: Overview) -> Overview:
    """Return an overview without the answers, and without what is stored with the run: for `as_stored`."""
    judgement = {field.name: getattr(overview.judgement, field.name) for field in fields(Judgement)}
    answers = {  # most metrics have a score, or a reason, for every question
        name: replace(each, question_ids=() if each.question_ids == overview.asked.ids else each.question_ids)
        for name, each in overview.answers.items()
    }
    return replace(overview, judgement=Judgement(**judgement | {"controls": None}), answers=answers)


def as_stored(body: Mapping[str, Any], current: Run) -> Overview:
    """Return the overview of a run from what was stored."""
    overview: Overview = decoded(Overview, body)
    judgement = replace(overview.judgement, controls=control_items.controls_of(current))
    answers = {
        name: replace(each, question_ids=each.question_ids or overview.asked.ids[: len(each.values)])
        for name, each in overview.answers.items()
    }
    return replace(overview, judgement=judgement, answers=answers)


# What a run takes


def price_of(run: Run, overview: Overview, k: int) -> Price:
    """Return what a run takes for a question: tokens of the context of `k` chunks; dollars and seconds at its own k.

    Tokens are those that the answerer is given, within its budget; of a run without answers those of the first `k`
    chunks. Dollars are those of the calls that answered and reranked, when they were made; what the judge costs is not
    in them. They are not known where a call has no price. Seconds are those of retrieval, reranking and the call
    that answered, those of another system as it tells them; runs of less than a batch have not recorded them.
    """
    tokens = None
    if overview.given is not None and k <= len(overview.given):
        tokens = float(overview.given[k - 1])
    return Price(tokens, _dollars(run, overview), _seconds(run, overview))


def took_words(run: Run, overview: Overview) -> str:
    """Say what another system took for an answer, as far as it tells, "" where it does not.

    "It took 0.8 s, 1,200 tokens, $0.002 an answer."
    """
    if not run.knows.opaque:
        return ""
    answering, price = overview.answering, price_of(run, overview, run.config.k)
    tokens = answering.prompt_tokens + answering.completion_tokens
    parts = [f"{price.seconds:.1f} s"] if price.seconds is not None else []
    parts += [f"{tokens / answering.calls:,.0f} tokens"] if tokens else []
    parts += [dollars(price.dollars)] if price.dollars is not None else []
    return f"It took {', '.join(parts)} an answer." if parts else ""


def _dollars(run: Run, overview: Overview) -> float | None:
    calls, reranking = overview.answering.calls, run.provenance.get("reranking", {})
    reranked = 0.0
    if reranking.get("calls"):
        if reranking["unpriced"]:
            return None
        reranked = reranking["cost"] / reranking["questions"]
    if overview.unpriced or not (run.knows.again or run.knows.opaque):
        return None
    if not calls:
        return None if run.config.asks_model or run.knows.opaque else reranked
    return overview.answering.cost / calls + reranked


def _seconds(run: Run, overview: Overview) -> float | None:
    retrieval, answering = run.provenance.get("retrieval"), overview.answering
    if run.knows.opaque:
        return overview.seconds
    if not retrieval or not retrieval["questions"] or (run.config.asks_model and not answering.calls):
        return None
    answer = answering.seconds / answering.calls if answering.calls else 0.0
    return float(retrieval["seconds"] / retrieval["questions"] + answer)


_MEASURING = ("core", "stats", "text", "targets", "judging", "metrics", "analysis", "runs")
"""The folders whose code makes the numbers that are stored."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a row of a table, at its own k.

    `questions` counts all of them, `ranked` those with evidence, `not_found` those of them whose evidence is not, or
    not all, in the run's `depth`. `estimates` maps metrics ("recall@3", "mrr", then those of answers) to their means;
    `calls` and `dollars` are what the run paid (0 dollars also where no price is known).
    """

    questions: int
    ranked: int
    not_found: int
    estimates: Mapping[str, Estimate]
    calls: int
    dollars: float

    def at_k(self, name: str, k: int) -> Estimate | None:
        """Return the estimate of a metric by its name without k; None when the run has no such metric."""
        return self.estimates.get(label(name, k) if name in METRICS else name)


def summaries(workspace: Workspace, runs: Sequence[Run]) -> dict[str, RunSummary]:
    """Return the summaries of the runs that are not being made, by id; those not up to date are computed and stored."""
    still = [run for run in runs if run.status != "running"]
    bodies = workspace.store.runs.summaries([run.id for run in still], _version())
    found: dict[str, RunSummary] = {run_id: decoded(RunSummary, body) for run_id, body in bodies.items()}
    for run in still:
        if run.id not in found:
            found[run.id], _ = _stored(workspace, run)
    return {run.id: found[run.id] for run in still}


def overview(workspace: Workspace, run: Run) -> Overview:
    """Return the overview of a run: the stored one, else it is computed, and stored unless the run is being made."""
    body = workspace.store.runs.overview(run.id, _version())
    if body is not None:
        return as_stored(body, run)
    return computed(workspace, run) if run.status == "running" else _stored(workspace, run)[1]


def summary_at(
    workspace: Workspace,
    run: Run,
    k: int | None = None,
    *,
    whole: Overview | None = None,
    retrieved: Sequence[tuple[Question, Retrieved]] | None = None,
) -> Summary:
    """Return the measures of a run's rankings at `k`: those of its overview at its own; curves are the same at all.

    The overview, and at another k the run's questions and results, are read unless they are given.

    Raises:
        UsageError: `k` is not from 1 to the run's depth.

    """
    own = (whole or overview(workspace, run)).summary
    if k is None or k == run.config.k:
        return own
    return replace(measurements.summary_of(workspace, run, k, curves=False, retrieved=retrieved), curves=own.curves)


def finish(workspace: Workspace, run: Run, retrieved: Pairs | None = None) -> None:
    """Mark a run as done, and store its summary and its overview; what it retrieved is read unless it is given."""
    workspace.store.runs.set_status(run.id, "done")
    _stored(workspace, workspace.store.runs.get(run.id), retrieved)  # with what was noted while it was made


def _stored(workspace: Workspace, run: Run, retrieved: Pairs | None = None) -> tuple[RunSummary, Overview]:
    (revision,) = workspace.store.revisions(run.id)
    whole = computed(workspace, run, retrieved)
    ranking, judgement = whole.summary, whole.judgement
    scored, paid = {**judgement.metrics, **judgement.of_maker}, judgement.paid
    estimates = dict(ranking.metrics) | {name: each.estimate for name, each in scored.items()}
    summary = RunSummary(whole.questions, ranking.n, ranking.misses, estimates, paid.calls, paid.dollars)
    with suppress(Deleted):  # meanwhile, by another process
        workspace.store.runs.put_summary(run.id, revision, _version(), summary, to_be_stored(whole))
    return summary, whole


@cache
def _version() -> str:
    """Return a digest of the code that what is stored depends on beside its run: that of the folders that measure."""
    root = Path(__file__).parents[1]
    files = sorted(file for folder in _MEASURING for file in (root / folder).glob("*.py"))
    return digest(*(file.read_bytes() for file in files))
