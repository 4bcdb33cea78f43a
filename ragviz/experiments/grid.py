"""The cells of an experiment: the product of the values given for any choice, or a list picked by hand.

A combination that is impossible (knn on an index without an embedder) is left out, with the reason; equal ones are one
cell. A cell is named by the choices in which the cells differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

from ragviz.backends.opening import BACKENDS
from ragviz.backends.protocol import SIMILARITIES
from ragviz.core.answer import AnswererName, ContextKind
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import InputError, RagvizError, UsageError
from ragviz.core.experiment import Cell
from ragviz.core.question_set import QuestionSet
from ragviz.index import chunking, prefixes
from ragviz.retrieval import rerankers, retrievers
from ragviz.runs import choices
from ragviz.text.markup import shortened
from ragviz.workspace import Workspace

MOST = 200
"""Cells of one experiment at most."""
NAMED = 30
"""Characters of instructions in a cell's name."""

Pick = Mapping[str, Any]
"""Values of some axes by their names, as JSON has them; "name" may name the cell."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A choice that cells may differ in.

    `of` says whose it is, `read` makes its value of what a person wrote, `words` says it in a cell's name. `known` are
    the values that can be chosen, empty where any can.
    """

    title: str
    of: Literal["index", "run"]
    read: Callable[[str], Any]
    words: Callable[[Any], str] = str
    known: tuple[str, ...] = ()


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number.") from None


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"'{text}' is not a number.")
    return number


