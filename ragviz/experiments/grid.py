"""The cells of an experiment: the product of the values given for any choice, or a list picked by hand.

A combination that is impossible (knn on an index without an embedder) is left out, with the reason; equal ones are one
cell. A cell is named by the choices in which the cells differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from ragviz.core.configuration import IndexConfig, Run, RunConfig
from ragviz.core.errors import InputError, RagvizError, UsageError
from ragviz.core.experiment import Cell
from ragviz.core.fields import Field, fields_of
from ragviz.core.question_set import QuestionSet
from ragviz.index import chunking, indexing
from ragviz.retrieval import rerankers, retrievers
from ragviz.runs import choices, recorded
from ragviz.text.markup import shortened
from ragviz.workspace import Workspace

MOST = 200
"""Cells of one experiment at most."""
NAMED = 30
"""Characters of instructions in a cell's name."""

Pick = Mapping[str, Any]
"""Values of some axes by their names, as JSON has them; "name" may name the cell."""


def axes() -> dict[str, Field]:
    """Return the choices that cells may differ in by name, in the order in which a cell's name says them."""
    declared = {**fields_of(IndexConfig), **fields_of(RunConfig)}
    return {name: field for name, field in declared.items() if field.swept}


@dataclass(frozen=True, slots=True)
class Planned:
    """The cells of an experiment before it is declared, and by name why other combinations are left out."""

    cells: tuple[Cell, ...]
    left_out: Mapping[str, str]


