"""Planned against made: the cells of a generation's plan, what was made of each, why the rest was not, what it cost.

A set keeps the records of its generations as a fact named "plan". What one generator makes with one seed is one record,
however often it is interrupted, continued or asked for more; what fills gaps is a record of its own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any, Literal

from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan import Cell
from ragviz.models.requests import Usage
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.records import Question, QuestionSet, QuestionType
from ragviz.store import codecs
from ragviz.store.store import Store

FACT = "plan"
"""Name of the set fact."""
State = Literal["running", "done"]


@dataclass(slots=True)
class Row:
    """A cell and what was made of it.

    `made` questions are in it as planned; `moved` were planned here and made elsewhere, because this place yields no
    more; `taken` were made here in place of others, or beyond the plan. `reasons` counts why tries failed.
    """

    cell: Cell
    made: int = 0
    moved: int = 0
    taken: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def missing(self) -> int:
        """Planned questions that were made nowhere."""
        return max(0, self.cell.planned - self.made - self.moved)


@dataclass(slots=True)
class Yield:
    """What a type of questions gave: `kept` of `made` ones, `rejected` by reason, and what they took.

    `unverified` are kept ones that nothing has verified; the next generation does. `calls`, tokens and `dollars` (of
    models with a price) are what was paid for them; what a process paid just before it was killed is left out.
    """

    made: int = 0
    kept: int = 0
    unverified: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0

    def add(self, usage: Usage) -> None:
        """Add what calls took."""
        self.calls += usage.calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.dollars += usage.cost

    def count(self, reason: str) -> None:
        """Count a question that was made; `reason` is why it was rejected, "" for one that is kept."""
        self.made += 1
        if reason:
            self.rejected[kind_of_reason(reason)] += 1
        else:
            self.kept += 1

    def __add__(self, other: Yield) -> Yield:
        """Return the sum."""
        return Yield(*(a + b for a, b in zip(self._values(), other._values(), strict=True)))

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]


@dataclass(slots=True)
class PlanRecord:
    """The record of a generation; `key` names it, `work` the choices that it was last asked for.

    `any_type`: what no cell of a type can yield is made as another type, because nobody asked for types.
    `places` is the number of the row of each kept question, by id.
    """

    key: str
    work: str
    index: str
    generator: str
    seed: int
    fill: bool = False
    any_type: bool = False
    state: State = "running"
    rows: list[Row] = field(default_factory=list)
    yields: dict[QuestionType, Yield] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def planned(self) -> int:
        """All questions that are planned."""
        return sum(row.cell.planned for row in self.rows)

    @property
    def usable(self) -> int:
        """Planned questions that were made, where planned or elsewhere."""
        return sum(row.made + row.moved for row in self.rows)

    def row_of(self, cell: Cell) -> int:
        """Return the number of the row of a cell, whatever it plans; where there is none, one is added."""
        if len(self._numbers) != len(self.rows):
            self._numbers = {_key(row.cell): number for number, row in enumerate(self.rows)}
        number = self._numbers.setdefault(_key(cell), len(self.rows))
        if number == len(self.rows):
            self.rows.append(Row(replace(cell, planned=0)))
        return number

    def count(self, question_id: str, planned: int, made_in: Cell) -> None:
        """Count a kept question that row `planned` asked for and that was made in a cell, this one or another."""
        actual = self.row_of(made_in)
        if actual == planned:
            self.rows[planned].made += 1
        else:
            self.rows[planned].moved += 1
            self.rows[actual].taken += 1
        self.places[question_id] = actual

    def drop(self, question_id: str, reason: str) -> None:
        """Count a question no more, because its verification rejected it after all."""
        row = self.rows[self.places.pop(question_id)]
        given = self.yielded(row.cell.type)
        given.kept -= 1
        given.rejected[kind_of_reason(reason)] += 1
        row.reasons[kind_of_reason(reason)] += 1
        if row.made:
            row.made -= 1
            return
        row.taken -= 1
        planned = next((each for each in self.rows if each.moved and each.cell.type == row.cell.type), None)
        if planned is not None:
            planned.moved -= 1

    def count_unverified(self, questions: Mapping[str, Question]) -> None:
        """Count the kept questions by type that nothing has verified."""
        kept = [questions[question_id] for question_id in self.places if question_id in questions]
        unverified = Counter(question.type for question in kept if question.asked and not question.verified_by)
        for asked, given in self.yields.items():
            given.unverified = unverified[asked]

    def yielded(self, asked: QuestionType) -> Yield:
        """Return what a type gave so far, to be added to."""
        return self.yields.setdefault(asked, Yield())


def _key(cell: Cell) -> tuple[str, ...]:
    return (*cell.place, cell.type, cell.style, cell.chunk)


# What exists already


def planned(
    record: PlanRecord,
    cells: Iterable[Cell],
    earlier: PlanRecord | None,
    kept: Collection[str],
) -> PlanRecord:
    """Return a new `record` of a plan, with the questions of an `earlier` one that are still among the `kept` ones.

    `kept` are the ids of the set's questions that are not rejected.
    A question counts for its own cell, else for one of its document, else for any of its type and style, else of its
    type; more than are planned are beyond the plan.
    """
    cells = list(cells)
    record = replace(record, rows=[Row(cell) for cell in cells], places={}, yields={})
    if earlier is None:
        return record
    is_same = earlier.work == record.work and [row.cell for row in earlier.rows if row.cell.planned] == cells
    if is_same and earlier.places.keys() <= set(kept):
        return _continued(earlier)
    record = replace(record, yields=earlier.yields)
    waiting = [(i, earlier.rows[row].cell) for i, row in sorted(earlier.places.items()) if i in kept]
    for similar in (*_SIMILAR, *([_anything] if record.any_type else [])):
        waiting = _matched(record, waiting, similar)
    for question_id, cell in waiting:
        number = record.row_of(cell)
        record.rows[number].taken += 1
        record.places[question_id] = number
    return record


def _continued(record: PlanRecord) -> PlanRecord:
    """Return a record that goes on; where it was finished, reasons of what is missing are found anew."""
    if record.state == "done":
        for row in record.rows:
            row.reasons = Counter() if row.missing else row.reasons
    return replace(record, state="running")


def _matched(
    record: PlanRecord, waiting: Iterable[tuple[str, Cell]], similar: Callable[[Cell], Hashable]
) -> list[tuple[str, Cell]]:
    """Count questions, made in cells, for rows that are `similar` and lack some; return those that are left."""
    open_rows: dict[Hashable, deque[int]] = defaultdict(deque)
    for number, row in enumerate(record.rows):
        open_rows[similar(row.cell)].extend([number] * row.missing)
    left = []
    for question_id, cell in waiting:
        if numbers := open_rows[similar(cell)]:
            record.count(question_id, numbers.popleft(), cell)
        else:
            left.append((question_id, cell))
    return left


_SIMILAR: tuple[Callable[[Cell], Hashable], ...] = (
    _key,
    lambda cell: (*cell.place, cell.type, cell.style),
    lambda cell: (cell.document_id, cell.type, cell.style),
    lambda cell: cell.chunk or _key(cell),
    lambda cell: (cell.type, cell.style),
    lambda cell: cell.type,
)


def _anything(cell: Cell) -> Hashable:
    """Return the same for every cell but those of chunks."""
    return cell.chunk


# Kept with the set


def records_of(store: Store, set_id: str) -> list[PlanRecord]:
    """Return the records of a set's generations, the oldest first."""
    stored = store.set_fact(set_id, FACT)
    return [_decoded(body) for body in stored["generations"]] if stored else []


