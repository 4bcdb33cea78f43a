"""The step that has a target answer a question, from the contexts of its recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.recording import Recording
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import pool
from ragviz.judging.planning import Plan
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


STEP = Step(
    "Answer",
    _answer,
    _enter,
    placeholders={answering.AnswerReply: lambda item: answering.placeholder(item.question, item.recording.contexts)},
)
