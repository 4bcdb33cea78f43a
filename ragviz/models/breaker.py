"""Stops the work of a model whose replies are worth nothing, before it costs much, and asks the person.

A model that fails now and then is asked again (`work`), and what failed is told. One that never gives what is asked
for would cost nine replies for each step of each question.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from ragviz.errors import ModelError, UselessModel
from ragviz.records import Cache, digest

SHARE, DOUBT = 0.25, 0.01
"""A model is not asked on when one that gives something usable to a quarter of its calls would do so badly once in a
hundred times: after 17 calls without anything usable, 24 with one, 76 with ten. Of 20,000 drawn models that fail
three of five calls this stopped 6 within 130 calls."""

Ask = Callable[[Any, Any], Any]
"""Asks a client for a request."""


class Breaker:
    """Counts what calls of each kind gave; a person who goes on after it stopped the work is not stopped again."""

    def __init__(self, kept: Cache | None = None, owner: str = "", calls: int | None = None) -> None:
        """Count from now on; `kept` tells whether the work of `owner` (a run, a question set) was stopped before.

        `calls` are those that the work takes when all goes well, None when that is not known: it is stopped too when as
        many gave nothing usable.
        """
        from scipy.special import bdtr

        self._likely, self._kept, self._key = bdtr, kept, digest("breaker", owner)
        self._goes_on = kept is not None and bool(kept.get_many([self._key]))
        self._usable, self._useless, self._calls = Counter[str](), Counter[str](), calls
        self._lock = threading.Lock()

    def count(self, what: str, usable: int, useless: int, why: str = "") -> None:
        """Count calls for `what`; `why` tells what was wrong with the last useless one.

        Raises:
            UselessModel: too few of them, or of all, were usable.

        """
        with self._lock:
            for kind in (what, ""):
                self._usable[kind] += usable
                self._useless[kind] += useless
            kinds = [kind for kind in (what, "") if useless and self._hopeless(kind)]
        if kinds and not self._goes_on:
            error = UselessModel(self._sentence(kinds[0], why))
            if self._kept is not None:
                self._kept.put_many({self._key: str(error).encode()})
            raise error

    def watching(self, ask: Ask, what: str) -> Ask:
        """`ask`, with its calls counted."""

        def asking(client: Any, request: Any) -> Any:
            try:
                completion = ask(client, request)
            except ModelError as error:
                if not error.outage:
                    self.count(what, 0, max(error.replies, error.calls), str(error))
                raise
            self.count(what, int(not completion.cached), completion.useless, "Replies could not be used.")
            return completion

        return asking

    def _hopeless(self, kind: str) -> bool:
        usable, calls = self._usable[kind], self._usable[kind] + self._useless[kind]
        if usable >= SHARE * calls:
            return False
        as_many = not kind and self._calls is not None and self._useless[kind] >= self._calls
        return as_many or bool(self._likely(usable, calls, SHARE) <= DOUBT)

    def _sentence(self, kind: str, why: str) -> str:
        calls = f"{self._useless[kind]:,} of {self._usable[kind] + self._useless[kind]:,} calls"
        return (
            f"{calls}{f' for {kind!r}' if kind else ''} gave nothing usable: {why} No more are paid until you say so: "
            "choose another model, or resume this (on the page, or by giving the command again) to go on regardless."
        )
