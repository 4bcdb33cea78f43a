"""Chunks and their vectors in Elasticsearch: an index that is searched, and its writer."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from ragviz.backends import elastic_requests
from ragviz.backends.elastic_requests import BATCH_CHUNKS, Body, line
from ragviz.backends.elastic_server import BULK_THREADS, RETRY_STATUS, SHORT_SECONDS, Server, T
from ragviz.backends.exact import checked, require_vectors
from ragviz.backends.generations import FORMAT
from ragviz.backends.protocol import ANOTHER_BUILD
from ragviz.core import processes
from ragviz.core.document import Chunk
from ragviz.core.errors import DamagedIndex, SearchError
from ragviz.core.ranking import Ranking
from ragviz.core.settings import Settings
from ragviz.models.vectors import Vectors

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


NOTHING = Ranking((), ())
BATCH_SEARCHES = 100

SEARCH_THREADS = 2
BULK_REPLY = ("items.*.status", "items.*.error")
SEARCH_REPLY = ("responses.hits.hits.sort", "responses.error", "responses.status")

UNUSABLE = {"index_closed_exception": "closed", "cluster_block_exception": "blocked"}
"""The server's errors for an index that exists and cannot be searched."""
CONTENT = ("indices.*.shards.*.routing.primary", "indices.*.shards.*.seq_no.max_seq_no")
EVERY_STATE = ("open", "closed", "hidden")

DROP_SECONDS = 5.0
EXPUNGE_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
"""Pauses between two requests to expunge deleted chunks, not counting the time that the server merges."""


