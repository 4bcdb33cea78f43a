"""Which comparisons a generated question set decides badly: those of the models that answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ragviz.core.configuration import RunConfig

BY_PEOPLE = ("hand", "import", "asked")
"""Generators of questions that people wrote or asked."""


def answerers(configs: Iterable[RunConfig]) -> list[str]:
    """Return who answers in runs, each once, in order; runs without answers are left out."""
    return list(dict.fromkeys(c.model or c.answerer for c in configs if c.knows.answers))


def banner(configs: Iterable[RunConfig], generators: Collection[str]) -> str:
    """Say that a generated set ranks generators badly, where runs differ in who answers; "" where they do not.

    `generators` made the questions; a set is taken for generated when more than half of them are.
    """
    who = answerers(configs)
    made = sum(generator not in BY_PEOPLE for generator in generators)
    if len(who) < 2 or 2 * made <= len(generators):
        return ""
    return (
        f"{made:,} of the {len(generators):,} questions were generated, and the runs differ in who answers "
        f"({', '.join(who)}). Generated sets rank retrieval well and generators badly: decide between those on "
        "questions that people asked."
    )
