"""The tab *What if* of the results: its numbers are the library's, its choices stand in the address."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.analysis.what_if import METRICS, Choices
from ragviz.core.configuration import RunConfig
from ragviz.core.job import NewJob
from ragviz.runs import running, searched_again, what_if_of_run
from ragviz.ui import job_panel, what_if_tab
from ragviz.workspace import open_workspace
from tests.test_pages import address, built, checked, home, show, words  # noqa: F401 - fixtures among them

pytestmark = pytest.mark.usefixtures("home")
TAB = what_if_tab.NAME


def tiles(app: AppTest) -> dict[str, tuple[str, str]]:
    """Return value and note of the tiles of the tab, by metric: they come last."""
    titles = {
        title.replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓"): name for name, title in what_if_tab.TITLES.items()
    }
    return {titles[tile.label]: (tile.value, tile.delta) for tile in app.metric if tile.label in titles}


def expected(run: str, choices: Choices, constant: int | None = None) -> dict[str, tuple[str, str]]:
    workspace = open_workspace()
    stored = what_if_of_run.stored_of(workspace, workspace.store.runs.get(run))
    shown = {}
    for name, effect in what_if_of_run.effects(stored, choices, constant).items():
        digits = 0 if name == "tokens" else 2
        note = f"{what_if_of_run.difference_words(effect, digits)} from {effect.own.mean:,.{digits}f}"
        shown[name] = (
            f"{effect.other.mean:,.{digits}f}",
            note if effect.own.mean != effect.other.mean else "as the run",
        )
    return shown


def test_the_choices_of_the_address_are_measured() -> None:
    app = show("results", run="vectors", tab=TAB, **{"if-k": "1", "if-budget": "100"})
    assert tiles(app) == expected("vectors", Choices(1, None, 100))
    assert set(tiles(app)) == set(METRICS)
    assert tiles(app)["tokens"][1] != "as the run"
    own = show("results", run="vectors", tab=TAB)
    assert {note for _, note in tiles(own).values()} == {"as the run"}
    assert "Back to the run's own choices" not in words(own)


def made_by(app: AppTest) -> dict[str, str]:
    """Return the parameters of the page Run that *Make this run* opens, without the corpus; {} without the link."""
    links = [each.proto for each in app.get("page_link") if "Make this run" in each.proto.label]
    return {name: value for link in links for name, value in parse_qsl(link.query_string) if name != "corpus"}


def test_another_constant_needs_both_rankings_which_a_job_searches_for(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = open_workspace()
    running.run(workspace, "both", RunConfig("small", "asked", "hybrid", depth=20))
    run = workspace.store.runs.get("both")
    app = show("results", run="both", tab=TAB)
    assert "if-constant" not in [slider.key for slider in app.select_slider]
    submitted: list[tuple[object, ...]] = []
    monkeypatch.setattr(job_panel, "submit", lambda *job: submitted.append(job))
    app.button(key="search-both").click()
    checked(app.run())
    assert submitted == [("search-both", NewJob("search", "Search again for both", run.corpus_id, {"run": run.id}))]
    searched_again.search_again(workspace, run)  # what the job does
    checked(app.run())
    assert "search-both" not in [button.key for button in app.button]
    app.select_slider(key="if-constant").set_value(0)
    checked(app.run())
    assert address(app)["if-constant"] == "0"
    assert tiles(app) == expected("both", Choices(3), 0)
    assert made_by(app) == {"preset": "both", "index": "small", "set": "asked", "k": "3", "rrf_constant": "0"}
    page = show("run", **made_by(app))
    assert {field.label: field.value for field in page.number_input}["RRF constant"] == 0
    assert "Changed from both: RRF constant." in words(page)


def test_risk_is_that_of_the_library() -> None:
    app = show("results", run="words", tab=TAB, k="1", risk="20", confidence="margin")
    shown = re.sub(r"\\", "", words(app))
    assert "count as wrong, as their evidence is not all among the first 1, 1 unanswerable ones" in shown
    assert "1 unanswerable ones" in shown
