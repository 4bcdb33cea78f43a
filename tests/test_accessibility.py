"""Every page and the cases that open within, against axe (WCAG 2.2 AA), in both themes, at two widths, as pictures."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from ragviz import sample
from ragviz.ui import frame
from tests.test_browser import Server, browser, drawn, picture, settled, show_all

__all__ = ["browser"]  # the fixture
pytestmark = pytest.mark.browser

RUN, RUNS = {"run": "sample-answered"}, {"runs": "sample-hybrid,sample-answered"}
SEVERAL = {"question": "5b78b3206f2abb8d"}  # needs several passages
VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    **{page: (page, {}) for section in frame.NAVIGATION.values() for page in section},
    "documents-one": ("documents", {"document": "visiting-observers-zh.docx"}),
    "index-new": ("index", {"tab": "New index"}),
    "questions-generate": ("questions", {"tab": "Generate"}),
    "results-misses": ("results", {"run": "sample-knn", "rank": "miss"}),
    **{
        f"results-{tab}": ("results", RUN | {"tab": tab})
        for tab in ("Scores", "RAGQuestEval", "All metrics", "What if")
    },
    "inspect-ranking": ("inspect", {"run": "sample-knn"} | SEVERAL),
    "inspect-claim": ("inspect", RUN | SEVERAL | {"claim": "r0"}),
    **{f"inspect-{tab}": ("inspect", RUN | {"tab": tab}) for tab in ("RAGQuestEval", "Judge calls")},
    "inspect-both": ("inspect", RUNS | SEVERAL),
    "compare-answered": ("compare", RUNS),
}
"""Name of the picture → the page and the parameters of its address."""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
BROWSERS_OWN = {"scrollable-region-focusable": {"enabled": False}}  # Chromium focuses what scrolls
CHECKED = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}, "rules": BROWSERS_OWN}
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
    result = Axe().run(page, context={"exclude": STREAMLITS_OWN}, options=options)
    return [
        f"{violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for violation in result.response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("name", VIEWS)
def test_axe_has_no_objection_and_the_page_fits(page: Page, sample_server: Server, name: str):
    opened, parameters = VIEWS[name]
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(sample_server.address(opened, **{"corpus": sample.NAME} | parameters))
    drawn(page)
    settled(page)
    assert objections(page, CHECKED) == []
    assert page.locator("h1:visible").count() == 1
    show_all(page, 1440)
    picture(page, f"{name}-1440-light")
    page.emulate_media(color_scheme="dark")
    background = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    page.wait_for_function(f"{background} === 'rgb(17, 22, 29)'")
    show_all(page, 1024)
    assert objections(page, CONTRAST) == []
    picture(page, f"{name}-1024-dark")
