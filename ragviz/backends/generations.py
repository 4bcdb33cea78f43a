"""Files of a local index: rows of vectors, terms, and the generation that holds them together."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import weakref
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragviz.backends import checksums
from ragviz.backends.exact import Indices
from ragviz.models.vectors import Vectors
from ragviz.records import Ranking

if TYPE_CHECKING:
    import tantivy


FORMAT = 1
"""Version of the files and of `terms`; another one asks for a rebuild."""

BM25_HEAP = 64 * 2**20
"""Bytes Tantivy may fill before it writes a segment."""

GENERATION = re.compile(r"gen-[0-9a-f]{16}")
"""Names of generations; nothing else below an index is ever searched or deleted as one."""


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
