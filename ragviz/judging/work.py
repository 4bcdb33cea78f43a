"""Answering a run's questions and judging the answers: many questions at once, each model call paid once.

A question's steps depend on each other ("claims" needs the answer, "context" needs the claims). Steps that are ready
are done, the earliest question first, so that questions finish one after another and a stopped run has complete ones.
A step that fails is repeated after all others; an endpoint that is down is waited for.
"""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from ragviz.core import stopping
from ragviz.core.errors import Cancelled, ModelError, RagvizError
from ragviz.core.stopping import LOOK, Progress, Stopping, current, follow, silent
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import checks, similarities
from ragviz.judging.planning import Item, Keep, Plan
from ragviz.judging.step import State, bounded
from ragviz.judging.steps import STEPS
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request, Spending
from ragviz.targets import citations
from ragviz.text import language, words
from ragviz.text.normal_form import normal_form


class Scheduler:
    """Does `steps` (name → names of the steps it needs) for each of `count` items, by `do(place, step)`.

    Used as a context manager: leaving it starts no more steps and waits for those in flight, only briefly when a person
    stops the work. `finished` raises an exception of `do`. `stopping` stops the threads.
    """

    def __init__(
        self,
        count: int,
        steps: Mapping[str, Sequence[str]],
        do: Callable[[int, str], None],
        *,
        workers: int,
        stopping: Stopping | None = None,
    ) -> None:
        """Prepare the queue; the threads start on entering."""
        self._do, self._stopping = do, stopping or Stopping()
        self._order = {step: number for number, step in enumerate(steps)}
        self._waiting = [{step: set(needs) for step, needs in steps.items()} for _ in range(count)]
        self._left = dict.fromkeys(range(count), len(steps))
        self._ready: list[tuple[int, int, str]] = []
        self._changed = threading.Condition()
        self._done: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self._count, self._workers = count, workers
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Scheduler:
        """Start the threads."""
        for place in range(self._count):
            self._advance(place, None)
        self._threads = [
            threading.Thread(target=self._work, name=f"scheduler-{number}", daemon=True)
            for number in range(self._workers)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Start no more steps, and wait for those in flight; a stop drops those that are waiting themselves."""
        self._stopping.set()
        if isinstance(error, Cancelled) or not isinstance(error, RagvizError | None):
            self._stopping.drop()
        with self._changed:
            self._left.clear()
            self._changed.notify_all()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK)
                if current().is_set():
                    self._stopping.drop()

    def finished(self, seconds: float) -> Iterator[int | None]:
        """Yield the place of each item when all its steps are done; None whenever none is done for `seconds`."""
        left = self._count
        while left:
            try:
                place = self._done.get(timeout=seconds)
            except queue.Empty:
                yield None
                continue
            if isinstance(place, BaseException):
                raise place
            left -= 1
            yield place

    def _work(self) -> None:
        follow(self._stopping)
        while True:
            with self._changed:
                while not self._ready and self._left:
                    self._changed.wait()
                if not self._left:
                    return
                place, _, step = heapq.heappop(self._ready)
            try:
                self._do(place, step)
            except BaseException as error:  # `finished` raises it, where the caller is
                self._done.put(error)
                return
            with self._changed:
                if self._left:
                    self._changed.notify(self._advance(place, step) - 1)  # one of them is for this thread
                if not self._left:
                    self._changed.notify_all()

    def _advance(self, place: int, finished: str | None) -> int:
        """Record that a step is done; the steps that waited for it alone become ready. Returns their number."""
        waiting, before = self._waiting[place], len(self._ready)
        for step, needs in list(waiting.items()):
            needs.discard(finished or "")
            if not needs:
                del waiting[step]
                heapq.heappush(self._ready, (place, self._order[step], step))
        self._left[place] -= finished is not None
        if not self._left[place]:
            del self._left[place]
            self._done.put(place)
        return len(self._ready) - before


PAUSES = (2.0, 5.0, 10.0, 30.0)
"""Seconds between two attempts at an endpoint that is down."""


class Asker:
    """Calls models within a run's budget, and waits while their endpoint is down."""

    def __init__(self, plan: Plan) -> None:
        """Count steps from now on; the plan's clients have to be open."""
        self._plan, self._changed = plan, threading.Lock()
        self._clients = [client for client in {plan.answerer, plan.judge} if client]
        self.steps = 0
        self._down_since: float | None = None
        self._answered = 0.0
        self._waiting, self.stopping = "", Stopping()

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError, or BudgetReached before a call that could go over."""
        pauses, started = 0, time.monotonic()
        while True:
            try:
                completion = client.ask(replace(request, spending=self._plan.spending))
            except ModelError as error:
                failure = error
            else:
                self._down_since, self._waiting, self._answered = None, "", time.monotonic()
                return completion
            # When another call was answered meanwhile, or a test call is now, only this call fails.
            if failure.temporary and pauses and (self._answered > started or _answers(client, self._plan.spending)):
                self._down_since, self._waiting = None, ""
                raise failure.of_this_call()
            self._wait(failure, pauses)
            pauses += 1

    def step_done(self) -> None:
        """Count a step of a question that is done."""
        with self._changed:
            self.steps += 1

    @property
    def trouble(self) -> str:
        """Why an endpoint is being waited for, "" when it answers."""
        return self._waiting or next((client.trouble for client in self._clients if client.trouble), "")

    def _wait(self, error: ModelError, pauses: int) -> None:
        """Wait before the next call to an endpoint that is down; raise errors that waiting does not solve."""
        if not error.temporary:
            raise error
        now = time.monotonic()
        self._down_since = self._down_since or now
        if now - self._down_since > self._plan.patience:
            raise error
        self._waiting = f"Paused, resumes by itself: {error}"
        if current().wait(PAUSES[min(pauses, len(PAUSES) - 1)]):
            raise error


def _answers(client: ModelClient, spending: Spending) -> bool:
    try:
        client.test(spending)
    except ModelError as error:
        return not error.outage
    return True


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
    progress(0, None, "", "Loading libraries")
    _load(items, plan)
    asker = Asker(plan)
    try:
        _work(items, plan, keep, progress, asker)
    finally:
        plan.spending.settle()


def _load(items: Sequence[Item], plan: Plan) -> None:
    """Load clients, languages and models before the first thread starts, as concurrent imports can fail."""
    for client in (plan.answerer, plan.judge):
        if client is not None:
            client.open()
    texts = dict.fromkeys(text for item in items for text in (item.question.query, item.question.answer))
    languages, phrases = {*map(language.detect, texts)}, "key phrases" in plan.inputs
    stopping.detached(lambda: words.load(languages, phrases=phrases))
    if plan.embedder is not None and items and similarities.COSINES & plan.inputs:
        plan.embedder.load()


def _work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress, asker: Asker) -> None:
    """Do all rounds, reporting progress; with a judge in steps, about one call each: its questions take long."""
    states = {place: State.of(item, place) for place, item in enumerate(items)}
    answered, stored = "answer" in plan.steps, 0
    stage = "Answering and judging" if answered and len(plan.steps) > 1 else "Answering" if answered else "Judging"
    scoring = "Embedding answers" if plan.embedder and similarities.COSINES & plan.inputs else "Scoring answers"
    # The last step of a question is that its answer is scored and stored.
    each, unit = (len(plan.steps) + 1, "steps") if len(plan.steps) > 1 else (1, "questions")
    total = (plan.finished + len(items)) * each

    def report(stage: str) -> None:
        done = plan.finished * each + stored + (asker.steps if each > 1 else 0)
        progress(done, total, unit, asker.trouble or stage)

    report(stage)
    for turn in range(ROUNDS):
        failed: list[State] = []
        for batch in _finished(states, plan, asker, turn):
            if batch:
                report(scoring)
                answers = similarities.with_similarities([evaluated(state) for state in batch], batch, plan)
                keep([(evaluated, plan.score(evaluated)) for evaluated in answers])
            repeated = [state for state in batch if state.failures.keys() - state.hopeless and turn < ROUNDS - 1]
            failed += repeated
            stored += len(batch) - len(repeated)
            plan.spending.settle()
            report(stage)
        states = dict(enumerate(state.once_more() for state in sorted(failed, key=lambda state: state.place)))
        if not states:
            break
    progress(total, total, unit, stage)  # steps that failed are not done again


def evaluated(state: State) -> EvaluatedAnswer:
    """Return the evaluated answer of a state: what came with it, all results of its steps, its failures and calls."""
    recording = state.recording
    if "answer" in state.failures:
        recording = replace(recording, status="failed", reason=state.failures["answer"])
    calls = {(call.step, call.raw): call for call in reversed([*state.item.paid, *state.calls])}
    evaluated = state.given or EvaluatedAnswer(state.item.question, recording)
    evaluated = replace(
        evaluated, recording=recording, failures=dict(state.failures), calls=tuple(reversed(calls.values()))
    )
    for name, step in STEPS.items():
        if state.results.get(name) is not None:
            evaluated = step.enter(evaluated, state)
    said = checks.units(citations.without_marks(state.answer_text))
    share: float | None = None
    if said and state.context:
        there = frozenset[str]().union(*map(checks.units, state.context.values()))
        share = len(said & there) / len(said)
    return replace(evaluated, shared_words=share, reference_read=_reference_read(state))


def _reference_read(state: State) -> float | None:
    """Return how much of the reference stands in what another system read; None without a reference or a context."""
    lang = language.of_answers(state.item.question)
    reference = words.tokens(normal_form(state.reference), lang)
    if state.item.given is None or not reference or not state.context:
        return None
    read = [words.tokens(normal_form(text), lang) for text in state.context.values()]
    if any(f" {' '.join(reference)} " in f" {' '.join(each)} " for each in read):
        return 1.0
    distinct = set(reference)
    return min(0.99, len(distinct.intersection(*[set().union(*read)])) / len(distinct))


def _finished(states: dict[int, State], plan: Plan, asker: Asker, turn: int) -> Iterator[list[State]]:
    """Do the steps of `states`, and take out and yield the finished ones in batches, empty while there are none."""

    def do(place: int, step: str) -> None:
        _do_step(states[place], step, plan, asker, turn)

    needs = {
        name: [need for need in step.needs if need in plan.steps] for name, step in STEPS.items() if name in plan.steps
    }
    asker.stopping.clear()
    with Scheduler(len(states), needs, do, workers=plan.concurrency, stopping=asker.stopping) as scheduler:
        batch: list[State] = []
        yielded = time.monotonic()
        try:
            for place in scheduler.finished(TOGETHER):
                batch += [states.pop(place)] if place is not None else []
                if place is None or len(batch) >= WINDOW or time.monotonic() - yielded > LONGEST:
                    yield batch
                    batch, yielded = [], time.monotonic()
        except RagvizError:
            yield batch  # they are paid for
            raise
        yield batch


def _remember(state: State, step: str, plan: Plan, why: str) -> None:
    if plan.failures is not None and step in state.keys:
        plan.failures.put_many({state.keys[step]: why.encode()})


def _is_in_vain(state: State, step: str) -> bool:
    """Return whether a step cannot succeed: one that it needs failed, or it always does; its failure is recorded."""
    need = next((need for need in STEPS[step].needs if need in state.failures), None)
    if need in state.hopeless:
        state.hopeless.add(step)
    if need is None and step not in state.hopeless:
        return False
    state.failures[step] = state.failures[need] if need else state.reasons[step]
    return True


def _do_step(state: State, step: str, plan: Plan, asker: Asker, turn: int) -> None:
    """Do a step of a question and record its result or failure, unless it is done or a step that it needs failed."""
    if step in state.done or _is_in_vain(state, step):
        return
    before = state.usable[step], state.cached[step], state.unusable[step]
    try:
        state.results[step] = STEPS[step].perform(state, plan, bounded(state, step, asker, plan.failures))
    except ModelError as error:
        if error.outage:
            raise
        state.failures[step] = str(error)
        if turn == ROUNDS - 1 and error.of_replies:
            _remember(state, step, plan, str(error))
        paid = state.usable[step] - before[0] - (state.cached[step] - before[1])
        plan.breaker.count(step, 0, paid + state.unusable[step] - before[2], str(error))
    else:
        if step in state.item.failed:
            _remember(state, step, plan, "")
        state.done.add(step)
        asker.step_done()
        usable, unusable = state.usable[step] - before[0], state.unusable[step] - before[2]
        if not usable and step != "answer" and state.results[step] is not None:
            usable = 1  # a judge's result that an earlier run stored: a bank, verdicts on chunks
        plan.breaker.count(step, usable, unusable, state.reasons.get(step, ""))
