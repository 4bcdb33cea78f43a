"""What runs measured, cheap to list and to open: computed once for a state of a run and of this code, and stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ragviz.core.call import Estimate
from ragviz.core.digests import digest
from ragviz.core.errors import Deleted
from ragviz.core.run_info import Run
from ragviz.metrics.registry import METRICS, label
from ragviz.runs import overviews
from ragviz.runs.overviews import Overview
from ragviz.store.schema import decoded
from ragviz.workspace import Workspace

_MEASURING = ("core", "stats", "text", "answers", "judging", "metrics", "analysis", "runs")
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


def summaries(
    workspace: Workspace, runs: Sequence[Run], progress: Callable[[int, int], object] = lambda done, total: None
) -> dict[str, RunSummary]:
    """Return the summaries of the runs that are not being made, by id; those not up to date are computed and stored.

    `progress` is called with the number of those that were computed, and of those that are to be.
    """
    still = [run for run in runs if run.status != "running"]
    bodies = workspace.store.runs.summaries([run.id for run in still], _version())
    found: dict[str, RunSummary] = {run_id: decoded(RunSummary, body) for run_id, body in bodies.items()}
    missing = [run for run in still if run.id not in found]
    for done, run in enumerate(missing):
        progress(done, len(missing))
        found[run.id], _ = _stored(workspace, run)
    return {run.id: found[run.id] for run in still}


def overview(workspace: Workspace, run: Run) -> Overview:
    """Return the overview of a run: the stored one, else it is computed, and stored unless the run is being made."""
    body = workspace.store.runs.overview(run.id, _version())
    if body is not None:
        return overviews.as_stored(body, run)
    return overviews.computed(workspace, run) if run.status == "running" else _stored(workspace, run)[1]


def finish(workspace: Workspace, run: Run) -> None:
    """Mark a run as done, and store its summary and its overview."""
    workspace.store.runs.set_status(run.id, "done")
    _stored(workspace, run)


def _stored(workspace: Workspace, run: Run) -> tuple[RunSummary, Overview]:
    (revision,) = workspace.store.revisions(run.id)
    whole = overviews.computed(workspace, run)
    ranking, judgement = whole.summary, whole.judgement
    estimates = dict(ranking.metrics) | {name: scored.estimate for name, scored in judgement.metrics.items()}
    summary = RunSummary(whole.questions, ranking.n, ranking.misses, estimates, *judgement.paid)
    with suppress(Deleted):  # meanwhile, by another process
        workspace.store.runs.put_summary(run.id, revision, _version(), summary, overviews.to_be_stored(whole))
    return summary, whole


@cache
def _version() -> str:
    """Return a digest of the code that what is stored depends on beside its run: that of the folders that measure."""
    root = Path(__file__).parents[1]
    files = sorted(file for folder in _MEASURING for file in (root / folder).glob("*.py"))
    return digest(*(file.read_bytes() for file in files))
