"""A request to a model, its completion, what calls cost, and a budget kept across threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from ragviz.core.call import Call, Exceeded, Limits, Paid
from ragviz.core.errors import BudgetReached, UsageError

Prices = Mapping[str, tuple[float, float]]
"""Model name → dollars per million prompt tokens, and per million completion tokens."""


def cost(prices: Prices, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the dollars for that many tokens; None when neither `model` nor a prefix of it has a price.

    >>> cost({"gpt": (1.0, 2.0), "gpt-mini": (0.5, 1.0)}, "gpt-mini-2024", 2_000_000, 1_000_000)
    2.0
    """
    names = [name for name in prices if model.startswith(name)]
    if not names:
        return None
    input_price, output_price = prices[max(names, key=len)]
    return (prompt_tokens * input_price + completion_tokens * output_price) / 1e6


def merged_prices(before: Prices, mine: Prices, now: Prices) -> Prices:
    """Return the prices `now` with the changes from `before` to `mine`: added, changed or removed ones.

    >>> merged_prices({"a": (1.0, 1.0)}, {"b": (2.0, 2.0)}, {"a": (1.0, 1.0), "c": (3.0, 3.0)})
    {'c': (3.0, 3.0), 'b': (2.0, 2.0)}

    Raises:
        UsageError: somebody else gave one of these another price since `before`.

    """
    changed = {name for name in {*before, *mine} if before.get(name) != mine.get(name)}
    if conflicts := sorted(name for name in changed if now.get(name) not in (before.get(name), mine.get(name))):
        raise UsageError(
            f"The price of {', '.join(conflicts)} was changed by somebody else since it was shown: nothing was saved. "
            "Load the page again to see it, and enter yours then."
        )
    unchanged = {name: pair for name, pair in now.items() if name not in changed}
    return unchanged | {name: pair for name, pair in mine.items() if name in changed}


AHEAD = 16
"""Calls that are recorded together, before they are sent."""
WAIT = 0.2
"""Seconds between two checks while waiting for calls in flight."""


def dollars(amount: float) -> str:
    """Format an amount of money: four digits below a dollar.

    >>> dollars(0.05), dollars(0.0123456), dollars(0.00001), dollars(0), dollars(1234.567)
    ('$0.05', '$0.01235', '$0.00001', '$0.00', '$1,234.57')
    """
    return f"${amount:,.2f}" if amount >= 1 or round(amount, 2) == amount else f"${Decimal(f'{amount:.4g}'):f}"


def without_price(model: str, *, budget: bool = False) -> str:
    """Return the sentence that calls of a model cannot be limited, by a budget or a person's month: it has no price."""
    limit = "A budget" if budget else "RAGVIZ_MONTHLY_BUDGET"
    return f"{limit} needs the price of '{model}': enter it on the settings page, or by `ragviz prices set`."


def paid_words(paid: Paid, *, priced: bool = True) -> str:
    """Say what calls cost, or will cost: an estimate and what was paid have the same parts.

    >>> paid_words(Paid(12, 3400, 560, 0.0123)), paid_words(Paid(1, 90, 0), priced=False)
    ('12 calls · 3,400 input + 560 output tokens · $0.0123', '1 call · 90 input + 0 output tokens · no price known')
    """
    tokens = f"{paid.prompt_tokens:,} input + {paid.completion_tokens:,} output tokens"
    counted = f"{paid.calls:,} call{'s' * (paid.calls != 1)}"
    return f"{counted} · {tokens} · {dollars(paid.dollars) if priced else 'no price known'}"


Pay = Callable[[Paid, Limits], Exceeded | None]
"""Adds to a sum of what is paid; when a limit does not hold it, adds nothing and returns that limit."""


class Ledger:
    """A `Pay` in memory, which knows of no months."""

    def __init__(self) -> None:
        """Start at zero."""
        self.total = Paid()

    def __call__(self, paid: Paid, limits: Limits) -> Exceeded | None:
        """See `Pay`."""
        total = self.total + paid
        if limits.budget is not None and total.dollars > limits.budget:
            return Exceeded(total.dollars, limits.budget)
        self.total = total
        return None


