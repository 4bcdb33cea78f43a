"""Where words stand in the documents of a corpus: an inverted index, built once, in which nothing is guessed.

Compared are units (a word, a number, one Chinese character), without case, width and English inflection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragviz.claims.sections import name_of, sections, title_of
from ragviz.core.document import Document
from ragviz.questions.units import units
from ragviz.text.stems import stem

REACH = 75
"""Units before and after a phrase that count as said together with it: a passage of some 200 tokens."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BETWEEN = 0  # the unit that ends every document and every path of headings

Ints = NDArray[np.int32]


class _Postings:
    """A sequence of numbered units, and where each stands in it."""

    def __init__(self, pieces: Sequence[Ints], kinds: int) -> None:
        self.units: Ints = np.concatenate([*pieces, np.zeros(0, dtype=np.int32)])
        self._order = np.argsort(self.units, kind="stable").astype(np.int32)
        self._ends = np.cumsum(np.bincount(self.units, minlength=kinds + 1))

    def find(self, wanted: Sequence[int]) -> Ints:
        """Return where `wanted` begins, in order; the rarest of its units is looked up."""
        rarest = min(range(len(wanted)), key=lambda place: self._count(wanted[place]))
        number = wanted[rarest]
        first = self._order[self._ends[number - 1] : self._ends[number]] - rarest
        first = first[(first >= 0) & (first + len(wanted) <= len(self.units))]
        for place, unit in enumerate(wanted):
            first = first[self.units[first + place] == unit]
        return first

    def _count(self, number: int) -> int:
        return int(self._ends[number] - self._ends[number - 1])


