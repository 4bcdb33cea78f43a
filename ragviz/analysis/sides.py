"""Runs as they are compared: what differs in their configurations, and what else makes them hard to compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import differing
from ragviz.core.document import Evidence
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score, ScoreStatus
from ragviz.metrics import rank_metrics
from ragviz.metrics.characters import measure_characters
from ragviz.metrics.rank_metrics import Floats
from ragviz.metrics.registry import scores, title_of


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The rankings of a run as measured at one k: of the n questions with evidence, in their order.

    `ranks` are those by which the evidence of each is found, (n,), 0 for none in the depth; `values` holds a number per
    question, (n,), by the label of the metric ("recall@3", "mrr").
    """

    question_ids: tuple[str, ...]
    ranks: NDArray[np.int64]
    values: Mapping[str, Floats]


def measured(
    results: Sequence[Retrieved], k: int, depth: int, evidence: Mapping[str, Evidence] | None = None
) -> Measured:
    """Measure rankings at `k`, to `depth`; the character metrics too where the questions' evidence is given.

    Raises:
        UsageError: `k` is not between 1 and `depth`.

    """
    rankings = rank_metrics.read(results, depth)
    table = rank_metrics.measure(rankings)
    characters = measure_characters(rankings, evidence, k) if evidence else None
    return Measured(table.question_ids, rank_metrics.ranks(table), scores(table, k, characters=characters))


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The scores of a run's answers by one metric: `values`, (n,), NaN where a question has a reason instead.

    `versions` are those by which values were measured. `statuses`, (n,), are places in `STATUSES`.
    """

    question_ids: tuple[str, ...]
    values: Floats
    versions: tuple[str, ...]
    statuses: NDArray[np.int8]

    @property
    def applicable(self) -> NDArray[np.bool_]:
        """Where the metric applies, (n,)."""
        return np.asarray(self.statuses != STATUSES.index("not_applicable"))

    @property
    def known(self) -> dict[str, float]:
        """The values by question id, of the questions that have one."""
        rows = np.flatnonzero(np.isfinite(self.values))
        return {
            self.question_ids[row]: value for row, value in zip(rows.tolist(), self.values[rows].tolist(), strict=True)
        }

    def of_status(self, status: ScoreStatus) -> set[str]:
        """Return the ids of the questions with a status."""
        return {self.question_ids[row] for row in np.flatnonzero(self.statuses == STATUSES.index(status)).tolist()}


STATUSES: tuple[ScoreStatus, ...] = get_args(ScoreStatus)


def column(by_question: Mapping[str, Score]) -> Column:
    """Return the scores of one metric, by question id, as a column."""
    values = [np.nan if score.value is None else score.value for score in by_question.values()]
    used = {score.version for score in by_question.values() if score.value is not None}
    place = {status: place for place, status in enumerate(STATUSES)}
    statuses = np.array([place[score.status] for score in by_question.values()], dtype=np.int8)
    return Column(tuple(by_question), np.array(values, dtype=np.float64), tuple(sorted(used)), statuses)


def shared(asked: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Return the ids that are in all of these, in the order of the first, and their places in each."""
    if all(ids == asked[0] for ids in asked):
        return asked[0], [np.arange(len(asked[0]))] * len(asked)
    places = [{question_id: place for place, question_id in enumerate(ids)} for ids in asked]
    ids = tuple(i for i in asked[0] if all(i in of for of in places))
    return ids, [np.array([of[i] for i in ids], dtype=np.int64) for of in places]


def side_by_side(columns: Sequence[Column]) -> tuple[tuple[str, ...], Floats, NDArray[np.bool_]]:
    """Return the questions asked in all columns, their values, NaN for none, where the metric applies: (runs, n)."""
    ids, rows = shared([each.question_ids for each in columns])
    values = np.stack([each.values[place] for each, place in zip(columns, rows, strict=True)])
    return ids, values, np.stack([each.applicable[place] for each, place in zip(columns, rows, strict=True)])


