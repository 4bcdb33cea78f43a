"""The step that answers a question, by the run's answerer, from the passages that fit its budget of tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ragviz.answers import answering, citations, contexts
from ragviz.core.answer import Answer
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import pool
from ragviz.judging.planning import Plan
from ragviz.judging.step import Asks, State, Step
from ragviz.models.requests import Completion, Request


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
            instructions=config.instructions,
        )
        if answer.status != "failed":
            state.answer = answer
            state.same_as = _judged_before(answer, state, plan)
            return answer
    raise ModelError(answer.reason)


def _judged_before(answer: Answer, state: State, plan: Plan) -> str:
    """Return the words in which an equal answer to the question was judged first, "" for a new one, which is noted.

    The numbers of its citations are places in the ranking of one run: they say nothing that is judged.
    """
    if plan.judge is None or answer.status != "answered":
        return ""
    judge = digest("answers", plan.maker, length=32)
    about = pool.subject(state.item.question.query, state.reference, "words", citations.unnumbered(answer.text))
    words = next((body for *_, body in plan.pool.verdicts([about], judge)), None)
    if words is None:
        plan.pool.add(judge, {(about, "words"): answer.text})
    return words if words and words != answer.text else ""


def _enter(evaluated: EvaluatedAnswer, state: State) -> EvaluatedAnswer:
    """Return what holds the answer from the start, also when it failed, with the words in which it is judged."""
    if not state.same_as:
        return evaluated
    return replace(evaluated, verdicts={**evaluated.verdicts, "answer": {"same_as": state.same_as}})


def _ask_again(ask: Callable[[Request[Any]], Completion[Any]], number: int, request: Request[Any]) -> Completion[Any]:
    return ask(request.once_more(number, "The last answer was empty: answer, or say that it is not answerable."))


STEP = Step(
    "Answer",
    _answer,
    _enter,
    placeholders={answering.AnswerReply: lambda item: answering.placeholder(item.question, item.chunks)},
)
