"""Threads that do the steps of many items, each when the steps it needs are done, the earliest item's first."""

from __future__ import annotations

import heapq
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

from ragviz.core.errors import Cancelled, RagvizError
from ragviz.core.stopping import LOOK, Stopping, current, follow


class Scheduler:
    """Does `steps` (name → names of the steps it needs) for each of `count` items, by `do(place, step)`.

    Used as a context manager: leaving it starts no more steps and waits for those in flight, only briefly when a person
    stops the work. `finished` raises an exception of `do`. `stopping` stops the threads.
    """

    def __init__(
        self,
        count: int,
        steps: Mapping[str, Sequence[str]],
        do: Callable[[int, str], None],
        *,
        workers: int,
        stopping: Stopping | None = None,
    ) -> None:
        """Prepare the queue; the threads start on entering."""
        self._do, self._stopping = do, stopping or Stopping()
        self._order = {step: number for number, step in enumerate(steps)}
        self._waiting = [{step: set(needs) for step, needs in steps.items()} for _ in range(count)]
        self._left = dict.fromkeys(range(count), len(steps))
        self._ready: list[tuple[int, int, str]] = []
        self._changed = threading.Condition()
        self._done: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self._count, self._workers = count, workers
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Scheduler:
        """Start the threads."""
        for place in range(self._count):
            self._advance(place, None)
        self._threads = [
            threading.Thread(target=self._work, name=f"scheduler-{number}", daemon=True)
            for number in range(self._workers)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Start no more steps, and wait for those in flight; a stop drops those that are waiting themselves."""
        self._stopping.set()
        if isinstance(error, Cancelled) or not isinstance(error, RagvizError | None):
            self._stopping.drop()
        with self._changed:
            self._left.clear()
            self._changed.notify_all()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK)
                if current().is_set():
                    self._stopping.drop()

    def finished(self, seconds: float) -> Iterator[int | None]:
        """Yield the place of each item when all its steps are done; None whenever none is done for `seconds`."""
        left = self._count
        while left:
            try:
                place = self._done.get(timeout=seconds)
            except queue.Empty:
                yield None
                continue
            if isinstance(place, BaseException):
                raise place
            left -= 1
            yield place

    def _work(self) -> None:
        follow(self._stopping)
        while True:
            with self._changed:
                while not self._ready and self._left:
                    self._changed.wait()
                if not self._left:
                    return
                place, _, step = heapq.heappop(self._ready)
            try:
                self._do(place, step)
            except BaseException as error:  # `finished` raises it, where the caller is
                self._done.put(error)
                return
            with self._changed:
                if self._left:
                    self._advance(place, step)
                    self._changed.notify_all()

    def _advance(self, place: int, finished: str | None) -> None:
        """Record that a step is done; the steps that waited for it alone become ready."""
        waiting = self._waiting[place]
        for step, needs in list(waiting.items()):
            needs.discard(finished or "")
            if not needs:
                del waiting[step]
                heapq.heappush(self._ready, (place, self._order[step], step))
        self._left[place] -= finished is not None
        if not self._left[place]:
            del self._left[place]
            self._done.put(place)