def crossed(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values given for each axis, in the order of the declarations (first: slowest).

    >>> crossed({"chunk_size": [100, 200], "retriever": ["knn"]})
    [{'chunk_size': 100, 'retriever': 'knn'}, {'chunk_size': 200, 'retriever': 'knn'}]

    Raises:
        UsageError: there is no such choice, or the combinations are more than `MOST`.

    """
    known = axes()
    if unknown := sorted(values.keys() - known.keys()):
        raise UsageError(f"{', '.join(unknown)} is no choice: there are {', '.join(known)}.")
    named = {name: list(dict.fromkeys(given)) for name in known if (given := values.get(name))}
    count = math.prod(len(given) for given in named.values())
    if count > MOST:
        sizes = " × ".join(f"{len(given)} {known[name].label}" for name, given in named.items() if len(given) > 1)
        raise UsageError(f"{sizes} are {count:,} combinations, at most {MOST} are tried at once: choose fewer values.")
    return [dict(zip(named, combination, strict=True)) for combination in product(*named.values())]


def read_picks(data: bytes) -> list[dict[str, Any]]:
    """Read cells that were picked by hand: a JSON list of objects, as [{"chunk_size": 100, "retriever": "bm25"}].

    Raises:
        InputError: it is no such list, or an object has a key that is no choice.

    """
    try:
        picks = json.loads(data)
    except ValueError as error:
        raise InputError(f"The cells are no JSON: {error}.") from None
    if not isinstance(picks, list) or not picks or not all(isinstance(pick, dict) for pick in picks):
        raise InputError('Give the cells as a JSON list of objects, as [{"chunk_size": 100, "retriever": "bm25"}].')
    if len(picks) > MOST:
        raise InputError(f"{len(picks):,} cells are listed, at most {MOST} are tried at once.")
    known = axes()
    for number, pick in enumerate(picks, start=1):
        if unknown := sorted(pick.keys() - known.keys() - {"name"}):
            raise InputError(
                f"Cell {number} has {', '.join(unknown)}, which is no choice: there are {', '.join(known)}."
            )
    return picks


def planned(
    workspace: Workspace,
    question_set: QuestionSet,
    picks: Sequence[Pick],
    *,
    split: str = "",
    metrics: Sequence[str] = (),
    judge: str = "",
    seed: int = 0,
) -> Planned:
    """Return the cells that these picks make over a question set; `metrics` and `judge` are those of all cells.

    Raises:
        UsageError: a value cannot be read or does not exist, or no combination is possible.

    """
    common = {"questions": question_set.id, "split": split, "metrics": tuple(metrics), "judge": judge, "seed": seed}
    values = [_values(workspace, pick) for pick in picks]
    names = _names(values, [str(pick.get("name", "")) for pick in picks])
    cells: dict[tuple[str, str], Cell] = {}
    left_out: dict[str, str] = {}
    for name, of_cell in zip(names, values, strict=True):
        try:
            cell = _cell(workspace, name, of_cell, common)
        except RagvizError as error:
            left_out[name] = str(error)
            continue
        cells.setdefault((cell.index.hash(), cell.run.hash()), cell)
    if not cells:
        reasons = " ".join(dict.fromkeys(left_out.values()))
        raise UsageError(f"No combination is possible: {reasons}")
    return Planned(tuple(cells.values()), left_out)


def with_run(workspace: Workspace, planned: Planned, run: Run) -> tuple[Planned, str]:
    """Return cells with one of a run's configuration, and its name: it is the first unless there is an equal one.

    It asks the same questions, and is judged in the same way, as the others.
    """
    of = planned.cells[0].run
    asked = {name: getattr(of, name) for name in ("questions", "split", "limit", "metrics", "judge", "seed")}
    config = replace(choices.resolved(workspace, replace(run.config, **asked)), index="")
    cell = Cell(f"as {run.name}", IndexConfig(**run.provenance["index_config"]), config)
    for other in planned.cells:
        if (other.index.hash(), other.run.hash()) == (cell.index.hash(), cell.run.hash()):
            return planned, other.name
    return replace(planned, cells=(cell, *planned.cells)), cell.name


def defaults(workspace: Workspace) -> dict[str, str]:
    """Return the value of every axis that is taken where none is given; "" where the run decides (the model's name)."""
    return {name: str(value) for name, value in _values(workspace, {}).items()}


def _values(workspace: Workspace, pick: Pick) -> dict[str, Any]:
    """Return the value of every axis for one pick, by default that of an index or run that says nothing of it.

    What makes no difference has the declared default, so that equal cells are equal.
    """
    known = axes()
    given = {name: known[name].read(str(value)) for name, value in pick.items() if name != "name"}
    if system := given.get("system"):
        return {name: field.default for name, field in known.items()} | {"system": system}
    index = indexing.index_config(workspace, {n: v for n, v in given.items() if n in fields_of(IndexConfig)})
    run = choices.run_config(index, {n: v for n, v in given.items() if n in fields_of(RunConfig)})
    values = {**asdict(index), **asdict(run), "backend": given.get("backend", index.backend)}
    return {name: values[name] if field.counts(values) else field.default for name, field in known.items()}


def _names(values: Sequence[Mapping[str, Any]], given: Sequence[str]) -> list[str]:
    built = [of_cell for of_cell in values if not of_cell["system"]]  # of a running system no other choice counts
    differ = {name: field for name, field in axes().items() if len({str(of_cell[name]) for of_cell in built}) > 1}
    differ = differ or {name: axes()[name] for name in ("chunker", "chunk_size", "retriever")}
    made: list[str] = []
    seen: dict[str, int] = {}
    for of_cell, name in zip(values, given, strict=True):
        words = (
            f"“{shortened(value, NAMED)}”" if field.many_lines and value else field.in_name(value)
            for axis, field in differ.items()
            if field.counts(of_cell)
            for value in [of_cell[axis]]
        )
        shown = name.strip() or of_cell["system"] or " ".join(filter(None, words))
        shown = shown or " ".join(f"no {axis}" for axis in differ if of_cell[axis] in ("none", ""))
        same = json.dumps(dict(of_cell), sort_keys=True)
        number = seen.setdefault(f"{shown}\n{same}", sum(key.startswith(f"{shown}\n") for key in seen) + 1)
        made.append(shown if number == 1 else f"{shown} ({number})")
    return made


def _cell(workspace: Workspace, name: str, values: Mapping[str, Any], common: Mapping[str, Any]) -> Cell:
    """Return the cell of these values; UsageError says why it is impossible."""
    if system := values["system"]:
        recorded.system_of(workspace, system)
        return Cell(name, IndexConfig(embedder=""), RunConfig("", retriever="imported", system=system, **common))
    of_index, of_run = ({n: values[n] for n in fields_of(record) if n in values} for record in (IndexConfig, RunConfig))
    index = indexing.index_config(workspace, of_index)
    run = RunConfig(**of_run, **common)
    chunking.check(index)
    retrievers.check_offered(index, run.retriever)
    rerankers.check_offered(index, run.reranker)
    workspace.open_index("cell", index.backend, index.options)
    choices.check_run(run)
    return Cell(name, index, replace(choices.resolved(workspace, run), index=""))
