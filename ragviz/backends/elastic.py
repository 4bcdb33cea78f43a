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

from ragviz import processes
from ragviz.backends import elastic_requests
from ragviz.backends.elastic_requests import BATCH_CHUNKS, PUBLISHED, Body
from ragviz.backends.elastic_server import BULK_THREADS, RETRY_STATUS, SHORT_SECONDS, Server, T
from ragviz.backends.exact import checked, require_vectors
from ragviz.backends.generations import FORMAT
from ragviz.backends.protocol import ANOTHER_BUILD
from ragviz.errors import DamagedIndex, SearchError
from ragviz.models.vectors import Vectors
from ragviz.records import Chunk, Ranking

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


NOTHING = Ranking((), ())
BATCH_SEARCHES = 100

SEARCH_THREADS = 2
BULK_REPLY = ("items.*.status", "items.*.error")
SEARCH_REPLY = ("responses.hits.hits.sort", "responses.error", "responses.status")

UNUSABLE = {"index_closed_exception": "closed", "cluster_block_exception": "blocked"}
"""What the server names the errors of an index that is there and lets nobody search it."""
CONTENT = ("indices.*.shards.*.routing.primary", "indices.*.shards.*.seq_no.max_seq_no")
EVERY_STATE = ("open", "closed", "hidden")

DROP_SECONDS = 5.0
FOREIGN_HOURS = 24
"""After so long, a half-built index of another machine is taken for left over."""
EXPUNGE_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
"""Pauses between two requests to merge deleted chunks away, the time that the server merges not counted."""


class ElasticIndex:
    """An index on an Elasticsearch server; see `ragviz.backends.protocol.Index`.

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
        self.alias = elastic_requests.alias_of(name)
        self.similarity = similarity
        self.options = elastic_requests.checked_options(options or {})
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
        if last != built or kept.get("dims") not in (None, elastic_requests.dims_of(mappings)):
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
        vector = elastic_requests.vector_field(dims, self.similarity, self.options) if dims else None
        body = elastic_requests.index_body(concrete, metadata(self.name), vector, self.options["shards"])
        self.server.ask(lambda client: client.indices.create(index=concrete, **body))
        return ElasticWriter(self, concrete, dims, merge=True)

    def update(self) -> ElasticWriter:
        """Open a writer that starts from the published content, out of sight until it is published.

        Raises:
            SearchError: nothing is published under the name.

        """
        self.sweep()
        published = self.published()
        if published is None:
            raise SearchError(f"Index {self.name!r} is not on Elasticsearch at {self.server.address}; build it first.")
        source, mappings = published
        self.server.ask(lambda client: client.indices.put_settings(index=source, settings={"index.blocks.write": True}))
        return ElasticWriter(self, self.clone(source), elastic_requests.dims_of(mappings))

    def clone(self, source: str) -> str:
        """Make a concrete index of the same content (hard links) that this process fills, and return its name."""
        concrete = f"{self.alias}.{secrets.token_hex(6)}"
        self.server.ask(
            lambda client: client.indices.clone(index=source, target=concrete, **elastic_requests.clone_body(concrete))
        )
        self.server.ask(lambda client: client.indices.put_mapping(index=concrete, meta=metadata(self.name)))
        return concrete

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row by the index's own graph or scan; scores are the similarity's own.

        Cosine and dot product are -1 … 1 for rows of unit length; l2_norm is the negative distance.

        Raises:
            SearchError: there are no published vectors or of other dimensions, or the server fails.
            UsageError: `depth` is not 1 … 10,000.

        """
        elastic_requests.check_depth(depth)
        published = self.published()
        if published is None:
            return [NOTHING] * len(vectors)
        dims = elastic_requests.dims_of(published[1])
        require_vectors(dims, f"Index {self.name!r}")
        rows = checked(vectors, dims, self.similarity, f"Index {self.name!r}")
        candidates = self.options["num_candidates"]
        return self._rankings(
            [elastic_requests.knn_body(row, depth, candidates) for row in rows], depth, self.similarity
        )

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Best chunks for each query by BM25; only chunks that share a term with the query.

        Raises:
            SearchError: the server fails.
            UsageError: `depth` is not 1 … 10,000.

        """
        elastic_requests.check_depth(depth)
        if self.published() is None:
            return [NOTHING] * len(queries)
        return self._rankings([elastic_requests.bm25_body(query, depth) for query in queries], depth, None)

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
        similarity = mappings.get("properties", {}).get("vector", {}).get("similarity", self.similarity)
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
        operations = [elastic_requests.search_operation(body) for body in bodies]
        # 404: the index behind the alias was replaced and deleted while the search ran.
        replies = self.server.ask_each(operations, self._search, RETRY_STATUS | {404})
        return [elastic_requests.ranking(reply, depth, similarity) for reply in replies]

    def _search(self, client: Elasticsearch, operations: Any) -> list[Body]:
        """Send one multi-search request."""
        return list(client.msearch(index=self.alias, searches=operations, filter_path=SEARCH_REPLY)["responses"])


def delete_index(client: Elasticsearch, concrete: str) -> None:
    """Delete one concrete index; one that is gone is passed over."""
    client.options(ignore_status=404).indices.delete(index=concrete)


def metadata(name: str, **published: Any) -> Body:
    """What a concrete index says of itself: whose it is, which process fills it; and what `check` compares."""
    return {"ragviz": {"name": name, "format": FORMAT, "builder": processes.this_process(), **published}}


def is_left_over(body: Body, alias: str) -> bool:
    """True for a concrete index that was replaced, or whose building process is gone.

    `body` is the server's description of it. A process of another machine cannot be asked: it is given 24 hours.
    """
    if alias in body["aliases"] or "_meta" not in body["mappings"]:
        return False
    builder = body["mappings"]["_meta"]["ragviz"]["builder"]
    if not body["aliases"]:
        return True
    alive = processes.is_alive(builder["host"], builder["pid"], builder["started"])
    if alive is None:
        return time.time() - int(body["settings"]["index"]["creation_date"]) / 1000 > 3600 * FOREIGN_HOURS
    return not alive


class ElasticWriter:
    """Fills one concrete index, out of sight; see `ragviz.backends.protocol.Writer`.

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
        for part in elastic_requests.batches(chunks, self._dims):
            self._send([chunk.id for chunk in chunks[part]], elastic_requests.add_operations(chunks[part], rows[part]))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out; unknown ids are passed over."""
        for begin in range(0, len(chunk_ids), 10 * BATCH_CHUNKS):
            ids = chunk_ids[begin : begin + 10 * BATCH_CHUNKS]
            self._send(ids, elastic_requests.delete_operations(ids))

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
        actions = elastic_requests.switch_actions(index.alias, concrete, index.holders())
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
            alias = elastic_requests.writer_alias(self._concrete)
            reply = client.bulk(index=alias, operations=operations, require_alias=True, filter_path=BULK_REPLY)
            return [next(iter(item.values())) for item in reply["items"]]

        self._index.server.ask_each(operations, send, RETRY_STATUS)
