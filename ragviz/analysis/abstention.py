"""How often a system abstains where it should answer, and answers where it should abstain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragviz.core.question import Question
from ragviz.core.recording import Recording

STATUSES = {"answered": "answered", "refused": "abstained", "failed": "failed", "none": "not given"}
"""Status of an answer → what a person reads."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well refusals match the questions that the documents do not answer; `both` counts the right refusals.

    `precision` is `both` ÷ `refused`, `recall` is `both` ÷ `unanswerable`; None when there is nothing to divide by.
    """

    precision: float | None
    recall: float | None
    refused: int
    unanswerable: int
    both: int

    @property
    def words(self) -> str:
        """How many answers were refused, and how rightly where the documents leave a question unanswered.

        >>> Abstention(0.2, 0.5, 5, 2, 1).words, Abstention(0.0, None, 2, 0, 0).words
        ('5 abstained, 1 of 2 unanswerable among them: precision 0.20, recall 0.50', '2 abstained')
        """
        words = f"{self.refused:,} abstained"
        if self.recall is None:
            return words
        precision = "" if self.precision is None else f"precision {self.precision:.2f}, "
        among = f"{self.both:,} of {self.unanswerable:,} unanswerable among them"
        return f"{words}, {among}: {precision}recall {self.recall:.2f}"


def abstention(questions: Iterable[Question], answers: Iterable[Recording]) -> Abstention:
    """Measure refusals over the questions that have an answer; failed answers are left out."""
    status = {answer.question_id: answer.status for answer in answers if answer.status != "failed"}
    measured = [question for question in questions if question.id in status]
    refused = {question.id for question in measured if status[question.id] == "refused"}
    unanswerable = {question.id for question in measured if question.kind == "unanswerable"}
    both = len(refused & unanswerable)
    precision = both / len(refused) if refused else None
    recall = both / len(unanswerable) if unanswerable else None
    return Abstention(precision, recall, len(refused), len(unanswerable), both)
