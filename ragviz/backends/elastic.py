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
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import psutil

from ragviz.backends import smile
from ragviz.backends.local import FORMAT, HAN_RUN, checked, terms
from ragviz.backends.opening import ANOTHER_BUILD, Vectors
from ragviz.errors import DamagedIndex, SearchError, UsageError
from ragviz.records import Chunk, Ranking, digest, storable
from ragviz.text.addresses import is_ambiguous, shown

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")
Body = dict[str, Any]


class Send(Protocol):
    """Sends operations in one request; the result of each, in order."""

    def __call__(self, client: Elasticsearch, operations: Sequence[bytes]) -> list[Body]: ...  # noqa: D102


TYPES = ("hnsw", "int8_hnsw", "flat")
OPTIONS: Mapping[str, Any] = {
    "type": "hnsw",
    "m": 16,
    "ef_construction": 100,
    "num_candidates": None,
    "shards": 1,
}
"""Options and their defaults; `num_candidates` None is four times the depth, at least 200.

On 100,000 × 384 vectors in one graph, searched to depth 50, 200 found 0.994 of the exact first ten and 0.976 of all
fifty; 100 found 0.962 and 0.905 in nine tenths of the time.
"""
DEEPEST = 10_000
"""Elasticsearch's own limit of one search's hits and of `num_candidates`."""
SPARE = 20
"""Hits asked for beyond the depth, so that equal scores at its edge are told apart by chunk id."""
NOTHING = Ranking((), ())
BATCH_SEARCHES = 100
BATCH_CHUNKS = 500
BATCH_BYTES = 4 * 2**20
BULK_THREADS = 2
SEARCH_THREADS = 2
BULK_QUERY = {"require_alias": True, "filter_path": "items.*.status,items.*.error"}
BULK_HEADERS = {"accept": "application/json", "content-type": f"{smile.MIMETYPE}; compatible-with=8"}
SEARCH_REPLY = ("responses.hits.hits.sort", "responses.error", "responses.status")
RETRY_STATUS = frozenset({429, 502, 503, 504})
UNUSABLE = {"index_closed_exception": "closed", "cluster_block_exception": "blocked"}
"""What the server names the errors of an index that is there and lets nobody search it."""
CONTENT = ("indices.*.shards.*.routing.primary", "indices.*.shards.*.seq_no.max_seq_no")
EVERY_STATE = ("open", "closed", "hidden")
RETRY_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
"""Pauses before further attempts: long enough for a node's restart."""
SHORT_SECONDS = RETRY_SECONDS[:3]
"""The same where a person waits: the first thing that any search asks."""
TIMEOUT_SECONDS = 60.0
DROP_SECONDS = 5.0
CLOCK_SECONDS = 5.0
FOREIGN_HOURS = 24
"""After so long, a half-built index of another machine is taken for left over."""
EXPUNGE_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
"""Pauses between two requests to merge deleted chunks away, the time that the server merges not counted."""


# ---------------------------------------------------------------------------------------------------- pure bodies


def alias_of(name: str) -> str:
    """The alias of an index, whatever letters its name has; other names, other aliases.

    The readable part has no dot, so that `alias + ".*"` matches this index's concrete indices and no other's.

    >>> alias_of("My handbook!")
    'ragviz-my-handbook.23f8e621d5b9'
    """
    readable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "index"
    return f"ragviz-{readable}.{digest(name, length=12)}"


def writer_alias(concrete: str) -> str:
    """The alias through which a concrete index is filled; it has none once it is published.

    Writing only through an alias keeps the server from making an index by itself when this one was deleted.
    """
    return f"{concrete}.writer"


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


def check_depth(depth: int) -> None:
    """Refuse a depth that no single search can have."""
    if not 1 <= depth <= DEEPEST:
        raise UsageError(f"Depth is {depth}; Elasticsearch ranks 1 to {DEEPEST} chunks a question.")


