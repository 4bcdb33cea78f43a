"""Planned against made: the cells of a generation's plan, what was made of each, and why the rest was not.

A set keeps the records of its generations as a fact named "plan". What one generator makes with one seed is one record,
however often it is interrupted, continued or asked for more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragviz.core.document import Chunk
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan import Cell
from ragviz.questions.question_types import TYPES
from ragviz.store.store import Store
from ragviz.text.former_documents import UNKNOWN

FACT = "plan"
"""Name of the set fact."""


@dataclass(slots=True)
class PlanRecord:
    """The record of a generation, named by its `key`.

    `wanted` is how many questions were asked for: without a model, no more are planned than can be made. `made` are the
    ids of the questions that were kept, `nothing` says of documents without one, by id, why.
    """

    key: str
    index: str
    generator: str
    seed: int
    wanted: int
    cells: list[Cell] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    nothing: dict[str, str] = field(default_factory=dict)

    @property
    def planned(self) -> int:
        """All questions that are planned."""
        return sum(cell.planned for cell in self.cells)

    def kept(self, questions: Mapping[str, Question]) -> list[Question]:
        """Return those of a set's questions, by id, that count: they were made, and are not rejected."""
        return [q for i in self.made if (q := questions.get(i)) is not None and q.status != "rejected"]

    def counts(self, questions: Mapping[str, Question]) -> list[int]:
        """Return how many questions each cell has: one counts for its own cell, else for one of its type that lacks it.

        >>> record = PlanRecord("", "i", "m", 0, 2, [Cell("a", "fact", "long"), Cell("b", "fact", "long")], ["q"])
        >>> of_b = (Chunk.make_id("b", 0, 9),)
        >>> record.counts({"q": Question("q", "?", "", (), "m", source_chunks=of_b, type="fact", style="long")})
        [0, 1]
        """
        counts, waiting = [0] * len(self.cells), self.kept(questions)
        for parts in (3, 1):
            lacking: dict[tuple[str, ...], deque[int]] = defaultdict(deque)
            for number, cell in enumerate(self.cells):
                key = (cell.type, cell.style, cell.document_id)[:parts]
                lacking[key].extend([number] * (cell.planned - counts[number]))
            left = []
            for question in waiting:
                key = (question.type, question.style, *documents_of(question)[:1])[:parts]
                if lacking[key]:
                    counts[lacking[key].popleft()] += 1
                else:
                    left.append(question)
            waiting = left
        return counts


def documents_of(question: Question) -> list[str]:
    """Return the ids of the documents that a question is about, that of its first evidence, or source chunk, first."""
    spans = [span.document_id for span in question.spans]
    chunks = [place[0] for chunk_id in question.source_chunks if (place := Chunk.parse_id(chunk_id))]
    return list(dict.fromkeys(spans or chunks))


# Kept with the set


def records_of(store: Store, set_id: str) -> list[PlanRecord]:
    """Return the records of a set's generations, the oldest first."""
    stored = store.sets.fact(set_id, FACT)
    bodies = stored["generations"] if stored else []
    return [PlanRecord(**{**body, "cells": [Cell(**cell) for cell in body["cells"]]}) for body in bodies]


def fact_with(store: Store, set_id: str, record: PlanRecord) -> dict[str, Any]:
    """Return the fact of a set with a record in place of an earlier one with its key."""
    others = [each for each in records_of(store, set_id) if each.key != record.key]
    return {"generations": [asdict(each) for each in [*others, record]]}


# What is shown


@dataclass(frozen=True, slots=True)
class Shown:
    """What generations planned and made: rows of `cells` and of `types`, and (planned, made) by document and type.

    Of `types`, "made" are all that were written, of which some were kept; of these, nothing has verified "unverified"
    ones; "missing" were planned and made nowhere. `nothing` says of documents without questions, by name, why.
    `exist` of `planned` questions exist; the set asks `asked` questions.
    """

    cells: list[dict[str, Any]]
    types: list[dict[str, Any]]
    documents: dict[str, dict[str, tuple[int, int]]]
    nothing: dict[str, str]
    planned: int
    exist: int
    asked: int

    @property
    def words(self) -> str:
        """How many of the planned questions exist, and how many the set asks."""
        return f"{self.exist:,} of {self.planned:,} planned questions exist; the set asks {self.asked:,}."


def shown(store: Store, question_set: QuestionSet) -> Shown:
    """Return what all generations into a set planned and made; everything is empty where there was none."""
    records = records_of(store, question_set.id)
    questions = store.questions.all(question_set.id) if records else []
    return shown_of(records, questions, store.documents.names(question_set.corpus_id))


def shown_of(records: Sequence[PlanRecord], questions: Sequence[Question], names: Mapping[str, str]) -> Shown:
    """Return what generations into a set of these questions planned and made; `names` are documents' by id.

    Questions that were taken back, deleted or rejected since are not counted as made.
    """
    by_id = {question.id: question for question in questions}
    cells: list[dict[str, Any]] = []
    planned, kept = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for record in records:
        for cell, made in zip(record.cells, record.counts(by_id), strict=True):
            name = names.get(cell.document_id, UNKNOWN)
            row = {"document": name, "type": cell.type, "style": cell.style, "planned": cell.planned, "made": made}
            cells.append(row | {"missing": cell.planned - made})
            planned[name, cell.type] += cell.planned
        for question in record.kept(by_id):
            for document_id in documents_of(question)[:1]:
                kept[names.get(document_id, UNKNOWN), question.type] += 1
    documents: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for name, asked in planned | kept:
        documents[name][asked] = planned[name, asked], kept[name, asked]
    asked_about = {i for question in questions if question.status != "rejected" for i in documents_of(question)}
    nothing = {names[i]: why for r in records for i, why in r.nothing.items() if i in names and i not in asked_about}
    return Shown(
        sorted(cells, key=lambda row: row["document"]),
        [_type_row(name, records, cells, by_id) for name in TYPES if any(cell["type"] == name for cell in cells)],
        dict(sorted(documents.items(), key=lambda item: (-sum(wanted for wanted, _ in item[1].values()), item[0]))),
        dict(sorted(nothing.items())),
        sum(max(record.wanted, record.planned) for record in records),
        sum(cell["made"] for cell in cells),
        sum(question.asked for question in questions),
    )


def _type_row(
    name: str, records: Sequence[PlanRecord], cells: Sequence[Mapping[str, Any]], questions: Mapping[str, Question]
) -> dict[str, Any]:
    of_type = [cell for cell in cells if cell["type"] == name]
    kept = {q.id: q for record in records for q in record.kept(questions) if q.type == name}
    why = rejected(questions.values(), {record.generator for record in records}, name)
    return {
        "type": name,
        "planned": sum(cell["planned"] for cell in of_type),
        "missing": sum(cell["missing"] for cell in of_type),
        "made": len(kept) + why.total(),
        "kept": len(kept),
        "rejected": why.total(),
        "unverified": sum(question.asked and not question.verified_by for question in kept.values()),
        "reasons": reason_words(why),
    }


def rejected(questions: Iterable[Question], generators: Iterable[str], asked: str = "") -> Counter[str]:
    """Count why questions of some generators were rejected, those of one type or of all."""
    makers = set(generators)
    return Counter(
        kind_of_reason(question.reason)
        for question in questions
        if question.status == "rejected" and question.generator in makers and asked in ("", question.type)
    )


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
    return _QUOTED.sub("“…”", reason).partition(": ")[0] or "rejected by a person"
