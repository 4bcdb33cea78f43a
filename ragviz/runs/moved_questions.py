"""Two runs, question by question: where questions moved between causes of loss, and in which slices the runs differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ragviz.analysis import diagnose, flows, outcomes, slices
from ragviz.analysis.compare import Comparison
from ragviz.analysis.flows import Flow
from ragviz.analysis.slices import Slices
from ragviz.core.configuration import Run
from ragviz.questions import interchange
from ragviz.runs import judgements, measurements
from ragviz.runs.comparisons import Sources
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """Where questions moved between causes, with the titles of the causes.

    `answered` is whether the causes tell of the answers of both runs; else they end with the ranking.
    """

    flow: Flow
    titles: Mapping[str, str]
    answered: bool


def shared_questions(runs: Iterable[Run], sources: Sources) -> list[str]:
    """Return the ids of the questions that all of the runs asked, in the order of the first."""
    first, *others = [sources.overview(run).asked.ids for run in runs]
    known = [set(ids) for ids in others]
    return [i for i in first if all(i in ids for ids in known)]


def causes_of(run: Run, k: int, sources: Sources) -> Mapping[str, str]:
    """Return the cause of every question of a run at `k` (see `judgements.causes_at`), by question id."""
    own = sources.overview(run).judgement.causes
    if judgements.attributed_at(run, k):
        return own  # no ranking is read
    return judgements.causes_at(run, own, sources.questions(run), sources.results(run), k)


def _of_rankings(run: Run, k: int, depth: int, sources: Sources) -> Mapping[str, str]:
    """Return the causes up to the ranking to `depth`, of the questions with evidence; none of an unknown ranking."""
    if measurements.unranked_words(run):
        return {}
    if run.config.depth == depth and not run.knows.answers and judgements.attributed_at(run, k):
        overview = sources.overview(run)
        ranked = set(overview.summary.question_ids)
        return {question_id: cause for question_id, cause in overview.judgement.causes.items() if question_id in ranked}
    asked = [question for question in sources.questions(run) if question.evidence]
    retrieved = {result.question_id: result for result in sources.results(run)}
    results = []
    for result in [retrieved[question.id] for question in asked]:
        ids, scores = result.ranking.ids[:depth], result.ranking.scores[:depth]
        results.append(replace(result, ranking=replace(result.ranking, ids=ids, scores=scores)))
    return diagnose.attribute_failures(asked, results, k)


def streams(first: Run, second: Run, k: int, sources: Sources) -> Streams:
    """Return where the questions that both runs asked moved between the causes of loss at `k`."""
    depth, asked = min(first.config.depth, second.config.depth), shared_questions((first, second), sources)
    answered = judgements.answered_at(first, k) and judgements.answered_at(second, k)
    before, after = (
        causes_of(run, k, sources) if answered else _of_rankings(run, k, depth, sources) for run in (first, second)
    )
    flow = flows.flow({i: before[i] for i in asked if i in before}, {i: after[i] for i in asked if i in after})
    knows = diagnose.in_common((first.knows, second.knows))
    known = depth if not answered or first.config.depth == second.config.depth else 0
    titles = {
        cause: diagnose.about(cause, knows, k=k, depth=known, answered=answered).title for cause in diagnose.CAUSES
    }
    if not answered and "split" not in flow.causes:
        titles["fine"] = outcomes.title("found", k, depth)
    return Streams(flow, titles, answered)


def slices_of(
    workspace: Workspace, first: Run, comparison: Comparison, metric: str, sources: Sources, places: Sequence[int]
) -> list[Slices]:
    """Return the differences of runs to the baseline, `first`, in each part of the questions.

    `places` are those of the runs in the comparison; a `Slices` for each.
    """
    questions = {question.id: question for question in sources.questions(first)}
    names = workspace.store.documents.names(first.corpus_id)
    documents = {question.id: interchange.documents_of(question, names) for question in questions.values()}
    found, parts = [], {}
    for pair in [comparison.pair(metric, place) for place in places]:
        if pair.question_ids not in parts:  # runs that lack no score have the same questions
            parts[pair.question_ids] = slices.parts_of([questions[i] for i in pair.question_ids], documents)
        found.append(slices.judged(parts[pair.question_ids], pair, comparison.rule, metric))
    return found


def to_json(
    workspace: Workspace, runs: Sequence[Run], comparison: Comparison, metric: str, sources: Sources
) -> dict[str, Any]:
    """Return, of every other run against the baseline, the streams between causes and the slices by `metric`."""
    found = slices_of(workspace, runs[0], comparison, metric, sources, range(1, len(runs)))
    moved = {run.name: streams(runs[0], run, comparison.k, sources) for run in runs[1:]}
    return {
        "flows": {
            name: {
                "sentence": flows.words(each.flow),
                "answered": each.answered,
                "unknown": each.flow.unknown,
                "streams": [asdict(stream) | {"effect": stream.effect} for stream in each.flow.streams],
            }
            for name, each in moved.items()
        },
        "slices": {run.name: _slices_to_json(each) for run, each in zip(runs[1:], found, strict=True)},
    }


def _slices_to_json(found: Slices) -> dict[str, Any]:
    own = ("n", "clusters", "baseline", "other", "difference", "p_adjusted", "verdict")
    return {
        "metric": found.metric,
        "sentence": slices.multiplicity_words(found),
        "slices": [
            {"by": each.part.by, "name": each.part.name} | {name: getattr(each, name) for name in own}
            for each in found.slices
        ],
    }
