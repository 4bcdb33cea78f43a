"""Presses in a real browser: keys; a second press, by one person or by two at once; one that meets a late poll."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from ragviz.core.job import Job
from ragviz.jobs.queue import ACTIVE
from ragviz.store.store import open_store
from tests.test_browser import (
    Line,
    Server,
    browser,  # noqa: F401 - a fixture
    drawn,
    going_elsewhere,
    has_param,
    page,  # noqa: F401 - a fixture
    serving,
    tile,
    visitors,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

PUMPS = "\n\n".join(f"Pump {n} moves {n * 10} litres a minute and was built in {1990 + n}." for n in range(1, 30))
ASKED = [
    {"id": f"q{n}", "question": f"How much does pump {n} move?", "answer": f"{n * 10} litres", "document": "pumps.md",
     "quote": f"Pump {n} moves {n * 10} litres"}
    for n in range(2, 8)
]  # fmt: skip


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:  # noqa: F811
    """A server on a home with an index that needs no model, and questions."""
    folder = tmp_path_factory.mktemp("pressed")
    with serving(folder) as started:
        (folder / "pumps.md").write_text(PUMPS, encoding="utf-8")
        (folder / "asked.jsonl").write_text("\n".join(map(json.dumps, ASKED)), encoding="utf-8")
        started.ragviz("corpus", "add", "notes", str(folder / "pumps.md"))
        started.ragviz("index", "build", "notes", "--name", "words", "--chunk-size", "30", "--embedder", "none")
        started.ragviz("questions", "import", "notes", str(folder / "asked.jsonl"), "--name", "asked")
        yield started


def ended_jobs(server: Server, before: int) -> list[Job]:
    """The jobs beyond the first `before`, once at least one has begun, all have ended, and no other comes."""
    store, deadline = open_store(server.env["RAGVIZ_DATABASE_URL"]), time.monotonic() + 90
    while time.monotonic() < deadline:
        started = store.jobs.all()[: len(store.jobs.all()) - before]
        if started and not any(job.status in ACTIVE for job in started):
            time.sleep(3)  # a press that is still on its way
            return store.jobs.all()[: len(store.jobs.all()) - before]
        time.sleep(0.2)
    raise AssertionError(f"no job came to its end: {started}")


PRESS_AT = """(moment) => {
    const build = () => [...document.querySelectorAll("[data-testid=stMain] button")]
        .find((button) => button.innerText.trim() === "Build index");
    setTimeout(() => build()?.click(), moment - Date.now());
}"""


def to_build(server: Server, page: Page, size: str) -> Locator:  # noqa: F811
    """Open the form of a new index with a size that no test has used; return the button that builds it."""
    page.goto(server.address("index", corpus="notes", tab="New index", embedder="none", chunk_size=size))
    drawn(page)
    build = page.get_by_role("button", name="Build index", exact=True)
    expect(build).to_be_enabled()
    return build


def test_a_double_click_starts_one_job(server: Server, page: Page) -> None:  # noqa: F811
    before = len(open_store(server.env["RAGVIZ_DATABASE_URL"]).jobs.all())
    to_build(server, page, "41").dblclick()
    [job] = ended_jobs(server, before)
    assert (job.kind, job.status) == ("index", "done"), job.error
    drawn(page)


def test_two_who_press_at_once_start_one_job(server: Server, browser: Browser, page: Page) -> None:  # noqa: F811
    before = len(open_store(server.env["RAGVIZ_DATABASE_URL"]).jobs.all())
    another = visitors(browser).new_page()
    for shown in (page, another):
        to_build(server, shown, "43")
    moment = time.time() * 1000 + 1500
    for shown in (page, another):
        shown.evaluate(PRESS_AT, moment)
    [job] = ended_jobs(server, before)
    assert (job.kind, job.status) == ("index", "done"), job.error
    for shown in (page, another):
        drawn(shown)
    another.close()


def test_questions_are_decided_on_by_keys(server: Server, page: Page) -> None:  # noqa: F811
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    proposed = store.sets.add(store.corpora.get("notes").id, "proposed")
    asked = store.questions.all(store.sets.get("asked").id)
    store.questions.put(proposed.id, [replace(each, status="proposed") for each in asked])
    page.goto(server.address("questions", set="proposed", tab="Review"))
    drawn(page)
    for key, following in (("a", asked[1]), ("x", asked[2])):
        page.keyboard.press(key)
        expect(page.get_by_role("strong").filter(has_text=following.text)).to_be_visible()
        drawn(page)
    statuses = [each.status for each in store.questions.all(proposed.id)]
    assert statuses == ["accepted", "rejected", *["proposed"] * (len(asked) - 2)]


def test_a_late_poll_does_not_open_the_tab_that_was_left(server: Server, page: Page) -> None:  # noqa: F811
    """A poll is sent when the browser has the new address, and not yet the tab that belongs to it."""
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    going = going_elsewhere(store, "notes")
    line = Line(page)
    page.goto(server.address("questions", corpus="notes", set="asked", tab="Import"))
    drawn(page)
    page.get_by_label("Set name").fill("late")
    row = {"question": "How fast is pump 9?", "answer": "Pump 9 moves 90 litres"}  # without evidence
    file = {"name": "row.jsonl", "mimeType": "application/json", "buffer": json.dumps(row).encode()}
    page.locator("input[type=file]").first.set_input_files([file])
    expect(page.get_by_text("row.jsonl")).to_be_visible()
    drawn(page)
    page.get_by_role("button", name="Import", exact=True).click()
    find = page.get_by_role("button", name="Find their evidence in the documents")
    expect(find).to_be_visible()
    drawn(page)
    page.get_by_role("tab", name="Write").click()
    page.wait_for_url(has_param("tab", "Write"))
    drawn(page)
    line.hold()
    find.click()
    line.pass_on(b"tab=Find+evidence")
    page.wait_for_timeout(4500)  # two polls
    assert not any(b"tab=Write" in message for message in line.held if isinstance(message, bytes)), "set back"
    line.release()
    accept = page.get_by_role("button", name="Accept all 1 exact")
    expect(accept).to_be_visible()
    drawn(page)
    assert has_param("tab", "Find evidence")(page.url)
    accept.click()
    expect(page.get_by_text("Evidence accepted for 1 question.")).to_be_visible()
    drawn(page)
    expect(tile(page, "With evidence")).to_contain_text("1 one passage")
    store.jobs.update(going.id, status="done", finished=time.time())


def test_a_link_within_the_page_is_in_the_address(server: Server, page: Page) -> None:  # noqa: F811
    """Else the next press on the tab that the link opened carries the tab that was left, and goes back there."""
    page.goto(server.address("questions", corpus="notes", set="asked", tab="Find evidence"))
    drawn(page)
    page.get_by_role("link", name="Write a question and mark its evidence").click()
    page.wait_for_url(has_param("tab", "Write"))
    drawn(page)
    page.get_by_label("Question", exact=True).fill("How much does pump 9 move?")
    page.get_by_label("Question", exact=True).blur()
    drawn(page)
    expect(page.get_by_role("tab", selected=True)).to_have_text("Write")
