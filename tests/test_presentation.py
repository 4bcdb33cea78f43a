"""Presentation mode and the reports of the pages, on the sample, without a key, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.test_browser import browser, drawn, param

__all__ = ["browser"]  # the fixture
pytestmark = pytest.mark.browser

PATH = [
    ("experiment", "The answer", "Leaderboard"),
    ("results", "Where answers are lost", "Rank histogram"),
    ("results", "What would rescue them", "What would rescue them"),
    ("compare", "The comparison", "Leaderboard"),
    ("inspect", "One question", "Reference answer"),
    ("experiment", "What to do", "Ship"),
]
"""Page, step, and a heading on it."""
EDITABLE = """[...document.querySelectorAll('input, textarea, select, button, a[href], [contenteditable=true]')].filter(
  e => e.checkVisibility() && e.getBoundingClientRect().width > 1 && getComputedStyle(e).pointerEvents !== 'none')
  .map(e => e.innerText || e.getAttribute('aria-label') || e.outerHTML)"""
HARMLESS = ("Back", "Next", "Leave", "Help", "Download plot as a PNG", "★ evidence at rank")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_default_timeout(90_000)
    yield context.new_page()
    context.close()


def arrived(page: Page, place: int) -> None:
    name, step, heading = PATH[place]
    bar = page.locator(".st-key-presentation")
    expect(bar.locator("strong")).to_have_text(step)
    expect(page.get_by_role("heading", name=heading, exact=False).first).to_be_visible()
    drawn(page)
    expect(page.locator("[data-testid=stSidebar]")).to_be_hidden()
    assert page.url.split("?")[0].endswith(f"/{name}")
    assert param(page, "present") == "1"
    live = [words for words in page.evaluate(EDITABLE) if not words.startswith(HARMLESS)]
    assert live == []


def test_the_path_is_walked_with_the_arrow_keys_and_nothing_can_be_changed(sample_server, page):
    page.goto(sample_server.address("home", present="1"))
    arrived(page, 0)
    for place in range(1, len(PATH)):
        page.keyboard.press("ArrowRight")
        arrived(page, place)
        if place == 2:
            expect(page.get_by_role("heading", name="What would rescue them")).to_be_in_viewport()
            expect(page.get_by_role("button", name="Make run", include_hidden=True)).to_have_count(0)
        if PATH[place][0] == "compare":
            names = param(page, "runs").split(",")
        if PATH[place][0] == "inspect":
            told = sample_server.ragviz("compare", *names)["questions"][names[1]]
            assert param(page, "question") == told["won"][0]
    expect(page.get_by_text("On test, once:")).to_be_visible()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") > 18
    page.keyboard.press("ArrowLeft")
    arrived(page, len(PATH) - 2)
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".st-key-presentation")).to_have_count(0)
    expect(page.locator("[data-testid=stSidebar]")).to_be_visible()
    assert param(page, "present") is None
    assert page.url.split("?")[0].endswith("/inspect")
