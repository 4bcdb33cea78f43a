"""Builders of retrievers, functions that rank the chunks of an index for many questions at once; which suits an index.

hybrid(knn(index, embedder), index.bm25)(["How long is parental leave?"], 50)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragviz.core.configuration import IndexConfig, IndexInfo, RetrieverName
from ragviz.core.document import DocumentInfo
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.models import weights
from ragviz.text import language

if TYPE_CHECKING:
    from ragviz.backends.protocol import Index
    from ragviz.models.vectors import Embedder


Retriever = Callable[[Sequence[str], int], list[Ranking]]
"""(questions, depth) → one ranking for each question, at most `depth` long."""

Texts = Callable[[Sequence[str]], Sequence[str]]
"""Chunk ids → their texts in the same order, "" for a chunk whose document is gone."""


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    """One retriever that can be chosen: `explanation` for people, and how it is built.

    `build` gets the index, the embedder that it was built with, None for a retriever that does not compare vectors, and
    the constant of reciprocal rank fusion.
    """

    explanation: str
    build: Callable[[Index, Embedder | None, int], Retriever]
    compares_vectors: bool = True


FUSED_DEPTH = 100
"""Chunks of both rankings that `hybrid` fuses at least, so that the head is the same at every smaller depth."""


def knn(index: Index, embedder: Embedder | None) -> Retriever:
    """Rank by the similarity of the question's vector; the scores are the similarity's own."""
    assert embedder is not None
    return lambda questions, depth: index.knn(embedder.embed(questions, "query"), depth)


def hybrid(first: Retriever, second: Retriever, constant: int = 60) -> Retriever:
    """Fuse two rankings of each question by reciprocal rank (Cormack et al. 2009).

    The score of a chunk is the sum of 1 / (`constant` + rank) over the rankings that have it, ties by chunk id. Both
    are asked for max(depth, 100) chunks.

    Raises:
        UsageError: `constant` is negative.

    """
    if constant < 0:
        raise UsageError(f"The constant of reciprocal rank fusion is {constant}; use 0 or more, 60 is usual.")

    def ranked(questions: Sequence[str], depth: int) -> list[Ranking]:
        reach = max(depth, FUSED_DEPTH)
        pairs = zip(first(questions, reach), second(questions, reach), strict=True)
        return [fuse(pair, depth, constant) for pair in pairs]

    return ranked


def fuse(rankings: Sequence[Ranking], depth: int, constant: int = 60) -> Ranking:
    """Fuse rankings of one question by reciprocal rank, and cut the result at `depth`.

    >>> fuse([Ranking(("a", "b"), (0.9, 0.8)), Ranking(("b",), (7.5,))], depth=2, constant=0)
    Ranking(ids=('b', 'a'), scores=(1.5, 1.0))
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking.ids, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (constant + rank)
    best = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:depth]
    return Ranking(tuple(best), tuple(scores[chunk_id] for chunk_id in best))


RETRIEVERS: Mapping[RetrieverName, RetrieverSpec] = {
    "knn": RetrieverSpec(
        "Nearest chunks by the similarity of embeddings: finds meaning, blurs names and numbers.",
        lambda index, embedder, _: knn(index, embedder),
    ),
    "bm25": RetrieverSpec(
        "Chunks that share words with the question: exact on names and numbers, blind to paraphrase.",
        lambda index, *_: index.bm25,
        compares_vectors=False,
    ),
    "hybrid": RetrieverSpec(
        "Both, fused by reciprocal rank.",
        lambda index, embedder, constant: hybrid(knn(index, embedder), index.bm25, constant),
    ),
}
"""Retrievers by name."""


def compares_vectors(name: RetrieverName) -> bool:
    """Return whether a retriever needs the embedder; an imported ranking is never made again, and needs none."""
    return name in RETRIEVERS and RETRIEVERS[name].compares_vectors


def offered(config: IndexConfig) -> list[RetrieverName]:
    """Return the retrievers that an index of this configuration can serve, the default first.

    >>> offered(IndexConfig()), offered(IndexConfig(embedder=""))
    (['knn', 'bm25', 'hybrid'], ['bm25'])
    """
    return [name for name, spec in RETRIEVERS.items() if config.embedder or not spec.compares_vectors]


def chosen(info: IndexInfo, name: RetrieverName | None) -> RetrieverName:
    """Return `name`, by default the first retriever that the index can serve; UsageError as `check_offered`."""
    retriever = name or offered(info.config)[0]
    check_offered(info.config, retriever)
    return retriever


def check_offered(config: IndexConfig, name: RetrieverName) -> None:
    """Raise UsageError for a retriever that does not exist, or that this index cannot serve."""
    if name == "imported":
        return
    if name not in RETRIEVERS:
        raise UsageError(f"There is no retriever '{name}': choose one of {', '.join(RETRIEVERS)}.")
    if name not in (names := offered(config)):
        raise UsageError(
            f"Retriever '{name}' compares vectors, and this index is built without an embedder: use "
            f"{' or '.join(names)}, or build an index with an embedder."
        )


FEW, MANY = 0.1, 0.15
"""Shares of a corpus that the embedder was not trained on: from `FEW` on BM25 helps the vectors, from `MANY` on text in
letters that it does not read they do harm.

XQuAD's Chinese passages and questions by all-MiniLM-L6-v2, recall@3: knn 0.38, hybrid 0.62, BM25 1.00. Among English
passages of XQuAD and CLAP NQ, questions in proportion, hybrid was best up to a share of 0.09, BM25 from 0.15 on.
"""


def proposed(embedder: str, documents: Sequence[DocumentInfo]) -> tuple[RetrieverName, str]:
    """Return the retriever that suits the embedder to the languages of the documents, and why it is not the usual one.

    "" for the usual one: knn, of an index without an embedder bm25. Documents whose language was not detected ("und")
    do not count.
    """
    trained_for = weights.languages_of(embedder)
    if trained_for is None:
        return "knn" if embedder else "bm25", ""
    sizes = Counter[str]()
    for d in documents:
        if d.status == "ok" and d.language != "und":
            sizes[d.language] += d.characters * language.DENSE.get(d.language, 1)
    other = [code for code, _ in sizes.most_common() if code not in trained_for]
    share = sum(sizes[code] for code in other) / max(sizes.total(), 1)
    strange = sum(sizes[code] for code in other if code not in language.LATIN) / max(sizes.total(), 1)
    if share < FEW:
        return "knn", ""
    names = " and ".join(language.NAMES.get(code, code) for code in other[:2]) + " and others" * (len(other) > 2)
    retriever: RetrieverName = "bm25" if strange >= MANY else "hybrid"
    return retriever, f"{share:.0%} of the text is {names}, which {embedder} was not trained on"


def language_warning(embedder: str, documents: Sequence[DocumentInfo]) -> str:
    """Say that much of the text is in languages that the embedder was not trained for, and what to do; else ""."""
    retriever, why = proposed(embedder, documents)
    return why and f"{why}: search by {retriever}, or choose a multilingual embedder."
