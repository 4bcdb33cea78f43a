"""Our own JSONL and CSV, which `questions.interchange` defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.stopping import Progress
from ragviz.questions import interchange
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Outgoing, Read, Written


def read(files: Sequence[InputFile], known: Known, _split: str, progress: Progress) -> Read:
    """Read questions about documents of the corpus; raises as `interchange.read_questions`."""
    [file] = files[:1]
    documents = {document.name: document for document in known.texts()}
    return interchange.read_questions(file.data(), file.name, documents, progress)


def write(outgoing: Outgoing, file_format: str) -> Written:
    """Write questions as "csv" or "jsonl"; as "qa" those that are asked, with the chunks that hold their evidence."""
    if file_format != "qa":
        return Written(interchange.write_questions(outgoing.questions, outgoing.names, file_format), file_format)
    rows = [qa_row(question, outgoing.names) for question in outgoing.asked]
    return Written(interchange.csv_of(QA, rows), "csv", outgoing.left_out)


QA = ("question", "ground_truth_answer", "chunk_id", "document")
"""Columns of a table of questions with the chunks that hold their evidence."""


def qa_row(question: Question, names: Mapping[str, str]) -> list[str]:
    """Return the cells of `QA`; of a question that the documents do not answer the answer "unanswerable" says so.

    A piece of evidence is named by the chunk that the question was made from, where that holds it, else as a chunk of
    its own; of alternatives the first.
    """
    answer = question.answer if question.kind != "unanswerable" else "unanswerable"
    found = replace(question, evidence=tuple(group[:1] for group in question.evidence if not group[0].stale))
    ids = dict.fromkeys(_chunk_of(span, question.source_chunks) for [span] in found.evidence)
    return [question.query, answer, ", ".join(ids), ", ".join(interchange.documents_of(found, names))]


def _chunk_of(span: Span, made_from: Sequence[str]) -> str:
    for chunk_id in made_from:
        place = Chunk.parse_id(chunk_id)
        if place and place[0] == span.document_id and place[1] <= span.start and span.end <= place[2]:
            return chunk_id
    return Chunk.make_id(span.document_id, span.start, span.end)
