"""Repair of nearly valid JSON, in a process of its own: a hostile text of 25 kB keeps the library busy for minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from ragviz.core import stopping
from ragviz.text.untrusted import is_deep

SECONDS = 4
"""Processor time to start the process and to repair one text: an honest reply of 25 kB takes a tenth of it."""
LONGEST = 60.0
"""Seconds of the clock that it may take, on a busy machine."""
MOST = 400_000
"""Characters of the longest text that is repaired."""

_SCRIPT = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
import json_repair
print(json.dumps([json_repair.loads(json.load(sys.stdin))]))
"""


def mended(text: str) -> Any:
    """Parse nearly valid JSON that holds an object.

    Raises:
        ValueError: it cannot be mended, or not in `SECONDS`, or is nested too deep; the message says which.
        Cancelled: this thread is to stop.

    """
    if "{" not in text:
        raise ValueError("it holds no object")
    if len(text) > MOST:
        raise ValueError(f"{len(text):,} characters are too many to mend")
    with suppress(ValueError, RecursionError):  # it needs no mending: it is another object than was asked for
        return json.loads(text)
    command = [sys.executable, "-P", "-c", _SCRIPT, str(SECONDS)]

    def repaired() -> str:
        done = subprocess.run(  # noqa: S603 - a constant, which reads the text as data
            command, input=json.dumps(text), capture_output=True, text=True, timeout=LONGEST, check=False
        )
        if done.returncode < 0:  # killed
            raise subprocess.TimeoutExpired(command, SECONDS)
        return done.stdout

    try:
        [value] = json.loads(stopping.detached(repaired).splitlines()[-1])  # whatever the library prints before
    except subprocess.TimeoutExpired:
        raise ValueError(f"to mend it takes longer than {SECONDS} seconds") from None
    except (ValueError, IndexError, RecursionError):
        raise ValueError("it cannot be mended") from None
    if is_deep(value):
        raise ValueError("it is nested too deep")
    return value
