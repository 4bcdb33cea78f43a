"""Making the runs of an experiment: what several cells need is made once, a failing one does not stop the others.

Killed at any moment, a sweep resumes: indexes and runs are found by their names, vectors and replies of models in the
cache, rankings in the runs that have them already.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.configuration import IndexConfig, IndexInfo, Run
from ragviz.core.document import Corpus
from ragviz.core.errors import BudgetReached, Cancelled, ModelError, RagvizError, StorageError, UsageError
from ragviz.core.experiment import Cell, Experiment
from ragviz.core.stopping import Progress, silent
from ragviz.experiments import findings
from ragviz.index import indexing
from ragviz.runs import control_items, recorded, running
from ragviz.workspace import Workspace

UPDATES = 0.5
"""Seconds between two reports of how far a cell is."""


def sweep(
    workspace: Workspace, experiment: Experiment, *, budget: float | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Build the indexes and make the runs of all cells that are not done; failed ones are tried again.

    `budget` is in dollars for all runs of the experiment, including what they paid before.

    Returns {"experiment", "done", "failed"}: its name and the numbers of cells.

    Raises:
        BudgetReached: the next model call could cost more; the cells that are left can be resumed.
        Cancelled, Deleted: as usual; the cell that was being made is waiting again.

    """
    store = workspace.store
    corpus = store.corpora.get(experiment.corpus_id)
    broken: dict[str, str] = {}  # why an index cannot be built, by the hash of its configuration, or models not asked
    told: control_items.Told = {}
    # the longest contexts first: a judge's verdicts on their chunks are those on a part of them, too
    todo = sorted((c for c in experiment.cells if not is_done(workspace, c)), key=lambda cell: -cell.run.k)
    finished = len(experiment.cells) - len(todo)
    for number, cell in enumerate(todo, start=finished):
        report = Report(progress, number, len(experiment.cells), cell.name)
        report(0, None, "", "Starting")
        store.experiments.put_cell(experiment.id, replace(cell, state="running", reason=""))
        made, models = replace(cell, state="failed"), f"{cell.run.model} {cell.run.judge}"
        try:
            if not cell.run.system:
                made = replace(made, index_id=_index(workspace, corpus, cell.index, broken, report).id)
            if models in broken:
                raise RagvizError(broken[models])
            name = experiment.run_name(cell.name)
            most = None if budget is None else budget - _paid(workspace, experiment, but=name)
            run = made_run(workspace, experiment, name, cell, made.index_id, budget=most, told=told, progress=report)
            made = replace(made, state="done", reason="", run_id=run.id)
        except (Cancelled, KeyboardInterrupt, BudgetReached, StorageError):
            store.experiments.put_cell(experiment.id, replace(made, state="waiting", reason=""))
            raise
        except RagvizError as error:
            made = replace(made, reason=str(error))
            if isinstance(error, ModelError) and error.outage:
                broken[models] = str(error)  # each cell that asks them would wait as long
        except Exception as error:  # a defect in one cell: it is reported, and the others go on
            traceback.print_exception(error, file=sys.stderr)
            made = replace(made, reason=f"A defect in ragviz: {type(error).__name__}. Report it with the job's log.")
        store.experiments.put_cell(experiment.id, made)
    note_choice(workspace, store.experiments.get(experiment.id))
    states = [cell.state for cell in store.experiments.get(experiment.id).cells]
    progress(len(states), len(states), "cells")
    return {"experiment": experiment.name, "done": states.count("done"), "failed": states.count("failed")}


def is_done(workspace: Workspace, cell: Cell) -> bool:
    """Whether the run of a cell is done, and still there."""
    if cell.state != "done":
        return False
    run = workspace.store.runs.find(cell.run_id)
    return run is not None and run.status == "done"


def note_choice(workspace: Workspace, experiment: Experiment) -> None:
    """Note in the runs of an experiment which of them it chose: that one is measured on what it was chosen on."""
    conclusion = findings.of_cells(workspace, experiment).conclusion
    chosen = conclusion.chosen if conclusion.decision == "ship" else ""
    for name, run in findings.runs_of(workspace, experiment).items():
        by = experiment.name if name == chosen else None
        if run.provenance.get("chosen_by") != by:
            workspace.store.runs.note(run.id, chosen_by=by)


