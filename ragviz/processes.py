"""The identity of a process, and whether it still runs."""

from __future__ import annotations

import os
import socket
from typing import Any

SAME_SECONDS = 5.0
"""Seconds by which two readings of a process's start may differ: setting the clock moves it."""


def this_process() -> dict[str, Any]:
    """Return host, pid and start of this process: unlike any other's, even a later one with the same pid."""
    import psutil

    return {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}


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
