"""What both answerers say when they refuse, in the question's language, and their versions."""

from __future__ import annotations

from ragviz.core.question import Question
from ragviz.text import language

VERSIONS = {"extractive": "1", "model": "1"}
"""Version of each answerer: of the extractive rule, and of the model's prompt."""

REFUSALS = {"en": "The passages do not tell.", "zh": "所给的段落没有说明。"}
IGNORANCE = {"en": "I do not know.", "zh": "我不知道。"}
"""What a closed-book answer says instead of `REFUSALS`."""


def question_language(question: Question) -> str:
    """Return the language of the question's own words; where they show none, that which it is marked with."""
    detected = language.detect(question.text)
    return question.language if detected == "und" else detected


def refusal_language(question: Question) -> str:
    """Return the language in which a question is refused: "zh" or "en"."""
    return "zh" if question_language(question) == "zh" else "en"
