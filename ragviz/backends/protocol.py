"""The protocol of every backend: an index that is searched, and its writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragviz.core.document import Chunk
from ragviz.core.ranking import Ranking
from ragviz.models.vectors import Vectors

ANOTHER_BUILD = "its chunks are those of another build"
"""Reason of a DamagedIndex whose content is whole, but has another digest than the expected one."""


class Writer(Protocol):
    """Takes chunks until it is published or abandoned."""

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, (n, 0) for an index without; an id that is already there is replaced."""
        ...

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks (of the published content, when this is an update); unknown ids are ignored."""
        ...

    def publish(self, expected: int, content: str = "") -> None:
        """Check the number of chunks, and make the content searchable.

        `content` is its digest, stored with it for `Index.check`.

        Raises:
            SearchError: the content is not `expected` chunks; nothing is published.

        """
        ...

    def abandon(self) -> None:
        """Discard what was not published; may be called at any time, also after `publish` (does nothing then)."""
        ...


class Index(Protocol):
    """A searchable set of chunks.

    Rankings: best first, ties by chunk id, fewer than `depth` when there are fewer, empty when nothing was published.
    Every method raises SearchError when the backend cannot be reached, read or written, and the searches UsageError
    for a depth below 1.
    """

    name: str

    def exists(self) -> bool:
        """True once something was published under the name."""
        ...

    def count(self) -> int:
        """Return the number of searchable chunks; 0 when nothing was published."""
        ...

    def size(self) -> int:
        """Return the size of the published content on disk, in bytes."""
        ...

    def check(self, expected: int, content: str = "") -> None:
        """Do nothing when `expected` chunks are published, unbroken, with the digest `content` ("": not compared).

        Raises:
            DamagedIndex: nothing is published, its parts do not belong together, or it is another content.

        """
        ...

    def rebuild(self, dims: int) -> Writer:
        """Open a writer that starts empty and replaces the content when published.

        With `dims` 0 no vectors are kept: such an index can be searched by `bm25` only.
        """
        ...

    def update(self) -> Writer:
        """Open a writer that starts from the published content; SearchError when there is none: rebuild instead."""
        ...

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Return the nearest chunks of each row; scores are cosines (-1 … 1), or of the similarity of the options.

        Raises:
            SearchError: the index has no vectors or of other dimensions, or these are not finite.

        """
        ...

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Return the best chunks for each query by BM25: only chunks that share a term with the query."""
        ...

    def drop(self) -> None:
        """Delete the index and all its files; does nothing when there is none."""
        ...
