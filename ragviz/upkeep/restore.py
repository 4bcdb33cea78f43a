"""A backup brought back: into an empty home, or in place of what a home holds, which is moved aside."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Mapping, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import Engine

from ragviz.backends import generations
from ragviz.core.digests import new_id
from ragviz.core.errors import InputError, StorageError, UsageError
from ragviz.core.stopping import Progress
from ragviz.store import copies, database, homes
from ragviz.store.database import Undone
from ragviz.store.store import REVISION, refuse_foreign, unreleased
from ragviz.text.untrusted import SHORT
from ragviz.upkeep import archive
from ragviz.upkeep.archive import Contents
from ragviz.workspace import Workspace

IN_USE = 2.0
"""Seconds to wait for a database that another process uses."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was brought back, and the folder of what it replaced, "" when there was nothing."""

    contents: Contents
    replaced: str
    missing: tuple[str, ...]
    """Folders of embedding models that indexes were built with, and that are not here."""


def bring_back(workspace: Workspace, file: Path, progress: Progress, *, replace: bool = False) -> Restored:
    """Bring a backup back into the home and the database that are configured, which need not be those it was made of.

    All of it is verified before anything is written, and written beside what is there before it takes its place.
    `replace` moves what is there into a folder in the home, instead of refusing.

    Raises:
        InputError: the file is no backup, damaged, or of a newer version; nothing was written.
        UsageError: something is there; it is in use; the backup is of another kind of database.
        StorageError: there is no room.

    """
    contents = archive.verify(file, progress)
    home, url = workspace.settings.home, workspace.settings.database_url
    kind = "postgresql" if url else "sqlite"
    if contents.engine != kind:
        to = "set RAGVIZ_DATABASE_URL to an empty database" if url is None else "unset RAGVIZ_DATABASE_URL"
        raise UsageError(f"{file} holds a database of {contents.engine}, and {kind} is configured: {to}.")
    if (free := shutil.disk_usage(home).free) < contents.size:
        raise StorageError(
            f"{file} needs {contents.size / 1e9:,.1f} GB in {home}, where {free / 1e9:,.1f} are free: make room there, "
            "or set RAGVIZ_HOME to a folder on another disk. Nothing was written."
        )
    engine = database.open_engine(url.get_secret_value() if url else database.file_url(home / homes.FILE))
    aside = home / f"ragviz-replaced-{time.strftime('%Y%m%d-%H%M%S')}"
    there = url is not None or (home / homes.FILE).exists()
    replacing = there and _holds_anything(engine, aside, replace=replace)
    for left in home.glob(f"{homes.RESTORING}*"):
        shutil.rmtree(left)
    staged = home / f"{homes.RESTORING}{new_id()}"
    staged.mkdir(mode=0o700)
    try:
        if url is not None:
            database.retried(lambda: _refuse_in_use(engine), IN_USE)
        archive.extract(file, contents, staged, progress)
        if url is None:
            _prepare_file(staged / homes.FILE, home, contents)
            if there:
                _clear(home / homes.FILE, aside if replacing else None)
        else:
            _refuse_unreleased(contents, copies.columns_of_dump(engine, staged / archive.DATABASES[kind]))
            _bring_into_server(engine, home, staged, aside if replacing else None, progress)
        _move_in(home, staged, aside, replacing=replacing)
        with copies.snapshot(engine) as snapshot:
            names = sorted({info.config.embedder for info in snapshot.indexes()})
        missing = tuple(name for name in names if Path(name).is_absolute() and not Path(name).exists())
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        engine.dispose()
    return Restored(contents, str(aside) if aside.exists() else "", missing)


def _holds_anything(engine: Engine, aside: Path, *, replace: bool) -> bool:
    """Return whether a database holds anything, also where it cannot be read; UsageError unless it may be replaced."""
    try:
        refuse_foreign(engine)
        if copies.is_empty(engine):
            return False
    except StorageError:  # a damaged one
        if not replace:
            raise
    finally:
        engine.dispose()  # its connections would count as somebody's who uses it
    if not replace:
        raise UsageError(
            f"{database.shown(engine)} is not empty, and nothing was written: set RAGVIZ_HOME, or RAGVIZ_DATABASE_URL, "
            f"to an empty one, or give --replace, which moves what is there into {aside}."
        )
    return True


