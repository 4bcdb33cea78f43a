"""Model calls of a run: within its budget, and waiting while an endpoint is down."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from ragviz.core.errors import ModelError
from ragviz.core.stopping import Stopping, current
from ragviz.judging.planning import Plan
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.models.spending import Spending

PAUSES = (2.0, 5.0, 10.0, 30.0)
"""Seconds between two attempts at an endpoint that is down."""


class Asker:
    """Calls models within a run's budget, and waits while their endpoint is down."""

    def __init__(self, plan: Plan) -> None:
        """Count steps from now on; the plan's clients have to be open."""
        self._plan, self._changed = plan, threading.Lock()
        self._clients = [client for client in {plan.answerer, plan.judge} if client]
        self.steps = 0
        self._down_since: float | None = None
        self._answered = 0.0
        self._waiting, self.stopping = "", Stopping()

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError, or BudgetReached before a call that could go over."""
        pauses, started = 0, time.monotonic()
        while True:
            try:
                completion = client.ask(replace(request, spending=self._plan.spending))
            except ModelError as error:
                failure = error
            else:
                self._down_since, self._waiting, self._answered = None, "", time.monotonic()
                return completion
            # When another call was answered meanwhile, or a test call is now, only this call fails.
            if failure.temporary and pauses and (self._answered > started or _answers(client, self._plan.spending)):
                self._down_since, self._waiting = None, ""
                raise failure.of_this_call()
            self._wait(failure, pauses)
            pauses += 1

    def step_done(self) -> None:
        """Count a step of a question that is done."""
        with self._changed:
            self.steps += 1

    @property
    def trouble(self) -> str:
        """Why an endpoint is being waited for, "" when it answers."""
        return self._waiting or next((client.trouble for client in self._clients if client.trouble), "")

    def settle(self) -> None:
        """Record what calls cost, in place of the most that they could."""
        self._plan.spending.settle()

    def _wait(self, error: ModelError, pauses: int) -> None:
        """Wait before the next call to an endpoint that is down; raise errors that waiting does not solve."""
        if not error.temporary:
            raise error
        now = time.monotonic()
        self._down_since = self._down_since or now
        if now - self._down_since > self._plan.patience:
            raise error
        self._waiting = f"Paused, resumes by itself: {error}"
        if current().wait(PAUSES[min(pauses, len(PAUSES) - 1)]):
            raise error


def _answers(client: ModelClient, spending: Spending) -> bool:
    """Return whether the endpoint answers a test call."""
    try:
        client.test(spending)
    except ModelError as error:
        return not error.outage
    return True
