"""The chunks of an index in two dimensions: which are asked about, which the newest run missed, which nobody asks for.

The dimensions are the principal components of the chunks' vectors: those that the index holds, else those of the
embedder's cache, else their words, hashed and weighted by rarity. They are found on a sample, in time linear in it, and
all chunks are projected on them.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragviz.backends.local import LocalIndex
from ragviz.backends.terms import terms
from ragviz.core.errors import RagvizError
from ragviz.core.index_info import IndexInfo
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.index import damage, indexing, prefixes
from ragviz.models import embedding
from ragviz.retrieval import search
from ragviz.runs import contexts, measurements
from ragviz.store.codecs import Cuts
from ragviz.text.former_documents import UNKNOWN
from ragviz.workspace import Workspace

Floats = NDArray[np.float32]
Basis = Literal["embeddings", "words"]
SHOWN = 10_000
"""Chunks that are drawn at most: those asked about first, the others by chance."""
FITTED = 5_000
"""Chunks on which the components are found."""
HASHED = 512
"""Places into which words are hashed where there are no vectors."""
ROUNDS = 12
"""Power iterations: each makes what is left of smaller components smaller by the square of their ratio."""
NEVER, FOUND, MISSED = 0, 1, 2
STATES = ("not asked about", "asked about", "missed")
"""States of chunks: what is asked about is found by the newest run, or not known for want of a run."""


@dataclass(frozen=True, slots=True, eq=False)
class CoverageMap:
    """Chunks as points: `ids` and their places `xy`, (n, 2), and `states`, (n,), indices into `STATES`.

    `total` counts all chunks of the index by state, those that are not drawn too. `documents` names the document of
    each chunk drawn. `explained` is the share of the variance that the two dimensions hold. `run` is that whose misses
    are shown, at `k`, "" without any.
    """

    ids: tuple[str, ...]
    xy: Floats
    states: NDArray[np.int8]
    documents: tuple[str, ...]
    total: tuple[int, int, int]
    basis: Basis
    explained: float
    run: str = ""
    k: int = 0

    @property
    def chunks(self) -> int:
        """All chunks of the index."""
        return sum(self.total)


def coverage_map(
    workspace: Workspace, info: IndexInfo, questions: Sequence[Question], run: Run | None = None, *, most: int = SHOWN
) -> CoverageMap:
    """Place the chunks of an index; `questions` are those of the set that are asked, `run` the newest one of it.

    Raises:
        UsageError: the index is not built.
        SearchError: it is damaged.

    """
    info = search.ready(workspace, damage.sound(workspace, info))
    cuts = workspace.store.indexes.cuts(info.build, info.documents)
    ids = [chunk_id for document_id, rows in cuts.items() for chunk_id in indexing.chunk_ids(document_id, rows)]
    by_chunk = states_of(workspace, info, questions, run, cuts)
    states = np.array([by_chunk.get(chunk_id, NEVER) for chunk_id in ids], dtype=np.int8)
    counts = tuple(int((states == state).sum()) for state in range(len(STATES)))
    shown = sampled(states, most)
    vectors, basis = _vectors(workspace, info, cuts, [ids[row] for row in shown])
    xy, explained = placed(vectors)
    names = workspace.store.documents.names(info.corpus_id)
    owners = [names.get(i, UNKNOWN) for i, rows in cuts.items() for _ in range(len(rows))]
    return CoverageMap(
        tuple(ids[row] for row in shown), xy, states[shown], tuple(owners[row] for row in shown),
        (counts[0], counts[1], counts[2]), basis, explained, run.name if run else "", run.config.k if run else 0,
    )  # fmt: skip


def states_of(
    workspace: Workspace, info: IndexInfo, questions: Sequence[Question], run: Run | None, cuts: Mapping[str, Cuts]
) -> dict[str, int]:
    """Return the states of the chunks that are gold of some question, by id: missed where any question misses it.

    A passage is missed when none of its gold chunks is among the run's first k, in the index that the run searched.
    """
    results = {r.question_id: r for r in measurements.results_of(workspace, run)} if run else {}
    states: dict[str, int] = {}
    for question, (gold, _) in zip(questions, contexts.gold_of(workspace, info, questions, cuts), strict=True):
        missed = missed_groups(results.get(question.id), len(gold), run.config.k if run else 0)
        for group, is_missed in zip(gold, missed, strict=True):
            for chunk_id in group:
                states[chunk_id] = max(states.get(chunk_id, FOUND), MISSED if is_missed else FOUND)
    return states


def missed_groups(result: Retrieved | None, groups: int, k: int) -> list[bool]:
    """Return for each group of a question's evidence whether a run missed it; False where it did not rank it."""
    if result is None or len(result.gold) != groups:
        return [False] * groups
    first = set(result.ranking.ids[:k])
    return [not first.intersection(gold) for gold in result.gold]


def sampled(states: NDArray[np.int8], most: int, seed: int = 0) -> NDArray[np.int64]:
    """Return the rows to be drawn, in order: at most `most`, missed ones first, then those asked about, by chance."""
    if len(states) <= most:
        return np.arange(len(states))
    by_chance = np.random.default_rng(seed).permutation(len(states))
    order = by_chance[np.argsort(-states[by_chance], kind="stable")]
    return np.sort(order[:most])


