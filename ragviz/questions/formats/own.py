"""Our own JSONL and CSV, which `questions.interchange` defines."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.progress import Progress
from ragviz.questions import interchange
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.set_formats import Choices, Known, Outgoing, Read, Written


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read questions about documents of the corpus; raises as `interchange.read_questions`."""
    [file] = files[:1]
    documents = {document.name: document for document in known.texts()}
    imported = interchange.read_questions(file.data(), file.name, documents, progress)
    problems = [Problem(file.name, row, reason) for row, reason in imported.problems.items()]
    problems += [Problem(file.name, row, reason, kept=True) for row, reason in imported.repaired.items()]
    problems.sort(key=lambda problem: problem.row)
    notes = tuple(filter(None, (imported.warning, imported.unanswerable, *imported.notes)))
    has_sides = any(question.split for question in imported.questions)
    return Read(imported.questions, (), tuple(problems), notes, has_sides)


def write(outgoing: Outgoing, file_format: str) -> Written:
    """Write questions as "csv" or "jsonl"."""
    data = interchange.write_questions(outgoing.questions, outgoing.names, file_format)
    return Written(data, file_format)
