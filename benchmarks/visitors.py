"""Memory of the server for each of ten browsers on one run, and how long each waits.

The runs are those of `large_run.py`. A first browser visits Results; then `--visitors` others open it at once, each
with cookies and a session of its own, as people do: what the server's processes grow by for each, its processor time
for all of them, and the seconds of a clock until the last has its bar of outcomes and its table of questions: the
browsers draw on the same cores, so that as many open a page of Streamlit that holds one table as well. Prints rows for
`make bench`.
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


PLAIN = "import streamlit as st\nst.dataframe({'number': range(100)})\n"
TABLE = '[data-testid="stDataFrame"]'


def main() -> None:
    """Measure, and print the rows."""
    from playwright.sync_api import Browser, Page, sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--home", type=Path, help="a folder for the runs, which stay in it")
    arguments = parser.parse_args()

    def waited(browser: Browser, url: str, visitors: int, *drawn: str) -> float:
        """Open a page in browsers at once; return the seconds until the last has what is to be drawn."""
        began, pages = time.perf_counter(), list[Page]()
        for _ in range(visitors):
            pages.append(browser.new_context(viewport={"width": 1440, "height": 900}).new_page())
            pages[-1].set_default_timeout(120_000)
            pages[-1].goto(url, wait_until="commit")
        for page in pages:
            for selector in drawn:
                page.wait_for_selector(selector, state="attached")
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = (arguments.home or Path(folder)).resolve() / str(arguments.questions)
        home.mkdir(parents=True, exist_ok=True)
        large_run.opened(home, arguments.questions, RUNS)
        found = next(filter(None, map(shutil.which, filter(None, CHROMIUM))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        plain = home / "plain.py"
        plain.write_text(PLAIN)
        with serving(home, plain) as address:
            waited(browser, address, 1, TABLE)
            theirs = waited(browser, address, arguments.visitors, TABLE)
        browser.close()
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        with serving(home) as address:
            server = next(
                each for each in psutil.Process().children(recursive=True) if "streamlit" in " ".join(each.cmdline())
            )
            url = f"{address}/results?corpus=large&run={RUNS[0]}"
            first = waited(browser, url, 1, ".rv-shares", TABLE)
            before, used = resident(server), sum(server.cpu_times()[:2])
            last = waited(browser, url, arguments.visitors, ".rv-shares", TABLE)
            time.sleep(2)
            used = sum(server.cpu_times()[:2]) - used
            each = (resident(server) - before) / arguments.visitors
        browser.close()
    of = f"{arguments.visitors} browsers on one run of {arguments.questions:,} questions"
    rows.row(f"{of}: memory of the server for each (it has {before:,.0f})", each, None, "MB", 50.0)
    rows.row(f"{of}: processor time of the server for all, which the last waits for at most", used, None, "s", 5.0)
    what = f"{of}: until the last is drawn on these cores"
    rows.row(f"{what} (the first by itself: {first:.1f} s)", last, None, "s", 5.0)
    rows.row(f"{what} ÷ a page of Streamlit with one table", last, theirs, "s", 2.0)


if __name__ == "__main__":
    main()
