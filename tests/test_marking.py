"""Evidence marked in a document with the mouse, in a real browser: the characters are Python's, whatever they are."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.store.store import Store, open_store
from ragviz.ui.unsaved import Draft, put_in, targets_of
from tests.test_browser import Server, browser, choose, drawn, page, picture, server  # noqa: F401  # fixtures are found by their names

PUMPS = (
    "# Pumps 🚰\n\nThe north pump 🛠️👩‍🔧 was <b>replaced</b> in May 2023. It moves 40 litres a minute.\n\n"
    "The south pump was repaired in June 2022. It moves 25 litres a minute and feeds the 𝒖𝒑𝒑𝒆𝒓 tank.\n"
)
VALVES = "北阀门于2021年更换😀。检修周期为三十天。负责人是王芳。"


def test_a_mark_becomes_what_was_chosen():
    one, two, three, gone = (Span("d", n, n + 1, "x") for n in (1, 2, 3, 4))
    draft = Draft()
    assert list(targets_of(draft)) == ["new"]
    for span, target in ((one, "new"), (two, "or 1"), (two, "or 1"), (three, "new"), (three, "new")):
        put_in(draft, span, target)
    assert draft.evidence == ((one, two), (three,))
    draft.groups[0][1] = Span("d", 9, 10, "y", stale=True)
    assert list(targets_of(draft)) == ["for 1.2", "new", "or 1", "or 2"]
    put_in(draft, gone, "for 1.2")
    assert draft.evidence == ((one, gone), (three,))


@pytest.fixture(scope="module")
def notes(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Store:  # noqa: F811
    folder: Path = tmp_path_factory.mktemp("notes")
    for name, text in (("pumps.md", PUMPS), ("阀门.txt", VALVES)):
        (folder / name).write_text(text, encoding="utf-8")
    server.ragviz("corpus", "add", "notes", str(folder))
    return open_store(server.env["RAGVIZ_DATABASE_URL"])


def questions(store: Store, name: str) -> list[Question]:
    return store.questions.all(store.sets.get(name).id)


def text_of(store: Store, name: str) -> str:
    corpus = store.corpora.get("notes")
    info = store.documents.find(corpus.id, name)
    assert info is not None
    return store.documents.get(corpus.id, info.id).text


RECTANGLES = """([first, last]) => {
    const box = document.querySelector(".rv-marking");
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    const place = (units) => {
        for (const node of nodes) { if (units <= node.length) return [node, units]; units -= node.length; }
    };
    const whole = nodes.map((node) => node.data).join("");
    const start = whole.indexOf(first), end = whole.indexOf(last, start) + last.length;
    const range = document.createRange();
    range.setStart(...place(start));
    range.setEnd(...place(end));
    const rectangles = [...range.getClientRects()].filter((each) => each.width > 0);
    rectangles[0].x; // what is in view is marked
    const [from, to] = [rectangles[0], rectangles[rectangles.length - 1]];
    return [from.left + 0.5, from.top + from.height / 2, to.right - 0.5, to.top + to.height / 2];
}"""


def drag(page: Page, first: str, last: str) -> None:  # noqa: F811
    """Mark with the mouse from the beginning of `first` to the end of `last`."""
    box = page.locator(".rv-marking")
    expect(box).to_contain_text(first)
    box.scroll_into_view_if_needed()
    left, top, right, bottom = page.evaluate(RECTANGLES, [first, last])
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()


def fill(page: Page, label: str, words: str) -> None:  # noqa: F811
    page.get_by_label(label, exact=True).fill(words)
    page.get_by_label(label, exact=True).blur()
    drawn(page)


def saved(page: Page, store: Store, name: str) -> Question:  # noqa: F811
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    drawn(page)
    return questions(store, name)[-1]


@pytest.mark.browser
@pytest.mark.timeout(420)
def test_marks_are_the_characters_of_the_text_also_behind_emoji_and_in_chinese(
    server: Server,  # noqa: F811
    page: Page,  # noqa: F811
    notes: Store,
) -> None:
    page.goto(server.address("questions", corpus="notes", tab="Write"))
    drawn(page)
    fill(page, "Question", "How much does the south pump move, and who looks after the valves?")
    choose(page, "Document", "pumps.md")
    drag(page, "It moves 25 litres", "a minute")
    expect(page.locator(".rv-marking mark.gold")).to_have_text("It moves 25 litres a minute")
    drawn(page)
    choose(page, "Use the selection as", "Alternative to passage 1")
    drag(page, "feeds the 𝒖𝒑𝒑𝒆𝒓", "tank")
    expect(page.get_by_text("any one of these alternatives")).to_be_visible()
    drawn(page)
    choose(page, "Use the selection as", "Additional passage")
    choose(page, "Document", "阀门.txt")
    drag(page, "检修周期", "三十天。")
    expect(page.get_by_text("Passage 2 of 2")).to_be_visible()
    drawn(page)
    picture(page, "story-marked")
    question = saved(page, notes, "notes-questions")
    pumps, valves = text_of(notes, "pumps.md"), text_of(notes, "阀门.txt")
    either, chinese = question.evidence
    assert [s.text for s in either] == ["It moves 25 litres a minute", "feeds the 𝒖𝒑𝒑𝒆𝒓 tank"]
    assert [s.text for s in chinese] == ["检修周期为三十天。"]
    for span, text in [*((s, pumps) for s in either), (chinese[0], valves)]:
        assert (span.start, span.end) == (text.index(span.text), text.index(span.text) + len(span.text))
    assert (question.generator, question.status, question.kind) == ("hand", "accepted", "multi")
