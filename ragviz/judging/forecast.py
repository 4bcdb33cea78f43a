"""A dry run: the calls, tokens, dollars and minutes that a run will take, and what of it is already paid.

Every step is done as in a run, but calls that are not in the cache get placeholder replies, about as long as real ones,
so that the later steps can be counted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from ragviz.core.call import Paid
from ragviz.core.errors import ModelError
from ragviz.core.question import Question
from ragviz.core.recording import Recording
from ragviz.core.reply_cache import Cache, Pool
from ragviz.judging import planning
from ragviz.judging.step import State
from ragviz.judging.steps import PLACEHOLDERS, STEPS
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request, dollars
from ragviz.targets import fitting


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run takes: `calls` by step, of which `cached` are already paid; the other fields are of the unpaid ones.

    Tokens are estimated from characters. `cost` is in dollars, None when a model has no price. `seconds` are learnt
    from the endpoint's own calls, None when it has not answered any. `paid_calls` and `paid` dollars went to an
    endpoint's embedder for the vectors of the questions, which are cached for the run.
    """

    questions: int
    calls: Mapping[str, int] = field(default_factory=dict)
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    seconds: float | None = 0.0
    paid_calls: int = 0
    paid: float = 0.0

    @property
    def paid_words(self) -> str:
        """What the dry run itself paid; "" when it paid nothing."""
        if not self.paid_calls:
            return ""
        return f"The questions were embedded for this: {self.paid_calls:,} calls, {dollars(self.paid)} paid."

    @property
    def to_pay(self) -> Paid:
        """What is not paid yet."""
        calls = self.total - self.cached
        return Paid(calls, self.prompt_tokens, self.completion_tokens, self.cost or 0.0)

    @property
    def total(self) -> int:
        """Number of all calls, those already paid included."""
        return sum(self.calls.values())


def duration(unpaid: Mapping[ModelClient, tuple[int, int]], concurrency: int, *, probe: bool = False) -> float | None:
    """Return the seconds that calls take, given their number and reply tokens by client; None when a pace is not known.

    With `probe`, an endpoint of unknown pace is sent two small calls.
    """
    paces = {client: client.pace(probe=probe) for client in unpaid}
    each = [pace.seconds(*unpaid[client]) for client, pace in paces.items() if pace is not None]
    return sum(each) / concurrency if len(each) == len(paces) else None


def foresee(
    items: Sequence[planning.Item],
    plan: planning.Plan,
    controls: Sequence[Request[Any]] = (),
    *,
    probe: bool = False,
    dry: DryRun | None = None,
) -> Forecast:
    """Count the calls of `work.work` for `items`, and of the `controls`; makes no call that is not cached.

    But with `probe`, an endpoint of unknown pace is sent two small calls, to learn how long calls take. `dry` has
    counted what comes before.
    """
    dry, read_only = dry or DryRun(), _ReadOnly(plan.banks, plan.pool)
    plan = replace(plan, banks=read_only, pool=read_only)
    for request in controls:
        assert plan.judge is not None
        dry.step, dry.item = "controls", items[0]
        dry(plan.judge, request)
    for item in items:
        state = State.of(item)
        for name, step in STEPS.items():
            if name in plan.steps and name not in state.done:
                dry.step, dry.item = name, item
                with suppress(ModelError):  # a cached reply lacks something: the call that asks again is counted
                    state.results[name] = step.perform(state, plan, dry)
    return dry.forecast(len(items), plan.concurrency, probe=probe)


class _ReadOnly:
    """A cache and a pool to which nothing is added: placeholders make no banks and no verdicts."""

    def __init__(self, cache: Cache, pool: Pool) -> None:
        self.get_many, self.verdicts = cache.get_many, pool.verdicts

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep nothing."""

    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep nothing."""


class DryRun:
    """Answers calls from the cache, else by placeholders; the same call is counted once, as in a real run.

    `step` and `item` are what it is asked for.
    """

    def __init__(self, step: str = "") -> None:
        """Count nothing yet."""
        self.step, self.item = step, planning.Item(Question("", "", "", (), ""), Recording(""))
        self.calls, self.cached, self.prompt_tokens, self.completion_tokens = Counter[str](), 0, 0, 0
        self.cost: float | None = 0.0
        self.unpaid: dict[ModelClient, tuple[int, int]] = {}
        self._placeholders: dict[str, Completion[Any]] = {}

    def __call__(
        self, client: ModelClient, request: Request[Any], placeholder: BaseModel | None = None
    ) -> Completion[Any]:
        """Return a reply of the cache, or the placeholder: by default that of the reply's type."""
        key = repr((client.model, request))
        if key in self._placeholders:
            return self._placeholders[key]
        self.calls[self.step] += 1
        if client.cached([request])[0]:
            self.cached += 1
            return client.ask(request)
        assert request.reply is not None
        reply = placeholder or PLACEHOLDERS[request.reply](self.item)
        text = reply.model_dump_json()
        prompt_tokens = sum(fitting.estimate(message["content"]) for message in request.messages)
        counts = (prompt_tokens, fitting.estimate(text))
        self.prompt_tokens += counts[0]
        self.completion_tokens += counts[1]
        calls, tokens = self.unpaid.get(client, (0, 0))
        self.unpaid[client] = (calls + 1, tokens + counts[1])
        price = client.price(*counts)
        self.cost = None if price is None or self.cost is None else self.cost + price
        self._placeholders[key] = Completion(text, reply, *counts, 0.0, False, client.model, price)
        return self._placeholders[key]

    def forecast(self, questions: int, concurrency: int, *, probe: bool) -> Forecast:
        """Return what was counted for so many questions; `probe` as `foresee`."""
        tokens = (self.prompt_tokens, self.completion_tokens)
        seconds = duration(self.unpaid, concurrency, probe=probe)
        return Forecast(questions, dict(self.calls), self.cached, *tokens, self.cost, seconds)
