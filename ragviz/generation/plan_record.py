"""Planned against made: the cells of a generation's plan, what was made of each, why the rest was not, what it cost.

A set keeps the records of its generations as a fact named "plan". What one generator makes with one seed is one record,
however often it is interrupted, continued or asked for more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any, Literal

from ragviz.core.document import Chunk
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
    """A cell, how many of its planned questions were made, there or elsewhere, and how often tries failed why."""

    cell: Cell
    made: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def missing(self) -> int:
        """Planned questions that were made nowhere."""
        return max(0, self.cell.planned - self.made)

    @property
    def why(self) -> Counter[str]:
        """Why questions are missing; without failed tries, that they are not made yet.

        >>> Row(Cell("d", "", "fact", "colleague", 3), made=1).why
        Counter({'not made yet': 2})
        """
        return self.reasons or Counter({"not made yet": self.missing})


@dataclass(slots=True)
class Yield:
    """What a type of questions gave: `made` ones, of which some were `rejected`, by reason, and what they took.

    `calls`, tokens and `dollars` (of models with a price) are what was paid for them; what a process paid just before
    it was killed is left out.
    """

    made: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0

    @property
    def kept(self) -> int:
        """Questions that are not rejected."""
        return self.made - self.rejected.total()

    def add(self, usage: Usage) -> None:
        """Add what calls took."""
        self.calls += usage.calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.dollars += usage.cost

    def count(self, question: Question) -> None:
        """Count a question that was made."""
        self.made += 1
        if question.status == "rejected":
            self.rejected[kind_of_reason(question.reason)] += 1

    def __add__(self, other: Yield) -> Yield:
        """Return the sum."""
        return Yield(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(Yield)))


@dataclass(slots=True)
class PlanRecord:
    """The record of a generation; `key` names it, `work` the choices that it was last asked for.

    `wanted` is how many questions were asked for: without a model, no more are planned than can be made.

    `places` is the number of the row of each kept question, by id. `nothing` says why documents have
    none, by id: those planned for, or of which none can be made without a model.
    """

    key: str
    work: str
    index: str
    generator: str
    seed: int
    wanted: int = 0
    state: State = "running"
    rows: list[Row] = field(default_factory=list)
    yields: dict[QuestionType, Yield] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    nothing: dict[str, str] = field(default_factory=dict)

    @property
    def planned(self) -> int:
        """All questions that are planned."""
        return sum(row.cell.planned for row in self.rows)

    @property
    def usable(self) -> int:
        """Planned questions that were made."""
        return sum(row.made for row in self.rows)

    def count(self, question_id: str, number: int) -> None:
        """Count a kept question that a row asked for."""
        self.rows[number].made += 1
        self.places[question_id] = number

    def drop(self, reasons: Mapping[str, str]) -> None:
        """Count questions no more that were kept, given with why: a verification rejected them, or they are gone."""
        for question_id, reason in reasons.items():
            row = self.rows[self.places.pop(question_id)]
            row.made -= 1
            row.reasons[kind_of_reason(reason)] += 1
            self.yielded(row.cell.type).rejected[kind_of_reason(reason)] += 1

    def yielded(self, asked: QuestionType) -> Yield:
        """Return what a type gave so far, to be added to."""
        return self.yields.setdefault(asked, Yield())


# What exists already


def planned(
    record: PlanRecord,
    cells: Iterable[Cell],
    earlier: PlanRecord | None,
    kept: Collection[str],
) -> PlanRecord:
    """Return a new `record` of a plan, with the questions of an `earlier` one that are still among the `kept` ones.

    `kept` are the ids of the set's questions that are not rejected. A question counts for its own cell, else for any of
    its type. The same plan goes on with its reasons.
    """
    cells = list(cells)
    record = replace(record, rows=[Row(cell) for cell in cells], places={}, yields={}, nothing={})
    if earlier is None:
        return record
    is_same = earlier.work == record.work and [row.cell for row in earlier.rows] == cells
    if is_same and earlier.places.keys() <= set(kept):
        return replace(earlier, state="running")
    record = replace(record, yields=earlier.yields)
    waiting = [(i, earlier.rows[row].cell) for i, row in sorted(earlier.places.items()) if i in kept]
    for similar in _SIMILAR:
        open_rows: dict[Hashable, deque[int]] = defaultdict(deque)
        for number, row in enumerate(record.rows):
            open_rows[similar(row.cell)].extend([number] * row.missing)
        left = []
        for question_id, cell in waiting:
            if numbers := open_rows[similar(cell)]:
                record.count(question_id, numbers.popleft())
            else:
                left.append((question_id, cell))
        waiting = left
    return record


_SIMILAR: tuple[Callable[[Cell], Hashable], ...] = (
    lambda cell: (*cell.place, cell.type, cell.style),
    lambda cell: cell.type,
)


# Kept with the set


def records_of(store: Store, set_id: str) -> list[PlanRecord]:
    """Return the records of a set's generations, the oldest first."""
    stored = store.sets.fact(set_id, FACT)
    return [_decoded(body) for body in stored["generations"]] if stored else []


