"""What a question set is to ask: a quota of questions for each cell of document, section, type and style."""

from __future__ import annotations

from dataclasses import dataclass

from ragviz.records import QuestionStyle, QuestionType


@dataclass(frozen=True, slots=True)
class Cell:
    """So many questions of one type and style about one section of a document.

    `section` is the path of headings, joined by " > ", "" for what is under no heading. A question that needs several
    passages is counted where its first one is.
    """

    document_id: str
    section: str
    type: QuestionType
    style: QuestionStyle
    planned: int = 1
