"""A grid of configurations with the rule that decides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.question import Side

Quantity = Literal["tokens", "dollars", "seconds", "refusals"]
"""What a guardrail bounds, on average over the questions: tokens read, dollars, seconds, the share that is refused."""
CellState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """The most that a configuration may take on average for a question, as a number or as a multiple of the baseline's.

    >>> Guardrail("tokens", 1.5, relative=True).limit(600), Guardrail("seconds", 2.0).limit(None)
    (900.0, 2.0)
    """

    quantity: Quantity
    most: float
    relative: bool = False

    def limit(self, baseline: float | None) -> float | None:
        """Return the limit as a number; None for a multiple of what is not known."""
        if not self.relative:
            return self.most
        return None if baseline is None else self.most * baseline


@dataclass(frozen=True, slots=True)
class ExperimentRule:
    """What decides in an experiment, declared before its first result is seen.

    `primary` is the label of a metric ("recall@3", "faithfulness"), `minimum_effect` the smallest difference that
    matters as a share of its range, `baseline` the name of a cell.
    """

    primary: str
    minimum_effect: float
    baseline: str
    guardrails: tuple[Guardrail, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration of an experiment: choices of an index and of a run, whose `index` is "" here.

    `name` says what tells it from the other cells. `reason` says why it failed. `index_id` and `run_id` are "" until
    there are any; they may be of an index and a run that were deleted since.
    """

    name: str
    index: IndexConfig
    run: RunConfig
    state: CellState = "waiting"
    reason: str = ""
    index_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The runs, by id, that asked the test side once: that of the baseline, and that of the cell that was chosen."""

    chosen: str
    baseline_run: str
    chosen_run: str
    created: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named set of cells over one question set, with the rule that decides between them.

    `questions` is the id of the set, `split` the side of it that the cells ask, "" for all its questions. `left_out`
    are combinations of the grid that are impossible, and why, by name. `seen` is when the first result was stored, None
    before: the rule cannot be changed after it. `person` declared it.
    """

    id: str
    corpus_id: str
    name: str
    questions: str
    split: Side | Literal[""]
    rule: ExperimentRule
    cells: tuple[Cell, ...]
    left_out: Mapping[str, str]
    created: float
    seen: float | None = None
    confirmation: Confirmation | None = None
    person: str = ""

    def cell(self, name: str) -> Cell | None:
        """Return the cell with this name."""
        return next((cell for cell in self.cells if cell.name == name), None)

    def run_name(self, cell: str, side: str = "") -> str:
        """Return the name of the run of a cell, or of its run on another side of the split."""
        return " · ".join(filter(None, (self.name, side, cell)))[:200]

    @property
    def baseline(self) -> Cell:
        """The cell with which the others are compared."""
        return next(cell for cell in self.cells if cell.name == self.rule.baseline)

    @property
    def finished(self) -> tuple[Cell, ...]:
        """The cells whose runs are done, the baseline first."""
        done = [cell for cell in self.cells if cell.state == "done"]
        return tuple(sorted(done, key=lambda cell: cell.name != self.rule.baseline))
