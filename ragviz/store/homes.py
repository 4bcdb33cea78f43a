"""Whose SQLite file a home has: one that was copied while it was used is found before it is read.

A home notes its path, and the number that its disk gave to the file. A copy has another number. When it was made of a
file in use, a part of what was written may still stand in the log beside it (`-wal`), and file and log may be of two
moments: no examination of the pages can tell.
"""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ragviz.core.errors import StorageError
from ragviz.store import copies

FILE = "ragviz.db"
NOTE = "ragviz.db.json"
RESTORING = "ragviz-restore-"
"""How a folder in the home begins that holds what is being restored: its database is moved out of it last."""
_log = logging.getLogger("ragviz")


def examine(home: Path) -> None:
    """Do nothing when a home may be opened, which takes a millisecond; a copy is examined as a whole, once.

    Raises:
        StorageError: its database is a copy of one in use, or a damaged one, or is being restored.

    """
    file = home / FILE
    if not file.exists() or not file.stat().st_size:
        if any(home.glob(f"{RESTORING}*/{FILE}")):
            raise StorageError(
                f"{home} is being restored, or that was interrupted: wait for its end, or run `ragviz restore` again."
            )
        return
    noted = _noted(home)
    if noted == _identity(home):
        return
    if noted is not None and noted["inode"] == file.stat().st_ino:  # it was moved
        note(home)
        return
    if noted is None:
        _refuse_damaged(home, copies.damage_of(file))
        return
    log = file.with_name(f"{file.name}-wal")
    if noted["path"] != str(home) and log.exists() and log.stat().st_size:
        raise StorageError(
            f"{home} is a copy of {noted['path']} that was made while that was used, or after its process was killed: "
            "its database may hold halves of changes. Make a backup of the original (`ragviz backup FILE`), and bring "
            "it here (`ragviz restore FILE --replace`). Without an original, `ragviz doctor --adopt` examines the copy "
            "and keeps it."
        )
    adopt(home)


def adopt(home: Path) -> None:
    """Examine all of a copied database, and note that it is this home's; StorageError when it is damaged or torn."""
    if not (reason := copies.damage_of(home / FILE)):
        with closing(sqlite3.connect(home / FILE)) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                reason = "it has no tables: they stood in the log beside it, which was not copied"
    _refuse_damaged(home, reason)
    _log.warning("%s is a copy; its database was examined and is sound.", home)
    note(home)


def _refuse_damaged(home: Path, reason: str) -> None:
    if reason:
        raise StorageError(
            f"The database that was copied to {home} is damaged ({reason}): restore a backup with `ragviz restore FILE "
            "--replace`, or copy the original again while nothing uses it."
        )


def note(home: Path) -> None:
    """Note that the database in a home is its own; a home that may only be read stays without a note."""
    temporary = home / f"{NOTE}.{secrets.token_hex(4)}"
    with suppress(OSError):
        if _noted(home) != (identity := _identity(home)):
            temporary.touch(mode=0o600)
            temporary.write_text(json.dumps(identity), encoding="utf-8")
            temporary.replace(home / NOTE)


def _identity(home: Path) -> dict[str, Any]:
    return {"path": str(home), "inode": (home / FILE).stat().st_ino}


def _noted(home: Path) -> dict[str, Any] | None:
    """Return what was noted, None for nothing; a note that is damaged counts as none."""
    try:
        noted = json.loads((home / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return noted if isinstance(noted, dict) and noted.keys() == {"path", "inode"} else None