class ElasticIndex:
    """An index on an Elasticsearch server; see `ragviz.backends.protocol.Index`.

    BM25 ranks the same terms as the local index does: words in lower case; single characters and pairs in Chinese.
    """

    def __init__(self, name: str, settings: Settings, options: Mapping[str, Any] | None = None) -> None:
        """Name the index; UsageError for an unknown option or value, or a setting of the server that cannot be used."""
        self.name = name
        self.alias = elastic_requests.alias_of(name, settings.elasticsearch_prefix)
        self.options = elastic_requests.checked_options(options or {})
        self.similarity: str = self.options["similarity"]
        self.server = Server(settings)

    def exists(self) -> bool:
        """True once something was published under the name."""
        return bool(self._read(lambda client: client.indices.exists_alias(name=self.alias)))

    def count(self) -> int:
        """Return the number of searchable chunks; 0 when nothing was published."""
        reply = self._read(lambda client: client.count(index=self.alias))
        return int(reply.get("count", 0))

    def check(self, expected: int, content: str = "") -> None:
        """As the protocol says; the server numbers all operations on an index: none may follow the build's last one."""
        published = None
        try:
            published = self.published()
            if published is None:
                raise DamagedIndex(self.name, f"Elasticsearch at {self.server.address} has no {self.alias}")
            concrete, mappings = published
            meta, last = mappings["_meta"]["ragviz"], self.last_operations(concrete)
            if content and meta.get("content") and meta["content"] != content:
                raise DamagedIndex(self.name, ANOTHER_BUILD)
            built = meta.get("operations", last)
            if len(last) < len(built):
                lost = f"{len(built) - len(last)} of its {len(built)} shards cannot be reached"
                raise DamagedIndex(self.name, f"{lost} on Elasticsearch at {self.server.address}, a node may be down")
            if (count := self.count()) != expected:
                raise DamagedIndex(self.name, f"it has {count:,} chunks, and {expected:,} were built")
            if last != built or meta.get("dims") not in (None, elastic_requests.dims_of(mappings)):
                raise DamagedIndex(self.name, "somebody changed it on the server since it was built")
        except SearchError as error:
            if published is not None and published != self.published():  # replaced meanwhile
                return self.check(expected, content)
            if error.kind in UNUSABLE:
                where = f"it is {UNUSABLE[error.kind]} on Elasticsearch at {self.server.address}"
                raise DamagedIndex(self.name, where) from None
            raise

    def last_operations(self, concrete: str) -> list[int]:
        """Return the number of the last operation of each reachable shard, in their order; -1 for none."""
        reply = self._read(
            lambda client: client.indices.stats(index=concrete, metric="docs", level="shards", filter_path=CONTENT)
        )
        indices: dict[str, Body] = reply.get("indices", {})
        shards: Body = next((body["shards"] for body in indices.values()), {})
        copies = [copy for _, copies in sorted(shards.items(), key=lambda each: int(each[0])) for copy in copies]
        return [int(copy["seq_no"]["max_seq_no"]) for copy in copies if copy["routing"]["primary"]]

    def size(self) -> int:
        """Return the size of the published content on the server's disks, in bytes, without replicas."""
        reply = self._read(lambda client: client.indices.stats(index=self.alias, metric="store"))
        return int(reply["_all"]["primaries"]["store"]["size_in_bytes"]) if "_all" in reply else 0

    def rebuild(self, dims: int) -> ElasticWriter:
        """Open a writer that starts empty; what crashed builds of this index left is deleted first."""
        if dims:
            self.server.version(self.options["type"])
        self.sweep()
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        options = self.options if self.options["type"] == "bbq_hnsw" else {"type": "flat"}  # 8.18 changes no flat to it
        vector = elastic_requests.vector_field(dims, options | {"similarity": self.similarity}) if dims else None
        body = elastic_requests.index_body(concrete, metadata(self.name), vector, self.options["shards"])
        self.server.ask(lambda client: client.indices.create(index=concrete, **body))
        return ElasticWriter(self, concrete, dims, fresh=True)

    def update(self) -> ElasticWriter:
        """Open a writer that starts from a copy of the published content."""
        self.sweep()
        published = self.published()
        if published is None:
            raise SearchError(f"Index {self.name!r} is not on Elasticsearch at {self.server.address}; build it first.")
        source, mappings = published
        self.server.ask(lambda client: client.indices.put_settings(index=source, settings={"index.blocks.write": True}))
        return ElasticWriter(self, self.clone(source), elastic_requests.dims_of(mappings))

    def clone(self, source: str) -> str:
        """Create a concrete index of the same content (hard links) for this process to fill, and return its name."""
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        self.server.ask(
            lambda client: client.indices.clone(index=source, target=concrete, **elastic_requests.clone_body(concrete))
        )
        self.server.ask(lambda client: client.indices.put_mapping(index=concrete, meta=metadata(self.name)))
        return concrete

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Return the nearest chunks of each row by the index's graph or scan; UsageError beyond a depth of 10,000."""
        elastic_requests.check_depth(depth)
        published = self.published()
        if published is None:
            return [NOTHING] * len(vectors)
        dims = elastic_requests.dims_of(published[1])
        require_vectors(dims, f"Index {self.name!r}")
        rows = checked(vectors, dims, f"Index {self.name!r}")
        candidates = self.options["num_candidates"]
        return self._rankings(
            [elastic_requests.knn_body(row, depth, candidates) for row in rows], depth, self.similarity
        )

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Return the best chunks for each query by BM25; UsageError beyond a depth of 10,000."""
        elastic_requests.check_depth(depth)
        if self.published() is None:
            return [NOTHING] * len(queries)
        sought = [{"match": {"terms": elastic_requests.searchable(query)}} for query in queries]
        bodies = [{"query": query, "size": depth, **elastic_requests.ONLY_SORT} for query in sought]
        return self._rankings(bodies, depth, None)

    def drop(self) -> None:
        """Delete the index and all its files, half-built ones too; does nothing when there is none.

        A person waits: a server that does not answer is reported within some ten seconds.
        """
        retries = SHORT_SECONDS[:1]
        self.server.ask(lambda client: client.options(request_timeout=DROP_SECONDS).info(), retries=retries)
        self.delete(self.concretes())

    def sweep(self) -> None:
        """Delete concrete indices that were replaced or left by crashed builds; those being filled stay."""
        self.delete(name for name, body in self.concretes().items() if is_left_over(body, self.alias))

    def concretes(self) -> dict[str, Body]:
        """Return all concrete indices of this name with their aliases, mappings and settings."""
        pattern = f"{self.alias}.*"
        return dict(self.server.ask(lambda client: client.indices.get(index=pattern, expand_wildcards=EVERY_STATE)))

    def holders(self) -> dict[str, Body]:
        """Return the indices that have the alias, closed ones too, or that are named like it, with their mappings."""
        reply = self._read(lambda client: client.indices.get_mapping(index=self.alias))
        return {} if "error" in reply else {name: body["mappings"] for name, body in reply.items()}

    def delete(self, concretes: Iterable[str]) -> None:
        """Delete concrete indices; unknown ones are ignored."""
        for concrete in concretes:
            self.server.ask(partial(delete_index, concrete=concrete))

    def published(self) -> tuple[str, Body] | None:
        """Return the searched concrete index and its mappings; None when nothing is published.

        Raises:
            DamagedIndex: it is not ragviz's, of another version, or for another similarity.

        """
        holders = self.holders()
        if not holders:
            return None
        ((concrete, mappings), *others) = holders.items()
        if others or not concrete.startswith(f"{self.alias}."):
            raise DamagedIndex(self.name, f"its name on the server leads to {', '.join(map(repr, holders))}")
        if mappings.get("_meta", {}).get("ragviz", {}).get("format") != FORMAT:
            raise DamagedIndex(self.name, "it was not built by this version of ragviz")
        similarity = mappings.get("properties", {}).get("vector", {}).get("similarity", self.similarity)
        if similarity != self.similarity:
            raise DamagedIndex(self.name, f"it was built for {similarity}, not {self.similarity}")
        return concrete, mappings

    def _read(self, call: Callable[[Elasticsearch], T]) -> T:
        """Request something that may not exist: 404 is a reply."""
        return self.server.ask(lambda client: call(client.options(ignore_status=404)), retries=SHORT_SECONDS)

    def _rankings(self, bodies: Sequence[Body], depth: int, similarity: str | None) -> list[Ranking]:
        """Send searches a hundred at a time, in two threads: one is answered while another is written or read."""
        parts = [bodies[begin : begin + BATCH_SEARCHES] for begin in range(0, len(bodies), BATCH_SEARCHES)]
        if len(parts) <= 1:
            return [ranking for part in parts for ranking in self._search_batch(part, depth, similarity)]
        with ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="ragviz-search") as pool:
            batches = pool.map(lambda part: self._search_batch(part, depth, similarity), parts)
            return [ranking for batch in batches for ranking in batch]

    def _search_batch(self, bodies: Sequence[Body], depth: int, similarity: str | None) -> list[Ranking]:
        whole = line({"allow_partial_search_results": False})  # those of some shards are an error
        operations = [whole + line(body) for body in bodies]

        def search(client: Elasticsearch, operations: Any) -> list[Body]:
            return list(client.msearch(index=self.alias, searches=operations, filter_path=SEARCH_REPLY)["responses"])

        # 404: the index behind the alias was replaced and deleted while the search ran.
        replies = self.server.ask_each(operations, search, RETRY_STATUS | {404})
        return [elastic_requests.ranking(reply, depth, similarity) for reply in replies]


def delete_index(client: Elasticsearch, concrete: str) -> None:
    """Delete one concrete index; one that is gone is ignored."""
    client.options(ignore_status=404).indices.delete(index=concrete)


def metadata(name: str, **published: Any) -> Body:
    """Return a concrete index's metadata: its name, the process that fills it, and what `check` compares."""
    return {"ragviz": {"name": name, "format": FORMAT, "builder": processes.this_process(), **published}}