class Spending:
    """Counts the calls of many threads against a budget and a person's monthly limit (dollars; None is none).

    `pay` records a call before it is sent, with the most that it may cost, and by `settle` what it did cost; until then
    the unused part covers the next calls, so that few of them have to be recorded. A call without a known end (killed,
    timed out, cut off) stays recorded at its most. `stopped` is whether to wait no more.
    """

    def __init__(
        self,
        pay: Pay | None = None,
        budget: float | None = None,
        monthly: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Record nothing yet; without a `pay` records are in memory."""
        self._pay, self._limits, self._stopped = pay or Ledger(), Limits(budget, monthly), stopped
        self._in_flight, self._reserved = 0, 0.0  # calls in flight, and the most they may cost
        self._ended, self._written = Paid(), Paid()  # calls that ended, and what is recorded
        self._unknown, self._held = 0, 0.0  # calls that ended without an answer or an error, and what is held for them
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float | None, model: str = "") -> Iterator[Callable[[Paid | None], None]]:
        """Reserve `most` dollars for a call; the function it yields takes what it cost, None when it was not served.

        Waits for calls in flight when the limits do not cover this one: they may cost less. `most` is None where the
        model has no price.

        Raises:
            BudgetReached: they do not cover it with none in flight either, or a person has a limit and the model no
                price.

        """
        if most is None and self._limits.monthly is not None:
            raise BudgetReached(without_price(model))
        most = most or 0.0
        costs: list[Paid | None] = []
        with self._changed:
            while (exceeded := self._write(1, most, self._limits)) is not None:
                if not self._in_flight or self._stopped():
                    raise BudgetReached(self._exhausted(most, exceeded))
                self._changed.wait(WAIT)
            self._in_flight += 1
            self._reserved += most
        try:
            yield costs.append
        finally:
            with self._changed:
                self._in_flight -= 1
                self._reserved -= most
                if not costs:
                    self._unknown, self._held = self._unknown + 1, self._held + most
                if (cost := costs[-1] if costs else Paid(1, dollars=most)) is not None:
                    self._ended += cost
                self._changed.notify_all()

    def settle(self) -> None:
        """Record what calls cost by now."""
        with self._changed:
            self._write(0, 0.0, Limits())

    def _exhausted(self, most: float, exceeded: Exceeded) -> str:
        paid = exceeded.dollars - most - self._reserved
        another = f"does not hold another call, which may cost {dollars(most)}"
        if exceeded.renewed:
            return (
                f"The limit of {dollars(exceeded.limit)} a month for {exceeded.person or 'nobody'} {another}: "
                f"{dollars(paid)} of it are spent. It is renewed on {exceeded.renewed} (UTC): resume then, or when "
                "RAGVIZ_MONTHLY_BUDGET is higher."
            )
        if not self._held:
            reason = f"{dollars(paid)} of it are spent. Start it again with a higher budget: nothing is paid twice."
        else:
            calls = f"{self._unknown:,} call{'s' * (self._unknown != 1)}"
            reason = (
                f"{dollars(self._held)} of it are held for {calls} without an answer, which may be charged, "
                f"{dollars(max(0.0, round(paid - self._held, 9)))} are spent. First see that the model answers in time "
                "(the page Settings tests it, RAGVIZ_MODEL_TIMEOUT is its time); then resume with a higher budget."
            )
        return f"The budget of {dollars(exceeded.limit)} {another}: {reason}"

    def _write(self, calls: int, most: float, limits: Limits) -> Exceeded | None:
        """Record what is due and reserved; return the limit that does not hold it."""
        due = self._ended + Paid(self._in_flight + calls, dollars=self._reserved + most) - self._written
        if calls and due.calls <= 0 and due.dollars <= 0:  # the unused part of earlier reservations covers this one
            return None
        if due == Paid():
            return None
        exceeded = None
        for spare in dict.fromkeys((most, 0.0)):  # as much again where the limits cover it: fewer records
            ahead = due + Paid(AHEAD if calls else 0, dollars=spare)
            exceeded = self._pay(ahead, limits)
            if exceeded is None:
                self._written += ahead
                return None
        return exceeded


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

    def call(self, step: str, prompt: str) -> Call:
        """Return the call for a step, by a version of its prompt."""
        counts, paid = (self.prompt_tokens, self.completion_tokens, self.seconds), (self.cost, self.cached)
        return Call(step, self.model, prompt, *counts, *paid, self.text, self.estimated)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid; `cost` sums the calls with a price. The tokens of `estimated` calls were not reported."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    estimated: int = 0
    cost: float = 0.0

    @property
    def paid(self) -> Paid:
        """What the calls cost."""
        return Paid(self.calls, self.prompt_tokens, self.completion_tokens, self.cost)

    @classmethod
    def of(cls, calls: Sequence[Call | Completion[Any]]) -> Usage:
        """Return what these calls took together."""
        tokens = (sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls))
        seconds, estimated = sum(call.seconds for call in calls), sum(call.estimated for call in calls)
        return cls(len(calls), *tokens, seconds, estimated, sum(call.cost or 0.0 for call in calls))

    def __add__(self, other: Usage) -> Usage:
        """Return the sum."""
        return Usage(*(mine + more for mine, more in zip(astuple(self), astuple(other), strict=True)))


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
