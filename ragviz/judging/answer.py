"""The step that answers a question, by the run's answerer, from the passages that fit its budget of tokens."""

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
    ask_model = partial(ask, plan.answerer) if plan.answerer else None
    for attempt in range(2):  # after an empty answer in other words and with another seed, or it would come back
        if ask_model and attempt:
            ask_model = partial(_ask_again, ask_model, config.seed + state.item.seed + attempt)
        answer = answering.answer(
            question,
            state.fitted,
            config.answerer,
            ask=ask_model,
            temperature=config.temperature,
            kind=config.context,
            seed=config.seed,
        )
        if answer.status != "failed":
            state.answer = answer
            return answer
    raise ModelError(answer.reason)


def _ask_again(ask: Callable[[Request[Any]], Completion[Any]], number: int, request: Request[Any]) -> Completion[Any]:
    return ask(request.once_more(number, "The last answer was empty: answer, or say that it is not answerable."))


STEP = Step(
    "Answer",
    _answer,
    enter=lambda evaluated, _: evaluated,  # the evaluated answer holds it from the start, also when it failed
    placeholders={answering.AnswerReply: lambda item: answering.placeholder(item.question, item.chunks)},
)
