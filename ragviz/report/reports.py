"""The report of what is named: one run, several compared, or an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.configuration import Run
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.report import comparison_report, experiment_report, run_report
from ragviz.runs import comparisons
from ragviz.workspace import Workspace


def made(
    workspace: Workspace,
    names: Sequence[str],
    k: int | None = None,
    *,
    primary: str = "",
    minimum_effect: float | None = None,
) -> bytes:
    """Return the report of a run or an experiment by its name, or of several runs compared with the first, as HTML.

    Raises:
        NotFoundError: there is neither a run nor an experiment of that name, or `primary` is not measured in all runs.
        UsageError: the name is that of both, a choice is given that only a comparison has, or the runs cannot be
            compared: they are more than twelve, or one is named twice …

    """
    store = workspace.store
    if len(names) == 1:
        if k is not None or primary or minimum_effect is not None:
            raise UsageError(
                f"k, a primary metric and a smallest difference are for several runs: '{names[0]}' is one, reported at "
                "its own k or by its own rule. Name the run to compare with, too."
            )
        experiment, run = store.experiments.find(names[0]), store.runs.find(names[0])
        if experiment is not None and run is not None:
            raise UsageError(
                f"'{names[0]}' is a run and an experiment: rename the run, or give its id, {run.id}; the experiment's "
                f"is {experiment.id}."
            )
        if experiment is not None:
            return experiment_report.report(workspace, experiment)
        if run is None and (experiments := store.experiments.all()):
            named = ", ".join(f"'{each.name}'" for each in experiments)
            raise NotFoundError(f"There is no run and no experiment called '{names[0]}'; experiments: {named}.")
    runs = comparisons.not_too_many([store.runs.get(name) for name in names])
    return of_runs(workspace, runs, k, primary=primary, minimum_effect=minimum_effect)


def of_runs(
    workspace: Workspace,
    runs: Sequence[Run],
    k: int | None = None,
    *,
    primary: str = "",
    minimum_effect: float | None = None,
) -> bytes:
    """Return the report of a run, or of several compared with the first; it may take seconds."""
    if len(runs) == 1:
        return run_report.report(workspace, runs[0])
    return comparison_report.report(workspace, runs, k, primary=primary, minimum_effect=minimum_effect)