def _one_of(what: str, known: Collection[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise UsageError(f"There is no {what} '{text}': choose one of {', '.join(known)}.")
        return text

    return read


def _backend(text: str) -> str:
    """Check a backend, with its type of index behind a colon where it has several ("elasticsearch:flat")."""
    name = text.partition(":")[0]
    _one_of("backend", BACKENDS)(name)
    return text


def _reranker(text: str) -> str:
    rerankers.spec_of(text)
    return text


AXES: Mapping[str, Axis] = {
    "chunker": Axis("Chunker", "index", _one_of("chunker", chunking.CHUNKERS), known=tuple(chunking.CHUNKERS)),
    "chunk_size": Axis("Chunk size (tokens)", "index", _whole),
    "overlap": Axis("Overlap (tokens)", "index", _whole, lambda n: f"overlap {n}"),
    "prefix": Axis(
        "Prefix of chunks",
        "index",
        _one_of("prefix", prefixes.PREFIXES),
        lambda name: "" if name == prefixes.NONE else f"{name} prefix",
        tuple(prefixes.PREFIXES),
    ),
    "embedder": Axis("Embedder", "index", str, lambda name: name or "no embedder"),
    "backend": Axis("Backend", "index", _backend, lambda name: name.replace(":", " "), tuple(BACKENDS)),
    "similarity": Axis("Similarity", "index", _one_of("similarity", SIMILARITIES), known=tuple(SIMILARITIES)),
    "retriever": Axis("Retriever", "run", _one_of("retriever", retrievers.RETRIEVERS), known=(*retrievers.RETRIEVERS,)),
    "rrf_constant": Axis("RRF constant", "run", _whole, lambda n: f"RRF {n}"),
    "reranker": Axis("Reranker", "run", _reranker, lambda name: "" if name == rerankers.NONE else name),
    "rerank_depth": Axis("Chunks to rerank", "run", _whole, lambda n: f"reranks {n}"),
    "depth": Axis("Depth", "run", _whole, lambda n: f"depth {n}"),
    "k": Axis("k", "run", _whole, lambda n: f"k {n}"),
    "answerer": Axis(
        "Answerer",
        "run",
        _one_of("answerer", get_args(AnswererName)),
        lambda name: "no answers" if name == "none" else f"{name} answers",
        get_args(AnswererName),
    ),
    "model": Axis("Model that answers", "run", str),
    "temperature": Axis("Temperature", "run", _number, lambda n: f"temperature {n:g}"),
    "instructions": Axis(
        "Instructions to the model",
        "run",
        lambda text: "" if text.strip() == "none" else text.strip(),
        lambda text: f"“{shortened(text, NAMED)}”" if text else "",
    ),
    "context": Axis(
        "Context",
        "run",
        _one_of("context", get_args(ContextKind)),
        lambda kind: {"retrieved": "retrieved chunks", "none": "closed book", "oracle": "gold chunks"}[kind],
        get_args(ContextKind),
    ),
    "context_tokens": Axis("Context budget (tokens)", "run", _whole, lambda n: f"budget {n}"),
}
"""What cells may differ in, by its name on the command line with _ for -; in the order of a cell's name."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The cells of an experiment before it is declared, and by name why other combinations are left out.

    `repeated` counts the combinations that are equal to an earlier one.
    """

    cells: tuple[Cell, ...]
    left_out: Mapping[str, str]
    repeated: int = 0


def crossed(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values given for each axis, the first axis slowest; axes without values none.

    >>> crossed({"chunk_size": [100, 200], "retriever": ["knn"]})
    [{'chunk_size': 100, 'retriever': 'knn'}, {'chunk_size': 200, 'retriever': 'knn'}]

    Raises:
        UsageError: the combinations are more than `MOST`.

    """
    named = {name: list(dict.fromkeys(given)) for name, given in values.items() if given}
    count = math.prod(len(given) for given in named.values())
    if count > MOST:
        sizes = " × ".join(f"{len(given)} {AXES[name].title}" for name, given in named.items() if len(given) > 1)
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
    for number, pick in enumerate(picks, start=1):
        if unknown := sorted(pick.keys() - AXES.keys() - {"name"}):
            raise InputError(
                f"Cell {number} has {', '.join(unknown)}, which is no choice: there are {', '.join(AXES)}."
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
    repeated = 0
    for name, of_cell in zip(names, values, strict=True):
        try:
            cell = _cell(workspace, name, of_cell, common)
        except RagvizError as error:
            left_out[name] = str(error)
            continue
        key = cell.index.hash(), cell.run.hash()
        repeated += key in cells
        cells.setdefault(key, cell)
    if not cells:
        reasons = " ".join(dict.fromkeys(left_out.values()))
        raise UsageError(f"No combination is possible: {reasons}")
    return Planned(tuple(cells.values()), left_out, repeated)


def defaults(workspace: Workspace) -> dict[str, str]:
    """Return the value of every axis that is taken where none is given; "" where the run decides (the model's name)."""
    return {name: str(value) for name, value in _values(workspace, {}).items()}


def _values(workspace: Workspace, pick: Pick) -> dict[str, Any]:
    """Return the value of every axis for one pick, by default that of an index or run that says nothing of it."""
    given = {name: AXES[name].read(str(value)) for name, value in pick.items() if name != "name"}
    embedder = workspace.embedder_name(given.get("embedder"))
    reranker = given.get("reranker", rerankers.NONE)
    defaults: dict[str, Any] = {
        **{name: getattr(IndexConfig(), name) for name, axis in AXES.items() if axis.of == "index"},
        **{name: getattr(RunConfig("", ""), name) for name, axis in AXES.items() if axis.of == "run"},
        "backend": workspace.default_backend,
        "retriever": retrievers.offered(IndexConfig(embedder=embedder))[0],
        "rerank_depth": rerankers.default_depth(reranker),
    }
    return _as_used(defaults | given | {"embedder": embedder})


def _as_used(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the default in place of what makes no difference, so that equal cells are equal."""
    plain = RunConfig("", "")
    if values["retriever"] != "hybrid":
        values["rrf_constant"] = plain.rrf_constant
    if values["reranker"] == rerankers.NONE:
        values["rerank_depth"] = plain.rerank_depth
    if values["answerer"] != "model":
        values |= {"model": plain.model, "temperature": plain.temperature, "instructions": plain.instructions}
    if values["answerer"] == "none":
        values |= {"context": plain.context}
    if values["answerer"] == "none" or values["context"] == "none":
        values["context_tokens"] = plain.context_tokens
    return values


def _names(values: Sequence[Mapping[str, Any]], given: Sequence[str]) -> list[str]:
    """Name cells by the choices in which they differ, or as they were given; equal names get a number."""
    differ = [name for name in AXES if len({str(of_cell[name]) for of_cell in values}) > 1]
    differ = differ or ["chunker", "chunk_size", "retriever"]
    made: list[str] = []
    seen: dict[str, int] = {}
    for of_cell, name in zip(values, given, strict=True):
        shown = name.strip() or " ".join(filter(None, (_words(axis, of_cell) for axis in differ)))
        shown = shown or " ".join(f"no {axis}" for axis in differ if of_cell[axis] in ("none", ""))
        same = json.dumps(dict(of_cell), sort_keys=True)
        number = seen.setdefault(f"{shown}\n{same}", sum(key.startswith(f"{shown}\n") for key in seen) + 1)
        made.append(shown if number == 1 else f"{shown} ({number})")
    return made


def _words(axis: str, of_cell: Mapping[str, Any]) -> str:
    """Say one choice of a cell in its name, "" where it makes no difference to it."""
    unused = {
        "rrf_constant": of_cell["retriever"] != "hybrid",
        "rerank_depth": of_cell["reranker"] == rerankers.NONE,
        "model": of_cell["answerer"] != "model",
        "temperature": of_cell["answerer"] != "model",
        "instructions": of_cell["answerer"] != "model",
        "context": of_cell["answerer"] == "none",
        "context_tokens": of_cell["answerer"] == "none" or of_cell["context"] == "none",
    }
    return "" if unused.get(axis) else AXES[axis].words(of_cell[axis])


def _cell(workspace: Workspace, name: str, values: Mapping[str, Any], common: Mapping[str, Any]) -> Cell:
    """Return the cell of these values; UsageError says why it is impossible."""
    backend, _, kind = values["backend"].partition(":")
    of_index = {each: values[each] for each, axis in AXES.items() if axis.of == "index"}
    options = {"type": kind} if kind else {}
    index = IndexConfig(**of_index | {"backend": backend, "options": options, "chunking_rules": chunking.RULES})
    run = RunConfig(index="", **common, **{each: values[each] for each, axis in AXES.items() if axis.of == "run"})
    chunking.check(index)
    check_searched(index, run)
    workspace.open_index("cell", index)
    choices.check_run(run)
    return Cell(name, index, replace(choices.resolved(workspace, run), index=""))


def check_searched(index: IndexConfig, run: RunConfig) -> None:
    """Raise UsageError where an index of this configuration cannot serve the retriever or the reranker of a run."""
    if run.retriever not in (names := retrievers.offered(index)):
        raise UsageError(
            f"Retriever '{run.retriever}' compares vectors, and an index without an embedder has none: "
            f"{' or '.join(names)} can search it."
        )
    rerankers.check_offered(index, run.reranker)
