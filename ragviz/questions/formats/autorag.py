"""AutoRAG: `query`, `generation_gt` and `retrieval_gt`, which names passages of a corpus beside it by `doc_id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions.formats import quoted
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Choices, Read
from ragviz.questions.interchange import Row

COLUMNS = ("qid", "query", "generation_gt", "retrieval_gt", "retrieval_gt_contents")


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read QA data; the passages of `retrieval_gt` are the evidence where they, or the corpus beside it, are given.

    A list in it is a group, any passage of which suffices. Raises as `quoted.rows_of`.
    """
    tables = [(file, list(tables_in.rows(file.data(), file.name, ("query", "doc_id")))) for file in files]
    corpus = {str(row.get("doc_id")): row.get("contents") for _, rows in tables for _, row in rows if "contents" in row}
    asked = next((file for file, rows in tables if any("query" in row for _, row in rows)), files[0])

    def of_row(row: Row) -> Row:
        texts = [
            tables_in.texts_in(group, "retrieval_gt_contents") for group in _groups(row.get("retrieval_gt_contents"))
        ]
        passages = list(filter(None, texts)) or (_passages(row, corpus) if corpus else [])
        return quoted.asked(row.get("query"), row.get("generation_gt"), passages, str(row.get("qid") or ""))

    read = quoted.read(asked.name, quoted.rows_of(asked, ("query",)), of_row, COLUMNS, known, progress)
    if not corpus and any(question.kind == "reference" for question in read.questions):
        note = "`retrieval_gt` names the evidence by ids: give the corpus (doc_id, contents) beside it to import it."
        return replace(read, notes=(*read.notes, note))
    return read


def _groups(value: Any) -> list[list[Any]]:
    listed = tables_in.listed(value) or value if isinstance(value, str) else value
    if not isinstance(listed, list):
        return [[listed]] if listed else []
    return [each for each in listed if each] if all(isinstance(each, list) for each in listed) else [listed]


def _passages(row: Row, corpus: Mapping[str, Any]) -> list[list[str]]:
    """Return the texts of the passages that a row names; ValueError for a group of which none is in the corpus."""
    passages = []
    for group in _groups(row.get("retrieval_gt")):
        texts = [text.strip() for each in group if isinstance(text := corpus.get(str(each)), str) and text.strip()]
        if not texts:
            raise ValueError(f"names the passage '{str(group[0])[:60]}', which the corpus beside it does not hold")
        passages.append(texts)
    return passages
