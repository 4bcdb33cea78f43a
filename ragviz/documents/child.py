"""Reading files in child processes: one that hangs, crashes or fills the memory costs its process only.

kreuzberg's own time limit returns, but its thread goes on and holds the lock of its PDF library, so that every later
PDF fails too; and a PDF of 2 kB can request 2 GB.

Starting a process costs more than reading a small file, so a process that read a file successfully is reused.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragviz.core.errors import PasswordNeeded, UnreadableFile
from ragviz.documents.kinds import KINDS, Kind, damaged
from ragviz.documents.readers import TEXT, Parts, load, read, scanned

SECONDS = 60
SECONDS_PER_MB = 3
SECONDS_PER_SCAN = 60
MEMORY = 3 * 2**30
MEMORY_PER_BYTE = 8
LARGE = 512 * 2**20
"""A process whose memory ever reached this reads no further file."""
CHARACTERS = 200 * 2**20
"""Characters of a file's text at most, or as many as the file has bytes."""
IDLE_SECONDS = 5.0

_PACKAGES = str(Path(__file__).resolve().parents[2])


def read_in_child(
    kind: Kind | None, name: str, data: bytes, password: str | None
) -> tuple[Kind | None, Parts, list[str]]:
    """Read a file in a child process: return its kind, after decryption, its text or pages, and warnings.

    Raises:
        UnreadableFile: damaged, or reading it takes too long or too much memory; PasswordNeeded.

    """
    title, key = (kind.title, kind.key) if kind else ("a text file", TEXT)
    reply = _checked_reply(title, {"kind": key, "name": name, "password": password}, data)
    parts: list[str] = reply["parts"]
    return KINDS.get(reply["kind"]), parts if reply["pages"] else parts[0], reply["warnings"]


def scan_in_child(data: bytes, password: str | None, pages: Sequence[int], languages: str, folder: str) -> list[str]:
    """Read pages of a PDF that are pictures, in a child process: return their texts. Raises as `read_in_child`."""
    request = {"kind": "pdf", "password": password, "scan": [list(pages), languages, folder]}
    parts: list[str] = _checked_reply("scanned pages", request, data, SECONDS_PER_SCAN * len(pages))["parts"]
    return parts


def start_ahead(count: int) -> None:
    """Start up to `count` processes in advance, which load their libraries while other work is done."""
    for _ in range(count - len(_idle)):
        _idle.append(_Child(loaded=True))


def _checked_reply(title: str, request: dict[str, Any], data: bytes, more_seconds: float = 0) -> dict[str, Any]:
    seconds = SECONDS + SECONDS_PER_MB * len(data) / 2**20 + more_seconds
    memory = MEMORY + MEMORY_PER_BYTE * len(data)
    request, reply = {**request, "memory": memory, "seconds": seconds, "size": len(data)}, None
    with suppress(IndexError):  # none is idle
        reply = _idle.pop().ask(request, data)
    if reply is None:  # an earlier file, or its idle time, may have ended it: a new process decides
        reply = _Child().ask(request, data)
    if reply is None:
        raise UnreadableFile(
            f"Reading {title} of {len(data):,} bytes crashed or needed more than {memory / 2**30:.1f} GB "
            "of memory: split the file, or save it anew."
        )
    if "error" in reply:
        raise (PasswordNeeded if reply["password"] else UnreadableFile)(reply["error"])
    return reply


_idle: list[_Child] = []
"""Idle processes, for the next files."""


