"""Details of the page Questions that a newcomer stumbled over, as Streamlit runs it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.records import Edit
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
    corpus = store.index("small").corpus_id
    for question_set in store.question_sets(corpus):
        store.delete_question_set(question_set.id)
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
    store.pay(store.question_set("asked").id, 3, dollars)
    [tile] = [metric for metric in show("questions", set="asked").metric if metric.label == "Questions"]
    assert tile.delta.replace("\\", "").split(" · ")[-1] == said


def test_two_versions_show_each_field_that_differs(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    question_set = store.question_set("asked")
    question = store.questions(question_set.id)[0]
    other = "list" if question.type != "list" else "fact"
    store.put_questions(
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
