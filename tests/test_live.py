"""A server that runs for days, and other processes on the same store: its pages show what is there now, and as text.

Everything is changed through the command line, a process of its own each time; no cache of the server is cleared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from ragviz.store.opening import open_store
from tests.model_server import ModelServer
from tests.test_browser import (
    TITLES,
    Server,
    browser,  # noqa: F401 - a fixture
    drawn,
    page,  # noqa: F401 - a fixture
    serving,
    tile,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

PUMPS = "\n\n".join(f"Pump {n} moves {n * 10} litres a minute and was built in {1990 + n}." for n in range(1, 30))
VALVES = PUMPS.replace("litres a minute", "gallons an hour")
QUESTIONS = [
    {"id": f"q{n}", "question": f"How much does pump {n} move?", "answer": f"{n * 10} litres a minute",
     "document": "pumps.md", "quote": f"Pump {n} moves {n * 10} litres"}
    for n in range(2, 8)
]  # fmt: skip
VALVE = {"id": "v", "question": "Who keeps the valve?", "answer": "Ada", "document": "valve.txt", "quote": "Ada Quill"}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def server(browser: Browser, model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:  # noqa: F811
    """A server on a home with an index, questions, two runs that only rank, and one that is judged badly."""
    folder = tmp_path_factory.mktemp("live")
    configured = {"OPENAI_BASE_URL": model.url, "RAGVIZ_MODEL": "loopback", "RAGVIZ_EMBEDDER": "openai:loopback"}
    with serving(folder, **configured) as started:
        files = {
            "pumps.md": PUMPS,
            "valve.txt": "The valve is kept by Ada Quill.",
            "asked.jsonl": "\n".join(map(json.dumps, [*QUESTIONS, VALVE])),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        started.ragviz("corpus", "add", "notes", str(folder / "pumps.md"), str(folder / "valve.txt"))
        started.ragviz("index", "build", "notes", "--name", "small", "--chunk-size", "30", "--chunker", "sentences")
        started.ragviz("questions", "import", "notes", str(folder / "asked.jsonl"), "--name", "asked")
        run = ["run", "--index", "small", "--questions", "asked", "--retriever", "bm25", "--name"]
        for name in ("one", "two"):
            started.ragviz(*run, name)
        model.fail, model.faults = 1.0, ("malformed",)
        for _ in range(2):  # a judge that gives nothing usable stops the run, and does not where it is told to go on
            judged = started.process(*run, "judged", "--answerer", "extractive", "--metrics", "faithfulness,token_f1")
        model.fail = 0.0
        assert judged.returncode == 1, judged.stderr
        yield started


def test_what_was_judged_again_is_shown(server: Server, page: Page) -> None:  # noqa: F811
    page.goto(server.address("results", run="judged"))
    drawn(page)
    coverage = page.get_by_test_id("stMarkdownContainer").filter(has_text="of 7 scored").first
    expect(coverage).to_contain_text("7 judge errors")
    assert server.ragviz("rejudge", "judged")["failed"] == 0
    page.reload()
    drawn(page)
    expect(coverage).to_contain_text("6 of 7 scored by every measure · 1 abstained: 1 with the evidence in the context")
    expect(page.get_by_text("judge error")).to_have_count(0)


def test_what_a_job_elsewhere_made_is_shown_without_a_click(server: Server, page: Page) -> None:  # noqa: F811
    """The sidebar looks after jobs, and the page is drawn anew when one has ended, however short it was."""
    page.goto(server.address("home", corpus="notes"))
    drawn(page)
    expect(tile(page, "Runs").get_by_test_id("stMetricValue")).to_have_text("3")
    server.ragviz("run", "--index", "small", "--questions", "asked", "--retriever", "bm25", "--name", "three")
    expect(tile(page, "Runs").get_by_test_id("stMetricValue")).to_have_text("4")


def searched(page: Page) -> None:  # noqa: F811
    """Press *Search*, which an address does not do by itself where an endpoint's embedder is asked."""
    drawn(page)
    page.get_by_role("button", name="Search", exact=True).click()
    drawn(page)


def test_a_rebuilt_index_is_searched(server: Server, page: Page, tmp_path: Path) -> None:  # noqa: F811
    link = server.address("index", corpus="notes", index="small", query="How much does pump 7 move?")
    page.goto(link)
    searched(page)
    expect(page.get_by_text("70 litres a minute").first).to_be_visible()
    (tmp_path / "pumps.md").write_text(VALVES, encoding="utf-8")
    server.ragviz("corpus", "add", "notes", str(tmp_path / "pumps.md"), "--replace")
    page.reload()
    searched(page)
    expect(page.get_by_text("70 litres a minute").first).to_be_visible()
    expect(page.get_by_role("button", name="Update: 1 changed")).to_be_visible()
    server.ragviz("index", "build", "notes", "--name", "small", "--chunk-size", "30", "--chunker", "sentences")
    page.reload()
    searched(page)
    expect(page.get_by_text("70 gallons an hour").first).to_be_visible()
    expect(page.get_by_text("70 litres a minute")).to_have_count(0)


def accepted(server: Server) -> int:
    """How many questions of the set are accepted: those whose evidence is gone are set aside."""
    return sum(question["status"] == "accepted" for question in server.ragviz("questions", "show", "asked"))


