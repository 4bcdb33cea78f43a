"""Where chunks and their vectors are searched: one protocol, two backends.

An index is known by its name. It is filled through a *writer*, out of sight of every search, and switched to in one
step by `publish`: searches see the old content or the new, never a half of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragviz.records import Chunk, Ranking

Vectors = NDArray[np.float32]
"""Shape (n, dims), float32, rows of unit length."""


class Writer(Protocol):
    """Takes chunks until it is published or given up."""

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced."""
        ...

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out (only a writer that updates a published index has any); unknown ids are passed over."""
        ...

    def publish(self, expected: int) -> None:
        """Count, and let searches see the content.

        Raises:
            SearchError: the content is not `expected` chunks; nothing is switched.

        """
        ...

    def abandon(self) -> None:
        """Drop what was not published; may be called at any time, also after `publish` (does nothing then)."""
        ...


class Index(Protocol):
    """A searchable set of chunks. Rankings: best first, ties by chunk id, fewer than `depth` when there are fewer."""

    name: str

    def exists(self) -> bool:
        """True once something was published under the name."""
        ...

    def count(self) -> int:
        """How many chunks a search sees; 0 when nothing was published."""
        ...

    def size(self) -> int:
        """Bytes on disk of what is published."""
        ...

    def rebuild(self, dims: int) -> Writer:
        """Open a writer that starts from nothing and replaces the content when published."""
        ...

    def update(self) -> Writer:
        """Open a writer that starts from the published content."""
        ...

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row; scores are the similarity's own (cosine: -1 … 1)."""
        ...

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Best chunks for each query by BM25; only chunks that share a term with the query."""
        ...

    def drop(self) -> None:
        """Delete the index with all it wrote; does nothing when there is none."""
        ...


def open_index(
    name: str,
    backend: str,
    *,
    folder: Path,
    url: str | None = None,
    api_key: str | None = None,
    similarity: str = "cosine",
    options: dict[str, Any] | None = None,
) -> Index:
    """Open the index called `name` (it need not exist yet) on `backend`, "local" or "elasticsearch".

    `folder` is where the local backend keeps its files, `url` and `api_key` are the Elasticsearch server's;
    `options` are the backend's own: for Elasticsearch `type` ("hnsw", "int8_hnsw", "flat"), `m`, `ef_construction`,
    `num_candidates`, `shards`; the local backend has none.

    Raises:
        UsageError: an unknown backend or option, or Elasticsearch without an address.

    """
    raise NotImplementedError
