"""The chunks that questions are made from: sampled over documents, grouped by relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest

from ragviz.questions import rejection
from ragviz.records import Chunk, digest

Group = Sequence[Chunk]
"""The chunks that one question is made from."""


def sample(chunks_by_document: Mapping[str, Sequence[Chunk]], limit: int, seed: int = 0) -> list[Chunk]:
    """Choose `limit` chunks, the same number from every document as far as they reach.

    The choice depends on the ids and the seed alone; a greater limit begins with the same chunks, so that a set grows
    without being made anew.
    """
    documents = sorted(chunks_by_document, key=lambda document_id: digest(str(seed), document_id))
    columns = [sorted(chunks_by_document[d], key=lambda chunk: digest(str(seed), chunk.id)) for d in documents]
    rounds = chain.from_iterable(zip_longest(*columns))
    return [chunk for chunk in rounds if chunk is not None][: max(0, limit)]


def related(
    chunk: Chunk, ranked: Iterable[Chunk], passages: int = 3, usable: Callable[[Chunk], bool] = lambda _: True
) -> tuple[Chunk, ...]:
    """`chunk` and the first `passages` - 1 of `ranked` (nearest first) that say something else from somewhere else.

    Passed over: what is not `usable`, what overlaps a chunk taken already, and what is nearly its copy (four of five
    words the same). Fewer come back when there are not enough, none when `chunk` itself is not usable.
    """
    if not usable(chunk):
        return ()
    taken = [chunk]
    for other in ranked:
        if len(taken) == passages:
            break
        if not any(_overlap(other, there) or _copies(other, there) for there in taken) and usable(other):
            taken.append(other)
    return tuple(taken)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.document_id == other.document_id and one.start < other.end and other.start < one.end


def _copies(one: Chunk, other: Chunk) -> bool:
    mine, theirs = set(rejection.words(one.text)), set(rejection.words(other.text))
    return len(mine & theirs) >= 0.8 * len(mine | theirs)
