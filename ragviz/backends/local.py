"""Chunks and their vectors in plain files: exact search with NumPy, BM25 with Tantivy; no server.

An index is a folder of *generations*, each complete in itself, and a pointer that names the one that is searched:

    handbook-1f0c…/live             the name of the live generation, replaced in one step by `publish`
    handbook-1f0c…/gen-…/           meta.json, checksums.json, ids.npy, rows/ (vectors and terms), bm25/ (Tantivy)

The rows of a generation stand in the order of their chunk ids, whatever order they came in. So row order breaks ties,
and an update leaves exactly the files that a rebuild from the same chunks would.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import time
import unicodedata
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragviz.backends import checksums
from ragviz.backends.opening import ANOTHER_BUILD, SIMILARITIES, Vectors
from ragviz.errors import DamagedIndex, SearchError, UsageError
from ragviz.records import Chunk, Ranking, digest

if TYPE_CHECKING:
    import tantivy

FORMAT = 1
"""Version of the files and of `terms`; another one asks for a rebuild."""
SCORE_BYTES = 100 * 2**20
"""Size of the block of scores that one matrix product makes: memory against speed."""
MOST_QUERIES = 256
"""Queries in one matrix product; more gain nothing."""
BLOCK_ROWS = 4096
"""Rows that are gathered or copied together."""
BM25_HEAP = 64 * 2**20
"""Bytes Tantivy may fill before it writes a segment."""
FOREIGN_HOURS = 24
"""After so long, an unpublished generation of another machine is taken for left over."""
GENERATION = re.compile(r"gen-[0-9a-f]{16}")
"""Names of generations; nothing else below an index is ever searched or deleted as one."""
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError)
"""What opening a damaged generation raises."""

Indices = NDArray[np.int64]


# ------------------------------------------------------------------------------------------------- numbers and words


HAN = r"\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUNS = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
HAN_RUN = re.compile(f"[{HAN}]")
NO_TERM = {code: " " for code in range(128) if not chr(code).isalnum()}


def terms(text: str) -> list[str]:
    """Words of `text` for BM25, in lower case and without stemming; empty when it has no letter or digit.

    Chinese (and Hiragana), written without spaces, gives its single characters and its pairs of neighbours: that
    ranked better than jieba's words on XQuAD, and needs no dictionary.

    >>> terms("It's the 308-分, 三次!")
    ['it', 's', 'the', '308', '分', '三', '次', '三次']
    """
    if text.isascii():
        return text.lower().translate(NO_TERM).split()
    runs: list[str] = RUNS.findall(unicodedata.normalize("NFKC", text).lower())
    return [term for run in runs for term in (han_terms(run) if HAN_RUN.match(run) else (run,))]


def han_terms(run: str) -> list[str]:
    """Characters of `run`, and its pairs of neighbours."""
    return [*run, *map("".join, pairwise(run))]


def nearest(
    vectors: Vectors, lengths: NDArray[np.float32] | None, queries: Vectors, depth: int, similarity: str
) -> Iterator[tuple[Indices, NDArray[np.float32]]]:
    """For each query the rows of `vectors` (n, dims) nearest to it, and their scores, best first, ties by row.

    `lengths` (n,) are the rows' Euclidean lengths, None when all are 1. Exact: a fast product in float32 picks the
    rows that can be among the first `depth`, with room for its rounding; float64 scores, rounded to float32, rank
    them. So a score depends neither on the other queries nor on where the row stands, and equal rows tie.
    """
    reach = 1.0 if lengths is None or not len(lengths) else float(lengths.max())
    batch = max(1, min(MOST_QUERIES, len(queries), SCORE_BYTES // (4 * max(1, len(vectors)))))
    block = np.empty((batch, len(vectors)), np.float32)
    for start in range(0, len(queries), batch):
        some = queries[start : start + batch]
        scores = np.matmul(some, vectors.T, out=block[: len(some)])
        if similarity == "l2_norm" and lengths is not None:
            scores -= lengths**2 / 2  # q·v - |v|²/2 falls as the distance grows
        floors = lower_bounds(scores, depth)
        for query, row_scores, floor in zip(some, scores, floors, strict=True):
            margin = (len(query) + 8) * 2.0**-23 * max(float(np.linalg.norm(query)), reach) ** 2
            rows = np.flatnonzero(row_scores >= np.float32(floor - margin))
            exact = exact_scores(vectors, rows, query, similarity)
            first = np.argsort(-exact, kind="stable")[:depth]
            yield rows[first], exact[first]


def lower_bounds(scores: NDArray[np.float32], depth: int) -> NDArray[np.float32]:
    """For each row of `scores` (m, n) a number that its `depth`-th largest score is not below; shape (m,).

    The columns are dealt into groups: `depth` groups have a score at least as high as the `depth`-th highest of the
    groups' maxima. It is found among fewer numbers, and the maxima cost less than a partition of all scores.
    """
    count = scores.shape[1]
    if depth >= count:
        return np.full(len(scores), -np.inf, np.float32)
    width = max(1, min(64, count // (8 * depth)))
    groups = count // width
    peaks = scores[:, : groups * width].reshape(-1, width, groups).max(axis=1)
    bounds: NDArray[np.float32] = np.partition(peaks, groups - depth, axis=1)[:, groups - depth]
    return bounds


def exact_scores(vectors: Vectors, rows: Indices, query: NDArray[np.float32], similarity: str) -> NDArray[np.float32]:
    """Similarity of some rows with the query, computed in float64 and rounded: the cosine, dot product or -distance."""
    target = query.astype(np.float64)
    scores = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        some = vectors[rows[start : start + BLOCK_ROWS]].astype(np.float64)
        if similarity == "l2_norm":
            values = -np.sqrt(((some - target) ** 2).sum(axis=1))
        else:
            values = np.einsum("ij,j->i", some, target)
        if similarity == "cosine":
            values /= np.sqrt(np.einsum("ij,ij->i", some, some) * (target @ target))
        scores[start : start + BLOCK_ROWS] = values
    return scores


# ------------------------------------------------------------------------------------------ files of a generation


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Rows:
    """Vectors (n, dims) and terms on disk: row i's terms are the bytes `ends[i]` to `ends[i + 1]` of a file."""

    vectors: Vectors
    text: int
    """Descriptor of the file of terms: read in pieces, where a mapped one would fill the memory with all of it."""
    ends: Indices

    def terms(self, row: int) -> str:
        """Terms of a row, a space between them."""
        start, end = int(self.ends[row]), int(self.ends[row + 1])
        return os.pread(self.text, end - start, start).decode("utf-8")


