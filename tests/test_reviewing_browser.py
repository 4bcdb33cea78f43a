"""Questions reviewed by keys in a real browser, while another process edits the same set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.test_browser import (  # noqa: F401  # fixtures are found by their names
    Server,
    browser,
    cell,
    drawn,
    has_param,
    page,
    picture,
    server,
    show_all,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

PUMPS = "\n\n".join(f"Pump {n} moves {n * 10} litres a minute." for n in range(1, 13))


@pytest.fixture(scope="module", autouse=True)
def asked(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:  # noqa: F811
    folder: Path = tmp_path_factory.mktemp("pumps")
    rows = [
        {"id": f"q{n:02}", "question": f"How much does pump {n} move?", "answer": f"{n * 10} litres a minute"}
        | {"document": "pumps.md", "quote": f"Pump {n} moves", "status": "proposed", "type": "number"}
        for n in range(1, 13)
    ]
    (folder / "pumps.md").write_text(PUMPS, encoding="utf-8")
    (folder / "asked.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    server.ragviz("corpus", "add", "notes", str(folder / "pumps.md"))
    server.ragviz("questions", "import", "notes", str(folder / "asked.jsonl"), "--name", "asked")


def status(server: Server, question: str) -> str:  # noqa: F811
    return next(q["status"] for q in server.ragviz("questions", "show", "asked") if q["id"] == question)


def test_a_sample_is_assigned_and_judged_by_keys(server: Server, page: Page) -> None:  # noqa: F811
    page.goto(server.address("questions", set="asked", tab="Reviewers"))
    drawn(page)
    page.get_by_label("Reviewer", exact=True).fill("Ann")
    page.get_by_label("Questions", exact=True).fill("4")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_role("button", name="Review them")).to_be_visible()
    drawn(page)
    page.get_by_label("Your name", exact=True).fill("Ann")
    page.get_by_label("Your name", exact=True).press("Enter")
    drawn(page)
    picture(page, "questions-reviewers")
    page.get_by_role("button", name="Review them").click()
    page.wait_for_url(has_param("reviewer", "Ann"))
    drawn(page)
    expect(page.get_by_text("4 of 12 questions")).to_be_visible()
    waiting = server.ragviz("questions", "reviewers", "asked")["reviewers"][0]["waiting"]
    assert waiting == 4
    for key, left in (("a", 3), ("x", 2), ("u", 1)):
        page.keyboard.press(key)
        expect(page.get_by_text(f"{left} of 12 question")).to_be_visible()
        drawn(page)
    [ann] = server.ragviz("questions", "reviewers", "asked")["reviewers"]
    assert (ann["accept"], ann["reject"], ann["unsure"], ann["waiting"]) == (1, 1, 1, 1)


def test_what_another_process_edits_is_a_version_and_is_taken_back(server: Server, page: Page) -> None:  # noqa: F811
    page.goto(server.address("questions", set="asked", tab="Versions"))
    drawn(page)
    before = server.ragviz("questions", "versions", "asked")[0]["version"]
    server.ragviz("questions", "edit", "asked", "q12", "--question", "How many litres does pump 12 move?")
    page.reload()
    drawn(page)
    listed = page.get_by_test_id("stDataFrame").first
    assert cell(listed, "Version", 0) == str(before + 1)
    assert cell(listed, "What", 0) == "edited a question"
    expect(page.get_by_test_id("stHtml").filter(has_text="How many litres does pump 12 move?")).to_be_visible()
    show_all(page, 1024)
    picture(page, "questions-versions-1024")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text(f"Version {before + 2}")).to_be_visible()
    texts = {q["id"]: q["text"] for q in server.ragviz("questions", "show", "asked")}
    assert texts["q12"] == "How much does pump 12 move?"
