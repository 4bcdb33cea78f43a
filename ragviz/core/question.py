"""A question with its gold evidence, and the split of its set into a validation and a test side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragviz.core.document import Evidence, Span

Side = Literal["validation", "test"]
"""A side of a split: what is chosen is chosen on "validation", what is reported of the choice is measured on "test"."""
SIDES: tuple[Side, ...] = ("validation", "test")
SplitKind = Literal["stratified", "grouped", "imported"]


@dataclass(frozen=True, slots=True)
class Split:
    """How the questions of a set were divided into validation and test.

    `share` is that of validation; it and the seed are None where the sides were read from a file ("imported").
    """

    kind: SplitKind
    share: float | None = None
    seed: int | None = None


GeneratorName = Literal["extractive", "model"]
QuestionStatus = Literal["proposed", "accepted", "rejected", "quarantined"]
"""A quarantined question is kept out of runs until it is released; its reason names the check that it failed."""
ASKED: tuple[QuestionStatus, ...] = ("proposed", "accepted")
"""Statuses of the questions that a run asks."""
QuestionKind = Literal["single", "multi", "reference", "unanswerable"]
QuestionType = Literal[
    "", "section", "fact", "number", "definition", "list", "table", "comparison", "bridge", "exception", "version",
    "follow-up", "unanswerable",
]  # fmt: skip
"""What a question asks for; "" when nobody said. "section": what is said
under a heading; "number": a number or date; "table": a cell of a table; "bridge":
facts of several passages joined by an entity; "exception": a negation or exception; "version": which version holds."""
QuestionStyle = Literal["", "colleague", "keywords", "long", "misspelt", "other-language", "other-words"]
"""How a question is put; "" when nobody said. "long": with circumstances; "other-language": not the document's;
"other-words": not those of the passage."""


LONGEST_ID = 64
"""Characters of an id at most."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer and evidence.

    `generator` is "extractive", a model's name, "import" or "hand"; `reason` says why a rejected question was rejected;
    `source_chunks` are the ids of the chunks it was made from, empty for imported spans. `unanswerable` marks one that
    the documents do not answer, whatever its reference answer says; with evidence, it is not looked at.
    `split` is its side of its set's split, "" when it has none; it is no part of the question as a run asks it.

    `type` is what it asks for, `style` how it is put. `parts` are what each group of evidence says towards the answer,
    in the order of `evidence`, or empty. `history` are the earlier turns of a conversation, question and answer, the
    oldest first. `verified_by` is the model that verified it, "" where nothing did.
    """

    id: str
    text: str
    answer: str
    evidence: Evidence
    generator: str
    status: QuestionStatus = "proposed"
    reason: str = ""
    language: str = "en"
    source_chunks: tuple[str, ...] = ()
    unanswerable: bool = False
    split: Side | Literal[""] = ""
    type: QuestionType = ""
    style: QuestionStyle = ""
    parts: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    verified_by: str = ""

    @property
    def asked(self) -> bool:
        """Whether a run asks it: it is neither rejected nor quarantined."""
        return self.status in ASKED

    @property
    def query(self) -> str:
        r"""The text that is searched for: its own, after the earlier questions of its conversation.

        >>> Question("q", "And in winter?", "", (), "hand", history=(("When is it open?", "From 9."),)).query
        'When is it open?\nAnd in winter?'
        """
        return "\n".join([*(asked for asked, _ in self.history), self.text])

    @property
    def spans(self) -> list[Span]:
        """All pieces of its evidence, group by group."""
        return [span for group in self.evidence for span in group]

    @property
    def open(self) -> bool:
        """Whether nothing tells what would answer it: it was asked of another system, without reference or evidence."""
        known = self.answer.strip() or any(span.text for span in self.spans)
        return not known and self.kind != "unanswerable"

    @property
    def kind(self) -> QuestionKind:
        """How many groups of evidence it needs, or why it has none.

        Without evidence, a question with an answer is "reference": its answer can be judged, its ranking cannot be
        measured, because where the answer stands is not known. One without an answer, or marked so, is "unanswerable".
        """
        if self.evidence:
            return "single" if len(self.evidence) == 1 else "multi"
        return "unanswerable" if self.unanswerable or not self.answer.strip() else "reference"
