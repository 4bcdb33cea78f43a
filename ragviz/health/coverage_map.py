"""The chunks of an index in two dimensions: which are asked about, which the newest run missed, which nobody asks for.

The dimensions are the principal components of the chunks' vectors: those that a local index holds, else the tf–idf of
their words. They are found on a sample, and all chunks are projected on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragviz.backends.local import LocalIndex
from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.question import Question
from ragviz.index import damage, indexing
from ragviz.retrieval import search
from ragviz.runs import contexts, measurements
from ragviz.store.schema import Cuts
from ragviz.text.former_documents import UNKNOWN
from ragviz.text.normal_form import terms
from ragviz.workspace import Workspace

Floats = NDArray[np.float32]
Basis = Literal["embeddings", "words"]
SHOWN = 10_000
"""Chunks that are drawn at most: those asked about first, the others by chance."""
FITTED = 5_000
"""Chunks on which the components are found."""
WORDS = 512
"""Words, the most frequent, by which chunks without vectors are placed."""
NEVER, FOUND, MISSED = 0, 1, 2
STATES = ("not asked about", "asked about", "asked about and not in the first k")
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


def coverage_map(
    workspace: Workspace, info: IndexInfo, questions: Sequence[Question], run: Run | None = None
) -> CoverageMap:
    """Place the chunks of an index; `questions` are those of the set that are asked, `run` the newest one of it.

    Raises:
        UsageError: the index is not built.
        SearchError: it is damaged.

    """
    info = search.ready(workspace, damage.sound(workspace, info))
    cuts = workspace.store.indexes.cuts(info.build, info.documents)
    names = workspace.store.documents.names(info.corpus_id)
    ids, owners = list[str](), list[str]()
    for document_id, rows in cuts.items():
        ids += indexing.chunk_ids(document_id, rows)
        owners += [names.get(document_id, UNKNOWN)] * len(rows)
    by_chunk = states_of(workspace, info, questions, run, cuts)
    states = np.array([by_chunk.get(chunk_id, NEVER) for chunk_id in ids], dtype=np.int8)
    never, found, missed = (int((states == state).sum()) for state in (NEVER, FOUND, MISSED))
    by_chance = np.random.default_rng(0).permutation(len(states))
    shown = np.sort(by_chance[np.argsort(-states[by_chance], kind="stable")][:SHOWN])  # missed ones, then asked ones
    drawn = tuple(ids[row] for row in shown)
    vectors, basis = _vectors(workspace, info, drawn)
    xy, explained = placed(vectors)
    return CoverageMap(
        drawn, xy, states[shown], tuple(owners[row] for row in shown), (never, found, missed), basis, explained,
        run.name if run else "", run.config.k if run else 0,
    )  # fmt: skip


def states_of(
    workspace: Workspace, info: IndexInfo, questions: Sequence[Question], run: Run | None, cuts: Mapping[str, Cuts]
) -> dict[str, int]:
    """Return the states of the chunks that are gold of some question, by id: missed where any question misses it.

    A passage is missed when none of its gold chunks is among the run's first k, in the index that the run searched.
    """
    results = {r.question_id: r for r in measurements.results_of(workspace, run)} if run else {}
    k, states = run.config.k if run else 0, dict[str, int]()
    for question, (gold, _) in zip(questions, contexts.gold_of(workspace, info, questions, cuts), strict=True):
        result = results.get(question.id)
        for number, group in enumerate(gold):
            is_missed = (
                result is not None
                and len(result.gold) == len(gold)
                and set(result.ranking.ids[:k]).isdisjoint(result.gold[number])
            )
            for chunk_id in group:
                states[chunk_id] = max(states.get(chunk_id, FOUND), MISSED if is_missed else FOUND)
    return states


def placed(vectors: Floats) -> tuple[Floats, float]:
    """Project rows (n, d) on their two principal components, and return the share of the variance these hold.

    The components are found on at most `FITTED` rows; the same vectors are placed alike each time.
    """
    from sklearn.decomposition import PCA

    count = min(2, len(vectors) - 1, vectors.shape[1])
    xy = np.zeros((len(vectors), 2), np.float32)
    if count < 1 or not vectors.std():
        return xy, 0.0
    fitted = np.random.default_rng(1).permutation(len(vectors))[:FITTED]
    components = PCA(count, random_state=2).fit(vectors[fitted])
    xy[:, :count] = components.transform(vectors)
    return xy, float(components.explained_variance_ratio_.sum())


def _vectors(workspace: Workspace, info: IndexInfo, ids: Sequence[str]) -> tuple[Floats, Basis]:
    """Return the vectors of chunks: those of a local index, else tf–idf of their words, (n, `WORDS` at most)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    index = workspace.index(info)
    if isinstance(index, LocalIndex) and info.dims and (generation := index.live()) is not None:
        wanted = np.array([i.encode("utf-8", "surrogatepass") for i in ids])
        rows = np.searchsorted(generation.ids, wanted)  # ids are in order
        return np.asarray(generation.rows.vectors[rows], np.float32), "embeddings"
    texts = [terms(text) for text in search.texts_of(workspace, info.corpus_id)(ids)]
    if not any(texts):
        return np.zeros((len(texts), 0), np.float32), "words"
    vectors = TfidfVectorizer(analyzer=list, max_features=WORDS, sublinear_tf=True, dtype=np.float32)
    return np.asarray(vectors.fit_transform(texts).toarray()), "words"
