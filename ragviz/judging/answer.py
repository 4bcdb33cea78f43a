"""The answer as a step: by the run's answerer, from the passages that fit its budget of tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ragviz.answers import answering, contexts
from ragviz.errors import ModelError
from ragviz.judging.planning import Plan
from ragviz.judging.step import Asks, State, Step
from ragviz.models.requests import Completion, Request
from ragviz.records import Answer


def _answer(state: State, plan: Plan, ask: Asks) -> Answer:
    question, config = state.item.question, plan.config
    state.fitted = contexts.fitted(state.item.chunks, config.context_tokens)
    asking = partial(ask, plan.answerer) if plan.answerer else None
    for again in range(2):  # an empty answer is asked again, in other words and with another seed, or it came back
        answer = answering.answer(
            question,
            state.fitted,
            config.answerer,
            ask=asking
            if not (asking and again)
            else partial(_once_more, asking, config.seed + state.item.seed + again),
            temperature=config.temperature,
            kind=config.context,
            seed=config.seed,
        )
        if answer.status != "failed":
            state.answer = answer
            return answer
    raise ModelError(answer.reason)


def _once_more(ask: Callable[[Request[Any]], Completion[Any]], number: int, request: Request[Any]) -> Completion[Any]:
    return ask(request.once_more(number, "The last answer was empty: answer, or say that it is not answerable."))


STEP = Step(
    "The answer",
    _answer,
    enter=lambda judged, _: judged,  # it stands in the evaluated answer from the start, also when it failed
    placeholders={answering.AnswerReply: lambda item: answering.placeholder(item.question, item.chunks)},
)
