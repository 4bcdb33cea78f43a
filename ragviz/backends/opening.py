"""Where chunks and their vectors are searched: one protocol, two backends.

An index is known by its name. It is filled through a *writer*, out of sight of every search, and switched to in one
step by `publish`: searches see the old content or the new, never a half of either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragviz.errors import UsageError
from ragviz.records import Chunk, Ranking

Vectors = NDArray[np.float32]
"""Shape (n, dims), float32, rows of unit length."""

SIMILARITIES = ("cosine", "dot_product", "l2_norm")
"""How near two vectors are: the cosine, the dot product, or the negative Euclidean distance; higher is nearer."""


ANOTHER_BUILD = "its chunks are those of another build"
"""Reason of a DamagedIndex whose content is whole, but has another digest than the one asked for."""


class Writer(Protocol):
    """Takes chunks until it is published or given up."""

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced."""
        ...

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out (only a writer that updates a published index has any); unknown ids are passed over."""
        ...

    def publish(self, expected: int, content: str = "") -> None:
        """Count, and let searches see the content.

        `content` is a digest of it that is kept beside it, for `Index.check`.

        Raises:
            SearchError: the content is not `expected` chunks; nothing is switched.

        """
        ...

    def abandon(self) -> None:
        """Drop what was not published; may be called at any time, also after `publish` (does nothing then)."""
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
        """How many chunks a search sees; 0 when nothing was published."""
        ...

    def size(self) -> int:
        """Bytes on disk of what is published."""
        ...

    def check(self, expected: int, content: str = "") -> None:
        """Do nothing when `expected` chunks are published, unbroken, with the digest `content` ("": not compared).

        Raises:
            DamagedIndex: nothing is published, its parts do not belong together, or it is another content.

        """
        ...

    def rebuild(self, dims: int) -> Writer:
        """Open a writer that starts from nothing and replaces the content when published."""
        ...

    def update(self) -> Writer:
        """Open a writer that starts from the published content.

        Raises:
            SearchError: nothing was published; rebuild instead.

        """
        ...

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row; scores are the similarity's own (cosine: -1 … 1).

        Raises:
            SearchError: the vectors have other dimensions than the index, or are not finite.

        """
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
    if not name.strip():
        raise UsageError("The index has no name; give it one.")
    if backend not in BACKENDS:
        raise UsageError(f"There is no backend {backend!r}; use one of {', '.join(BACKENDS)}.")
    if similarity not in SIMILARITIES:
        raise UsageError(f"Similarity is {similarity!r}; use one of {', '.join(SIMILARITIES)}.")
    return BACKENDS[backend](Place(folder, url, api_key), name, similarity, options or {})


@dataclass(frozen=True, slots=True)
class Place:
    """Where indexes are: a folder, and the address and key of a server if there is one."""

    folder: Path
    url: str | None
    api_key: str | None = field(repr=False)


def _open_local(place: Place, name: str, similarity: str, options: Mapping[str, Any]) -> Index:
    from ragviz.backends.local import LocalIndex

    if options:
        raise UsageError(f"The local backend has no option {', '.join(sorted(options))}; leave it out.")
    return LocalIndex(name, place.folder, similarity)


def _open_elasticsearch(place: Place, name: str, similarity: str, options: Mapping[str, Any]) -> Index:
    from ragviz.backends.elastic import ElasticIndex

    if not place.url:
        raise UsageError(f"Index {name!r} is on Elasticsearch, and there is no address; set ELASTICSEARCH_URL.")
    return ElasticIndex(name, place.url, place.api_key, similarity, options)


BACKENDS: Mapping[str, Callable[[Place, str, str, Mapping[str, Any]], Index]] = {
    "local": _open_local,
    "elasticsearch": _open_elasticsearch,
}
"""What opens an index on each backend."""
