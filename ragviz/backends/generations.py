"""Files of a local index: rows of vectors, terms, and the generation that holds them together."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import weakref
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragviz.backends.exact import Indices
from ragviz.core.ranking import Ranking
from ragviz.models.vectors import Vectors

if TYPE_CHECKING:
    import tantivy


FORMAT = 2
"""Version of the files and of `terms`; files of another version need a rebuild."""

BM25_HEAP = 64 * 2**20
"""Bytes Tantivy may fill before it writes a segment."""

GENERATION = re.compile(r"gen-[0-9a-f]{16}")
"""Names of generations: a folder with any other name is neither searched nor deleted as one."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Rows:
    """Vectors (n, dims) and terms on disk: row i's terms are the bytes `ends[i]` to `ends[i + 1]` of a file."""

    vectors: Vectors
    text: int
    """Descriptor of the file of terms, read in pieces: mapped, all of it would come to lie in memory."""
    ends: Indices

    def terms(self, row: int) -> str:
        """Return a row's terms, separated by spaces."""
        start, end = int(self.ends[row]), int(self.ends[row + 1])
        return os.pread(self.text, end - start, start).decode("utf-8")


class RowsFile:
    """Writes rows, one after the other."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.vectors = (folder / "vectors.f32").open("wb")
        self.text = (folder / "terms.txt").open("wb")
        self.ends = array("q", [0])

    def append(self, words: Iterable[str], vectors: Vectors) -> None:
        """Add rows; `words` are the terms of each, separated by spaces."""
        for line in words:
            self.ends.append(self.ends[-1] + self.text.write(line.encode("utf-8")))
        self.vectors.write(np.ascontiguousarray(vectors, "<f4").tobytes())

    def close(self) -> None:
        """Flush all files to the disk and close them; further calls do nothing."""
        if self.vectors.closed:
            return
        for file in (self.vectors, self.text):
            file.flush()
            os.fsync(file.fileno())
            file.close()
        save_array(self.folder / "ends.npy", np.array(self.ends, np.int64))


def open_rows(folder: Path, dims: int) -> Rows:
    """Map vectors, and open their terms; OSError or ValueError for files that are missing, cut or of another shape."""
    ends = np.load(folder / "ends.npy")
    file, shape = folder / "vectors.f32", (len(ends) - 1, dims)
    size = _check_size(file, int(np.prod(shape)) * 4)
    vectors = np.asarray(np.memmap(file, "<f4", "r", shape=shape)) if size else np.empty(shape, "<f4")
    _check_size(folder / "terms.txt", int(ends[-1]))
    text = os.open(folder / "terms.txt", os.O_RDONLY)
    rows = Rows(vectors, text, ends)
    weakref.finalize(rows, os.close, text)
    return rows


def _check_size(path: Path, expected: int) -> int:
    """Return a file's size in bytes; ValueError when it is not `expected`."""
    size = path.stat().st_size
    if size != expected:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {expected:,}")
    return size


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array through to the disk."""
    with path.open("wb") as file:
        np.save(file, values)
        file.flush()
        os.fsync(file.fileno())


def save_text(path: Path, text: str) -> None:
    """Write a small file through to the disk, replacing an existing one atomically."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def sync_folder(folder: Path) -> None:
    """Write a folder's entries through to the disk, where the system can (Windows does so itself)."""
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Bm25File:
    """Writes a Tantivy index: the terms of each row, and its number."""

    def __init__(self, folder: Path) -> None:
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
        """Commit what was written, and return once all segment files are on disk."""
        self.writer.commit()
        self.writer.wait_merging_threads()