class RowsFile:
    """Rows being written, one after the other."""

    def __init__(self, folder: Path) -> None:
        """Open the files in `folder`, which is made."""
        folder.mkdir(parents=True)
        self.folder = folder
        self.vectors = (folder / "vectors.f32").open("wb")
        self.text = (folder / "terms.txt").open("wb")
        self.ends = array("q", [0])

    def append(self, words: Iterable[str], vectors: Vectors) -> None:
        """Add rows; `words` are the terms of each, a space between them."""
        for line in words:
            self.ends.append(self.ends[-1] + self.text.write(line.encode("utf-8")))
        self.vectors.write(np.ascontiguousarray(vectors, "<f4").tobytes())

    def close(self) -> None:
        """Write all to the disk; may be called again."""
        if self.vectors.closed:
            return
        for file in (self.vectors, self.text):
            file.flush()
            os.fsync(file.fileno())
            file.close()
        save_array(self.folder / "ends.npy", np.array(self.ends, np.int64))


def open_rows(folder: Path, dims: int) -> Rows:
    """Map vectors that were written, and open their terms.

    Raises:
        OSError, ValueError: files are missing, cut or of another shape.

    """
    ends = np.load(folder / "ends.npy")
    vectors = mapped(folder / "vectors.f32", np.dtype("<f4"), (len(ends) - 1, dims))
    _check_size(folder / "terms.txt", int(ends[-1]))
    text = os.open(folder / "terms.txt", os.O_RDONLY)
    rows = Rows(vectors, text, ends)
    weakref.finalize(rows, os.close, text)
    return rows


def _check_size(path: Path, expected: int) -> int:
    """The bytes of a file; ValueError when they are not so many as there are to be."""
    size = path.stat().st_size
    if size != expected:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {expected:,}")
    return size


def mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a whole file as an array; ValueError when it has not exactly the size of the array."""
    size = _check_size(path, int(np.prod(shape)) * kind.itemsize)
    return np.asarray(np.memmap(path, kind, "r", shape=shape)) if size else np.empty(shape, kind)


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array to the disk."""
    with path.open("wb") as file:
        np.save(file, values)
        file.flush()
        os.fsync(file.fileno())


