"""A circuit breaker: stops work with a model whose replies are useless, before it costs much; the user decides.

A model that fails now and then is retried (`judging.work`), and failures are reported. One that never gives a usable
reply would cost nine replies for each step of each question.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, UselessModel
from ragviz.core.reply_cache import Cache

SHARE, DOUBT = 0.25, 0.01
"""Work stops when a model with a quarter of usable replies would do so badly once in a hundred times: after 17 calls
without a usable reply, 24 with one, 76 with ten. Of 20,000 simulated models that fail three of five calls, 6 were
stopped within 130 calls."""

Ask = Callable[[Any, Any], Any]
"""(client, request) -> completion."""


class Breaker:
    """Counts the usable replies of each kind of call, cached ones too, which a model gave as well.

    Work that is resumed after a stop is not stopped again.
    """

    def __init__(self, stops: Cache | None = None, owner: str = "", calls: int | None = None) -> None:
        """Start counting; `stops` remembers whether the work of `owner` (a run, a question set) was stopped before.

        `calls` are those that the work takes without failures, None when unknown: the work stops too when as many gave
        nothing usable.
        """
        from scipy.special import bdtr

        self._binomial_cdf, self._stops, self._key = bdtr, stops, digest("breaker", owner)
        self._resumed = stops is not None and bool(stops.get_many([self._key]))
        self._usable, self._useless, self._calls = Counter[str](), Counter[str](), calls
        self._lock = threading.Lock()

    def count(self, what: str, usable: int, useless: int, why: str = "") -> None:
        """Count calls for `what`; `why` is what was wrong with the last useless reply.

        Raises:
            UselessModel: too few of them, or of all, were usable.

        """
        with self._lock:
            for kind in (what, ""):
                self._usable[kind] += usable
                self._useless[kind] += useless
            kinds = [kind for kind in (what, "") if useless and self._hopeless(kind)]
        if kinds and not self._resumed:
            error = UselessModel(self._sentence(kinds[0], why))
            if self._stops is not None:
                self._stops.put_many({self._key: str(error).encode()})
            raise error

    def watching(self, ask: Ask, what: str) -> Ask:
        """Return `ask` with its calls counted."""

        def counted(client: Any, request: Any) -> Any:
            try:
                completion = ask(client, request)
            except ModelError as error:
                if not error.outage:
                    self.count(what, 0, max(error.replies, error.calls), str(error))
                raise
            self.count(what, 1, completion.useless, "Replies could not be used.")
            return completion

        return counted

    def _hopeless(self, kind: str) -> bool:
        usable, calls = self._usable[kind], self._usable[kind] + self._useless[kind]
        if usable >= SHARE * calls:
            return False
        as_many = not kind and self._calls is not None and self._useless[kind] >= self._calls
        return as_many or bool(self._binomial_cdf(usable, calls, SHARE) <= DOUBT)

    def _sentence(self, kind: str, why: str) -> str:
        calls = f"{self._useless[kind]:,} of {self._usable[kind] + self._useless[kind]:,} calls"
        return (
            f"{calls}{f' for {kind!r}' if kind else ''} gave nothing usable: {why} No more are paid until you say so: "
            "choose another model, or resume this (on the page, or by giving the command again) to go on regardless."
        )
