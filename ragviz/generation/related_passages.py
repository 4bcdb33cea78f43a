"""Passages that a model can join into one question: chunks that share rare entities, within a document and across."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ragviz.backends.terms import HAN_RUN
from ragviz.core.chunk import Chunk
from ragviz.core.digests import digest
from ragviz.core.span import Span
from ragviz.generation import chosen_chunks
from ragviz.generation.chosen_chunks import Group
from ragviz.generation.entities import Claims
from ragviz.generation.indexed_documents import IndexedDocuments

STARTED = 2
"""Groups that begin with the same chunk, at most."""
LOOKED_AT = 30
"""Chunks that are tried for the other places of a group."""


def groups(corpus: Claims, documents: IndexedDocuments, passages: int, seed: int = 0) -> Iterator[Group]:
    """Yield groups of so many chunks, each of which shares a rare entity with another of its group; each group once.

    Chunks of other documents are taken first, then those that share the first one's entity within its document, then
    those that share another rare entity with one of these. None overlap, none nearly copy another. The order depends on
    `seed` alone; a chunk begins at most two groups.
    """
    chunks_of = _by_entity(corpus, documents)
    entities_of: dict[str, list[str]] = defaultdict(list)
    for entity, chunks in chunks_of.items():
        for chunk in chunks:
            entities_of[chunk.id].append(entity)
    started, made = Counter[str](), set[frozenset[str]]()
    for entity in _drawn(chunks_of, seed):
        for first in chunks_of[entity]:
            if started[first.id] == STARTED:
                continue
            others = _others(first, entity, chunks_of, entities_of, seed)
            group = chosen_chunks.related(first, others, passages)
            ids = frozenset(chunk.id for chunk in group)
            if len(group) == passages and ids not in made:
                made.add(ids)
                started[first.id] += 1
                yield group


def _by_entity(corpus: Claims, documents: IndexedDocuments) -> dict[str, list[Chunk]]:
    """Return the chunks that hold each rare entity, in order; entities of one chunk are left out."""
    found: dict[str, list[Chunk]] = {}
    for entity in corpus.rare():
        name = corpus.names[entity]
        pattern = _pattern(name)
        held: dict[str, Chunk] = {}
        for document_id in corpus.search.documents(name):
            for match in pattern.finditer(documents.by_id[document_id].text):
                for chunk_id in documents.holding(((Span(document_id, *match.span()),),))[:1]:
                    held[chunk_id] = documents.chunk(chunk_id)
        if len(held) > 1:
            found[entity] = list(held.values())
    return found


def _pattern(name: str) -> re.Pattern[str]:
    """Return what finds a name in any white space and case, no part of a longer word where it is written in letters."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(words if HAN_RUN.search(name) else rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _others(
    first: Chunk,
    entity: str,
    chunks_of: Mapping[str, Sequence[Chunk]],
    entities_of: Mapping[str, Sequence[str]],
    seed: int,
) -> list[Chunk]:
    """Return the chunks that can stand in a group with `first`, those to be taken first in front."""
    same = sorted(chunks_of[entity], key=lambda chunk: (chunk.document_id == first.document_id, _key(chunk.id, seed)))
    linked = (
        chunk
        for member in [first, *same]
        for other in _drawn((each for each in entities_of[member.id] if each != entity), seed)
        for chunk in chunks_of[other]
    )
    found: dict[str, Chunk] = {}
    for chunk in chain(same, linked):
        if chunk.id != first.id:
            found[chunk.id] = chunk
        if len(found) == LOOKED_AT:
            break
    return list(found.values())


def _drawn(entities: Iterable[str], seed: int) -> list[str]:
    return sorted(entities, key=lambda entity: _key(entity, seed))


def _key(text: str, seed: int) -> str:
    return digest("related", str(seed), text)
