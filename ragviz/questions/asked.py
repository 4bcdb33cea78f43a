"""A question that a sentence answers."""

from __future__ import annotations

from dataclasses import dataclass

Indices = list[int]
"""Places of words in their sentence, rising."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a sentence answers; `answer` is its characters, white space evened. More `score` is better."""

    question: str
    answer: str
    score: float


# English


def word_set(words: str) -> frozenset[str]:
    """Words of a text parted by blanks."""
    return frozenset(words.split())
