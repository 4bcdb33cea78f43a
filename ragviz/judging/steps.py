"""The steps of answering and judging one question, by name: a new step is a file, and its line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.recording import Recording
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import banks, claims, comparison, context, pool
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step
from ragviz.models.requests import Completion, Request
from ragviz.targets import answering, citations


def _answer(state: State, plan: Plan, ask: Asks) -> Recording:
    assert plan.answers is not None
    question, ask_model = state.item.question, partial(ask, plan.answerer) if plan.answerer else None
    for attempt in range(2):  # after an empty answer in other words and with another seed, or it would come back
        if ask_model and attempt:
            ask_model = partial(_ask_again, ask_model, state.item.seed + attempt)
        recording = plan.answers(question, state.item.recording, ask_model)
        if recording.status != "failed":
            state.recording = recording
            state.same_as = _judged_before(state, plan)
            if plan.verdicts is not None:
                state.take(plan.verdicts(question, recording))
            return recording
    if recording.usage is not None:  # the model replied, twice without an answer: its contexts can be judged
        state.recording = recording
        return recording
    raise ModelError(recording.reason)


def _judged_before(state: State, plan: Plan) -> str:
    """Return the words in which an equal answer to the question was judged first, "" for a new one, which is noted.

    The numbers of its citations are places in the ranking of one run: they say nothing that is judged.
    """
    if plan.judge is None or state.recording.status != "answered":
        return ""
    answer = state.recording.answer
    judge = digest("answers", plan.maker, length=32)
    about = pool.subject(state.item.question.query, state.reference, "words", citations.unnumbered(answer))
    words = next((body for *_, body in plan.pool.verdicts([about], judge)), None)
    if words is None:
        plan.pool.add(judge, {(about, "words"): answer})
    return words if words and words != answer else ""


def _enter(evaluated: EvaluatedAnswer, state: State) -> EvaluatedAnswer:
    """Return what holds the answer from the start, also when it failed, with the words in which it is judged."""
    if not state.same_as:
        return evaluated
    return replace(evaluated, verdicts={**evaluated.verdicts, "answer": {"same_as": state.same_as}})


def _ask_again(ask: Callable[[Request[Any]], Completion[Any]], number: int, request: Request[Any]) -> Completion[Any]:
    return ask(
        request.once_more(
            (request.seed or 0) + number, "The last answer was empty: answer, or say that it is not answerable."
        )
    )


ANSWER = Step(
    "Answer",
    _answer,
    _enter,
    placeholders={answering.AnswerReply: lambda item: answering.placeholder(item.question, item.recording.contexts)},
)


STEPS: dict[str, Step] = {
    "answer": ANSWER,
    "bank": banks.BANK,
    "reference": claims.REFERENCE,
    "claims": claims.STEP,
    "context": context.STEP,
    "comparison": comparison.STEP,
    "questeval": banks.STEP,
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
