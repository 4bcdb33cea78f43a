"""Evidence spans → gold chunks of one index: the rule that lets one question set serve every chunking."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from ragviz.records import Evidence, Span

Cut = tuple[str, int, int]
"""A chunk as far as the rule needs it: id, start, end (characters of the document, end exclusive)."""

CutsOf = Callable[[str], Sequence[Cut]]
"""The cuts of a document by its id, in document order: neither starts nor ends ever decrease. Unknown id: empty."""


def gold_chunks(evidence: Evidence, chunks_of: CutsOf) -> tuple[tuple[str, ...], ...]:
    """Gold chunks of every group of `evidence`: those of all its members, without repeats, in the members' order.

    A chunk is gold for a span when their overlap is at least half of the shorter of the two; when no chunk reaches
    that, the one with the greatest overlap is (ties: the earliest). Chunks that only touch the span never are. A group
    stays empty when its spans are stale, or their documents hold no chunk there: it can then never be found.

    >>> cuts = {"doc": [("a", 0, 100), ("b", 100, 200), ("c", 200, 300)]}
    >>> gold_chunks(((Span("doc", 90, 150),), (Span("doc", 40, 50), Span("doc", 0, 300))), cuts.__getitem__)
    (('b',), ('a', 'b', 'c'))
    """
    return tuple(
        tuple(dict.fromkeys(chunk_id for span in group for chunk_id in _gold_of_span(span, chunks_of)))
        for group in evidence
    )


def grades(evidence: Evidence, chunks_of: CutsOf) -> dict[str, float]:
    """Grades of the gold chunks of `evidence` that are not 1: of a chunk that is gold for several spans, the highest.

    >>> spans = Span("doc", 0, 100, grade=3.0), Span("doc", 100, 200)
    >>> grades((spans,), {"doc": [("a", 0, 100), ("b", 100, 200)]}.__getitem__)
    {'a': 3.0}
    """
    spans = [span for group in evidence for span in group]
    if all(span.grade == 1 for span in spans):
        return {}
    highest: dict[str, float] = {}
    for span in spans:
        for chunk_id in _gold_of_span(span, chunks_of):
            highest[chunk_id] = max(highest.get(chunk_id, 0.0), span.grade)
    return {chunk_id: grade for chunk_id, grade in highest.items() if grade != 1}


def _gold_of_span(span: Span, chunks_of: CutsOf) -> list[str]:
    """Apply the rule to one span."""
    if span.stale:
        return []
    overlaps = list(_overlaps(span, chunks_of(span.document_id)))
    gold = [chunk_id for chunk_id, overlap, shorter in overlaps if 2 * overlap >= shorter]
    if gold or not overlaps:
        return gold
    return [max(overlaps, key=lambda found: found[1])[0]]  # max keeps the first, the earliest


def _overlaps(span: Span, cuts: Sequence[Cut]) -> Iterator[tuple[str, int, int]]:
    """Id, overlap and the shorter length of every chunk that shares a character with `span`, in document order.

    Two bisections find them: chunks before the first end past `span.start`, and from the first start at or past
    `span.end` on, share nothing.
    """
    first = bisect_right(cuts, span.start, key=lambda cut: cut[2])
    last = bisect_left(cuts, span.end, lo=first, key=lambda cut: cut[1])
    for chunk_id, start, end in cuts[first:last]:
        overlap = min(end, span.end) - max(start, span.start)
        if overlap > 0:
            yield chunk_id, overlap, min(end - start, span.end - span.start)