def vector_field(dims: int, similarity: str, options: Mapping[str, Any]) -> Body:
    """Mapping of the field that holds the vectors."""
    graph = {} if options["type"] == "flat" else {"m": options["m"], "ef_construction": options["ef_construction"]}
    kind = {"type": options["type"], **graph}
    return {"type": "dense_vector", "dims": dims, "index": True, "similarity": similarity, "index_options": kind}


def index_body(concrete: str, meta: Body, vector: Body, shards: int) -> Body:
    """Settings and mappings of a concrete index while it is filled: no refresh, no replicas, lazy durability.

    `terms` is what BM25 searches, `text` is for people. There is no stored source: to filter it, the server would parse
    every vector a second time. `meta` says which process fills it.
    """
    stored = {"type": "integer", "index": False}
    return {
        "aliases": {writer_alias(concrete): {}},
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "translog": {"durability": "async", "flush_threshold_size": f"{flush_megabytes(vector['dims'])}mb"},
            "merge.policy": {"segments_per_tier": UNMERGED, "max_merge_at_once": UNMERGED},
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"enabled": False},
            "_meta": meta,
            "properties": {
                "chunk_id": {"type": "keyword"},
                "document_id": {"type": "keyword"},
                "start": stored,
                "end": stored,
                "page": stored,
                "text": {"type": "text", "index": False, "store": True},
                "terms": {"type": "text", "index_options": "freqs"},
                "vector": vector,
            },
        },
    }


def flush_megabytes(dims: int) -> int:
    """How much an index takes in before it writes segments, one of each thread: about 5,000 chunks.

    A graph is cheaper to build the smaller it is, and merging builds it again: filled so, 100,000 chunks took 156
    seconds of CPU instead of 265. Searching many graphs costs more than one, so they are merged behind the person's
    back once they are published (`ElasticWriter.publish`).
    """
    return 1 + 5000 * (smile.FLOAT_BYTES * dims + 2000) // 2**20


def clone_body(concrete: str) -> Body:
    """Settings and alias of a clone, as of an index that is filled."""
    settings = {
        "index.blocks.write": None,
        "index.auto_expand_replicas": "false",
        "index.number_of_replicas": 0,
        "index.translog.durability": "async",
        "index.merge.policy.expunge_deletes_allowed": 0,  # by default the server keeps up to a tenth deleted
    }
    return {"settings": settings, "aliases": {writer_alias(concrete): {}}}


UNMERGED = 100
"""So many segments of about one size may an index have while it is filled."""
PUBLISHED = {
    "index": {
        "auto_expand_replicas": "0-1",
        "translog": {"durability": "request", "flush_threshold_size": None},
        "merge.policy": {"segments_per_tier": None, "max_merge_at_once": None, "expunge_deletes_allowed": None},
        "blocks.write": True,
    }
}
"""Settings of an index that is searched: a replica where there is a second node, and nobody writes to it."""


ONLY_SORT: Body = {
    "sort": [{"_score": "desc"}, {"chunk_id": "asc"}],
    "_source": False,
    "stored_fields": "_none_",
    "track_total_hits": False,
}
"""Of a hit only its sort values, score and chunk id: to read the stored id would cost as much as the search."""


def knn_body(vector: Vectors, depth: int, candidates: int | None) -> Body:
    """Search for the chunks nearest to one vector."""
    size = min(depth + SPARE, DEEPEST)
    wanted = max(200, 4 * depth) if candidates is None else candidates
    knn = {"field": "vector", "query_vector": vector, "k": size, "num_candidates": min(max(wanted, size), DEEPEST)}
    return {"knn": knn, "size": size, **ONLY_SORT}


def bm25_body(query: str, depth: int) -> Body:
    """Search for the chunks that share terms with the query, by BM25."""
    return {"query": {"match": {"terms": searchable(query)}}, "size": depth, **ONLY_SORT}


