"""How fast an endpoint is asked, and how fast it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass

from ragviz.stopping import LOOK, current

FADES = 0.99
"""Weight of a call in what is known of the pace, beside that of the next one: a few hundred calls count."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long calls to a model last: seconds = a + b · tokens of the reply, fitted to its latest calls.

    Sums over the calls, each weighing `FADES` of the one after it: `n` calls, `x` tokens, `y` seconds.
    """

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def after(self, tokens: int, seconds: float) -> Pace:
        """With one more call."""
        more = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        return Pace(*(FADES * old + new for old, new in zip(astuple(self), more, strict=True)))

    def seconds(self, calls: float, tokens: float) -> float:
        """How long so many calls last one after the other, their replies being of so many `tokens` in all.

        Neither part of a call takes less than no time; where all replies were alike, only the mean is known.

        >>> Pace().after(10, 1.0).after(110, 3.0).seconds(2, 120)
        4.0
        """
        spread = self.n * self.xx - self.x * self.x
        slope = (self.n * self.xy - self.x * self.y) / spread if spread > 1e-9 * self.xx * self.n else 0.0
        slope = min(max(0.0, slope), self.y / self.x if self.x else 0.0)
        return round(max(0.0, calls * (self.y - slope * self.x) / self.n + slope * tokens), 9)


class Gate:
    """Bounds calls in flight: the bound halves when the server is too busy, and grows back with every success."""

    def __init__(self, most: int) -> None:
        """Let at most `most` in."""
        self.most, self.limit, self.in_flight = most, float(most), 0
        self._opens = self._shrunk = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Wait for a place and hold it; gives the time it was got, for `busy`."""
        with self._changed:
            while self.in_flight >= int(self.limit) or self._opens > time.monotonic():
                pause = self._opens - time.monotonic()
                self._changed.wait(min(LOOK, pause) if pause > 0 else LOOK)
                current().pause(0)
            self.in_flight += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify(2)  # two: the bound may have grown by one

    def busy(self, sent: float, retry_after: float) -> None:
        """Let nobody in for `retry_after` seconds; halve the bound, once for all calls that were out together."""
        with self._changed:
            now = time.monotonic()
            self._opens = max(self._opens, now + retry_after)
            if sent >= self._shrunk:
                self.limit, self._shrunk = max(1.0, self.limit / 2), now

    def succeeded(self) -> None:
        """Widen the bound by about one place per round of successes."""
        with self._changed:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
