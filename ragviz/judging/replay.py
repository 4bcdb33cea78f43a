"""The prompts behind an evaluated answer, built again from what the run stored: its replies are read anew, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ragviz.core.call import Call
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging.planning import Item, Plan
from ragviz.judging.pool import Asked
from ragviz.judging.step import State
from ragviz.judging.steps import STEPS
from ragviz.models import replies
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Message, Request
from ragviz.targets import answering

CHANGED_VERSION = "it was worded by version {} of the prompt, which this version of ragviz no longer has"
CHANGED_CONTEXT = "the chunks that were in its context are not as they were: the index or its documents have changed"
POOLED = "it was asked for another answer to this question: its verdicts on the same chunks are taken over"
NOT_REPEATED = "the reply was asked for again in other words, which are not stored"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with the messages that were sent; None where they cannot be built again, and then `why` says so."""

    call: Call
    messages: tuple[Message, ...] | None
    why: str = ""


class _NoBanks:
    """A cache that holds no banks: their questions are asked for again."""

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        return


def exchanges(evaluated: EvaluatedAnswer, calls: Sequence[Call], item: Item, plan: Plan) -> list[Exchange]:
    """Return each of `calls`, those behind `evaluated`, with its messages; no model is asked.

    Every step is done again, and is given its stored replies. What it asks is then what it asked, but for a request
    that followed an unusable reply, and for a server without JSON schemas, which is sent the schema in words too.
    """
    plan = replace(plan, banks=_NoBanks())
    state = State(item, 0, item.recording, given=evaluated)
    if asked := evaluated.verdicts.get("context"):  # verdicts on some of the chunks were there before
        state.asked = Asked(tuple(asked["claims"]), tuple(asked["places"]))
    replies_before = frozenset(asked["replies"] if asked else ())
    if evaluated.recording.has_answer and item.recording.read != evaluated.recording.read:
        return [Exchange(call, None, CHANGED_CONTEXT) for call in calls]
    exchanges: dict[int, Exchange] = {}
    for name, step in STEPS.items():
        if name == "answer" and plan.answerer is None:
            continue
        waiting = deque(call for call in calls if call.step == name)
        version = answering.VERSIONS["model"] if name == "answer" else step.version
        pooled = [call for call in waiting if digest(call.raw) in replies_before and name == "context"]
        exchanges |= {id(call): Exchange(call, None, POOLED) for call in pooled}
        waiting = deque(call for call in waiting if id(call) not in exchanges)
        changed = [call for call in waiting if call.prompt != version]
        exchanges |= {id(call): Exchange(call, None, CHANGED_VERSION.format(call.prompt)) for call in changed}
        if waiting and not changed:
            _replay(state, plan, name, waiting, exchanges)
        state.recording = replace(evaluated.recording, contexts=item.recording.contexts)
        state.same_as = evaluated.verdicts.get("answer", {}).get("same_as", "")
    return [exchanges.get(id(call)) or Exchange(call, None, NOT_REPEATED) for call in calls]


def _replay(state: State, plan: Plan, name: str, waiting: deque[Call], exchanges: dict[int, Exchange]) -> None:

    def ask(client: ModelClient, request: Request[Any]) -> Completion[Any]:
        if not waiting:
            raise ModelError("The run stored no reply to this.")
        call = waiting.popleft()
        exchanges[id(call)] = Exchange(call, tuple(request.messages))
        try:
            parsed = replies.read(call.raw, request)
        except replies.Malformed as error:
            raise ModelError(str(error)) from None
        counts = (call.prompt_tokens, call.completion_tokens, call.seconds)
        return Completion(call.raw, parsed, *counts, call.cached, call.model, call.cost, estimated=call.estimated)

    with suppress(ModelError):
        STEPS[name].perform(state, plan, ask)
