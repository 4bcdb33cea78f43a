"""A file in which another program logged what it read, answered and perhaps judged, in one of several formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from ragviz.core.verdict import Matrix
from ragviz.targets.target import Target


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the file of ours whose `read` reads it, the files' extension, and what they hold.

    Our file is loaded when it is needed.
    """

    module: str
    extension: str
    explanation: str


FORMATS: Mapping[str, Format] = {
    "ragchecker": Format(
        "ragviz.targets.ragchecker",
        "json",
        "the input or output of RAGChecker, a JSON object with `results`: question, reference, response, passages, and "
        "of its output the claims of both and the verdicts on them.",
    ),
}
"""Format by name: a new one is a file, and its entry here."""


@dataclass(frozen=True, slots=True)
class LoggedItem:
    """A question that another program answered: its contexts as (name, text), in the order in which they were read.

    `answer` is None where the file holds none. The `matrix`, where the file holds verdicts, names its chunks by their
    place: "0", "1" …
    """

    id: str
    question: str
    reference: str
    answer: str | None
    contexts: tuple[tuple[str, str], ...]
    matrix: Matrix | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """The readable items of a file, a sentence on each that is not readable, and the format."""

    items: tuple[LoggedItem, ...]
    problems: tuple[str, ...]
    origin: str


def reader(file_format: str) -> Callable[[bytes, str], Log]:
    """Return what reads a format's files, given the content, and the name for errors."""
    return cast(Callable[[bytes, str], Log], import_module(FORMATS[file_format].module).read)


TARGET = Target("the passages of an imported file", hands_over=None, live=False)
