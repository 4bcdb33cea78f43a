"""Imports of 100,000 rows: bounded time and memory, and progress throughout."""

import json
import subprocess
import sys

import pytest

from tests.builders import added

ROWS = 100_000
MOST_BYTES = 700 * 2**20
"""Of the whole process; some 300 MB were measured."""
MOST_SECONDS = 180
"""Some 16 s were measured on two busy cores."""
CHILD = """
import json, resource, sys, time
from pathlib import Path
from ragviz.core.settings import Settings
from ragviz.questions import exchange
from ragviz.questions.formats import input_file
from ragviz.workspace import Workspace

workspace = Workspace(Settings(home=Path(sys.argv[1])))
corpus, started, heard = workspace.store.corpora.get("big"), time.monotonic(), []
path = Path(sys.argv[2])
read = input_file.from_paths([(path.name, path)])
outcome = exchange.import_files(workspace, corpus, read, "s", progress=lambda *_: heard.append(time.monotonic()))
silences = [later - earlier for earlier, later in zip(heard, heard[1:])]
status = Path("/proc/self/status")
if status.exists():  # the greatest of this program alone: the other counts what the process was before it was started
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([outcome.imported, outcome.problems, peak, time.monotonic() - started, max(silences)]))
"""


@pytest.mark.model
def test_a_hundred_thousand_rows_take_bounded_time_and_memory(workspace, tmp_path):
    text = " ".join(f"Entry {n} says that pump {n} moves {n} litres a minute." for n in range(100))
    added(workspace, "big", {"pumps.txt": text})
    with (tmp_path / "asked.jsonl").open("w", encoding="utf-8") as file:
        for n in range(ROWS):
            row = {"question": f"How much does pump {n % 100} move on day {n}?", "answer": f"{n % 100} litres"}
            row |= {"document": "pumps.txt", "quote": f"pump {n % 100} moves"}
            file.write(json.dumps(row) + "\n")
    command = [sys.executable, "-c", CHILD, str(workspace.settings.home), str(tmp_path / "asked.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * MOST_SECONDS)
    imported, problems, peak, seconds, silence = json.loads(done.stdout)
    assert (imported, problems) == (ROWS, 0)
    assert peak < MOST_BYTES
    assert seconds < MOST_SECONDS
    assert silence < 10  # a cancellation is heard until all rows are stored
    assert workspace.store.sets.get("s").total == ROWS
