"""What calls of models cost, and a budget kept across threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

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

    >>> dollars(0.05), dollars(0.0123456), dollars(0), dollars(1234.567)
    ('$0.05', '$0.01235', '$0.00', '$1,234.57')
    """
    return f"${amount:,.2f}" if amount >= 1 or round(amount, 2) == amount else f"${amount:.4g}"


class Pay(Protocol):
    """Keeps a sum of calls and dollars."""

    def __call__(self, calls: int, dollars: float, most: float | None) -> float:
        """Add to the sum and return its dollars; when those exceed `most`, nothing is added."""
        ...


class Ledger:
    """A `Pay` in memory."""

    def __init__(self) -> None:
        """Start at zero."""
        self.calls, self.dollars = 0, 0.0

    def __call__(self, calls: int, dollars: float, most: float | None) -> float:
        """See `Pay`."""
        total = self.dollars + dollars
        if most is None or total <= most:
            self.calls, self.dollars = self.calls + calls, total
        return total


class Spending:
    """Counts the calls of many threads against a budget (dollars; None is none).

    `pay` records a call before it is sent, with the most that it may cost, and by `settle` what it did cost; until then
    the unused part covers the next calls, so that few of them have to be recorded. A call without a known end (killed,
    timed out, cut off) stays recorded at its most. `stopped` is whether to wait no more.
    """

    def __init__(
        self, pay: Pay | None = None, budget: float | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Record nothing yet; without a `pay` records are in memory."""
        self._pay, self._budget, self._stopped = pay or Ledger(), budget, stopped
        self._in_flight, self._reserved = 0, 0.0  # calls in flight, and the most they may cost
        self._ended, self._dollars = 0, 0.0  # calls that ended, and what they cost
        self._written, self._written_dollars = 0, 0.0
        self._unknown, self._held = 0, 0.0  # calls that ended without an answer or an error, and what is held for them
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float) -> Iterator[Callable[[float | None], None]]:
        """Reserve `most` dollars for a call; the function it yields takes its cost, None when it was not served.

        Waits for calls in flight when the budget does not cover this one: they may cost less.

        Raises:
            BudgetReached: it does not cover it with none in flight either.

        """
        costs: list[float | None] = []
        self._begin(most)
        try:
            yield costs.append
        finally:
            with self._changed:
                self._in_flight -= 1
                self._reserved -= most
                if not costs:
                    self._unknown, self._held = self._unknown + 1, self._held + most
                if (cost := costs[-1] if costs else most) is not None:
                    self._ended += 1
                    self._dollars += cost
                self._changed.notify_all()

    def settle(self) -> None:
        """Record what calls cost by now."""
        with self._changed:
            self._write(0, 0.0, None)

    def _begin(self, most: float) -> None:
        with self._changed:
            while (paid := self._write(1, most, self._budget)) is not None:
                if not self._in_flight or self._stopped():
                    raise BudgetReached(self._exhausted(most, paid))
                self._changed.wait(WAIT)
            self._in_flight += 1
            self._reserved += most

    def _exhausted(self, most: float, paid: float) -> str:
        """Return the sentence that the budget does not hold another call, and why."""
        another = f"does not hold another call, which may cost {dollars(most)}"
        if not self._held:
            reason = f"{dollars(paid)} of it are spent. Give a higher budget, and resume."
        else:
            calls = f"{self._unknown:,} call{'s' * (self._unknown != 1)}"
            reason = (
                f"{dollars(self._held)} of it are held for {calls} without an answer, which may be charged, "
                f"{dollars(max(0.0, round(paid - self._held, 9)))} are spent. First see that the model answers in time "
                "(the page Settings tests it, RAGVIZ_MODEL_TIMEOUT is its time); then resume with a higher budget."
            )
        return f"The budget of {dollars(self._budget or 0.0)} {another}: {reason}"

    def _write(self, calls: int, most: float, budget: float | None) -> float | None:
        """Record what is due and reserved; return the dollars paid so far when the budget is too small."""
        due = self._ended + self._in_flight + calls - self._written
        due_dollars = self._dollars + self._reserved + most - self._written_dollars
        if calls and due <= 0 and due_dollars <= 0:  # the unused part of earlier reservations covers this one
            return None
        if not calls and not due and not due_dollars:
            return None
        due += AHEAD if calls else 0
        total = 0.0
        for spare in dict.fromkeys((most, 0.0)):  # as much again where the budget covers it: fewer records
            total = self._pay(due, due_dollars + spare, budget)
            if budget is None or total <= budget:
                self._written += due
                self._written_dollars += due_dollars + spare
                return None
        return total - most - self._reserved
