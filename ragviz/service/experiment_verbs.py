"""What can be done to experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.experiment import Experiment, ExperimentRule
from ragviz.core.job import NewJob
from ragviz.core.question_set import QuestionSet
from ragviz.experiments import confirming, declaring, grid
from ragviz.experiments.grid import Planned
from ragviz.service.access import verb
from ragviz.workspace import Workspace


@verb("viewer", "plan an experiment")
def with_baseline(
    workspace: Workspace, name: str, question_set: QuestionSet, planned: Planned, baseline: str = ""
) -> tuple[Planned, str]:
    """Return the cells of the experiment `name` with its baseline, and the baseline's name.

    `baseline` names a cell, or a run of the corpus whose configuration is then a cell too. By default it is that of the
    newest run that a person made here, or the first cell where there is none; of an experiment that is declared already
    it stays.
    """
    if any(cell.name == baseline for cell in planned.cells) or baseline in planned.left_out:
        return planned, baseline
    store = workspace.store
    earlier = store.experiments.find(name)
    if earlier is not None and earlier.rule.baseline == (baseline or earlier.rule.baseline):
        stays = earlier.baseline
        known = any(cell.name == stays.name for cell in planned.cells)
        return (planned if known else replace(planned, cells=(stays, *planned.cells))), stays.name
    able = repeatable(workspace, question_set.corpus_id)
    run = next((run for run in able if baseline in ("", run.name)), None)
    return grid.with_run(workspace, planned, run) if run is not None else (planned, baseline)


@verb("viewer", "list runs")
def repeatable(workspace: Workspace, corpus_id: str) -> list[Run]:
    """Return the finished runs of a corpus that a person made here from a ranking's first k, the newest first."""
    of_cells = {cell.run_id for each in workspace.store.experiments.all(corpus_id) for cell in each.cells}
    runs = [run for run in workspace.store.runs.all(corpus_id) if run.status == "done" and run.id not in of_cells]
    return [run for run in runs if run.knows.again and run.knows.first_k and run.provenance["index_config"]]


@verb("viewer", "plan an experiment")
def planned(
    workspace: Workspace,
    /,
    name: str,
    question_set: QuestionSet,
    picks: Sequence[grid.Pick],
    *,
    split: str | None = None,
    primary: str = "",
    minimum_effect: float | None = None,
    baseline: str = "",
    guardrails: Sequence[str] = (),
    **common: Any,
) -> tuple[Planned, ExperimentRule, str]:
    """Return the cells of the experiment `name`, its rule, and the side that it asks, "" for all questions.

    `picks` are values of choices, `common` what all cells share: metrics, judge, seed; `guardrails` are as
    "tokens=1.5x". `split` is "validation", the default of a set that is split, or "all".

    Raises:
        UsageError: there is no such side, or as `grid.planned` and `declaring.rule_of`.

    """
    if split not in (None, "", "all", "validation"):
        raise UsageError(f"A sweep asks validation or all questions, not '{split}': `ragviz confirm` asks test, once.")
    side = "validation" if split == "validation" or (split is None and question_set.split is not None) else ""
    cells = grid.planned(workspace, question_set, picks, split=side, **common)
    cells, baseline = with_baseline(workspace, name, question_set, cells, baseline)
    limits = [declaring.read_guardrail(text) for text in guardrails]
    rule = declaring.rule_of(
        cells, primary=primary, minimum_effect=minimum_effect, baseline=baseline, guardrails=limits
    )
    return cells, rule, side


@verb("editor", "run an experiment")
def sweep(
    workspace: Workspace,
    name: str,
    question_set: QuestionSet,
    planned: Planned,
    rule: ExperimentRule,
    split: str,
    budget: float | None = None,
) -> NewJob:
    """Declare an experiment, and run its cells for at most `budget` dollars. Raises as `declaring.declare`."""
    return go_on(workspace, declaring.declare(workspace, name, question_set, planned, rule, split), budget)


@verb("editor", "run an experiment")
def go_on(workspace: Workspace, experiment: Experiment, budget: float | None = None) -> NewJob:
    """Run the cells of a declared experiment that are not done."""
    arguments = {"experiment": experiment.id, "budget": budget}
    return NewJob("sweep", f"Sweep {experiment.name}", experiment.corpus_id, arguments)


@verb("editor", "confirm an experiment")
def confirm(workspace: Workspace, experiment: Experiment, budget: float | None = None) -> NewJob:
    """Run baseline and chosen configuration on the test side, once. Raises as `confirming.check`."""
    confirming.check(workspace, experiment)
    arguments = {"experiment": experiment.id, "budget": budget}
    return NewJob("confirm", f"Confirm {experiment.name} on test", experiment.corpus_id, arguments)


@verb("editor", "delete an experiment")
def delete(workspace: Workspace, experiment: Experiment) -> None:
    """Delete an experiment; its runs stay."""
    workspace.store.experiments.delete(experiment.id)
