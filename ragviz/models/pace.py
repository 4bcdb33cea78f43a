"""How fast an endpoint is called, and how fast it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass

from ragviz.core.stopping import LOOK, current

FADES = 0.99
"""Weight of a call in the pace, relative to the next one: a few hundred calls count."""


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
        """Return the pace with one more call."""
        more = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        return Pace(*(FADES * old + new for old, new in zip(astuple(self), more, strict=True)))

    def seconds(self, calls: float, tokens: float) -> float:
        """Estimate how long `calls` last one after the other, with `tokens` in all their replies.

        Neither a nor b is negative; where all replies had the same length, only their mean is known.

        >>> Pace().after(10, 1.0).after(110, 3.0).seconds(2, 120)
        4.0
        """
        spread = self.n * self.xx - self.x * self.x
        slope = (self.n * self.xy - self.x * self.y) / spread if spread > 1e-9 * self.xx * self.n else 0.0
        slope = min(max(0.0, slope), self.y / self.x if self.x else 0.0)
        return round(max(0.0, calls * (self.y - slope * self.x) / self.n + slope * tokens), 9)


class Gate:
    """Limits calls in flight: the limit halves when the server is too busy, and grows back with every success."""

    def __init__(self, most: int) -> None:
        """Start with a limit of `most`, which is never exceeded."""
        self.most, self.limit, self.in_flight = most, float(most), 0
        self._opens = self._shrunk = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Wait for a slot and hold it; yields the time it was taken, for `busy`."""
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
                self._changed.notify(2)  # two: the limit may have grown by one

    def busy(self, sent: float, retry_after: float) -> None:
        """Start no call for `retry_after` seconds; halve the limit, once for all calls that were in flight together."""
        with self._changed:
            now = time.monotonic()
            self._opens = max(self._opens, now + retry_after)
            if sent >= self._shrunk:
                self.limit, self._shrunk = max(1.0, self.limit / 2), now

    def succeeded(self) -> None:
        """Raise the limit by about one per round of successes."""
        with self._changed:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
