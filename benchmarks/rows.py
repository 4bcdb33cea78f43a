"""The rows of the table that `make bench` prints: one JSON line each, written by the scripts and read here.

`python benchmarks/rows.py` runs all of `COMMANDS`, one after another, and prints the table; with words, only those
whose command holds one of them. Exit code 1 when a bound is missed or a script fails.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

COMMANDS: tuple[str, ...] = (
    "startup.py",
    "jobs.py",
    "retrieval.py --chunks 20000",
    "ranking.py",
    "ingest.py",
    "indexing.py --without-embedder",
    "runs.py",
    "dashboard.py --rounds 1",
    "visitors.py",
    "judging.py",
    "vectors.py",
    "sweep.py --parts calls",
)
"""The scripts of this folder with the sizes of `make bench`, which end in reasonable time."""


def row(
    what: str, ours: float, theirs: float | None, unit: str, to_reach: float, *, higher_is_better: bool = False
) -> None:
    """Print a row: our figure, that of the other side in the same run, and the bound of what is judged.

    That is the ratio ours ÷ theirs; our own figure where there is no other side (`theirs` is None). `what` names the
    sizes.
    """
    ratio = None if theirs is None else ours / theirs
    judged = ours if ratio is None else ratio
    reached = judged >= to_reach if higher_is_better else judged <= to_reach
    line = {"what": what, "ours": ours, "theirs": theirs, "unit": unit, "ratio": ratio, "to_reach": to_reach}
    print(json.dumps(line | {"reached": reached}), flush=True)


def processor_seconds() -> float:
    """Processor seconds so far (user and system) of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def main() -> None:
    """Run the scripts, print each row as soon as it is there."""
    here, words, failed = Path(__file__).parent, sys.argv[1:], False
    print(f"{'ours':>10} {'theirs':>10} {'unit':8} {'ratio':>8} {'to reach':>8}          what", flush=True)
    for command in COMMANDS:
        if words and not any(word in command for word in words):
            continue
        script, *arguments = command.split()
        process = subprocess.Popen([sys.executable, str(here / script), *arguments], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            found = json.loads(line) if line.startswith("{") else {}
            if "to_reach" not in found:
                continue
            failed |= not found["reached"]
            figures = [_figure(found[name], 10) for name in ("ours", "theirs")]
            judged = [_figure(found[name], 8) for name in ("ratio", "to_reach")]
            verdict = "reached" if found["reached"] else "MISSED "
            print(*figures, f"{found['unit']:8}", *judged, f" {verdict} {found['what']}", flush=True)
        if process.wait() not in (0, 1):  # 1 says that a bound is missed
            failed = True
            print(f"{command} ended with exit code {process.returncode}", file=sys.stderr)
    sys.exit(failed)


def _figure(value: float | None, width: int) -> str:
    return f"{'–' if value is None else format(value, ',.3g' if abs(value) < 1000 else ',.0f'):>{width}}"


if __name__ == "__main__":
    main()
