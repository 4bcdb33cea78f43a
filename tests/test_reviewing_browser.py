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


def test_questions_are_decided_on_by_keys(server: Server, page: Page) -> None:  # noqa: F811
    page.goto(server.address("questions", set="asked", tab="Review"))
    drawn(page)
    for key, following in (("a", 2), ("x", 3)):
        page.keyboard.press(key)
        expect(page.get_by_role("strong").filter(has_text=f"How much does pump {following} move?")).to_be_visible()
        drawn(page)
    assert [status(server, question) for question in ("q01", "q02", "q03")] == ["accepted", "rejected", "proposed"]


def mark(page: Page, words: str) -> None:  # noqa: F811
    """Select words of the document with the mouse, as a person marks evidence."""
    box = page.get_by_role("document", name="Text of the document")
    expect(box).to_contain_text(words)
    left, right, middle = box.evaluate(
        """(box, words) => {
            const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
            while (nodes.nextNode()) {
                const at = nodes.currentNode.data.indexOf(words);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(nodes.currentNode, at);
                range.setEnd(nodes.currentNode, at + words.length);
                const { left, right, top, height } = range.getBoundingClientRect();
                return [left, right, top + height / 2];
            }
        }""",
        words,
    )
    page.mouse.move(left + 1, middle)
    page.mouse.down()
    page.mouse.move((left + right) / 2, middle, steps=4)
    page.mouse.move(right - 1, middle, steps=4)
    page.mouse.up()
    drawn(page)


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("How much do both first pumps and the last one move?", {"pumps.md": [f"Pump {n} moves" for n in (1, 2, 12)]}),
        (
            "水库的坝高、鱼道和隧洞各长多少？",
            {"坝.md": ["坝高62米"], "鱼道.md": ["鱼道长410米"], "隧洞.md": ["全长2.3公里"]},
        ),
    ],
    ids=["en", "zh"],
)
def test_a_question_of_three_passages_is_written_by_marking_them(
    server: Server,  # noqa: F811
    page: Page,  # noqa: F811
    tmp_path: Path,
    question: str,
    documents: dict[str, list[str]],
) -> None:
    for name, places in documents.items():
        if name != "pumps.md":
            (tmp_path / name).write_text(f"# 说明\n\n水库的资料：{places[0]}，由水务所管理。", encoding="utf-8")
            server.ragviz("corpus", "add", "notes", str(tmp_path / name))
    page.set_viewport_size({"width": 1440, "height": 1800})
    page.goto(server.address("questions", set="asked", tab="Write"))
    drawn(page)
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_label("Answer", exact=True).fill("62")
    page.keyboard.press("Tab")
    drawn(page)
    marked = 0
    for name, places in documents.items():
        page.get_by_role("combobox", name="Document").click()
        page.get_by_role("option", name=name, exact=True).click()
        drawn(page)
        for place in places:
            mark(page, place)
            marked += 1
            expect(page.get_by_text(f"Passage {marked}{f' of {marked}, all needed' * (marked > 1)}")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(has_param("tab", "Review"))
    drawn(page)
    [saved] = [q for q in server.ragviz("questions", "show", "asked") if q["text"] == question]
    assert [[span["text"] for span in group] for group in saved["evidence"]] == [
        [place] for places in documents.values() for place in places
    ]
    for n in (1, 2, 3):  # all of the evidence is seen beside the question, without scrolling within it
        expect(page.get_by_text(f"Passage {n} of 3")).to_be_visible()
    picture(page, f"questions-three-passages-{saved['language']}")
