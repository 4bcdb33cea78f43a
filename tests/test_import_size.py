"""Imports of 100,000 rows: bounded time and memory, progress throughout, and nothing left of one that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragviz.core.processes import is_alive
from ragviz.core.settings import Settings
from ragviz.jobs import queue, worker
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


def waited(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def started(workspace, made):
    corpus = workspace.store.corpora.get("big")
    arguments = {"files": [("beir", str(made))], "corpus": corpus.id, "name": "s", "format": "auto"}
    job = workspace.store.jobs.add("import", "Import s", corpus.id, arguments)
    return queue.start(workspace, job)


@pytest.mark.model
def test_an_import_that_is_killed_leaves_nothing_and_is_resumed(workspace, tmp_path):
    made = folder(tmp_path, 20_000, 2_000)
    job = started(workspace, made)
    waited(lambda: workspace.store.jobs.get(job.id).message.startswith(("Reading", "Storing")))
    running = workspace.store.jobs.get(job.id)
    os.kill(running.pid, signal.SIGKILL)
    waited(lambda: is_alive(running.host, running.pid, running.pid_started) is False)
    corpus = workspace.store.corpora.get("big")
    assert workspace.store.documents.all(corpus.id) == []
    assert workspace.store.sets.all() == []
    resumed = worker.perform(workspace, job.id)
    assert (resumed.status, resumed.result["imported"]) == ("done", 20_000)
    assert len(workspace.store.documents.all(corpus.id)) == 2_000
