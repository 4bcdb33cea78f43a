"""Processor seconds of new processes: `ragviz.open()`, `ragviz runs list` and `import pandas`; `ragviz sample`."""

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


def seconds(words: list[str], home: str) -> float:
    """Run Python with these words; return what it and its children took of the processor."""
    began = processor_seconds()
    environment = os.environ | {"RAGVIZ_HOME": home}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    return processor_seconds() - began


def main() -> None:
    """Start each in turn, and take the least: other work on the machine only adds. The sample is loaded once."""
    least = dict.fromkeys(SIDES, float("inf"))
    with tempfile.TemporaryDirectory() as home:
        for _ in range(ROUNDS + 1):  # the first creates the database
            for side, words in SIDES.items():
                least[side] = min(least[side], seconds(words, home))
    row("ragviz.open() in a new process ÷ import pandas", least["open"], least["pandas"], "s CPU", 0.8 / 0.55)
    row("ragviz runs list, no runs ÷ import pandas", least["runs list"], least["pandas"], "s CPU", 0.5 / 0.55)
    with tempfile.TemporaryDirectory() as home:
        loaded = seconds(["-m", "ragviz", "sample"], home)
    row("ragviz sample in a new home", loaded, None, "s CPU", 20)


if __name__ == "__main__":
    main()
