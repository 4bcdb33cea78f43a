"""How documents would be cut, and what an index of them would come to, before it is built; loads no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragviz.index import chunking, indexing
from ragviz.records import Chunk, Document, DocumentInfo, IndexConfig
from ragviz.workspace import Workspace

SAMPLE = 300_000
"""Characters that are cut to preview and estimate."""
SHOWN = 6_000
"""Characters of a document of which at least the cuts are known."""
SPEED = 14 * 200
"""Tokens a second of the packaged model on two cores; other models differ."""
DIMS = 384
"""Numbers in a vector of the packaged model."""

_DOCUMENTS = 12


@dataclass(frozen=True, slots=True)
class Extent:
    """What an index would come to; `exact` when every character was cut, else scaled up from a sample."""

    chunks: int
    tokens: int
    seconds: float
    size: int
    exact: bool


def sampled(documents: Sequence[DocumentInfo]) -> list[DocumentInfo]:
    """All documents of a small corpus; of a large one twelve, spread evenly over it, the first among them."""
    if sum(d.characters for d in documents) <= SAMPLE:
        return list(documents)
    return list(documents)[:: max(1, len(documents) // _DOCUMENTS)][:_DOCUMENTS]


def share_of(chosen: Sequence[DocumentInfo]) -> int:
    """Characters of each sampled document that are cut, so that all together come to about `SAMPLE`."""
    small = sum(d.characters for d in chosen) <= SAMPLE
    return SAMPLE if small else max(SAMPLE // len(chosen), SHOWN)


def cuts(
    workspace: Workspace, corpus_id: str, ids: Sequence[str], most: int, config: IndexConfig
) -> dict[str, list[Chunk]]:
    """Chunks of the documents with these ids, by id, of each the first `most` characters.

    Raises:
        UsageError: the choices cannot be used, or the embedder's tokenizer cannot be had.

    """
    chunking.check(config)
    split = indexing.splitter(config)
    return {d.id: split(_shortened(d, most)) for d in workspace.store.document_texts(corpus_id, ids)}


def _shortened(document: Document, most: int) -> Document:
    if len(document.text) <= most:
        return document
    pages = tuple(page for page in document.pages if page.end <= most)
    return replace(document, text=document.text[:most], pages=pages)


def extent(
    documents: Sequence[DocumentInfo], chosen: Sequence[DocumentInfo], chunks: Sequence[Sequence[Chunk]]
) -> Extent:
    """Scale the chunks of the `chosen` documents up to all, by characters.

    >>> extent([], [], [])
    Extent(chunks=0, tokens=0, seconds=0.0, size=0, exact=True)
    """
    share = share_of(chosen) if chosen else 0
    seen = sum(min(d.characters, share) for d in chosen)
    total = sum(d.characters for d in documents)
    scale = total / max(seen, 1)
    count = round(sum(map(len, chunks)) * scale)
    tokens = round(sum(chunk.tokens for document in chunks for chunk in document) * scale)
    return Extent(count, tokens, tokens / SPEED, round(count * DIMS * 4 + total * 1.5), seen == total)