def placed(vectors: Floats, most: int = FITTED) -> tuple[Floats, float]:
    """Project rows (n, d) on their two principal components, and return the share of the variance these hold.

    The components are found by power iteration (subspace iteration) on at most `most` rows. Each points to where its
    greatest loading is positive, so that the same vectors are placed alike each time.
    """
    n = len(vectors)
    if n < 2 or vectors.shape[1] == 0:
        return np.zeros((n, 2), np.float32), 0.0
    rows = vectors if n <= most else vectors[np.random.default_rng(1).permutation(n)[:most]]
    mean = rows.mean(axis=0)
    centred = np.asarray(rows - mean, np.float32)
    size = min(6, *centred.shape)
    basis = np.random.default_rng(2).standard_normal((centred.shape[1], size)).astype(np.float32)
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, rotation = np.linalg.svd(centred @ basis, full_matrices=False)
    components = (basis @ rotation.T)[:, :2]
    signs = np.sign(components[np.abs(components).argmax(axis=0), np.arange(components.shape[1])])
    components = components * np.where(signs == 0, 1, signs)
    xy = np.zeros((n, 2), np.float32)
    for start in range(0, n, FITTED):
        block = slice(start, start + FITTED)
        xy[block, : components.shape[1]] = (vectors[block] - mean) @ components
    whole = float((centred**2).sum())
    return xy, float(((centred @ components) ** 2).sum()) / whole if whole else 0.0


def _vectors(
    workspace: Workspace, info: IndexInfo, cuts: Mapping[str, Cuts], ids: Sequence[str]
) -> tuple[Floats, Basis]:
    """Return the vectors of chunks: of the index, of the cache, else of their words."""
    index = workspace.index(info)
    if isinstance(index, LocalIndex) and info.dims:
        return _of_local(index, ids), "embeddings"
    texts = _texts(workspace, info, cuts, set(ids))
    if info.dims:
        cache = workspace.store.cache("embedding")
        try:
            found = embedding.cached(info.config.embedder, [texts[i][1] for i in ids], "passage", cache)
        except RagvizError:
            found = {}
        if len(found) == len(ids):
            return np.stack([found[row] for row in range(len(ids))]), "embeddings"
    return hashed([terms(texts[i][0]) for i in ids]), "words"


def _of_local(index: LocalIndex, ids: Sequence[str]) -> Floats:
    generation = index.live()
    if generation is None:
        return np.zeros((len(ids), 0), np.float32)
    wanted = np.array([i.encode("utf-8", "surrogatepass") for i in ids])
    rows = np.searchsorted(generation.ids, wanted)  # ids are in order
    return np.asarray(generation.rows.vectors[rows], np.float32)


def _texts(
    workspace: Workspace, info: IndexInfo, cuts: Mapping[str, Cuts], wanted: set[str]
) -> dict[str, tuple[str, str]]:
    """Return the texts of chunks by id: their own, and that which was embedded."""
    found: dict[str, tuple[str, str]] = {}
    for document in workspace.store.documents.texts(info.corpus_id, list(cuts)):
        own = [chunk for chunk in indexing.chunks_of(document, cuts[document.id]) if chunk.id in wanted]
        indexed = prefixes.indexed(document, iter(own), info.config.prefix)
        found |= {chunk.id: (chunk.text, embedded.text) for chunk, embedded in zip(own, indexed, strict=True)}
    return found


def hashed(texts: Sequence[Sequence[str]], places: int = HASHED) -> Floats:
    """Return tf-idf vectors, (n, places), of unit length, words hashed with a sign; 0 for a text without words."""
    counts: Counter[str] = Counter()
    for words in texts:
        counts.update(set(words))
    weight: Callable[[str], float] = lambda word: math.log((1 + len(texts)) / counts[word])  # noqa: E731
    known = {word: _place(word, places) for word in counts}
    vectors = np.zeros((len(texts), places), np.float32)
    for row, words in enumerate(texts):
        for word, times in Counter(words).items():
            place, sign = known[word]
            vectors[row, place] += sign * (1 + math.log(times)) * weight(word)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _place(word: str, places: int) -> tuple[int, int]:
    value = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return value % places, 1 if (value // places) % 2 else -1


def words_of(coverage: CoverageMap) -> str:
    """Say what the map shows, and what it leaves out."""
    never, found, missed = coverage.total
    misses = f", {missed:,} of them missed by {coverage.run} at k = {coverage.k}" if coverage.run else ""
    said = f"{found + missed:,} of {coverage.chunks:,} chunks are asked about{misses}; {never:,} are not."
    left_out = coverage.chunks - len(coverage.ids)
    if left_out:
        said += f" Drawn are {len(coverage.ids):,}, the others left out by chance, those asked about last."
    near = "texts that mean the same" if coverage.basis == "embeddings" else "texts that share rare words"
    shown = f"as far as two dimensions show ({coverage.explained:.0%} of the variance)"
    return f"{said} Near each other are {near}, {shown}."
