"""A step of answering and judging a question as one record, and the state that the steps of a question share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic import BaseModel

from ragviz.core.call import Call
from ragviz.core.digests import digest, json_line
from ragviz.core.errors import ModelError
from ragviz.core.recording import Recording
from ragviz.core.reply_cache import Cache
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging.planning import Item, Plan
from ragviz.judging.pool import Asked
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request

REPLIES = 9
"""Replies that are paid for one step of a question over all rounds, at most, unusable ones included."""

REMEMBERED = "That was in an earlier run: judge this one again to ask anew."

LACKING = "The last reply left out some of what was asked for: give every row."


class Asks(Protocol):
    """Sends a step's request to a model; in a dry run, makes up a placeholder reply."""

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError."""
        ...


@dataclass(slots=True)
class State:
    """The state of one question; each step is done by one thread, and writes its own result only.

    `results` are those of the finished steps, by step: the file of a step knows its type. The counters are of all
    rounds, by step: `replies` paid, `usable` ones, the `cached` among these, `unusable` ones; `useless` counts unusable
    replies by the text of their request.
    """

    item: Item
    place: int
    recording: Recording
    given: EvaluatedAnswer | None = None
    results: dict[str, Any] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    usable: Counter[str] = field(default_factory=Counter)
    cached: Counter[str] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    useless: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # why a step failed last
    keys: dict[str, str] = field(default_factory=dict)  # `failure_key` of a step's first request
    hopeless: set[str] = field(default_factory=set)  # steps that fail whenever they are repeated
    same_as: str = ""  # an equal answer that was judged before, but for the numbers of its citations
    asked: Asked | None = None  # what "context" asked, where a stored answer is done again

    @classmethod
    def of(cls, item: Item, place: int = 0) -> State:
        """Return a question before its first step, with the verdicts that came with it."""
        state = cls(item, place, item.recording)
        if item.given is not None:
            state.take(item.given)
        return state

    def take(self, given: EvaluatedAnswer) -> None:
        """Take verdicts that came with the recording: their steps are done."""
        self.given = given
        self.done |= set(given.given)

    def once_more(self) -> State:
        """Clear the failures and change the seed, for another round."""
        self.reasons |= self.failures
        self.failures.clear()
        self.item = replace(self.item, seed=self.item.seed + 2)
        return self

    @property
    def answer_text(self) -> str:
        """The answer to judge: "" when there is none, or it was refused."""
        return self.same_as or self.recording.answer if self.recording.status == "answered" else ""

    @property
    def reference(self) -> str:
        """The reference answer, "" when there is none."""
        return self.item.question.answer

    @property
    def context(self) -> dict[str, str]:
        """Texts of the passages to judge, by chunk, as they were read."""
        return self.recording.texts


@dataclass(frozen=True, slots=True)
class Step:
    """One step of answering and judging a question: all that the scheduler, the dry run and the pages know of it.

    `needs` are the steps that are done before. `perform` sends the requests of the step, reads the replies and returns
    the step's result, None where there was nothing to ask; it raises ModelError where the replies are unusable.
    `enter` returns the evaluated answer with the result. `placeholders` make, by type of reply, the reply that a dry
    run assumes. `version` is that of the prompt: part of every score that rests on the step. `calls` is their number
    for one question, without repetitions.
    """

    title: str
    perform: Callable[[State, Plan, Asks], Any]
    enter: Callable[[EvaluatedAnswer, State], EvaluatedAnswer]
    placeholders: Mapping[type[BaseModel], Callable[[Item], BaseModel]]
    needs: tuple[str, ...] = ()
    version: str = ""
    calls: int = 1


def ask_judge(
    state: State,
    plan: Plan,
    ask: Asks,
    step: tuple[str, str],
    request: Request[Any],
    attempt: int = 0,
    why: str = LACKING,
) -> Any:
    """Return the judge's reply for a step, given by its name and version.

    An `attempt` after the first is worded otherwise, for `why`: else the cached reply would come back.

    Raises:
        ModelError: there is no usable reply.

    """
    assert plan.judge is not None
    if attempt:
        request = request.once_more(state.item.seed + attempt, why)
    completion = ask(plan.judge, replace(request, edition=plan.edition))
    state.calls.append(completion.call(*step))
    return completion.parsed


def require_complete(missing: tuple[Sequence[int], Sequence[int]], sentence: str) -> None:
    """Raise ModelError with `sentence` when a judge left something out in both attempts."""
    if left_out := sum(map(len, missing)):
        raise ModelError(f"{sentence.format(left_out)}, asked twice. Judge again, or choose another judge.")


def failure_key(step: str, client: ModelClient, request: Request[Any]) -> str:
    """Return the key under which it is remembered that a model gave nothing usable to a step's first request."""
    messages = [dict(message) for message in request.first or request.messages]
    return digest("failure", client.base_url, client.model, str(request.edition), step, json_line(messages), length=32)


def bounded(state: State, step: str, ask: Asks, failures: Cache | None) -> Asks:
    """Limit a step to `REPLIES` replies over all rounds; after an unusable reply the request is worded otherwise.

    A step that is remembered in `failures` fails at once, unless this question is asked again because it failed.
    """

    def ask_bounded(client: ModelClient, request: Request[Any]) -> Completion[Any]:
        if step not in state.keys:
            state.keys[step] = key = failure_key(step, client, request)
            if failures is not None and step not in state.item.failed and (why := failures.get_many([key]).get(key)):
                state.hopeless.add(step)
                raise ModelError(f"{why.decode()} {REMEMBERED}")
        if state.replies[step] >= REPLIES:
            raise ModelError(state.reasons.get(step, f"{REPLIES} replies were not enough; choose another model."))
        text = request.messages[-1]["content"]
        before = state.useless.get(text, state.item.seed if step in state.item.failed else 0)
        try:
            completion = ask(client, replace(request, number=before))
        except ModelError as error:
            state.replies[step] += error.replies
            state.unusable[step] += max(error.replies, error.calls)
            state.useless[text] = before + error.replies
            state.reasons[step] = str(error)
            raise
        state.replies[step] += completion.useless + (not completion.cached)
        state.unusable[step] += completion.useless
        state.usable[step] += 1
        state.cached[step] += completion.cached
        return completion

    return ask_bounded