def chunk_source(chunk: Chunk, vector: Vectors) -> Body:
    """What is stored of one chunk."""
    place = {"chunk_id": chunk.id, "document_id": chunk.document_id, "start": chunk.start, "end": chunk.end}
    return {
        **place,
        "page": chunk.page,
        "text": storable(chunk.text),
        "terms": searchable(chunk.text),
        "vector": vector,
    }


def searchable(text: str) -> str:
    """The terms of `text`, the same as the local index's, so that the `standard` analyzer takes each as it is.

    That analyzer cuts Chinese into single characters; pairs of them are therefore spelled in letters and digits.

    >>> searchable("It's 三次!")
    'it s 三 次 u4e09u6b21'
    """
    return " ".join(spelled(term) if len(term) == 2 and HAN_RUN.match(term) else term for term in terms(text))


def spelled(term: str) -> str:
    """The code points of `term`."""
    return "".join(f"u{ord(character):x}" for character in term)


def line(body: Body) -> bytes:
    """One line of JSON; a NumPy row becomes a list of the shortest numbers that are the same float32."""
    import orjson

    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


def add_operations(chunks: Sequence[Chunk], vectors: Vectors) -> list[bytes]:
    """Operations of a bulk request that add chunks, or replace those of the same id."""
    pairs = zip(chunks, vectors, strict=True)
    return [smile.documents({"index": {"_id": chunk.id}}, chunk_source(chunk, row)) for chunk, row in pairs]


def delete_operations(chunk_ids: Iterable[str]) -> list[bytes]:
    """Operations of a bulk request that take chunks out."""
    return [smile.documents({"delete": {"_id": chunk_id}}) for chunk_id in chunk_ids]


def search_operation(body: Body) -> bytes:
    """One search of a multi-search request; half an answer, of some shards only, is an error instead."""
    return line({"allow_partial_search_results": False}) + line(body)


def switch_actions(alias: str, concrete: str, holders: Iterable[str]) -> list[Body]:
    """Actions that move the alias to a concrete index and end its building, all in one step.

    `holders` have the alias now: a pattern passes over closed indices, and over those of others. One that is itself
    called like the alias, which the server makes when somebody writes to a name that is gone, is deleted.
    """
    others = [
        {"remove_index": {"index": alias}}
        if holder == alias
        else {"remove": {"index": holder, "alias": alias, "must_exist": False}}
        for holder in holders
    ]
    return [
        {"remove": {"index": f"{alias}.*", "alias": alias, "must_exist": False}},
        *others,
        {"remove": {"index": concrete, "alias": writer_alias(concrete), "must_exist": False}},
        {"add": {"index": concrete, "alias": alias}},
    ]


def batches(chunks: Sequence[Chunk], dims: int) -> Iterator[slice]:
    """Slices of `chunks` for one bulk request each: at most 500 chunks, and about 4 MB."""
    begin, size = 0, 0
    for position, chunk in enumerate(chunks):
        weight = smile.FLOAT_BYTES * dims + 3 * len(chunk.text) + 200
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


