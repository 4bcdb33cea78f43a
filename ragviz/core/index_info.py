"""The stored row of an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragviz.core.configuration import IndexConfig

IndexStatus = Literal["building", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index as stored. `build` names the cuts that are searched now, "" before the first build.

    `documents` are the ids it was built from, including those without chunks. `dims` is 0 and
    `embedder_identity` "" when it has no vectors, and before the first build.
    """

    id: str
    corpus_id: str
    name: str
    config: IndexConfig
    status: IndexStatus
    build: str
    documents: tuple[str, ...]
    chunks: int
    tokens: int
    dims: int
    embedder_identity: str
    created: float
    built: float | None
