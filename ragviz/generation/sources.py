"""What a model is asked to write questions about: chunks of an index, several together where they are related.

Chunks of one question share rare words, or say the like of two things.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

from ragviz.core.digests import digest
from ragviz.core.document import Chunk
from ragviz.core.question import QuestionStyle, QuestionType
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.model_questions import Task
from ragviz.generation.sections import SEPARATOR, name_of, section_at, title_of
from ragviz.questions.question_types import TYPES
from ragviz.text import segmentation
from ragviz.text.words import content_words, stem

COPIES = 3
"""Questions of one type that are asked about the same passages at most."""
WIDEST = 4000
"""Characters of a passage that is widened to its section, at most, unless its chunk has more."""
RARE = 5
"""Chunks that hold a word at most which relates them."""
GROUPS = 2000
"""Groups of chunks that are looked at, at most."""
COPIED = 0.8
"""Share of their words that two chunks have in common from which on one copies the other."""


Passages = tuple[Chunk, ...]
"""The chunks that one question can be made of."""


def key_of(passages: Passages) -> str:
    """Return what tells passages from others: the ids of their chunks, as of `Question.source_chunks`."""
    return "+".join(chunk.id for chunk in passages)


class Sources:
    """What questions can be written about in an index."""

    def __init__(self, documents: IndexedDocuments, passages: int, seed: int) -> None:
        """Relate nothing yet; a bridge has so many `passages`, `seed` draws orders and who asks."""
        self.documents, self._passages, self._seed = documents, passages, seed
        self.of = cache(self._of)
        self._related = cache(self._by_document)
        self._words = cache(self._read)
        self._title_of, self._whole_of = cache(self._title), cache(self._whole)

    def _of(self, document_id: str, asked: QuestionType) -> Sequence[Passages]:
        """Return the passages of a document that questions of a type can be made of, each once.

        Single chunks are in a drawn order: those with a list or table first where one is asked for, else those that are
        rows of a table alone last.
        """
        if TYPES[asked].fewest > 1:
            return self._related(asked).get(document_id, ())
        wanted = self.documents.places_of(document_id, asked)
        tables = [] if wanted else self.documents.places_of(document_id, "table")

        def order(chunk: Chunk) -> tuple[bool, bool, str]:
            offers = any(chunk.start < end and start < chunk.end for start, end in wanted)
            in_table = any(start <= chunk.start and chunk.end <= end for start, end in tables)
            return not offers, in_table, digest(str(self._seed), chunk.id)

        return [(chunk,) for chunk in sorted(self.documents.chunks(document_id), key=order)]

    def _by_document(self, asked: QuestionType) -> Mapping[str, Sequence[Passages]]:
        found: dict[str, list[Passages]] = defaultdict(list)
        for group in self._bridged() if asked == "bridge" else self._comparable():
            found[group[0].document_id].append(group)
        return found

    def task(self, passages: Passages, asked: QuestionType, style: QuestionStyle, texts: Iterable[str] = ()) -> Task:
        """Return the task to write a question about passages, other than those with these `texts`."""
        document, known = self.documents.by_id[passages[0].document_id], tuple(texts)
        return Task(
            asked,
            style,
            tuple(map(self._whole_of, passages)),
            tuple(filter(None, known)),
            len(known),
            titles=tuple(map(self._title_of, passages)),
            own=document.language if document.language != "und" else "",
            drawn=int(digest(str(self._seed), key_of(passages), asked, style)[:8], 16),
        )

    def _title(self, chunk: Chunk) -> str:
        document = self.documents.by_id[chunk.document_id]
        path = self.documents.section_of(chunk.document_id, chunk.start).split(SEPARATOR)
        titles = [title_of(document) or name_of(document), *path]
        return SEPARATOR.join(dict.fromkeys(filter(None, titles)))

    def _whole(self, chunk: Chunk) -> Chunk:
        """Return a chunk; one that begins inside a sentence or a link is widened to its section, up to `WIDEST`."""
        document = self.documents.by_id[chunk.document_id]
        section = section_at(self.documents.sections(chunk.document_id), chunk.start)
        before, after = document.text[section.start : chunk.start], document.text[chunk.start : chunk.start + 200]
        if not before.strip() or not _is_inside(before, after, document.language):
            return chunk
        start = max(section.start, chunk.end - WIDEST)
        end = max(chunk.end, min(section.end, start + WIDEST))
        return replace(chunk, start=start, end=end, text=document.text[start:end])

    # Related chunks

    def _bridged(self) -> Iterator[Passages]:
        """Yield groups of chunks, each joined to the one before by rare words; of several documents first."""
        chunks, words = self._words()
        holders: dict[str, list[int]] = defaultdict(list)
        for number, said in enumerate(words):
            for word in sorted(said):
                holders[word].append(number)
        near: dict[int, Counter[int]] = defaultdict(Counter)
        for word, places in holders.items():
            rare = 2 <= len(places) <= RARE and not word.isdigit()
            for one, other in combinations(places if rare else (), 2):
                near[one][other] += 1
                near[other][one] += 1

        def order(pair: tuple[int, int]) -> tuple[bool, int, str]:
            one, other = pair
            drawn = digest(str(self._seed), chunks[one].id, chunks[other].id)
            return chunks[one].document_id == chunks[other].document_id, -near[one][other], drawn

        pairs = ((one, other) for one, others in near.items() for other in others if one < other)
        used = Counter[int]()
        for one, other in sorted(pairs, key=order)[:GROUPS]:
            group = [one, other]
            while len(group) < self._passages:
                ranked = (n for n, _ in near[group[-1]].most_common())
                more = next((n for n in ranked if all(self._apart(n, each) for each in group)), None)
                if more is None:
                    break
                group.append(more)
            is_whole = len(group) == self._passages and self._apart(one, other)
            if is_whole and max(used[n] for n in group) < RARE:
                used.update(group)
                yield tuple(chunks[n] for n in group)

    def _comparable(self) -> Iterator[Passages]:
        """Yield pairs of chunks under headings beside each other, or under one title in two documents."""
        chunks, words = self._words()
        beside: dict[str, list[int]] = defaultdict(list)
        places = [(chunk.document_id, self.documents.section_of(chunk.document_id, chunk.start)) for chunk in chunks]
        for number, (document_id, path) in enumerate(places):
            above, _, title = path.rpartition(SEPARATOR)
            if path:
                beside[f"{document_id} {above}"].append(number)
                beside[f"= {title.lower()}"].append(number)

        def order(pair: tuple[int, int]) -> tuple[float, str]:
            """The likest first."""
            one, other = pair
            likeness = len(words[one] & words[other]) / math.sqrt(len(words[one]) * len(words[other]) or 1)
            return -round(likeness, 2), digest(str(self._seed), chunks[one].id, chunks[other].id)

        pairs = {pair for numbers in beside.values() for pair in combinations(numbers[:40], 2)}
        for one, other in sorted(pairs, key=order)[:GROUPS]:
            if places[one] != places[other] and self._apart(one, other):
                yield chunks[one], chunks[other]

    def _read(self) -> tuple[list[Chunk], list[frozenset[str]]]:
        chunks = [chunk for document_id in self.documents.by_id for chunk in self.documents.chunks(document_id)]
        found = []
        for chunk in chunks:
            said = content_words(chunk.text, self.documents.by_id[chunk.document_id].language)
            long = (word for word in said if len(word) > 3 or re.search("[\u4e00-\u9fff]{2}", word))
            found.append(frozenset(map(stem, long)))
        return chunks, found

    def _apart(self, one: int, other: int) -> bool:
        """Return whether two chunks, by their numbers, neither overlap nor nearly copy each other."""
        chunks, words = self._words()
        first, second = chunks[one], chunks[other]
        overlap = first.document_id == second.document_id and first.start < second.end and second.start < first.end
        return one != other and not overlap and len(words[one] & words[other]) < COPIED * len(words[one] | words[other])


def _is_inside(before: str, after: str, language: str) -> bool:
    r"""Return whether a text goes on inside a sentence, or a link, that began before.

    >>> _is_inside("It costs 5", " euros. Ask us.", "en"), _is_inside("It costs 5 euros.\n\n", "Ask us.", "en")
    (True, False)
    >>> _is_inside("See the [price", " list](a.md).", "en")
    True
    """
    tail = before[-400:]
    if tail.rfind("[") > tail.rfind("]") or tail.rfind("](") > tail.rfind(")"):
        return True
    at = len(tail)
    return any(start < at < end - 1 for start, end in segmentation.sentences(tail + after, language))