def made_run(
    workspace: Workspace,
    experiment: Experiment,
    name: str,
    cell: Cell,
    index_id: str,
    split: str | None = None,
    *,
    budget: float | None = None,
    told: control_items.Told | None = None,
    progress: Progress = silent,
) -> Run:
    """Make the run of a cell as `name`, resume it, or return it where it was finished before.

    The runs of a sweep share what judges `told` of their control items.

    Raises:
        BudgetReached: less than nothing is left.

    """
    if budget is not None and budget < 0:
        raise BudgetReached(f"The runs of '{experiment.name}' have cost more than the budget: give a greater one.")
    side = cell.run.split if split is None else split
    config = replace(cell.run, index=index_id, split=side)  # type: ignore[arg-type]
    if config.system:
        system, question_set = recorded.system_of(workspace, config.system), workspace.store.sets.get(config.questions)
        return recorded.record(workspace, question_set, name, system, config, budget=budget, progress=progress)
    existing = workspace.store.runs.find(name)
    if existing is not None and existing.status == "done":
        if not running.is_made_as(workspace, existing, config):
            raise UsageError(f"There is already a run '{name}' with other choices: rename or delete it, and try again.")
        return existing
    return running.run(workspace, name, config, budget=budget, pooled=True, told=told, progress=progress)


def _paid(workspace: Workspace, experiment: Experiment, but: str) -> float:
    names = [experiment.run_name(cell.name) for cell in experiment.cells]
    runs = [run for name in names if name != but and (run := workspace.store.runs.find(name)) is not None]
    return sum(workspace.store.payments.of(run.id).dollars for run in runs)


# Indexes


def index_of(indexes: Sequence[IndexInfo], config: IndexConfig) -> IndexInfo | None:
    """Return the index of a corpus that has this configuration: one that is built goes before one that is not."""
    same = [info for info in indexes if info.config.hash() == config.hash()]
    return min(same, key=lambda info: (not info.build, info.created), default=None)


def index_name(workspace: Workspace, corpus: Corpus, config: IndexConfig) -> str:
    """Return a free name for a new index of a corpus: "handbook tokens 200"."""
    plain = IndexConfig(embedder=workspace.settings.embedder)
    parts = [corpus.name[:80], config.chunker, str(config.chunk_size)]
    parts += [f"overlap {config.overlap}"] if config.overlap else []
    parts += [f"{config.prefix} prefix"] if config.prefix != plain.prefix else []
    parts += [config.embedder[-40:] or "no embedder"] if config.embedder != plain.embedder else []
    parts += [config.backend] if config.backend != plain.backend else []
    parts += map(str, config.options.values())
    name = " ".join(parts)
    return name if workspace.store.indexes.find(name) is None else f"{name} {config.hash()[:6]}"


def index_for(workspace: Workspace, corpus: Corpus, config: IndexConfig, progress: Progress = silent) -> IndexInfo:
    """Return the index of a configuration, built or brought up to date where it is not; raises as `build_index`."""
    store = workspace.store
    existing = index_of(store.indexes.all(corpus.id), config)
    if existing is not None and is_current(workspace, existing):
        return existing
    name = existing.name if existing is not None else index_name(workspace, corpus, config)
    indexing.build_index(workspace, corpus, name, config, progress=progress)
    return store.indexes.get(name)


def is_current(workspace: Workspace, info: IndexInfo) -> bool:
    """Whether an index is built, of the documents that its corpus has now."""
    return info.status == "ready" and bool(info.build) and not any(indexing.stale(workspace, info))


def _index(
    workspace: Workspace, corpus: Corpus, config: IndexConfig, broken: dict[str, str], progress: Progress
) -> IndexInfo:
    """Return the index of a configuration; one that could not be built for an earlier cell is not tried again."""
    key = config.hash()
    if key in broken:
        raise RagvizError(broken[key])
    try:
        return index_for(workspace, corpus, config, progress)
    except (Cancelled, StorageError):
        raise
    except RagvizError as error:
        broken[key] = f"Its index could not be built: {error}"
        raise RagvizError(broken[key]) from error


class Report:
    """Reports a cell's own progress as a message beside the number of cells that are finished, twice a second."""

    def __init__(self, progress: Progress, finished: int, total: int, cell: str, unit: str = "cells") -> None:
        """Report to `progress`."""
        self._progress, self._finished, self._total, self._cell, self._unit = progress, finished, total, cell, unit
        self._message, self._told = "", 0.0

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report how far the cell is; raises what `progress` raises."""
        if time.monotonic() - self._told >= UPDATES:
            counted = f" {done:,} of {total:,} {unit}" if total else ""
            self._message, self._told = f"{self._cell}: {message}{counted}", time.monotonic()
        self._progress(self._finished, self._total, self._unit, self._message)
