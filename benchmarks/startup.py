"""Processor seconds of `ragviz.open()` and `ragviz runs list` in new processes, beside `import pandas`, by turns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from rows import processor_seconds, row

ROUNDS = 7
SIDES = {
    "open": ["-c", "import ragviz; ragviz.open()"],
    "runs list": ["-m", "ragviz", "runs", "list"],
    "pandas": ["-c", "import pandas"],
}


def main() -> None:
    """Start each in turn, and take the least: other work on the machine only adds."""
    least = dict.fromkeys(SIDES, float("inf"))
    with tempfile.TemporaryDirectory() as home:
        for _ in range(ROUNDS + 1):  # the first creates the database
            for side, words in SIDES.items():
                began = processor_seconds()
                subprocess.run(
                    [sys.executable, *words],
                    env=os.environ | {"RAGVIZ_HOME": home},
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                least[side] = min(least[side], processor_seconds() - began)
    row("ragviz.open() in a new process ÷ import pandas", least["open"], least["pandas"], "s CPU", 0.8 / 0.55)
    row("ragviz runs list, no runs ÷ import pandas", least["runs list"], least["pandas"], "s CPU", 0.5 / 0.55)


if __name__ == "__main__":
    main()
