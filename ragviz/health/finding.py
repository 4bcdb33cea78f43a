"""What a check of a question set is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragviz.health.material import Material


@dataclass(frozen=True, slots=True)
class Finding:
    """A question that a check found: the value that was measured, None where nothing is, and why it was found."""

    question_id: str
    value: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found, a question at most once. `unknown` says how to get what it needs and is not there.

    `note` says what was measured over all questions, or what could not be looked at.
    """

    findings: tuple[Finding, ...] = ()
    unknown: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a question set: what it is, how it is computed (with thresholds), its function.

    `of_outcomes`: it tells what runs did with the questions. A set is never cut by that, so its questions stay.
    """

    key: str
    title: str
    what: str
    how: str
    find: Callable[[Material], Found]
    of_outcomes: bool = False