def is_left_over(body: Body, alias: str) -> bool:
    """Return whether a concrete index was replaced, or the process that filled it has ended.

    `body` is the server's description of it. A process on another machine counts as ended after 24 hours.
    """
    if alias in body["aliases"] or "_meta" not in body["mappings"]:
        return False
    builder = body["mappings"]["_meta"]["ragviz"]["builder"]
    if not body["aliases"]:
        return True
    return processes.has_ended(builder, int(body["settings"]["index"]["creation_date"]) / 1000)


class ElasticWriter:
    """Fills one concrete index that is not searched yet; see `ragviz.backends.protocol.Writer`.

    Two threads send requests while the caller prepares the next chunks; a failure is raised by a later call, at the
    latest in `publish`.
    """

    def __init__(self, index: ElasticIndex, concrete: str, dims: int, *, fresh: bool = False) -> None:
        """Write to the concrete index, which exists and is not searched; a `fresh` one is empty, and has no graph."""
        self._index = index
        self._concrete = concrete
        self._dims = dims
        self._fresh = fresh
        self._open = True
        self._pool = ThreadPoolExecutor(BULK_THREADS, thread_name_prefix="ragviz-bulk")
        self._in_flight: deque[tuple[Future[None], frozenset[str]]] = deque()

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced."""
        rows = checked(vectors, self._dims, f"Index {self._index.name!r}")
        for part in elastic_requests.batches(chunks, self._dims):
            operations = [
                line({"index": {"_id": chunk.id}}) + line(elastic_requests.chunk_source(chunk, row))
                for chunk, row in zip(chunks[part], rows[part], strict=True)
            ]
            self._send([chunk.id for chunk in chunks[part]], operations)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks; unknown ids are ignored."""
        for begin in range(0, len(chunk_ids), 10 * BATCH_CHUNKS):
            ids = chunk_ids[begin : begin + 10 * BATCH_CHUNKS]
            self._send(ids, [line({"delete": {"_id": chunk_id}}) for chunk_id in ids])

    def publish(self, expected: int, content: str = "") -> None:
        """Check the number of chunks, move the alias to the content in one step, and delete the old content.

        The server builds the graph of a fresh index afterwards, by merging its segments; until then each is searched
        exactly.
        """
        self._require_open()
        self._wait(most=0)
        index, ask = self._index, self._index.server.ask
        ask(lambda client: client.indices.refresh(index=self._concrete))
        count = int(ask(lambda client: client.count(index=self._concrete))["count"])
        if count != expected:
            raise SearchError(
                f"Index {index.name!r} would hold {count} chunks instead of {expected}; nothing was published. "
                "Build it again."
            )
        ask(lambda client: client.indices.flush(index=self._concrete))
        if self._deleted():
            self._expunge()
        concrete = self._concrete
        published = elastic_requests.published_settings(index.options["replicas"])
        ask(lambda client: client.indices.put_settings(index=concrete, settings=published))
        state = {"content": content, "dims": self._dims, "operations": index.last_operations(concrete)}
        mappings: Body = {"meta": metadata(index.name, **state)}
        if self._fresh and self._dims:
            vector = elastic_requests.vector_field(self._dims, index.options)
            mappings["properties"] = {"vector": vector}
        ask(lambda client: client.indices.put_mapping(index=concrete, **mappings))
        if self._fresh:  # in the background
            ask(lambda client: client.indices.forcemerge(index=concrete, max_num_segments=1, wait_for_completion=False))
        actions = elastic_requests.switch_actions(index.alias, concrete, index.holders())
        ask(lambda client: client.indices.update_aliases(actions=actions))
        self._close()
        index.sweep()

    def abandon(self) -> None:
        """Discard what was not published; may be called at any time, also after `publish` (does nothing then)."""
        if self._open:
            self._close()
            # When the server is down, the next build deletes it.
            with contextlib.suppress(SearchError):
                self._index.delete([self._concrete])

    def _expunge(self) -> None:
        """Expunge deleted chunks: BM25 would go on counting their words, and differ from a fresh index's scores.

        In a clone: this index keeps its deletions for replicas for up to 30 seconds, whatever is merged.
        """
        index, ask, filled = self._index, self._index.server.ask, self._concrete
        ask(lambda client: client.indices.put_settings(index=filled, settings={"index.blocks.write": True}))
        self._concrete = index.clone(filled)
        index.delete([filled])
        expunge: Body = {"index": self._concrete, "only_expunge_deletes": True, "wait_for_completion": False}
        for pause in EXPUNGE_SECONDS:
            while self._stats("merges")["current"]:
                time.sleep(pause)
            if not (deleted := self._deleted()):
                return
            ask(lambda client: client.indices.forcemerge(**expunge))
            time.sleep(pause)
        raise SearchError(
            f"Elasticsearch at {index.server.address} keeps {deleted:,} deleted chunks in index {index.name!r}, which "
            "would change its BM25 scores; nothing was published. Build it anew: `ragviz index build --fresh`."
        )

    def _deleted(self) -> int:
        """Return the number of deleted chunks (and tombstones) that the segments still hold."""
        self._index.server.ask(lambda client: client.indices.refresh(index=self._concrete))
        return int(self._stats("docs")["deleted"])

    def _stats(self, part: str) -> Body:
        reply = self._index.server.ask(lambda client: client.indices.stats(index=self._concrete))
        return dict(reply["_all"]["primaries"][part])

    def _require_open(self) -> None:
        if not self._open:
            raise SearchError(f"This writer of index {self._index.name!r} is closed; open another one.")

    def _close(self) -> None:
        self._open = False
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _send(self, ids: Sequence[str], operations: list[bytes]) -> None:
        """Hand a request to the threads: at most four in flight, and never two about the same chunk."""
        self._require_open()
        chunk_ids = frozenset(ids)
        clash = any(not chunk_ids.isdisjoint(others) for _, others in self._in_flight)
        self._wait(most=0 if clash else 2 * BULK_THREADS - 1)
        self._in_flight.append((self._pool.submit(self._bulk, operations), chunk_ids))

    def _wait(self, most: int) -> None:
        """Wait until at most `most` requests are in flight; raises the errors of the others."""
        while len(self._in_flight) > most:
            self._in_flight.popleft()[0].result()

    def _bulk(self, operations: list[bytes]) -> None:
        def send(client: Elasticsearch, operations: Any) -> list[Body]:
            alias = elastic_requests.writer_alias(self._concrete)
            reply = client.bulk(index=alias, operations=operations, require_alias=True, filter_path=BULK_REPLY)
            return [next(iter(item.values())) for item in reply["items"]]

        self._index.server.ask_each(operations, send, RETRY_STATUS)
