"""The means of many runs, cheap to list: each is computed once for a state of its run, and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ragviz.analysis import evaluate
from ragviz.errors import Deleted
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import METRICS, label
from ragviz.records import Estimate, Run, digest
from ragviz.runs import measurements
from ragviz.workspace import Workspace

_FORM = "2"  # changes with what is stored, and with how means and their intervals are computed


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


def summaries(
    workspace: Workspace, runs: Sequence[Run], progress: Callable[[int, int], object] = lambda done, total: None
) -> dict[str, RunSummary]:
    """Return the summaries of the runs that are not being made, by id; those not up to date are computed and stored.

    `progress` is called with the number of those that were computed, and of those that are to be.
    """
    still = [run for run in runs if run.status != "running"]
    found = {i: _decoded(body) for i, body in workspace.store.summaries([r.id for r in still], _version()).items()}
    missing = [run for run in still if run.id not in found]
    for done, run in enumerate(missing):
        progress(done, len(missing))
        found[run.id] = stored(workspace, run)
    return {run.id: found[run.id] for run in still}


def known_estimates(workspace: Workspace, run: Run) -> Mapping[str, Estimate]:
    """Return the means of a run at its own k (`RunSummary.estimates`) where they are stored and up to date, else {}."""
    bodies = workspace.store.summaries([run.id], _version())
    return _decoded(bodies[run.id]).estimates if run.id in bodies else {}


def stored(workspace: Workspace, run: Run) -> RunSummary:
    """Compute the summary of a run, and store it."""
    (revision,) = workspace.store.revisions(run.id)
    summary = _computed(workspace, run)
    with suppress(Deleted):  # meanwhile, by another process
        workspace.store.put_summary(run.id, revision, _version(), asdict(summary))
    return summary


def finish(workspace: Workspace, run: Run) -> None:
    """Mark a run as done, and store its summary."""
    workspace.store.finish_run(run.id, "done")
    stored(workspace, run)


def _computed(workspace: Workspace, run: Run) -> RunSummary:
    store = workspace.store
    ranking = measurements.summary_of(workspace, run, curves=False)
    scored = evaluate.summarise_scores(measurements.scores_of(workspace, run), seed=run.config.seed)
    answers = {name: each.estimate for name, each in scored.items()}
    return RunSummary(
        len(store.answered(run.id)), ranking.n, ranking.misses, dict(ranking.metrics) | answers, *store.paid(run.id)
    )


def _decoded(body: Mapping[str, Any]) -> RunSummary:
    estimates = {name: Estimate(**estimate) for name, estimate in body["estimates"].items()}
    return RunSummary(**{**body, "estimates": estimates})


def _version() -> str:
    """Return what a summary's numbers depend on beside its run: the formulas."""
    return digest(_FORM, *(f"{key}:{metric.version}" for key, metric in METRICS.items()), *ANSWER_METRICS)
