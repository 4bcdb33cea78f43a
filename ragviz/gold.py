"""Evidence spans → gold chunks of one index: the rule that lets one question set serve every chunking."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ragviz.records import Document, Evidence, Question, Span

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


def reanchored(question: Question, old_id: str, new: Document | None) -> Question:
    """Move the question's spans from the document `old_id` to `new`, where their exact text stands; else stale.

    A span whose text stands more than once goes to the place nearest to where it was. A stale one is tried again when
    the document is replaced once more.
    """
    groups = tuple(tuple(_moved(span, old_id, new) for span in group) for group in question.evidence)
    return replace(question, evidence=groups)


def _moved(span: Span, old_id: str, new: Document | None) -> Span:
    if span.document_id != old_id:
        return span
    places = _places(new.text, span.text) if new is not None and span.text else []
    if new is None or not places:
        return replace(span, document_id=span.document_id if new is None else new.id, stale=True)
    start = min(places, key=lambda place: abs(place - span.start))
    return replace(span, document_id=new.id, start=start, end=start + len(span.text), stale=False)


def _places(text: str, wanted: str) -> list[int]:
    places = []
    at = text.find(wanted)
    while at >= 0:
        places.append(at)
        at = text.find(wanted, at + 1)
    return places