class _Child:
    """A process that reads files, one after the other; it ends with its standard input, so never after its parent."""

    def __init__(self, *, loaded: bool = False) -> None:
        paths = os.pathsep.join(filter(None, [_PACKAGES, os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": paths, "MALLOC_ARENA_MAX": "2"}
        command = [sys.executable, "-P", "-c", f"from ragviz.documents.child import main; main({loaded})"]
        pipe, log = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=environment)  # noqa: S603

    def ask(self, request: dict[str, Any], data: bytes) -> dict[str, Any] | None:
        """Have a file read; return None when the process ended without an answer. Afterwards it is idle, or ended."""
        reply = None
        try:
            reply = self._exchange(request, data)
        finally:
            if reply is not None and reply["again"]:
                _idle.append(self)
            else:
                self.end()
        if reply is None and self._process.returncode == -signal.SIGALRM:
            raise UnreadableFile(
                f"Reading took longer than {request['seconds']:.0f} seconds and was stopped: split the file, or save "
                "it anew as text."
            )
        return reply

    def _exchange(self, request: dict[str, Any], data: bytes) -> dict[str, Any] | None:
        """Send a file, and read the answer: a line of JSON, then the bytes of each part of the text."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.write(data)
            stdin.flush()
        except OSError:  # it has ended
            return None
        line = stdout.readline()
        if not line.endswith(b"\n"):
            return None
        reply = dict(json.loads(line))
        reply["parts"] = []
        for size in reply["sizes"]:
            part = stdout.read(size)
            if len(part) < size:
                return None
            reply["parts"].append(part.decode("utf-8", "surrogatepass"))
        return reply

    def end(self) -> None:
        self._process.kill()
        with suppress(OSError):  # unwritten data
            self._process.communicate()


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


def main(loaded: bool) -> None:
    """Read requests from standard input, and answer each on standard output (see `_Child._exchange`)."""
    if loaded:
        load()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints
    again = True
    _limit_idleness()
    while again and (header := sys.stdin.buffer.readline()):
        request = json.loads(header)
        data = sys.stdin.buffer.read(request["size"])
        _limit(request["seconds"], request["memory"])
        answer, parts = _answer(request, data)
        del data
        _limit_idleness()
        again = answer.pop("unharmed", False) and not _is_large()
        sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
        answers.write(json.dumps({**answer, "again": again, "sizes": sizes}).encode() + b"\n")
        for part in parts:
            answers.write(part.encode("utf-8", "surrogatepass"))
        answers.flush()
    os._exit(0)  # a library may have left threads


def _answer(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the answer beside the text, and the text's parts; "unharmed" when the process may be reused."""
    key = request["kind"]
    title = KINDS[key].title if key in KINDS else "a text file"
    answer: dict[str, Any]
    try:
        if "scan" in request:
            answer, parts = {}, scanned(data, request["password"], *request["scan"])
        else:
            kind, read_parts, warnings = read(key, request["name"], data, request["password"])
            parts = read_parts if isinstance(read_parts, list) else [read_parts]
            answer = {"kind": kind, "pages": isinstance(read_parts, list), "warnings": warnings}
        # A longer text would be stored and chunked outside this process.
        if (length := sum(map(len, parts))) > (most := max(CHARACTERS, len(data))):
            raise UnreadableFile(f"The text of {title} has {length:,} characters, more than {most:,}: split the file.")
    except UnreadableFile as error:
        # Readers of text are this package's own: refusing a file leaves them unharmed.
        unharmed = key in (TEXT, "html")
        return {"error": str(error), "password": isinstance(error, PasswordNeeded), "unharmed": unharmed}, []
    except MemoryError:
        os._exit(1)
    except BaseException as error:  # a panic in Rust is not an Exception
        return {"error": str(damaged(title, str(error))), "password": False}, []
    return {**answer, "unharmed": True}, parts


def _limit(seconds: float, memory: int) -> None:
    """End this process after `seconds`, or as soon as its parent has ended; limit its address space, in bytes.

    By signals that Python does not handle, since a library may hold its lock. Only Linux enforces the space.
    """
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (memory if hard < 0 else min(memory, hard), hard))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _limit_idleness() -> None:
    """End this process when no file is given to it for some seconds."""
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) & ~os.O_ASYNC)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, IDLE_SECONDS)


def _is_large() -> bool:
    """Return whether this process ever held so much memory that the next file should have another one."""
    try:
        # Not `getrusage`, whose peak a new process inherits from its parent.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:  # except on Linux, every file has its own process
        return True
    peak = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return peak is None or int(peak[1]) * 1024 > LARGE
