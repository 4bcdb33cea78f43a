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

from ragviz.core.question import Question, QuestionType
from ragviz.core.question_set import QuestionSet
from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan import Cell
from ragviz.models.requests import Usage
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.store.store import Store
from ragviz.text.former_documents import UNKNOWN

FACT = "plan"
"""Name of the set fact."""
GONE = "deleted, or taken back by undo"
"""Why a question that was made is no longer in its set."""
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

    `wanted` is how many questions were asked for: without a model, no more are planned than can be made.

    `any_type`: what no cell of a type can yield is made as another type, because nobody asked for types.
    `places` is the number of the row of each kept question, by id, `planned_in` that of the row that asked for it,
    where it is another. `nothing` says of each document that a question was planned for and that has none, by id, why.
    """

    key: str
    work: str
    index: str
    generator: str
    seed: int
    fill: bool = False
    any_type: bool = False
    wanted: int = 0
    state: State = "running"
    rows: list[Row] = field(default_factory=list)
    yields: dict[QuestionType, Yield] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    planned_in: dict[str, int] = field(default_factory=dict)
    nothing: dict[str, str] = field(default_factory=dict)
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
            self.planned_in[question_id] = planned
        self.places[question_id] = actual

    def drop(self, reasons: Mapping[str, str]) -> None:
        """Count questions no more that were kept, given with why: a verification rejected them, or they are gone."""
        stand_ins = Counter(self.places[question_id] for question_id in self.planned_in)
        for question_id, reason in reasons.items():
            number = self.places.pop(question_id)
            row, planned = self.rows[number], self.planned_in.pop(question_id, None)
            given = self.yielded(row.cell.type)
            given.kept -= 1
            given.rejected[kind_of_reason(reason)] += 1
            row.reasons[kind_of_reason(reason)] += 1
            if planned is not None:
                row.taken -= 1
                stand_ins[number] -= 1
                self.rows[planned].moved -= 1
                self.rows[planned].reasons[kind_of_reason(reason)] += 1
            elif row.taken > stand_ins[number]:  # one is beyond the plan
                row.taken -= 1
            else:
                row.made -= 1

    def unasked(self) -> dict[str, list[Row]]:
        """Return the rows of each document that questions were planned for and that has none, by its id."""
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            rows[row.cell.document_id].append(row)
        return {
            document_id: own
            for document_id, own in rows.items()
            if any(row.cell.planned for row in own) and not any(row.made or row.taken for row in own)
        }

    def stand_ins(self) -> dict[int, Counter[Cell]]:
        """Return the cells in which questions were made in place of those that a row planned, by the row's number."""
        found: dict[int, Counter[Cell]] = defaultdict(Counter)
        for question_id, number in self.planned_in.items():
            found[number][replace(self.rows[self.places[question_id]].cell, planned=1)] += 1
        return found

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
    record = replace(record, rows=[Row(cell) for cell in cells], places={}, yields={}, planned_in={}, nothing={})
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
    stored = store.sets.fact(set_id, FACT)
    return [_decoded(body) for body in stored["generations"]] if stored else []


def fact_with(store: Store, set_id: str, record: PlanRecord) -> dict[str, Any]:
    """Return the fact of a set with a record in place of an earlier one with its key."""
    others = [each for each in records_of(store, set_id) if each.key != record.key]
    return {"version": 1, "generations": [_encoded(each) for each in [*others, record]]}


def _encoded(record: PlanRecord) -> dict[str, Any]:
    body = {
        name: getattr(record, name)
        for name in (
            "key", "work", "index", "generator", "seed", "fill", "any_type", "wanted", "state", "places",
            "planned_in", "nothing",
        )
    }  # fmt: skip
    rows = [[*astuple(row.cell), row.made, row.moved, row.taken, dict(row.reasons)] for row in record.rows]
    yields = {  # `asdict` breaks counters
        name: {part.name: getattr(given, part.name) for part in fields(given)} for name, given in record.yields.items()
    }
    return body | {"rows": rows, "yields": yields}


def _decoded(body: Mapping[str, Any]) -> PlanRecord:
    rows = [
        Row(Cell(*cell), made, moved, taken, Counter(reasons)) for *cell, made, moved, taken, reasons in body["rows"]
    ]
    yields = {
        name: Yield(**{**given, "rejected": Counter(given["rejected"])}) for name, given in body["yields"].items()
    }
    return PlanRecord(**{**body, "rows": rows, "yields": yields})


