"""The steps of answering and judging one question, by name: a new step is a file, and its line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel

from ragviz.judging import answer, bank_steps, claims, comparison, context
from ragviz.judging.planning import Item
from ragviz.judging.step import Step

STEPS: dict[str, Step] = {
    "answer": answer.STEP,
    "bank": bank_steps.BANK,
    "reference": claims.REFERENCE,
    "claims": claims.STEP,
    "context": context.STEP,
    "comparison": comparison.STEP,
    "questeval": bank_steps.STEP,
}
"""Step by name; of the steps that are ready for a question, the first here is done first."""

VERSIONS: dict[str, str] = {name: step.version for name, step in STEPS.items() if step.version}
"""Versions of a judge's prompts by step; cache keys depend on their order."""

PLACEHOLDERS: Mapping[type[BaseModel], Callable[[Item], BaseModel]] = {
    reply: placeholder for step in STEPS.values() for reply, placeholder in step.placeholders.items()
}
"""Function that makes up a reply for a dry run, by type of reply."""


def required(steps: Iterable[str], *, answered: bool) -> frozenset[str]:
    """Return these steps and those that they need; the step "answer" only when questions are `answered`.

    >>> sorted(required(["context"], answered=True)), sorted(required(["questeval"], answered=False))
    (['answer', 'claims', 'context', 'reference'], ['bank', 'questeval'])
    """
    result = {"answer", *steps} if answered else set(steps)
    while more := {need for step in result for need in STEPS[step].needs if answered or need != "answer"} - result:
        result |= more
    return frozenset(result)
