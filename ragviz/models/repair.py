"""JSON that is nearly right, mended in a process of its own: what mends it takes minutes for 25 kB meant to be hard.

The process is kept for the next text, for to start one costs more than to mend a reply; one that takes too long is
ended.
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

from ragviz import stopping
from ragviz.text.untrusted import is_deep

SECONDS = 3.0
"""Time to mend one text: twenty times that of 25 kB that a model wrote in good faith."""
MOST = 400_000
"""Characters of a text that is worth mending."""
KEPT = 4
"""Processes that wait for another text, at most."""

_PACKAGES = str(Path(__file__).resolve().parent.parent)
_waiting: list[_Child] = []


def mended(text: str) -> Any:
    """Parse JSON that is nearly right.

    Raises:
        ValueError: it cannot be mended, or not in `SECONDS`, or is nested too deep; the message says which.
        Cancelled: this thread is to stop.

    """
    if len(text) > MOST:
        raise ValueError(f"{len(text):,} characters are too many to mend")
    child = _taken()
    try:
        reply = stopping.apart(lambda: child.ask(text), SECONDS)
    except BaseException as error:
        child.end()
        if isinstance(error, TimeoutError):
            raise ValueError(f"to mend it takes longer than {SECONDS:g} seconds") from None
        raise
    if reply is None:
        child.end()
        raise ValueError("it cannot be mended")
    if len(_waiting) < KEPT:
        _waiting.append(child)
    else:
        child.end()
    return reply[0]


def _taken() -> _Child:
    with suppress(IndexError):  # none waits
        while True:
            if (child := _waiting.pop()).alive:
                return child
            child.end()
    return _Child()


class _Child:
    """A process that mends one text after the other; it ends with its standard input, so never after us."""

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
        self._process.stdout.readline()  # it is there: starting is no part of its time

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, text: str) -> list[Any] | None:
        """Have a text mended: [value], None when it cannot be."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        try:
            to.write(json.dumps(text).encode() + b"\n")
            to.flush()
            line = back.readline()
        except (OSError, ValueError):  # it has ended
            return None
        if not line.endswith(b"\n"):
            return None
        reply: list[Any] | None = json.loads(line)
        return reply

    def end(self) -> None:
        """End for good; may be called again."""
        self._process.kill()
        with suppress(OSError, ValueError):  # what was not written, or is closed already
            self._process.communicate()


@atexit.register
def _leave_none() -> None:
    """Keep no process waiting when this one ends."""
    while _waiting:
        _waiting.pop().end()


def main() -> None:
    """Mend a JSON string a line, and answer each with a line: [value], or null."""
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