# What is shown


def cell_rows(records: Iterable[PlanRecord], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return planned against made, a row for each cell, with the reasons; those of several generations together.

    `names` are those of documents by id. Rows are ordered by document, section, type and style.
    """
    cells: dict[tuple[str, ...], Row] = {}
    instead: dict[tuple[str, ...], Counter[Cell]] = defaultdict(Counter)
    for record in records:
        stand_ins = record.stand_ins()
        for number, row in enumerate(record.rows):
            same = cells.setdefault(_key(row.cell), Row(replace(row.cell, planned=0)))
            cells[_key(row.cell)] = Row(
                replace(same.cell, planned=same.cell.planned + row.cell.planned), same.made + row.made,
                same.moved + row.moved, same.taken + row.taken, same.reasons + row.reasons,
            )  # fmt: skip
            instead[_key(row.cell)] += stand_ins.get(number, Counter())
    types, styles = list(TYPES), list(STYLES)
    ordered = sorted(
        cells.values(),
        key=lambda row: (
            names.get(row.cell.document_id, row.cell.document_id), *row.cell.place, types.index(row.cell.type),
            styles.index(row.cell.style), row.cell.chunk,
        ),
    )  # fmt: skip
    return [_shown(row, instead[_key(row.cell)], names) for row in ordered]


def _shown(row: Row, instead: Mapping[Cell, int], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a row for display: planned = made + elsewhere + missing; `instead` is what was made elsewhere, where."""
    cell = row.cell
    where = [
        {"document": names.get(other.document_id, UNKNOWN), "section": other.section, "type": other.type,
         "style": other.style, "count": count}
        for other, count in sorted(instead.items(), key=lambda item: (-item[1], _key(item[0])))
    ]  # fmt: skip
    shown = {
        "document": names.get(cell.document_id, UNKNOWN),
        "section": cell.section,
        "type": cell.type,
        "style": cell.style,
        "chunk": cell.chunk,
        "planned": cell.planned,
        "made": row.made,
        "elsewhere": row.moved,
        "instead": where,
        "in place of others": row.taken,
        "missing": row.missing,
        "reasons": reason_words(row.reasons) if row.missing or row.moved else "",
    }
    return shown | {"where": _where_words(shown)}


def _where_words(row: Mapping[str, Any], most: int = 3) -> str:
    """Say where questions were made in place of those that a row of `cell_rows` planned, and as what.

    >>> there = {"document": "b.md", "section": "Pay", "type": "fact", "style": "colleague", "count": 2}
    >>> other = there | {"document": "a.md", "section": "", "type": "list", "count": 1}
    >>> row = {"document": "a.md", "type": "fact", "style": "colleague", "elsewhere": 4, "instead": [there, other]}
    >>> _where_words(row)
    '2 in b.md > Pay; 1 in a.md, as list; 1 in a place that was not recorded'
    """
    told = []
    for other in row["instead"]:
        place = " > ".join(filter(None, (other["document"], other["section"])))
        kind = [TYPES[other["type"]].title] if other["type"] != row["type"] else []
        kind += [STYLES[other["style"]].title] if other["style"] != row["style"] else []
        told.append((other["count"], f"{other['count']} in {place}" + (f", as {', '.join(kind)}" if kind else "")))
    words = [text for _, text in told[:most]]
    words += [f"{left} in other places"] if (left := sum(count for count, _ in told[most:])) else []
    unknown = row["elsewhere"] - sum(count for count, _ in told)
    return "; ".join([*words, *([f"{unknown} in a place that was not recorded"] if unknown > 0 else [])])


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
    """Return the yield of every type and what it cost, of several generations together; planned ones too.

    Of those planned, "in place" were made in their cells, "elsewhere" as the same type in other cells, "other kinds"
    as other types; the rest is missing. "made" are all that were written of the type, of which some were kept.
    """
    sums: dict[QuestionType, Yield] = defaultdict(Yield)
    plans, missing, here, others = (Counter[QuestionType]() for _ in range(4))
    for record in records:
        for asked, given in record.yields.items():
            sums[asked] = sums[asked] + given
        stand_ins = record.stand_ins()
        for number, row in enumerate(record.rows):
            asked = row.cell.type
            plans[asked] += row.cell.planned
            missing[asked] += row.missing
            here[asked] += row.made
            others[asked] += sum(n for cell, n in stand_ins.get(number, {}).items() if cell.type != asked)
    return [
        {
            "type": asked,
            "planned": plans[asked],
            "in place": here[asked],
            "elsewhere": plans[asked] - here[asked] - others[asked] - missing[asked],
            "other kinds": others[asked],
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


def nothing_of(
    records: Iterable[PlanRecord], names: Mapping[str, str], questions: Iterable[Question]
) -> dict[str, str]:
    """Return why documents have no question though some were planned for them, by name.

    Those that another generation made questions of are left out, and those that hold evidence of any of the set's
    `questions` that is not rejected.
    """
    records = list(records)
    asked = {row.cell.document_id for record in records for row in record.rows if row.made or row.taken}
    kept = (question for question in questions if question.status != "rejected")
    asked |= {span.document_id for question in kept for group in question.evidence for span in group}
    told = {i: reason for record in records for i, reason in record.nothing.items() if i in names and i not in asked}
    return {names[document_id]: told[document_id] for document_id in sorted(told, key=names.__getitem__)}


@dataclass(frozen=True, slots=True)
class Plan:
    """How many questions a generation planned, and how many of them exist; `fill`: only what had none was asked."""

    planned: int
    exist: int
    fill: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What all generations into a set planned and made: rows of cells and of types, and documents without questions.

    `nothing` says of each of these documents, by name, why. `plans` are the generations, the newest last; the set asks
    `asked` questions, and `quarantined` ones of those that the plans count are in quarantine.
    """

    cells: list[dict[str, Any]]
    yields: list[dict[str, Any]]
    nothing: dict[str, str]
    plans: list[Plan]
    asked: int = 0
    quarantined: int = 0

    @property
    def words(self) -> str:
        """How many of the planned questions exist, by generation, and why the set asks more or fewer.

        >>> Shown([], [], {}, [Plan(30, 28, fill=False)], asked=28).words
        '28 of 30 planned questions exist.'
        >>> plans = [Plan(30, 28, fill=False), Plan(90, 6, fill=True)]
        >>> print(Shown([], [], {}, plans, asked=37, quarantined=2).words)
        34 of 120 planned questions exist: 28 of 30, and 6 of 90 that fill gaps. The set asks 37, without 2 of \
these that are quarantined, and with 5 beyond the plans, written by hand or imported.
        """
        exist, planned = sum(plan.exist for plan in self.plans), sum(plan.planned for plan in self.plans)
        each = [f"{plan.exist:,} of {plan.planned:,}{' that fill gaps' * plan.fill}" for plan in self.plans]
        listed = f": {', '.join(each[:-1])}, and {each[-1]}" if len(each) > 1 else ""
        beyond = self.asked - (exist - self.quarantined)
        why = [f"without {self.quarantined:,} of these that are quarantined"] if self.quarantined else []
        why += [f"with {beyond:,} beyond the plans, written by hand or imported"] if beyond > 0 else []
        asks = f" The set asks {self.asked:,}, {', and '.join(why)}." if why else ""
        return f"{exist:,} of {planned:,} planned questions exist{listed}.{asks}"


def _lost(record: PlanRecord, questions: Mapping[str, Question]) -> dict[str, str]:
    """Return the questions that a record counts as made and that are asked no more, by id, with why."""
    lost = dict[str, str]()
    for question_id in record.places:
        question = questions.get(question_id)
        if question is None:
            lost[question_id] = GONE
        elif question.status == "rejected":
            lost[question_id] = question.reason or "rejected"
    return lost


def shown(store: Store, question_set: QuestionSet) -> Shown:
    """Return what all generations into a set planned and made; everything is empty where there was none.

    Questions that were taken back, deleted or rejected since are not counted as made.
    """
    records, questions = records_of(store, question_set.id), dict[str, Question]()
    if records:
        questions = {question.id: question for question in store.questions.all(question_set.id)}
    for record in records:
        record.drop(_lost(record, questions))
        record.count_unverified(questions)
    names = store.documents.names(question_set.corpus_id)
    counted = {question_id for record in records for question_id in record.places}
    return Shown(
        cell_rows(records, names), yield_rows(records), nothing_of(records, names, questions.values()),
        [Plan(max(record.wanted, record.planned), record.usable, record.fill) for record in records],
        sum(question.asked for question in questions.values()),
        sum(not questions[question_id].asked for question_id in counted),
    )  # fmt: skip
