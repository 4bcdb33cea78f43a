"""How Results and Compare grow with the questions of a run: script seconds, what is imported, the first picture.

The runs are those of `large_run.py`: judged, made up, four on the same questions, once with 1,000 and once with 10,000.
Each page is visited as Streamlit executes it, in a process of its own without a browser, its imports done. `first` is
with empty caches, `again` the median of reruns, as after every click: seconds of processor time, which other programs
on the machine lengthen less than those of a clock. A ratio is that of 10,000 questions to 1,000, of reruns, which
`--most` bounds. `imported` lists what a page must not load. `picture_s` are seconds of a clock from the address to the
first picture of the 10,000-question run in Chromium: of the first visit of a server that has shown another page, and
the median of later ones; `--no-browser` leaves it out. Prints one JSON line; exit code 1 when a ratio or a picture is
past its bound, or a model library is imported. `--home FOLDER` keeps the runs for the next time.
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

from ragviz.store.opening import sqlite_url

ROOT = large_run.ROOT
SIZES = (1_000, 10_000)
RUNS = ("first", "second", "third", "fourth")
MODELS = ("torch", "spacy", "jieba")
PAGES: Mapping[str, tuple[str, dict[str, str]]] = {
    "results": ("results", {"run": RUNS[0]}),
    "compare": ("compare", {"runs": ",".join(RUNS)}),
}
PICTURE_BOUND = 2.0
CHROMIUM = (os.environ.get("RAGVIZ_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")


def measured(home: Path, count: int, rounds: int) -> dict[str, Any]:
    """Return processor seconds of every page, and the model libraries that were imported: in this process."""
    large_run.opened(home, count, RUNS)
    os.chdir(ROOT)
    script = large_run.Script()
    for page, parameters in PAGES.values():
        large_run.visit(page, parameters)  # the imports, and what is stored of a run
    pages = {name: large_run.measured(*visited, script, rounds) for name, visited in PAGES.items()}
    processor = {name: {when: taken[when][1] for when in ("first", "again")} for name, taken in pages.items()}
    return {"pages": processor, "imported": [name for name in MODELS if name in sys.modules]}


def measured_apart(home: Path, count: int, rounds: int) -> dict[str, Any]:
    """Measure in a new process, which has made no run."""
    command = [sys.executable, __file__, "--measure", str(home), "--size", str(count), "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    taken: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return taken


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """Serve the pages of a home; yield the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    environment = os.environ | {"RAGVIZ_HOME": str(home), "RAGVIZ_DATABASE_URL": sqlite_url(home / "ragviz.db")}
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


def picture_seconds(home: Path, rounds: int) -> dict[str, float]:
    """Return the seconds until Results shows its first picture: on the first visit, and the median of later ones."""
    from playwright.sync_api import sync_playwright

    with serving(home) as address, sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, filter(None, CHROMIUM))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        taken = []
        for visit in range(rounds + 2):
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.set_default_timeout(120_000)
            began = time.perf_counter()
            if not visit:  # another page: the server imports what it needs
                page.goto(f"{address}/runs?corpus=large")
                page.locator("[data-testid=stDataFrame]").first.wait_for()
                continue
            page.goto(f"{address}/results?corpus=large&run={RUNS[0]}")
            page.locator(".js-plotly-plot .main-svg").first.wait_for()
            taken.append(time.perf_counter() - began)
            page.context.close()
        browser.close()
    return {"first": round(taken[0], 1), "again": round(statistics.median(taken[1:]), 1)}


def main() -> None:
    """Measure both sizes and the picture, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path, help="a folder for the runs, which stay in it")
    parser.add_argument("--most", type=float, default=3.0, help="the greatest ratio")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure, arguments.size, arguments.rounds)))
        return
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        homes = {count: (arguments.home or Path(folder)).resolve() / str(count) for count in SIZES}
        taken = {}
        for count, home in homes.items():
            home.mkdir(parents=True, exist_ok=True)
            large_run.opened(home, count, RUNS)
            taken[count] = measured_apart(home, count, arguments.rounds)
        small, large = (taken[count]["pages"] for count in SIZES)
        ratios = {
            name: {when: round(large[name][when] / small[name][when], 1) for when in ("first", "again")}
            for name in PAGES
        }
        picture = {} if arguments.no_browser else picture_seconds(homes[SIZES[-1]], arguments.rounds)
    imported = sorted({name for each in taken.values() for name in each["imported"]})
    missed = [name for name, ratio in ratios.items() if ratio["again"] > arguments.most]
    missed += ["picture"] if picture and picture["again"] > PICTURE_BOUND else []
    print(json.dumps({
        "benchmark": "dashboard", "runs_compared": len(RUNS), "rounds": arguments.rounds,
        "seconds": {str(count): each["pages"] for count, each in taken.items()}, "ratios": ratios,
        "imported": imported, "picture_s": picture, "missed": missed, "load_before": round(load, 1),
        "load_after": round(os.getloadavg()[0], 1), "cores": os.cpu_count(),
    }))  # fmt: skip
    sys.exit(bool(missed or imported))


if __name__ == "__main__":
    main()
