"""Chunks and their vectors in Elasticsearch: pure bodies of requests first, then the thin calls that send them.

An index called `handbook` is the alias `ragviz-handbook.<digest>`, which points at one concrete index
`ragviz-handbook.<digest>.<id>`. A writer fills a concrete index of its own, and `publish` counts it and moves the
alias in one step. An update starts from a clone of what is published (hard links, not copies), so it is as invisible
until then as a rebuild is, and can be given up as cleanly.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from ragviz.errors import SearchError, UsageError
from ragviz.index import Vectors
from ragviz.records import Chunk, Ranking, digest

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")
Body = dict[str, Any]

TYPES = ("hnsw", "int8_hnsw", "flat")
OPTIONS: Mapping[str, Any] = {
    "type": "hnsw",
    "m": 16,
    "ef_construction": 100,
    "num_candidates": None,
    "shards": 1,
}
"""Options and their defaults; `num_candidates` None is twice the depth, at least 100."""
DEEPEST = 10_000
"""Elasticsearch's own limit of one search's hits and of `num_candidates`."""
SPARE = 20
"""Hits asked for beyond the depth, so that equal scores at its edge are told apart by chunk id."""
BATCH_SEARCHES = 100
BATCH_CHUNKS = 500
BATCH_BYTES = 4 * 2**20
BULK_THREADS = 2
RETRY_STATUS = frozenset({429, 502, 503, 504})
RETRY_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TIMEOUT_SECONDS = 60.0
FOREIGN_HOURS = 24
"""After so long, a half-built index of another machine is taken for left over."""


# ---------------------------------------------------------------------------------------------------- pure bodies


def alias_of(name: str) -> str:
    """The alias of an index, whatever letters its name has; other names, other aliases.

    The readable part has no dot, so that `alias + ".*"` matches this index's concrete indices and no other's.

    >>> alias_of("My handbook!")
    'ragviz-my-handbook.a7a1b0a1a3bd'
    """
    readable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "index"
    return f"ragviz-{readable}.{digest(name, length=12)}"


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, the defaults filled in.

    Raises:
        UsageError: an unknown option, or a value Elasticsearch would refuse.

    """
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise UsageError(f"Elasticsearch has no option {', '.join(unknown)}; its options are {', '.join(OPTIONS)}.")
    merged = {**OPTIONS, **options}
    if merged["type"] not in TYPES:
        raise UsageError(f"Option type is {merged['type']!r}; use one of {', '.join(TYPES)}.")
    for option, low, high in (("m", 2, 512), ("ef_construction", 2, 3200), ("shards", 1, 1024)):
        check_range(option, merged[option], low, high)
    if merged["num_candidates"] is not None:
        check_range("num_candidates", merged["num_candidates"], 1, DEEPEST)
    return merged


