"""Many presses of *Build* at once: how many are done at a time, and what memory they hold together.

Each press builds an index of a corpus of its own with the packaged embedder, for a person of its own. The other side is
one build alone; a process that ends is beside those that have begun.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import psutil
from rows import row

from ragviz.core.job import NewJob
from ragviz.core.person import Person
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.jobs import queue, turns
from ragviz.workspace import Workspace


def press(workspace: Workspace, number: int) -> None:
    """Submit the build of a small corpus, each by another person."""
    corpus = workspace.store.corpora.add(f"notes {number}")
    text = "\n\n".join(f"Pump {n} moved {n * number % 97} litres on day {n % 31}." for n in range(2000))
    corpora.add_file(workspace, corpus, "notes.txt", text.encode())
    arguments = {"corpus": corpus.id, "name": f"index {number}", "config": {}}
    presser = Workspace(workspace.settings, Person(f"person {number}"))
    queue.submit_once(presser, NewJob("index", "Build", corpus.id, arguments))


def peaks(workspace: Workspace) -> tuple[int, float]:
    """Wait until no job is active; return the most jobs at once, and the most MB that their processes held."""
    most, memory = 0, 0.0
    ids = [[job.id] for job in workspace.store.jobs.active()]
    while any(queue.refreshed(job).status in queue.ACTIVE for job in workspace.store.jobs.active()):
        ours = [
            each for each in psutil.process_iter(["cmdline", "memory_info"]) if (each.info["cmdline"] or ())[-1:] in ids
        ]
        held = [each.info["memory_info"].rss / 2**20 for each in ours]
        begun = [job for job in workspace.store.jobs.active() if job.status != "queued"]
        most, memory = max(most, len(begun)), max(memory, sum(held))
        time.sleep(0.1)
    return most, memory


def main() -> None:
    """Measure one, then all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presses", type=int, default=12)
    presses = parser.parse_args().presses
    with tempfile.TemporaryDirectory() as home:
        os.environ["RAGVIZ_HOME"] = home
        workspace = Workspace(Settings(_env_file=None, home=Path(home)))
        press(workspace, 0)
        _, alone = peaks(workspace)
        for number in range(1, presses + 1):
            press(workspace, number)
        most, together = peaks(workspace)
        failed = [job.error for job in workspace.store.jobs.all() if job.status != "done"]
        assert not failed, failed
    cores = turns.room(workspace.settings).cores
    row(f"{presses} presses of Build: jobs at once ÷ cores", most, cores, "", 1)
    row(f"{presses} presses of Build: memory ÷ that of one build", together, alone, "MB", cores + 1)


if __name__ == "__main__":
    main()
