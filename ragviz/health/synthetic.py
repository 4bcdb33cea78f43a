"""Which comparisons a generated question set decides badly: those of the models that answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ragviz.core.configuration import RunConfig
from ragviz.core.question import Question

BY_PEOPLE = ("hand", "import", "asked")
"""Generators of questions that people wrote or asked."""


def answerers(configs: Iterable[RunConfig]) -> list[str]:
    """Return who answers in runs, each once, in order; runs without answers are left out."""
    return list(dict.fromkeys(c.model or c.answerer for c in configs if c.knows.answers))


def banner(configs: Iterable[RunConfig], questions: Collection[Question]) -> str:
    """Say that a generated set ranks generators badly, where runs differ in who answers; "" where they do not.

    A set is taken for generated when more than half of its questions are.
    """
    who = answerers(configs)
    made = sum(question.generator not in BY_PEOPLE for question in questions)
    if len(who) < 2 or 2 * made <= len(questions):
        return ""
    return (
        f"{made:,} of the {len(questions):,} questions were generated, and the runs differ in who answers "
        f"({', '.join(who)}). Generated sets rank retrieval well and generators badly: decide between those on "
        "questions that people asked."
    )
