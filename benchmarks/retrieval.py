"""Searching and filling an index, against the plainest way to do the same in the same run; prints rows.

    python benchmarks/retrieval.py                                       local; Elasticsearch too when it is built
    python benchmarks/retrieval.py --elasticsearch http://localhost:9200  on a server that runs
    python benchmarks/retrieval.py --elasticsearch none                   local only

- local: `LocalIndex.knn` ÷ bare NumPy (matrix product and argpartition), same batches, same threads; at most 1.2.
- search: one `client.search` for each question ÷ `ElasticIndex.knn`, its segments merged; at least 4.
- indexing: `helpers.bulk` with its defaults ÷ writer and publish, until the chunks can be searched; at least 2.5.
  The server builds our graph in the background afterwards, and searches exactly until then.

Both sides of a search take turns for some rounds, and their medians are compared, so that a busy machine slows both;
filling, which takes minutes, has one turn of each side on a server that is warm. Vectors are random with 32 degrees of
freedom, as hard to search as those of texts; the texts are 150 words by Zipf's law.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rows import row

from ragviz.backends.elastic_requests import chunk_source, knn_body
from ragviz.backends.exact import MOST_QUERIES, SCORE_BYTES
from ragviz.backends.protocol import Index
from ragviz.core.document import Chunk
from ragviz.core.ranking import Ranking
from ragviz.core.settings import Settings
from ragviz.models.vectors import Vectors
from ragviz.workspace import Workspace

TOOL = Path(__file__).resolve().parents[1] / "tools" / "elasticsearch" / "run.py"
WARM = 10_000
"""Chunks of a turn that is not counted: a node's first ones take several times as long, since it compiles itself."""
WINDOW = 1024
"""Chunks that are handed to a writer together, as a build does."""
FREEDOM = 32
WORDS = 30_000
LENGTH = 150


