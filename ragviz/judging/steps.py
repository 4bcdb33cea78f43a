"""The steps of answering and judging one question, by name: a new step is a file, and its line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel

from ragviz.judging import answer, claims, comparison, context, questeval
from ragviz.judging.planning import Item
from ragviz.judging.step import Step

STEPS: dict[str, Step] = {
    "answer": answer.STEP,
    "bank": questeval.BANK,
    "reference": claims.REFERENCE,
    "claims": claims.STEP,
    "context": context.STEP,
    "comparison": comparison.STEP,
    "questeval": questeval.STEP,
}
"""Step by name; of those that are ready for a question, the first here is done first."""

VERSIONS: dict[str, str] = {
    name: STEPS[name].version for name in ("reference", "claims", "context", "comparison", "bank", "questeval")
}
"""Versions of a judge's prompts by step, in the order that keys of the cache rest on: new steps go to its end."""

PLACEHOLDERS: Mapping[type[BaseModel], Callable[[Item], BaseModel]] = {
    reply: placeholder for step in STEPS.values() for reply, placeholder in step.placeholders.items()
}
"""What a dry run assumes, by type of reply."""


def required(steps: Iterable[str], *, answered: bool) -> frozenset[str]:
    """The steps that are done for these: with those that they need; the answer's only when one is given.

    >>> sorted(required(["context"], answered=True)), sorted(required(["questeval"], answered=False))
    (['answer', 'claims', 'context', 'reference'], ['bank', 'questeval'])
    """
    wanted = {"answer", *steps} if answered else set(steps)
    while more := {need for step in wanted for need in STEPS[step].needs if answered or need != "answer"} - wanted:
        wanted |= more
    return frozenset(wanted)
