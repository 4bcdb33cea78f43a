"""Rankings of an index with chunks left out of them: as if the index did not hold them, and it is not touched."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragviz.core.configuration import RetrieverName
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.ranking import Ranking
from ragviz.models.spending import Spending
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import FUSED_DEPTH, fuse
from ragviz.workspace import Workspace

BATCH = 500
"""Queries that are ranked together."""


class DeepRankings:
    """Rankings of queries, `room` chunks deeper than `k`: so many may be left out of each.

    Exact for the nearest chunks. Of BM25, how rare words are is that of the whole index.
    """

    def __init__(
        self,
        workspace: Workspace,
        info: IndexInfo,
        retriever: RetrieverName,
        queries: Sequence[str],
        k: int,
        room: int,
        *,
        spending: Spending | None = None,
        progress: Progress = silent,
    ) -> None:
        """Rank the queries; raises as `search.retriever` and its retriever."""
        legs: tuple[RetrieverName, ...] = ("knn", "bm25") if retriever == "hybrid" else (retriever,)
        self._k = k
        self._reach = max(k, FUSED_DEPTH) if len(legs) > 1 else k
        self._legs: list[list[Ranking]] = []
        for leg in legs:
            rank, rankings = search.retriever(workspace, info, leg, spending=spending, progress=progress), []
            for start in range(0, len(queries), BATCH):
                progress(start, len(queries), "questions", f"Ranking by {leg}")
                rankings += rank(queries[start : start + BATCH], self._reach + room)
            self._legs.append(rankings)

    def without(self, removed: Collection[str], query: int) -> tuple[str, ...]:
        """Return the first `k` chunks of a query, by its place, when these chunks are not there."""
        left = [
            Ranking(tuple(i for i in of_leg[query].ids if i not in removed)[: self._reach], ()) for of_leg in self._legs
        ]
        return left[0].ids if len(left) == 1 else fuse(left, self._k).ids
