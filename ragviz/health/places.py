"""Where a corpus says what kind of thing, and which of it a question set asks about: tables, lists, sections."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragviz.claims.sections import sections
from ragviz.claims.structure import structure
from ragviz.health.altered_index import Chunks
from ragviz.records import Document, Question

Range = tuple[int, int]

KINDS: Mapping[str, str] = {
    "tables": "tables",
    "lists": "lists",
    "key_values": "key–value lines",
    "definitions": "definitions",
}
"""Kinds of places as `structure.Structure` names them, and in words."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the corpus: its dimension ("place", "document"), name, chunks, and the questions about it by number."""

    by: str
    name: str
    chunks: int
    questions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sections:
    """How many sections with chunks the documents have, and how many of them are asked about."""

    total: int
    asked: int


def parts(documents: Iterable[Document], chunks: Chunks, questions: Sequence[Question]) -> tuple[list[Part], Sections]:
    """Return the kinds of places and the documents with their questions, and what is asked of the sections.

    A question is about a kind of place where at least half of a piece of its evidence stands in such places.
    """
    rows_of: dict[str, list[Range]] = {}
    for document_id, place in zip(chunks.documents, chunks.spans, strict=True):
        rows_of.setdefault(document_id, []).append(place)
    evidence: dict[str, list[tuple[int, Range]]] = {}
    for number, question in enumerate(questions):
        for span in (span for group in question.evidence for span in group if not span.stale):
            evidence.setdefault(span.document_id, []).append((number, (span.start, span.end)))
    holding, asked = dict.fromkeys(KINDS, 0), {kind: dict[int, None]() for kind in KINDS}
    by_document, total, known = [], 0, 0
    for document in documents:
        cut, mine = rows_of.get(document.id, []), evidence.get(document.id, [])
        by_document.append(Part("document", document.name, len(cut), tuple(dict.fromkeys(n for n, _ in mine))))
        found = structure(document)
        for kind in KINDS:
            places = merged((place.start, place.end) for place in getattr(found, kind))
            holding[kind] += sum(inside(places, each) > 0 for each in cut)
            asked[kind] |= {n: None for n, (start, end) in mine if 2 * inside(places, (start, end)) >= end - start}
        own = [(each.start, each.end) for each in sections(document)]
        total += sum(inside(merged(cut), each) > 0 for each in own)
        known += sum(inside(merged(place for _, place in mine), each) > 0 for each in own)
    kinds = [Part("place", title, holding[kind], tuple(asked[kind])) for kind, title in KINDS.items()]
    return kinds + by_document, Sections(total, known)


def merged(places: Iterable[Range]) -> list[Range]:
    """Return places without their overlaps, in order.

    >>> merged([(5, 8), (0, 3), (2, 4)])
    [(0, 4), (5, 8)]
    """
    found: list[Range] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def inside(places: Sequence[Range], of: Range) -> int:
    """Return how many characters of a range stand in merged places.

    >>> inside([(0, 4), (5, 8)], (2, 7))
    4
    """
    first = bisect_right(places, of[0], key=lambda place: place[1])
    last = bisect_left(places, of[1], lo=first, key=lambda place: place[0])
    return sum(min(end, of[1]) - max(start, of[0]) for start, end in places[first:last])