def unit_vectors(count: int, dims: int, rng: np.random.Generator) -> Vectors:
    """Random rows of length 1 that lie in 32 dimensions, but for a little noise."""
    plane = np.random.default_rng(0).standard_normal((FREEDOM, dims), dtype=np.float32)
    rows = rng.standard_normal((count, FREEDOM), dtype=np.float32) @ plane
    rows += rng.standard_normal((count, dims), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def texts(count: int, rng: np.random.Generator) -> Iterator[str]:
    """Texts of 150 words; the n-th word is n times rarer than the first."""
    words = np.array([f"w{number:x}" for number in range(WORDS)])
    weights = 1 / np.arange(1, WORDS + 1)
    steps = np.cumsum(weights / weights.sum())
    for _ in range(count):
        yield " ".join(words[np.minimum(np.searchsorted(steps, rng.random(LENGTH)), WORDS - 1)])


def make_chunks(count: int, rng: np.random.Generator) -> list[Chunk]:
    """Chunks of documents that have a hundred each."""
    chunks = []
    for number, text in enumerate(texts(count, rng)):
        document, start = f"{number // 100:016x}", number % 100 * 1000
        chunks.append(Chunk(Chunk.make_id(document, start, start + 1000), document, start, start + 1000, text, LENGTH))
    return chunks


def fill(index: Index, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Build an index as `ragviz index build` does, in windows."""
    writer = index.rebuild(vectors.shape[1])
    for start in range(0, len(chunks), WINDOW):
        writer.add(chunks[start : start + WINDOW], vectors[start : start + WINDOW])
    writer.publish(len(chunks))


def bare_numpy(vectors: Vectors, queries: Vectors, depth: int) -> list[np.ndarray]:
    """Return the `depth` best rows of each query, unordered, in the batches that the local index takes."""
    batch = max(1, min(MOST_QUERIES, SCORE_BYTES // (4 * len(vectors))))
    best: list[np.ndarray] = []
    for start in range(0, len(queries), batch):
        scores = queries[start : start + batch] @ vectors.T
        best.extend(np.argpartition(scores, len(vectors) - depth, axis=1)[:, -depth:])
    return best


def medians(rounds: int, *sides: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each side; they take turns, and the first turn of each is not counted."""
    taken: list[list[float]] = [[] for _ in sides]
    for turn in range(rounds + 1):
        for seconds, side in zip(taken, sides, strict=True):
            start = time.perf_counter()
            side()
            if turn:
                seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in taken]


def measure_local(
    chunks: Sequence[Chunk], vectors: Vectors, queries: Vectors, depth: int, rounds: int
) -> list[Ranking]:
    """Print the row of the local index against NumPy; return the rankings, the ground truth for the others."""
    with tempfile.TemporaryDirectory() as folder:
        index = Workspace(Settings(_env_file=None, home=Path(folder))).open_index("benchmark", "local", {})
        fill(index, chunks, vectors)
        rankings = index.knn(queries, depth)
        seconds, bare = medians(rounds, lambda: index.knn(queries, depth), lambda: bare_numpy(vectors, queries, depth))
    sets = ({chunks[row].id for row in rows} for rows in bare_numpy(vectors, queries, depth))
    agree = sum(set(ranking.ids) == rows for ranking, rows in zip(rankings, sets, strict=True))
    what = f"exact kNN ÷ NumPy, {len(queries):,} questions to depth {depth} on {len(chunks):,} chunks"
    row(f"{what}; the same chunks for {agree / len(queries):.1%}", seconds, bare, "s", 1.2)
    return rankings


def search_one_by_one(client: Any, alias: str, queries: Vectors, depth: int) -> list[list[str]]:
    """Return the ids of each question, by a search call for each."""
    ids, candidates = [], knn_body(queries[0].tolist(), depth, None)["knn"]["num_candidates"]
    for query in queries:
        knn = {"field": "vector", "query_vector": query.tolist(), "k": depth, "num_candidates": candidates}
        reply = client.search(index=alias, knn=knn, size=depth, source=False)
        ids.append([hit["_id"] for hit in reply["hits"]["hits"]])
    return ids


def bulk_with_defaults(
    client: Any, name: str, mappings: dict[str, Any], sources: Sequence[dict[str, Any]], rows: Vectors
) -> None:
    """Fill a fresh index by `helpers.bulk` as its documentation shows it, until it can be searched."""
    from elasticsearch import helpers

    client.indices.create(index=name, mappings=mappings)
    actions = (
        {"_index": name, "_id": source["chunk_id"], **source, "vector": row.tolist()}
        for source, row in zip(sources, rows, strict=True)
    )
    helpers.bulk(client, actions)
    client.indices.refresh(index=name)


def measure_search(
    index: Any, client: Any, queries: Vectors, depth: int, truth: Sequence[Ranking], rounds: int
) -> None:
    """Print the row of searching the filled index, against one call for each question."""
    rankings = index.knn(queries, depth)
    common = [len({*ranking.ids[:10]} & {*exact.ids[:10]}) for ranking, exact in zip(rankings, truth, strict=True)]
    seconds, single = medians(
        rounds,
        lambda: index.knn(queries, depth),
        lambda: search_one_by_one(client, index.alias, queries, depth),
    )
    recall = sum(common) / len(common) / 10
    what = f"Elasticsearch: {len(queries):,} questions to depth {depth} ÷ one call each; recall@10 {recall:.3f}"
    row(what, len(queries) / seconds, len(queries) / single, "/s", 4, higher_is_better=True)


def measure_bulk(client: Any, mappings: dict[str, Any], chunks: Sequence[Chunk], rows: Vectors) -> float:
    """Seconds of `helpers.bulk` with the fields and documents of our index, which it is given ready-made.

    What our writer leaves out or postpones (the stored source, refreshes, replicas …) has the server's default.
    """
    sources = [chunk_source(chunk, row) for chunk, row in zip(chunks, rows, strict=True)]
    plain = f"plain-{secrets.token_hex(4)}"
    start = time.perf_counter()
    bulk_with_defaults(client, plain, mappings, sources, rows)
    seconds = time.perf_counter() - start
    client.indices.delete(index=plain)
    return seconds


def measure_elasticsearch(
    url: str,
    options: argparse.Namespace,
    chunks: Sequence[Chunk],
    vectors: Vectors,
    queries: Vectors,
    truth: Sequence[Ranking],
) -> None:
    """Print both rows of a server. Each side of filling has some turns that are not counted, and one of all chunks."""
    from elasticsearch import Elasticsearch

    client = Elasticsearch(url, request_timeout=300)
    workspace = Workspace(Settings(_env_file=None, elasticsearch_url=url))
    index: Any = workspace.open_index(f"benchmark {secrets.token_hex(4)}", "elasticsearch", {})
    try:
        few = slice(0, WARM)
        for _ in range(options.rounds):
            fill(index, chunks[few], vectors[few])
            (body,) = client.indices.get_mapping(index=index.alias).values()
            mappings = {key: body["mappings"][key] for key in ("dynamic", "properties")}
            mappings["properties"]["text"].pop("store", None)
            measure_bulk(client, mappings, chunks[few], vectors[few])
        index.drop()
        bulk = measure_bulk(client, mappings, chunks, vectors)
        start = time.perf_counter()
        fill(index, chunks, vectors)
        fill_seconds = time.perf_counter() - start
        wait_until_merged(client, index.alias)
        print(f"its graph was built {time.perf_counter() - start - fill_seconds:.1f} s later, in the background")
        measure_search(index, client, queries, options.depth, truth, options.rounds)
    finally:
        index.drop()
    what = f"Elasticsearch: filling with {len(chunks):,} chunks ÷ helpers.bulk with its defaults"
    row(what, len(chunks) / fill_seconds, len(chunks) / bulk, "/s", 2.5, higher_is_better=True)


def wait_until_merged(client: Any, alias: str) -> None:
    """Wait until the segments of a published index are one; the server merges them by itself."""
    while True:
        (stats,) = client.indices.stats(index=alias, metric="segments")["indices"].values()
        if stats["primaries"]["segments"]["count"] <= 1:
            return
        time.sleep(1)


def load_tool() -> ModuleType:
    """`tools/elasticsearch/run.py` as a module."""
    spec = importlib.util.spec_from_file_location("elasticsearch_node", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def server(choice: str | None) -> Iterator[tuple[str | None, str]]:
    """Address of the server to measure, or None and the reason; one that was started here is ended afterwards."""
    if choice == "none":
        yield None, "skipped by --elasticsearch none"
    elif choice is not None:
        yield choice, ""
    elif not (tool := load_tool()).is_built():
        yield None, "no address given by --elasticsearch, and tools/elasticsearch is not built (`make elasticsearch`)"
    else:
        with tempfile.TemporaryDirectory() as data, tool.running(tool.free_port(), Path(data)) as (url, _):
            yield url, ""


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elasticsearch", metavar="URL", help="a server's address, or `none`")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side that are counted")
    options = parser.parse_args()

    rng = np.random.default_rng(1)
    chunks, vectors = make_chunks(options.chunks, rng), unit_vectors(options.chunks, options.dims, rng)
    queries = unit_vectors(options.questions, options.dims, rng)
    truth = measure_local(chunks, vectors, queries, options.depth, options.rounds)
    with server(options.elasticsearch) as (url, reason):
        if url is None:
            print(f"Elasticsearch is not measured: {reason}")
        else:
            measure_elasticsearch(url, options, chunks, vectors, queries, truth)


if __name__ == "__main__":
    main()
