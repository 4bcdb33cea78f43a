"""A target as one record: what it hands over of a ranking, how it answers, which verdicts it brings along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragviz.core.configuration import RunConfig
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import Recording
from ragviz.core.verdict import EvaluatedAnswer

if TYPE_CHECKING:  # the formats of logged files are listed by `ragviz --help`
    from ragviz.models.requests import Completion, Request

Ask = Callable[["Request[Any]"], "Completion[Any]"]
"""Has a model answer: `ModelClient.ask`, or a function that also counts calls, waits or makes up replies."""
Answers = Callable[[Question, Recording, Ask | None], Recording]
"""Answers a question from the contexts of its recording; a failed call is a "failed" recording."""
Verdicts = Callable[[Question, Recording], EvaluatedAnswer]
"""Returns the verdicts that a target brings along with its recordings."""


def first_k(retrieved: Retrieved, k: int) -> tuple[str, ...]:
    """Return the ids of the first k chunks of a ranking."""
    return retrieved.ranking.ids[:k]


@dataclass(frozen=True, slots=True)
class Target:
    """What answers the questions of a run; everything behind the recording is the same for all.

    `basis` says what its answers are based on. `hands_over` returns the ids of the chunks that are read, given ranking,
    gold chunks and k, None where all was recorded before; `answers` what answers by a run's choices, None for nothing.
    `verdicts` come with the recordings of some, and need no judge. `asks` is whether it can answer a question. One that
    is not `live` is no choice of a run: it cannot be asked again.
    """

    basis: str
    hands_over: Callable[[Retrieved, int], tuple[str, ...]] | None = first_k
    answers: Callable[[RunConfig], Answers | None] = lambda config: None
    verdicts: Verdicts | None = None
    asks: Callable[[Question], bool] = lambda question: True
    live: bool = True
