"""Files that are imported, as bytes, paths, folders or inside a .zip: read by line; what is wrong with a row."""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from ragviz.core.errors import InputError, UnreadableFile
from ragviz.documents import corpora, tables_in
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

LONGEST_LINE = 2**24
"""Characters of a line that is read: a longer one would not be a row."""
MOST_WHOLE = 2**30
"""Bytes of a file that is not read line by line, at most."""
MOST_UNPACKED = 8 * 2**30
"""Bytes that the files of a .zip may have together once unpacked."""
_HEAD = 2**16
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError)
"""What reading a file or a member of a .zip raises where it is damaged, encrypted or gone."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row of a file, and what to do; of a SQuAD file the row is the question's number in it.

    `kept` says that the row was imported all the same, as the reason tells.
    """

    file: str
    row: int
    reason: str
    kept: bool = False

    @property
    def words(self) -> str:
        """Where it is, and what is wrong: "q.csv, row 3: has no question"."""
        return f"{self.file}, row {self.row}: {self.reason}"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file by its name, with its folders inside what was given; `opened` opens its bytes.

    Everything that is read of it raises InputError where it cannot be read.
    """

    name: str
    opened: Callable[[], IO[bytes]]

    @contextmanager
    def _reading(self) -> Iterator[IO[bytes]]:
        try:
            with self.opened() as file:
                yield file
        except _BROKEN as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"'{self.name}' cannot be read ({why}): is it there, and whole?") from None

    def head(self) -> str:
        """Return the beginning of its text."""
        with self._reading() as file:
            data = file.read(_HEAD)
        return data.decode(_encoding(data), "replace").lstrip("\ufeff \t\r\n")

    def data(self) -> bytes:
        """Return its bytes."""
        with self._reading() as file:
            data = file.read(MOST_WHOLE + 1)
        if len(data) > MOST_WHOLE:
            raise InputError(
                f"'{self.name}' has more than {MOST_WHOLE // 2**20:,} MB: make it JSON Lines, or divide it."
            )
        return data

    def text(self) -> str:
        """Return its whole text; InputError where it is not UTF-8, and has no mark of another encoding."""
        data = self.data()
        try:
            return data.decode(_encoding(data))
        except UnicodeDecodeError:
            raise InputError(
                f"'{self.name}' is not UTF-8, nor UTF-16 or UTF-32 with a mark: save it in UTF-8."
            ) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that is not blank, one at a time, without its end.

        Bytes that are not of the file's encoding become lone surrogates, which `readable` finds. A line of more than
        `LONGEST_LINE` characters raises InputError.
        """
        with self._reading() as file:
            encoding = _encoding(file.read(_HEAD))
        with (
            self._reading() as file,
            io.TextIOWrapper(cast(Any, file), encoding, "surrogateescape", "\n") as text,
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

    def readable_lines(self, problems: list[Problem]) -> Iterator[tuple[int, str]]:
        """Yield the lines of the file's encoding; another one becomes a problem."""
        for number, line in self.lines():
            if line.isascii() or not any("\udc80" <= character <= "\udcff" for character in line):
                yield number, line
            else:
                problems.append(Problem(self.name, number, "is not UTF-8: save the file in UTF-8"))

    def objects(self, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the JSON object of each line with its number; a line that holds none becomes a problem."""
        for number, line in self.readable_lines(problems):
            try:
                value = parsed(line)
            except ValueError as error:
                problems.append(Problem(self.name, number, f"is not JSON that can be read: {error}"))
                continue
            if not isinstance(value, dict):
                problems.append(Problem(self.name, number, "is not a JSON object"))
            elif is_deep(value):
                problems.append(Problem(self.name, number, f"has lists or objects nested more than {NESTED} deep"))
            else:
                yield number, cast(Mapping[str, Any], storable(value))


def _encoding(head: bytes) -> str:
    """Return the encoding of a file by its mark, else UTF-8: a guess could be wrong, and nobody would notice."""
    return next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), "utf-8")


def unpacked(data: bytes) -> int:
    """Return the number of bytes that were given, of a .zip those of the files in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(info.file_size for info in archive.infolist())
    except (*_BROKEN, ValueError):
        return len(data)


def from_bytes(name: str, data: bytes) -> list[InputFile]:
    """Return the files in bytes that were given: of a .zip its members, of a table its rows."""
    if kind := tables_in.kind_of(data[:4], name):
        lines = tables_in.as_lines(data, kind, name)
        return [InputFile(name, partial(io.BytesIO, lines))]
    if zipfile.is_zipfile(io.BytesIO(data)):
        return _members(name, partial(io.BytesIO, data))
    return [InputFile(name, partial(io.BytesIO, data))]


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
        return [InputFile(inside, partial(_opened, each)) for inside, each in files if isinstance(each, Path)]
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
    return _members(name, lambda: path) if is_zip else [InputFile(name, partial(_opened, path))]


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _members(name: str, source: Callable[[], Path | IO[bytes]]) -> list[InputFile]:
    """Return the files in a .zip, which is opened again for each that is read."""
    try:
        with zipfile.ZipFile(source()) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except (*_BROKEN, ValueError) as error:
        raise InputError(f"'{name}' is a .zip that cannot be read ({error}): make it again.") from None
    infos = [i for i in infos if not any(part.startswith((".", "__MACOSX")) for part in i.filename.split("/"))]
    if any(info.flag_bits & 1 for info in infos):
        raise InputError(f"'{name}' is encrypted: unpack it, and import the folder.")
    if (size := sum(info.file_size for info in infos)) > MOST_UNPACKED:
        raise InputError(
            f"'{name}' unpacks to {size / 2**30:.0f} GB, more than {MOST_UNPACKED // 2**30}: import the folder."
        )

    def opened(info: zipfile.ZipInfo) -> IO[bytes]:
        with zipfile.ZipFile(source()) as archive:
            return archive.open(info)  # it keeps the archive's file open until it is closed itself

    return [InputFile(info.filename, partial(opened, info)) for info in infos]
