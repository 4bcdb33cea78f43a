"""Evidence spans to the gold chunks of one index: one rule, so that one question set serves every chunking."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from ragviz.core.document import Chunk, Evidence, Span

Cut = tuple[str, int, int]
"""Id, start and end of a chunk: characters of its document, end exclusive."""

CutsOf = Callable[[str], Sequence[Cut]]
"""Document id → its cuts in document order: neither starts nor ends decrease. Empty for an unknown id."""


def gold_chunks(evidence: Evidence, chunks_of: CutsOf) -> tuple[tuple[str, ...], ...]:
    """Return the gold chunks of every group of `evidence`: those of its members in order, without repeats.

    A chunk is gold for a span when their overlap is at least half of the shorter of the two; when no chunk reaches
    that, the one with the greatest overlap is (ties: the earliest). Chunks that only touch the span never are. A group
    is empty when its spans are stale, or the index has no chunk there: it can then never be retrieved.

    >>> cuts = {"doc": [("a", 0, 100), ("b", 100, 200), ("c", 200, 300)]}
    >>> gold_chunks(((Span("doc", 90, 150),), (Span("doc", 40, 50), Span("doc", 0, 300))), cuts.__getitem__)
    (('b',), ('a', 'b', 'c'))
    """
    return tuple(
        tuple(dict.fromkeys(chunk_id for span in group for chunk_id in _gold_of_span(span, chunks_of)))
        for group in evidence
    )


def grades(evidence: Evidence, chunks_of: CutsOf) -> dict[str, float]:
    """Return the grades other than 1 of the gold chunks of `evidence`; for a chunk of several spans the highest.

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


def gold_among(evidence: Evidence, chunk_ids: Sequence[str]) -> tuple[tuple[tuple[str, ...], ...], dict[str, float]]:
    """Return the gold chunks of every group, and grades, where only the chunks that were retrieved are known.

    They may be nested. One is gold for a span when their overlap is at least half of the shorter of the two: what else
    overlaps it may not be what overlaps it most. A group without any has a chunk of its own, which is in no ranking;
    it is empty when its spans are stale.

    >>> read = Chunk.make_id("d", 0, 100), Chunk.make_id("d", 40, 60), Chunk.make_id("e", 0, 100)
    >>> gold_among(((Span("d", 90, 150),), (Span("d", 50, 70), Span("e", 5, 9, grade=2.0))), read)
    ((('d-00000090-00000150',), ('d-00000000-00000100', 'd-00000040-00000060', 'e-00000000-00000100')), \
{'e-00000000-00000100': 2.0})
    """
    places = [(chunk_id, place) for chunk_id in chunk_ids if (place := Chunk.parse_id(chunk_id))]
    groups, highest = list[tuple[str, ...]](), dict[str, float]()
    for spans in evidence:
        found: dict[str, None] = {}
        for span in (span for span in spans if not span.stale):
            for chunk_id, (document_id, start, end) in places:
                overlap = min(end, span.end) - max(start, span.start) if document_id == span.document_id else 0
                if 0 < min(end - start, span.end - span.start) <= 2 * overlap:
                    found[chunk_id] = None
                    highest[chunk_id] = max(highest.get(chunk_id, 0.0), span.grade)
        missed = [Chunk.make_id(span.document_id, span.start, span.end) for span in spans if not span.stale]
        groups.append(tuple(found) or tuple(missed[:1]))
    return tuple(groups), {chunk_id: grade for chunk_id, grade in highest.items() if grade != 1}


def _gold_of_span(span: Span, chunks_of: CutsOf) -> list[str]:
    if span.stale:
        return []
    # Two bisections: the first chunk that ends behind the span's start, and the first that starts at or behind its end.
    cuts = chunks_of(span.document_id)
    first = bisect_right(cuts, span.start, key=lambda cut: cut[2])
    last = bisect_left(cuts, span.end, lo=first, key=lambda cut: cut[1])
    shared = [(min(end, span.end) - max(start, span.start), end - start, id_) for id_, start, end in cuts[first:last]]
    shared = [each for each in shared if each[0] > 0]
    gold = [id_ for overlap, length, id_ in shared if 2 * overlap >= min(length, span.end - span.start)]
    if gold or not shared:
        return gold
    return [max(shared, key=lambda each: each[0])[2]]  # of equals, max returns the first: the earliest
