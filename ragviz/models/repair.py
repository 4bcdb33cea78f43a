"""Repair of nearly valid JSON, in a child process: a hostile text of 25 kB keeps the library busy for minutes.

The process is reused, because starting one costs more than repairing a reply; one that takes too long is killed.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragviz.core import stopping
from ragviz.text.untrusted import is_deep

SECONDS = 3.0
"""Time to repair one text: twenty times that of an honest reply of 25 kB."""
MOST = 400_000
"""Characters of the longest text that is repaired."""
KEPT = 4
"""Idle processes kept, at most."""

_PACKAGES = str(Path(__file__).resolve().parent.parent)
_idle: list[_Child] = []


def mended(text: str) -> Any:
    """Parse nearly valid JSON.

    Raises:
        ValueError: it cannot be mended, or not in `SECONDS`, or is nested too deep; the message says which.
        Cancelled: this thread is to stop.

    """
    if len(text) > MOST:
        raise ValueError(f"{len(text):,} characters are too many to mend")
    child = _idle_or_new()
    try:
        reply = stopping.detached(lambda: child.ask(text), SECONDS)
    except BaseException as error:
        child.end()
        if isinstance(error, TimeoutError):
            raise ValueError(f"to mend it takes longer than {SECONDS:g} seconds") from None
        raise
    if reply is None:
        child.end()
        raise ValueError("it cannot be mended")
    if len(_idle) < KEPT:
        _idle.append(child)
    else:
        child.end()
    return reply[0]


def _idle_or_new() -> _Child:
    with suppress(IndexError):  # none is idle
        while True:
            if (child := _idle.pop()).alive:
                return child
            child.end()
    return _Child()


class _Child:
    """A process that repairs one text after the other; it ends with its standard input, so never after its parent."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, [_PACKAGES, os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-P", "-c", "from ragviz.models.repair import main; main()"]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # started: that is no part of a text's time

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, text: str) -> list[Any] | None:
        """Return [value] of a repaired text, None when it cannot be repaired."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(text).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        except (OSError, ValueError):  # it has ended
            return None
        if not line.endswith(b"\n"):
            return None
        reply: list[Any] | None = json.loads(line)
        return reply

    def end(self) -> None:
        """Kill the process; may be called again."""
        self._process.kill()
        with suppress(OSError, ValueError):  # unwritten data, or closed already
            self._process.communicate()


@atexit.register
def _end_all() -> None:
    """End all idle processes when this one ends."""
    while _idle:
        _idle.pop().end()


def main() -> None:
    """Read a JSON string per line, and answer each with a line: [repaired value], or null."""
    import json_repair

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints
    answers.write(b"\n")
    answers.flush()
    for line in sys.stdin.buffer:
        try:
            value = json_repair.loads(json.loads(line))
            reply = json.dumps(None if is_deep(value) else [value])
        except (ValueError, RecursionError, TypeError, LookupError, ArithmeticError):
            reply = "null"
        answers.write(reply.encode() + b"\n")
        answers.flush()
