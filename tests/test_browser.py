"""The whole story in a real browser: an empty home, the sample, from the histogram to one question, files, a search.

The tests are chapters: they run in order, on one server and one home. Pictures go to `artifacts/screenshots`, or to the
folder that RAGVIZ_ARTIFACTS names.
"""

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, WebSocketRoute, expect, sync_playwright

from ragviz import sample
from ragviz.core.document import Chunk
from ragviz.core.job import Job
from ragviz.core.verdict import Claim, ClaimVerdict, Matrix
from ragviz.judging.texts import sentences_of
from ragviz.metrics import answers as answer_metrics
from ragviz.store import schema
from ragviz.store.store import Store, open_store, sqlite_url

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

ROOT = Path(__file__).resolve().parent.parent
ARTIFACTS = Path(os.environ.get("RAGVIZ_ARTIFACTS") or ROOT / "artifacts" / "screenshots")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE = 90_000  # milliseconds for what takes two seconds on a quiet machine
LONG = 240_000  # for what loads the embedder
GRID_ROW = 35  # pixels of a table's row, its header too
NOTES = {"阀门.txt": "北阀门于2021年更换。检修周期为三十天。负责人是王芳。".encode(), "empty.txt": b""}


@dataclass(frozen=True)
class Server:
    url: str
    home: Path
    log: Path
    env: dict[str, str]

    def address(self, page: str, **params: str) -> str:
        path = "" if page == "home" else page
        return f"{self.url}/{path}" + (f"?{urlencode(params)}" if params else "")

    def ragviz(self, *words: str, **env: str) -> Any:
        """What the command line says, as JSON, about the same home."""
        done = self.process(*words, "--json", **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def process(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ragviz", *words]
        return subprocess.run(command, cwd=ROOT, env=self.env | env, capture_output=True, text=True, check=False)


def chromium() -> str:
    """Path of the system's browser. Without one the tests are skipped, but fail in CI."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    configured = os.environ.get("RAGVIZ_CHROMIUM")
    path = shutil.which(configured) if configured else next(filter(None, map(shutil.which, names)), None)
    if path is None:
        reason = "no chromium: install it, or set RAGVIZ_CHROMIUM to its path"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`streamlit run app.py` on an empty home, with nothing else configured."""
    with serving(tmp_path_factory.mktemp("browser")) as started:
        yield started


@contextmanager
def serving(folder: Path, **configured: str) -> Iterator[Server]:
    """`streamlit run app.py` on the home in a folder; it and its jobs are ended afterwards."""
    home, log, port = folder / "home", folder / "server.log", free_port()
    foreign = ("OPENAI_", "ELASTICSEARCH_", "RAGVIZ_", "STREAMLIT_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    env["RAGVIZ_HOME"] = str(home)
    env["RAGVIZ_DATABASE_URL"] = sqlite_url(home / "ragviz.db")  # whatever a developer's .env says
    env |= configured
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--server.port", str(port)], cwd=ROOT, env=env, stdout=output, stderr=output
        )
    started = Server(f"http://127.0.0.1:{port}", home, log, env)
    try:
        wait_for_health(started, process)
        yield started
    finally:
        end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_health(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=5) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the app did not start: {server.log.read_text(errors='replace')}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End the server and the jobs it started, which would outlive it."""
    try:
        jobs = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        jobs = []
    process.terminate()
    for job in jobs:
        if job.is_running():
            job.kill()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def visitors(browser: Browser) -> BrowserContext:
    """The one profile of a browser, so that no page but the first compiles Streamlit's scripts, a third of its time."""
    if not browser.contexts:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
        context.set_default_timeout(PATIENCE)
    return browser.contexts[0]


@pytest.fixture
def page(browser: Browser, server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A new session of a new visitor. How it ended is kept as a picture, and it may not have left this machine."""
    context = visitors(browser)
    requested_urls: list[str] = []
    opened = context.new_page()
    opened.on("request", lambda sent: requested_urls.append(sent.url))
    yield opened
    picture(opened, f"story-{request.node.name.removeprefix('test_')}")
    opened.close()
    context.clear_cookies()
    assert [url for url in requested_urls if not url.startswith((server.url, "data:", "blob:"))] == []


@pytest.fixture(scope="module")
def measured(server: Server) -> dict[str, Any]:
    """What the command line says about a run of the sample, which the story has loaded by then."""
    return server.ragviz("results", "sample-knn")


def drawn(page: Page) -> None:
    """Wait until the script behind the page is through, and the page has settled; nothing may have gone wrong."""
    expect(page.get_by_test_id("stMain").locator("h1, p").first).to_be_visible()
    page.evaluate("window.quietSince = undefined")  # the quiet before the last click says nothing about what it began
    page.wait_for_function(
        """() => {
            const app = document.querySelector("[data-testid=stApp]").dataset;
            const waits = document.querySelector("[data-testid=stSpinner], [data-testid=stSkeleton]");
            const quiet = app.testScriptState === "notRunning" && app.testConnectionState === "CONNECTED" && !waits;
            if (!quiet) { window.quietSince = undefined; return false; }
            window.quietSince ??= performance.now();
            return performance.now() - window.quietSince > 400;
        }""",
        timeout=LONG,
        polling=50,  # milliseconds; else it has every frame drawn
    )
    sound(page)


def sound(page: Page) -> None:
    """No exception box, no apology for a defect, nothing wider than the window."""
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
    expect(page.get_by_text("a defect in ragviz")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    wide = page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll("[data-testid=stMain]")]
            .map((box) => box.scrollWidth - box.clientWidth)"""
    )
    assert max(wide) <= 0, f"{page.url} is wider than the window"


def picture(page: Page, name: str) -> None:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


def show_all(page: Page, width: int) -> None:
    """Make the window so wide, and so high that it shows the whole page, which scrolls inside it."""
    page.set_viewport_size({"width": width, "height": 900})
    settled(page)
    main = page.get_by_test_id("stMain")
    page.set_viewport_size({"width": width, "height": min(main.evaluate("box => box.scrollHeight"), 3000)})
    settled(page)
    sound(page)


def settled(page: Page) -> None:
    """Wait until nothing fades, and the page has been as high and as wide as it is for a while."""
    page.evaluate("window.layout = undefined")
    page.wait_for_function(
        """() => {
            const box = document.querySelector("[data-testid=stMain]");
            const fading = document.getAnimations().filter((each) => each instanceof CSSTransition).length;
            const layout = [innerWidth, innerHeight, box.scrollHeight, box.scrollWidth, fading].join();
            if (layout !== window.layout) { window.layout = layout; window.layoutSince = performance.now(); }
            return fading === 0 && performance.now() - window.layoutSince > 150;
        }""",
        polling=50,
    )


def param(page: Page, name: str) -> str | None:
    return next(iter(parse_qs(urlsplit(page.url).query).get(name, [])), None)


def has_param(name: str, value: str) -> Callable[[str], bool]:
    return lambda url: parse_qs(urlsplit(url).query).get(name) == [value]


def lacks_param(name: str) -> Callable[[str], bool]:
    return lambda url: name not in parse_qs(urlsplit(url).query)


def tile(page: Page, label: str) -> Locator:
    exact = re.compile(rf"^{re.escape(label)}( |\u00a0)?[↑↓]?$")
    return page.locator("[data-testid=stMetric]").filter(
        has=page.locator("[data-testid=stMetricLabel]").filter(has=page.get_by_text(exact))
    )


def click_bar(page: Page, place: int, figure: int = 0) -> None:
    """Click a bar of a figure (the first: the rank histogram); plotly listens on a layer above, so the mouse goes."""
    bars = page.locator(".js-plotly-plot").nth(figure).locator(".barlayer .point path")
    expect(bars.first).to_be_attached()
    bars.nth(place).scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # plotly draws, then makes itself clickable
    click_middle(page, bars.nth(place).bounding_box())


def click_row(page: Page, table: Locator, row: int, across: int = 200) -> None:
    """Click a row of a table, which is a picture: at its place, after the mouse has come to rest there."""
    canvas = table.locator("[data-testid=data-grid-canvas]")
    canvas.scroll_into_view_if_needed()
    box = steady(page, canvas.bounding_box)
    assert box is not None
    top = {"x": box["x"] + across, "y": box["y"] + GRID_ROW * (row + 1), "width": 0, "height": GRID_ROW}
    click_middle(page, top)


def steady(page: Page, read: Callable[[], Any]) -> Any:
    """Return what `read` returns when that has not changed for a while.

    Pages scroll on for half a second after they are drawn, and a table's accessible twin follows its picture late.
    """
    value, since = read(), time.monotonic()
    while time.monotonic() - since < 0.7:
        page.wait_for_timeout(50)
        if (now := read()) != value:
            value, since = now, time.monotonic()
    return value


def click_middle(page: Page, box: Any) -> None:
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 8, y)
    page.mouse.move(x, y, steps=4)
    page.wait_for_timeout(250)
    page.mouse.down()
    page.wait_for_timeout(60)
    page.mouse.up()


def cell(table: Locator, column: str, row: int) -> str:
    """Text of a cell, from the accessible table behind the picture."""
    head = table.get_by_role("columnheader", name=column, exact=True, include_hidden=True)
    place = head.get_attribute("aria-colindex")
    there = table.locator(f"tr[aria-rowindex='{row + 2}'] td[aria-colindex='{place}']")
    return steady(table.page, there.text_content) or ""


def test_the_sample_is_loaded_while_the_visitor_looks_elsewhere(server, page):
    page.goto(server.address("home"))
    drawn(page)
    page.get_by_role("button", name="Load the sample").click()
    sidebar = page.get_by_test_id("stSidebar")
    bar = sidebar.get_by_test_id("stProgress")
    expect(bar).to_be_visible()
    expect(sidebar.get_by_role("button", name="Cancel")).to_be_visible()
    sidebar.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    expect(bar).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    expect(bar).to_be_visible()
    picture(page, "story-the_sample_is_being_loaded")
    expect(bar).to_have_count(0, timeout=LONG)
    assert [job["status"] for job in server.ragviz("jobs")] == ["done"]
    sidebar.get_by_role("link", name="Home", exact=True).click()
    expect(page.locator(".rv-verdict")).to_contain_text("Ship k 10")
    drawn(page)
    recent = page.get_by_test_id("stDataFrame")
    assert {cell(recent, "Run", row) for row in (0, 1, 2)} == set(sample.RUNS)


def test_from_the_histogram_to_a_missed_question(server, page, measured):
    page.goto(server.address("results", run="sample-knn"))
    drawn(page)
    misses, total = measured["ranks"]["miss"], measured["n"]
    expect(tile(page, "Not in top 50").get_by_test_id("stMetricValue")).to_have_text(str(misses))
    expect(page.get_by_text(f"{total} of {total} questions", exact=True)).to_be_visible()

    click_bar(page, -1)
    page.wait_for_url(has_param("rank", "miss"))
    expect(page.get_by_role("button", name="rank: Not in top 50")).to_be_visible()
    expect(page.get_by_text(f"{misses} of {total} questions", exact=True)).to_be_visible()
    drawn(page)
    expect(page.get_by_role("heading", name="Questions", exact=True)).to_be_in_viewport()
    picture(page, "story-the_misses")
    page.reload()
    expect(page.get_by_text(f"{misses} of {total} questions", exact=True)).to_be_visible()
    drawn(page)

    table = page.get_by_test_id("stDataFrame").last
    wanted, words = cell(table, "Id", 0), cell(table, "Question", 0)
    assert cell(table, "Outcome", 0) == "Not in top 50"
    click_row(page, table, 0)
    page.wait_for_url(has_param("question", wanted))
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text(words)
    drawn(page)
    expect(title).to_be_in_viewport()
    expect(page.get_by_text("not in top 50").first).to_be_visible()
    expect(page.locator("mark.gold").first).to_be_visible()
    page.go_back()
    page.wait_for_url(lacks_param("question"))
    assert param(page, "rank") == "miss"
    drawn(page)
    expect(page.get_by_role("heading", name="Questions", exact=True)).to_be_in_viewport()
    page.get_by_role("button", name="rank: Not in top 50").click()
    page.wait_for_url(lacks_param("rank"))
    expect(page.get_by_text(f"{total} of {total} questions", exact=True)).to_be_visible()


def test_a_tab_stays_open_where_the_tabs_are_others(server, page, measured):
    """A run without answer metrics has no tab Scores."""
    page.goto(server.address("results", run="sample-answered"))
    drawn(page)
    page.get_by_role("tab", name="All metrics").click()
    page.wait_for_url(has_param("tab", "All metrics"))
    for run, tabs in (("sample-knn", 5), ("sample-answered", 6)):
        drawn(page)
        choose(page, "Run", run)
        page.wait_for_url(has_param("run", run))
        expect(page.get_by_role("tab")).to_have_count(tabs)
        expect(page.get_by_role("tab", selected=True)).to_have_text("All metrics")
        expect(page.get_by_role("heading", name="All metrics at k =")).to_be_visible()


@pytest.fixture
def rich(server: Server, measured: dict[str, Any]) -> str:
    """A question with a long reference, whose second claim the last passage and the reference's end support."""
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    run = store.runs.get("sample-answered")
    stored = store.judgements.all(run.id)
    question = max((q for q in store.rankings.questions(run.id) if q.language == "en"), key=lambda q: len(q.answer))
    evaluated = stored[question.id]
    chunks, reference = (
        evaluated.recording.read,
        " ".join([*("The reference says more." for _ in range(40)), "It ends."]),
    )
    last = [Chunk.parse_id(chunk_id) for chunk_id in chunks][-1]
    assert last is not None
    passage = store.documents.get(run.corpus_id, last[0]).text[last[1] : last[2]]
    by_last = (*(ClaimVerdict("absent") for _ in chunks[1:]), ClaimVerdict("supported", len(sentences_of(passage)) - 1))
    text = "One thing is said here. Another thing is said after it."
    matrix = Matrix(
        chunks, (Claim("One thing", 0), Claim("Another thing", 1)), (Claim("It ends.", 40),),
        (tuple(ClaimVerdict("absent") for _ in chunks), by_last), (by_last,),
        (ClaimVerdict("absent"), ClaimVerdict("supported", 40)), (ClaimVerdict("supported", 1),),
    )  # fmt: skip
    longer = schema.Compressed().process_bind_param(schema.question_to_json(replace(question, answer=reference)), None)
    with sqlite3.connect(server.home / "ragviz.db") as database:  # the store never changes what a run asked
        database.execute(
            "UPDATE results SET question = ? WHERE run_id = ? AND question_id = ?", (longer, run.id, question.id)
        )
    database.close()
    changed = replace(evaluated, recording=replace(evaluated.recording, answer=text), matrix=matrix)
    store.judgements.put(run.id, [(changed, answer_metrics.scores(changed, run.config.metrics))])
    return question.id


@pytest.mark.parametrize("width", [1440, 1024])
def test_a_pressed_claim_brings_its_sentence_into_view_in_passage_and_reference(server, page, rich, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(server.address("inspect", run="sample-answered", question=rich))
    drawn(page)
    for name in ("Generated answer", "Reference answer"):
        if width == 1440:
            expect(page.get_by_role("heading", name=name)).to_be_in_viewport()
    page.get_by_role("button", name="2 Another thing").click()
    page.wait_for_url(has_param("claim", "a1"))
    drawn(page)
    expect(page.locator(".st-key-case-reference mark.for").first).to_be_in_viewport()
    expect(page.locator(".st-key-case-answer mark.own").first).to_be_in_viewport()
    picture(page, f"story-a_claim_in_view-{width}")
    page.locator(".st-key-case-answer .rv-jumps a").click()
    expect(page.locator(".st-key-case-ranking mark.for").first).to_be_in_viewport()
    for pane in ("answer", "reference", "evidence", "ranking"):
        overflow = page.locator(f".st-key-case-{pane}").evaluate("box => getComputedStyle(box).overflowY")
        assert overflow == "visible", "a pane does not scroll by itself, and is cut nowhere"
    page.reload()
    drawn(page)
    expect(page.locator("mark.own").first).to_be_attached()
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_files_are_uploaded_and_every_one_is_answered(server, page, measured):
    page.goto(server.address("documents"))
    drawn(page)
    page.get_by_role("button", name="New corpus").click()
    page.get_by_label("Name of the new corpus").fill("notes")
    page.get_by_role("button", name="Create corpus").click()
    page.wait_for_url(has_param("corpus", "notes"))
    expect(page.get_by_text("The documents of notes")).to_be_visible()
    drawn(page)
    files = [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in NOTES.items()]
    page.locator("input[type=file]").first.set_input_files(files)
    page.get_by_role("button", name="Add 2 files").click()
    expect(page.get_by_text("1 of 2 files read")).to_be_visible()
    drawn(page)
    answer = page.get_by_test_id("stMarkdown").filter(has_text="empty.txt")
    expect(answer).to_contain_text("The file is empty")
    table = page.get_by_test_id("stDataFrame").last
    assert [cell(table, "Document", row) for row in (0, 1)] == sorted(NOTES)
    assert [cell(table, "Language", row) for row in (0, 1)] == ["–", "Chinese"]
    assert "empty" in cell(table, "Notes", 0)
    picture(page, "story-the_upload")
    click_row(page, table, 1, across=60)
    page.wait_for_url(has_param("document", "阀门.txt"))
    expect(page.get_by_role("heading", level=1)).to_have_text("阀门.txt")
    expect(page.locator(".rv-text")).to_have_text(NOTES["阀门.txt"].decode())


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()
    drawn(page)


def going_elsewhere(store: Store, corpus: str) -> Job:
    """The row of the job "Build elsewhere", which a process of another machine is doing: pages poll often meanwhile."""
    job = store.jobs.add("questions", "Build elsewhere", store.corpora.get(corpus).id, {"name": "elsewhere"})
    place = {"host": "elsewhere", "heartbeat": time.time() + 3600, "started": time.time()}
    store.jobs.update(job.id, status="running", total=9, unit="chunks", **place)
    return job


class Line:
    """What the server sends to a page, and is held back from `hold` to `release`."""

    def __init__(self, page: Page) -> None:
        self.held: list[str | bytes] = []
        self._holds = False
        self._page = page
        page.route_web_socket("**/_stcore/stream", self._relay)

    def hold(self) -> None:
        self._holds = True

    def pass_on(self, part: bytes) -> None:
        """Wait for a message that holds these bytes, and let it through."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not (found := [each for each in self.held if isinstance(each, bytes) and part in each]):
            assert time.monotonic() < deadline, f"the server did not send {part!r}"
            self._page.wait_for_timeout(20)
        self.held.remove(found[0])
        self._browser_end.send(found[0])

    def release(self) -> None:
        self._holds = False
        for message in self.held:
            self._browser_end.send(message)

    def _relay(self, browser_end: WebSocketRoute) -> None:
        self._browser_end = browser_end
        server_end = browser_end.connect_to_server()
        browser_end.on_message(server_end.send)

        def deliver(message: str | bytes) -> None:
            if self._holds:
                self.held.append(message)
            else:
                browser_end.send(message)

        server_end.on_message(deliver)


def test_the_server_told_of_no_defect(server, measured):
    log = server.log.read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in log, log
    for job in (server.home / "logs").glob("*.log"):
        assert "Traceback" not in job.read_text(encoding="utf-8", errors="replace"), job.name