def ranking(reply: Body, depth: int, similarity: str | None) -> Ranking:
    """The ranking in the reply to one search; `similarity` None keeps the scores as they are."""
    pairs = [hit["sort"] for hit in reply.get("hits", {}).get("hits", ())][:depth]
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
        from elastic_transport import Serializer
        from elasticsearch import Elasticsearch, OrjsonSerializer

        class Ready(Serializer):
            """Sends bytes as they are."""

            def dumps(self, data: bytes) -> bytes:
                return data

        self.address = shown(url)
        try:
            if not url.startswith(("http://", "https://")) or is_ambiguous(url):
                raise ValueError(self.address)
            self.client: Elasticsearch = Elasticsearch(
                url,
                api_key=api_key,
                request_timeout=timeout,
                max_retries=0,  # ask() retries, with pauses
                connections_per_node=BULK_THREADS + 2,
                serializers={"application/json": OrjsonSerializer(), smile.MIMETYPE: Ready()},
            )
        except ValueError:
            raise UsageError(
                f"ELASTICSEARCH_URL is {self.address!r}; write it like http://localhost:9200, with scheme and port, "
                "and / \\ ? # @ in a password as %2F %5C %3F %23 %40."
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
                    raise SearchError(self.explain(error), kind_of(error)) from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def ask_each(
        self,
        items: Sequence[bytes],
        send: Send,
        passing: Collection[int],
    ) -> list[Body]:
        """Send items in one request, and again those whose status is `passing`; their results, in order.

        Raises:
            SearchError: an item is refused, or the server stays too busy for it.

        """
        results: list[Body] = [{}] * len(items)
        waiting = list(range(len(items)))
        for pause in (*RETRY_SECONDS, None):
            replies = self.ask(partial(send, operations=[items[position] for position in waiting]))
            for position, reply in zip(waiting, replies, strict=True):
                results[position] = reply
            failed = [results[position] for position in waiting if "error" in results[position]]
            if not failed:
                return results
            refused = [reply for reply in failed if reply["status"] not in passing]
            if refused or pause is None:
                worst = (refused or failed)[0]
                raise SearchError(self.refusal(worst["status"], worst))
            waiting = [position for position in waiting if "error" in results[position]]
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
        return self.refusal(error.status_code, error.body)

    def refusal(self, status: int, body: object) -> str:
        """The same for a reply with an error in it."""
        if status == 403 and "cluster_block_exception" in str(body):
            advice = "take the block away in its settings (index.blocks.…), then try again"
            return f"Elasticsearch at {self.address} refuses the request ({status}: {reason_of(body)}); {advice}."
        if status in (401, 403):
            advice = "check ELASTICSEARCH_API_KEY"
            return f"Elasticsearch at {self.address} refuses access ({status}: {reason_of(body)}); {advice}."
        if status in RETRY_STATUS:
            return f"Elasticsearch at {self.address} is too busy ({status}: {reason_of(body)}); try again later."
        return f"Elasticsearch at {self.address} refuses the request ({status}): {reason_of(body)}."


def may_pass(error: Exception) -> bool:
    """True for errors that another attempt may not meet."""
    import elasticsearch

    if isinstance(error, elasticsearch.ApiError):
        return error.status_code in RETRY_STATUS
    return isinstance(error, elasticsearch.ConnectionError | elasticsearch.ConnectionTimeout)


def kind_of(error: Exception) -> str:
    """The server's name of what it refused; "" when it is busy, cannot be reached, or gives none."""
    status, body = getattr(error, "status_code", 0), getattr(error, "body", None)
    refused = body.get("error") if isinstance(body, Mapping) and status not in RETRY_STATUS else None
    return str(refused.get("type", "")) if isinstance(refused, Mapping) else ""


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
    """An index on an Elasticsearch server; see `ragviz.backends.opening.Index`.

    BM25 ranks the same terms as the local index does: words in lower case; single characters and pairs in Chinese.
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
        return bool(self._read(lambda client: client.indices.exists_alias(name=self.alias)))

    def count(self) -> int:
        """How many chunks a search sees; 0 when nothing was published."""
        reply = self._read(lambda client: client.count(index=self.alias))
        return int(reply.get("count", 0))

    def check(self, expected: int, content: str = "") -> None:
        """Do nothing when `expected` chunks are published with the digest `content` ("": not compared), unchanged.

        The server numbers whatever is written to an index: no number may follow the last one of the build. (Indices of
        earlier versions have no such number.)

        Raises:
            DamagedIndex: nothing is published, nobody can search it, it is another content, or somebody wrote to it.
            SearchError: the server cannot be asked.

        """
        published = None
        try:
            published = self.published()
            self._compare(published, expected, content)
        except SearchError as error:
            if published is not None and published != self.published():  # it was replaced meanwhile
                return self.check(expected, content)
            if error.kind in UNUSABLE:
                where = f"it is {UNUSABLE[error.kind]} on Elasticsearch at {self.server.address}"
                raise DamagedIndex(self.name, where) from None
            raise

    def _compare(self, published: tuple[str, Body] | None, expected: int, content: str) -> None:
        if published is None:
            raise DamagedIndex(self.name, f"it is gone from Elasticsearch at {self.server.address}")
        concrete, mappings = published
        kept, last = mappings["_meta"]["ragviz"], self.last_operations(concrete)
        if content and kept.get("content") and kept["content"] != content:
            raise DamagedIndex(self.name, ANOTHER_BUILD)
        built = kept.get("operations", last)
        if len(last) < len(built):
            lost = f"{len(built) - len(last)} of its {len(built)} shards cannot be reached"
            raise DamagedIndex(self.name, f"{lost} on Elasticsearch at {self.server.address}, a node may be down")
        if (count := self.count()) != expected:
            raise DamagedIndex(self.name, f"it has {count:,} chunks, and {expected:,} were built")
        if last != built or kept.get("dims") not in (None, mappings["properties"]["vector"]["dims"]):
            raise DamagedIndex(self.name, "somebody changed it on the server since it was built")

    def last_operations(self, concrete: str) -> list[int]:
        """The number of the last operation of each shard that can be reached, in their order; -1 where was none."""
        reply = self._read(
            lambda client: client.indices.stats(index=concrete, metric="docs", level="shards", filter_path=CONTENT)
        )
        indices: dict[str, Body] = reply.get("indices", {})
        shards: Body = next((body["shards"] for body in indices.values()), {})
        copies = [copy for _, copies in sorted(shards.items(), key=lambda each: int(each[0])) for copy in copies]
        return [int(copy["seq_no"]["max_seq_no"]) for copy in copies if copy["routing"]["primary"]]

    def size(self) -> int:
        """Bytes on the server's disks of what is published, replicas not counted."""
        reply = self._read(lambda client: client.indices.stats(index=self.alias, metric="store"))
        return int(reply["_all"]["primaries"]["store"]["size_in_bytes"]) if "_all" in reply else 0

    def rebuild(self, dims: int) -> ElasticWriter:
        """Open a writer that starts from nothing and replaces the content when published.

        What crashed builds of this index left behind is deleted first.
        """
        self.sweep()
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        vector = vector_field(dims, self.similarity, self.options)
        body = index_body(concrete, metadata(self.name), vector, self.options["shards"])
        self.server.ask(lambda client: client.indices.create(index=concrete, **body))
        return ElasticWriter(self, concrete, dims, merge=True)

    def update(self) -> ElasticWriter:
        """Open a writer that starts from the published content, out of sight until it is published.

        Raises:
            SearchError: nothing is published under the name.

        """
        self.sweep()
        published = self.published_vector()
        if published is None:
            raise SearchError(f"Index {self.name!r} is not on Elasticsearch at {self.server.address}; build it first.")
        source, vector = published
        self.server.ask(lambda client: client.indices.put_settings(index=source, settings={"index.blocks.write": True}))
        return ElasticWriter(self, self.clone(source), int(vector["dims"]))

    def clone(self, source: str) -> str:
        """Make a concrete index of the same content (hard links) that this process fills, and return its name."""
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        self.server.ask(lambda client: client.indices.clone(index=source, target=concrete, **clone_body(concrete)))
        self.server.ask(lambda client: client.indices.put_mapping(index=concrete, meta=metadata(self.name)))
        return concrete

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row by the index's own graph or scan; scores are the similarity's own.

        Cosine and dot product are -1 … 1 for rows of unit length; l2_norm is the negative distance.

        Raises:
            SearchError: the published vectors have other dimensions, or the server fails.
            UsageError: `depth` is not 1 … 10,000.

        """
        check_depth(depth)
        published = self.published_vector()
        if published is None:
            return [NOTHING] * len(vectors)
        rows = checked(vectors, int(published[1]["dims"]), self.similarity, f"Index {self.name!r}")
        candidates = self.options["num_candidates"]
        return self._rankings([knn_body(row, depth, candidates) for row in rows], depth, self.similarity)

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Best chunks for each query by BM25; only chunks that share a term with the query.

        Raises:
            SearchError: the server fails.
            UsageError: `depth` is not 1 … 10,000.

        """
        check_depth(depth)
        if self.published_vector() is None:
            return [NOTHING] * len(queries)
        return self._rankings([bm25_body(query, depth) for query in queries], depth, None)

    def drop(self) -> None:
        """Delete the index with all it wrote, half-built ones too; does nothing when there is none.

        A person waits: a server that does not answer is told within some ten seconds.
        """
        soon = SHORT_SECONDS[:1]
        self.server.ask(lambda client: client.options(request_timeout=DROP_SECONDS).info(), retries=soon)
        self.delete(self.concretes())

    def sweep(self) -> None:
        """Delete what was replaced, and what crashed builds left behind; what a process still builds stays."""
        self.delete(name for name, body in self.concretes().items() if is_left_over(body, self.alias))

    def concretes(self) -> dict[str, Body]:
        """All concrete indices of this name with their aliases, mappings and settings."""
        pattern = f"{self.alias}.*"
        return dict(self.server.ask(lambda client: client.indices.get(index=pattern, expand_wildcards=EVERY_STATE)))

    def holders(self) -> dict[str, Body]:
        """Indices that the alias leads to, closed ones too, or one that is itself called so; with their mappings."""
        reply = self._read(lambda client: client.indices.get_mapping(index=self.alias))
        return {} if "error" in reply else {name: body["mappings"] for name, body in reply.items()}

    def delete(self, concretes: Iterable[str]) -> None:
        """Delete concrete indices; unknown ones are passed over."""
        for concrete in concretes:
            self.server.ask(partial(delete_index, concrete=concrete))

    def published_vector(self) -> tuple[str, Body] | None:
        """The concrete index that is searched, and the mapping of its vectors; None when nothing is published.

        Raises:
            SearchError: as `published`.

        """
        published = self.published()
        return None if published is None else (published[0], published[1]["properties"]["vector"])

    def published(self) -> tuple[str, Body] | None:
        """The concrete index that is searched, and its mappings; None when nothing is published.

        Raises:
            DamagedIndex: it is not an index of ragviz's, or of another version, or for another similarity.

        """
        holders = self.holders()
        if not holders:
            return None
        ((concrete, mappings), *others) = holders.items()
        if others or not concrete.startswith(f"{self.alias}."):
            raise DamagedIndex(self.name, f"its name on the server leads to {', '.join(map(repr, holders))}")
        self._require_fitting(mappings)
        return concrete, mappings

    def _require_fitting(self, mappings: Body) -> None:
        if mappings.get("_meta", {}).get("ragviz", {}).get("format") != FORMAT:
            raise DamagedIndex(self.name, "it was not built by this version of ragviz")
        similarity = mappings.get("properties", {}).get("vector", {}).get("similarity")
        if similarity != self.similarity:
            raise DamagedIndex(self.name, f"it was built for {similarity}, not {self.similarity}")

    def _read(self, call: Callable[[Elasticsearch], T]) -> T:
        """Ask for something that may not be there: 404 is a reply."""
        return self.server.ask(lambda client: call(client.options(ignore_status=404)), retries=SHORT_SECONDS)

    def _rankings(self, bodies: Sequence[Body], depth: int, similarity: str | None) -> list[Ranking]:
        """Send searches a hundred at a time, two requests at once: one is answered while another is written or read."""
        parts = [bodies[begin : begin + BATCH_SEARCHES] for begin in range(0, len(bodies), BATCH_SEARCHES)]
        if len(parts) <= 1:
            return [found for part in parts for found in self._asked(part, depth, similarity)]
        pool = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="ragviz-search")
        try:
            answers = [pool.submit(self._asked, part, depth, similarity) for part in parts]
            return [found for answer in answers for found in answer.result()]
        finally:
            pool.shutdown(cancel_futures=True)

    def _asked(self, bodies: Sequence[Body], depth: int, similarity: str | None) -> list[Ranking]:
        """Send searches in one request; one ranking each."""
        operations = [search_operation(body) for body in bodies]
        # 404: the index behind the alias was replaced and deleted while the search ran.
        replies = self.server.ask_each(operations, self._search, RETRY_STATUS | {404})
        return [ranking(reply, depth, similarity) for reply in replies]

    def _search(self, client: Elasticsearch, operations: Any) -> list[Body]:
        """Send one multi-search request."""
        return list(client.msearch(index=self.alias, searches=operations, filter_path=SEARCH_REPLY)["responses"])