def check_range(option: str, value: object, low: int, high: int) -> None:
    """Refuse what is not a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(f"Option {option} is {value!r}; use a whole number from {low} to {high}.")


def vector_field(dims: int, similarity: str, options: Mapping[str, Any]) -> Body:
    """Mapping of the field that holds the vectors."""
    graph = {} if options["type"] == "flat" else {"m": options["m"], "ef_construction": options["ef_construction"]}
    kind = {"type": options["type"], **graph}
    return {"type": "dense_vector", "dims": dims, "index": True, "similarity": similarity, "index_options": kind}


def index_body(name: str, builder: Body, vector: Body, shards: int) -> Body:
    """Settings and mappings of a concrete index while it is filled: no refresh, no replicas, lazy durability.

    Vectors are left out of the stored source; `builder` says which process fills it.
    """
    stored = {"type": "integer", "index": False}
    return {
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "translog": {"durability": "async"},
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"excludes": ["vector"]},
            "_meta": {"ragviz": {"name": name, "builder": builder}},
            "properties": {
                "chunk_id": {"type": "keyword"},
                "document_id": {"type": "keyword"},
                "start": stored,
                "end": stored,
                "page": stored,
                "text": {"type": "text"},
                "vector": vector,
            },
        },
    }


PUBLISHED = {"index": {"auto_expand_replicas": "0-1", "translog.durability": "request", "blocks.write": True}}
"""Settings of an index that is searched: a replica where there is a second node, and nobody writes to it."""
CLONED = {"index.blocks.write": None, "index.auto_expand_replicas": "false", "index.number_of_replicas": 0}
"""Settings of a clone, as of an index that is filled."""


def knn_body(vector: Vectors, depth: int, candidates: int | None) -> Body:
    """Search for the chunks nearest to one vector."""
    size = min(depth + SPARE, DEEPEST)
    wanted = max(100, 2 * depth) if candidates is None else candidates
    knn = {"field": "vector", "query_vector": vector, "k": size, "num_candidates": min(max(wanted, size), DEEPEST)}
    return {"knn": knn, "size": size, "_source": False, "track_total_hits": False}


def bm25_body(query: str, depth: int) -> Body:
    """Search for the chunks that share terms with the query, by BM25."""
    sort = [{"_score": "desc"}, {"chunk_id": "asc"}]
    match = {"match": {"text": sendable(query)}}
    return {"query": match, "size": depth, "sort": sort, "_source": False, "track_total_hits": False}


def chunk_source(chunk: Chunk, vector: Vectors) -> Body:
    """What is stored of one chunk."""
    place = {"chunk_id": chunk.id, "document_id": chunk.document_id, "start": chunk.start, "end": chunk.end}
    return {**place, "page": chunk.page, "text": sendable(chunk.text), "vector": vector}


def sendable(text: str) -> str:
    """The text without lone surrogates, which JSON cannot carry.

    >>> sendable("caf\\ud800é")
    'caf?é'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def lines(bodies: Iterable[Body]) -> list[bytes]:
    """One line of JSON each; rows of NumPy become lists of the shortest numbers that are the same float32."""
    import orjson

    return [orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY) for body in bodies]


def add_lines(chunks: Sequence[Chunk], vectors: Vectors) -> list[bytes]:
    """Lines of a bulk request that adds chunks, or replaces those of the same id."""
    pairs = zip(chunks, vectors, strict=True)
    return lines(body for chunk, row in pairs for body in ({"index": {"_id": chunk.id}}, chunk_source(chunk, row)))


def batches(chunks: Sequence[Chunk], dims: int) -> Iterator[slice]:
    """Slices of `chunks` for one bulk request each: at most 500 chunks, and about 4 MB."""
    begin, size = 0, 0
    for position, chunk in enumerate(chunks):
        weight = 12 * dims + 3 * len(chunk.text) + 200
        if position > begin and (position - begin >= BATCH_CHUNKS or size + weight > BATCH_BYTES):
            yield slice(begin, position)
            begin, size = position, 0
        size += weight
    if begin < len(chunks):
        yield slice(begin, len(chunks))


def raw_score(score: float, similarity: str) -> float:
    """The similarity itself, out of the positive score that Elasticsearch makes of it.

    Cosine and dot product: -1 … 1 for rows of unit length; l2_norm: the negative distance.

    >>> raw_score(0.75, "cosine"), raw_score(0.5, "l2_norm")
    (0.5, -1.0)
    """
    if similarity == "l2_norm":
        return -math.sqrt(max(0.0, 1.0 / score - 1.0))
    return 2.0 * score - 1.0


def ranking(hits: Sequence[Body], depth: int, similarity: str | None) -> Ranking:
    """Hits of a reply, best first, ties by chunk id; `similarity` None keeps the scores as they are."""
    pairs = sorted(((hit["_score"], hit["_id"]) for hit in hits), key=lambda pair: (-pair[0], pair[1]))[:depth]
    scores = tuple(score if similarity is None else raw_score(score, similarity) for score, _ in pairs)
    return Ranking(tuple(chunk_id for _, chunk_id in pairs), scores)


# ---------------------------------------------------------------------------------------------------- the server


