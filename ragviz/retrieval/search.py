"""An index searched: hits with their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragviz.errors import SearchError
from ragviz.index import indexing
from ragviz.index.damage import require_sound, sound
from ragviz.models.spending import Spending
from ragviz.records import Chunk, Hit, IndexInfo, Ranking, RetrieverName
from ragviz.retrieval.retrievers import RETRIEVERS, Retriever
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Found:
    """A hit with its chunk and where that stands. `chunk` is None when its document is gone."""

    hit: Hit
    document_name: str
    chunk: Chunk | None


def ready(workspace: Workspace, info: IndexInfo) -> IndexInfo:
    """The newest row of an index that can be searched; UsageError when it is not built, SearchError when damaged."""
    indexing.check_ready(info)
    return sound(workspace, info)


def retriever(
    workspace: Workspace,
    info: IndexInfo,
    name: RetrieverName,
    constant: int = 60,
    *,
    spending: Spending | None = None,
) -> Retriever:
    """Return the retriever called `name` over an index; what its embedder pays is written into `spending`.

    The retriever raises SearchError when the index is damaged, gone, or built anew since `info` was read.

    Raises:
        UsageError: the index is not built.

    """
    indexing.check_ready(info)
    embedder = None if name == "bm25" else workspace.embedder(info.config.embedder, spending)
    search_all = RETRIEVERS[name](workspace.index(info), embedder, constant)

    def ranked(questions: Sequence[str], depth: int) -> list[Ranking]:
        try:
            rankings = search_all(questions, depth)
        except SearchError:
            require_sound(workspace, info)  # it may be the index, and then this tells how to mend it
            raise
        require_sound(workspace, info)  # else what was not found would be taken for what is not there
        return rankings

    return ranked


def search(workspace: Workspace, info: IndexInfo, query: str, name: RetrieverName, depth: int) -> list[Found]:
    """Rank the chunks of an index for one query; raises as `ready`, and as its retriever."""
    ranking = retriever(workspace, ready(workspace, info), name)([query], depth)[0]
    return found(workspace, info.corpus_id, ranking.hits())


def found(workspace: Workspace, corpus_id: str, hits: Sequence[Hit]) -> list[Found]:
    """Hits with their text: a chunk's id tells its document, start and end."""
    parts = [Chunk.parse_id(hit.chunk_id) or (hit.chunk_id, 0, 0) for hit in hits]
    texts = workspace.store.document_texts(corpus_id, list(dict.fromkeys(p[0] for p in parts)))
    documents = {d.id: d for d in texts}
    result = []
    for hit, (document_id, start, end) in zip(hits, parts, strict=True):
        document = documents.get(document_id)
        cut = np.array([[start, end, 0]], dtype=np.int32)
        chunk = indexing.chunks_of(document, cut)[0] if document is not None else None
        result.append(Found(hit, document.name if document is not None else "(deleted)", chunk))
    return result
