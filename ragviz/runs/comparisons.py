"""Runs compared from their stored overviews: no ranking and no answer is read where k and depth are the runs' own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from ragviz.analysis import compare as comparing
from ragviz.analysis import sides
from ragviz.analysis.evaluate import CURVES, Band
from ragviz.analysis.sides import Measured, RunSide
from ragviz.analysis.ties import Price
from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.metrics import rank_metrics
from ragviz.metrics.registry import k_read
from ragviz.runs import control_items, measurements, overviews
from ragviz.runs.overviews import Overview
from ragviz.stats import intervals
from ragviz.workspace import Workspace

MOST = 12
"""Runs that are compared at once, each with each."""


def not_too_many(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs; raises UsageError where they are more than `MOST`."""
    if len(runs) > MOST:
        raise UsageError(f"{len(runs)} runs are named: compare at most {MOST}.")
    return runs


@dataclass(frozen=True, slots=True)
class Sources:
    """Where what is compared is read from; rankings and questions are read for another k or depth than a run's own."""

    overview: Callable[[Run], Overview]
    results: Callable[[Run], Sequence[Retrieved]]
    questions: Callable[[Run], Sequence[Question]]


def stored(workspace: Workspace) -> Sources:
    """Return the store as the source, of which each overview is read once."""
    read: dict[str, Overview] = {}

    def overview(run: Run) -> Overview:
        if run.id not in read:
            read[run.id] = overviews.overview(workspace, run)
        return read[run.id]

    return Sources(
        overview,
        partial(measurements.results_of, workspace),
        lambda run: workspace.store.rankings.questions(run.id),
    )


def compare_runs(
    workspace: Workspace,
    runs: Sequence[Run],
    k: int | None = None,
    *,
    primary: str = "",
    minimum_effect: float | None = None,
    sources: Sources | None = None,
) -> comparing.Comparison:
    """Compare runs, paired by question, with the first of them, by the rule that `compare` makes of the last two.

    Raises:
        UsageError: fewer than two runs, one of them twice, runs of different corpora, none of their questions in
            common, or a `minimum_effect` that is no share.
        NotFoundError: `primary` is not measured in all runs.

    """
    if twice := [name for name, count in Counter(run.name for run in runs).items() if count > 1]:
        raise UsageError(f"Run '{twice[0]}' is named twice: name each run once.")
    sources = sources or stored(workspace)
    of_models = ("endpoint", "metric embedder")  # compared where every run has them
    optional = [key for key in of_models if all(key in current.provenance["identity"] for current in runs)]
    asked = [sources.overview(current).asked for current in runs]
    comparison = comparing.compare(
        [_side(current, sources, optional) for current in runs],
        k=k,
        documents={i: documents for each in asked for i, documents in zip(each.ids, each.documents, strict=True)},
        generators={i: generator for each in asked for i, generator in zip(each.ids, each.generators, strict=True)},
        primary=primary,
        minimum_effect=minimum_effect,
    )
    chosen = [f"{each.name}: {words}" for each in runs if (words := measurements.chosen_words(each))]
    return replace(comparison, notes=(*comparison.notes, *chosen, *_experiment_notes(workspace, runs)))


def _experiment_notes(workspace: Workspace, runs: Sequence[Run]) -> Iterator[str]:
    """Note which of the runs are some of the cells of an experiment: its own verdict corrects for all of them."""
    ids = {run.id for run in runs}
    for experiment in workspace.store.experiments.all(runs[0].corpus_id):
        cells = {cell.run_id for cell in experiment.finished}
        if 1 < len(cells & ids) < len(cells):
            yield (
                f"{len(cells & ids)} of these runs are cells of the experiment '{experiment.name}', which tries "
                f"{len(cells)}: its own verdict is corrected for all of them, this one is not."
            )


def _side(current: Run, sources: Sources, optional: Sequence[str]) -> RunSide:
    """Return a run as it is compared; `optional` parts of its identity beside the three that all runs have."""
    choices = {**current.choices, "k": current.config.k, "depth": current.config.depth}
    identity = current.provenance["identity"]
    parts = {key: identity[key] for key in ("corpus", "questions", "metrics")}
    parts |= {key: identity[key] for key in optional}
    controlled = control_items.controls_of(current)
    doubt = controlled.sentence if controlled is not None and not controlled.reliable else ""
    measure, scores = partial(_measured, current, sources), sources.overview(current).answers
    asked = measurements.asked_words(current)
    version = measurements.version_of(current)
    named = {"questions": f"version {version} of {current.provenance['questions']}"} if version else {}
    return RunSide(current.name, choices, parts, measure, scores, doubt, asked, named)


def _measured(current: Run, sources: Sources, k: int, depth: int) -> Measured:
    """Return the rankings of a run as measured at `k` to `depth`: as stored, where these are its own."""
    if (k, depth) == (current.config.k, current.config.depth) or measurements.unranked_words(current):
        summary = sources.overview(current).summary
        return Measured(summary.question_ids, summary.ranks, summary.scores)
    evidence = {question.id: question.evidence for question in sources.questions(current)}
    return sides.measured(sources.results(current), k, depth, evidence)


def prices(
    workspace: Workspace,
    runs: Mapping[str, Run],
    k: int | None = None,
    metric: str = "",
    sources: Sources | None = None,
) -> dict[str, Price]:
    """Return what each run takes for a question that all of them asked (see `overviews.price_of`), by name.

    Tokens are those read at `k` as `metric` has it, by default at each run's own.
    """
    ks = {name: k_read(metric, run.config.k, k or run.config.k) for name, run in runs.items()}
    common = in_common(workspace, runs, sources)
    return {name: overviews.price_of(run, common[name], ks[name]) for name, run in runs.items()}


def in_common(workspace: Workspace, runs: Mapping[str, Run], sources: Sources | None = None) -> dict[str, Overview]:
    """Return the overview of each run by name, its tokens and calls over the questions that all of them asked."""
    sources = sources or stored(workspace)
    whole = {name: sources.overview(run) for name, run in runs.items()}
    ids = [frozenset(each.asked.ids) for each in whole.values()]
    common = frozenset[str].intersection(*ids) if ids else frozenset[str]()
    return {
        name: overview
        if len(common) == len(overview.asked.ids)
        else overviews.narrowed(workspace, runs[name], overview, sources.results(runs[name]), common)
        for name, overview in whole.items()
    }


def curves(
    workspace: Workspace, runs: Sequence[Run], comparison: comparing.Comparison, sources: Sources | None = None
) -> list[dict[str, Band]]:
    """Return the curves of each run over the questions compared: mean, low and high for k = 1 … the common depth.

    They are as stored where a run has no other question with evidence; else its rankings are read.
    """
    sources = sources or stored(workspace)
    found: list[dict[str, Band]] = []
    for run in runs:
        summary = sources.overview(run).summary
        if summary.question_ids == comparison.question_ids:
            bands, depth = summary.curves.items(), comparison.depth
            own = {name: (mean[:depth], low[:depth], high[:depth]) for name, (mean, low, high) in bands}
        else:
            table = rank_metrics.measure(rank_metrics.read(sources.results(run), comparison.depth))
            places = {question_id: place for place, question_id in enumerate(table.question_ids)}
            rows = [places[i] for i in comparison.question_ids]
            drawn = {name: intervals.bands(of(table)[rows], comparison.clusters) for name, of in CURVES.items()}
            own = cast("dict[str, Band]", drawn)  # there are questions
        found.append(own)
    return found
