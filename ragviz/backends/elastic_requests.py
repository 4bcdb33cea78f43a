"""Bodies of requests to Elasticsearch, and rankings read from its replies: pure functions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.document import Chunk
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.models.vectors import Vectors
from ragviz.text.normal_form import HAN_RUN, terms
from ragviz.text.untrusted import storable

Body = dict[str, Any]

TYPES: Mapping[str, tuple[int, int]] = {
    "hnsw": (8, 15),
    "int8_hnsw": (8, 15),
    "int4_hnsw": (8, 15),
    "bbq_hnsw": (8, 18),
    "flat": (8, 15),
}
"""Kinds of vector index → the first version of Elasticsearch that is supported with it."""
OLDEST = TYPES["hnsw"]
SIMILARITIES = ("cosine", "dot_product", "l2_norm")
"""How near two vectors are: the cosine, the dot product, or the negative Euclidean distance; higher is nearer.

Vectors have unit length, so that all three rank alike.
"""
OPTIONS: Mapping[str, Any] = {
    "type": "hnsw",
    "similarity": "cosine",
    "m": 16,
    "ef_construction": 100,
    "num_candidates": None,
    "shards": 1,
    "replicas": None,
}
"""Options and their defaults; `replicas` None is one where there is a second node, and `num_candidates` None four times
the depth, at least 200.

On 100,000 × 384 vectors in one graph, searched to depth 50, 200 found 0.994 of the exact first ten and 0.976 of all
fifty; 100 found 0.962 and 0.905 in nine tenths of the time.
"""
DEEPEST = 10_000
"""Elasticsearch's own limit of one search's hits and of `num_candidates`."""
RANGES = {
    "m": (2, 512),
    "ef_construction": (2, 3200),
    "shards": (1, 1024),
    "num_candidates": (1, DEEPEST),
    "replicas": (0, 100),
}
SPARE = 20
"""Hits requested beyond the depth, so that equal scores at the cut are ordered by chunk id."""

BATCH_CHUNKS = 500
BATCH_BYTES = 4 * 2**20
FLOAT_BYTES = 12
"""A number of a vector of unit length and its comma, as JSON."""


def alias_of(name: str, prefix: str) -> str:
    """Return the alias of an index, whatever letters its name has; different names have different aliases.

    The part before the dot has none, so that `alias + ".*"` matches this index's concrete indices and no other's.

    >>> alias_of("My handbook!", "ragviz-")
    'ragviz-my-handbook.23f8e621d5b9'
    """
    readable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "index"
    return f"{prefix}{readable}.{digest(name, length=12)}"


def writer_alias(concrete: str) -> str:
    """Return the alias through which a concrete index is filled, removed when it is published.

    Writing only through an alias keeps the server from creating an index by itself when this one was deleted.
    """
    return f"{concrete}.writer"


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options, with defaults filled in; UsageError for one that is unknown, or that a server refuses."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise UsageError(f"Elasticsearch has no option {', '.join(unknown)}; its options are {', '.join(OPTIONS)}.")
    merged = {**OPTIONS, **options}
    for option, known in (("type", TYPES), ("similarity", SIMILARITIES)):
        if merged[option] not in known:
            raise UsageError(f"Option {option} is {merged[option]!r}; use one of {', '.join(known)}.")
    for option, (low, high) in RANGES.items():
        value = merged[option]
        unset = value is None and OPTIONS[option] is None
        if not unset and (isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high):
            raise UsageError(f"Option {option} is {value!r}; use a whole number from {low} to {high}.")
    return merged


def check_depth(depth: int) -> None:
    """Refuse a depth that no single search can have."""
    if not 1 <= depth <= DEEPEST:
        raise UsageError(f"Depth is {depth}; Elasticsearch ranks 1 to {DEEPEST} chunks a question.")


def vector_field(dims: int, options: Mapping[str, Any]) -> Body:
    """Return the mapping of the field that holds the vectors."""
    graph = {} if options["type"] == "flat" else {"m": options["m"], "ef_construction": options["ef_construction"]}
    kind = {"type": options["type"], **graph}
    field = {"type": "dense_vector", "dims": dims, "index": True}
    return field | {"similarity": options["similarity"], "index_options": kind}


def index_body(concrete: str, meta: Body, vector: Body | None, shards: int) -> Body:
    """Return settings and mappings of a concrete index while it is filled: no refresh, no replicas, async durability.

    `vector` is the mapping of the vectors' field, None for an index without vectors. BM25 searches `terms`, people read
    `text`. `_source` is off: to filter it, the server would parse every vector a second time. `meta` names the process
    that fills the index.
    """
    stored = {"type": "integer", "index": False}
    return {
        "aliases": {writer_alias(concrete): {}},
        "settings": {
            "number_of_shards": shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "translog": {"durability": "async", "flush_threshold_size": SEGMENT},
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
                **({"vector": vector} if vector else {}),
            },
        },
    }


def dims_of(mappings: Body) -> int:
    """Return the dimensions of the vectors of an index with these mappings; 0 when it keeps none.

    >>> dims_of({"properties": {"vector": {"type": "dense_vector", "dims": 384}}}), dims_of({"properties": {}})
    (384, 0)
    """
    return int(mappings.get("properties", {}).get("vector", {}).get("dims", 0))


def clone_body(concrete: str) -> Body:
    """Return settings and alias of a clone that is filled."""
    settings = {
        "index.blocks.write": None,
        "index.auto_expand_replicas": "false",
        "index.number_of_replicas": 0,
        "index.translog.durability": "async",
        "index.merge.policy.expunge_deletes_allowed": 0,  # by default the server keeps up to a tenth deleted
    }
    return {"settings": settings, "aliases": {writer_alias(concrete): {}}}


SEGMENT = "32mb"
"""What an index takes in before it writes segments: 5,000 chunks of 384 numbers. Merging builds the graph, so that what
stays a single segment is searched exactly for ever: this has to be little."""
UNMERGED = 100
"""Segments of about one size that an index may have while it is filled."""


def published_settings(replicas: int | None) -> Body:
    """Return the settings of a published index: its replicas, None for one where there is a second node; read-only."""
    copies: Body = {"auto_expand_replicas": "0-1"} if replicas is None else {"number_of_replicas": replicas}
    return {
        "index": {
            **copies,
            "translog": {"durability": "request", "flush_threshold_size": None},
            "merge.policy": {"segments_per_tier": None, "max_merge_at_once": None, "expunge_deletes_allowed": None},
            "blocks.write": True,
        }
    }


ONLY_SORT: Body = {
    "sort": [{"_score": "desc"}, {"chunk_id": "asc"}],
    "_source": False,
    "stored_fields": "_none_",
    "track_total_hits": False,
}
"""Return only a hit's sort values, score and chunk id: reading the stored id would cost as much as the search."""


