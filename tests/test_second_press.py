"""Presses in a real browser: keys; a second press, by one person or by two at once; one that meets a late poll."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

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


def press_at(pages: Sequence[Page], label: str, delays: Sequence[float]) -> None:
    """Click the button of every page at the same moment, and again after these delays, in milliseconds."""
    moment = time.time() * 1000 + 1500
    for shown in pages:
        shown.evaluate(
            """([label, moments]) => {
                const named = () => [...document.querySelectorAll("[data-testid=stMain] button")]
                    .find((button) => button.innerText.trim() === label);
                for (const moment of moments) setTimeout(() => named()?.click(), moment - Date.now());
            }""",
            [label, [moment + delay for delay in delays]],
        )


BUTTONS = {
    "index": ("Build index", {"tab": "New index", "embedder": "none"}),
    "run": ("Run", {"index": "words", "set": "asked"}),
}
"""Kind of job, which is the page's name too → the button that starts it, and the address."""


def shown_page(server: Server, page: Page, kind: str, size: str) -> str:  # noqa: F811
    """Open the page with choices that no test has used; return the label of its button."""
    label, params = BUTTONS[kind]
    page.goto(server.address(kind, corpus="notes", **params, **{"k" if kind == "run" else "chunk_size": size}))
    drawn(page)
    expect(page.get_by_role("button", name=label, exact=True)).to_be_enabled()
    return label


def test_a_double_click_starts_one_job(server: Server, page: Page) -> None:  # noqa: F811
    before = len(open_store(server.env["RAGVIZ_DATABASE_URL"]).jobs.all())
    label = shown_page(server, page, "index", "41")
    page.get_by_role("button", name=label, exact=True).dblclick()
    [job] = ended_jobs(server, before)
    assert (job.kind, job.status) == ("index", "done"), job.error
    drawn(page)


@pytest.mark.parametrize("kind", BUTTONS)
def test_two_who_press_at_once_start_one_job(
    server: Server,
    browser: Browser,  # noqa: F811
    page: Page,  # noqa: F811
    kind: str,
) -> None:
    before = len(open_store(server.env["RAGVIZ_DATABASE_URL"]).jobs.all())
    another = visitors(browser).new_page()
    [label] = {shown_page(server, shown, kind, "43") for shown in (page, another)}
    press_at([page, another], label, [0])
    [job] = ended_jobs(server, before)
    assert (job.kind, job.status) == (kind, "done"), job.error
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


def reference_only(page: Page, server: Server, name: str) -> None:  # noqa: F811
    """Open the tab Import, with a file of one question without evidence chosen."""
    page.goto(server.address("questions", corpus="notes", set="asked", tab="Import"))
    drawn(page)
    field = page.get_by_label("Set name")
    if name:
        field.fill(name)
    row = {"question": "How fast is pump 9?", "answer": "Pump 9 moves 90 litres"}
    file = {"name": "row.jsonl", "mimeType": "application/json", "buffer": json.dumps(row).encode()}
    page.locator("input[type=file]").first.set_input_files([file])
    expect(page.get_by_text("row.jsonl")).to_be_visible()
    drawn(page)


def test_a_late_poll_does_not_open_the_tab_that_was_left(server: Server, page: Page) -> None:  # noqa: F811
    """A poll is sent when the browser has the new address, and not yet the tab that belongs to it."""
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    going = going_elsewhere(store, "notes")
    line = Line(page)
    reference_only(page, server, "late")
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