class ExactSearch:
    """The units of all documents of a corpus, of their paragraphs and of the headings above them.

    Each document is read once; memory is some 12 bytes a unit. A phrase costs a look-up of its rarest unit.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        """Read the documents, which need not be kept."""
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._row: dict[str, int] = {}
        self._first = [0]
        section_first: list[int] = []  # first unit of every section, over all documents
        self._path_first: list[int] = []  # where its path of headings begins among those of all
        bodies: list[Ints] = []
        offsets: list[Ints] = []
        paths: list[Ints] = []
        paragraphs: list[Ints] = []
        size = 0
        for document in documents:
            numbers, starts = self._read(document.text)
            base = self._first[-1]
            self._row[document.id] = len(self._ids)
            self._ids.append(document.id)
            breaks = [match.end() for match in _PARAGRAPH.finditer(document.text)]
            paragraphs.append(np.searchsorted(starts[:-1], [0, *breaks]).astype(np.int32) + base)
            named = f"{title_of(document)}\n{name_of(document)}"
            for section in sections(document) or []:
                path, _ = self._read(f"{named}\n{section.path}")
                section_first.append(int(np.searchsorted(starts[:-1], section.start)) + base)
                self._path_first.append(size)
                paths.append(path)
                size += len(path)
            bodies.append(numbers)
            offsets.append(starts)
            self._first.append(base + len(numbers))
        section_first.append(self._first[-1])
        self._path_first.append(size)
        self._body = _Postings(bodies, len(self._numbers))
        self._paths = _Postings(paths, len(self._numbers))
        self._starts: Ints = np.concatenate([*offsets, np.zeros(0, dtype=np.int32)])
        ends = np.array(self._first, dtype=np.int32)
        self._paragraphs = np.unique(np.concatenate([*paragraphs, ends]))
        self._sections: Ints = np.array(section_first, dtype=np.int32)
        self._found: dict[str, Ints] = {}
        self._above: dict[str, Ints] = {}

    def _read(self, text: str) -> tuple[Ints, Ints]:
        """Return the numbers and offsets of a text's units, closed by one that ends it."""
        numbers, starts = [], []
        for unit, start, _ in units(text):
            numbers.append(self._numbers.setdefault(stem(unit), len(self._numbers) + 1))
            starts.append(start)
        return np.array([*numbers, _BETWEEN], dtype=np.int32), np.array([*starts, len(text)], dtype=np.int32)

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._ids)

    def count(self, phrase: str) -> int:
        """Return at how many places of all documents the phrase stands; 0 for one without a word."""
        return len(self._places(phrase))

    def documents(self, phrase: str) -> list[str]:
        """Return the ids of the documents that hold the phrase, in the order in which they were read."""
        rows = np.unique(np.searchsorted(self._first, self._places(phrase), side="right") - 1)
        return [self._ids[row] for row in rows]

    def starts(self, phrase: str) -> list[tuple[str, int]]:
        """Return where the phrase begins: ids of documents with a character, in the order in which they were read."""
        places = self._places(phrase)
        rows = np.searchsorted(self._first, places, side="right") - 1
        return [(self._ids[row], int(start)) for row, start in zip(rows, self._starts[places], strict=True)]

    def paragraph(self, document_id: str, start: int) -> int:
        """Return the number of the paragraph, among those of all documents, that holds a character of a document."""
        return int(np.searchsorted(self._paragraphs, self._unit(document_id, start), side="right")) - 1

    def paragraphs(self, document_id: str, start: int, end: int) -> range:
        """Return the numbers of the paragraphs that hold characters `start` to `end` of a document."""
        return range(self.paragraph(document_id, start), self.paragraph(document_id, max(start, end - 1)) + 1)

    def distance(self, document_id: str, first: int, second: int) -> int:
        """Return how many units are between two characters of a document, the first before the second."""
        return self._unit(document_id, second) - self._unit(document_id, first)

    def holds(self, paragraphs: range, phrase: str) -> bool:
        """Return whether these paragraphs hold the phrase; one without a word is held by none."""
        first, last = self._paragraphs[paragraphs.start], self._paragraphs[paragraphs.stop]
        places = self._places(phrase)
        at = int(np.searchsorted(places, first))
        return at < len(places) and bool(places[at] < last)

    def share_a_section(self, one: str, other: str) -> bool:
        """Return whether two phrases stand under one heading, in its text or in the headings above it."""
        return bool(np.intersect1d(self._sections_of(one), self._sections_of(other)).size)

    def _sections_of(self, phrase: str) -> NDArray[np.int64]:
        """Return the numbers of the sections that hold a phrase or have it above them; text before the first is -1."""
        within = np.searchsorted(self._sections, self._places(phrase), side="right") - 1
        return np.concatenate([within, self._headed(phrase)]).astype(np.int64)

    def near(self, phrase: str, others: Sequence[str], most: int = 200) -> int | None:
        """Return how many of `others` at most stand together with `phrase`: near one place, or under one heading.

        A place reaches `REACH` units in each direction, and to the headings above it; a phrase in a heading, or in its
        document's name, is said of the whole section. None where it stands at more than `most` places: not looked at.
        """
        places, headed = self._places(phrase), self._headed(phrase)
        if len(places) > most or len(headed) > most:
            return None
        rows = np.searchsorted(self._first, places, side="right") - 1
        bounds = np.array(self._first)
        first = np.concatenate([np.maximum(places - REACH, bounds[rows]), self._sections[headed]])
        last = np.concatenate([np.minimum(places + REACH, bounds[rows + 1]), self._sections[headed + 1]])
        if not len(first):
            return 0
        found = np.zeros(len(first), dtype=np.int64)
        for other in others:
            found += self._between(other, first, last)
        return int(found.max())

    def _between(self, phrase: str, first: Ints, last: Ints) -> NDArray[np.bool_]:
        """Return whether a phrase stands between units `first` and `last`, or in the headings above where they are."""
        places = np.append(self._places(phrase), self._first[-1])
        within = places[np.searchsorted(places, first)] < last
        headed = self._headed(phrase)
        for at in (first, (first + last) // 2):
            within |= np.isin(np.searchsorted(self._sections, at, side="right") - 1, headed)
        return within

    def _places(self, phrase: str) -> Ints:
        if phrase not in self._found:
            wanted = self._of(phrase)
            found = self._body.find(wanted) if wanted and min(wanted) > 0 else np.zeros(0, dtype=np.int32)
            self._found[phrase] = found
        return self._found[phrase]

    def _of(self, phrase: str) -> list[int]:
        """Return the numbers of a phrase's units, -1 for one that no document holds."""
        return [self._numbers.get(stem(unit), -1) for unit, _, _ in units(phrase)]

    def _unit(self, document_id: str, start: int) -> int:
        row = self._row[document_id]
        first, last = self._first[row], self._first[row + 1]
        return first + max(int(np.searchsorted(self._starts[first : last - 1], start, side="right")) - 1, 0)

    def _headed(self, phrase: str) -> Ints:
        """Return the numbers of the sections that have the phrase in a heading above them."""
        if phrase not in self._above:
            wanted = self._of(phrase)
            at = self._paths.find(wanted) if wanted and min(wanted) > 0 else np.zeros(0, dtype=np.int32)
            self._above[phrase] = np.unique(np.searchsorted(self._path_first, at, side="right") - 1)
        return self._above[phrase]
