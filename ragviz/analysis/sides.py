"""Runs as they are compared: what differs in their configurations, and what else makes them hard to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragviz.analysis import settings
from ragviz.records import Retrieved, Score


@dataclass(frozen=True, slots=True)
class RunSide:
    """A run as it is compared.

    `config` holds its choices, "k" and "depth" among them, those of the index nested; `fingerprint` maps everything
    else that went into its numbers ("corpus", "questions", "metrics" …) to a hash. `scores` are those of its answers,
    by metric and question id; `doubt` says why their judge is not reliable, "" when it is. `asked` says which questions
    were asked ("validation: 50 of 100 questions").
    """

    name: str
    config: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    results: Sequence[Retrieved]
    scores: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    doubt: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A choice in which the runs differ: its dotted name, and each run's value, None where a run has no such choice."""

    key: str
    values: tuple[Any, ...]


def settings_that_differ(sides: Sequence[RunSide]) -> tuple[Setting, ...]:
    """Choices in which the runs differ, in the order of the first run's configuration, then the others'.

    Where a run does not use a choice, its value is None: runs that differ only in what they do not use are the same.
    """
    flat = [{key: value for key, value in _flat(side.config) if settings.used(key, side.config)} for side in sides]
    keys = dict.fromkeys(key for config in flat for key in config)
    rows = [Setting(key, tuple(config.get(key) for config in flat)) for key in keys]
    return tuple(row for row in rows if any(value != row.values[0] for value in row.values))


def answer_metrics(sides: Sequence[RunSide]) -> list[str]:
    """Return the metrics of answers that all runs have."""
    return [name for name in sides[0].scores if all(name in side.scores for side in sides)]


def versions(sides: Sequence[RunSide], name: str) -> list[str]:
    """Return the versions by which a metric was measured: scores of two versions are not comparable."""
    return sorted({score.version for side in sides for score in side.scores[name].values() if score.value is not None})


def of_different_sides(sides: Sequence[RunSide]) -> bool:
    """Whether the runs ask different sides of a split, or some of them one side and others all questions."""
    return len({side.config.get("split", "") for side in sides}) > 1


def notes(sides: Sequence[RunSide], k: int, depth: int, common: int) -> Iterator[str]:
    """Yield what, besides the choices compared, is not the same for all runs; `common` questions are compared."""
    if of_different_sides(sides):
        each = ", ".join(f"{side.name} {side.asked}" for side in sides)
        yield f"The runs ask different sides of a split ({each}): only questions that all of them ask are compared."
    for part in dict.fromkeys(part for side in sides for part in side.fingerprint):
        if part == "questions" and of_different_sides(sides):
            continue  # said above
        if len({side.fingerprint.get(part) for side in sides}) > 1:
            marks = ", ".join(f"{side.name} {side.fingerprint.get(part, 'none')}" for side in sides)
            yield f"The runs differ in {part} ({marks}): a difference may come from that, not from the settings."
    counts = [sum(bool(result.gold) for result in side.results) for side in sides]
    if any(count != common for count in counts):
        each = ", ".join(f"{side.name} has {count}" for side, count in zip(sides, counts, strict=True))
        yield f"Compared on the {common} questions that all runs have with evidence; {each}."
    if any(side.config["k"] != k for side in sides):
        each = ", ".join(f"{side.name} {side.config['k']}" for side in sides)
        yield f"Compared at k = {k}; the runs' own k is: {each}."
    if any(side.config["depth"] != depth for side in sides):
        each = ", ".join(f"{side.name} {side.config['depth']}" for side in sides)
        yield f"Compared to depth {depth}, MRR and MAP too; the runs' own depth is: {each}."


def answer_notes(sides: Sequence[RunSide]) -> Iterator[str]:
    """Yield what makes scores of answers hard or impossible to compare."""
    yield from (f"{side.name}: {side.doubt}" for side in sides if side.doubt)
    for name in answer_metrics(sides):
        if len(found := versions(sides, name)) > 1:
            yield f"{name} is not compared: its versions are {', '.join(found)}; repeat the older run."
    judges = [side.config.get("judge", "") for side in sides]
    if len(set(judges)) > 1 and all(judges) and answer_metrics(sides):
        each = ", ".join(f"{side.name} {judge}" for side, judge in zip(sides, judges, strict=True))
        yield f"The answers were judged by different models ({each}): a difference may come from the judge."


def generator_notes(sides: Sequence[RunSide], generators: Sequence[str]) -> Iterator[str]:
    """Note that questions made of the chunks' own words cannot tell retrievers apart."""
    if len({side.config.get("retriever") for side in sides}) > 1 and 2 * generators.count("extractive") > len(
        generators
    ):
        yield (
            f"{generators.count('extractive'):,} of the {len(generators):,} questions were generated without a model, "
            "from the words of the chunks: they favour BM25, and do not show which retriever is better."
        )


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value of nested choices."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
