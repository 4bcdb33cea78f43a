"""Chunks that one question could need together: they share rare words, or say the like of two things."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from ragviz.core.digests import digest
from ragviz.core.document import Chunk
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.sections import SEPARATOR
from ragviz.text.words import content_words, stem

RARE = 5
"""Chunks that hold a word at most which relates them."""
GROUPS = 2000
"""Groups that are looked at, at most."""
COPIED = 0.8
"""Share of their words that two chunks have in common from which on one copies the other."""


def bridged(documents: IndexedDocuments, passages: int, seed: int) -> Iterator[tuple[Chunk, ...]]:
    """Yield groups of so many chunks, each joined to the one before by rare words; of several documents first."""
    chunks, words = _read(documents)
    rare = _holding(words)
    near: dict[int, Counter[int]] = defaultdict(Counter)
    for holders in rare.values():
        for one, other in combinations(holders, 2):
            near[one][other] += 1
            near[other][one] += 1
    pairs = sorted(
        ((one, other) for one, others in near.items() for other in others if one < other),
        key=lambda pair: (
            chunks[pair[0]].document_id == chunks[pair[1]].document_id,
            -near[pair[0]][pair[1]],
            digest(str(seed), chunks[pair[0]].id, chunks[pair[1]].id),
        ),
    )
    used = Counter[int]()
    for one, other in pairs[:GROUPS]:
        group = [one, other]
        while len(group) < passages:
            more = [
                n for n, _ in near[group[-1]].most_common() if all(_apart(chunks, words, n, each) for each in group)
            ]
            if not more:
                break
            group.append(more[0])
        if len(group) == passages and _apart(chunks, words, one, other) and max(used[n] for n in group) < RARE:
            used.update(group)
            yield tuple(chunks[n] for n in group)


def comparable(documents: IndexedDocuments, seed: int) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield pairs of chunks under headings beside each other, or under one title in two documents, the likest first."""
    chunks, words = _read(documents)
    beside: dict[str, list[int]] = defaultdict(list)
    places = [(chunk.document_id, documents.section_of(chunk.document_id, chunk.start)) for chunk in chunks]
    for number, (chunk, (_, path)) in enumerate(zip(chunks, places, strict=True)):
        above, _, title = path.rpartition(SEPARATOR)
        if path:
            beside[f"{chunk.document_id} {above}"].append(number)
            beside[f"= {title.lower()}"].append(number)
    pairs = {
        pair
        for numbers in beside.values()
        for pair in combinations(numbers[:40], 2)
        if places[pair[0]] != places[pair[1]]
    }
    likeness = {(one, other): len(words[one] & words[other]) / math.sqrt(len(words[one]) * len(words[other]) or 1)
                for one, other in pairs}  # fmt: skip
    ordered = sorted(
        pairs, key=lambda pair: (-round(likeness[pair], 2), digest(str(seed), chunks[pair[0]].id, chunks[pair[1]].id))
    )
    for one, other in ordered[:GROUPS]:
        if _apart(chunks, words, one, other):
            yield chunks[one], chunks[other]


def _read(documents: IndexedDocuments) -> tuple[list[Chunk], list[frozenset[str]]]:
    """Return all chunks with their stemmed words of content."""
    chunks = [chunk for document_id in documents.by_id for chunk in documents.chunks(document_id)]
    found = []
    for chunk in chunks:
        said = content_words(chunk.text, documents.by_id[chunk.document_id].language)
        found.append(frozenset(stem(word) for word in said if len(word) > 3 or re.search("[\u4e00-\u9fff]{2}", word)))
    return chunks, found


def _holding(words: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """Return the numbers of the chunks that hold each rare word."""
    holders: dict[str, list[int]] = defaultdict(list)
    for number, said in enumerate(words):
        for word in sorted(said):
            holders[word].append(number)
    return {word: places for word, places in holders.items() if 2 <= len(places) <= RARE and not word.isdigit()}


def _apart(chunks: Sequence[Chunk], words: Sequence[frozenset[str]], one: int, other: int) -> bool:
    """Return whether two chunks neither overlap nor nearly copy each other."""
    first, second = chunks[one], chunks[other]
    overlap = first.document_id == second.document_id and first.start < second.end and second.start < first.end
    return one != other and not overlap and len(words[one] & words[other]) < COPIED * len(words[one] | words[other])
