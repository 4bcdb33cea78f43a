"""What a retriever is, what it is built from, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking

if TYPE_CHECKING:
    from ragviz.backends.protocol import Index
    from ragviz.models.vectors import Embedder

Retriever = Callable[[Sequence[str], int], list[Ranking]]
"""(questions, depth) → one ranking for each question, at most `depth` long."""

Need = Literal["embedder", "texts"]
"""What a retriever or reranker uses beside the index: the embedder of its vectors, the texts of its chunks."""

Texts = Callable[[Sequence[str]], Sequence[str]]
"""Chunk ids → their texts in the same order, "" for a chunk whose document is gone."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What retrievers are built from.

    `embedder` is the one that the index was built with, None where it has none or the retriever does not need it;
    `constant` is that of reciprocal rank fusion.
    """

    index: Index
    embedder: Embedder | None
    texts: Texts
    constant: int = 60

    def required_embedder(self) -> Embedder:
        """Return the embedder; UsageError when there is none."""
        if self.embedder is None:
            raise UsageError("This retriever compares vectors and needs the embedder that the index was built with.")
        return self.embedder


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    """One retriever that can be chosen: `explanation` for people, what it needs, and how it is built."""

    explanation: str
    build: Callable[[Sources], Retriever]
    needs: frozenset[Need] = frozenset()
