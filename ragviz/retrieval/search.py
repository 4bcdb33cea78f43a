"""An index searched by a retriever, and hits shown with their chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragviz.core.configuration import IndexInfo, RerankerName, RetrieverName
from ragviz.core.document import Chunk
from ragviz.core.errors import SearchError, UsageError
from ragviz.core.ranking import Hit, Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.index import chunking, indexing
from ragviz.index.damage import require_sound, sound
from ragviz.models.requests import Spending
from ragviz.retrieval import rerankers
from ragviz.retrieval.reranking import AskMany, Parts, Report, reranked
from ragviz.retrieval.retrievers import RETRIEVERS, Retriever, Texts, check_offered, compares_vectors
from ragviz.text.former_documents import UNKNOWN
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A hit with its chunk and the name of its document; `chunk` is None when the text of the document is gone.

    The name of a document that was replaced or removed since says so.
    """

    hit: Hit
    document_name: str
    chunk: Chunk | None


def ready(workspace: Workspace, info: IndexInfo) -> IndexInfo:
    """Return the newest row of an index; UsageError when it is not built, SearchError when it is damaged."""
    indexing.check_ready(info)
    return sound(workspace, info)


def retriever(
    workspace: Workspace,
    info: IndexInfo,
    name: RetrieverName,
    constant: int = 60,
    *,
    reranker: RerankerName = rerankers.NONE,
    rerank_depth: int = 50,
    report: Report | None = None,
    ask: AskMany | None = None,
    spending: Spending | None = None,
    progress: Progress = silent,
) -> Retriever:
    """Return the retriever called `name` over an index; what its embedder pays is written into `spending`.

    `reranker` puts the first `rerank_depth` chunks of its rankings in a new order; `report` gets the seconds that this
    takes and what failed, `ask` replaces the calls of its model (a dry run).
    `progress` hears when a model is being loaded, and how far the reranker is.

    The retriever raises SearchError when the index is damaged, gone, or built anew since `info` was read.

    Raises:
        UsageError: the index is not built, or has no embedder and the retriever needs one.

    """
    indexing.check_ready(info)
    check_offered(info.config, name)
    spec = rerankers.spec_of(reranker)
    of = info.config
    embedder = workspace.embedder(of.embedder, spending, progress, of.prompts) if compares_vectors(name) else None
    rank = RETRIEVERS[name].build(workspace.index(info), embedder, constant)
    if spec is not None:
        parts = parts_of(workspace, info, reranker, progress)
        if ask is None and (client := parts.client) is not None:
            ask = lambda requests: client.complete_many(replace(each, spending=spending) for each in requests)  # noqa: E731
        parts = replace(parts, ask=ask, report=report or parts.report)
        rank = reranked(rank, spec.build(parts), texts_of(workspace, info.corpus_id), rerank_depth, report)

    def ranked(questions: Sequence[str], depth: int) -> list[Ranking]:
        try:
            rankings = rank(questions, depth)
        except SearchError:
            require_sound(workspace, info)  # the index may be the reason, and then this error says how to mend it
            raise
        require_sound(workspace, info)  # a damaged index would give misses that are none
        if report is not None and embedder is not None:
            report.embedded, report.embedding = embedder.embedded, embedder.seconds
        return rankings

    return ranked


def parts_of(workspace: Workspace, info: IndexInfo, reranker: RerankerName, progress: Progress = silent) -> Parts:
    """Return what a reranker over an index is built from; UsageError where the index cannot serve it."""
    rerankers.check_offered(info.config, reranker)
    spec, argument = rerankers.spec_of(reranker), rerankers.parsed(reranker)[1]
    client = workspace.client(argument or workspace.settings.model) if spec is not None and spec.asks else None
    return Parts(argument, info.config.embedder, workspace.settings.home, progress, client)


def identity_of(workspace: Workspace, info: IndexInfo, reranker: RerankerName) -> str:
    """Return what the scores of a reranker over an index depend on, "" for "none"."""
    spec = rerankers.spec_of(reranker)
    return "" if spec is None else spec.identity(parts_of(workspace, info, reranker))


def search(
    workspace: Workspace,
    info: IndexInfo,
    query: str,
    name: RetrieverName,
    depth: int,
    reranker: RerankerName = rerankers.NONE,
    rerank_depth: int = 50,
) -> list[ChunkHit]:
    """Rank the chunks of an index for one query, which the index pays.

    Raises as `ready` and `retriever`, and as the retriever itself; UsageError when the query is empty; BudgetReached,
    see `Workspace.spending`.
    """
    if not query.strip():
        raise UsageError("The query is empty: give what to search for.")
    info, spending = ready(workspace, info), workspace.spending(info.id)
    try:
        rank = retriever(workspace, info, name, reranker=reranker, rerank_depth=rerank_depth, spending=spending)
        ranking = rank([query], depth)[0]
    finally:
        spending.settle()
    return with_chunks(workspace, info.corpus_id, ranking.hits())


def with_chunks(workspace: Workspace, corpus_id: str, hits: Sequence[Hit]) -> list[ChunkHit]:
    """Return `hits` with their chunks, whose ids hold document, start and end."""
    places = [_place_of(hit.chunk_id) for hit in hits]
    ids = list(dict.fromkeys(document_id for document_id, _, _ in places))
    documents = {document.id: document for document in workspace.store.documents.texts(corpus_id, ids)}
    names = workspace.store.documents.names(corpus_id, ids)
    return [
        ChunkHit(
            hit,
            names.get(document_id, UNKNOWN),
            chunking.cut_out(documents[document_id], start, end, 0) if document_id in documents else None,
        )
        for hit, (document_id, start, end) in zip(hits, places, strict=True)
    ]


def texts_of(workspace: Workspace, corpus_id: str) -> Texts:
    """Return what reads the texts of a corpus's chunks by their ids, "" for one whose document is gone."""

    def texts(chunk_ids: Sequence[str]) -> list[str]:
        cuts: dict[str, list[tuple[str, int, int]]] = {}
        for chunk_id in chunk_ids:
            document_id, start, end = _place_of(chunk_id)
            cuts.setdefault(document_id, []).append((chunk_id, start, end))
        text_of = {
            chunk_id: document.text[start:end]
            for document in workspace.store.documents.texts(corpus_id, list(cuts))
            for chunk_id, start, end in cuts[document.id]
        }
        return [text_of.get(chunk_id, "") for chunk_id in chunk_ids]

    return texts


def _place_of(chunk_id: str) -> tuple[str, int, int]:
    """Return document, start and end of a chunk; an id that holds none is taken for an empty document's."""
    return Chunk.parse_id(chunk_id) or (chunk_id, 0, 0)
