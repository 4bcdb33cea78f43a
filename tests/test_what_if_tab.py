"""The tab *What if* of the results: its numbers are the library's, its choices stand in the address."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.analysis.what_if import METRICS, Choices
from ragviz.runs import what_if_of_run
from ragviz.ui import what_if_tab
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
