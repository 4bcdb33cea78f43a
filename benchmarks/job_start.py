"""Seconds from a press of *Build index* in a browser until the job's card shows what the job does.

The card's first words, while the process of the job starts, do not count. Each round builds an index with other
choices, and cancels it. `process` is the part until the job's process has taken it (its imports, mostly); the rest is
the page's script, the first stage, and the page's next look at the job. Prints one JSON line, with the load of the
machine: seconds of a busy one say little. Needs the development dependencies and a Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.jobs import queue  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402
from tests.test_browser import serving  # noqa: E402

CHROMIUM = (os.environ.get("RAGVIZ_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
STARTED = """() => new Promise((resolve) => {
    const buttons = [...document.querySelectorAll("[data-testid=stMain] button")];
    const begun = performance.now();
    const look = () => {
        const bar = document.querySelector("[data-testid=stSidebar] [data-testid=stProgress]");
        const words = bar ? bar.innerText : "";
        if (words && !words.includes("Starting")) resolve([(performance.now() - begun) / 1000, words]);
        else setTimeout(look, 10);
    };
    buttons.find((button) => button.innerText.trim() === "Build index").click();
    look();
})"""


def prepared(home: Path) -> Workspace:
    """Create a corpus whose index takes long enough to be seen."""
    workspace = Workspace(Settings(_env_file=None, home=home))
    corpus = workspace.store.corpora.add("notes")
    text = "\n\n".join(f"Pump {n} moved {n * 7 % 97} litres on day {n * 11 % 31} of the year." for n in range(5000))
    corpora.add_file(workspace, corpus, "notes.txt", text.encode())
    return workspace


def quiet(page: Page) -> None:
    """Wait until the page's script is through."""
    page.get_by_role("button", name="Build index").wait_for(timeout=90_000)
    page.wait_for_function(
        "() => document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'", timeout=90_000
    )
    page.wait_for_timeout(500)


def measured(page: Page, workspace: Workspace, address: str) -> tuple[float, float, str]:
    """Press the button; return the seconds until the card says what is done, those of the process, and the words."""
    page.goto(address)
    quiet(page)
    seconds, words = page.evaluate(STARTED)
    job = workspace.store.jobs.all(1)[0]
    assert job.started is not None
    queue.cancel(workspace, job)
    while workspace.store.jobs.get(job.id).status in queue.ACTIVE:
        time.sleep(0.1)
    return seconds, job.started - job.created, words


def main() -> None:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        serving(Path(folder)) as server,
    ):
        workspace = prepared(server.home)
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)  # None: Playwright's own
        browser = playwright.chromium.launch(executable_path=path, args=["--headless", "--no-sandbox"])
        page = browser.new_page()
        load = os.getloadavg()[0]
        address = server.address("index", corpus="notes", tab="New index", size="")
        measures = [measured(page, workspace, f"{address}{100 + 10 * n}") for n in range(rounds + 1)][1:]
        browser.close()
    seconds, process, words = zip(*measures, strict=True)
    print(json.dumps({
        "start_s": round(statistics.median(seconds), 2), "range_s": [round(min(seconds), 2), round(max(seconds), 2)],
        "process_s": round(statistics.median(process), 2), "first": sorted(set(words)), "rounds": rounds,
        "load_before": round(load, 1), "cores": os.cpu_count(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
