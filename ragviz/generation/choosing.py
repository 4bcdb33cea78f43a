"""Which of the questions that can be made a set asks: fewer rather than one template filled.

Documents take turns, and of each the kinds of questions do, those first that people ask by themselves.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragviz.core.digests import digest
from ragviz.core.question import QuestionType
from ragviz.generation import rejection
from ragviz.generation.candidates import Candidate
from ragviz.generation.phrasing import Phrasing

MOST_ALIKE = 0.15
"""Share of a set that one template, and one table, has at most."""
FEW = 2
"""Questions that may be alike in the smallest set."""
WEIGHTS = {
    "heading": 30, "steps": 20, "sentence": 20, "question": 10, "list": 8, "term": 8, "table": 5, "pair": 3,
}  # fmt: skip
"""What questions are made of, the most natural first, and how often each has its turn."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A question to be made, in one of its wordings."""

    candidate: Candidate
    phrasing: Phrasing

    @property
    def key(self) -> str:
        """What tells it from all others, whatever its wording."""
        place, candidate = self.candidate.place, self.candidate
        return digest(
            candidate.pattern, candidate.type, place.document_id, str(place.start), str(place.end), candidate.answer
        )


def unambiguous(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates without wordings that ask about two places alike, and without those that have no other."""
    candidates = list(candidates)
    counts = Counter(text for each in candidates for text in {rejection.normal(way.text) for way in each.phrasings})
    found = []
    for each in candidates:
        ways = tuple(way for way in each.phrasings if counts[rejection.normal(way.text)] == 1)
        if ways:
            found.append(each if len(ways) == len(each.phrasings) else replace(each, phrasings=ways))
    return found


def chosen(
    candidates: Iterable[Candidate],
    limit: int,
    characters: Mapping[str, int],
    *,
    most: Mapping[QuestionType, int] | None = None,
    first: Collection[str] = (),
    taken: Collection[str] = (),
    seed: int = 0,
) -> list[Choice]:
    """Choose at most `limit` questions: no template and no table has more than `MOST_ALIKE` of them.

    No document has more than twice its share, which grows with the square root of its `characters`; `most` limits
    types, those that are not in it are not asked. Those whose `Choice.key` is in `first` are chosen
    first; others not in words that are `taken`. The same candidates and seed give the same choice.
    """
    by_document: dict[str, list[Candidate]] = defaultdict(list)
    for each in unambiguous(candidates):
        if Choice(each, each.phrasings[0]).key not in first:
            ways = tuple(way for way in each.phrasings if rejection.normal(way.text) not in taken)
            each = replace(each, phrasings=ways) if len(ways) < len(each.phrasings) else each
        if each.phrasings and (most is None or each.type in most):
            by_document[each.place.document_id].append(each)
    size = min(limit, sum(map(len, by_document.values())))
    while True:
        found = _Picking(by_document, size, characters, most, seed).picked(first)
        if len(found) >= size:
            return found
        size = len(found)  # what may be alike is a share of what there is


class _Picking:
    def __init__(
        self, by_document: Mapping[str, Sequence[Candidate]], size: int, characters: Mapping[str, int],
        most: Mapping[QuestionType, int] | None, seed: int,
    ) -> None:  # fmt: skip
        self._size, self._most, self._seed = size, most, seed
        self._alike = max(FEW, math.floor(MOST_ALIKE * size))
        weights = {name: math.sqrt(max(1, characters.get(name, 1))) for name in by_document}
        whole = math.fsum(weights.values()) or 1.0
        self._share = {name: max(1, math.ceil(2 * size * weight / whole)) for name, weight in weights.items()}
        self._by_document = by_document
        self._templates, self._tables = Counter[str](), Counter[str]()
        self._documents, self._types = Counter[str](), Counter[QuestionType]()
        self._patterns = Counter[str]()
        self._places: set[tuple[str, int, int]] = set()

    def picked(self, first: Collection[str]) -> list[Choice]:
        """Return the choice."""
        found, others = list[Choice](), dict[str, list[Candidate]]()
        for document_id in sorted(self._by_document):
            others[document_id] = []
            for each in self._by_document[document_id]:
                if Choice(each, each.phrasings[0]).key not in first:
                    others[document_id].append(each)
                elif len(found) < self._size:
                    found += self._take(each)
        turns = sorted(others, key=lambda name: digest(str(self._seed), name))
        queues = {name: self._queues(others[name]) for name in turns}
        while turns and len(found) < self._size:
            for name in turns:
                found += self._next(queues[name]) if len(found) < self._size else []
            turns = [name for name in turns if queues[name]]
        return found

    def _queues(self, candidates: Iterable[Candidate]) -> dict[str, deque[Candidate]]:
        """Return the candidates of a document by what they are made of, in an order that the seed draws."""
        queues: dict[str, deque[Candidate]] = defaultdict(deque)
        for each in sorted(
            candidates,
            key=lambda each: digest(str(self._seed), each.place.document_id, str(each.place.start), each.answer),
        ):
            queues[each.pattern].append(each)
        return queues

    def _next(self, queues: dict[str, deque[Candidate]]) -> list[Choice]:
        """Take a candidate of those patterns that are furthest behind; nothing where none is left that may be taken."""
        while queues:
            pattern = min(queues, key=lambda name: (self._patterns[name] / WEIGHTS[name], list(WEIGHTS).index(name)))
            taken = self._take(queues[pattern].popleft())
            if not queues[pattern]:
                del queues[pattern]
            if taken:
                self._patterns[pattern] += 1
                return taken
        return []

    def _take(self, candidate: Candidate) -> list[Choice]:
        """Return a candidate in the wording that was used least, counted; nothing where a limit is reached."""
        place = candidate.place
        if self._documents[place.document_id] >= self._share[place.document_id]:
            return []
        if candidate.table and self._tables[candidate.table] >= self._alike:
            return []
        if self._most is not None and self._types[candidate.type] >= self._most[candidate.type]:
            return []
        if (place.document_id, place.start, place.end) in self._places and candidate.pattern != "table":
            return []
        drawn = digest(str(self._seed), place.document_id, str(place.start), candidate.pattern)
        free = [way for way in candidate.phrasings if not way.template or self._templates[way.template] < self._alike]
        if not free:
            return []
        way = min(
            free, key=lambda way: (self._templates[way.template] if way.template else 0, digest(drawn, way.template))
        )
        self._templates[way.template] += 1
        self._tables[candidate.table] += bool(candidate.table)
        self._documents[place.document_id] += 1
        self._types[candidate.type] += 1
        self._places.add((place.document_id, place.start, place.end))
        return [Choice(candidate, way)]
