"""Files that are imported, as bytes, paths, folders or inside a .zip: read by line; what is wrong with a row."""

from __future__ import annotations

import codecs
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ragviz.core.errors import InputError, UnreadableFile
from ragviz.documents import corpora, tables_in
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

LONGEST_LINE = 2**24
"""Characters of a line that is read: a longer one would not be a row."""
_HEAD = 2**16
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row of a file, and what to do; of a SQuAD file the row is the question's number in it.

    `kept` says that the row was imported all the same, as the reason tells.
    """

    file: str
    row: int
    reason: str
    kept: bool = False


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file by its name, with its folders inside what was given; `opened` opens its bytes."""

    name: str
    opened: Callable[[], IO[bytes]]

    def head(self) -> str:
        """Return the beginning of its text."""
        with self.opened() as file:
            data = file.read(_HEAD)
        return data.decode(_encoding(data), "replace")

    def data(self) -> bytes:
        """Return its bytes."""
        with self.opened() as file:
            return file.read()

    def text(self) -> str:
        """Return its whole text.

        Raises:
            InputError: it is not UTF-8, and has no mark of another encoding.

        """
        data = self.data()
        try:
            return data.decode(_encoding(data))
        except UnicodeDecodeError:
            raise InputError(
                f"'{self.name}' is not UTF-8, nor UTF-16 or UTF-32 with a mark: save it in UTF-8."
            ) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that is not blank, one at a time, without its end.

        Bytes that are not of the file's encoding become lone surrogates, which `readable` finds.

        Raises:
            InputError: a line has more than `LONGEST_LINE` characters.

        """
        with self.opened() as file:
            data = file.read(_HEAD)
        with (
            self.opened() as file,
            io.TextIOWrapper(cast(Any, file), _encoding(data), "surrogateescape", "\n") as text,
        ):
            number = 0
            while line := text.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        f"Line {number} of '{self.name}' has more than {LONGEST_LINE:,} characters: it is not one row "
                        "a line."
                    )
                if line.strip():
                    yield number, line.rstrip("\r\n").removeprefix("\ufeff")


def objects(file: InputFile, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the JSON object of each line of a file with its number; a line that holds none becomes a problem."""
    for number, line in file.lines():
        reason, value = "", None
        if not readable(line):
            reason = "is not UTF-8: save the file in UTF-8"
        else:
            try:
                value = parsed(line)
            except ValueError as error:
                reason = f"is not JSON that can be read: {error}"
        if not reason and not isinstance(value, dict):
            reason = "is not a JSON object"
        elif not reason and is_deep(value):
            reason = f"has lists or objects nested more than {NESTED} deep"
        if reason:
            problems.append(Problem(file.name, number, reason))
        else:
            yield number, cast(Mapping[str, Any], storable(value))


def readable(line: str) -> bool:
    """Return whether a line of `InputFile.lines` holds no byte that is not of the file's encoding."""
    return line.isascii() or not any("\udc80" <= character <= "\udcff" for character in line)


def _encoding(head: bytes) -> str:
    """Return the encoding of a file by its mark, else UTF-8: a guess could be wrong, and nobody would notice."""
    return next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), "utf-8")


MOST_UNPACKED = 8 * 2**30
"""Bytes that the files of a .zip may have together once unpacked."""


def from_bytes(name: str, data: bytes) -> list[InputFile]:
    """Return the files in bytes that were given: of a .zip its members, of a table its rows."""
    if kind := tables_in.kind_of(data[:4], name):
        lines = tables_in.as_lines(data, kind, name)
        return [InputFile(name, lambda: io.BytesIO(lines))]
    if zipfile.is_zipfile(io.BytesIO(data)):
        return _members(name, lambda: io.BytesIO(data))
    return [InputFile(name, lambda: io.BytesIO(data))]


def from_paths(named: Sequence[tuple[str, Path]]) -> list[InputFile]:
    """Return the files at paths, by the name of each: those in a folder, the members of a .zip, the file itself.

    Raises:
        InputError: a path does not exist or cannot be opened, or a .zip is damaged, encrypted or too big.

    """
    for _, path in named:
        if not path.exists():
            raise InputError(f"The file {path} cannot be opened: No such file or folder.")
    return [file for name, path in named for file in _at(name, path)]


def _at(name: str, path: Path) -> list[InputFile]:
    files = corpora.files_under([path])
    if path.is_dir():
        return [InputFile(inside, _opening(each)) for inside, each in files if isinstance(each, Path)]
    for _, each in files:
        if isinstance(each, UnreadableFile):
            raise InputError(f"{path} cannot be read: {each}")
    try:
        with path.open("rb") as file:
            if tables_in.kind_of(file.read(4), path.name):
                return from_bytes(name, path.read_bytes())
        is_zip = zipfile.is_zipfile(path)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from None
    return _members(name, _opening(path)) if is_zip else [InputFile(name, _opening(path))]


def _opening(path: Path) -> Callable[[], IO[bytes]]:
    def opened() -> IO[bytes]:
        try:
            return path.open("rb")
        except OSError as error:
            raise InputError(f"{path} cannot be opened: {error.strerror}.") from None

    return opened


def _members(name: str, opened: Callable[[], IO[bytes]]) -> list[InputFile]:
    """Return the files in a .zip, which is opened again for each that is read."""
    try:
        with opened() as file, zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir() and _is_wanted(info.filename)]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"'{name}' is a .zip that cannot be read ({error}): make it again.") from None
    if any(info.flag_bits & 1 for info in infos):
        raise InputError(f"'{name}' is encrypted: unpack it, and import the folder.")
    if (size := sum(info.file_size for info in infos)) > MOST_UNPACKED:
        raise InputError(
            f"'{name}' unpacks to {size / 2**30:.0f} GB, more than {MOST_UNPACKED // 2**30}: import the folder."
        )
    return [InputFile(info.filename, _member(name, opened, info)) for info in infos]


def _is_wanted(member: str) -> bool:
    parts = member.split("/")
    return not any(part.startswith((".", "__MACOSX")) for part in parts)


def _member(name: str, opened: Callable[[], IO[bytes]], info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    def open_member() -> IO[bytes]:
        try:
            return cast(IO[bytes], _Member(opened(), info))
        except (zipfile.BadZipFile, NotImplementedError, OSError, RuntimeError) as error:
            raise InputError(f"'{info.filename}' of '{name}' cannot be read ({error}): make the .zip again.") from None

    return open_member


class _Member(io.BufferedIOBase):
    """A member of a .zip that closes its archive when it is closed; it gives no more bytes than it declares."""

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        self._file = file
        self._archive = zipfile.ZipFile(file)
        self._member = self._archive.open(info)
        self._info = info

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            return self._member.read(-1 if size is None else size)
        except (zipfile.BadZipFile, EOFError, OSError) as error:
            raise InputError(f"'{self._info.filename}' is damaged ({error}): make the .zip again.") from None

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size if size >= 0 else 2**16)

    def close(self) -> None:
        if not self.closed:
            self._member.close()
            self._archive.close()
            self._file.close()
        super().close()
