"""Finding what the questions that a plan lacks can be made of: in their cells, in their documents, anywhere.

What fills gaps uses none in a place that is asked about.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.question import Question, QuestionType
from ragviz.generation.asked_places import AskedPlaces
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.makers import TYPES_OF, Order, Source
from ragviz.generation.model_maker import ATTEMPTS, ModelMaker
from ragviz.generation.model_questions import FAILED
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord
from ragviz.questions.question_types import TYPES

Queue = deque[Source]
"""Sources in order."""
_WITH_EVIDENCE = [name for name in TYPES_OF["model"] if TYPES[name].fewest]


class SourceSearch:
    """Finds the sources of the questions that a plan lacks."""

    def __init__(
        self, record: PlanRecord, maker: ModelMaker, documents: IndexedDocuments, existing: Sequence[Question]
    ) -> None:
        self.record, self.maker, self.documents = record, maker, documents
        self.used: set[tuple[str, str]] = set()
        self.unasked: Collection[str] = ()  # documents without a question when the present search began
        earlier = (question for question in existing if question.id not in record.places)
        self.asked = AskedPlaces(documents, earlier) if record.fill else None  # what is not to be asked about
        self.left_out: set[QuestionType] = set()  # types with sources that were not used for that
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
                chunk = row.cell.chunk
                section = row.cell.section if chunk else source.section
                cell = Cell(source.passages[0].document_id, section, source.asked, row.cell.style, chunk=chunk)
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
            if self.asked is not None and self.asked.hold(source.spans):
                self.left_out.add(source.asked)
                queue.popleft()
                continue
            if group in busy or source.copy > asked_already:
                return None
            self.used.add((source.asked, source.key))
            busy.add(group)
            return queue.popleft()
        return None

    def in_cell(self, number: int) -> Queue:
        """Return the sources in the section of a row; where it names a chunk, those in the chunk."""
        cell = self.record.rows[number].cell
        return self._queue(("cell", number), lambda: self._within(cell, cell.type))

    def in_document(self, number: int) -> Queue:
        """Return the sources in the document of a row; where it names a chunk, those of other types in the chunk."""
        cell = self.record.rows[number].cell
        if cell.chunk:
            others = [name for name in _WITH_EVIDENCE if name != cell.type]
            return self._queue(("chunk", number), lambda: (s for name in others for s in self._within(cell, name)))
        return self._queue(
            ("document", cell.document_id, cell.type), lambda: self.maker.sources(cell.document_id, cell.type)
        )

    def anywhere(self, number: int) -> Queue:
        """Return the sources of a row's type in all documents by turns; none where it names a chunk."""
        cell = self.record.rows[number].cell
        if cell.chunk:
            return self._queue(("nowhere",), lambda: ())
        return self._queue(("anywhere", cell.type), lambda: self._by_turns(cell.type))

    def any_type(self, number: int) -> Queue:
        """Return the sources of all types with evidence in all documents by turns, the types by turns too."""
        if self.record.rows[number].cell.chunk:
            return self._queue(("nowhere",), lambda: ())
        turns = zip_longest(*(self._by_turns(name) for name in _WITH_EVIDENCE))
        return self._queue(("any",), lambda: (source for turn in turns for source in turn if source is not None))

    def _queue(self, key: tuple[Any, ...], sources: Callable[[], Iterable[Source]]) -> Queue:
        if key not in self._queues:
            self._queues[key] = deque(sources())
        return self._queues[key]

    def _within(self, cell: Cell, asked: QuestionType) -> Iterator[Source]:
        if cell.document_id not in self.documents.by_id:
            return
        for source in self.maker.sources(cell.document_id, asked):
            if source.passages[0].id == cell.chunk if cell.chunk else source.section == cell.section:
                yield source

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
