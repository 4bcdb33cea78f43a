"""A statement of a document that a question is made of: the claim comes first, then the question."""

from __future__ import annotations

from dataclasses import dataclass

from ragviz.core.question import QuestionType


@dataclass(frozen=True, slots=True)
class SourceClaim:
    """A claim with its verbatim place, and the question that it answers, as a colleague asks it.

    `quote` is `document.text[start:end]`, the evidence. `statement` is the claim in words, on one line; `subject` what
    it is about, a name or noun phrase that its words or its heading hold, `attribute` what it says of it, as a noun
    phrase ("opening hours"), "" where that is no noun phrase. `section` is the path of headings above it, joined by
    " > ". `entities` are the names and rare noun phrases in it, as they stand there. A higher `score` is better.
    `doubt` says why grammar cannot tell whether its question is a good one, "" where nothing is in doubt.
    """

    document_id: str
    start: int
    end: int
    quote: str
    type: QuestionType
    question: str
    answer: str
    statement: str
    subject: str
    language: str
    attribute: str = ""
    section: str = ""
    entities: tuple[str, ...] = ()
    score: float = 0.0
    doubt: str = ""
