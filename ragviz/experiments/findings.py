"""What an experiment measured, read from the store: its comparison, what its cells take, its conclusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ragviz.analysis import evaluate
from ragviz.analysis.compare import Comparison, Delta
from ragviz.analysis.ties import Price
from ragviz.core.call import Estimate
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.experiment import Cell, Experiment
from ragviz.core.fields import fields_of
from ragviz.experiments.conclusion import Conclusion, conclude
from ragviz.metrics.registry import k_of
from ragviz.runs import comparisons, measurements, overviews
from ragviz.workspace import Workspace


def runs_of(workspace: Workspace, experiment: Experiment) -> dict[str, Run]:
    """Return the finished runs of an experiment by the name of their cell, that of the baseline first.

    A run that was deleted since, or judged again and interrupted, is left out.
    """
    found = {cell.name: workspace.store.runs.find(cell.run_id) for cell in experiment.finished}
    return {name: run for name, run in found.items() if run is not None and run.status == "done"}


def as_stored(workspace: Workspace, experiment: Experiment) -> Experiment:
    """Return an experiment whose cells wait again where their run was deleted or is not finished any more."""
    done = runs_of(workspace, experiment)

    def checked(cell: Cell) -> Cell:
        gone = cell.state == "done" and cell.name not in done
        return replace(cell, state="waiting", run_id="") if gone else cell

    return replace(experiment, cells=tuple(map(checked, experiment.cells)))


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs measured under a rule, by the names of their cells, the baseline first; `conclusion` is what that says.

    `comparison` is None for fewer than two runs, or without the baseline's. `prices` are what each takes for a
    question, `refusals` the share of its answers that refuse a question that the documents answer.
    """

    runs: Mapping[str, Run]
    comparison: Comparison | None
    prices: Mapping[str, Price]
    refusals: Mapping[str, float]
    conclusion: Conclusion


def measured(workspace: Workspace, experiment: Experiment, runs: Mapping[str, Run], *, test: bool = False) -> Measured:
    """Return what runs of an experiment's cells measured; with `test`, of baseline and chosen cell on the test side."""
    rule, comparison = experiment.rule, None
    if len(runs) > 1 and rule.baseline in runs:
        named = [replace(run, name=name) for name, run in runs.items()]
        comparison = comparisons.compare_runs(
            workspace,
            named,
            k_of(rule.primary, experiment.baseline.run.k),
            primary=rule.primary,
            minimum_effect=rule.minimum_effect,
        )
    prices, refusals = comparisons.prices(workspace, runs), refusals_of(workspace, runs)
    said = conclude(experiment, comparison, prices, refusals, test=test)
    return Measured(runs, comparison, prices, refusals, said)


def of_cells(workspace: Workspace, experiment: Experiment) -> Measured:
    """Return what the cells of an experiment measured on the questions that they asked."""
    return measured(workspace, as_stored(workspace, experiment), runs_of(workspace, experiment))


def confirmed(workspace: Workspace, experiment: Experiment) -> tuple[Measured | None, str]:
    """Return what baseline and chosen cell measured on the test side; None before, or why it cannot be shown."""
    if (confirmation := experiment.confirmation) is None:
        return None, ""
    ids = {experiment.rule.baseline: confirmation.baseline_run, confirmation.chosen: confirmation.chosen_run}
    runs = {name: run for name, run_id in ids.items() if (run := workspace.store.runs.find(run_id)) is not None}
    if len(runs) < len(ids):
        return None, (
            f"'{experiment.name}' was confirmed on test, but a run of that was deleted: its numbers are lost, and the "
            "test side was seen."
        )
    return measured(workspace, experiment, runs, test=True), ""


def refusals_of(workspace: Workspace, runs: Mapping[str, Run]) -> dict[str, float]:
    """Return the share of the questions that the documents answer which each cell refuses, by name."""
    shares: dict[str, float] = {}
    for name, run in runs.items():
        if run.knows.answers:
            overview = overviews.overview(workspace, run)
            abstained = overview.judgement.abstention
            answerable = overview.questions - abstained.unanswerable
            shares[name] = (abstained.refused - abstained.both) / answerable if answerable else 0.0
    return shares


