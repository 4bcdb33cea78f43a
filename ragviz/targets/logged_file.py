"""A file in which another program logged what it read, answered and perhaps judged, in one of several formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ragviz.core.errors import InputError
from ragviz.targets.target import Target
from ragviz.text.untrusted import has_keys

if TYPE_CHECKING:  # the formats are listed by `ragviz --help`
    from ragviz.targets.logged_item import Log


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the file of ours whose `read` reads it, the files' extension, and what they hold.

    Our file is loaded when it is needed. A file is in this format when it has all the keys of one of `shown_by`.
    """

    module: str
    extensions: tuple[str, ...]
    explanation: str
    shown_by: tuple[tuple[str, ...], ...]


FORMATS: Mapping[str, Format] = {
    "ragchecker": Format(
        "ragviz.targets.ragchecker",
        ("json",),
        "the input or output of RAGChecker, a JSON object with `results`: question, reference, response, passages, and "
        "of its output the claims of both and the verdicts on them.",
        (("results", "retrieved_context"),),
    ),
    "ragas": Format(
        "ragviz.targets.ragas_results",
        ("csv", "json", "jsonl", "parquet", "xlsx"),
        "results of Ragas, a table of `user_input`, `retrieved_contexts`, `response`, `reference` and Ragas' scores, "
        "which are kept under its name.",
        (("retrieved_contexts",), ("question", "answer", "contexts")),
    ),
    "inspectorraget": Format(
        "ragviz.targets.inspectorraget",
        ("json",),
        "a file of InspectorRAGet with the answers of one model: tasks, documents, evaluations, whose scores are kept "
        "under its name.",
        (("models", "tasks", "evaluations"),),
    ),
}
"""Format by name: a new one is a file, and its entry here."""


AUTO = "auto"
"""In place of a format's name: the one that the file is recognised as."""


def read(data: bytes, name: str, file_format: str = AUTO) -> Log:
    """Read a file; the `name` is for errors, and tells Excel from other archives.

    Raises:
        InputError: it is in no known format, cannot be read, or holds nothing that can be read.

    """
    from ragviz.documents import tables_in

    if kind := tables_in.kind_of(data[:4], name):
        data = tables_in.as_lines(data, kind, name)
    if file_format == AUTO:
        text = data.decode("utf-8", "replace")
        shown = (name for name, each in FORMATS.items() if any(has_keys(text, keys) for keys in each.shown_by))
        file_format = next(shown, AUTO)
    if file_format == AUTO:
        raise InputError(f"'{name}' is no file of {', '.join(FORMATS)}: choose one with --format, or convert it.")
    return cast("Callable[[bytes, str], Log]", import_module(FORMATS[file_format].module).read)(data, name)


TARGET = Target("the passages of an imported file", hands_over=None, live=False)
