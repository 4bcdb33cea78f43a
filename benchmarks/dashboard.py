"""How Results and Compare grow with the questions of a run: script seconds, what is imported, the first picture.

The runs are those of `large_run.py`: judged, made up, four on the same questions, with as many documents as questions,
for each of `--sizes`. Each page is visited as Streamlit executes it, in a process of its own without a browser, its
imports done. `first` is with empty caches, `again` the median of reruns, as after every click: seconds of processor
time, which other programs on the machine lengthen less than those of a clock; `megabytes` are sent to a browser at
first. A ratio is that of the largest size to the one before. No page may import a model library. With a browser:
seconds of a clock from the request of the largest run until Chromium has drawn the first picture, the bar of outcomes,
the median of new visitors; `plotly` is the median until the first Plotly picture, and `plain` that of a page of
Streamlit with nothing but one Plotly bar chart. `--no-browser` leaves it out. Prints rows for `make bench`.
`--home FOLDER` keeps the runs for the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import large_run
import rows

from ragviz.store.store import sqlite_url

ROOT = large_run.ROOT
SIZES = (100, 1_000, 10_000)
RUNS = ("first", "second", "third", "fourth")
MODELS = ("torch", "spacy", "jieba")
PAGES: Mapping[str, tuple[str, dict[str, str]]] = {
    "results": ("results", {"run": RUNS[0]}),
    "by document": ("results", {"run": RUNS[0], "tab": "By k and document"}),
    "compare": ("compare", {"runs": ",".join(RUNS)}),
}
CHROMIUM = (os.environ.get("RAGVIZ_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")


def measured(home: Path, count: int, rounds: int) -> dict[str, Any]:
    """Return processor seconds of every page, and the model libraries that were imported: in this process."""
    large_run.opened(home, count, RUNS)
    os.chdir(ROOT)
    script = large_run.Script()
    for page, parameters in PAGES.values():
        large_run.visit(page, parameters)  # the imports, and what is stored of a run
    pages = {name: large_run.measured(*visited, script, rounds) for name, visited in PAGES.items()}
    processor = {
        name: {when: taken[when][1] for when in ("first", "again")} | {"megabytes": taken["first"][2]}
        for name, taken in pages.items()
    }
    return {"pages": processor, "imported": [name for name in MODELS if name in sys.modules]}


def measured_apart(home: Path, count: int, rounds: int) -> dict[str, Any]:
    """Measure in a new process, which has made no run."""
    command = [sys.executable, __file__, "--measure", str(home), "--size", str(count), "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    taken: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return taken


def compare_seconds(home: Path) -> float:
    """Return the processor seconds of `ragviz compare` in a new process, the least of five: repeated."""
    environment = os.environ | {"RAGVIZ_HOME": str(home), "RAGVIZ_DATABASE_URL": sqlite_url(home / "ragviz.db")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
    taken = []
    for _ in range(6):
        began = rows.processor_seconds()
        command = [sys.executable, "-m", "ragviz", "compare", *RUNS]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        taken.append(rows.processor_seconds() - began)
    return min(taken[1:])


@contextmanager
def serving(home: Path, script: Path = ROOT / "app.py", **more: str) -> Iterator[str]:
    """Serve the pages of a home, or another script, with `more` variables; yield the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
    environment = os.environ | {"RAGVIZ_HOME": str(home), "RAGVIZ_DATABASE_URL": sqlite_url(home / "ragviz.db")} | more
    with subprocess.Popen(
        [*command, "--server.port", str(port)], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                try:
                    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                        break
                except OSError:
                    time.sleep(0.2)
            yield address
        finally:
            process.terminate()


PLAIN = "import plotly.graph_objects as go, streamlit as st\nst.plotly_chart(go.Figure(go.Bar(y=[1, 2, 3])))\n"
WATCH = """
const drawn = window.drawn = {}
const wanted = {
  bar: '.rv-shares', plotly: '.js-plotly-plot .main-svg', table: '[data-testid=stDataFrame]'
}
const look = () => {
  for (const name in wanted)
    if (!drawn[name] && document.querySelector(wanted[name])) drawn[name] = performance.now() / 1000
  requestAnimationFrame(look)
}
requestAnimationFrame(look)
"""
"""In the browser: when each picture is there as a frame is about to be painted."""


def picture_seconds(home: Path, rounds: int) -> dict[str, float]:
    """Return the seconds until Results, and a plain page of Streamlit, show their first pictures."""
    from playwright.sync_api import sync_playwright

    plain = home / "plain.py"
    plain.write_text(PLAIN)
    with serving(home) as address, serving(home, plain) as other, sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, filter(None, CHROMIUM))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])

        def visit(url: str, name: str) -> dict[str, float]:
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.set_default_timeout(120_000)
            page.add_init_script(WATCH)
            page.goto(url)
            page.wait_for_function(f"window.drawn.{name}")
            page.wait_for_timeout(1000)  # what is still under way belongs to this visit
            drawn: dict[str, float] = page.evaluate("window.drawn")
            page.context.close()
            return drawn

        visit(f"{address}/runs?corpus=large", "table")  # another page: the server imports what it needs
        ours = [visit(f"{address}/results?corpus=large&run={RUNS[0]}", "plotly") for _ in range(rounds + 1)]
        theirs = [visit(other, "plotly") for _ in range(rounds + 1)]
        browser.close()
    taken = {
        "first": ours[0]["bar"],
        "again": statistics.median(each["bar"] for each in ours[1:]),
        "plotly": statistics.median(each["plotly"] for each in ours[1:]),
        "plain": statistics.median(each["plotly"] for each in theirs[1:]),
    }
    return {name: round(seconds, 1) for name, seconds in taken.items()}


def main() -> None:
    """Measure every size and the picture, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path, help="a folder for the runs, which stay in it")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure, arguments.size, arguments.rounds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        homes = {count: (arguments.home or Path(folder)).resolve() / str(count) for count in arguments.sizes}
        taken = {}
        for count, home in homes.items():
            home.mkdir(parents=True, exist_ok=True)
            large_run.opened(home, count, RUNS)
            taken[count] = measured_apart(home, count, arguments.rounds)
        command = compare_seconds(homes[arguments.sizes[-1]])
        picture = {} if arguments.no_browser else picture_seconds(homes[arguments.sizes[-1]], arguments.rounds)
    last, before = arguments.sizes[-1], (arguments.sizes[-2:] * 2)[-2]
    for name in PAGES:
        large, small = taken[last]["pages"][name], taken[before]["pages"][name]
        what = f"{name}, first visit, {last:,} questions on {last:,} documents"
        rows.row(what, large["first"], None, "s", 2.0)
        rows.row(f"{what} ÷ that at {before:,}", large["first"], max(small["first"], 0.01), "s", 3.0)
        rows.row(f"{what}: sent to the browser", large["megabytes"], None, "MB", 0.5)
        rows.row(f"{name}, every other visit of {last:,}", large["again"], None, "s", 1.5)
    rows.row(f"ragviz compare of four runs of {last:,}, repeated", command, None, "s CPU", 1.5)
    if picture:
        rows.row(f"Results of {last:,}: until the bar is drawn, by a clock", picture["again"], None, "s", 2.0)
        rows.row("… until the first Plotly picture ÷ a bare page", picture["plotly"], picture["plain"], "s", 2.0)
    if imported := sorted({name for each in taken.values() for name in each["imported"]}):
        raise SystemExit(f"The pages import {', '.join(imported)}.")


if __name__ == "__main__":
    main()