def test_what_became_of_documents_questions_and_runs_is_shown(server: Server, page: Page) -> None:  # noqa: F811
    page.goto(server.address("results", run="one"))
    drawn(page)
    documents, questions = (page.get_by_test_id("stDataFrame").nth(place) for place in (0, -1))
    expect(documents.get_by_text("valve.txt")).not_to_have_count(0)
    page.goto(server.address("questions", set="asked"))
    drawn(page)
    expect(tile(page, "Accepted").get_by_test_id("stMetricValue")).to_have_text(str(accepted(server)))
    page.goto(server.address("compare", runs="one,two,three"))
    drawn(page)
    assert server.process("corpus", "remove", "notes", "valve.txt", "--yes").returncode == 0
    assert server.process("questions", "review", "asked", "q2", "--reject").returncode == 0
    assert server.process("runs", "delete", "two", "--yes").returncode == 0
    page.reload()
    drawn(page)
    expect(page.get_by_text("There is no run called “two” here.")).to_be_visible()
    page.goto(server.address("questions", set="asked"))
    drawn(page)
    statuses = {question["id"]: question["status"] for question in server.ragviz("questions", "show", "asked")}
    assert (statuses["q2"], statuses["v"]) == ("rejected", "quarantined")
    expect(tile(page, "Accepted").get_by_test_id("stMetricValue")).to_have_text(str(accepted(server)))
    expect(tile(page, "Questions").first).to_contain_text("with stale evidence")
    page.goto(server.address("results", run="one"))
    drawn(page)
    for table in (documents, questions):
        expect(table.get_by_text("valve.txt (removed since)")).not_to_have_count(0)
        expect(table.get_by_text("valve.txt", exact=True)).to_have_count(0)


# What others wrote is text


HOSTILE = "[a](https:∕∕evil.example) www.evil.example x@evil.example :material_home: :smile: $x$ `c` a -> b <b>"
"""A name that a file can have; what is more, names of the rest may have a slash."""
WORSE = HOSTILE.replace("∕", "/").replace("_home", "/home")


@pytest.fixture(scope="module")
def hostile(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A corpus all of whose names and texts are full of markup, and a job that failed with such an error."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / f"{HOSTILE}.md").write_text(f"{PUMPS}\n\n{WORSE}", encoding="utf-8")
    file = folder.parent / "hostile.jsonl"
    row = {"id": "h", "question": WORSE, "answer": WORSE, "document": f"{HOSTILE}.md", "quote": "Pump 2 moves"}
    file.write_text(json.dumps(row | {"generator": WORSE}), encoding="utf-8")
    server.ragviz("corpus", "add", WORSE, str(folder))
    server.ragviz("index", "build", WORSE, "--name", WORSE)
    server.ragviz("questions", "import", WORSE, str(file), "--name", WORSE)
    for name in (WORSE, f"{WORSE} 2"):
        made = ("--index", WORSE, "--questions", WORSE, "--name", name, "--retriever", "bm25")
        server.ragviz("run", *made, "--answerer", "extractive", "--metrics", "token_f1")
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    job = store.jobs.add("run", f"Run {WORSE}", store.corpora.get(WORSE).id, {"name": WORSE})
    store.jobs.update(job.id, status="failed", error=WORSE, finished=time.time())
    going = store.jobs.add("index", f"Build {WORSE}", store.corpora.get(WORSE).id, {})
    place = {"host": "elsewhere", "heartbeat": time.time() + 3600, "started": time.time()}
    store.jobs.update(going.id, status="running", total=9, unit="chunks", message=WORSE, **place)
    return WORSE


VIEWS: list[tuple[str, dict[str, str]]] = [
    *((name, {}) for name in TITLES),
    ("documents", {"document": f"{HOSTILE}.md"}),
    ("index", {"query": WORSE}),
    ("index", {"tab": "New index"}),
    ("questions", {"in-table": "true"}),
    ("results", {"run": WORSE, "document": f"{HOSTILE}.md", "find": WORSE[:5]}),
    ("results", {"run": WORSE, "question": "h", "view": "ranking"}),
    ("results", {"run": "<https://evil.example>"}),
    ("compare", {"question": "h"}),
]


@pytest.mark.parametrize(("name", "params"), VIEWS, ids=lambda part: part if isinstance(part, str) else "-".join(part))
def test_names_and_errors_are_text_wherever_they_stand(
    server: Server,
    page: Page,  # noqa: F811
    hostile: str,
    name: str,
    params: dict[str, str],
) -> None:
    """No link, picture, emoji or formula is made of them, and every character can be read."""
    page.goto(server.address(name, **{"corpus": hostile} | params))
    drawn(page)
    text = page.locator("body").inner_text().replace("\u200b", "")
    assert hostile in text, "the failed job tells its title and its error on every page"
    assert text.count(f"Build {hostile}") == 1
    assert [line for line in text.split("\n") if "😄" in line or "𝑥" in line or "a → b" in line] == []
    hosts = page.evaluate("[...document.querySelectorAll('a')].map(link => link.host)")
    assert set(hosts) <= {urlsplit(server.url).netloc}
    pictures = page.locator("[data-testid=stMain] img").evaluate_all("all => all.map(each => each.src)")
    assert page.locator(".katex").count() == 0
    assert all(src.startswith("data:image/svg+xml;base64,") for src in pictures), "the lines between two rankings alone"
