"""The report of what is named: one run, or several compared."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.errors import UsageError
from ragviz.records import Run
from ragviz.report import comparison_report, run_report
from ragviz.workspace import Workspace


def made(
    workspace: Workspace,
    names: Sequence[str],
    k: int | None = None,
    *,
    primary: str = "",
    minimum_effect: float | None = None,
) -> bytes:
    """Return the report of a run by its name, or of several compared with the first, as one HTML file.

    Raises:
        NotFoundError: there is no such run, or `primary` is not measured in all of them.
        UsageError: a choice is given that only a comparison has, or the runs cannot be compared.

    """
    runs = [workspace.store.run(name) for name in names]
    if len(runs) == 1 and (k is not None or primary or minimum_effect is not None):
        raise UsageError(
            f"k, a primary metric and a smallest difference are for several runs: '{names[0]}' is one, reported at its "
            "own k. Name the run to compare with, too."
        )
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
