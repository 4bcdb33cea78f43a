"""DeepEval: goldens of `input`, `expected_output` and `context`, as JSON, JSONL or CSV; Langfuse's exports, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions.formats import quoted
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Choices, Read
from ragviz.questions.interchange import Row
from ragviz.text.untrusted import parsed

COLUMNS = ("input", "expected_output", "expectedoutput", "context", "id")


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read goldens; each text of `context` is one piece of evidence, in CSV separated by "|"; as `quoted.rows_of`."""
    [file] = files[:1]
    return quoted.read(file.name, quoted.rows_of(file, ("input",)), _quoted, COLUMNS, known, progress)


def _quoted(row: Row) -> Row:
    passages = [(text,) for text in tables_in.texts_in(row.get("context"), "context", "|")]
    expected = row.get("expected_output", row.get("expectedoutput"))
    return quoted.asked(_text_in(row.get("input")), _text_in(expected), passages, str(row.get("id") or ""))


def _text_in(value: Any) -> Any:
    """Return the only text of an object, or of one that a cell holds as JSON, as Langfuse writes it; else the value."""
    found = value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            found = parsed(value)
        except ValueError:
            return value
    texts = [each for each in found.values() if isinstance(each, str)] if isinstance(found, dict) else []
    return texts[0] if len(texts) == 1 else value
