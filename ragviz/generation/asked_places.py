"""What the questions of a set are about already: sections of documents, and the evidence that stands there."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from ragviz.core.chunk import Chunk
from ragviz.core.question import Question
from ragviz.core.span import Span
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.plan import Place

Interval = tuple[int, int]


class AskedPlaces:
    """The sections that questions are about, with how often, and their evidence; rejected questions are left out.

    A question is about the sections where its evidence begins, one without evidence about those of its source chunks.
    Stale evidence, and that in documents which the index does not hold, is left out.
    """

    def __init__(self, documents: IndexedDocuments, questions: Iterable[Question]) -> None:
        self.counts: Counter[Place] = Counter()
        self._documents = documents
        evidence: dict[str, list[Interval]] = defaultdict(list)
        for question in questions:
            if question.status == "rejected":
                continue
            for span in _live(question):
                evidence[span.document_id].append((span.start, span.end))
            for document_id, start in dict.fromkeys(_starts(question)):
                if document_id in documents.by_id:
                    self.counts[document_id, documents.section_of(document_id, start)] += 1
        self._evidence = {document_id: merged(intervals) for document_id, intervals in evidence.items()}

    def hold(self, spans: Iterable[Span]) -> bool:
        """Return whether any of the spans begins in a section that is asked about, or overlaps evidence."""
        return any(
            self.counts[span.document_id, self._documents.section_of(span.document_id, span.start)]
            or _overlaps(span, self._evidence.get(span.document_id, []))
            for span in spans
        )


def _live(question: Question) -> Iterator[Span]:
    return (span for group in question.evidence for span in group if not span.stale)


def _starts(question: Question) -> Iterator[tuple[str, int]]:
    """Yield document and character of each piece of evidence; of a question without any, of its source chunks."""
    yield from ((span.document_id, span.start) for span in _live(question))
    if not question.evidence:
        for chunk_id in question.source_chunks:
            if place := Chunk.parse_id(chunk_id):
                yield place[:2]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return intervals in order, those that overlap or touch as one.

    >>> merged([(7, 9), (0, 3), (1, 5), (5, 6)])
    [(0, 6), (7, 9)]
    """
    joined: list[Interval] = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif end > start:
            joined.append((start, end))
    return joined


def _overlaps(span: Span, intervals: list[Interval]) -> bool:
    """Return whether a span shares a character with any of the intervals, which are in order and apart.

    >>> [_overlaps(Span("d", start, end), [(2, 4), (8, 9)]) for start, end in ((0, 2), (3, 8), (4, 8), (8, 12))]
    [False, True, False, True]
    """
    before = bisect_left(intervals, (span.end,))
    return before > 0 and intervals[before - 1][1] > span.start
