"""Chunks embedded: by this machine, or in shards by several, whose vectors go into the cache that a build reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace

import numpy as np

from ragviz.core.configuration import IndexConfig, IndexInfo
from ragviz.core.document import Chunk, Document
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.share import Share
from ragviz.core.stopping import Progress
from ragviz.index import chunking, prefixes
from ragviz.models.vectors import Embedder, Vectors
from ragviz.store import stored_calls
from ragviz.store.schema import Cuts
from ragviz.workspace import Workspace

SHARD = 512
"""Chunks of a shard."""
FEWEST = 8
"""Shards from which on a build is shared."""

Ready = Callable[[int], None]
"""Returns when the vectors of the first so many chunks are in the cache, doing what others leave meanwhile."""


def embedded(
    workspace: Workspace, info: IndexInfo, embedder: Embedder, chunks: Sequence[Chunk], report: Callable[[int], None]
) -> Vectors:
    """Embed chunks, and learn how fast this machine does; an error that is of one chunk names it."""
    count, seconds = embedder.embedded, embedder.seconds
    try:
        vectors = embedder.embed([chunk.text for chunk in chunks], "passage", report)
    except ModelError as error:
        if error.place is None:
            raise
        chunk = chunks[error.place]
        [document] = workspace.store.documents.names(info.corpus_id, [chunk.document_id]).values()
        place = f"Characters {chunk.start:,} to {chunk.end:,} of '{document}', a chunk of {chunk.tokens:,} tokens"
        raise ModelError(f"{place}: {error} Build with a smaller chunk size if it is too long.") from None
    count, seconds = embedder.embedded - count, embedder.seconds - seconds
    tokens = sum(chunk.tokens for chunk in chunks) * count / len(chunks)  # those of the chunks that were not cached
    stored_calls.learn(workspace.store.cache("rate"), tokens_by(embedder.name), tokens, seconds)
    return vectors


def tokens_by(embedder: str) -> str:
    """Return what the rate of embedding is called that is counted in tokens: chunks differ in length."""
    return f"tokens by {embedder}"


@contextmanager
def offered(
    workspace: Workspace,
    info: IndexInfo,
    cuts: Mapping[str, Cuts],
    embedder: Embedder | None,
    progress: Progress,
) -> Iterator[Ready]:
    """Offer the chunks of `cuts` in shards to the workers of other machines, within a `with` block.

    Where there are few, or nobody else can see them, nothing is offered, and nothing is waited for.
    """
    total = sum(map(len, cuts.values()))
    if embedder is None or not workspace.store.is_shared or total < FEWEST * SHARD:
        yield lambda _: None
        return
    config, shares = asdict(info.config), workspace.store.shares
    share = workspace.share("index", info, total=total, size=SHARD, config=config, identity=embedder.identity)
    before = embedder.embedded
    with shares.offered(share, [*_bodies(cuts)]):
        yield lambda first: _take(workspace, info, share, embedder, progress, -(-first // SHARD))
        embedder.embedded = before + shares.done(share.id)  # by all machines


def help_with(workspace: Workspace, share: Share, progress: Progress) -> int:
    """Embed shards of an index that another machine builds, until none is left; return how many texts were embedded.

    Raises:
        UsageError: the embedder here would make other vectors.

    """
    info = replace(workspace.store.indexes.get(share.subject), config=IndexConfig(**share.facts["config"]))
    spending = workspace.spending(info.id)
    embedder = workspace.embedder(info.config.embedder, spending, progress, info.config.prompts)
    if embedder.identity != share.facts["identity"]:
        raise UsageError(
            f"The embedder is {embedder.identity} here, and {share.facts['identity']} where index '{info.name}' is "
            "built: give this worker the same settings."
        )
    try:
        _take(workspace, info, share, embedder, progress)
    finally:
        spending.settle()
    return embedder.embedded


def _take(
    workspace: Workspace,
    info: IndexInfo,
    share: Share,
    embedder: Embedder,
    progress: Progress,
    before: int | None = None,
) -> None:
    shares, total = workspace.store.shares, share.facts["total"]

    def work(body: bytes) -> int:
        cuts = {document_id: np.array(rows, np.int32) for document_id, rows in json.loads(body).items()}
        chunks = list(indexed(workspace, info, cuts))
        done, count = shares.reached(share), embedder.embedded
        embedded(workspace, info, embedder, chunks, lambda some: progress(done + some, total, "chunks", "Embedding"))
        return embedder.embedded - count

    shares.take_all(share, work, lambda: progress(shares.reached(share), total, "chunks", "Embedding"), before)


def _bodies(cuts: Mapping[str, Cuts]) -> Iterator[bytes]:
    """Yield the cuts of each `SHARD` chunks, as JSON by document."""
    body: dict[str, list[list[int]]] = {}
    room = SHARD
    for document_id, rows in cuts.items():
        while len(rows):
            body[document_id] = rows[:room].tolist()
            room -= len(body[document_id])
            rows = rows[len(body[document_id]) :]
            if not room:
                yield json.dumps(body).encode()
                body, room = {}, SHARD
    if body:
        yield json.dumps(body).encode()


def indexed(workspace: Workspace, info: IndexInfo, cuts: Mapping[str, Cuts]) -> Iterator[Chunk]:
    """Yield the chunks that the cuts of documents make, with the texts by which they are embedded and searched."""
    for document in workspace.store.documents.texts(info.corpus_id, list(cuts)):
        yield from prefixes.indexed(document, chunks_of(document, cuts[document.id]), info.config.prefix)


def chunks_of(document: Document, cuts: Cuts) -> Iterator[Chunk]:
    """Yield the chunks that the stored cuts of a document make."""
    return (chunking.cut_out(document, *cut.tolist()) for cut in cuts)