def fact_with(store: Store, set_id: str, record: PlanRecord) -> dict[str, Any]:
    """Return the fact of a set with a record in place of an earlier one with its key."""
    others = [each for each in records_of(store, set_id) if each.key != record.key]
    return {"version": 1, "generations": [_encoded(each) for each in [*others, record]]}


def _encoded(record: PlanRecord) -> dict[str, Any]:
    body = {
        name: getattr(record, name)
        for name in ("key", "work", "index", "generator", "seed", "fill", "any_type", "state")
    }
    rows = [[*astuple(row.cell), row.made, row.moved, row.taken, dict(row.reasons)] for row in record.rows]
    yields = {  # `asdict` breaks counters
        name: {part.name: getattr(given, part.name) for part in fields(given)} for name, given in record.yields.items()
    }
    return body | {"rows": rows, "yields": yields, "places": record.places}


def _decoded(body: Mapping[str, Any]) -> PlanRecord:
    rows = [
        Row(Cell(*cell), made, moved, taken, Counter(reasons)) for *cell, made, moved, taken, reasons in body["rows"]
    ]
    yields = {
        name: codecs.from_stored(Yield, {**given, "rejected": Counter(given["rejected"])}, "A plan's yield")
        for name, given in body["yields"].items()
    }
    return codecs.from_stored(PlanRecord, {**body, "rows": rows, "yields": yields}, "A plan")


