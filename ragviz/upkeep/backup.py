"""A backup: one file of a home and its database, as they are at one moment, while others use them."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import ragviz
from ragviz.backends import generations, local
from ragviz.backends.local import LocalIndex
from ragviz.core import processes
from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import new_id
from ragviz.core.errors import DamagedIndex, InputError, UsageError
from ragviz.core.stopping import Progress
from ragviz.index import damage
from ragviz.store.copies import Snapshot
from ragviz.store.store import REVISION
from ragviz.upkeep import archive
from ragviz.upkeep.archive import Contents
from ragviz.workspace import Workspace

ELSEWHERE = "it is on Elasticsearch, which keeps it; where that is gone, too, building it embeds nothing again"
STAGED = "ragviz-backup-"
"""How a folder in the home begins that holds what is being copied."""


def back_up(workspace: Workspace, file: Path, progress: Progress) -> Contents:
    """Write a backup: the database with all that it keeps, local indexes, uploads that wait, and logs; no keys.

    Raises:
        UsageError: `file` exists.
        InputError: it cannot be written.
        StorageError: the database is damaged, or the disk is full.

    """
    if os.path.lexists(file):
        raise UsageError(f"{file} exists, and was not touched: name another file.")
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file} cannot be written: there is no folder {file.absolute().parent}.")
    home = workspace.settings.home
    for left in home.glob(f"{STAGED}*"):
        if local.is_left_over(left):
            shutil.rmtree(left, ignore_errors=True)
    staged, partial = home / f"{STAGED}{new_id()}", file.with_name(f"{file.name}.partial")
    staged.mkdir(mode=0o700)
    try:
        generations.save_text(staged / "owner.json", json.dumps(processes.this_process()))
        with _matching(workspace, staged) as (snapshot, held):
            engine = snapshot.engine.dialect.name
            snapshot.write(staged / archive.DATABASES[engine], progress)
            for path in (*home.glob("uploads/*/*"), *home.glob("logs/*")):
                name = path.relative_to(home).as_posix()  # other files that are there stay out
                if archive.is_name(name) and path.is_file() and not path.is_symlink():
                    with suppress(FileNotFoundError):  # it was read meanwhile, and deleted
                        generations.link_file(path, staged / name)
        kept = held.kept(staged)
        contents = Contents(
            archive.FORMAT, ragviz.__version__, REVISION, engine, time.time(), sorted(kept), held.rebuilt
        )  # fmt: skip
        paths = {path.relative_to(staged).as_posix(): path for path in sorted(staged.rglob("*")) if path.is_file()}
        archive.write(partial, contents, {n: p for n, p in paths.items() if n != "owner.json"}, progress)
        partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)
        shutil.rmtree(staged, ignore_errors=True)
    return contents


@dataclass(slots=True)
class _Held:
    """The local indexes whose files were linked: the folder of each, by name; and why the others were not."""

    folders: dict[str, Path] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    """Digest of the content by the index's id."""
    rebuilt: dict[str, str] = field(default_factory=dict)

    def kept(self, staged: Path) -> list[str]:
        """Return the names of those that are undamaged; the files of the others, and of deleted ones, are dropped."""
        for name, folder in list(self.folders.items()):
            [generation] = folder.glob("gen-*")
            try:
                generations.compare_checksums(generation)
            except local.DAMAGE as error:
                del self.folders[name]
                self.rebuilt[name] = f"it is damaged: {error}"
        for folder in (staged / "indexes").glob("*"):
            if folder not in self.folders.values():
                shutil.rmtree(folder)
        return list(self.folders)


@contextmanager
def _matching(workspace: Workspace, staged: Path) -> Iterator[tuple[Snapshot, _Held]]:
    """Yield a snapshot of the database, and the indexes as it knows them.

    Their files are linked a moment before. Where a build was published in that moment, or its row is not written yet,
    both are taken anew, for as long as publishing may take.
    """
    deadline = time.monotonic() + damage.PUBLISHING_SECONDS
    while True:
        held = _Held()
        for info in workspace.store.indexes.all():
            _hold(workspace, info, staged, held)
        with workspace.store.snapshot() as snapshot:
            listed = snapshot.indexes()
            torn = [
                info.name
                for info in listed
                if info.build and info.name not in held.rebuilt
                if held.contents.get(info.id) != damage.note_content(info, snapshot.cuts(info.build))
            ]  # what was linked is another build than that of the row
            if not torn or time.monotonic() > deadline:
                there = {info.name for info in listed}.difference(torn)
                held.folders = {name: folder for name, folder in held.folders.items() if name in there}
                held.rebuilt |= dict.fromkeys(torn, "its files are not those of the build that the database knows")
                yield snapshot, held
                return
        time.sleep(0.1)


def _hold(workspace: Workspace, info: IndexInfo, staged: Path, held: _Held) -> None:
    """Link the files of an index, or say why it has to be built again."""
    index = workspace.index(info) if info.config.backend == "local" else None
    if not isinstance(index, LocalIndex):
        held.rebuilt[info.name] = ELSEWHERE
        return
    folder = staged / "indexes" / index.folder.name
    try:
        content = local.hold(index, folder)
    except DamagedIndex as error:
        held.rebuilt[info.name] = f"it is damaged: {error.reason}"
        return
    if content is not None:
        held.folders[info.name], held.contents[info.id] = folder, content
    elif info.build:
        held.rebuilt[info.name] = "its files are not on this machine"
