"""The file of a backup: a zip of a database and the files of a home, with a list of their sizes and checksums.

A name in it is that of the file in the home, but for the database's. Everything is compared with the list, and the list
with what is read, before anything of it is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress
from ragviz.store import homes
from ragviz.store.store import REVISION
from ragviz.text.untrusted import SHORT, first_fault, one_line, parsed

FORMAT = 1
"""Version of the file; those of a newer one are refused."""
LIST = "backup.json"
DATABASES = {"sqlite": homes.FILE, "postgresql": "database.dump"}
"""What the database is called, by its engine."""
LIST_LIMIT = 64 * 2**20
"""Bytes of the list at most, that of hundreds of thousands of files: a small zip may hold gigabytes."""
PIECE = 2**20
_PLAIN = (".f32", ".dump")
"""Files that hardly become smaller: vectors, and what is compressed already."""
_NAME = re.compile(r"(ragviz\.db|database\.dump|(indexes|uploads|logs)(/\.?\w[\w.-]*)+)", re.ASCII)


@dataclass(slots=True)
class Contents:
    """What a backup holds, by its own list."""

    format: int
    version: str
    """The version of ragviz that wrote it."""
    revision: str
    """The revision of the database's tables."""
    engine: str
    created: Annotated[float, Field(ge=0, le=1e11)]
    """In seconds since 1970."""
    kept: list[str]
    """Names of the indexes whose files are in it."""
    rebuilt: dict[str, str]
    """Names of the other indexes, with the reason why they have to be built again."""
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Size in bytes and SHA-256 of each file, by its name."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _ in self.files.values())


def is_name(name: str) -> bool:
    """Return whether a backup may hold a file of this name."""
    return _NAME.fullmatch(name) is not None


def write(file: Path, contents: Contents, sources: Mapping[str, Path], progress: Progress) -> None:
    """Write a backup of the `sources`, by their names in it; their sizes and checksums are noted in `contents`."""
    total, done = sum(path.stat().st_size for path in sources.values()), 0
    with zipfile.ZipFile(file, "w", compresslevel=1) as archive:
        for name, path in sources.items():
            entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(_PLAIN) else zipfile.ZIP_DEFLATED
            digest, size = hashlib.sha256(), 0
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while piece := source.read(PIECE):
                    target.write(piece)
                    digest.update(piece)
                    size += len(piece)
                    progress((done + size) // PIECE, total // PIECE, "MB", "Writing")
            done += size
            contents.files[name] = (size, digest.hexdigest())
        archive.writestr(LIST, json.dumps(asdict(contents)))
    with file.open("rb") as written:
        os.fsync(written.fileno())


def verify(file: Path, progress: Progress) -> Contents:
    """Return what a backup holds, after all of it was compared with its list.

    Raises:
        InputError: it is no backup, cut, damaged, or of a newer version of ragviz; it names a file outside a home.

    """
    with _open(file) as archive:
        contents = _contents(file, archive)
    _read(file, contents, None, progress)
    return contents


def extract(file: Path, contents: Contents, folder: Path, progress: Progress) -> None:
    """Write the files of a backup that was verified below `folder`, each with the checksum of its list."""
    _read(file, contents, folder, progress)


def _read(file: Path, contents: Contents, folder: Path | None, progress: Progress) -> None:
    """Compare the files of a backup with its list, and write them below `folder`, if there is one."""
    done, words = 0, "Writing" if folder else "Comparing checksums"
    with _open(file) as archive:
        for name, (size, expected) in contents.files.items():
            path = Path(os.devnull) if folder is None else folder / name
            if folder is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600, exist_ok=False)
            digest = hashlib.sha256()
            with path.open("wb") as target:

                def take(piece: bytes, digest: Any = digest, target: IO[bytes] = target) -> None:
                    nonlocal done
                    digest.update(piece)
                    target.write(piece)
                    done += len(piece)
                    progress(done // PIECE, contents.size // PIECE, "MB", words)

                written = _pieces(file, archive, name, size, take)
                if folder is not None:
                    target.flush()
                    os.fsync(target.fileno())
            if written != size or digest.hexdigest() != expected:
                raise _damaged(file, f"{name} is not as it was written")


def _open(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except OSError as error:
        raise InputError(f"The file {file} cannot be opened: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, ValueError):
        raise _damaged(file, "it is no zip file, or its end is missing") from None


def _contents(file: Path, archive: zipfile.ZipFile) -> Contents:
    """Return the list of a backup, once it agrees with the names of its files."""
    names = archive.namelist()
    if LIST not in names:
        raise InputError(f"{file} is no backup of ragviz: it has no {LIST}. Nothing was written.")
    text = bytearray()
    too_long = archive.getinfo(LIST).file_size > LIST_LIMIT
    if too_long or _pieces(file, archive, LIST, LIST_LIMIT, text.extend) > LIST_LIMIT:
        raise _damaged(file, f"{LIST} is longer than {LIST_LIMIT // 2**20} MB")
    try:
        listed = parsed(text.decode())
        format_of, version = int(listed["format"]), one_line(str(listed["version"])[:SHORT])
        newer = format_of > FORMAT or int(listed["revision"]) > int(REVISION)
    except (ValueError, OverflowError, TypeError, KeyError) as error:
        raise _damaged(file, f"{LIST} cannot be read: {error}") from None
    if newer:
        raise InputError(
            f"{file} was written by ragviz {version}, a newer version: upgrade ragviz. Nothing was written."
        )
    try:
        contents = TypeAdapter(Contents).validate_python(listed)
    except ValidationError as error:
        raise _damaged(file, f"{LIST} cannot be read: {one_line(first_fault(error))}") from None
    if outside := next((name for name in names if name != LIST and not is_name(name)), None):
        raise _damaged(file, f"it names the file {outside!r}, which no home has")
    if sorted(names) != sorted([*contents.files, LIST]) or DATABASES.get(contents.engine) not in contents.files:
        raise _damaged(file, f"its files are not those of its {LIST}")
    return contents


_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError, OSError)
"""What reading a damaged zip file raises."""


def _pieces(file: Path, archive: zipfile.ZipFile, name: str, size: int, take: Callable[[bytes], None]) -> int:
    """Hand out a file of a backup in pieces, up to one byte more than its `size`; return how many bytes it was."""
    read = 0
    try:
        source = archive.open(name)
    except _BROKEN as error:
        raise _damaged(file, f"{name} cannot be read: {error}") from None
    with source:
        while read <= size:
            try:
                piece = source.read(min(PIECE, size + 1 - read))
            except _BROKEN as error:
                raise _damaged(file, f"{name} cannot be read: {error}") from None
            if not piece:
                break
            take(piece)
            read += len(piece)
    return read


def _damaged(file: Path, reason: str) -> InputError:
    return InputError(f"{file} is damaged ({reason}): take another backup. Nothing was written.")
