"""Declaring an experiment: its cells and its rule, before the first result is seen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from ragviz.analysis.rules import checked_effect
from ragviz.core.digests import new_id
from ragviz.core.errors import UsageError
from ragviz.core.experiment import Cell, Experiment, ExperimentRule, Guardrail, Quantity
from ragviz.core.question_set import QuestionSet
from ragviz.experiments.grid import Planned
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import OWN, k_of, labelled
from ragviz.runs import choices
from ragviz.workspace import Workspace

LONGEST_NAME = 80
"""Characters of an experiment's name: those of its runs hold it and the name of their cell."""


def read_guardrail(text: str) -> Guardrail:
    """Read a guardrail as a person writes it: a most, or a multiple of what the baseline takes.

    >>> read_guardrail("tokens=1.5x")
    Guardrail(quantity='tokens', most=1.5, relative=True)
    >>> read_guardrail("refusals=0.1")
    Guardrail(quantity='refusals', most=0.1, relative=False)

    Raises:
        UsageError: it is not of this form, or bounds something else.

    """
    quantity, equals, most = (part.strip() for part in text.partition("="))
    if quantity not in get_args(Quantity) or not equals:
        known = ", ".join(get_args(Quantity))
        raise UsageError(f"'{text}' is no guardrail: write NAME=MOST or NAME=TIMESx, NAME one of {known}.")
    relative = most.endswith("x")
    try:
        bound = float(most.removesuffix("x"))
    except ValueError:
        bound = -1.0
    if not 0 <= bound < float("inf"):
        raise UsageError(f"The most in '{text}' is no number from 0 up, as in tokens=1500 or tokens=1.5x.")
    return Guardrail(quantity, bound, relative)  # type: ignore[arg-type]  # checked above


def left_out_words(left_out: Mapping[str, str]) -> list[str]:
    """Say which combinations are impossible, a line for each reason; `left_out` are the reasons by name."""
    names = {why: [name for name, reason in left_out.items() if reason == why] for why in left_out.values()}
    return [f"Left out: {', '.join(each)}. {why}" for why, each in names.items()]


def rule_of(
    planned: Planned,
    *,
    primary: str = "recall",
    minimum_effect: float | None = None,
    baseline: str = "",
    guardrails: Sequence[Guardrail] = (),
) -> ExperimentRule:
    """Return the rule of an experiment with these cells; the baseline is by default the first of them.

    A `primary` metric without a k is of each cell's own k where these differ, and of the one k else.

    Raises:
        UsageError: no such metric or cell, a metric that is not measured in every cell or past a cell's depth, or two
            guardrails on one quantity.

    """
    first = planned.cells[0]
    named = baseline or first.name
    if not any(cell.name == named for cell in planned.cells):
        why = f" It was left out: {planned.left_out[named]}" if named in planned.left_out else ""
        names = ", ".join(f"'{cell.name}'" for cell in planned.cells)
        raise UsageError(f"There is no cell '{named}' to be the baseline: choose one of {names}.{why}")
    one_k = len({cell.run.k for cell in planned.cells}) == 1
    metric = labelled(primary or "recall", first.run.k if one_k else OWN)
    for cell in planned.cells:
        if metric in ANSWER_METRICS and metric not in cell.run.metrics:
            raise UsageError(
                f"Cell '{cell.name}' does not measure '{metric}': choose an answerer and metrics that include it."
            )
        if metric not in ANSWER_METRICS and k_of(metric, 1) > cell.run.depth:
            raise UsageError(f"'{metric}' is past the depth of cell '{cell.name}', {cell.run.depth}: rank deeper.")
    if len({guardrail.quantity for guardrail in guardrails}) < len(guardrails):
        raise UsageError("Two guardrails bound the same: give one for each of " + ", ".join(get_args(Quantity)) + ".")
    return ExperimentRule(metric, checked_effect(minimum_effect), named, tuple(guardrails))


def declare(
    workspace: Workspace, name: str, question_set: QuestionSet, planned: Planned, rule: ExperimentRule, split: str = ""
) -> Experiment:
    """Store an experiment, or return the one of this name that was declared in the same way.

    Until its first result is seen, an experiment is replaced by another declaration under its name.

    Raises:
        UsageError: the name is taken by another corpus, or by another experiment of which a result was seen; there are
            fewer than two cells, the set has no such side, or a sweep would look at the test side.

    """
    store = workspace.store
    if split == "test":
        raise UsageError("A sweep does not look at the test side: choose on validation, then `ragviz confirm` once.")
    if split:
        choices.check_split(question_set, split, question_set.sides.get(split, 0))
    if len(planned.cells) < 2:
        raise UsageError(f"There is one cell, '{planned.cells[0].name}': give a second value for a choice.")
    if len(name.strip()) > LONGEST_NAME:
        raise UsageError(f"The name of an experiment has at most {LONGEST_NAME} characters: this has {len(name)}.")
    new = Experiment(
        new_id(),
        question_set.corpus_id,
        name.strip(),
        question_set.id,
        split,  # type: ignore[arg-type]  # checked above
        rule,
        planned.cells,
        planned.left_out,
        time.time(),
        person=workspace.person.name,
    )
    earlier = store.experiments.find(name)
    if earlier is None:
        return store.experiments.add(new)
    if earlier.corpus_id != question_set.corpus_id:
        raise UsageError(f"Experiment '{earlier.name}' is of another corpus: choose another name.")
    declared = replace(
        earlier, questions=new.questions, split=new.split, rule=rule, cells=new.cells, left_out=new.left_out
    )
    if _choices(declared) == _choices(earlier) and rule == earlier.rule:
        return earlier
    return store.experiments.replace(declared)


def known_cells(planned: Planned, earlier: Experiment) -> tuple[Cell, ...]:
    """Return planned cells with what became of those that an experiment has already."""
    have = {(cell.index.hash(), cell.run.hash()): cell for cell in earlier.cells}
    return tuple(have.get((cell.index.hash(), cell.run.hash()), cell) for cell in planned.cells)


def _choices(experiment: Experiment) -> list[object]:
    cells = [(cell.name, cell.index.hash(), cell.run.hash()) for cell in experiment.cells]
    return [experiment.questions, experiment.split, cells]


def rule_words(rule: ExperimentRule) -> str:
    """Say what decides in an experiment.

    >>> rule_words(ExperimentRule("recall@3", 0.02, "knn", (Guardrail("tokens", 1.5, relative=True),)))
    'recall@3 against knn, differences from 0.02 matter, tokens at most 1.5 times the baseline'
    """
    bounds = [
        f", {each.quantity} at most {each.most:g}{' times the baseline' if each.relative else ''}"
        for each in rule.guardrails
    ]
    return f"{rule.primary} against {rule.baseline}, differences from {rule.minimum_effect:g} matter{''.join(bounds)}"
