"""The chunks that a question is made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragviz.core.chunk import Chunk
from ragviz.generation import rejection

Group = Sequence[Chunk]
"""The chunks that one question is made from."""


def related(chunk: Chunk, ranked: Iterable[Chunk], passages: int = 3) -> tuple[Chunk, ...]:
    """Return `chunk` and the first `passages` - 1 of `ranked` (nearest first) with other content from another place.

    Skipped are chunks that overlap a chunk of the group, or nearly copy it (four of five words the same). Fewer are
    returned when there are not enough.
    """
    group = [chunk]
    for other in ranked:
        if len(group) == passages:
            break
        if not any(_overlap(other, member) or _copies(other, member) for member in group):
            group.append(other)
    return tuple(group)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.document_id == other.document_id and one.start < other.end and other.start < one.end


def _copies(one: Chunk, other: Chunk) -> bool:
    words, other_words = set(rejection.words(one.text)), set(rejection.words(other.text))
    return len(words & other_words) >= 0.8 * len(words | other_words)
