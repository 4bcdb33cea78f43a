"""Answers a run's questions and has the answers judged: many questions at once, each model call paid once.

A question's steps depend on each other ("claims" needs the answer, "context" needs the claims); whatever is ready is
asked, the earliest question first, so that questions get finished one after another and a stopped run has whole ones.
A call that fails is asked again after all others; a whole endpoint that fails is waited for.
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
"""How often a step that failed is asked, in all."""

WINDOW = 16
"""Questions that are embedded and written down together, at most."""
TOGETHER = 0.25
"""Seconds to wait for more of them."""
LONGEST = 2.0
"""Seconds after which those that are through are written down, however many they are."""


def work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress = silent) -> None:
    """Answer and judge `items`; everything that is finished has been given to `keep` when this returns or raises.

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
    """Load what the work needs before its first thread starts: threads that import at once can trip each other.

    A person who stops the work does not wait for it.
    """
    for client in (plan.answerer, plan.judge):
        if client is not None:
            client.open()
    texts = dict.fromkeys(text for item in items for text in (item.question.text, item.question.answer))
    languages, phrases = {*map(language.detect, texts)}, "key phrases" in plan.inputs
    stopping.apart(lambda: words.load(languages, phrases=phrases))
    if plan.embedder is not None and items and similarities.COSINES & plan.inputs:
        plan.embedder.load()


def _work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress, asker: Asker) -> None:
    """Tell the progress in steps, each of which is about a call: with a slow model no question is through for long."""
    states = [State(item, place) for place, item in enumerate(items)]
    through, count = plan.finished, plan.finished + len(items)
    before, total = through * len(plan.steps), count * len(plan.steps)

    def tell(done: int) -> None:
        progress(done, total, "steps", asker.trouble or f"{WORKING}: {through:,} of {count:,} questions are through")

    tell(before)
    for number in range(ROUNDS):
        failed: list[State] = []
        for batch in _finished(states, plan, asker):
            if batch:
                known = similarities.with_similarities([_known(state, plan) for state in batch], batch, plan)
                keep([(judged, plan.score(judged)) for judged in known])
            failed += [state for state in batch if state.failures]
            through += sum(not state.failures or number == ROUNDS - 1 for state in batch)
            asker.settle()
            tell(before + asker.steps)
        states = [state.once_more() for state in sorted(failed, key=lambda state: state.place)]
        if not states:
            break
    tell(total)


def _known(state: State, plan: Plan) -> EvaluatedAnswer:
    question = state.item.question
    answer = state.answer or Answer(question.id, "", "failed" if "answer" in state.failures else "answered", "none")
    if "answer" in state.failures:
        answer = replace(answer, reason=state.failures["answer"], answerer=plan.config.answerer)
        if state.fitted is not None:
            answer = replace(answer, context=state.fitted.context, cut=state.fitted.cut)
    calls = {(call.step, call.raw): call for call in reversed([*state.item.paid, *state.calls])}
    judged = EvaluatedAnswer(question, answer, failures=dict(state.failures), calls=tuple(reversed(calls.values())))
    for name, step in STEPS.items():
        if state.results.get(name) is not None:
            judged = step.enter(judged, state)
    return replace(judged, shared_words=_shared_words(state))


def _shared_words(state: State) -> float | None:
    """Share of the answer's words that stand in its context; None without an answer, a context or words."""
    said = checks.units(citations.without_citations(state.answer_text))
    if not said or not state.context:
        return None
    held = frozenset[str]().union(*map(checks.units, state.context.values()))
    return len(said & held) / len(said)


def _finished(states: Sequence[State], plan: Plan, asker: Asker) -> Iterator[list[State]]:
    """Do the steps of `states`, and give those that are through, some at a time; an empty list while there are none."""

    def do(place: int, step: str) -> None:
        state = states[place]
        if step in state.done:
            return
        broken = next((need for need in STEPS[step].needs if need in state.failures), None)
        if broken is not None:
            state.failures[step] = state.failures[broken]
            return
        usable, vain = state.usable[step], state.vain[step]
        try:
            state.results[step] = STEPS[step].perform(state, plan, bounded(state, step, asker))
        except ModelError as error:
            if error.outage:
                raise
            state.failures[step] = str(error)
            plan.breaker.count(step, 0, state.usable[step] - usable + state.vain[step] - vain, str(error))
        else:
            state.done.add(step)
            asker.step_done()
            plan.breaker.count(step, state.usable[step] - usable, state.vain[step] - vain, state.reasons.get(step, ""))

    needs = {
        name: [need for need in step.needs if need in plan.steps] for name, step in STEPS.items() if name in plan.steps
    }
    asker.stopping.clear()
    with Scheduler(len(states), needs, do, workers=plan.concurrency, stopping=asker.stopping) as scheduler:
        batch: list[State] = []
        given = time.monotonic()
        try:
            for place in scheduler.finished(TOGETHER):
                batch += [states[place]] if place is not None else []
                if place is None or len(batch) >= WINDOW or time.monotonic() - given > LONGEST:
                    yield batch
                    batch, given = [], time.monotonic()
        except RagvizError:
            yield batch  # they are paid for
            raise
        yield batch
