"""Memory of the server for each of ten browsers on one run, and how long each waits.

The runs are those of `large_run.py`. A first browser visits Results; then `--visitors` others open it at once, each
with cookies and a session of its own, as people do: what the server's processes grow by for each, its processor time
for all of them, and the seconds of a clock until the last has its bar of outcomes and its table of questions: the
browsers draw on the same cores. Prints rows for `make bench`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import large_run
import psutil
import rows
from dashboard import CHROMIUM, RUNS, serving


def resident(process: psutil.Process) -> float:
    """Return the megabytes that a process and its children hold in memory."""
    return float(sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))) / 2**20


def main() -> None:
    """Measure, and print the rows."""
    from playwright.sync_api import Browser, Page, sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--home", type=Path, help="a folder for the runs, which stay in it")
    arguments = parser.parse_args()

    def opened(browser: Browser, url: str) -> Page:
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.set_default_timeout(120_000)
        page.goto(url, wait_until="commit")
        return page

    def seen(page: Page) -> None:
        page.wait_for_selector(".rv-shares", state="attached")
        page.wait_for_selector('[data-testid="stDataFrame"]', state="attached")

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = (arguments.home or Path(folder)).resolve() / str(arguments.questions)
        home.mkdir(parents=True, exist_ok=True)
        large_run.opened(home, arguments.questions, RUNS)
        found = next(filter(None, map(shutil.which, filter(None, CHROMIUM))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        with serving(home) as address:
            server = next(
                each for each in psutil.Process().children(recursive=True) if "streamlit" in " ".join(each.cmdline())
            )
            url = f"{address}/results?corpus=large&run={RUNS[0]}"
            began = time.perf_counter()
            seen(opened(browser, url))
            first, before, used = time.perf_counter() - began, resident(server), sum(server.cpu_times()[:2])
            began = time.perf_counter()
            pages = [opened(browser, url) for _ in range(arguments.visitors)]
            for page in pages:
                seen(page)
            waited = time.perf_counter() - began
            time.sleep(2)
            used = sum(server.cpu_times()[:2]) - used
            each = (resident(server) - before) / arguments.visitors
        browser.close()
    of = f"{arguments.visitors} browsers on one run of {arguments.questions:,} questions"
    rows.row(f"{of}: memory of the server for each (it has {before:,.0f})", each, None, "MB", 50.0)
    rows.row(f"{of}: processor time of the server for all, which the last waits for at most", used, None, "s", 5.0)
    rows.row(
        f"{of}: until the last is drawn on these cores (the first by itself: {first:.1f} s)", waited, None, "s", 5.0
    )


if __name__ == "__main__":
    main()
