"""What the questions of a run are searched for again, and kept: both rankings of a fusion; the exact nearest chunks."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ragviz.backends import exact
from ragviz.core.configuration import IndexConfig, IndexInfo, Run
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.index import indexing, prefixes
from ragviz.models.vectors import Vectors
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import FUSED_DEPTH, fuse
from ragviz.runs import measurements
from ragviz.store.schema import corpus_hash, questions_hash
from ragviz.text.counts import first
from ragviz.workspace import Workspace

Part = Literal["components", "exact"]
PARTS: tuple[Part, ...] = get_args(Part)
"""What can be searched again: both rankings that a hybrid run fuses; the nearest chunks by exact search."""

_VERSION = "2"
"""Version of what is kept, and of the rule by which it is computed."""
_BATCH = 100
"""Questions that are searched together."""
_NEAR = 1e-6
"""Two similarities that differ by less are the same: a server computes them in single precision."""


def index_of(workspace: Workspace, current: Run) -> IndexInfo | None:
    """Return the index of a run when its chunks and vectors are those that the run searched; None otherwise."""
    store = workspace.store
    info = next((each for each in store.indexes.all(current.corpus_id) if each.id == current.config.index), None)
    if info is None or not info.build:
        return None
    if (info.built or 0.0) <= current.created:
        return info
    state = corpus_hash(store.documents.readable(current.corpus_id).intersection(info.documents))
    identity = current.provenance["identity"]
    before = identity["corpus"], identity["index"], identity["embedder"]
    return info if (state, info.config.hash(), info.embedder_identity) == before else None


def is_approximate(config: IndexConfig) -> bool:
    """Whether an index of this configuration finds the nearest chunks approximately.

    >>> is_approximate(IndexConfig()), is_approximate(IndexConfig(backend="elasticsearch"))
    (False, True)
    >>> is_approximate(IndexConfig(backend="elasticsearch", options={"type": "flat"}))
    False
    """
    return config.backend == "elasticsearch" and config.options.get("type", "hnsw") != "flat"


def refusal(workspace: Workspace, current: Run, part: Part) -> str:
    """Say why a part cannot be searched for, or would tell nothing; "" when it can."""
    config, cut = current.config, current.provenance["index_config"]
    if unranked := measurements.unranked_words(current):
        return unranked
    if current.knows.opaque:
        return "The ranking of this run is another system's: it cannot be searched for again."
    if config.reranker != "none":
        return (
            f"The ranking of this run is {config.reranker}'s, which reads {first(config.rerank_depth, 'chunk')}: "
            "what it would make of others is not stored. Make a run with another constant."
            if part == "components"
            else f"The ranking of this run is {config.reranker}'s; compare the searches on a run without a reranker."
        )
    if part == "components" and config.retriever != "hybrid":
        return f"The constant is that of fusing two rankings: this run ranks by {config.retriever} alone."
    if part == "exact" and config.retriever == "bm25":
        return "This run ranks by BM25, which compares words and is exact: there is no approximate search to compare."
    if part == "exact" and cut and not is_approximate(config_of(cut)):
        kind = "The local index compares" if cut["backend"] == "local" else "An index of the type flat compares"
        return f"{kind} the question with every chunk: its search is exact, and nothing is lost to approximation."
    if index_of(workspace, current) is None:
        return (
            f"The index {current.provenance['index']} was built anew with other chunks since, or deleted: it cannot be "
            "searched again as this run did."
        )
    return ""


def config_of(values: Mapping[str, Any]) -> IndexConfig:
    """Return the configuration of an index as a run recorded it."""
    known = {name: value for name, value in values.items() if name in IndexConfig.__dataclass_fields__}
    return IndexConfig(**known)


def check(workspace: Workspace, current: Run, part: Part) -> IndexInfo:
    """Return the index that is searched again; raises UsageError as `refusal` says."""
    if words := refusal(workspace, current, part):
        raise UsageError(words)
    info = index_of(workspace, current)
    assert info is not None
    return search.ready(workspace, info)


def reach(current: Run) -> int:
    """Return the depth of both rankings that a run fuses."""
    return max(current.config.depth, FUSED_DEPTH)


def search_again(workspace: Workspace, current: Run, part: Part, *, progress: Progress = silent) -> dict[str, Any]:
    """Search for the questions of a run with evidence, and keep what is found; nothing is searched twice.

    Returns {"run", "part", "questions", "embedded"}: `embedded` counts the texts whose vectors were computed for it.

    Raises:
        UsageError: as `check`, or `part` is none.

    """
    if part not in PARTS:
        raise UsageError(f"There is no part '{part}' to be searched for: choose one of {', '.join(PARTS)}.")
    info = check(workspace, current, part)
    questions = [question for question in workspace.store.rankings.questions(current.id) if question.evidence]
    key, kept = _key(info, current, questions, part), workspace.store.cache("replay")
    embedded = 0
    if not kept.held([key]):
        find = _components if part == "components" else _exact
        body, embedded = find(workspace, current, info, questions, progress)
        kept.put_many({key: body})
    return {"run": current.name, "part": part, "questions": len(questions), "embedded": embedded}


def _key(info: IndexInfo, current: Run, questions: Sequence[Question], part: Part) -> str:
    """Return the key of what is kept: the same for all runs of these questions on this index.

    Except where a run's own ranking is compared with the exact one: an index that merges its segments meanwhile finds
    other chunks for the next run.
    """
    config = current.config
    by_vectors = current.id if config.retriever == "knn" else ""
    ranked = (config.retriever, by_vectors, str(config.rrf_constant), str(config.depth)) if part == "exact" else ()
    parts = (_VERSION, part, info.id, info.build, info.embedder_identity, str(reach(current)), *ranked)
    return digest(*parts, questions_hash(questions))


def keys(workspace: Workspace, current: Run, questions: Sequence[Question]) -> dict[Part, str]:
    """Return the keys under which parts are kept in the store's cache "replay", those that can be searched for.

    `questions` are those of the run with evidence.
    """
    info = index_of(workspace, current)
    parts = [part for part in PARTS if info is not None and not refusal(workspace, current, part)]
    return {part: _key(info, current, questions, part) for part in parts if info is not None}


# Both rankings of a fusion


def components(
    workspace: Workspace, current: Run, questions: Sequence[Question]
) -> tuple[list[Ranking], list[Ranking]] | None:
    """Return the rankings by vectors and by words that a hybrid run fuses, each to `reach`; None where not known.

    Of finished runs by knn and bm25 over the same chunks and questions, where these are deep enough; else those kept.
    `questions` are those of the run with evidence.
    """
    key = keys(workspace, current, questions).get("components")
    if key is None:
        return None
    by_runs = [_of_runs(workspace, current, questions, name) for name in ("knn", "bm25")]
    if by_runs[0] is not None and by_runs[1] is not None:
        return by_runs[0], by_runs[1]
    body = workspace.store.cache("replay").get_many([key]).get(key)
    if body is None:
        return None
    both = decoded(body)
    return both[: len(questions)], both[len(questions) :]


def _of_runs(workspace: Workspace, current: Run, questions: Sequence[Question], name: str) -> list[Ranking] | None:
    """Return the rankings of a run by one of both retrievers; None without a run whose rankings are deep enough."""
    wanted, own = reach(current), current.provenance["identity"]
    for run in workspace.store.runs.all(current.corpus_id):
        identity = run.provenance.get("identity", {})
        same = all(identity.get(part) == own[part] for part in ("corpus", "questions", "index", "embedder"))
        if run.status != "done" or run.config.retriever != name or run.config.reranker != "none" or not same:
            continue
        by_id = _rankings(workspace, run)
        rankings = [by_id[question.id] for question in questions if question.id in by_id]
        # A ranking that is shorter than the run's depth is whole.
        whole = all(len(each.ids) >= wanted or len(each.ids) < run.config.depth for each in rankings)
        if whole and len(rankings) == len(questions):
            return [Ranking(each.ids[:wanted], each.scores[:wanted]) for each in rankings]
    return None


def _rankings(workspace: Workspace, run: Run) -> dict[str, Ranking]:
    return {result.question_id: result.ranking for result in workspace.store.rankings.all(run.id)}


def _components(
    workspace: Workspace, current: Run, info: IndexInfo, questions: Sequence[Question], progress: Progress
) -> tuple[bytes, int]:
    spending = workspace.spending(info.id)
    found: list[Ranking] = []
    try:
        for place, name in enumerate(("knn", "bm25")):
            retrieve = search.retriever(workspace, info, name, spending=spending, progress=progress)
            for start in range(0, len(questions), _BATCH):
                texts = [question.query for question in questions[start : start + _BATCH]]
                found += retrieve(texts, reach(current))
                done = place * len(questions) + start + len(texts)
                progress(done, 2 * len(questions), "questions", f"Searching by {name}")
    finally:
        spending.settle()
    return encoded(found), 0


# Exact search


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """The rankings that exact search gives the questions of a run with evidence, in its way of ranking.

    `near`, (n, depth), counts how many of the first j + 1 chunks of the approximate search by vectors are as near as
    the (j + 1)-th nearest chunk of all. That search is the run's own; a hybrid run, whose ranking is of two, is
    searched again.
    """

    rankings: tuple[Ranking, ...]
    near: NDArray[np.int64]


def exact_of(workspace: Workspace, current: Run, questions: Sequence[Question]) -> Exact | None:
    """Return what exact search finds for the questions of a run with evidence; None where it was not searched yet."""
    key = keys(workspace, current, questions).get("exact", "")
    body = workspace.store.cache("replay").get_many([key]).get(key)
    if body is None:
        return None
    size = int.from_bytes(body[:8], "big")
    near = np.array(json.loads(body[8 : 8 + size]), dtype=np.int64).reshape(len(questions), current.config.depth)
    return Exact(tuple(decoded(body[8 + size :])), near)


def _exact(
    workspace: Workspace, current: Run, info: IndexInfo, questions: Sequence[Question], progress: Progress
) -> tuple[bytes, int]:
    """Compare the questions with the vectors of all chunks, which the embedder has cached since they were indexed."""
    spending, config, index = workspace.spending(info.id), current.config, workspace.index(info)
    embedder = workspace.embedder_of(info.config, spending, progress)
    before = embedder.embedded
    try:
        ids, texts = _chunks(workspace, info)
        order = sorted(range(len(ids)), key=ids.__getitem__)  # ties are ranked by chunk id
        ids, texts = [ids[place] for place in order], [texts[place] for place in order]
        vectors = embedder.embed(
            texts, "passage", lambda done: progress(done, len(texts), "chunks", "Reading the vectors of the chunks")
        )
        similarity, what = info.config.similarity, f"Index {info.name!r}"
        rows = exact.checked(vectors, info.dims, similarity, what)
        lengths = None if similarity == "cosine" else np.linalg.norm(rows, axis=1).astype(np.float32)
        row_of = {chunk_id: row for row, chunk_id in enumerate(ids)}
        found: list[Ranking] = []
        near: list[list[int]] = []
        deep = reach(current) if config.retriever == "hybrid" else config.depth
        own = {} if config.retriever == "hybrid" else _rankings(workspace, current)
        for start in range(0, len(questions), _BATCH):
            batch = questions[start : start + _BATCH]
            asked = [question.query for question in batch]
            queries = exact.checked(embedder.embed(asked, "query"), info.dims, similarity, what)
            nearest = [
                Ranking(tuple(ids[row] for row in places), tuple(map(float, scores)))
                for places, scores in exact.nearest(rows, lengths, queries, deep, similarity)
            ]
            approximate = [own[question.id] for question in batch] if own else index.knn(queries, config.depth)
            near += [
                _near(rows, query, best, ranking, row_of, similarity, config.depth)
                for query, best, ranking in zip(queries, nearest, approximate, strict=True)
            ]
            if config.retriever == "hybrid":
                words = index.bm25(asked, deep)
                nearest = [fuse(pair, config.depth, config.rrf_constant) for pair in zip(nearest, words, strict=True)]
            found += nearest
            progress(start + len(asked), len(questions), "questions", "Searching exactly")
    finally:
        spending.settle()
    counts = json.dumps(near).encode()
    return len(counts).to_bytes(8, "big") + counts + encoded(found), embedder.embedded - before


def _chunks(workspace: Workspace, info: IndexInfo) -> tuple[list[str], list[str]]:
    """Return the ids of all chunks of an index, and their texts as they were embedded."""
    cuts = workspace.store.indexes.cuts(info.build, info.documents)
    ids: list[str] = []
    texts: list[str] = []
    for document in workspace.store.documents.texts(info.corpus_id, list(cuts)):
        chunks = indexing.chunks_of(document, cuts[document.id])
        ids += [chunk.id for chunk in chunks]
        texts += [chunk.text for chunk in prefixes.indexed(document, chunks, info.config.prefix)]
    if len(ids) != info.chunks:
        raise UsageError(
            f"Index '{info.name}' has {info.chunks:,} chunks, of which the documents of {len(ids):,} are still there: "
            "update the index, and make the run again."
        )
    return ids, texts


def _near(
    rows: Vectors,
    query: NDArray[np.float32],
    nearest: Ranking,
    approximate: Ranking,
    row_of: Mapping[str, int],
    similarity: str,
    depth: int,
) -> list[int]:
    """Count, for every k, how many of the first k approximate chunks are as near as the k-th nearest chunk."""
    places = np.array([row_of[chunk_id] for chunk_id in approximate.ids], dtype=np.int64)
    scores = exact.exact_scores(rows, places, query, similarity)
    best = np.array(nearest.scores[:depth])
    counts = [int((scores[:k] >= best[k - 1] - _NEAR).sum()) for k in range(1, len(best) + 1)]
    missing = len(best) - counts[-1] if counts else 0
    return counts + [k - missing for k in range(len(best) + 1, depth + 1)]  # there are fewer chunks than that


# As bytes


def encoded(rankings: Sequence[Ranking]) -> bytes:
    """Encode rankings, for `decoded`; scores are kept to float64."""
    ids = sorted({*chain.from_iterable(each.ids for each in rankings)})
    number = {chunk_id: place for place, chunk_id in enumerate(ids)}
    head = json.dumps([ids, [len(each.ids) for each in rankings]]).encode()
    chunks = np.array([number[i] for each in rankings for i in each.ids], dtype="<i4")
    scores = np.array([score for each in rankings for score in each.scores], dtype="<f8")
    return zlib.compress(len(head).to_bytes(8, "big") + head + chunks.tobytes() + scores.tobytes(), 1)


def decoded(body: bytes) -> list[Ranking]:
    """Decode what `encoded` made.

    >>> decoded(encoded([Ranking(("b", "a"), (0.5, 0.25)), Ranking((), ())]))
    [Ranking(ids=('b', 'a'), scores=(0.5, 0.25)), Ranking(ids=(), scores=())]
    """
    data = zlib.decompress(body)
    end = 8 + int.from_bytes(data[:8], "big")
    ids, lengths = json.loads(data[8:end])
    count = sum(lengths)
    names = np.array(ids, dtype=object)[np.frombuffer(data, "<i4", count, end)].tolist() if count else []
    scores = np.frombuffer(data, "<f8", count, end + 4 * count).tolist()
    ends = np.cumsum([0, *lengths]).tolist()
    return [Ranking(tuple(names[a:b]), tuple(scores[a:b])) for a, b in pairwise(ends)]
