"""What a model is asked, in which form, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from ragviz.models.spending import Spending

Reply = TypeVar("Reply", bound=BaseModel)
Result = TypeVar("Result")
Message = Mapping[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`"""

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
"""How a typed reply is asked for, best first: by schema, as any JSON object, or in words only."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Reply]):
    """What is asked; two equal requests to one client get one answer. `reply` is the type the answer must fit.

    `check` tells what is wrong with a reply that has the right form, "" when nothing is: such a reply is asked again
    with that said, and never kept. Replies of one `edition` are not served to another: a model whose replies turned out
    to be worthless is asked the same words anew.

    `max_tokens` bounds the reply, and every request carries one: twice the tokens of the longest reply that would be
    accepted, its JSON included, so that what is useful is not cut and what runs on is stopped. A reply that was cut is
    asked again with more room; a whole one is the same under any bound, which is no part of its content key.

    Each call of it is written into `spending`, where there is one, before it is sent.

    `number` replies to it could not be used before: that is said, so that no model gets the same words twice. A reply
    is kept under the words of the request itself.
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

    def once_more(self, number: int, why: str) -> Request[Reply]:
        """Ask for another reply than the one that came: in other words, for greedy decoding minds no seed."""
        return replace(self, messages=noted(self.messages, f"Attempt {number + 1}. {why}"), seed=number)


@dataclass(frozen=True, slots=True)
class Completion(Generic[Reply]):
    """An answer. `parsed` is None when no reply type was asked for.

    Tokens (0 when the server does not tell) and `seconds` (in flight, without waits) include attempts thrown away;
    of a `cached` answer they are what was paid then. `cost` is in dollars, None when the model has no price. `useless`
    replies came before it.
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


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid; `cost` sums the calls whose model has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
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
    """What the probe of an endpoint replies."""

    greeting: str


PROBE: Request[Greeting] = Request(
    [{"role": "user", "content": "Write the numbers from one to sixty in words."}], max_tokens=128
)
"""Asked to learn how long a longer reply takes."""


def noted(messages: Sequence[Message], note: str) -> list[Message]:
    """The messages with a note at the end of the last: many a model takes no two messages of a user in a row."""
    *before, last = messages
    return [*before, {**last, "content": f"{last['content']}\n\n{note}"}]


def roomier(request: Request[Reply], room: int) -> Request[Reply]:
    """The request with `room` times as many tokens for its reply."""
    return replace(request, max_tokens=room * request.max_tokens) if request.max_tokens else request
