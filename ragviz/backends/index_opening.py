"""Opening an index on its backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragviz.backends.protocol import SIMILARITIES, Index
from ragviz.core.errors import UsageError


def open_index(
    name: str,
    backend: str,
    *,
    folder: Path,
    url: str | None = None,
    api_key: str | None = None,
    ca_file: Path | None = None,
    similarity: str = "cosine",
    options: dict[str, Any] | None = None,
) -> Index:
    """Open the index called `name` (it need not exist yet) on `backend`, "local" or "elasticsearch".

    `folder` is where the local backend keeps its files, `url` and `api_key` are the Elasticsearch server's,
    `ca_file` holds certificates that are trusted beside the system's;
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
    return BACKENDS[backend](Place(folder, url, api_key, ca_file), name, similarity, options or {})


@dataclass(frozen=True, slots=True)
class Place:
    """Where indexes are stored: a folder, and the address and key of a server if there is one."""

    folder: Path
    url: str | None
    api_key: str | None = field(repr=False)
    ca_file: Path | None = None


def _open_local(place: Place, name: str, similarity: str, options: Mapping[str, Any]) -> Index:
    from ragviz.backends.local import LocalIndex

    if options:
        raise UsageError(f"The local backend has no option {', '.join(sorted(options))}; leave it out.")
    return LocalIndex(name, place.folder, similarity)


def _open_elasticsearch(place: Place, name: str, similarity: str, options: Mapping[str, Any]) -> Index:
    from ragviz.backends.elastic import ElasticIndex

    if not place.url:
        raise UsageError(f"Index {name!r} is on Elasticsearch, which has no address here; set ELASTICSEARCH_URL.")
    return ElasticIndex(name, place.url, place.api_key, similarity, options, place.ca_file)


BACKENDS: Mapping[str, Callable[[Place, str, str, Mapping[str, Any]], Index]] = {
    "local": _open_local,
    "elasticsearch": _open_elasticsearch,
}
"""The function that opens an index on each backend."""
