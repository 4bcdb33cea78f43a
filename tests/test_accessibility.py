"""Every page, in both themes, against axe (WCAG 2.2 AA and its best practices), and at 1024 pixels of width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from ragviz.ui import frame
from tests.test_browser import Server, browser, drawn, settled, sound

__all__ = ["browser"]  # the fixture
pytestmark = pytest.mark.browser

RUN = "sample-answered"
PAGES = [
    *((page, "") for section in frame.NAVIGATION.values() for page in section),
    ("questions", "Split"),
    *(("inspect", tab) for tab in ("Case", "RAGQuestEval", "Judge calls")),
    *(("results", tab) for tab in ("Scores", "RAGQuestEval", "All metrics", "What if")),
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CHECKED = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
CONTRAST = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
STREAMLITS_OWN = [
    ["[data-testid=stFileUploaderDropzone]"],  # a section with the roles of a presentation and of a drop zone
    ["[data-testid=stMultiSelect]"],  # its crosses are 20 pixels wide
]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_default_timeout(90_000)
    yield context.new_page()
    context.close()


def objections(page: Page, options: dict[str, Any]) -> list[str]:
    """Return what axe objects to, and where."""
    result = Axe().run(page, context={"exclude": STREAMLITS_OWN}, options=options)
    return [
        f"{violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for violation in result.response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(("name", "tab"), PAGES)
def test_axe_has_no_objection(page: Page, sample_server: Server, name: str, tab: str):
    parameters = {"run": RUN} if name in ("results", "inspect") else {}
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(sample_server.address(name, **parameters | ({"tab": tab} if tab else {})))
    drawn(page)
    settled(page)
    assert objections(page, CHECKED) == []
    assert page.locator("h1:visible").count() == 1
    page.emulate_media(color_scheme="dark")
    background = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    page.wait_for_function(f"{background} === 'rgb(17, 22, 29)'")
    settled(page)
    assert objections(page, CONTRAST) == []
    page.set_viewport_size({"width": 1024, "height": 900})
    settled(page)
    sound(page)