def _refuse_in_use(engine: Engine) -> None:
    """Be `Undone` while others are connected to a server's database; without a user are the server's own."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with database.reading(engine) as connection:
        others = connection.exec_driver_sql(f"{query} AND usesysid IS NOT NULL").scalar_one()
    if others:
        raise Undone(
            UsageError(
                f"{database.shown(engine)} is in use by {others} other connection{'s' * (others != 1)}, and nothing "
                "was replaced: end the dashboards, workers, jobs and commands that use it, then restore again."
            )
        )


_FOREIGN = "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'"
"""Query of what a database of ours never has, and what would run by itself when it is used."""


def _refuse_unreleased(contents: Contents, columns: Mapping[str, Set[str]]) -> None:
    reason = unreleased(columns) if contents.revision == REVISION else ""
    if reason:
        raise InputError(f"The database of the backup {reason}: take another backup. Nothing was written.")


def _prepare_file(file: Path, home: Path, contents: Contents) -> None:
    """Make an extracted SQLite file that of the home."""
    engine = database.open_engine(database.file_url(file))
    with database.reading(engine) as connection:
        foreign = connection.exec_driver_sql(_FOREIGN).scalars().all()
        if not foreign:
            _refuse_unreleased(contents, copies.columns_of(connection))
    if not foreign:
        copies.settle_jobs(engine, home)
    engine.dispose()
    if foreign:
        raise InputError(
            f"The database of the backup has a trigger, a view or a virtual table, {foreign[0][:SHORT]!r}, and ragviz "
            "makes none: take another backup. Nothing was written."
        )
    if reason := copies.damage_of(file):
        raise InputError(f"The database of the backup is damaged ({reason}): take another backup.")


def _clear(file: Path, aside: Path | None) -> None:
    """Move a SQLite file out of the way, or delete an empty one; UsageError when another process has it open."""
    with closing(sqlite3.connect(file, timeout=IN_USE)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")  # what is in its log comes into it
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise UsageError(
                    f"{file} is in use, and nothing was replaced: end the dashboard, jobs and commands that use it "
                    f"(`fuser {file}` names them), then restore again."
                ) from None
            if aside is None:
                raise
    for path in (file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm", "")):
        if path.exists():
            path.unlink() if aside is None else _move(path, aside)


def _bring_into_server(engine: Engine, home: Path, staged: Path, aside: Path | None, progress: Progress) -> None:
    """Restore the database of a server; a copy of what it replaces is kept."""
    name = archive.DATABASES["postgresql"]
    if aside is not None:
        aside.mkdir(mode=0o700)
        with copies.snapshot(engine) as snapshot:
            snapshot.write(aside / name, progress)
    progress(0, None, "", "Restoring the database")
    copies.bring_back(engine, staged / name)
    copies.settle_jobs(engine, home)
    (staged / name).unlink()


def _move_in(home: Path, staged: Path, aside: Path, *, replacing: bool) -> None:
    """Put what was extracted in its place, the database last: a home without it is not opened.

    A home may be a folder that had files of its own: in an empty home they stay.
    """
    for name in database.FOLDERS:
        incoming = {path.name: path for path in (staged / name).glob("*")}
        (home / name).mkdir(mode=0o700, exist_ok=True)
        for path in list((home / name).iterdir()):
            if replacing or path.name in incoming:
                _move(path, aside / name)
        for path in incoming.values():
            path.rename(home / name / path.name)
        if incoming:
            (staged / name).rmdir()
    for file in staged.iterdir():
        file.rename(home / file.name)
    homes.note(home)
    generations.sync_folder(home)


def _move(path: Path, aside: Path) -> None:
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.rename(aside / path.name)
