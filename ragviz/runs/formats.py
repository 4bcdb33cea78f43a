"""Formats in which other programs write what they answered and judged, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from ragviz.core.verdict import Matrix


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
        "ragviz.runs.ragchecker",
        "json",
        "the output of RAGChecker, a JSON object with `results`: question, reference, response, passages, the claims "
        "of both and the verdicts on them.",
    ),
}
"""Format by name: a new one is a file, and its entry here."""


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """A question that another program answered and judged: its passages as (name, text), best first.

    The matrix names its chunks by their position: "0", "1" …
    """

    id: str
    question: str
    reference: str
    answer: str
    passages: tuple[tuple[str, str], ...]
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class ForeignRun:
    """The readable results of another program, and a sentence on each that is not readable."""

    answers: tuple[ForeignAnswer, ...]
    problems: tuple[str, ...]


def reader(file_format: str) -> Callable[[bytes, str], ForeignRun]:
    """Return what reads a format's files, given the content, and the name for errors."""
    return cast(Callable[[bytes, str], ForeignRun], import_module(FORMATS[file_format].module).read)
