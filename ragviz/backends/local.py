"""Chunks and their vectors in plain files: exact search with NumPy, BM25 with Tantivy; no server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ragviz.backends import exact, generations
from ragviz.backends.exact import Indices
from ragviz.backends.generations import FORMAT, GENERATION, Bm25File, Generation, RowsFile
from ragviz.backends.protocol import ANOTHER_BUILD
from ragviz.core import processes
from ragviz.core.digests import digest
from ragviz.core.document import Chunk
from ragviz.core.errors import DamagedIndex, SearchError, UsageError
from ragviz.core.ranking import Ranking
from ragviz.models.vectors import Vectors
from ragviz.text import normal_form

DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError)
"""What opening a damaged generation raises."""


class LocalIndex:
    """An index in files under a folder; see `ragviz.backends.protocol.Index`.

    Every search reads the pointer `live`, so other processes see new content as soon as it is published.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder / folder_name(name)
        self._open: Generation | None = None

    def exists(self) -> bool:
        """True once something was published under the name."""
        return self.live_name() is not None

    def count(self) -> int:
        """Return the number of searchable chunks; 0 when nothing was published."""
        generation = self.live()
        return 0 if generation is None else len(generation.ids)

    def size(self) -> int:
        """Return the size of the published content on disk, in bytes."""
        name = self.live_name()
        files = () if name is None else (self.folder / name).rglob("*")
        return sum(path.stat().st_size for path in files if path.is_file())

    def check(self, expected: int, content: str = "") -> None:
        """Do nothing when `expected` chunks are published, unbroken, with the digest `content` ("": not compared)."""
        generation = self.live()
        if generation is None:
            raise DamagedIndex(self.name, f"it was removed from {self.folder}, or cannot be read there")
        if content and generation.content and generation.content != content:
            raise DamagedIndex(self.name, ANOTHER_BUILD)
        if len(generation.ids) != expected:
            raise DamagedIndex(self.name, f"it has {len(generation.ids):,} chunks, and {expected:,} were built")

    def rebuild(self, dims: int) -> LocalWriter:
        """Open a writer that starts empty; what crashed builds of this index left is deleted first."""
        if dims < 0:
            raise UsageError(f"Vectors cannot have {dims} dimensions; use at least 1, or 0 for no vectors.")
        return LocalWriter(self, dims, None)

    def update(self) -> LocalWriter:
        """Open a writer that starts from the published content."""
        generation = self.live()
        if generation is None:
            raise SearchError(f"Index {self.name!r} has nothing to update; build it first.")
        return LocalWriter(self, generation.dims, generation)

    def knn(self, vectors: Vectors, depth: int) -> list[Ranking]:
        """Return the exact nearest chunks of each row."""
        check_depth(depth)
        generation = self.live()
        if generation is None:
            return [Ranking((), ()) for _ in vectors]
        exact.require_vectors(generation.dims, f"Index {self.name!r}")
        queries = exact.checked(vectors, generation.dims, f"Index {self.name!r}")
        hits = exact.nearest(generation.rows.vectors, queries, depth)
        return [generation.ranking(rows.tolist(), scores.tolist()) for rows, scores in hits]

    def bm25(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Return the best chunks for each query by BM25 (k1 1.2, b 0.75) over `terms`; a query has no syntax."""
        check_depth(depth)
        generation = self.live()
        if generation is None:
            return [Ranking((), ()) for _ in queries]
        hit_lists = (generation.matching(normal_form.terms(query), depth) for query in queries)
        return [generation.ranking([row for _, row in hits], [score for score, _ in hits]) for hits in hit_lists]

    def drop(self) -> None:
        """Delete the index and all its files, unpublished generations too; does nothing when there is none."""
        with os_errors(self.name):
            clear_way(self)
            (self.folder / "live").unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # beyond the protocol

    def live_name(self) -> str | None:
        """Return the name of the searched generation; None when nothing is published, or the pointer names none."""
        try:
            pointer = self.folder / "live"
            name = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
        except (OSError, ValueError):  # no pointer, or something else in its place
            return None
        return name if GENERATION.fullmatch(name) else None

    def live(self) -> Generation | None:
        """Open the generation that is searched, once; DamagedIndex when it cannot be."""
        while (name := self.live_name()) is not None:
            generation = self._open
            if generation is not None and generation.name == name:
                return generation
            try:
                self._open = generations.open_generation(self.folder / name)
            except DAMAGE as error:
                if self.live_name() == name:  # otherwise it was replaced while being opened: open the new one
                    raise DamagedIndex(self.name, str(error)) from error
        self._open = None
        return None


def hold(index: LocalIndex, place: Path) -> str | None:
    """Link the published generation and its pointer below the folder `place`, where they outlive a rebuild.

    Returns the digest of the content, for `LocalIndex.check`; None when nothing is published.

    Raises:
        DamagedIndex: its files cannot be read.

    """
    while (name := index.live_name()) is not None:
        shutil.rmtree(place, ignore_errors=True)
        try:
            generations.link(index.folder / name, place / name)
            content = json.loads((place / name / "meta.json").read_text(encoding="utf-8"))["content"]
        except DAMAGE as error:
            if index.live_name() == name:
                raise DamagedIndex(index.name, str(error)) from error
        else:
            generations.save_text(place / "live", name)
            return str(content)
    return None


def folder_name(name: str) -> str:
    """Return the folder of an index's name, whatever its letters; different names, different folders on every system.

    >>> folder_name("My handbook!"), folder_name("手册")
    ('my-handbook-23f8e621d5b9', 'index-3ce099fbbf80')
    """
    readable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "index"
    return f"{readable}-{digest(name, length=12)}"


def check_depth(depth: int) -> None:
    """Refuse a depth below 1."""
    if depth < 1:
        raise UsageError(f"Depth is {depth}; use at least 1.")


class LocalWriter:
    """Fills an unpublished generation; see `ragviz.backends.protocol.Writer`.

    Added chunks are written at once; `publish` merges them, in order of ids, with what stays of `base`.
    """

    def __init__(self, index: LocalIndex, dims: int, base: Generation | None) -> None:
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
            generations.save_text(self.folder / "owner.json", json.dumps(processes.this_process()))
            self.arrived = RowsFile(self.folder / "arrived")

    def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Add `chunks` with their vectors, row by row; an id that is already there is replaced."""
        self._check_open()
        if len(vectors) != len(chunks):
            raise SearchError(f"{len(chunks)} chunks came with {len(vectors)} vectors; give one for each.")
        rows = exact.checked(vectors, self.dims, f"Index {self.index.name!r}")
        start = len(self.arrived.ends) - 1
        with os_errors(self.index.name):
            self.arrived.append((" ".join(normal_form.terms(chunk.text)) for chunk in chunks), rows)
        self.added.update((chunk.id, row) for row, chunk in enumerate(chunks, start))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks; unknown ids are ignored."""
        self._check_open()
        self.removed.update(chunk_ids)
        for chunk_id in chunk_ids:
            self.added.pop(chunk_id, None)

    def publish(self, expected: int, content: str = "") -> None:
        """Check the number of chunks, and make the content searchable; nothing is where another writer published."""
        self._check_open()
        kept = np.empty(0, np.int64)  # rows of the published content that are neither removed nor replaced
        if self.base is not None:
            kept = np.flatnonzero(~np.isin(self.base.ids, generations.encoded(self.removed | self.added.keys())))
        self._check_count(len(kept) + len(self.added), expected)
        if self.base is not None and not self.added and len(kept) == len(self.base.ids):
            self.abandon()  # nothing changed
            return
        with os_errors(self.index.name):
            self._write(kept, content)
            # Of ids, vectors and texts on the disk, which must agree.
            self._check_count(len(generations.open_generation(self.folder).ids), expected)
            self._switch()

    def abandon(self) -> None:
        """Discard what was not published; may be called at any time, also after `publish` (does nothing then)."""
        if self.open:
            self.open = False
            with contextlib.suppress(OSError):
                self.arrived.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_open(self) -> None:
        if not self.open:
            raise SearchError(f"This writer of index {self.index.name!r} is closed; open another one.")

    def _check_count(self, count: int, expected: int) -> None:
        if count != expected:
            numbers = f"Index {self.index.name!r} would hold {count:,} chunks instead of {expected:,}"
            raise SearchError(f"{numbers}; nothing was published. Build it again.")

    def _write(self, kept: Indices, content: str) -> None:
        self.arrived.close()
        arrived = generations.open_rows(self.folder / "arrived", self.dims)
        places = [(arrived, row) for row in self.added.values()]
        ids = generations.encoded(self.added)
        if self.base is not None:
            places += [(self.base.rows, row) for row in kept.tolist()]
            ids = np.concatenate([ids, self.base.ids[kept]])
        order = np.argsort(ids, kind="stable")
        rows, bm25 = RowsFile(self.folder / "rows"), Bm25File(self.folder / "bm25")
        for start in range(0, len(places), exact.BLOCK_ROWS):
            block = [places[place] for place in order[start : start + exact.BLOCK_ROWS].tolist()]
            words = [source.terms(row) for source, row in block]
            rows.append(words, np.stack([source.vectors[row] for source, row in block]))
            bm25.append(start, words)
        rows.close()
        bm25.close()
        generations.save_array(self.folder / "ids.npy", ids[order])
        meta = {"format": FORMAT, "dims": self.dims, "content": content}
        generations.save_text(self.folder / "meta.json", json.dumps(meta))
        generations.write_checksums(self.folder, ("meta.json", "ids.npy", "rows", "bm25"))

    def _switch(self) -> None:
        """Point the index at this generation, and delete the previous one."""
        shutil.rmtree(self.folder / "arrived", ignore_errors=True)
        generations.sync_folder(self.folder)
        previous = self.index.live_name()
        if self.base is not None and self.base.name != previous:
            changed = f"Index {self.index.name!r} was changed by another writer since this update began"
            raise SearchError(f"{changed}; nothing was published. Update it again.")
        generations.save_text(self.index.folder / "live", self.folder.name)
        generations.sync_folder(self.index.folder)
        self.open = False
        (self.folder / "owner.json").unlink()
        if previous is not None:
            shutil.rmtree(self.index.folder / previous, ignore_errors=True)  # its readers keep their open files


@contextlib.contextmanager
def os_errors(name: str) -> Iterator[None]:
    """Turn errors of the disk into a SearchError (Tantivy raises ValueError)."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise SearchError(
            f"Index {name!r} cannot be written ({error}); check the disk's space and permissions, and build it again."
        ) from error


