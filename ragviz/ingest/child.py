"""Reading in a process of its own: a file that hangs, crashes or swells its reader costs that process and no more.

kreuzberg's own time limit returns, yet its thread goes on and holds the lock of its PDF library, so that every PDF
after it fails too; and a PDF of 2 kB can ask for 2 GB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ragviz.errors import PasswordNeeded, UnreadableFile
from ragviz.ingest.kinds import KINDS, Kind, damaged
from ragviz.ingest.readers import Parts, read

SECONDS = 60
SECONDS_PER_MB = 3
MEMORY = 3 * 2**30
MEMORY_PER_BYTE = 8

_PACKAGES = str(Path(__file__).resolve().parents[2])


def read_apart(kind: Kind, data: bytes, password: str | None) -> tuple[Kind, Parts]:
    """Read a file in a child process: the kind it turned out to be, and its text or pages.

    Raises:
        UnreadableFile: damaged, or reading it takes too long or too much memory; PasswordNeeded.

    """
    seconds = SECONDS + SECONDS_PER_MB * len(data) / 2**20
    memory = MEMORY + MEMORY_PER_BYTE * len(data)
    request = json.dumps({"kind": kind.key, "password": password, "memory": memory}).encode() + b"\n"
    paths = os.pathsep.join(filter(None, [_PACKAGES, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths, "MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-P", "-c", "from ragviz.ingest.child import main; main()"]
    out, log = subprocess.PIPE, subprocess.DEVNULL
    try:
        done = subprocess.run(  # noqa: S603
            command, input=request + data, stdout=out, stderr=log, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnreadableFile(
            f"Reading took longer than {seconds:.0f} seconds and was stopped: split the file, or save it anew as text."
        ) from None
    if done.returncode != 0:
        raise UnreadableFile(
            f"Reading {kind.title} of {len(data):,} bytes crashed or needed more than {memory / 2**30:.1f} GB "
            "of memory: split the file, or save it anew."
        )
    reply = json.loads(done.stdout)
    if "error" in reply:
        raise (PasswordNeeded if reply["password"] else UnreadableFile)(reply["error"])
    return KINDS[reply["kind"]], reply["parts"]


def main() -> None:
    """Read one request from standard input, and answer it on standard output."""
    header, _, data = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(header)
    _limit_memory(request["memory"])
    answer = json.dumps(_answer(request["kind"], data, request["password"]))
    sys.stdout.buffer.write(answer.encode())
    sys.stdout.flush()
    os._exit(0)  # whatever threads a library has left


def _answer(key: str, data: bytes, password: str | None) -> dict[str, object]:
    try:
        kind, parts = read(key, data, password)
    except UnreadableFile as error:
        return {"error": str(error), "password": isinstance(error, PasswordNeeded)}
    except MemoryError:
        os._exit(1)
    except BaseException as error:  # a panic in Rust is not an Exception
        return {"error": str(damaged(KINDS[key].title, str(error))), "password": False}
    return {"kind": kind, "parts": parts}


def _limit_memory(limit: int) -> None:
    """Bound the address space; only Linux keeps such a bound."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
