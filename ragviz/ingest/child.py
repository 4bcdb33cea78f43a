"""Reading in a process of its own: a file that hangs, crashes or swells its reader costs that process and no more.

kreuzberg's own time limit returns, yet its thread goes on and holds the lock of its PDF library, so that every PDF
after it fails too; and a PDF of 2 kB can ask for 2 GB.

To start a process costs more than to read a small file, so one that read a file well waits a little for the next.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragviz.errors import PasswordNeeded, UnreadableFile
from ragviz.ingest import texts
from ragviz.ingest.kinds import KINDS, Kind, damaged
from ragviz.ingest.readers import Parts, load, read

SECONDS = 60
SECONDS_PER_MB = 3
MEMORY = 3 * 2**30
MEMORY_PER_BYTE = 8
LARGE = 512 * 2**20
"""A process that ever held so much memory reads no further file."""
IDLE_SECONDS = 5.0

_PACKAGES = str(Path(__file__).resolve().parents[2])


def read_apart(kind: Kind, data: bytes, password: str | None) -> tuple[Kind, Parts]:
    """Read a file in a child process: the kind it turned out to be, and its text or pages.

    Raises:
        UnreadableFile: damaged, or reading it takes too long or too much memory; PasswordNeeded.

    """
    reply = _answered(kind.title, {"kind": kind.key, "password": password}, data)
    return KINDS[reply["kind"]], reply["parts"]


def read_text_apart(reader: str, name: str, data: bytes) -> tuple[str, list[str]]:
    """Read a text file or web page in a child process: its text, and warnings.

    Raises:
        UnreadableFile: no text, or reading it takes too long or too much memory.

    """
    reply = _answered("a web page" if reader == "html" else "a text file", {"kind": reader, "name": name}, data)
    return reply["text"], reply["warnings"]


def start_ahead(count: int) -> None:
    """Have up to `count` processes wait for a file with their libraries loaded: they start while other work is done."""
    for _ in range(count - len(_waiting)):
        _Child(loaded=True).wait()


def _answered(title: str, request: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Have a child process read a file, within bounds that grow with its length.

    Raises:
        UnreadableFile: as `read_apart`.

    """
    seconds = SECONDS + SECONDS_PER_MB * len(data) / 2**20
    memory = MEMORY + MEMORY_PER_BYTE * len(data)
    header = json.dumps({**request, "memory": memory, "size": len(data)})
    reply = _ask(header.encode() + b"\n" + data, seconds)
    if reply is None:
        raise UnreadableFile(
            f"Reading {title} of {len(data):,} bytes crashed or needed more than {memory / 2**30:.1f} GB "
            "of memory: split the file, or save it anew."
        )
    if "error" in reply:
        raise (PasswordNeeded if reply["password"] else UnreadableFile)(reply["error"])
    return reply


_waiting: list[_Child] = []
"""Processes that wait for another file; none of them in use."""


def _ask(request: bytes, seconds: float) -> dict[str, Any] | None:
    """Have a child process read a file; None when it ended without an answer.

    Raises:
        UnreadableFile: it took too long.

    """
    with suppress(IndexError):  # none waits
        used = _waiting.pop()
        # Should it end, then perhaps for what it read before, or because its time was over: a fresh one decides.
        if (reply := used.ask(request, seconds)) is not None:
            return reply
    return _Child().ask(request, seconds)


class _Child:
    """A process that reads files, one after the other; it ends with its standard input, so never after us."""

    def __init__(self, *, loaded: bool = False) -> None:
        paths = os.pathsep.join(filter(None, [_PACKAGES, os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": paths, "MALLOC_ARENA_MAX": "2"}
        command = [sys.executable, "-P", "-c", f"from ragviz.ingest.child import main; main({loaded})"]
        pipe, log = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=environment)  # noqa: S603

    def ask(self, request: bytes, seconds: float) -> dict[str, Any] | None:
        """Have a file read; None when the process ended without an answer. Afterwards it waits for another, or ends."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        clock = threading.Timer(seconds, stop)
        clock.daemon = True
        clock.start()
        reply = None
        try:
            reply = self._exchange(request)
        finally:
            clock.cancel()
            if reply is None or not reply["again"] or late.is_set():
                self._end()
            else:
                self.wait()
        if reply is None and late.is_set():
            raise UnreadableFile(
                f"Reading took longer than {seconds:.0f} seconds and was stopped: split the file, or save it anew as "
                "text."
            )
        return reply

    def _exchange(self, request: bytes) -> dict[str, Any] | None:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        try:
            to.write(request)
            to.flush()
        except OSError:  # it has ended
            return None
        line = back.readline()
        return dict(json.loads(line)) if line.endswith(b"\n") else None

    def wait(self) -> None:
        """Be there for another file, for some seconds."""
        _waiting.append(self)
        clock = threading.Timer(IDLE_SECONDS, self._leave)
        clock.daemon = True
        clock.start()

    def _leave(self) -> None:
        """End, unless a file is being read: then the clock that starts after it does."""
        with suppress(ValueError):
            _waiting.remove(self)
            self._end()

    def _end(self) -> None:
        """End for good; may be called again."""
        self._process.kill()
        with suppress(OSError):  # what was not written yet
            self._process.communicate()


@atexit.register
def _leave_none() -> None:
    """Keep no process waiting when this one ends."""
    while _waiting:
        _waiting.pop()._end()


def main(loaded: bool) -> None:
    """Read requests from standard input, and answer each with a line on standard output."""
    if loaded:
        load()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints
    again = True
    while again and (header := sys.stdin.buffer.readline()):
        request = json.loads(header)
        data = sys.stdin.buffer.read(request["size"])
        _limit_memory(request["memory"])
        answer = _answer(request, data)
        again = "error" not in answer and not _swollen()
        answers.write(json.dumps({**answer, "again": again}).encode() + b"\n")
        answers.flush()
    os._exit(0)  # whatever threads a library has left


def _answer(request: dict[str, Any], data: bytes) -> dict[str, object]:
    key = request["kind"]
    try:
        if key in texts.READERS:
            text, warnings = texts.READERS[key](request["name"], data)
            return {"text": text, "warnings": warnings}
        kind, parts = read(key, data, request["password"])
    except UnreadableFile as error:
        return {"error": str(error), "password": isinstance(error, PasswordNeeded)}
    except MemoryError:
        os._exit(1)
    except BaseException as error:  # a panic in Rust is not an Exception
        title = KINDS[key].title if key in KINDS else "a text file"
        return {"error": str(damaged(title, str(error))), "password": False}
    return {"kind": kind, "parts": parts}


def _limit_memory(limit: int) -> None:
    """Bound the address space; only Linux keeps such a bound."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


def _swollen() -> bool:
    """Whether this process ever held so much memory that the next file should have another."""
    try:
        # Not `getrusage`, whose peak a new process has from the one that started it.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:  # elsewhere than on Linux every file has a process of its own
        return True
    peak = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return peak is None or int(peak[1]) * 1024 > LARGE