def clear_way(index: LocalIndex) -> None:
    """Delete a file in place of an index's folder, and a folder in place of its pointer; SearchError for others."""
    place = index.folder.parent
    if os.path.lexists(place) and not place.is_dir():
        kind = f"a link to {place.readlink()}, where no folder is" if place.is_symlink() else "no folder"
        raise SearchError(f"{place} is {kind}: bring the folder back or move this away, then build the indexes again.")
    if index.folder.is_file():
        index.folder.unlink()
    if (index.folder / "live").is_dir():
        shutil.rmtree(index.folder / "live")


def sweep(index: LocalIndex) -> None:
    """Delete generations that are neither searched nor written by a running process, and what is in the index's way."""
    clear_way(index)
    live = index.live_name()
    for folder in index.folder.glob("gen-*"):
        if folder.name != live and is_left_over(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_left_over(folder: Path) -> bool:
    """True when the process that wrote a generation has ended, or, on another machine, a day has passed."""
    try:
        path = folder / "owner.json"
        owner = json.loads(path.read_text(encoding="utf-8") if path.is_file() else "")
    except (OSError, ValueError):  # being made just now, or already replaced
        owner = None
    try:
        return processes.has_ended(owner, folder.stat().st_mtime)
    except FileNotFoundError:
        return True