def delete_index(client: Elasticsearch, concrete: str) -> None:
    """Delete one concrete index; one that is gone is passed over."""
    client.options(ignore_status=404).indices.delete(index=concrete)


def metadata(name: str, **published: Any) -> Body:
    """What a concrete index says of itself: whose it is, which process fills it; and what `check` compares."""
    builder = {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}
    return {"ragviz": {"name": name, "format": FORMAT, "builder": builder, **published}}


def is_left_over(body: Body, alias: str) -> bool:
    """True for a concrete index that was replaced, or whose building process is gone.

    `body` is the server's description of it. A process of another machine cannot be asked: it is given 24 hours.
    """
    if alias in body["aliases"] or "_meta" not in body["mappings"]:
        return False
    builder = body["mappings"]["_meta"]["ragviz"]["builder"]
    if not body["aliases"]:
        return True
    if builder["host"] != socket.gethostname():
        return time.time() - int(body["settings"]["index"]["creation_date"]) / 1000 > 3600 * FOREIGN_HOURS
    try:
        # Process ids are used again; when a process started tells them apart.
        return bool(abs(psutil.Process(builder["pid"]).create_time() - builder["started"]) > CLOCK_SECONDS)
    except psutil.NoSuchProcess:
        return True


class ElasticWriter:
    """Fills one concrete index, out of sight; see `ragviz.backends.opening.Writer`.

    Requests are sent by two threads while the caller makes the next chunks; a failure shows at a later call, at the
    latest in `publish`.
    """

    def __init__(self, index: ElasticIndex, concrete: str, dims: int, *, merge: bool = False) -> None:
        """Write to the concrete index, which exists and which nobody searches; `merge` its segments at the end."""
        self._index = index
        self._concrete = concrete
        self._dims = dims
        self._merge = merge
        self._open = True
        self._pool = ThreadPoolExecutor(BULK_THREADS, thread_name_prefix="ragviz-bulk")
        self._under_way: deque[tuple[Future[None], frozenset[str]]] = deque()

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced.

        Raises:
            SearchError: other dimensions, a vector that cannot be compared, or the server refuses.

        """
        rows = checked(vectors, self._dims, self._index.similarity, f"Index {self._index.name!r}")
        for part in batches(chunks, self._dims):
            self._send([chunk.id for chunk in chunks[part]], add_operations(chunks[part], rows[part]))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out; unknown ids are passed over."""
        for begin in range(0, len(chunk_ids), 10 * BATCH_CHUNKS):
            ids = chunk_ids[begin : begin + 10 * BATCH_CHUNKS]
            self._send(ids, delete_operations(ids))

    def publish(self, expected: int, content: str = "") -> None:
        """Count, and let searches see the content: the alias moves in one step, then the old content is deleted.

        `content` is its digest, for `ElasticIndex.check`.

        Raises:
            SearchError: the content is not `expected` chunks, or something was refused; nothing is switched.

        """
        self._require_open()
        self._wait(most=0)
        index, ask = self._index, self._index.server.ask
        ask(lambda client: client.indices.refresh(index=self._concrete))
        found = int(ask(lambda client: client.count(index=self._concrete))["count"])
        if found != expected:
            raise SearchError(
                f"Index {index.name!r} would hold {found} chunks instead of {expected}; nothing was switched. "
                "Build it again."
            )
        ask(lambda client: client.indices.flush(index=self._concrete))
        if self._deleted():
            self._expunge()
        concrete = self._concrete
        ask(lambda client: client.indices.put_settings(index=concrete, settings=PUBLISHED))
        state = {"content": content, "dims": self._dims, "operations": index.last_operations(concrete)}
        ask(lambda client: client.indices.put_mapping(index=concrete, meta=metadata(index.name, **state)))
        if self._merge:  # not waited for: the server goes on with it
            ask(lambda client: client.indices.forcemerge(index=concrete, max_num_segments=1, wait_for_completion=False))
        actions = switch_actions(index.alias, concrete, index.holders())
        ask(lambda client: client.indices.update_aliases(actions=actions))
        self._close()
        index.sweep()

    def abandon(self) -> None:
        """Drop what was not published; may be called at any time, also after `publish` (does nothing then)."""
        if self._open:
            self._close()
            # A server that is down keeps it; the next build deletes it.
            with contextlib.suppress(SearchError):
                self._index.delete([self._concrete])

    def _expunge(self) -> None:
        """Merge deleted chunks away: BM25 would go on counting their words, so that no score were a fresh index's.

        In a clone: a deletion made in this index is kept for a replica's sake, up to 30 seconds whatever is merged.
        """
        index, ask, filled = self._index, self._index.server.ask, self._concrete
        ask(lambda client: client.indices.put_settings(index=filled, settings={"index.blocks.write": True}))
        self._concrete = index.clone(filled)
        index.delete([filled])
        expunge: Body = {"index": self._concrete, "only_expunge_deletes": True, "wait_for_completion": False}
        for pause in EXPUNGE_SECONDS:
            while self._merging():
                time.sleep(pause)
            if not (deleted := self._deleted()):
                return
            ask(lambda client: client.indices.forcemerge(**expunge))
            time.sleep(pause)
        raise SearchError(
            f"Elasticsearch at {index.server.address} keeps {deleted:,} deleted chunks in index {index.name!r}, which "
            "would change its BM25 scores; nothing was switched. Build it anew: `ragviz index build --fresh`."
        )

    def _deleted(self) -> int:
        """How many deleted chunks (and marks of deletions) the segments still hold."""
        self._index.server.ask(lambda client: client.indices.refresh(index=self._concrete))
        return int(self._stats("docs")["deleted"])

    def _merging(self) -> bool:
        return bool(self._stats("merges")["current"])

    def _stats(self, part: str) -> Body:
        reply = self._index.server.ask(lambda client: client.indices.stats(index=self._concrete))
        return dict(reply["_all"]["primaries"][part])

    def _require_open(self) -> None:
        if not self._open:
            raise SearchError(f"This writer of index {self._index.name!r} was published or given up; open another.")

    def _close(self) -> None:
        self._open = False
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _send(self, ids: Sequence[str], operations: list[bytes]) -> None:
        """Hand a request to the threads: at most four under way, and never two about the same chunk."""
        self._require_open()
        wanted = frozenset(ids)
        clash = any(not wanted.isdisjoint(others) for _, others in self._under_way)
        self._wait(most=0 if clash else 2 * BULK_THREADS - 1)
        self._under_way.append((self._pool.submit(self._bulk, operations), wanted))

    def _wait(self, most: int) -> None:
        """Wait until at most `most` requests are under way; raises what the others met."""
        while len(self._under_way) > most:
            self._under_way.popleft()[0].result()

    def _bulk(self, operations: list[bytes]) -> None:
        def send(client: Elasticsearch, operations: Any) -> list[Body]:
            alias = writer_alias(self._concrete)
            reply = client.perform_request(
                "POST", f"/{alias}/_bulk", params=BULK_QUERY, headers=BULK_HEADERS, body=b"".join(operations)
            )
            return [next(iter(item.values())) for item in reply.body["items"]]

        self._index.server.ask_each(operations, send, RETRY_STATUS)
