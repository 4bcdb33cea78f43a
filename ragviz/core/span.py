"""Gold evidence: spans of documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of evidence: a range of a document, and its text when it was chosen.

    By its `text` the span is found again when the document is replaced; it is `stale` when it was not. `grade` is its
    graded relevance, above 0: the gain of its chunks in nDCG.
    """

    document_id: str
    start: int
    end: int
    text: str = ""
    stale: bool = False
    grade: float = 1.0

    def overlaps(self, place: tuple[str, int, int] | None) -> bool:
        """Return whether the span shares a character with a place: document id, start, end, as `Chunk.parse_id` gives.

        >>> span = Span("d", 5, 9)
        >>> span.overlaps(("d", 8, 20)), span.overlaps(("d", 9, 20)), span.overlaps(("e", 5, 9)), span.overlaps(None)
        (True, False, False, False)
        """
        if place is None:
            return False
        document_id, start, end = place
        return document_id == self.document_id and start < self.end and self.start < end


Evidence = tuple[tuple[Span, ...], ...]
"""Groups of spans: every group is needed, any member of a group suffices."""
