"""What both answerers say when they refuse, in the question's language, and their versions."""

from __future__ import annotations

from ragviz.records import Question
from ragviz.text import language

VERSIONS = {"extractive": "1", "model": "1"}
"""Version of each answerer: of the rule of the one, of the other's prompt."""

REFUSALS = {"en": "The passages do not tell.", "zh": "所给的段落没有说明。"}
IGNORANCE = {"en": "I do not know.", "zh": "我不知道。"}
"""What a closed-book answer says instead of `REFUSALS`."""


def tongue(question: Question) -> str:
    """The language of the question's own words; what it is marked with when they tell nothing."""
    detected = language.detect(question.text)
    return question.language if detected == "und" else detected


def of_two(tongue: str) -> str:
    """Which of the two languages that refusals are written in."""
    return "zh" if tongue == "zh" else "en"
