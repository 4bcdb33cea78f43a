"""Re-anchoring evidence in the document that replaced its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ragviz.core.document import Document
from ragviz.core.question import Question
from ragviz.core.span import Span


def reanchored(
    question: Question, successors: Mapping[str, str | None], document_of: Callable[[str], Document]
) -> Question:
    """Return the question with spans of replaced documents moved to where their exact text is now, else stale.

    `successors` maps the id of each replaced document to its successor's, None for a deleted one; `document_of` reads a
    document. A span whose text occurs more than once moves to the occurrence nearest to its old position (ties: the
    earlier). A stale span is tried again when its document is replaced once more, or is its own successor.
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


def _nearest(text: str, quote: str, position: int) -> int | None:
    """Return the start of `quote` in `text` nearest to `position`; None when it does not occur."""
    candidates = text.rfind(quote, 0, position + len(quote)), text.find(quote, position)
    return min((at for at in candidates if at >= 0), key=lambda at: abs(at - position), default=None)
