"""The identity of a process, whether it still runs, and where its threads take memory."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOREIGN_HOURS = 24
"""Hours after which a process of another machine, of which nothing is known, counts as ended."""
SAME_SECONDS = 5.0
"""Seconds by which two readings of a process's start may differ: setting the clock moves it."""


def this_process() -> dict[str, Any]:
    """Return host, pid and start of this process: unlike any other's, even a later one with the same pid."""
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}


ARENAS = -8
"""glibc's number of the option how many arenas threads take memory from."""


def share_memory_of_threads() -> None:
    """Have the threads that are started from now on take memory where the first does.

    By itself glibc gives some of their own to 8 threads for each core, which keep what is freed there: of 500 judged
    questions 16 MB. Python runs one thread at a time, so that they need not wait for each other. Other C libraries have
    no such option.
    """
    import ctypes

    if option := getattr(ctypes.CDLL(None), "mallopt", None):
        option(ARENAS, 1)


def place(home: Path, host: str = "") -> str:
    """Return a name of a machine (this one) and a home: of all places that share a store, where a job is done."""
    return f"{host or socket.gethostname()}:{home}"


def start_of(pid: int) -> float:
    """Return when a process was started, 0 for one that has ended."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def is_alive(host: str | None, pid: int | None, started: float | None) -> bool | None:
    """Return whether the process runs; None when it is on another machine, where that is not known.

    >>> me = this_process()
    >>> is_alive(**me), is_alive(me["host"], me["pid"], 0.0), is_alive("elsewhere.example", 1, 0.0)
    (True, False, None)
    """
    import psutil

    if host != socket.gethostname():
        return None
    try:
        return pid is not None and abs(psutil.Process(pid).create_time() - (started or 0)) <= SAME_SECONDS
    except psutil.AccessDenied:  # it runs, as another user
        return True
    except psutil.Error:
        return False


def has_ended(process: Mapping[str, Any] | None, begun: float) -> bool:
    """Return whether the process that wrote something from the time `begun` on has ended.

    `process` is what `this_process` returned there, None when that is not known. One that is not known, or is on
    another machine, counts as ended after `FOREIGN_HOURS`.
    """
    alive = None if process is None else is_alive(process["host"], process["pid"], process["started"])
    return time.time() - begun > 3600 * FOREIGN_HOURS if alive is None else not alive
