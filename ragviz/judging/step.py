"""A step of answering and judging a question as one record, and what the steps of one question share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic import BaseModel

from ragviz.answers import contexts
from ragviz.errors import ModelError
from ragviz.judging.planning import Item, Plan
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.records import Answer, Call, EvaluatedAnswer

REPLIES = 9
"""Replies that are paid for one step of a question, at most: those that cannot be used, of all rounds, included."""

LACKING = "The last reply left out some of what was asked for: give every row."


class Asks(Protocol):
    """Asks a model for a step: the real one, or the one of a dry run, which makes placeholder replies."""

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError."""
        ...


@dataclass(slots=True)
class State:
    """What is known of one question so far; each step is done by one thread, and writes its own result only.

    `results` holds what each step that is done has made, by step: the file of a step knows its type. The counters are
    of all rounds, by step; `useless` counts replies without use by the words of their request.
    """

    item: Item
    place: int
    answer: Answer | None = None
    fitted: contexts.Fitted | None = None
    results: dict[str, Any] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    usable: Counter[str] = field(default_factory=Counter)
    vain: Counter[str] = field(default_factory=Counter)
    useless: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # why a step failed last

    def once_more(self) -> State:
        """Forget what failed, to try that again."""
        self.reasons |= self.failures
        self.failures.clear()
        self.item = replace(self.item, seed=self.item.seed + 2)
        return self

    @property
    def answer_text(self) -> str:
        """What is judged as the answer: "" when there is none, or it was refused."""
        return self.answer.text if self.answer and self.answer.status == "answered" else ""

    @property
    def reference(self) -> str:
        """The reference answer, "" when there is none."""
        return self.item.question.answer

    @property
    def context(self) -> dict[str, str]:
        """Texts of the passages that are judged, by chunk: as the answerer got them, without one the first k."""
        if self.fitted is None:
            return {chunk.id: chunk.text for chunk in self.item.chunks}
        return {passage.chunk_id: passage.text for passage in self.fitted.passages}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of answering and judging a question: all that the scheduler, the dry run and the pages know of it.

    `needs` are the steps that are done before. `perform` sends the requests of the step and reads the replies; what it
    returns is the step's result, None where there was nothing to ask. It raises ModelError where the replies are no
    use. `enter` puts the result into the evaluated answer. `placeholders` give, by type of reply, what a dry run
    assumes in its place. `version` is that of the prompt: part of every score that rests on the step. `calls` are
    those for one question, without repetitions.
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
    again: int = 0,
    why: str = LACKING,
) -> Any:
    """Reply of the judge for a step, given by its name and version.

    What is asked `again` is asked in other words, or the reply that lacked something came back.

    Raises:
        ModelError: there is no usable reply.

    """
    assert plan.judge is not None
    if again:
        request = request.once_more(state.item.seed + again, why)
    completion = ask(plan.judge, replace(request, edition=plan.edition))
    state.calls.append(call_of(*step, completion))
    return completion.parsed


def require_complete(missing: tuple[Sequence[int], Sequence[int]], sentence: str) -> None:
    """Raise ModelError with `sentence` when a judge left out something twice."""
    if left_out := sum(map(len, missing)):
        raise ModelError(f"{sentence.format(left_out)}, asked twice. Judge again, or choose another judge.")


def call_of(step: str, version: str, completion: Completion[Any]) -> Call:
    """What is kept of a completion."""
    counts = (completion.prompt_tokens, completion.completion_tokens, completion.seconds)
    return Call(step, completion.model, version, *counts, completion.cost, completion.cached, completion.text)


def bounded(state: State, step: str, ask: Asks) -> Asks:
    """Ask for a step, for at most `REPLIES` replies over all rounds; what came in vain is asked in other words."""

    def asking(client: ModelClient, request: Request[Any]) -> Completion[Any]:
        if state.replies[step] >= REPLIES:
            raise ModelError(state.reasons.get(step, f"{REPLIES} replies were not enough; choose another model."))
        words = request.messages[-1]["content"]
        before = state.useless.get(words, state.item.seed if step in state.item.failed else 0)
        try:
            completion = ask(client, replace(request, number=before))
        except ModelError as error:
            state.replies[step] += error.replies
            state.vain[step] += max(error.replies, error.calls)
            state.useless[words] = before + error.replies
            state.reasons[step] = str(error)
            raise
        state.replies[step] += completion.useless + (not completion.cached)
        state.vain[step] += completion.useless
        state.usable[step] += not completion.cached
        return completion

    return asking