@dataclass(frozen=True, slots=True)
class RunSide:
    """A run as it is compared.

    `config` holds its choices, "k" and "depth" among them, those of the index nested; `fingerprint` maps everything
    else that went into its numbers ("corpus", "questions", "metrics" …) to a hash. `measure` returns its rankings as
    measured at a k, to a depth. `scores` are those of its answers by metric; `doubt` says why their judge is not
    reliable, "" when it is. `asked` says which questions were asked ("validation: 50 of 100 questions"). `named` are
    words for parts of the fingerprint, where a hash tells a person nothing: "version 2 of asked" for "questions".
    """

    name: str
    config: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    measure: Callable[[int, int], Measured]
    scores: Mapping[str, Column] = field(default_factory=dict)
    doubt: str = ""
    asked: str = ""
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """A choice in which the runs differ: its dotted name, and each run's value, None where a run has no such choice."""

    key: str
    values: tuple[Any, ...]


def settings_that_differ(sides: Sequence[RunSide]) -> tuple[Setting, ...]:
    """Choices in which the runs differ, in the order of the first run's configuration, then the others'.

    Where a run does not use a choice (the RRF constant without hybrid retrieval), its value is None, and only the runs
    that use it can differ in it.
    """
    flat = [dict(flattened(side.config)) for side in sides]
    rows = []
    for key in dict.fromkeys(key for config in flat for key in config):
        uses = [differing.used(key, side.config) for side in sides]
        values = tuple(config.get(key) if use else None for config, use in zip(flat, uses, strict=True))
        used = [value for value, use in zip(values, uses, strict=True) if use]
        if any(value != used[0] for value in used):
            rows.append(Setting(key, values))
    return tuple(rows)


def answer_metrics(sides: Sequence[RunSide]) -> list[str]:
    """Return the metrics of answers that all runs have."""
    return [name for name in sides[0].scores if all(name in side.scores for side in sides)]


def versions(sides: Sequence[RunSide], name: str) -> list[str]:
    """Return the versions by which a metric was measured: scores of two versions are not comparable."""
    return sorted({version for side in sides for version in side.scores[name].versions})


def of_different_sides(sides: Sequence[RunSide]) -> bool:
    """Whether the runs ask different sides of a split, or some of them one side and others all questions."""
    return len({side.config.get("split", "") for side in sides}) > 1


def notes(
    sides: Sequence[RunSide], k: int, depth: int, counts: Sequence[int], common: int, own: Collection[str]
) -> Iterator[str]:
    """Yield what, besides the choices compared, is not the same for all runs.

    `counts` are the questions with evidence of each, `common` those that are compared; the metrics `own` are at
    each run's own k.
    """
    if of_different_sides(sides):
        each = ", ".join(f"{side.name} {side.asked}" for side in sides)
        yield f"The runs ask different sides of a split ({each}): only questions that all of them ask are compared."
    for part in dict.fromkeys(part for side in sides for part in side.fingerprint):
        if part == "questions" and of_different_sides(sides):
            continue  # said above
        if len({side.fingerprint.get(part) for side in sides}) > 1:
            hashes = [side.fingerprint.get(part, "none") for side in sides]
            words = [side.named.get(part, "") for side in sides]
            said = words if all(words) and len(set(words)) == len(set(hashes)) else hashes
            marks = ", ".join(f"{side.name} {each}" for side, each in zip(sides, said, strict=True))
            yield f"The runs differ in {part} ({marks}): a difference may come from that, not from the settings."
    if not common:
        return
    if any(count != common for count in counts):
        each = ", ".join(f"{side.name} has {count}" for side, count in zip(sides, counts, strict=True))
        yield f"Compared on the {common} questions that all runs have with evidence; {each}."
    if any(side.config["k"] != k for side in sides):
        each = ", ".join(f"{side.name}: {side.config['k']}" for side in sides)
        if own:
            names = " and ".join(map(title_of, sorted(own)))
            yield f"{names}: measured at each run's own k ({each}); every other metric at k = {k}."
        else:
            yield f"All runs are measured at k = {k}, not at their own k ({each})."
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


def flattened(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested choices by their dotted names."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
