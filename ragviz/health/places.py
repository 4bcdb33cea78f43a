"""What documents consist of: prose, tables, lists, and so on; and which of it a question set asks about."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragviz.core.document import Document
from ragviz.core.question import Question, QuestionType
from ragviz.generation.asked_places import merged
from ragviz.generation.structure import structure
from ragviz.index.headings import headings, verbatim

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of places: what they are called, and the type of questions that asks for it, "" for none."""

    title: str
    asked_by: QuestionType = ""


KINDS: Mapping[str, Kind] = {
    "prose": Kind("prose"),
    "tables": Kind("tables", "table"),
    "lists": Kind("lists", "list"),
    "key_values": Kind("key–value lines"),
    "definitions": Kind("definitions", "definition"),
    "code": Kind("code"),
    "images": Kind("images"),
}
"""Kinds of places in documents. Headings are none: they are part of what they head."""
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)|<img\b[^>]*>|!\[\[[^\]\n]*\]\]", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_TEXT = re.compile(r"[^\W_]")


def kinds_in(document: Document) -> dict[str, list[Range]]:
    """Return the places of each kind in a document, in order; those of different kinds may overlap.

    Prose is each paragraph, beside images, that is no heading and stands in no place of another kind.
    """
    found, text = structure(document), document.text
    places = {
        name: [(place.start, place.end) for place in getattr(found, name)]
        for name in ("tables", "lists", "key_values", "definitions")
    }
    places["code"] = [(start, end) for start, end in verbatim(text) if _FENCE.match(text, start)]
    taken = merged([place for of_kind in places.values() for place in of_kind] + list(headings(document)))
    places["images"] = [match.span() for match in _IMAGE.finditer(text)]
    without_images = _IMAGE.sub(lambda image: " " * len(image.group()), text)
    return {name: list(_prose(without_images, taken)) if name == "prose" else places[name] for name in KINDS}


def _prose(text: str, taken: Sequence[Range]) -> Iterator[Range]:
    """Yield the paragraphs between places that are taken, which are in order; those without a letter or digit not."""
    left = 0
    for start, end in [*taken, (len(text), len(text))]:
        first = left
        for gap in [*_PARAGRAPH_END.finditer(text, left, start), None]:
            last = gap.start() if gap else start
            if _TEXT.search(text, first, last):
                yield first, last
            first = gap.end() if gap else start
        left = end


@dataclass(slots=True)
class Asked:
    """How many places of a kind there are, their characters, and the questions about them by number, in order.

    A question is about a kind where at least half of a piece of its evidence stands in such places, or where its type
    asks for it.
    """

    places: int = 0
    characters: int = 0
    questions: dict[int, None] = field(default_factory=dict)


class Kinds:
    """What questions ask about of each kind of places, of documents that are read one by one."""

    def __init__(self, questions: Sequence[Question]) -> None:
        """Note where the evidence of the questions stands."""
        self.characters = 0
        self.asked = {name: Asked() for name in KINDS}
        self._evidence: dict[str, list[tuple[int, Range]]] = {}
        for number, question in enumerate(questions):
            for span in (span for group in question.evidence for span in group if not span.stale):
                self._evidence.setdefault(span.document_id, []).append((number, (span.start, span.end)))
            for name, kind in KINDS.items():
                if kind.asked_by and question.type == kind.asked_by:
                    self.asked[name].questions[number] = None

    def evidence(self, document_id: str) -> list[tuple[int, Range]]:
        """Return the evidence in a document, with the number of its question."""
        return self._evidence.get(document_id, [])

    def read(self, document: Document) -> dict[str, list[Range]]:
        """Count a document, and return its places of each kind, merged."""
        self.characters += len(document.text)
        found = {}
        for name, each in kinds_in(document).items():
            asked, places = self.asked[name], merged(each)
            asked.places += len(each)
            asked.characters += sum(end - start for start, end in places)
            for number, (start, end) in self.evidence(document.id):
                if 0 < end - start <= 2 * inside(places, (start, end)):
                    asked.questions[number] = None
            found[name] = places
        return found

    def share(self, name: str) -> float:
        """Return the share of all characters that stand in places of a kind; 0 without any text."""
        return self.asked[name].characters / self.characters if self.characters else 0.0


def inside(places: Sequence[Range], of: Range) -> int:
    """Return how many characters of a range stand in merged places.

    >>> inside([(0, 4), (5, 8)], (2, 7))
    4
    """
    first = bisect_right(places, of[0], key=lambda place: place[1])
    last = bisect_left(places, of[1], lo=first, key=lambda place: place[0])
    return sum(min(end, of[1]) - max(start, of[0]) for start, end in places[first:last])
