"""Finding what the questions that a plan lacks can be made of: in their cells, in their documents, anywhere."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.question import Question, QuestionType
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import Order, Source
from ragviz.generation.model_maker import ATTEMPTS, ModelMaker
from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord

Queue = deque[Source]
"""Sources in order."""


class SourceSearch:
    """Finds the sources of the questions that a plan lacks."""

    def __init__(
        self, record: PlanRecord, maker: ModelMaker, documents: IndexedDocuments, existing: Sequence[Question]
    ) -> None:
        self.record, self.maker, self.documents = record, maker, documents
        self.used: set[tuple[str, str]] = set()
        self.unasked: Collection[str] = ()  # documents without a question when the present search began
        self._queues: dict[tuple[Any, ...], Queue] = {}
        self.about: dict[tuple[str, str], list[str]] = defaultdict(list)
        for question in existing:
            if question.generator == maker.name and not question.reason.startswith(FAILED):
                self.about[question.type, "+".join(question.source_chunks)].append(question.text)

    def orders(self, search: Callable[[int], Queue], lacking: Mapping[int, int]) -> list[tuple[int, Order]]:
        """Return an order for every question that is `lacking` in a row, where there is a source, with the row."""
        orders, busy = list[tuple[int, Order]](), set[tuple[str, str]]()
        for number, count in lacking.items():
            row = self.record.rows[number]
            for _ in range(count):
                if (source := self._next(search(number), busy)) is None:
                    break
                cell = Cell(source.passages[0].document_id, source.section, source.asked, row.cell.style)
                orders.append((number, Order(cell, source, tuple(self.about[source.asked, source.group]))))
        return orders

    def lacking(self, tries: Mapping[int, int] | None = None) -> dict[int, int]:
        """Return how many questions each row lacks, by its number; none where it was tried often enough."""
        return {
            number: row.missing
            for number, row in enumerate(self.record.rows)
            if row.missing and (tries is None or tries.get(number, 0) < ATTEMPTS * row.cell.planned)
        }

    def _next(self, queue: Queue, busy: set[tuple[str, str]]) -> Source | None:
        """Take the next source that was not used and whose group is not busy; None where there is none now."""
        while queue:
            source = queue[0]
            group = (source.asked, source.group)
            asked_already = len(self.about[group])
            if (source.asked, source.key) in self.used or source.copy < asked_already:
                queue.popleft()
                continue
            if group in busy or source.copy > asked_already:
                return None
            self.used.add((source.asked, source.key))
            busy.add(group)
            return queue.popleft()
        return None

    def in_cell(self, number: int) -> Queue:
        """Return the sources in the section of a row."""
        cell = self.record.rows[number].cell
        return self._queue(("cell", number), lambda: self._within(cell))

    def in_document(self, number: int) -> Queue:
        """Return the sources in the document of a row."""
        cell = self.record.rows[number].cell
        return self._queue(
            ("document", cell.document_id, cell.type), lambda: self.maker.sources(cell.document_id, cell.type)
        )

    def anywhere(self, number: int) -> Queue:
        """Return the sources of a row's type in all documents by turns."""
        cell = self.record.rows[number].cell
        return self._queue(("anywhere", cell.type), lambda: self._by_turns(cell.type))

    def _queue(self, key: tuple[Any, ...], sources: Callable[[], Iterable[Source]]) -> Queue:
        if key not in self._queues:
            self._queues[key] = deque(sources())
        return self._queues[key]

    def _within(self, cell: Cell) -> list[Source]:
        if cell.document_id not in self.documents.by_id:
            return []
        return [source for source in self.maker.sources(cell.document_id, cell.type) if source.section == cell.section]

    def _by_turns(self, asked: QuestionType) -> Iterator[Source]:
        """Yield sources of all documents, one of each in turn; first of those that no question is about yet.

        Then of those known to have something for the type.
        """
        unasked = self.unasked

        def order(document_id: str) -> tuple[bool, bool, str]:
            drawn = digest(str(self.record.seed), asked, document_id)
            return document_id not in unasked, not self.documents.places_of(document_id, asked), drawn

        turns = sorted(self.documents.by_id, key=order)
        level = 0
        while turns:
            left = []
            for document_id in turns:
                sources = self.maker.sources(document_id, asked)
                if level < len(sources):
                    left.append(document_id)
                    yield sources[level]
            turns, level = left, level + 1