def fact_with(store: Store, set_id: str, record: PlanRecord) -> dict[str, Any]:
    """Return the fact of a set with a record in place of an earlier one with its key."""
    others = [each for each in records_of(store, set_id) if each.key != record.key]
    return {"version": 2, "generations": [_encoded(each) for each in [*others, record]]}


def _encoded(record: PlanRecord) -> dict[str, Any]:
    body = {
        name: getattr(record, name)
        for name in ("key", "work", "index", "generator", "seed", "wanted", "state", "places", "nothing")
    }
    rows = [[*astuple(row.cell), row.made, dict(row.reasons)] for row in record.rows]
    yields = {  # `asdict` breaks counters
        name: {part.name: getattr(given, part.name) for part in fields(given)} for name, given in record.yields.items()
    }
    return body | {"rows": rows, "yields": yields}


def _decoded(body: Mapping[str, Any]) -> PlanRecord:
    rows = [Row(Cell(*cell), made, Counter(reasons)) for *cell, made, reasons in body["rows"]]
    yields = {
        name: Yield(**{**given, "rejected": Counter(given["rejected"])}) for name, given in body["yields"].items()
    }
    return PlanRecord(**{**body, "rows": rows, "yields": yields})


# What is shown


def cell_rows(records: Iterable[PlanRecord], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return planned against made, a row for each cell of each generation, with the reasons for what is missing.

    `names` are those of documents by id. Rows are ordered by document, section, type and style.
    """
    types, styles = list(TYPES), list(STYLES)
    rows = [(names.get(row.cell.document_id, UNKNOWN), row) for record in records for row in record.rows]
    rows.sort(
        key=lambda each: (
            each[0], *each[1].cell.place, types.index(each[1].cell.type), styles.index(each[1].cell.style)
        )
    )  # fmt: skip
    return [
        {
            "document": name,
            "section": row.cell.section,
            "type": row.cell.type,
            "style": row.cell.style,
            "planned": row.cell.planned,
            "made": row.made,
            "missing": row.missing,
            "reasons": reason_words(row.why) if row.missing else "",
        }
        for name, row in rows
    ]


def missing(rows: Iterable[Row]) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Return how many planned questions were made nowhere by type, and how often tries for these failed why."""
    counts, reasons = Counter[str](), dict[str, Counter[str]]()
    for row in rows:
        if row.missing:
            counts[row.cell.type] += row.missing
            reasons[row.cell.type] = reasons.get(row.cell.type, Counter()) + row.why
    return counts, reasons


def documents_of(question: Question) -> list[str]:
    """Return the ids of the documents that a question is about, that of its first evidence, or source chunk, first."""
    spans = [span.document_id for group in question.evidence for span in group]
    chunks = [place[0] for chunk_id in question.source_chunks if (place := Chunk.parse_id(chunk_id))]
    return list(dict.fromkeys(spans or chunks))


def by_document(
    records: Iterable[PlanRecord], names: Mapping[str, str], questions: Mapping[str, Question]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return document → type → (planned, made there), by name; a question counts where its first evidence is."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        for row in record.rows:
            counts[row.cell.document_id, row.cell.type][0] += row.cell.planned
        for question in (questions[i] for i in record.places if i in questions):
            for document_id in documents_of(question)[:1]:
                counts[document_id, question.type][1] += 1
    table: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for (document_id, asked), (wanted, made) in counts.items():
        table[names.get(document_id, UNKNOWN)][asked] = wanted, made
    ordered = sorted(table.items(), key=lambda item: (-sum(wanted for wanted, _ in item[1].values()), item[0]))
    return dict(ordered)


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


def yield_rows(records: Sequence[PlanRecord], unverified: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the yield of every type and what it cost, of several generations together; planned ones too.

    "made" are all that were written of the type, of which some were kept; of these, nothing has verified `unverified`
    ones. "missing" were planned and made nowhere.
    """
    sums: dict[QuestionType, Yield] = defaultdict(Yield)
    plans = Counter[QuestionType]()
    lacking, why = missing(row for record in records for row in record.rows)
    for record in records:
        for asked, given in record.yields.items():
            sums[asked] = sums[asked] + given
        for row in record.rows:
            plans[row.cell.type] += row.cell.planned
    return [
        {
            "type": asked,
            "planned": plans[asked],
            "missing": lacking[asked],
            "made": sums[asked].made,
            "kept": sums[asked].kept,
            "rejected": sums[asked].rejected.total(),
            "unverified": unverified.get(asked, 0),
            "reasons": reason_words(sums[asked].rejected),
            "why missing": reason_words(why.get(asked, {})),
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
    """Return why documents have no question, by name: those planned for, or of which none can be made.

    Those that any of the set's `questions` that is not rejected is about are left out.
    """
    asked = {i for question in questions if question.status != "rejected" for i in documents_of(question)}
    told = {names[i]: why for record in records for i, why in record.nothing.items() if i in names and i not in asked}
    return dict(sorted(told.items()))


@dataclass(frozen=True, slots=True)
class Shown:
    """What all generations into a set planned and made: rows of cells and of types, and counts by document and type.

    `nothing` says of documents without questions, by name, why. `exist` of `planned` questions exist; the set asks
    `asked` questions, and `quarantined` ones of those that the plans count are in quarantine.
    """

    cells: list[dict[str, Any]]
    yields: list[dict[str, Any]]
    documents: dict[str, dict[str, tuple[int, int]]]
    nothing: dict[str, str]
    planned: int
    exist: int
    asked: int = 0
    quarantined: int = 0

    @property
    def words(self) -> str:
        """How many of the planned questions exist, and why the set asks more or fewer.

        >>> Shown([], [], {}, {}, 30, 28, asked=28).words
        '28 of 30 planned questions exist.'
        >>> print(Shown([], [], {}, {}, 120, 34, asked=37, quarantined=2).words)
        34 of 120 planned questions exist. The set asks 37, without 2 of these that are quarantined, and with 5 beyond \
the plans, written by hand or imported.
        """
        beyond = self.asked - (self.exist - self.quarantined)
        why = [f"without {self.quarantined:,} of these that are quarantined"] if self.quarantined else []
        why += [f"with {beyond:,} beyond the plans, written by hand or imported"] if beyond > 0 else []
        asks = f" The set asks {self.asked:,}, {', and '.join(why)}." if why else ""
        return f"{self.exist:,} of {self.planned:,} planned questions exist.{asks}"


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


def unverified(record: PlanRecord, questions: Mapping[str, Question]) -> Counter[str]:
    """Count the kept questions of a record by type that are asked and that nothing has verified."""
    kept = (questions[i] for i in record.places if i in questions)
    return Counter(question.type for question in kept if question.asked and not question.verified_by)


def shown(store: Store, question_set: QuestionSet) -> Shown:
    """Return what all generations into a set planned and made; everything is empty where there was none.

    Questions that were taken back, deleted or rejected since are not counted as made.
    """
    records, questions = records_of(store, question_set.id), dict[str, Question]()
    if records:
        questions = {question.id: question for question in store.questions.all(question_set.id)}
    for record in records:
        record.drop(_lost(record, questions))
    names = store.documents.names(question_set.corpus_id)
    counted = {question_id for record in records for question_id in record.places}
    return Shown(
        cell_rows(records, names),
        yield_rows(records, sum((unverified(record, questions) for record in records), Counter())),
        by_document(records, names, questions),
        nothing_of(records, names, questions.values()),
        sum(max(record.wanted, record.planned) for record in records),
        sum(record.usable for record in records),
        sum(question.asked for question in questions.values()),
        sum(not questions[question_id].asked for question_id in counted),
    )