def knn_body(vector: Vectors, depth: int, candidates: int | None) -> Body:
    """Return the search for the chunks nearest to one vector."""
    size = min(depth + SPARE, DEEPEST)
    most = max(200, 4 * depth) if candidates is None else candidates
    knn = {"field": "vector", "query_vector": vector, "k": size, "num_candidates": min(max(most, size), DEEPEST)}
    return {"knn": knn, "size": size, **ONLY_SORT}


def chunk_source(chunk: Chunk, vector: Vectors) -> Body:
    """Return the fields that are stored of one chunk; no vector when it has no numbers."""
    place = {"chunk_id": chunk.id, "document_id": chunk.document_id, "start": chunk.start, "end": chunk.end}
    return {
        **place,
        "page": chunk.page,
        "text": storable(chunk.text),
        "terms": searchable(chunk.text),
        **({"vector": vector} if len(vector) else {}),
    }


def searchable(text: str) -> str:
    """Return the terms of `text`, the same as the local index's, written so that the `standard` analyzer keeps each.

    That analyzer cuts Chinese into single characters; pairs of them are therefore spelled in letters and digits.

    >>> searchable("It's 三次!")
    'it s 三 次 u4e09u6b21'
    """
    return " ".join(
        "".join(f"u{ord(character):x}" for character in term) if len(term) == 2 and HAN_RUN.match(term) else term
        for term in terms(text)
    )


def line(body: Body) -> bytes:
    """Encode one line of JSON; a NumPy row becomes a list of the shortest numbers that are the same float32."""
    import orjson

    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


def switch_actions(alias: str, concrete: str, holders: Iterable[str]) -> list[Body]:
    """Return the actions that move the alias to a concrete index and end its building, in one step.

    `holders` have the alias now, some of them closed or not ours, which a pattern misses. An index whose own name is
    the alias, which the server creates when somebody writes to a name that is gone, is deleted.
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
    """Yield slices of `chunks` for one bulk request each: at most 500 chunks, and about 4 MB."""
    begin, size = 0, 0
    for position, chunk in enumerate(chunks):
        weight = FLOAT_BYTES * dims + 3 * len(chunk.text) + 200
        if position > begin and (position - begin >= BATCH_CHUNKS or size + weight > BATCH_BYTES):
            yield slice(begin, position)
            begin, size = position, 0
        size += weight
    if begin < len(chunks):
        yield slice(begin, len(chunks))


def raw_score(score: float, similarity: str) -> float:
    """Return the similarity from the positive score that Elasticsearch makes of it.

    Cosine and dot product: -1 … 1 for rows of unit length; l2_norm: the negative distance.

    >>> raw_score(0.75, "cosine"), raw_score(0.5, "l2_norm")
    (0.5, -1.0)
    """
    if similarity == "l2_norm":
        return -math.sqrt(max(0.0, 1.0 / score - 1.0))
    return 2.0 * score - 1.0


def ranking(reply: Body, depth: int, similarity: str | None) -> Ranking:
    """Return the ranking in the reply to one search; `similarity` None keeps the scores as they are."""
    pairs = [hit["sort"] for hit in reply.get("hits", {}).get("hits", ())][:depth]
    scores = tuple(score if similarity is None else raw_score(score, similarity) for score, _ in pairs)
    return Ranking(tuple(chunk_id for _, chunk_id in pairs), scores)
