"""RAGVIZ_HOME: its permissions, and errors of the disk as messages with the next step."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ragviz.core.errors import StorageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
_BROKEN = (errno.EIO, errno.EFBIG, errno.ESTALE)
NOTHING = 2**20
"""Free bytes below which a disk counts as full, when a write to it failed."""
FOLDERS = ("indexes", "logs", "uploads")
"""Folders of ragviz in its home."""


def create_home(home: Path) -> None:
    """Create `home`, and what ragviz keeps texts in, readable by this user only; what exists keeps its permissions.

    Raises:
        OSError: `home` cannot be created, or is a file.

    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in FOLDERS:
        with suppress(OSError):  # it exists, or the home may only be read
            (home / name).mkdir(mode=0o700)


def full(place: Path | None) -> StorageError:
    """Return the error for a full disk of `place`; None, as for an open file, means the home."""
    where = f"{place} is full{_free(place)}" if place else "RAGVIZ_HOME is full"
    return StorageError(
        f"The disk that holds {where}: make room there, or set RAGVIZ_HOME to a folder on another disk, then try "
        "again. What was finished is kept."
    )


def unwritable(place: Path, reason: str) -> StorageError:
    """Return the error for a `place` that this user may not write, or not even read."""
    closed = os.access(place, os.F_OK) and not os.access(place, os.R_OK)
    in_folder = os.path.isdir(place.parent)  # noqa: PTH112 - `Path.is_dir` raises where one may not look
    closed = closed or (in_folder and not os.access(place.parent, os.X_OK))
    done, right = ("read", "read and write") if closed else ("written", "write")
    return StorageError(
        f"{place} cannot be {done} ({reason}): give the user that runs ragviz the right to {right} there, or set "
        "RAGVIZ_HOME to a folder of its own."
    )


def is_full(place: Path) -> bool:
    """Return whether the disk where `place` is, or would be, is full."""
    usage = _usage(place)
    return usage is not None and usage < NOTHING


def explained(error: OSError) -> StorageError | None:
    """Return an error of the disk as a message for the user; None for any other error.

    >>> print(explained(PermissionError(13, "Permission denied", "/data/logs")))
    /data/logs cannot be written (Permission denied): give the user that runs ragviz the right to write there, or set \
RAGVIZ_HOME to a folder of its own.
    >>> print(explained(OSError(28, "No space left on device")))
    The disk that holds RAGVIZ_HOME is full: make room there, or set RAGVIZ_HOME to a folder on another disk, then try \
again. What was finished is kept.
    >>> explained(ConnectionResetError(104, "Connection reset by peer")) is None
    True
    """
    place = Path(str(error.filename)) if error.filename is not None else None
    if error.errno in _FULL:
        return full(place)
    if error.errno in _REFUSED and place is not None:
        return unwritable(place, error.strerror or "refused")
    if error.errno in _BROKEN:
        return StorageError(
            f"{place or 'A file of RAGVIZ_HOME'} could not be read or written ({error.strerror}): check the disk and "
            "the limits of this user's files, then try again."
        )
    return None


def _free(place: Path) -> str:
    usage = _usage(place)
    return "" if usage is None else f" ({usage / 2**20:,.1f} MB free)"


def _usage(place: Path) -> int | None:
    """Return the free bytes on the disk of `place`, or of the nearest existing folder above it."""
    for folder in (place, *place.parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None
