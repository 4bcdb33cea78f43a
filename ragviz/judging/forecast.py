"""A dry run: the calls, tokens, dollars and minutes a run will take, and what of it is paid for already.

Every step is done as it will be, but what is not in the cache is not asked: a placeholder about as long as a real reply
stands in for it, so that the steps behind it can be counted too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ragviz.answers import contexts
from ragviz.errors import ModelError
from ragviz.judging import planning
from ragviz.judging.step import State
from ragviz.judging.steps import PLACEHOLDERS, STEPS
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.models.spending import dollars
from ragviz.records import Cache, Question

NEW = -1
"""An edition (see `Request`) that no reply is kept under."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run takes: `calls` by step, of which `cached` are paid for; the rest counts only what is not.

    Tokens are estimated from characters. `cost` is in dollars, None when a model that is asked has no price. `seconds`
    are learnt from the endpoint's own calls, None when it has not answered any. `paid_calls` and `paid` dollars went to
    an endpoint's embedder for the vectors of the questions, which are kept for the run.
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
    def total(self) -> int:
        """All calls, those that are paid for too."""
        return sum(self.calls.values())


def duration(unpaid: Mapping[ModelClient, tuple[int, int]], concurrency: int, *, probe: bool = False) -> float | None:
    """Seconds that calls take, by client how many and of how many tokens in reply, so many at once; None: not known.

    With `probe` an endpoint that nothing is known of is asked two small things.
    """
    paces = {client: client.pace(probe=probe) for client in unpaid}
    each = [pace.seconds(*unpaid[client]) for client, pace in paces.items() if pace is not None]
    return sum(each) / concurrency if len(each) == len(paces) else None


def foresee(
    items: Sequence[planning.Item], plan: planning.Plan, controls: Sequence[Request[Any]] = (), *, probe: bool = False
) -> Forecast:
    """Count what `work.work` would ask about `items`, and the `controls`; asks nothing that is not cached.

    But with `probe` an endpoint of which no call is known is asked two small things, to learn how long calls take.
    """
    dry, plan = _Dry(), replace(plan, banks=_Kept(plan.banks))
    for request in controls:
        assert plan.judge is not None
        dry.step, dry.item = "controls", items[0]
        dry(plan.judge, request)
    for item in items:
        state = State(item, 0)
        for name, step in STEPS.items():
            if name in plan.steps:
                dry.step, dry.item = name, item
                with suppress(ModelError):  # a cached reply that lacks something: what would be asked is counted
                    state.results[name] = step.perform(state, plan, dry)
    if controls and dry.cached_by["controls"] == len(controls) and dry.unpaid:  # asked anew, see `control_items`
        dry.step, dry.item = "controls", items[0]
        for request in controls:
            assert plan.judge is not None
            dry(plan.judge, replace(request, edition=NEW))
    return Forecast(
        questions=len(items),
        calls=dict(dry.calls),
        cached=dry.cached,
        prompt_tokens=dry.prompt_tokens,
        completion_tokens=dry.completion_tokens,
        cost=dry.cost,
        seconds=duration(dry.unpaid, plan.concurrency, probe=probe),
    )


class _Kept:
    """A cache to which nothing is added: what a dry run makes up is no bank."""

    def __init__(self, kept: Cache) -> None:
        self.get_many = kept.get_many

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep nothing."""


class _Dry:
    """Asks the cache, and makes up what is not there; nothing is asked twice, as in a real run."""

    def __init__(self) -> None:
        self.step, self.item = "", planning.Item(Question("", "", "", (), ""), ())
        self.calls, self.cached, self.prompt_tokens, self.completion_tokens = Counter[str](), 0, 0, 0
        self.cost: float | None = 0.0
        self.cached_by = Counter[str]()
        self.unpaid: dict[ModelClient, tuple[int, int]] = {}
        self._made_up: dict[str, Completion[Any]] = {}

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        key = repr((client.model, request))
        if key in self._made_up:
            return self._made_up[key]
        self.calls[self.step] += 1
        if client.cached([request])[0]:
            self.cached += 1
            self.cached_by[self.step] += 1
            return client.ask(request)
        assert request.reply is not None
        reply = PLACEHOLDERS[request.reply](self.item)
        text = reply.model_dump_json()
        asked = sum(contexts.estimate(message["content"]) for message in request.messages)
        counts = (asked, contexts.estimate(text))
        self.prompt_tokens += counts[0]
        self.completion_tokens += counts[1]
        calls, tokens = self.unpaid.get(client, (0, 0))
        self.unpaid[client] = (calls + 1, tokens + counts[1])
        price = client.price(*counts)
        self.cost = None if price is None or self.cost is None else self.cost + price
        self._made_up[key] = Completion(text, reply, *counts, 0.0, False, client.model, price)
        return self._made_up[key]
