"""The chunks that questions are made from: sampled over documents, grouped with related ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest

from ragviz.questions import rejection
from ragviz.records import Chunk, digest

Group = Sequence[Chunk]
"""The chunks that one question is made from."""


def sample(chunks_by_document: Mapping[str, Sequence[Chunk]], limit: int, seed: int = 0) -> list[Chunk]:
    """Return `limit` chunks, the same number from every document as far as it has them.

    The sample depends on the ids and the seed alone; a greater limit begins with the same chunks, so that a question
    set grows without repeating work.
    """
    documents = sorted(chunks_by_document, key=lambda document_id: digest(str(seed), document_id))
    columns = [sorted(chunks_by_document[d], key=lambda chunk: digest(str(seed), chunk.id)) for d in documents]
    rounds = chain.from_iterable(zip_longest(*columns))
    return [chunk for chunk in rounds if chunk is not None][: max(0, limit)]


def related(
    chunk: Chunk, ranked: Iterable[Chunk], passages: int = 3, usable: Callable[[Chunk], bool] = lambda _: True
) -> tuple[Chunk, ...]:
    """Return `chunk` and the first `passages` - 1 of `ranked` (nearest first) with other content from another place.

    Skipped are chunks that are not `usable`, that overlap a chunk of the group, or nearly copy it (four of five words
    the same). Fewer are returned when there are not enough, none when `chunk` itself is not usable.
    """
    if not usable(chunk):
        return ()
    group = [chunk]
    for other in ranked:
        if len(group) == passages:
            break
        if not any(_overlap(other, member) or _copies(other, member) for member in group) and usable(other):
            group.append(other)
    return tuple(group)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.document_id == other.document_id and one.start < other.end and other.start < one.end


def _copies(one: Chunk, other: Chunk) -> bool:
    words, other_words = set(rejection.words(one.text)), set(rejection.words(other.text))
    return len(words & other_words) >= 0.8 * len(words | other_words)