def save_text(path: Path, text: str) -> None:
    """Write a small file to the disk, replacing the one that is there in one step."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk, where the system can (Windows does so itself)."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Bm25File:
    """A Tantivy index being written: the terms of each row, and its number."""

    def __init__(self, folder: Path) -> None:
        """Open an empty index in `folder`, which is made."""
        import tantivy

        folder.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("terms", tokenizer_name="words", index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        index = tantivy.Index(schema.build(), str(folder))
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        index.register_tokenizer("words", analyzer)
        self.writer = index.writer(BM25_HEAP, num_threads=1)

    def append(self, start: int, words: Iterable[str]) -> None:
        """Add rows, numbered from `start`."""
        import tantivy

        for row, line in enumerate(words, start):
            document = tantivy.Document()
            document.add_unsigned("row", row)
            document.add_text("terms", line)
            self.writer.add_document(document)

    def close(self) -> None:
        """Write all to the disk."""
        self.writer.commit()
        self.writer.wait_merging_threads()


@dataclass(frozen=True, slots=True)
class Generation:
    """A published set of rows, open for searching; its files stay readable while it is open, also once deleted."""

    name: str
    dims: int
    similarity: str
    content: str
    ids: NDArray[np.bytes_]
    rows: Rows
    lengths: NDArray[np.float32] | None
    searcher: tantivy.Searcher
    schema: tantivy.Schema

    def ranking(self, rows: Iterable[int], scores: Iterable[float]) -> Ranking:
        """Rows and their scores as a ranking of chunk ids."""
        return Ranking(tuple(decoded(self.ids[list(rows)])), tuple(scores))

    def matching(self, words: Sequence[str], depth: int) -> list[tuple[float, int]]:
        """BM25 score and row of the best rows that have one of `words`, best first, ties by row."""
        import tantivy

        clauses = [tantivy.Query.term_query(self.schema, "terms", word, "freq") for word in words]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])
        limit = depth + 1
        hits = self.searcher.search(query, limit, count=False).hits
        while len(hits) == limit and hits[-1][0] == hits[depth - 1][0]:  # a tie across the edge: see all of it
            limit *= 2
            hits = self.searcher.search(query, limit, count=False).hits
        rows: list[Any] = self.searcher.fast_field_values("row", [address for _, address in hits])
        found = [(float(score), int(row)) for (score, _), row in zip(hits, rows, strict=True)]
        return sorted(found, key=lambda hit: (-hit[0], hit[1]))[:depth]


def open_generation(folder: Path) -> Generation:
    """Open a generation for searching: its files must be those that were written, and agree on the number of rows.

    Raises:
        DAMAGE: files are missing, damaged, or of another version of ragviz.

    """
    import tantivy

    for path in folder.rglob("*"):
        if not (path.is_file() or path.is_dir()):  # to open a FIFO would wait for ever
            raise ValueError(f"{path.name} is neither a file nor a folder")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    if meta["format"] != FORMAT:
        raise ValueError(f"its format is {meta['format']}, this version of ragviz reads {FORMAT}")
    if "content" in meta:  # earlier versions wrote no checksums
        checksums.compare(folder)
    rows = open_rows(folder / "rows", meta["dims"])
    ids = np.asarray(np.load(folder / "ids.npy", mmap_mode="r"))
    index = tantivy.Index.open(str(folder / "bm25"))
    index.config_reader("manual")
    index.reload()
    searcher = index.searcher()
    if not len(ids) == len(rows.vectors) == searcher.num_docs:
        counts = f"{len(ids):,} ids, {len(rows.vectors):,} vectors and {searcher.num_docs:,} texts"
        raise ValueError(f"it has {counts}")
    similarity = meta["similarity"]
    lengths = None if similarity == "cosine" else np.sqrt(np.einsum("ij,ij->i", rows.vectors, rows.vectors))
    content = str(meta.get("content", ""))
    return Generation(folder.name, meta["dims"], similarity, content, ids, rows, lengths, searcher, index.schema)


def encoded(ids: Iterable[str]) -> NDArray[np.bytes_]:
    """Chunk ids as bytes of one width; they sort as the ids do."""
    values = [chunk_id.encode("utf-8", "surrogatepass") for chunk_id in ids]
    return np.array(values, dtype=f"S{max(map(len, values), default=1)}")


def decoded(ids: NDArray[np.bytes_]) -> list[str]:
    """Chunk ids that were encoded."""
    return [chunk_id.decode("utf-8", "surrogatepass") for chunk_id in ids.tolist()]


# ------------------------------------------------------------------------------------------------- the index


class LocalIndex:
    """An index in files under a folder; see `ragviz.backends.opening.Index`.

    Every search reads the pointer, so readers in other processes see new content as soon as it is published.
    """

    def __init__(self, name: str, folder: Path, similarity: str = "cosine") -> None:
        """Name the index; nothing is read or written yet.

        Raises:
            UsageError: an unknown similarity.

        """
        if similarity not in SIMILARITIES:
            raise UsageError(f"Similarity is {similarity!r}; use one of {', '.join(SIMILARITIES)}.")
        self.name = name
        self.similarity = similarity
        self.folder = folder / folder_name(name)
        self._open: Generation | None = None

    def exists(self) -> bool:
        """True once something was published under the name."""
        return self.live_name() is not None

    def count(self) -> int:
        """How many chunks a search sees; 0 when nothing was published."""
        generation = self.live()
        return 0 if generation is None else len(generation.ids)

    def size(self) -> int:
        """Bytes on disk of what is published."""
        name = self.live_name()
        files = () if name is None else (self.folder / name).rglob("*")
        return sum(path.stat().st_size for path in files if path.is_file())

    def check(self, expected: int, content: str = "") -> None:
        """Do nothing when `expected` chunks are published, unbroken, with the digest `content` ("": not compared).

        Raises:
            DamagedIndex: nothing is published, its files do not belong together, or it is another content.

        """
        generation = self.live()
        if generation is None:
            raise DamagedIndex(self.name, f"it is gone from {self.folder}, or cannot be read there")
        if content and generation.content and generation.content != content:
            raise DamagedIndex(self.name, ANOTHER_BUILD)
        if len(generation.ids) != expected:
            raise DamagedIndex(self.name, f"it has {len(generation.ids):,} chunks, and {expected:,} were built")

    def rebuild(self, dims: int) -> LocalWriter:
        """Open a writer that starts from nothing and replaces the content when published.

        What crashed builds of this index left behind is deleted first.
        """
        if dims < 1:
            raise UsageError(f"Vectors cannot have {dims} dimensions; use at least 1.")
        return LocalWriter(self, dims, None)

    def update(self) -> LocalWriter:
        """Open a writer that starts from the published content.

        Raises:
            SearchError: nothing is published under the name.

        """
        generation = self.live()
        if generation is None:
            raise SearchError(f"Index {self.name!r} has nothing to update; build it first.")
        return LocalWriter(self, generation.dims, generation)

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Nearest chunks of each row of `vectors`, exactly; scores are cosine, dot product or negative distance.

        Raises:
            SearchError: the vectors have other dimensions than the index, or cannot be compared with it.

        """
        check_depth(depth)
        generation = self.live()
        if generation is None:
            return [Ranking((), ()) for _ in vectors]
        queries = checked(vectors, generation.dims, generation.similarity, f"Index {self.name!r}")
        found = nearest(generation.rows.vectors, generation.lengths, queries, depth, generation.similarity)
        return [generation.ranking(rows.tolist(), scores.tolist()) for rows, scores in found]

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Best chunks for each query by BM25 (k1 1.2, b 0.75) over `terms`; a query is words, never a syntax."""
        check_depth(depth)
        generation = self.live()
        if generation is None:
            return [Ranking((), ()) for _ in queries]
        found = (generation.matching(terms(query), depth) for query in queries)
        return [generation.ranking([row for _, row in hits], [score for score, _ in hits]) for hits in found]

    def drop(self) -> None:
        """Delete the index with all it wrote, unpublished generations too; does nothing when there is none."""
        with os_errors(self.name):
            clear_way(self)
            (self.folder / "live").unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # what the protocol does not ask for

    def live_name(self) -> str | None:
        """Name of the generation that is searched; None when nothing is published, or the pointer names none."""
        try:
            pointer = self.folder / "live"
            name = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
        except (OSError, ValueError):  # there is no pointer, or another thing in its place
            return None
        return name if GENERATION.fullmatch(name) else None

    def live(self) -> Generation | None:
        """Open the generation that is searched, once.

        Raises:
            DamagedIndex: it cannot be read, or was built for another similarity.

        """
        while (name := self.live_name()) is not None:
            generation = self._open
            if generation is not None and generation.name == name:
                return generation
            try:
                self._open = self._fitting(open_generation(self.folder / name))
            except DAMAGE as error:
                if self.live_name() == name:  # otherwise it was replaced while being opened: open the new one
                    raise DamagedIndex(self.name, str(error)) from error
        self._open = None
        return None

    def _fitting(self, generation: Generation) -> Generation:
        if generation.similarity != self.similarity:
            raise DamagedIndex(self.name, f"it was built for {generation.similarity}, not {self.similarity}")
        return generation


def folder_name(name: str) -> str:
    """A folder's name for an index's name, whatever letters it has; other names, other folders, on every system.

    >>> folder_name("My handbook!"), folder_name("手册")
    ('my-handbook-23f8e621d5b9', 'index-3ce099fbbf80')
    """
    readable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "index"
    return f"{readable}-{digest(name, length=12)}"


def check_depth(depth: int) -> None:
    """Refuse a depth that asks for nothing."""
    if depth < 1:
        raise UsageError(f"Depth is {depth}; use at least 1.")


def checked(vectors: Vectors, dims: int, similarity: str, what: str) -> Vectors:
    """Vectors as float32 rows that `similarity` can compare; for cosine they are brought to unit length.

    Raises:
        SearchError: other dimensions, numbers that are not finite, or a length of 0 under cosine.

    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dims:
        given = f"{rows.shape[1]}-d" if rows.ndim == 2 else f"of shape {rows.shape}"
        raise SearchError(
            f"{what} holds {dims}-d vectors, these are {given}; rebuild it, or pick the model it was built with."
        )
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise SearchError(f"{what} takes finite numbers only, vector {row} has others; check the embedder.")
    if similarity != "cosine":
        return rows
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise SearchError(f"{what} compares by cosine, and vector {row} has length 0; check the embedder.")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit


