"""Imports of 100,000 rows: bounded time and memory, progress throughout, and nothing left of one that is killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragviz.core.settings import Settings
from ragviz.workspace import Workspace

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


@pytest.fixture
def workspace(tmp_path):
    opened = Workspace(Settings(home=tmp_path / "home"))
    opened.store.corpora.add("big")
    return opened


def folder(tmp_path: Path, queries: int, documents: int) -> Path:
    """A BEIR folder with as many queries as judgements."""
    made = tmp_path / "beir"
    (made / "qrels").mkdir(parents=True)

    def written(name, rows):
        with (made / name).open("w", encoding="utf-8") as file:
            file.writelines(rows)

    text = "Entry {0} says that pump {0} moves {0} litres a minute."
    written("corpus.jsonl", (json.dumps({"_id": f"e{n}", "text": text.format(n)}) + "\n" for n in range(documents)))
    asked = "How much does pump {} move on day {}?"
    written(
        "queries.jsonl",
        (json.dumps({"_id": f"q{n}", "text": asked.format(n % documents, n)}) + "\n" for n in range(queries)),
    )
    written("qrels/test.tsv", (f"q{n}\te{n % documents}\t1\n" for n in range(queries)))
    return made


@pytest.mark.model
def test_a_hundred_thousand_rows_take_bounded_time_and_memory(workspace, tmp_path):
    made = folder(tmp_path, ROWS, 5_000)
    command = [sys.executable, "-c", CHILD, str(workspace.settings.home), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * MOST_SECONDS)
    imported, problems, peak, seconds, silence = json.loads(done.stdout)
    assert (imported, problems) == (ROWS, 0)
    assert peak < MOST_BYTES
    assert seconds < MOST_SECONDS
    assert silence < 10  # a cancellation is heard until all rows are stored
    assert workspace.store.sets.get("s").total == ROWS
