"""An index in memory, ranked with some of its chunks removed, changed or added; the index itself is never touched.

Only changed chunks are embedded; a ranking takes time in proportion to chunks and questions. Vectors are compared
exactly, words by BM25 as `backends.local` ranks them: with Tantivy's formula and its rounded lengths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragviz.backends import exact
from ragviz.backends.terms import terms
from ragviz.core.configuration import RetrieverName
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.ranking import Ranking
from ragviz.index import indexing, prefixes
from ragviz.retrieval.retrievers import FUSED_DEPTH, check_offered, fuse
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    from ragviz.models.vectors import Embedder, Vectors

Rows = NDArray[np.int64]

K1, B = 1.2, 0.75
"""Parameters of BM25, those of the local index."""
ROOM = 4
"""Nearest chunks that are kept of a question, in multiples of those needed: so many can be removed without a search."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """The chunks of an index, in the order of their ids.

    `texts` are their own, `heads` what is put before each when it is indexed ("" for nothing), `tokens` (n,) their own
    tokens, `spans` start and end in their document.
    """

    ids: tuple[str, ...]
    documents: tuple[str, ...]
    texts: tuple[str, ...]
    heads: tuple[str, ...]
    tokens: Rows
    spans: tuple[tuple[int, int], ...]

    @property
    def row_of(self) -> dict[str, int]:
        """Row of each chunk by its id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.ids)}

    def indexed(self, row: int, text: str) -> str:
        """Return a text as it is indexed in the place of this chunk."""
        return f"{self.heads[row]}\n\n{text}" if self.heads[row] else text


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to chunks, by row: those removed, other texts, and copies (of a row, with a text) that are added.

    An added copy stands in the same place and has the next row after the last chunk's.
    """

    removed: frozenset[int] = frozenset()
    texts: Mapping[int, str] = field(default_factory=dict)
    added: tuple[tuple[int, str], ...] = ()

    def text(self, chunks: Chunks, row: int) -> str:
        """Return the text of a chunk, or of an added copy, as it is now."""
        if row >= len(chunks.ids):
            return self.added[row - len(chunks.ids)][1]
        return self.texts.get(row, chunks.texts[row])

    def origin(self, chunks: Chunks, row: int) -> int:
        """Return the row of the chunk that a row is a copy of; of a chunk itself its own."""
        return row if row < len(chunks.ids) else self.added[row - len(chunks.ids)][0]


UNCHANGED = Change()


def read(workspace: Workspace, info: IndexInfo) -> Chunks:
    """Return the chunks of an index; the texts of all are held in memory."""
    cuts = workspace.store.indexes.cuts(info.build, info.documents)
    found: list[tuple[str, str, str, str, int, tuple[int, int]]] = []
    for document in workspace.store.documents.texts(info.corpus_id, list(cuts)):
        head = prefixes.before(document, info.config.prefix)
        for chunk in indexing.chunks_of(document, cuts[document.id]):
            place = (chunk.start, chunk.end)
            found.append((chunk.id, document.id, chunk.text, head(chunk.start), chunk.tokens, place))
    found.sort(key=lambda row: row[0])
    ids, documents, texts, heads, tokens, spans = zip(*found, strict=True) if found else ((),) * 6
    return Chunks(ids, documents, texts, heads, np.array(tokens, dtype=np.int64), spans)


class AlteredIndex:
    """Ranks the chunks of an index for fixed queries, after any `Change`."""

    def __init__(
        self,
        info: IndexInfo,
        chunks: Chunks,
        retriever: RetrieverName,
        queries: Sequence[str],
        depth: int,
        *,
        embedder: Embedder | None = None,
        constant: int = 60,
        progress: Progress = silent,
    ) -> None:
        """Embed the queries and read the vectors of the chunks; `depth` is how many are ranked.

        Raises:
            UsageError: the index cannot be ranked by this retriever.

        """
        check_offered(info, retriever)
        self.chunks, self.queries, self.depth = chunks, list(queries), depth
        self._retriever, self._constant, self._info = retriever, constant, info
        self._embedder = embedder if retriever != "bm25" else None
        self._reach = max(depth, FUSED_DEPTH) if retriever == "hybrid" else depth
        self._progress = progress
        if self._embedder is not None:
            texts = [chunks.indexed(row, text) for row, text in enumerate(chunks.texts)]
            self._rows = self._vectors(texts, "Reading the vectors of the chunks")
            self._queries = exact.checked(
                self._embedder.embed(self.queries, "query"), info.dims, info.config.similarity, "The index"
            )
            cosine = info.config.similarity == "cosine"
            lengths = None if cosine else np.linalg.norm(self._rows, axis=1).astype(np.float32)
            self._kept = ROOM * self._reach
            self._nearest = list(exact.nearest(self._rows, lengths, self._queries, self._kept, info.config.similarity))

    def ranked(self, change: Change = UNCHANGED, asked: Sequence[int] | None = None) -> list[Rows]:
        """Return the rows of the best chunks for some queries, by their places (default: all), best first.

        Ties: by row, which is the order of chunk ids, an added copy last.
        """
        places = list(range(len(self.queries)) if asked is None else asked)
        if self._retriever == "knn":
            return [rows[: self.depth] for rows in self._by_vectors(change, places)]
        if self._retriever == "bm25":
            return [rows[: self.depth] for rows in self._by_words(change, places)]
        pairs = zip(self._by_vectors(change, places), self._by_words(change, places), strict=True)
        return [self._fused(first, second) for first, second in pairs]

    def _fused(self, first: Rows, second: Rows) -> Rows:
        # Rows as strings of one width sort as numbers do.
        rankings = [Ranking(tuple(f"{row:012d}" for row in rows.tolist()), ()) for rows in (first, second)]
        return np.array([int(row) for row in fuse(rankings, self.depth, self._constant).ids], dtype=np.int64)

    # By vectors

    def _vectors(self, texts: Sequence[str], doing: str) -> Vectors:
        assert self._embedder is not None
        vectors = self._embedder.embed(texts, "passage", lambda done: self._progress(done, len(texts), "chunks", doing))
        return exact.checked(vectors, self._info.dims, self._info.config.similarity, "The index")

    def _altered(self, change: Change) -> tuple[Rows, list[str]]:
        """Return rows and indexed texts of what is changed or added, in the order of rows."""
        chunks = self.chunks
        rows = [row for row in sorted(change.texts) if row not in change.removed]
        texts = [chunks.indexed(row, change.texts[row]) for row in rows]
        rows += range(len(chunks.ids), len(chunks.ids) + len(change.added))
        texts += [chunks.indexed(row, text) for row, text in change.added]
        return np.array(rows, dtype=np.int64), texts

    def _by_vectors(self, change: Change, places: Sequence[int]) -> list[Rows]:
        assert self._embedder is not None
        similarity, count = self._info.config.similarity, len(self.chunks.ids)
        new_rows, texts = self._altered(change)
        new = self._embedder.embed(texts, "passage") if texts else np.empty((0, self._info.dims), np.float32)
        new = exact.checked(new, self._info.dims, similarity, "The index") if texts else new
        gone = np.zeros(count, dtype=bool)
        gone[[*change.removed, *change.texts]] = True
        found = []
        for place in places:
            rows, scores = self._nearest[place]
            kept = ~gone[rows]
            rows, scores = rows[kept], scores[kept]
            if len(rows) < self._reach and len(self._nearest[place][0]) < count:  # too many of the nearest are gone
                rows = np.flatnonzero(~gone)
                scores = exact.exact_scores(self._rows, rows, self._queries[place], similarity)
            if len(new_rows):
                added = exact.exact_scores(new, np.arange(len(new)), self._queries[place], similarity)
                rows, scores = np.concatenate([rows, new_rows]), np.concatenate([scores, added])
            found.append(best(rows, scores, self._reach))
        return found

    # By words

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        words = dict.fromkeys(word for query in self.queries for word in terms(query))
        return {word: number for number, word in enumerate(words)}

    @cached_property
    def _wanted(self) -> Any:
        """How often each query has each word: (queries, words), sparse."""
        return self._counted([terms(query) for query in self.queries])

    @cached_property
    def _words(self) -> tuple[Any, Rows]:
        """How often each chunk has each word of the queries, (n, words), and how many words it has, (n,)."""
        split = [terms(self.chunks.indexed(row, text)) for row, text in enumerate(self.chunks.texts)]
        return self._counted(split), np.array([len(words) for words in split], dtype=np.int64)

    def _counted(self, texts: Sequence[Sequence[str]]) -> Any:
        from scipy.sparse import csr_matrix

        known = self._vocabulary
        counts = [Counter(number for word in words if (number := known.get(word)) is not None) for words in texts]
        ends = [0, *accumulate(map(len, counts))]
        columns = [number for each in counts for number in each]
        values = [float(times) for each in counts for times in each.values()]
        return csr_matrix((values, columns, ends), shape=(len(texts), len(known)))

    def _by_words(self, change: Change, places: Sequence[int]) -> list[Rows]:
        from scipy.sparse import vstack

        counts, lengths = self._words
        rows = np.arange(len(self.chunks.ids))
        new_rows, texts = self._altered(change)
        if change.removed or len(new_rows):
            kept = np.ones(len(rows), dtype=bool)
            kept[[*change.removed, *change.texts]] = False
            split = [terms(text) for text in texts]
            rows = np.concatenate([rows[kept], new_rows])
            lengths = np.concatenate([lengths[kept], np.array([len(words) for words in split], dtype=np.int64)])
            counts = vstack([counts[kept], self._counted(split)], format="csr") if split else counts[kept]
        if not len(rows):
            return [np.empty(0, dtype=np.int64) for _ in places]
        scores = (self._wanted[list(places)] @ weighted(counts, lengths).T).tocsr()
        return [
            best(rows[scores.indices[first:last]], scores.data[first:last].astype(np.float32), self._reach)
            for first, last in zip(scores.indptr[:-1], scores.indptr[1:], strict=True)
        ]


def weighted(counts: Any, lengths: Rows) -> Any:
    """Return what each word of a chunk adds to its score when a query has it once, by BM25; `counts` are (n, words)."""
    n = counts.shape[0]
    holding = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log(1 + (n - holding + 0.5) / (holding + 0.5))
    norms = K1 * (1 - B + B * rounded(lengths) / max(lengths.sum() / n, 1e-9))
    weights = counts.copy()
    of_row = np.repeat(norms, np.diff(counts.indptr))
    weights.data = rarity[counts.indices] * (1 + K1) * counts.data / (counts.data + of_row)
    return weights


def rounded(lengths: Rows) -> Rows:
    """Round lengths down to those that Tantivy and Lucene keep in one byte.

    >>> rounded(np.array([7, 40, 41, 43, 1000])).tolist()
    [7, 40, 40, 42, 984]
    """
    return np.asarray(_LENGTHS[np.searchsorted(_LENGTHS, lengths, side="right") - 1])


def _kept_lengths() -> Rows:
    """Return the 256 lengths that one byte can stand for: the first exact, then 8 to each doubling."""
    first = 24
    rest = [number if number < 8 else (8 | number % 8) << (number // 8 - 1) for number in range(256 - first)]
    return np.array([*range(first), *(first + number for number in rest)], dtype=np.int64)


_LENGTHS = _kept_lengths()


def best(rows: Rows, scores: NDArray[np.float32], most: int) -> Rows:
    """Return the rows with the highest scores, best first, ties by row."""
    if len(rows) > most:
        floor = np.partition(scores, len(scores) - most)[len(scores) - most]
        rows, scores = rows[scores >= floor], scores[scores >= floor]
    return rows[np.lexsort((rows, -scores))][:most]