@dataclass(frozen=True, slots=True)
class Row:
    """A cell as it is listed: its estimate in the primary metric and its difference to the baseline, None without one.

    `price` is what it takes for a question, `run` the name of its run, "" without one. `same` is the cell before it
    that ranks the same chunks to the same k for each question and answers alike, "" without one.
    """

    cell: Cell
    run: str
    estimate: Estimate | None
    delta: Delta | None
    price: Price
    same: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that an experiment says: its cells in their order, what they measured, and what that did on test.

    `lost` says why a confirmation cannot be shown any more, "" when it can, or there was none.
    """

    experiment: Experiment
    rows: tuple[Row, ...]
    measured: Measured
    on_test: Measured | None
    conclusion: Conclusion
    lost: str = ""

    @property
    def comparison(self) -> Comparison | None:
        """The finished cells compared, None for fewer than two."""
        return self.measured.comparison

    @property
    def test(self) -> Conclusion | None:
        """What the test side says of the choice, None before it was asked."""
        return self.on_test.conclusion if self.on_test is not None else None

    @property
    def sentence(self) -> str:
        """What holds now, in a sentence: once baseline and choice were run on test, what that says of the choice."""
        if self.test is None or self.experiment.confirmation is None:
            return self.conclusion.sentence
        confirmed = "Confirmed on test." if self.test.decision == "ship" else "Not confirmed on test."
        return f"{confirmed} {self.test.sentence}"

    @property
    def lines(self) -> list[tuple[str, Row]]:
        """The rows as they are shown, each with its name: cells of the same rankings are one line."""
        shown = []
        for row in self.rows:
            alike = [row.cell.name, *(each.cell.name for each in self.rows if each.same == row.cell.name)]
            names = [f"{name} (baseline)" if name == self.experiment.rule.baseline else name for name in alike]
            if not row.same:
                shown.append((" = ".join(names) + " (same rankings)" * (len(names) > 1), row))
        return shown

    @property
    def scope(self) -> str:
        """On how many questions and clusters of documents the verdict rests, and of which documents it speaks."""
        if self.comparison is None:
            return ""
        differences = [delta.difference for delta in self.comparison.rows[self.comparison.rule.primary].deltas]
        least = min(range(len(differences)), key=lambda place: differences[place].n)
        return evaluate.cluster_words(self.comparison.pair(self.comparison.rule.primary, least + 1).clusters)


def outcome_of(workspace: Workspace, experiment: Experiment) -> Outcome:
    """Return everything that an experiment says now."""
    experiment = as_stored(workspace, experiment)
    found = measured(workspace, experiment, runs_of(workspace, experiment))
    runs, comparison, conclusion = found.runs, found.comparison, found.conclusion
    primary, means = experiment.rule.primary, dict[str, Estimate]()
    if comparison is not None:
        estimates = comparison.rows[comparison.rule.primary].estimates
        means = dict(zip(comparison.runs, estimates, strict=True))
    else:
        summed = overviews.summaries(workspace, list(runs.values()))
        for name, run in runs.items():
            estimate = summed[run.id].at_k(primary.partition("@")[0], k_of(primary, run.config.k))
            means |= {name: estimate} if estimate is not None else {}
    same = _same(workspace, runs, comparison) if comparison is not None else {}
    rows = [
        Row(
            cell,
            runs[cell.name].name if cell.name in runs else "",
            means.get(cell.name),
            conclusion.deltas.get(cell.name),
            found.prices.get(cell.name, Price()),
            same.get(cell.name, ""),
        )
        for cell in experiment.cells
    ]
    on_test, lost = confirmed(workspace, experiment)
    confirmation = experiment.confirmation
    if confirmation is not None and conclusion.chosen not in ("", confirmation.chosen):
        changed = f"{confirmation.chosen} was chosen when it was run on test; by what is stored now, it would not be."
        conclusion = replace(conclusion, notes=(*conclusion.notes, changed))
    return Outcome(experiment, tuple(rows), found, on_test, conclusion, lost)


def _same(workspace: Workspace, runs: Mapping[str, Run], comparison: Comparison) -> dict[str, str]:
    """Return the cells that are the `same` as one before them, by name, with the name of that."""
    alike: dict[tuple[object, ...], list[str]] = {}
    chosen = [name for name, field in fields_of(RunConfig).items() if name == "k" or field.group == "answer"]
    for name, ranks in zip(comparison.runs, comparison.ranks, strict=True):  # rankings are read where these are equal
        config = runs[name].config
        found = np.where(ranks <= config.k, ranks, 0).tobytes()
        alike.setdefault((found, *(getattr(config, each) for each in chosen)), []).append(name)
    same: dict[str, str] = {}
    for names in alike.values():
        first: dict[tuple[object, ...], str] = {}
        for name in names if len(names) > 1 else ():
            k, results = runs[name].config.k, measurements.results_of(workspace, runs[name])
            earlier = first.setdefault(tuple((each.question_id, each.ranking.ids[:k]) for each in results), name)
            same |= {name: earlier} if earlier != name else {}
    return same


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return everything that an experiment says, as the command line prints it."""
    experiment = outcome.experiment
    cells = [
        {
            "name": row.cell.name,
            "state": row.cell.state,
            "reason": row.cell.reason,
            "run": row.run,
            "same_rankings": row.same,
            "index": asdict(row.cell.index),
            "choices": {key: value for key, value in asdict(row.cell.run).items() if key != "index"},
            "estimate": asdict(row.estimate) if row.estimate else None,
            "delta": asdict(row.delta) if row.delta else None,
            "tokens": row.price.tokens,
            "dollars": row.price.dollars,
            "seconds": row.price.seconds,
        }
        for row in outcome.rows
    ]
    confirmation = asdict(experiment.confirmation) if experiment.confirmation else None
    return {
        "experiment": experiment.name,
        "sentence": outcome.sentence,
        "split": experiment.split,
        "rule": asdict(experiment.rule),
        "cells": cells,
        "left_out": dict(experiment.left_out),
        "scope": outcome.scope,
        "conclusion": asdict(outcome.conclusion),
        "confirmation": confirmation,
        "test": asdict(outcome.test) if outcome.test else None,
        "lost": outcome.lost,
    }
