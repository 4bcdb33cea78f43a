"""A file that is imported, read line by line, and what is wrong with a row of it."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, cast

from ragviz.core.errors import InputError
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