# ------------------------------------------------------------------------------------------------- the writer


class LocalWriter:
    """Fills a generation out of sight; see `ragviz.backends.opening.Writer`.

    What is added goes to the disk as it comes; `publish` puts it in order with what is kept of `base`.
    """

    def __init__(self, index: LocalIndex, dims: int, base: Generation | None) -> None:
        """Make the generation's folder, after clearing away what crashed writers left."""
        self.index = index
        self.dims = dims
        self.base = base
        self.added: dict[str, int] = {}
        self.removed: set[str] = set()
        self.open = True
        self.folder = index.folder / f"gen-{secrets.token_hex(8)}"
        with os_errors(index.name):
            sweep(index)
            self.folder.mkdir(parents=True)
            save_text(self.folder / "owner.json", json.dumps(this_process()))
            self.arrived = RowsFile(self.folder / "arrived")

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced.

        Raises:
            SearchError: the vectors do not fit the index or the chunks, or the disk refuses.

        """
        self._check_open()
        if len(vectors) != len(chunks):
            raise SearchError(f"{len(chunks)} chunks came with {len(vectors)} vectors; give one for each.")
        rows = checked(vectors, self.dims, self.index.similarity, f"Index {self.index.name!r}")
        start = len(self.arrived.ends) - 1
        with os_errors(self.index.name):
            self.arrived.append((" ".join(terms(chunk.text)) for chunk in chunks), rows)
        self.added.update((chunk.id, row) for row, chunk in enumerate(chunks, start))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Take chunks out; unknown ids are passed over."""
        self._check_open()
        self.removed.update(chunk_ids)
        for chunk_id in chunk_ids:
            self.added.pop(chunk_id, None)

    def publish(self, expected: int, content: str = "") -> None:
        """Count, and let searches see the content; `content` is its digest, for `LocalIndex.check`.

        Raises:
            SearchError: the content is not `expected` chunks, another writer published since this update began, or
                the disk refuses; nothing is switched.

        """
        self._check_open()
        kept = self._kept()
        self._check_count(len(kept) + len(self.added), expected)
        if self.base is not None and not self.added and len(kept) == len(self.base.ids):
            self.abandon()  # nothing changed
            return
        with os_errors(self.index.name):
            self._write(kept, content)
            self._check_count(self._count(), expected)
            self._switch()

    def abandon(self) -> None:
        """Drop what was not published; may be called at any time, also after `publish` (does nothing then)."""
        if self.open:
            self.open = False
            self._close_files()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_open(self) -> None:
        if not self.open:
            raise SearchError(f"This writer of index {self.index.name!r} is closed; open another one.")

    def _check_count(self, found: int, expected: int) -> None:
        if found != expected:
            numbers = f"Index {self.index.name!r} would hold {found:,} chunks instead of {expected:,}"
            raise SearchError(f"{numbers}; nothing was published. Build it again.")

    def _close_files(self) -> None:
        with contextlib.suppress(OSError):
            self.arrived.close()

    def _kept(self) -> Indices:
        """Rows of the published content that stay as they are."""
        if self.base is None:
            return np.empty(0, np.int64)
        gone = encoded(self.removed | self.added.keys())
        return np.flatnonzero(~np.isin(self.base.ids, gone))

    def _write(self, kept: Indices, content: str) -> None:
        """Write the generation's files: kept and added rows, in the order of their ids."""
        self.arrived.close()
        arrived = open_rows(self.folder / "arrived", self.dims)
        places = [(arrived, row) for row in self.added.values()]
        ids = encoded(self.added)
        if self.base is not None:
            places += [(self.base.rows, row) for row in kept.tolist()]
            ids = np.concatenate([ids, self.base.ids[kept]])
        order = np.argsort(ids, kind="stable")
        self._copy([places[place] for place in order.tolist()])
        save_array(self.folder / "ids.npy", ids[order])
        meta = {"format": FORMAT, "dims": self.dims, "similarity": self.index.similarity, "content": content}
        save_text(self.folder / "meta.json", json.dumps(meta))
        checksums.write(self.folder, ("meta.json", "ids.npy", "rows", "bm25"))

    def _copy(self, places: Sequence[tuple[Rows, int]]) -> None:
        """Write vectors and terms from their places, and the BM25 index of the terms."""
        rows, bm25 = RowsFile(self.folder / "rows"), Bm25File(self.folder / "bm25")
        for start in range(0, len(places), BLOCK_ROWS):
            block = places[start : start + BLOCK_ROWS]
            words = [source.terms(row) for source, row in block]
            rows.append(words, np.stack([source.vectors[row] for source, row in block]))
            bm25.append(start, words)
        rows.close()
        bm25.close()

    def _count(self) -> int:
        """How many chunks are on the disk: ids, vectors and texts, which must agree."""
        return len(open_generation(self.folder).ids)

    def _switch(self) -> None:
        """Point the index at this generation, and delete the one before."""
        shutil.rmtree(self.folder / "arrived", ignore_errors=True)
        sync_folder(self.folder)
        before = self.index.live_name()
        if self.base is not None and self.base.name != before:
            changed = f"Index {self.index.name!r} was changed by another writer since this update began"
            raise SearchError(f"{changed}; nothing was published. Update it again.")
        save_text(self.index.folder / "live", self.folder.name)
        sync_folder(self.index.folder)
        self.open = False
        (self.folder / "owner.json").unlink()
        if before is not None:
            shutil.rmtree(self.index.folder / before, ignore_errors=True)  # its readers keep their open files