class Server:
    """An Elasticsearch server: its client, and its address without user, password or key."""

    def __init__(self, url: str, api_key: str | None, timeout: float = TIMEOUT_SECONDS) -> None:
        """Make the client; nothing is sent yet.

        Raises:
            UsageError: `url` is not an address.

        """
        from elasticsearch import Elasticsearch, OrjsonSerializer

        self.address = address_of(url)
        try:
            self.client: Elasticsearch = Elasticsearch(
                url,
                api_key=api_key,
                request_timeout=timeout,
                max_retries=0,  # ask() retries, with pauses
                connections_per_node=BULK_THREADS + 2,
                serializers={"application/json": OrjsonSerializer()},
            )
        except ValueError:
            raise UsageError(
                f"ELASTICSEARCH_URL is {self.address!r}; write it like http://localhost:9200, with scheme and port."
            ) from None

    def ask(self, call: Callable[[Elasticsearch], T], *, retries: Sequence[float] = RETRY_SECONDS) -> T:
        """Make a call, again after a pause when it may help: a busy server, a broken connection.

        Raises:
            SearchError: the server is not reachable, busy for too long, or refuses.

        """
        from elasticsearch import ApiError, TransportError

        for pause in (*retries, None):
            try:
                return call(self.client)
            except (ApiError, TransportError) as error:
                if pause is None or not may_pass(error):
                    raise SearchError(self.explain(error)) from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def explain(self, error: Exception) -> str:
        """What happened, in a sentence: address, reason, next step."""
        from elasticsearch import ApiError, UnsupportedProductError

        if isinstance(error, UnsupportedProductError):
            return f"The server at {self.address} is not Elasticsearch; set ELASTICSEARCH_URL to one, 8.15 or newer."
        if not isinstance(error, ApiError):
            return (
                f"Elasticsearch at {self.address} cannot be reached ({type(error).__name__}). Start it "
                "(`make elasticsearch`, or `docker compose up`), or correct ELASTICSEARCH_URL."
            )
        if error.status_code in (401, 403):
            return f"Elasticsearch at {self.address} refuses access ({error.status_code}); check ELASTICSEARCH_API_KEY."
        if error.status_code in RETRY_STATUS:
            return f"Elasticsearch at {self.address} is too busy ({error.status_code}: {reason_of(error.body)}); try later."
        return f"Elasticsearch at {self.address} refuses ({error.status_code}): {reason_of(error.body)}"


def address_of(url: str) -> str:
    """The address without the user and password that it may hold.

    >>> address_of("https://elastic:secret@search.example:9200/es")
    'https://search.example:9200/es'
    """
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().removeprefix("//")


def may_pass(error: Exception) -> bool:
    """True for errors that another attempt may not meet."""
    from elasticsearch import ApiError, ConnectionError, ConnectionTimeout

    if isinstance(error, ApiError):
        return error.status_code in RETRY_STATUS
    return isinstance(error, ConnectionError | ConnectionTimeout)


