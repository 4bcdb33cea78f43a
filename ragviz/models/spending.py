"""What calls to models cost: written down before they are sent, corrected after, so that a kill hides nothing paid."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from ragviz.errors import BudgetReached

AHEAD = 16
"""Calls that are written down together, before they are sent."""
WAIT = 0.2
"""Seconds between two looks whether waiting for calls in flight is to end."""


def dollars(amount: float) -> str:
    """Say an amount of money: four digits below a dollar.

    >>> dollars(0.05), dollars(0.0123456), dollars(0), dollars(1234.567)
    ('$0.05', '$0.01235', '$0.00', '$1,234.57')
    """
    return f"${amount:,.2f}" if amount >= 1 or round(amount, 2) == amount else f"${amount:.4g}"


class Pay(Protocol):
    """Keeps a sum of calls and dollars."""

    def __call__(self, calls: int, dollars: float, most: float | None) -> float:
        """Add, and return the dollars that come of it; when those are above `most`, nothing is added."""
        ...


class Ledger:
    """A `Pay` in memory."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.calls, self.dollars = 0, 0.0

    def __call__(self, calls: int, dollars: float, most: float | None) -> float:
        """See `Pay`."""
        total = self.dollars + dollars
        if most is None or total <= most:
            self.calls, self.dollars = self.calls + calls, total
        return total


class Spending:
    """Counts the calls of many threads against a budget (dollars; None is none).

    `pay` is told of a call before it is sent, with the most that it may cost, and by `settle` of what it did cost;
    until then what it left over is for the next ones, so that few of them have to be written. A call whose end nobody
    saw (killed, timed out, cut off) stays counted as told first. `stopped` tells whether to wait no more.
    """

    def __init__(
        self, pay: Pay | None = None, budget: float | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Write nothing yet; without a `pay` what is written is in memory."""
        self._pay, self._budget, self._stopped = pay or Ledger(), budget, stopped
        self._flying, self._held = 0, 0.0  # calls that are out, and the most they may cost
        self._ended, self._dollars = 0, 0.0  # calls that are not out any more, and what they cost
        self._written, self._written_dollars = 0, 0.0
        self._changed = threading.Condition()

    @contextmanager
    def call(self, most: float) -> Iterator[Callable[[float | None], None]]:
        """Hold `most` dollars while a call is out; what it gives is told its cost, None when it was not served.

        Waits for calls in flight when the budget does not hold this one: they may cost less.

        Raises:
            BudgetReached: it still does not, with none in flight.

        """
        told: list[float | None] = [most]
        self._begin(most)
        try:
            yield told.append
        finally:
            with self._changed:
                self._flying -= 1
                self._held -= most
                if (cost := told[-1]) is not None:
                    self._ended += 1
                    self._dollars += cost
                self._changed.notify_all()

    def settle(self) -> None:
        """Write down what is known by now."""
        with self._changed:
            self._write(0, 0.0, None)

    def _begin(self, most: float) -> None:
        with self._changed:
            while (gone := self._write(1, most, self._budget)) is not None:
                if not self._flying or self._stopped():
                    raise BudgetReached(
                        f"The budget of {dollars(self._budget or 0.0)} does not hold another call, which may cost "
                        f"{dollars(most)}: {dollars(gone)} of it are paid. Give a greater one, and resume."
                    )
                self._changed.wait(WAIT)
            self._flying += 1
            self._held += most

    def _write(self, calls: int, most: float, budget: float | None) -> float | None:
        """Write what is due, and what is to be held; return the dollars paid so far where the budget is too small."""
        due = self._ended + self._flying + calls - self._written
        due_dollars = self._dollars + self._held + most - self._written_dollars
        if calls and due <= 0 and due_dollars <= 0:  # what earlier calls could have cost, and did not, covers this one
            return None
        if not calls and not due and not due_dollars:
            return None
        due += AHEAD if calls else 0
        total = 0.0
        for spare in dict.fromkeys((most, 0.0)):  # as much again where the budget holds it: fewer calls are written
            total = self._pay(due, due_dollars + spare, budget)
            if budget is None or total <= budget:
                self._written += due
                self._written_dollars += due_dollars + spare
                return None
        return total - most - self._held
