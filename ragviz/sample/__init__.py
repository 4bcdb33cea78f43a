"""The sample corpus this project wrote: documents, and questions with quoted evidence.

Twelve documents of one invented observatory, in five formats, one of them in Chinese, and a hundred questions made by
hand. Several facts recur with other values (each telescope has its own weather limits), so that a search can go wrong.
`tools/sample/build.py` makes the PDF, DOCX and XLSX files from text; the others are as they were written.
"""

from __future__ import annotations

from importlib.resources import files

NAME = "Sample: Tarrow Ridge Observatory"
"""What the corpus is called in the store."""
RUNS = ("sample-knn", "sample-hybrid", "sample-answered")
"""What the runs are called that are made with it; the last one holds the answers and verdicts written by hand."""


def documents() -> list[tuple[str, bytes]]:
    """The files as if they had been uploaded: (name, bytes), sorted by name."""
    folder = files(__name__) / "documents"
    return sorted((entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file())


def questions() -> bytes:
    """The questions as an import file: JSON Lines in UTF-8.

    60 rows with one evidence, 30 with three groups of it, then 10 with none, which the documents do not answer. The
    quotes are exact text of the parsed documents.
    """
    return (files(__name__) / "questions.jsonl").read_bytes()


def answers() -> bytes:
    """Answers to the questions and verdicts on them, written by hand: TOML in UTF-8, which describes itself."""
    return (files(__name__) / "answers.toml").read_bytes()
