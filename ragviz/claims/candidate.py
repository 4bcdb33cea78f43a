"""A candidate question that is made of one sentence, without a model."""

from __future__ import annotations

from dataclasses import dataclass

Indices = list[int]
"""Places of words in their sentence, in ascending order."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that a sentence answers; `answer` is from it, with single blanks. A higher `score` is better."""

    question: str
    answer: str
    score: float


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text, which blanks separate."""
    return frozenset(words.split())