# What is shown


def cell_rows(records: Iterable[PlanRecord], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return planned against made, a row for each cell, with the reasons; those of several generations together.

    `names` are those of documents by id. Rows are ordered by document, section, type and style.
    """
    cells: dict[tuple[str, ...], Row] = {}
    for row in (row for record in records for row in record.rows):
        same = cells.setdefault(_key(row.cell), Row(replace(row.cell, planned=0)))
        cells[_key(row.cell)] = Row(
            replace(same.cell, planned=same.cell.planned + row.cell.planned), same.made + row.made,
            same.moved + row.moved, same.taken + row.taken, same.reasons + row.reasons,
        )  # fmt: skip
    types, styles = list(TYPES), list(STYLES)
    ordered = sorted(
        cells.values(),
        key=lambda row: (
            names.get(row.cell.document_id, row.cell.document_id), *row.cell.place, types.index(row.cell.type),
            styles.index(row.cell.style), row.cell.chunk,
        ),
    )  # fmt: skip
    return [_shown(row, names) for row in ordered]


def _shown(row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    cell = row.cell
    return {
        "document": names.get(cell.document_id, "(deleted)"),
        "section": cell.section,
        "type": cell.type,
        "style": cell.style,
        "chunk": cell.chunk,
        "planned": cell.planned,
        "made": row.made,
        "elsewhere": row.moved,
        "in place of others": row.taken,
        "missing": row.missing,
        "reasons": reason_words(row.reasons) if row.missing or row.moved else "",
    }


def reason_words(reasons: Mapping[str, int], most: int = 3) -> str:
    """Say why questions could not be made, the most frequent reason first.

    >>> reason_words({"it is too short": 2, "asked already": 3})
    'asked already (3); it is too short (2)'
    """
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    words = "; ".join(f"{reason} ({times:,})" if times > 1 else reason for reason, times in ordered[:most])
    return words + (f"; {len(ordered) - most} other reasons" if len(ordered) > most else "")


_QUOTED = re.compile("“[^”]*”")


def kind_of_reason(reason: str) -> str:
    """Return a reason without what it quotes and explains, so that equal ones are counted together.

    >>> kind_of_reason("its quote “a” stands 2 times: which is meant?"), kind_of_reason("model failed: HTTP 500")
    ('its quote “…” stands 2 times', 'model failed: HTTP 500')
    """
    if reason.startswith(FAILED):
        return reason
    return _QUOTED.sub("“…”", reason).partition(": ")[0]


def by_document(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return document → type → (planned, made there) of the rows of `cell_rows`, for a table or heat map."""
    table: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for row in rows:
        planned_before, made = table[row["document"]].get(row["type"], (0, 0))
        here = row["made"] + row["in place of others"]
        table[row["document"]][row["type"]] = (planned_before + row["planned"], made + here)
    return dict(table)


def yield_rows(records: Iterable[PlanRecord]) -> list[dict[str, Any]]:
    """Return the yield of every type and what it cost, of several generations together; planned ones too."""
    sums: dict[QuestionType, Yield] = defaultdict(Yield)
    plans = Counter[QuestionType]()
    missing = Counter[QuestionType]()
    for record in records:
        for asked, given in record.yields.items():
            sums[asked] = sums[asked] + given
        for row in record.rows:
            plans[row.cell.type] += row.cell.planned
            missing[row.cell.type] += row.missing
    return [
        {
            "type": asked,
            "planned": plans[asked],
            "made": sums[asked].made,
            "kept": sums[asked].kept,
            "rejected": sums[asked].rejected.total(),
            "unverified": sums[asked].unverified,
            "missing": missing[asked],
            "reasons": reason_words(sums[asked].rejected),
            "calls": sums[asked].calls,
            "prompt_tokens": sums[asked].prompt_tokens,
            "completion_tokens": sums[asked].completion_tokens,
            "dollars": sums[asked].dollars,
        }
        for asked in TYPES
        if asked in plans or asked in sums
    ]


def shown(store: Store, question_set: QuestionSet) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the cells and the yields of all generations into a set; both empty where there was none."""
    records = records_of(store, question_set.id)
    names = {d.id: d.name for d in store.documents(question_set.corpus_id, replaced=True)}
    return cell_rows(records, names), yield_rows(records)
