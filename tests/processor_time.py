"""The processor time of a piece of work, for tests of how it grows."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object], runs: int = 3) -> float:
    """Return the least processor time of several runs, in seconds.

    In a process of thousands of tests a garbage collection takes seconds, and other work on the machine slows a run
    down: neither says anything about the work.
    """
    times = []
    for _ in range(runs):
        gc.disable()
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
        gc.enable()
    return min(times)
