"""`ragviz sweep`, `ragviz experiments …`, `ragviz confirm`: configurations tried on the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.analysis import comparison_words
from ragviz.cli import console, options
from ragviz.cli.options import Budget, DryRun, Json, MinimumEffect, Primary, Yes
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import UsageError
from ragviz.experiments import declaring, estimating, findings, grid
from ragviz.service import experiment_verbs

experiments_app = console.group("Experiments: configurations tried on the same questions, by a rule declared before.")


@options.declared(IndexConfig, many=True)
@options.declared(RunConfig, many=True)
@options.declared(RunConfig, only=("metrics", "judge", "seed"))
def sweep(
    corpus: Annotated[str, typer.Argument()],
    questions: Annotated[str, typer.Option("--questions")],
    name: Annotated[str, typer.Option("--name", help="Name of the experiment.")],
    choices: Mapping[str, Any],
    cells: Annotated[Path | None, typer.Option(help='JSON list of cells: [{"chunk_size": 100}, …].')] = None,
    primary: Primary = "",
    minimum_effect: MinimumEffect = None,
    baseline: Annotated[str, typer.Option(help="A cell or a run; default: the newest run, else the first cell.")] = "",
    guardrail: Annotated[
        list[str], typer.Option(help="tokens, dollars, seconds or refusals, at most: tokens=1500, tokens=1.5x.")
    ] = [],
    split: Annotated[
        str, typer.Option(help="validation (default of a split set), or all: none is left to confirm on.")
    ] = "",
    budget: Budget = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Try configurations on the questions of a set: the product of the values given, or a list.

    The rule (--primary, --minimum-effect, --baseline, --guardrail, --split) is declared before the first result. What
    several configurations need is made once. Repeat the command to resume, and to try failed ones again.
    """
    workspace = console.open_workspace()
    target, question_set = workspace.store.corpora.get(corpus), workspace.store.sets.get(questions)
    if question_set.corpus_id != target.id:
        raise UsageError(f"Question set '{question_set.name}' is not about corpus '{target.name}'.")
    common = {axis: choices[axis] for axis in ("metrics", "judge", "seed") if axis in choices}
    values = {axis: each for axis, each in choices.items() if axis not in common}
    if cells is not None and values:
        named = ", ".join(f"--{axis.replace('_', '-')}" for axis in values)
        raise UsageError(f"Give either --cells or values of choices ({named}).")
    picks = grid.read_picks(console.read(cells)) if cells is not None else grid.crossed(values)
    planned, rule, side = experiment_verbs.planned(
        workspace,
        name,
        question_set,
        picks,
        split=split or None,
        primary=primary,
        minimum_effect=minimum_effect,
        baseline=baseline,
        guardrails=guardrail,
        **common,
    )
    if dry_run:
        earlier = workspace.store.experiments.find(name)
        known = declaring.known_cells(planned, earlier) if earlier is not None else planned.cells
        estimate = estimating.estimated(workspace, target, question_set, known)
        body = estimating.to_json(estimate) | {"left_out": dict(planned.left_out)}
        told = [*estimating.words(estimate), *declaring.left_out_words(planned.left_out)]
        console.show(body, as_json, lambda: console.say(*told))
        return
    job = console.perform(workspace, experiment_verbs.sweep(workspace, name, question_set, planned, rule, side, budget))
    show(name, as_json=as_json)
    if failed := job.result["failed"]:
        console.fail(f"{failed} cells failed: give the command again to try them again.", 1)


@experiments_app.command("list")
def list_experiments(
    corpus: Annotated[str, typer.Option(help="Those of this corpus.")] = "", as_json: Json = False
) -> None:
    """List the experiments, the newest first."""
    workspace = console.open_workspace()
    corpus_id = workspace.store.corpora.get(corpus).id if corpus else None
    outcomes = [findings.outcome_of(workspace, e) for e in workspace.store.experiments.all(corpus_id)]
    rows = [
        (each.name, f"{len(each.finished)} of {len(each.cells)}", declaring.rule_words(each.rule), outcome.sentence)
        for outcome in outcomes
        for each in [outcome.experiment]
    ]
    body = [findings.to_json(outcome) for outcome in outcomes]
    console.show(body, as_json, lambda: console.table(("experiment", "cells done", "rule", "says"), rows))


@experiments_app.command("show")
def show(name: str, as_json: Json = False) -> None:
    """Show the cells of an experiment, and what it says under its rule."""
    workspace = console.open_workspace()
    outcome = findings.outcome_of(workspace, workspace.store.experiments.get(name))
    console.show(findings.to_json(outcome), as_json, lambda: _draw(outcome))


@experiments_app.command("delete")
def delete(name: str, yes: Yes = False) -> None:
    """Delete an experiment; its indexes and runs stay."""
    workspace = console.open_workspace()
    experiment = workspace.store.experiments.get(name)
    console.confirm(f"Delete experiment '{experiment.name}' with its rule? Its indexes and runs stay.", yes)
    experiment_verbs.delete(workspace, experiment)


def confirm(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT")], budget: Budget = None, as_json: Json = False
) -> None:
    """Run the baseline and the chosen configuration of an experiment on the test side, once.

    A second time is refused, and what was measured is shown.
    """
    workspace = console.open_workspace()
    experiment = workspace.store.experiments.get(name)
    if experiment.confirmation is not None:
        show(experiment.name, as_json=as_json)
    console.perform(workspace, experiment_verbs.confirm(workspace, experiment, budget))
    show(experiment.name, as_json=as_json)


def _draw(outcome: findings.Outcome) -> None:
    experiment = outcome.experiment
    console.say(f"Rule, declared before the first result: {declaring.rule_words(experiment.rule)}.")
    console.say(f"Asked: {experiment.split or 'all questions'}.")
    rows = [
        (
            name,
            row.cell.state,
            row.estimate and console.interval(row.estimate),
            row.delta and comparison_words.difference_words(row.delta.difference),
            row.delta and row.delta.verdict,
            "" if row.price.tokens is None else f"{row.price.tokens:,.0f}",
            "" if row.price.dollars is None else f"{row.price.dollars:.4g}",
            "" if row.price.seconds is None else f"{row.price.seconds:.2g}",
            row.cell.reason or row.run,
        )
        for name, row in outcome.lines
    ]
    columns = ("cell", "state", experiment.rule.primary, "difference", "verdict", "tokens", "dollars", "seconds", "")
    console.table(columns, rows)
    console.say(*declaring.left_out_words(experiment.left_out), outcome.scope)
    said, test = outcome.conclusion, outcome.test
    if test is None:
        console.say(said.sentence, said.leaning, *said.notes)
    else:
        console.say(f"On {experiment.split}: {said.sentence}", *said.notes)
        console.say(f"On test, once: {test.sentence}", *test.notes, outcome.sentence)
    console.say(outcome.lost)
