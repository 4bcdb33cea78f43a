"""Evidence moved to where its text stands in the document that took the place of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ragviz.records import Document, Question, Span


def reanchored(
    question: Question, successors: Mapping[str, str | None], document_of: Callable[[str], Document]
) -> Question:
    """Move the question's spans out of documents that are gone, to where their exact text stands now; else stale.

    `successors` tells for the id of each document that is gone which one has its place, None for a deleted one;
    `document_of` reads one. A span whose text stands more than once goes to the place nearest to where it was (ties:
    the earlier). A stale one is tried again when its document is replaced once more, or is its own successor.
    """

    def moved(span: Span) -> Span:
        if span.document_id not in successors or (successors[span.document_id] == span.document_id and not span.stale):
            return span
        successor = successors[span.document_id]
        if successor is None:
            return replace(span, stale=True)
        start = _nearest(document_of(successor).text, span.text, span.start) if span.text else None
        if start is None:
            return replace(span, document_id=successor, stale=True)
        return replace(span, document_id=successor, start=start, end=start + len(span.text), stale=False)

    if all(span.document_id not in successors for group in question.evidence for span in group):
        return question
    return replace(question, evidence=tuple(tuple(map(moved, group)) for group in question.evidence))


def _nearest(text: str, wanted: str, place: int) -> int | None:
    """Where `wanted` stands in `text`, nearest to `place`; None when it does not."""
    before, after = text.rfind(wanted, 0, place + len(wanted)), text.find(wanted, place)
    places = [at for at in (before, after) if at >= 0]
    return min(places, key=lambda at: abs(at - place), default=None)
