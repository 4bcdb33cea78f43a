"""Requests to a model, their modes, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from ragviz.core.call import Call
from ragviz.models.spending import Spending

Reply = TypeVar("Reply", bound=BaseModel)
Result = TypeVar("Result")
Message = Mapping[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`"""

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""How a typed reply is requested, best first: by schema, as any JSON object, or in words only."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Reply]):
    """A request; two equal requests to one client get one answer. `reply` is the type the answer must have.

    `check` returns what is wrong with a reply of the right form, "" when nothing is: a wrong one is requested again
    with that complaint, and never cached. Replies of one `edition` are not served to another: a model whose replies
    proved worthless gets the same request anew.

    `max_tokens` bounds the reply, and every request has one: twice the tokens of the longest reply that would be
    accepted, its JSON included, so that useful replies are not cut and endless ones are. A reply that was cut is
    requested again with a higher bound; the bound is no part of the cache key, for a whole reply is the same under any.

    Each call is recorded in `spending`, where there is one, before it is sent.

    `number` earlier replies could not be used: the next attempt says so, so that no model gets the same words twice. A
    reply is cached under the words of the request itself. `first` are the messages that `once_more` repeats.
    """

    messages: Sequence[Message]
    reply: type[Reply] | None = None
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    check: Callable[[Reply], str] | None = field(default=None, compare=False, repr=False)
    edition: int = 0
    number: int = field(default=0, compare=False, repr=False)
    spending: Spending | None = field(default=None, compare=False, repr=False)
    first: Sequence[Message] = field(default=(), compare=False, repr=False)

    def once_more(self, number: int, why: str) -> Request[Reply]:
        """Return a request for another reply: in other words, because greedy decoding ignores the seed."""
        messages = noted(self.messages, f"Attempt {number + 1}. {why}")
        return replace(self, messages=messages, seed=number, first=self.first or self.messages)


@dataclass(frozen=True, slots=True)
class Completion(Generic[Reply]):
    """An answer. `parsed` is None when the request has no reply type.

    Tokens (`estimated` from the texts where the server does not report them) and `seconds` (in flight, without waits)
    include discarded attempts; of a `cached` answer they are what was paid then. `cost` is in dollars, None when the
    model has no price. `useless` replies came before it.
    """

    text: str
    parsed: Reply | None
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cached: bool
    model: str
    cost: float | None
    useless: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid; `cost` sums the calls with a price. The tokens of `estimated` calls were not reported."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    estimated: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, calls: Sequence[Call | Completion[Any]]) -> Usage:
        """Return what these calls took together."""
        tokens = (sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls))
        seconds, estimated = sum(call.seconds for call in calls), sum(call.estimated for call in calls)
        return cls(len(calls), *tokens, seconds, estimated, sum(call.cost or 0.0 for call in calls))

    def __add__(self, other: Usage) -> Usage:
        """Return the sum."""
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Support:
    """What an endpoint can do: `mode` of typed replies, seconds of a tiny call, parameters its model refuses."""

    model: str
    host: str
    mode: Mode
    seconds: float
    refused: tuple[str, ...]


class Greeting(BaseModel):
    """A greeting."""

    language: Literal["English", "Chinese"]
    words: str


class Greetings(BaseModel):
    """One greeting in each language."""

    greetings: list[Greeting]


SAMPLE: Request[Greetings] = Request(
    [
        {"role": "system", "content": "You write greetings. The user message holds the names of languages."},
        {"role": "user", "content": '["English", "Chinese"]'},
    ],
    Greetings,
    max_tokens=4096,
    seed=1,
)
"""Sent to test an endpoint: in the form of real requests, with everything that an endpoint may refuse of them."""

PROBE: Request[Greetings] = Request(
    [{"role": "user", "content": "Write the numbers from one to sixty in words."}], max_tokens=128
)
"""Sent to learn how long a longer reply takes."""


def noted(messages: Sequence[Message], note: str) -> list[Message]:
    """Append a note to the last message: many models refuse two messages of a user in a row."""
    *earlier, last = messages
    return [*earlier, {**last, "content": f"{last['content']}\n\n{note}"}]


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Put the text of each message of the system before the one that follows it, for models that refuse that role."""
    merged: list[Message] = []
    before = ""
    for message in messages:
        if message["role"] == "system":
            before += f"{message['content']}\n\n"
        else:
            merged.append({**message, "content": before + message["content"]})
            before = ""
    return merged


def with_room(request: Request[Reply], room: int) -> Request[Reply]:
    """Return the request with `room` times as many tokens for its reply."""
    return replace(request, max_tokens=room * request.max_tokens) if request.max_tokens else request
