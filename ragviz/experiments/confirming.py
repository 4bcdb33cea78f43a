"""The last step of an experiment: baseline and chosen cell are run once on questions that had no part in the choice."""

from __future__ import annotations

import time
from typing import Any

from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.experiment import Confirmation, Experiment
from ragviz.core.stopping import Progress, silent
from ragviz.experiments import findings, sweeping
from ragviz.workspace import Workspace

SIDE = "test"


def check(workspace: Workspace, experiment: Experiment) -> str:
    """Return the name of the cell that can be confirmed on the test side.

    Raises:
        UsageError: it was done already, the cells did not ask the validation side, not all of them are done, or the
            baseline stays.

    """
    if experiment.confirmation is not None:
        raise UsageError(
            f"Experiment '{experiment.name}' was confirmed on test already: a second look would choose on test. "
            f"`ragviz experiments show '{experiment.name}'` shows what it measured."
        )
    if experiment.split != "validation":
        raise UsageError(
            f"Experiment '{experiment.name}' asked all questions: none are left to confirm it on. Split the set, and "
            "sweep its validation side."
        )
    conclusion = findings.of_cells(workspace, experiment).conclusion
    if not conclusion.final or not conclusion.chosen:
        raise UsageError(f"Experiment '{experiment.name}' has not chosen a configuration yet: {conclusion.sentence}")
    if conclusion.chosen == experiment.rule.baseline:
        raise UsageError(
            f"There is nothing to confirm: {conclusion.chosen}, the baseline, stays. {conclusion.sentence}"
        )
    return conclusion.chosen


def confirm(
    workspace: Workspace, experiment: Experiment, *, budget: float | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Run baseline and chosen cell on the test side, once; an interrupted confirmation resumes.

    `budget` is in dollars for both runs. Returns {"experiment", "baseline", "chosen"}: its name and those of the runs.

    Raises:
        UsageError: as `check`, or an index of theirs was deleted.
        BudgetReached: the next model call could cost more.

    """
    store, chosen = workspace.store, check(workspace, experiment)
    runs: list[Run] = []
    for number, name in enumerate((experiment.rule.baseline, chosen)):
        cell = experiment.cell(name)
        assert cell is not None  # a cell cannot be removed
        report = sweeping.Report(progress, number, 2, f"{name} on test", "runs")
        index_id = ""
        if not cell.run.system:
            corpus = store.corpora.get(experiment.corpus_id)
            index_id = sweeping.index_for(workspace, corpus, cell.index, report).id
        most = None if budget is None else budget - sum(store.payments.of(run.id).dollars for run in runs)
        made = experiment.run_name(name, SIDE)
        run = sweeping.made_run(workspace, experiment, made, cell, index_id, SIDE, budget=most, progress=report)
        runs.append(run)
    progress(2, 2, "runs")
    confirmation = Confirmation(chosen, runs[0].id, runs[1].id, time.time())
    if not store.experiments.confirm(experiment.id, confirmation):
        check(workspace, store.experiments.get(experiment.id))
    return {"experiment": experiment.name, "baseline": runs[0].name, "chosen": runs[1].name}