@contextlib.contextmanager
def os_errors(name: str) -> Iterator[None]:
    """Turn what the disk refuses into a SearchError (Tantivy tells it as ValueError)."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise SearchError(
            f"Index {name!r} cannot be written ({error}); check the disk's space and rights, and build it again."
        ) from error


def clear_way(index: LocalIndex) -> None:
    """Delete a file in the place of the index's folder, and a folder in the place of its pointer.

    Raises:
        SearchError: the place of all indexes is no folder; what is there, or leads elsewhere, is not ours to delete.

    """
    place = index.folder.parent
    if os.path.lexists(place) and not place.is_dir():
        leads = f"a link to {place.readlink()}, where no folder is" if place.is_symlink() else "no folder"
        raise SearchError(f"{place} is {leads}: bring the folder back or move this away, then build the indexes again.")
    if index.folder.is_file():
        index.folder.unlink()
    if (index.folder / "live").is_dir():
        shutil.rmtree(index.folder / "live")


def sweep(index: LocalIndex) -> None:
    """Delete generations that are not searched and that no running process writes, and what is in an index's way."""
    clear_way(index)
    live = index.live_name()
    for folder in index.folder.glob("gen-*"):
        if folder.name != live and is_left_over(folder):
            shutil.rmtree(folder, ignore_errors=True)


def this_process() -> dict[str, Any]:
    """What tells this process from any other, also from a later one of the same number."""
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}


def is_left_over(folder: Path) -> bool:
    """True when the process that wrote a generation has ended, or, on another machine, a day has passed."""
    import psutil

    try:
        path = folder / "owner.json"
        owner = json.loads(path.read_text(encoding="utf-8") if path.is_file() else "")
    except (OSError, ValueError):  # being made just now, or already replaced
        owner = {"host": None}
    try:
        if owner["host"] != socket.gethostname():
            return time.time() - folder.stat().st_mtime > FOREIGN_HOURS * 3600
        return bool(abs(psutil.Process(owner["pid"]).create_time() - owner["started"]) > 1)
    except (psutil.NoSuchProcess, FileNotFoundError):
        return True