def reason_of(body: object) -> str:
    """The innermost reason of an error's body, at most 300 characters."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    while isinstance(error, Mapping):
        inner = error.get("caused_by") or next(iter(error.get("root_cause", ())), None)
        if not inner or inner == error:
            break
        error = inner
    text = error.get("reason") or error.get("type") if isinstance(error, Mapping) else error
    return str(text or "no reason given")[:300]


def health(url: str, api_key: str | None = None) -> dict[str, str]:
    """Version and status ("green", "yellow", "red") of the server at `url`, asked once, within 3 seconds.

    Raises:
        UsageError: `url` is not an address.
        SearchError: it cannot be used, with the reason.

    """
    server = Server(url, api_key, timeout=3)
    info = server.ask(lambda client: client.info(), retries=())
    status = server.ask(lambda client: client.cluster.health(), retries=())
    return {"address": server.address, "version": info["version"]["number"], "status": status["status"]}


# ---------------------------------------------------------------------------------------------------- the index


class ElasticIndex:
    """An index on an Elasticsearch server; see `ragviz.index.Index`.

    BM25 uses the `standard` analyzer: words in lower case, and single characters in Chinese and Japanese.
    """

    def __init__(
        self,
        name: str,
        url: str,
        api_key: str | None = None,
        similarity: str = "cosine",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Name the index; nothing is sent yet.

        Raises:
            UsageError: an unknown option or value, or `url` is not an address.

        """
        self.name = name
        self.alias = alias_of(name)
        self.similarity = similarity
        self.options = checked_options(options or {})
        self.server = Server(url, api_key)

    def exists(self) -> bool:
        """True once something was published under the name."""
        return bool(self.server.ask(lambda client: client.indices.exists_alias(name=self.alias)))

    def count(self) -> int:
        """How many chunks a search sees; 0 when nothing was published."""
        reply = self.server.ask(lambda client: client.options(ignore_status=404).count(index=self.alias))
        return int(reply.get("count", 0))

    def size(self) -> int:
        """Bytes on the server's disks of what is published, replicas not counted."""
        call = self.server.ask(
            lambda client: client.options(ignore_status=404).indices.stats(index=self.alias, metric="store")
        )
        return int(call["_all"]["primaries"]["store"]["size_in_bytes"]) if "_all" in call else 0

    def rebuild(self, dims: int) -> ElasticWriter:
        """Open a writer that starts from nothing and replaces the content when published.

        What crashed builds of this index left behind is deleted first.
        """
        self.sweep()
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        vector = vector_field(dims, self.similarity, self.options)
        body = index_body(self.name, this_process(), vector, self.options["shards"])
        self.server.ask(lambda client: client.indices.create(index=concrete, **body))
        return ElasticWriter(self, concrete, dims)

    def update(self) -> ElasticWriter:
        """Open a writer that starts from the published content, out of sight until it is published.

        Raises:
            SearchError: nothing is published under the name.

        """
        self.sweep()
        source, vector = self.published_vector()
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        self.server.ask(lambda client: client.indices.clone(index=source, target=concrete, settings=CLONED))
        meta = {"ragviz": {"name": self.name, "builder": this_process()}}
        self.server.ask(lambda client: client.indices.put_mapping(index=concrete, meta=meta))
        return ElasticWriter(self, concrete, vector["dims"])

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row by the index's own graph or scan; scores are the similarity's own.

        Raises:
            SearchError: nothing is published, or its vectors have other dimensions.

        """
        _, vector = self.published_vector()
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        self.check_dims(rows, vector["dims"])
        bodies = (knn_body(row, depth, self.options["num_candidates"]) for row in rows)
        return self.search(bodies, depth, vector["similarity"])

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Best chunks for each query by BM25; only chunks that share a term with the query."""
        return self.search((bm25_body(query, depth) for query in queries), depth, None)

    def drop(self) -> None:
        """Delete the index with all it wrote, half-built ones too; does nothing when there is none."""
        self.delete(self.concretes())

    # what the protocol does not ask for

    def check_dims(self, rows: Vectors, dims: int) -> None:
        """Refuse vectors that the index cannot hold or compare."""
        if rows.ndim != 2 or rows.shape[1] != dims:
            given = f"{rows.shape[1]}-d" if rows.ndim == 2 else f"of shape {rows.shape}"
            raise SearchError(
                f"Index {self.name!r} holds {dims}-d vectors, these are {given}; "
                "rebuild the index, or pick the model it was built with."
            )

    def search(self, bodies: Iterable[Body], depth: int, similarity: str | None) -> list[Ranking]:
        """Send searches a hundred at a time; one ranking each."""
        if not 1 <= depth <= DEEPEST:
            raise UsageError(f"Depth is {depth}; Elasticsearch ranks 1 to {DEEPEST} chunks a question.")
        pending, found = list(lines(bodies)), list[Ranking]()
        for begin in range(0, len(pending), BATCH_SEARCHES):
            replies = self.msearch(pending[begin : begin + BATCH_SEARCHES])
            found += [ranking(reply["hits"].get("hits", ()), depth, similarity) for reply in replies]
        return found

    def msearch(self, searches: Sequence[bytes]) -> list[Body]:
        """Replies of some searches, in their order."""
        operations: Any = [part for search in searches for part in (b"{}", search)]
        shown = ["responses.hits.hits._id", "responses.hits.hits._score", "responses.error", "responses.status"]
        reply = self.server.ask(
            lambda client: client.msearch(index=self.alias, searches=operations, filter_path=shown)
        )
        return list(reply["responses"])

    def published_vector(self) -> tuple[str, Body]:
        """The concrete index that is searched, and the mapping of its vectors.

        Raises:
            SearchError: nothing is published under the name.

        """
        call = self.server.ask(lambda client: client.options(ignore_status=404).indices.get_mapping(index=self.alias))
        for concrete, body in call.items():
            if concrete.startswith(self.alias):
                return concrete, body["mappings"]["properties"]["vector"]
        raise SearchError(f"Index {self.name!r} is not on Elasticsearch at {self.server.address}; build it first.")

    def concretes(self) -> dict[str, Body]:
        """All concrete indices of this name, published, half-built and left over, with their metadata."""
        call = self.server.ask(lambda client: client.indices.get(index=f"{self.alias}.*", allow_no_indices=True))
        return dict(call)

    def sweep(self) -> None:
        """Delete what crashed builds left behind."""
        found = self.concretes()
        self.delete(concrete for concrete, body in found.items() if is_left_over(body))

    def delete(self, concretes: Iterable[str]) -> None:
        """Delete concrete indices; unknown ones are passed over."""
        for concrete in concretes:
            self.server.ask(lambda client, c=concrete: client.indices.delete(index=c, ignore_unavailable=True))


