"""Answering a run's questions and judging the answers: many questions at once, each model call paid once.

A question's steps depend on each other ("claims" needs the answer, "context" needs the claims). Steps that are ready
are done, the earliest question first, so that questions finish one after another and a stopped run has complete ones.
A step that fails is repeated after all others; an endpoint that is down is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragviz import stopping
from ragviz.answers import citations
from ragviz.errors import ModelError, RagvizError
from ragviz.judging import checks, similarities
from ragviz.judging.asker import Asker
from ragviz.judging.planning import Item, Keep, Plan
from ragviz.judging.scheduler import Scheduler
from ragviz.judging.step import State, bounded
from ragviz.judging.steps import STEPS
from ragviz.records import Answer, EvaluatedAnswer, Progress, silent
from ragviz.text import language, words

WORKING = "Answering and judging"
ROUNDS = 3
"""How often a step that fails is done, in all."""

WINDOW = 16
"""Questions that are embedded and stored together, at most."""
TOGETHER = 0.25
"""Seconds to wait for more finished questions."""
LONGEST = 2.0
"""Seconds after which the finished ones are stored, however few they are."""


def work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress = silent) -> None:
    """Answer and judge `items`; all finished ones have been passed to `keep` when this returns or raises.

    Raises:
        ModelError: an endpoint refuses, or is down for longer than the plan's patience; UselessModel, see `breaker`.
        BudgetReached: the budget is used up.
        Cancelled: `progress` raised it.

    """
    _load(items, plan)
    asker = Asker(plan)
    try:
        _work(items, plan, keep, progress, asker)
    finally:
        asker.settle()


def _load(items: Sequence[Item], plan: Plan) -> None:
    """Load clients, languages and models before the first thread starts: concurrent imports can fail.

    A stop does not wait for it.
    """
    for client in (plan.answerer, plan.judge):
        if client is not None:
            client.open()
    texts = dict.fromkeys(text for item in items for text in (item.question.text, item.question.answer))
    languages, phrases = {*map(language.detect, texts)}, "key phrases" in plan.inputs
    stopping.detached(lambda: words.load(languages, phrases=phrases))
    if plan.embedder is not None and items and similarities.COSINES & plan.inputs:
        plan.embedder.load()


def _work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress, asker: Asker) -> None:
    """Do all rounds, reporting progress in steps, about one call each: with a slow model, questions take long."""
    states = [State(item, place) for place, item in enumerate(items)]
    finished, count = plan.finished, plan.finished + len(items)
    before, total = finished * len(plan.steps), count * len(plan.steps)

    def report(done: int) -> None:
        progress(done, total, "steps", asker.trouble or f"{WORKING}: {finished:,} of {count:,} questions are finished")

    report(before)
    for turn in range(ROUNDS):
        failed: list[State] = []
        for batch in _finished(states, plan, asker):
            if batch:
                answers = similarities.with_similarities([_evaluated(state, plan) for state in batch], batch, plan)
                keep([(evaluated, plan.score(evaluated)) for evaluated in answers])
            failed += [state for state in batch if state.failures]
            finished += sum(not state.failures or turn == ROUNDS - 1 for state in batch)
            asker.settle()
            report(before + asker.steps)
        states = [state.once_more() for state in sorted(failed, key=lambda state: state.place)]
        if not states:
            break
    report(total)


def _evaluated(state: State, plan: Plan) -> EvaluatedAnswer:
    """Return the evaluated answer of a state: all results of its steps, its failures and its calls."""
    question = state.item.question
    answer = state.answer or Answer(question.id, "", "failed" if "answer" in state.failures else "answered", "none")
    if "answer" in state.failures:
        answer = replace(answer, reason=state.failures["answer"], answerer=plan.config.answerer)
        if state.fitted is not None:
            answer = replace(answer, context=state.fitted.context, cut=state.fitted.cut)
    calls = {(call.step, call.raw): call for call in reversed([*state.item.paid, *state.calls])}
    evaluated = EvaluatedAnswer(question, answer, failures=dict(state.failures), calls=tuple(reversed(calls.values())))
    for name, step in STEPS.items():
        if state.results.get(name) is not None:
            evaluated = step.enter(evaluated, state)
    return replace(evaluated, shared_words=_shared_words(state))


def _shared_words(state: State) -> float | None:
    """Return the share of the answer's words that occur in its context; None without an answer, a context or words."""
    answer_units = checks.units(citations.without_citations(state.answer_text))
    if not answer_units or not state.context:
        return None
    context_units = frozenset[str]().union(*map(checks.units, state.context.values()))
    return len(answer_units & context_units) / len(answer_units)


def _finished(states: Sequence[State], plan: Plan, asker: Asker) -> Iterator[list[State]]:
    """Do the steps of `states`, and yield the finished ones in batches; an empty batch while there are none."""

    def do(place: int, step: str) -> None:
        _do_step(states[place], step, plan, asker)

    needs = {
        name: [need for need in step.needs if need in plan.steps] for name, step in STEPS.items() if name in plan.steps
    }
    asker.stopping.clear()
    with Scheduler(len(states), needs, do, workers=plan.concurrency, stopping=asker.stopping) as scheduler:
        batch: list[State] = []
        yielded = time.monotonic()
        try:
            for place in scheduler.finished(TOGETHER):
                batch += [states[place]] if place is not None else []
                if place is None or len(batch) >= WINDOW or time.monotonic() - yielded > LONGEST:
                    yield batch
                    batch, yielded = [], time.monotonic()
        except RagvizError:
            yield batch  # they are paid for
            raise
        yield batch


def _do_step(state: State, step: str, plan: Plan, asker: Asker) -> None:
    """Do a step of a question and record its result or failure, unless it is done or a step that it needs failed."""
    if step in state.done:
        return
    failed_need = next((need for need in STEPS[step].needs if need in state.failures), None)
    if failed_need is not None:
        state.failures[step] = state.failures[failed_need]
        return
    usable_before, unusable_before = state.usable[step], state.unusable[step]
    try:
        state.results[step] = STEPS[step].perform(state, plan, bounded(state, step, asker))
    except ModelError as error:
        if error.outage:
            raise
        state.failures[step] = str(error)
        usable, unusable = state.usable[step] - usable_before, state.unusable[step] - unusable_before
        plan.breaker.count(step, 0, usable + unusable, str(error))
    else:
        state.done.add(step)
        asker.step_done()
        usable, unusable = state.usable[step] - usable_before, state.unusable[step] - unusable_before
        plan.breaker.count(step, usable, unusable, state.reasons.get(step, ""))
