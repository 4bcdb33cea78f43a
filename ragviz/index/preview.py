"""A preview of an index before it is built, without a model: the chunks of a sample, and an estimate of its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Chunk, DocumentInfo
from ragviz.index import chunking, embedded_chunks, indexing
from ragviz.store import stored_calls
from ragviz.workspace import Workspace

SAMPLE = 300_000
"""Characters that are chunked for the preview and the estimate."""
SHOWN = 6_000
"""Characters of a sampled document that are chunked, at least."""
DIMS = 384
"""Dimensions of the packaged model's vectors."""

_DOCUMENTS = 12


@dataclass(frozen=True, slots=True)
class Extent:
    """The estimated size of an index; `exact` when every character was chunked, else scaled up from a sample.

    `seconds` are those of the embedding, None while none was measured on this machine; `size` is in bytes.
    """

    chunks: int
    tokens: int
    seconds: float | None
    size: int
    exact: bool


def speed_of(workspace: Workspace, embedder: str) -> float | None:
    """Return the tokens a second that an embedder embeds on this machine, None before it did."""
    return stored_calls.rate(workspace.store.cache("rate"), embedded_chunks.tokens_by(embedder))


def sampled(documents: Sequence[DocumentInfo]) -> list[DocumentInfo]:
    """Return all documents of a small corpus; of a large one twelve, spread evenly over it, the first among them."""
    if sum(d.characters for d in documents) <= SAMPLE:
        return list(documents)
    return list(documents)[:: max(1, len(documents) // _DOCUMENTS)][:_DOCUMENTS]


def share_of(sample: Sequence[DocumentInfo]) -> int:
    """Return how many characters of each sampled document are chunked: about `SAMPLE` in all."""
    small = sum(d.characters for d in sample) <= SAMPLE
    return SAMPLE if small else max(SAMPLE // len(sample), SHOWN)


def cuts(
    workspace: Workspace, corpus_id: str, ids: Sequence[str], most: int, config: IndexConfig
) -> dict[str, list[Chunk]]:
    """Return the chunks of the first `most` characters of the documents with these ids, by id.

    Raises:
        UsageError: the choices cannot be used, or the embedder's tokenizer cannot be had.

    """
    chunking.check(config)
    split = indexing.splitter(config)
    return {
        d.id: split(replace(d, text=d.text[:most], pages=tuple(page for page in d.pages if page.end <= most)))
        for d in workspace.store.documents.texts(corpus_id, ids)
    }


def extent(
    documents: Sequence[DocumentInfo],
    sample: Sequence[DocumentInfo],
    chunks: Sequence[Sequence[Chunk]],
    *,
    embeds: bool = True,
    speed: float | None = None,
) -> Extent:
    """Scale the chunks of the documents in `sample` up to all `documents`, by characters.

    `embeds` is False for an index without an embedder, which has no vectors. `speed` is what `speed_of` returns.

    >>> extent([], [], [])
    Extent(chunks=0, tokens=0, seconds=0.0, size=0, exact=True)
    """
    share = share_of(sample) if sample else 0
    chunked = sum(min(d.characters, share) for d in sample)
    total = sum(d.characters for d in documents)
    scale = total / max(chunked, 1)
    count = round(sum(map(len, chunks)) * scale)
    tokens = round(sum(chunk.tokens for document in chunks for chunk in document) * scale)
    vectors = count * DIMS * 4 if embeds else 0
    seconds = (tokens / speed if speed else None) if embeds and tokens else 0.0
    return Extent(count, tokens, seconds, round(vectors + total * 1.5), chunked == total)
