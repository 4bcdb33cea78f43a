"""Details of pages that a newcomer stumbled over, as Streamlit runs them."""

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from ragviz.core.question import Question
from ragviz.core.question_set import Edit
from ragviz.health import synthetic
from ragviz.ui import generation_tab
from ragviz.workspace import open_workspace
from tests.test_pages import address, bare, built, button, checked, home, show  # noqa: F401  # fixtures


def forms(app: AppTest) -> dict[str, bool]:
    """Return the forms that are drawn → whether Enter in one of their fields submits them."""
    found: dict[str, bool] = {}

    def walk(block: object) -> None:
        proto = getattr(block, "proto", None)
        if proto is not None and hasattr(proto, "form") and proto.form.form_id:
            found[proto.form.form_id] = proto.form.enter_to_submit
        for child in getattr(block, "children", {}).values():
            walk(child)

    walk(app.main)
    return found


def test_enter_in_a_number_does_not_start_a_generation(home: Path) -> None:  # noqa: F811
    assert forms(show("questions", tab="Generate"))["generate"] is False


def test_the_first_generation_stays_on_its_tab(home: Path) -> None:  # noqa: F811
    """The set it makes brings other tabs, of which Generate is not the first."""
    store = open_workspace().store
    corpus = store.indexes.get("small").corpus_id
    for question_set in store.sets.all(corpus):
        store.sets.delete(question_set.id)
    app = show("questions", index="small")
    assert app.tabs[0].label == "Generate"
    button(app, "Generate").click()
    app = checked(app.run())
    assert "Review" in [tab.label for tab in app.tabs]
    assert address(app)["tab"] == "Generate"
    assert button(app, "Generating…").disabled


@pytest.mark.parametrize(("dollars", "said"), [(0.0, "3 model calls"), (0.25, "3 model calls, $0.25 paid")])
def test_calls_without_a_known_price_are_not_called_free(home: Path, dollars: float, said: str) -> None:  # noqa: F811
    store = open_workspace().store
    store.payments.add(store.sets.get("asked").id, 3, dollars)
    [tile] = [metric for metric in show("questions", set="asked").metric if metric.label == "Questions"]
    assert tile.delta.replace("\\", "").split(" · ")[-1] == said


def test_two_versions_show_each_field_that_differs(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    question_set = store.sets.get("asked")
    question = store.questions.all(question_set.id)[0]
    other = "list" if question.type != "list" else "fact"
    store.questions.put(
        question_set.id, [replace(question, type=other, verified_by="rules")], edit=Edit("Ann", "edited")
    )
    drawn = [block.proto.body for block in show("questions", set="asked", tab="Versions").get("html")]
    lines = [line for body in drawn for line in re.sub(r"<[^>]+>", "", body).splitlines()]
    assert [line for line in lines if line.startswith("type: ")] == [
        f"type: {question.type or 'none'}",
        f"type: {other}",
    ]
    assert [line for line in lines if line.startswith("verified by: ")] == ["verified by: none", "verified by: rules"]


def test_the_choices_of_a_verification_close_when_it_starts(home: Path) -> None:  # noqa: F811
    app = show("questions", set="asked")
    app.session_state["verify-choices"] = True
    app.button(key="verify-questions").click()
    app = checked(app.run())
    assert app.session_state["verify-choices"] is False


def test_the_banner_of_a_generated_set_counts_the_questions_that_are_asked(
    home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = open_workspace().store
    question_set = store.sets.get("asked")
    first, *others = store.questions.all(question_set.id)
    store.questions.put(question_set.id, [replace(first, status="rejected")], edit=Edit("Ann", "rejected"))
    counted: list[set[str]] = []

    def banner(configs: object, questions: Collection[Question]) -> str:
        counted.append({question.id for question in questions})
        return ""

    monkeypatch.setattr(synthetic, "banner", banner)
    show("health", set="asked")
    assert counted == [{question.id for question in others if question.asked}]


def test_a_kind_that_was_planned_elsewhere_is_not_counted_of_none(
    home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a document, two facts were planned and one made, and a bridge that was planned in another document."""
    cell = {
        "document": "a.md",
        "section": "",
        "style": "colleague",
        "chunk": "",
        "reasons": "",
        "where": "",
        "instead": [],
    }
    cell |= {"elsewhere": 0, "in place of others": 0}
    cells = [
        cell | {"type": "fact", "planned": 2, "made": 1, "missing": 1, "reasons": "nothing more there"},
        cell | {"type": "bridge", "planned": 0, "made": 0, "missing": 0, "in place of others": 1},
    ]
    drawn: list[pd.DataFrame] = []
    monkeypatch.setattr(generation_tab.widgets, "table", lambda rows, *_args, **_named: drawn.append(rows))
    monkeypatch.setattr(generation_tab.saving, "button", lambda *_args: None)
    generation_tab._by_document(cells, "key")
    assert dict(drawn[0].iloc[0]) == {"Document": "a.md", "Planned": 2, "Fact": "1 of 2", "Bridge": "1, not planned"}