class ElasticWriter:
    """Fills one concrete index, out of sight; see `ragviz.index.Writer`.

    Requests are sent by two threads while the caller makes the next chunks; a failure shows at the next call.
    """

    def __init__(self, index: ElasticIndex, concrete: str, dims: int) -> None:
        """Write to the concrete index, which exists and which nobody searches."""
        self._index = index
        self._concrete = concrete
        self._dims = dims
        self._open = True
        self._pool = ThreadPoolExecutor(BULK_THREADS, thread_name_prefix="ragviz-bulk")
        self._sent: deque[tuple[Future[None], frozenset[str]]] = deque()

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced.

        Raises:
            SearchError: other dimensions, a vector that is not finite, or the server refuses.

        """
        self._require_open()
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        self._index.check_rows(rows, self._dims, len(chunks))
        for part in batches(chunks, self._dims):
            ids = [chunk.id for chunk in chunks[part]]
            self._send(ids, add_lines(chunks[part], rows[part]))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out; unknown ids are passed over."""
        self._require_open()
        for begin in range(0, len(chunk_ids), 10 * BATCH_CHUNKS):
            ids = chunk_ids[begin : begin + 10 * BATCH_CHUNKS]
            self._send(ids, lines({"delete": {"_id": chunk_id}} for chunk_id in ids))

    def publish(self, expected: int) -> None:
        """Count, and let searches see the content: the alias moves in one step, the old content is deleted.

        Raises:
            SearchError: the content is not `expected` chunks, or something was refused; nothing is switched.

        """
        self._require_open()
        self._wait(leave=0)
        server, concrete, alias = self._index.server, self._concrete, self._index.alias
        server.ask(lambda client: client.indices.refresh(index=concrete))
        found = int(server.ask(lambda client: client.count(index=concrete))["count"])
        if found != expected:
            raise SearchError(
                f"Index {self._index.name!r} would hold {found} chunks instead of {expected}; nothing was switched. "
                "Build it again."
            )
        server.ask(lambda client: client.indices.put_settings(index=concrete, settings=PUBLISHED))
        old = self._index.published()
        server.ask(lambda client: client.indices.update_aliases(actions=switch_actions(alias, concrete)))
        self._close()
        self._index.delete(old)

    def abandon(self) -> None:
        """Drop what was not published; may be called at any time, also after `publish` (does nothing then)."""
        if self._open:
            self._close()
            self._index.delete([self._concrete])

    def _require_open(self) -> None:
        if not self._open:
            raise SearchError(f"This writer of index {self._index.name!r} was published or given up; open another.")

    def _close(self) -> None:
        self._open = False
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _send(self, ids: Sequence[str], body: list[bytes]) -> None:
        """Hand a request to the threads: at most four under way, and never two about the same chunk."""
        wanted = frozenset(ids)
        repeated = len(wanted) < len(ids) or any(not wanted.isdisjoint(under_way) for _, under_way in self._sent)
        self._wait(leave=0 if repeated else 2 * BULK_THREADS - 1)
        self._sent.append((self._pool.submit(self._bulk, body), wanted))

    def _wait(self, leave: int) -> None:
        """Wait until at most `leave` requests are under way; raises what they met."""
        while len(self._sent) > leave:
            self._sent.popleft()[0].result()
        while self._sent and self._sent[0][0].done():
            self._sent.popleft()[0].result()

    def _bulk(self, body: list[bytes]) -> None:
        """Send one request, and again those of its lines that the server was too busy for."""
        ...
