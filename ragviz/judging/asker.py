"""Asks models within a budget, and waits while their endpoint is down."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from ragviz.errors import ModelError
from ragviz.judging.planning import Plan
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.models.spending import Spending
from ragviz.stopping import Stopping, current

PAUSES = (2.0, 5.0, 10.0, 30.0)
"""Seconds between two looks at an endpoint that is down."""


class Asker:
    """Asks the model within the budget, and waits while its endpoint is down."""

    def __init__(self, plan: Plan) -> None:
        """Count from now on; the plan's clients are to be open."""
        self._plan, self._changed = plan, threading.Lock()
        self._clients = [client for client in {plan.answerer, plan.judge} if client]
        self.steps = 0
        self._down_since: float | None = None
        self._answered = 0.0
        self._waiting, self.stopping = "", Stopping()

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError, or BudgetReached before a call that could go over."""
        pauses, begun = 0, time.monotonic()
        while True:
            try:
                completion = client.ask(replace(request, spending=self._plan.spending))
            except ModelError as error:
                failed = error
            else:
                self._down_since, self._waiting, self._answered = None, "", time.monotonic()
                return completion
            # Where another call was answered meanwhile, or a tiny one is now, it is this call alone.
            if failed.passing and pauses and (self._answered > begun or _up(client, self._plan.spending)):
                self._down_since, self._waiting = None, ""
                raise ModelError(str(failed))
            self._wait(failed, pauses)
            pauses += 1

    def step_done(self) -> None:
        """Count a step of a question that is done."""
        with self._changed:
            self.steps += 1

    @property
    def trouble(self) -> str:
        """What an endpoint is being waited for, "" when it answers."""
        return self._waiting or next((client.trouble for client in self._clients if client.trouble), "")

    def settle(self) -> None:
        """Have what calls did cost written down, instead of the most that they could."""
        self._plan.spending.settle()

    def _wait(self, error: ModelError, pauses: int) -> None:
        """Wait before asking an endpoint again that is down; raise what no waiting mends."""
        if not error.passing:
            raise error
        now = time.monotonic()
        self._down_since = self._down_since or now
        if now - self._down_since > self._plan.patience:
            raise error
        self._waiting = f"Paused, and going on by itself: {error}"
        if current().wait(PAUSES[min(pauses, len(PAUSES) - 1)]):
            raise error


def _up(client: ModelClient, spending: Spending) -> bool:
    """Whether the endpoint answers something tiny."""
    try:
        client.test(spending)
    except ModelError:
        return False
    return True