@dataclass(frozen=True, slots=True)
class Generation:
    """A published set of rows, open for searching; its files stay readable while it is open, even when deleted."""

    name: str
    dims: int
    content: str
    ids: NDArray[np.bytes_]
    rows: Rows
    searcher: tantivy.Searcher
    schema: tantivy.Schema
    names: list[str] = field(default_factory=list)
    """The ids as text, once they are needed."""

    def ranking(self, rows: Iterable[int], scores: Iterable[float]) -> Ranking:
        """Return rows and their scores as a ranking of chunk ids, which rankings share."""
        if not self.names and len(self.ids):
            self.names.extend(b"\0".join(self.ids.tolist()).decode("utf-8", "surrogatepass").split("\0"))
        return Ranking(tuple([self.names[row] for row in rows]), tuple(scores))

    def matching(self, words: Sequence[str], depth: int) -> list[tuple[float, int]]:
        """Return BM25 score and row of the best rows that hold one of `words`, best first, ties by row."""
        import tantivy

        clauses = [tantivy.Query.term_query(self.schema, "terms", word, "freq") for word in words]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in clauses])
        limit = depth + 1
        hits = self.searcher.search(query, limit, count=False).hits
        while len(hits) == limit and hits[-1][0] == hits[depth - 1][0]:  # a tie across the cut: fetch all of it
            limit *= 2
            hits = self.searcher.search(query, limit, count=False).hits
        rows: list[Any] = self.searcher.fast_field_values("row", [address for _, address in hits])
        scored = sorted([(-score, row) for (score, _), row in zip(hits, rows, strict=True)])[:depth]
        return [(-negative, row) for negative, row in scored]


def open_generation(folder: Path) -> Generation:
    """Open a generation for searching; DAMAGE for files that are missing, not as written, or of another version."""
    import tantivy

    for path in folder.rglob("*"):
        if not (path.is_file() or path.is_dir()):  # opening a FIFO would block for ever
            raise ValueError(f"{path.name} is neither a file nor a folder")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    if meta["format"] != FORMAT:
        raise ValueError(f"its format is {meta['format']}, this version of ragviz reads {FORMAT}")
    compare_checksums(folder)
    rows = open_rows(folder / "rows", meta["dims"])
    ids = np.asarray(np.load(folder / "ids.npy", mmap_mode="r"))
    index = tantivy.Index.open(str(folder / "bm25"))
    index.config_reader("manual")
    index.reload()
    searcher = index.searcher()
    if not len(ids) == len(rows.vectors) == searcher.num_docs:
        raise ValueError(f"it has {len(ids):,} ids, {len(rows.vectors):,} vectors and {searcher.num_docs:,} texts")
    return Generation(folder.name, meta["dims"], meta["content"], ids, rows, searcher, index.schema)


def encoded(ids: Iterable[str]) -> NDArray[np.bytes_]:
    """Encode chunk ids as bytes of one width, which sort as the ids do."""
    values = [chunk_id.encode("utf-8", "surrogatepass") for chunk_id in ids]
    return np.array(values, dtype=f"S{max(map(len, values), default=1)}")


CHECKSUMS = "checksums.json"
"""Written when an index is built, compared before it is searched: once in each process, again when a file changed."""

Stamp = tuple[tuple[str, int, int, int], ...]
_compared: dict[Path, Stamp] = {}
"""Folders whose checksums were correct, with their files' sizes and times at that moment."""


def write_checksums(folder: Path, parts: Iterable[str]) -> None:
    """Write the checksums of `parts` of `folder`, files or folders of files (without Tantivy's locks), to the disk."""
    files: list[Path] = []
    for part in (folder / part for part in parts):
        files += sorted(path for path in part.iterdir() if path.suffix != ".lock") if part.is_dir() else [part]
    save_text(folder / CHECKSUMS, json.dumps({file.relative_to(folder).as_posix(): _sum_of(file) for file in files}))


def compare_checksums(folder: Path) -> None:
    """Do nothing when the files below `folder` have the checksums that were written.

    Raises:
        OSError: a file is missing or cannot be read.
        ValueError: a file has another checksum; the checksums are damaged.

    """
    sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    if not isinstance(sums, dict) or not sums:
        raise ValueError(f"{CHECKSUMS} is damaged")
    states = [(name, (folder / name).stat()) for name in sorted([*sums, CHECKSUMS])]
    stamp = tuple((name, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for name, state in states)
    if _compared.get(folder) == stamp:
        return
    for name, expected in sums.items():
        if _sum_of(folder / name) != expected:
            raise ValueError(f"{name} is not the file that was built: its checksum differs")
    _compared[folder] = stamp


def link(folder: Path, place: Path) -> None:
    """Make a generation's files those of `place` too; OSError or ValueError when they or their list are damaged."""
    sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    for name in (*sums, CHECKSUMS):
        link_file(folder / name, place / name)


def link_file(file: Path, place: Path) -> None:
    """Make a file that of the path `place` too: by a link, or a copy on another disk and on one without links."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, place)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, place)


def _sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
