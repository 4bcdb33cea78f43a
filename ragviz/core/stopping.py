"""The progress of work, and stopping it early: every wait checks whether to, so that a stopped run ends at once.

A thread has its own `Stopping` or shares one (`current`); code that starts threads passes its own to them (`follow`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from ragviz.core.errors import Cancelled


class Progress(Protocol):
    """Receives the progress of a long task; may raise `Cancelled` to stop it."""

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report `done` of `total` (None: unknown) in `unit` ("chunks"); `message` names the current step."""
        ...


def silent(done: int, total: int | None, unit: str, message: str = "") -> None:
    """Ignore progress."""


Result = TypeVar("Result")

LOOK = 0.1
"""Seconds between two checks of a wait."""
GRACE = 0.5
"""Seconds that calls in flight have to finish when a person stops the work: they are paid."""
SENTENCE = "Stopped."
"""What is raised where work is stopped: what is kept of it, only the job knows (`jobs.kept`)."""


class Stopping(threading.Event):
    """Set when no more work is to begin; calls in flight finish, unless they are dropped too."""

    def __init__(self) -> None:
        """Start unset."""
        super().__init__()
        self._drops = float("inf")
        self._waiting: set[threading.Event] = set()

    def set(self) -> None:
        """Begin no more work; waits of `awaited` look at once whether to end."""
        super().set()
        for waiting in list(self._waiting):
            waiting.set()

    @contextmanager
    def waking(self, event: threading.Event) -> Iterator[None]:
        """Set `event` too, when this one is set within a `with` block."""
        self._waiting.add(event)
        try:
            yield
        finally:
            self._waiting.discard(event)

    def drop(self, grace: float | None = None) -> None:
        """Begin no more work, and after `grace` seconds (`GRACE`) abandon the calls in flight."""
        self._drops = min(self._drops, time.monotonic() + (GRACE if grace is None else grace))
        self.set()

    def clear(self) -> None:
        """Reset to unset."""
        self._drops = float("inf")
        super().clear()

    def check(self) -> None:
        """Raise Cancelled when calls in flight are abandoned."""
        if time.monotonic() >= self._drops:
            raise Cancelled(SENTENCE)

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`; raise Cancelled when the work is to stop by then."""
        if self.wait(seconds):
            raise Cancelled(SENTENCE)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stopping = Stopping()


_thread = _Thread()


def current() -> Stopping:
    """Return this thread's `Stopping`: its own, never set, unless it follows another."""
    return _thread.stopping


def follow(stopping: Stopping) -> None:
    """Make this thread stop when `stopping` is set."""
    _thread.stopping = stopping


@contextmanager
def following(stopping: Stopping) -> Iterator[None]:
    """Follow `stopping` within a `with` block."""
    previous = current()
    follow(stopping)
    try:
        yield
    finally:
        follow(previous)


def awaited(future: Future[Result], seconds: float | None = None) -> Result:
    """Return a future's result, once it has one.

    Raises:
        TimeoutError: it took longer than `seconds`.
        Cancelled: this thread is to stop.

    """
    if not future.done():
        ends = float("inf") if seconds is None else time.monotonic() + seconds
        stopping, changed = current(), threading.Event()
        future.add_done_callback(lambda _: changed.set())
        with stopping.waking(changed):
            _wait(future, stopping, changed, ends)
    return future.result()


def _wait(future: Future[Any], stopping: Stopping, changed: threading.Event, ends: float) -> None:
    while not future.done():
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        stopping.check()
        if stopping.is_set():  # until calls in flight are dropped, `changed` says no more
            wait([future], timeout=min(LOOK, left))
        else:
            changed.wait(None if left == float("inf") else left)


def detached(work: Callable[[], Result], seconds: float | None = None) -> Result:
    """Return the result of `work`, done in a thread that is abandoned after `seconds`, or when this one is to stop.

    For what cannot be interrupted: name look-ups, sockets, pipes, imports. `work` must end by itself.

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

    try:
        tasks = _idle.pop()
    except IndexError:
        tasks = SimpleQueue()
        threading.Thread(target=_serve, args=(tasks,), name="detached", daemon=True).start()
    tasks.put(run)
    return awaited(future, seconds)


_idle: list[SimpleQueue[Callable[[], None]]] = []
"""Queues of threads that wait for work: to start a thread for each call of a model takes longer than to wake one."""


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()
        _idle.append(tasks)
