"""When work is to stop: what waits looks here, so that nobody is waited for whom nobody needs any more.

Every thread has a `Stopping` of its own or one that it shares (`current`); whoever starts threads hands his to them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

from ragviz.errors import Cancelled

Result = TypeVar("Result")

LOOK = 0.1
"""Seconds between two looks of what waits."""
GRACE = 0.5
"""Seconds that calls in flight have to come home when a person stops the work: they are paid."""
SENTENCE = "Stopped; what was finished is kept."


class Stopping(threading.Event):
    """Set when no more work is to begin; what is in flight goes on, until it is dropped too."""

    def __init__(self) -> None:
        """Nothing is to stop yet."""
        super().__init__()
        self._drops = float("inf")

    def drop(self, grace: float | None = None) -> None:
        """Begin nothing more, and in `grace` seconds (`GRACE`) wait for nothing more."""
        self._drops = min(self._drops, time.monotonic() + (GRACE if grace is None else grace))
        self.set()

    def clear(self) -> None:
        """Go on as if nothing had been to stop."""
        self._drops = float("inf")
        super().clear()

    def check(self) -> None:
        """Raise Cancelled when what is in flight is not waited for any more."""
        if time.monotonic() >= self._drops:
            raise Cancelled(SENTENCE)

    def pause(self, seconds: float) -> None:
        """Wait so long; raise Cancelled when the work is to stop meanwhile."""
        if self.wait(seconds):
            raise Cancelled(SENTENCE)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stopping = Stopping()


_thread = _Thread()


def current() -> Stopping:
    """What tells this thread to stop; nothing does where none was handed over."""
    return _thread.stopping


def follow(stopping: Stopping) -> None:
    """Have this thread stop when `stopping` says so."""
    _thread.stopping = stopping


@contextmanager
def following(stopping: Stopping) -> Iterator[None]:
    """`follow` for a while."""
    before = current()
    follow(stopping)
    try:
        yield
    finally:
        follow(before)


def awaited(future: Future[Result], seconds: float | None = None) -> Result:
    """Wait for a result.

    Raises:
        TimeoutError: it took longer than `seconds`.
        Cancelled: this thread is to stop.

    """
    ends = float("inf") if seconds is None else time.monotonic() + seconds
    while not future.done():
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        current().check()
        wait([future], timeout=min(LOOK, left))
    return future.result()


def apart(work: Callable[[], Result], seconds: float | None = None) -> Result:
    """Do something in a thread that is left alone when it takes longer than `seconds`, or this one is to stop.

    For what cannot be interrupted: names that are looked up, sockets, pipes, libraries that are loaded. Whoever hands
    it over sees to it that it ends by itself.

    Raises:
        TimeoutError: it took too long.
        Cancelled: this thread is to stop.

    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised where it is awaited
            future.set_exception(error)

    threading.Thread(target=run, name="apart", daemon=True).start()
    return awaited(future, seconds)
