"""The page of a question set with more questions than its table shows at once: what is read, decoded and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.questions import splits
from ragviz.store import codecs
from ragviz.store.store import Store
from ragviz.ui import review_tab
from ragviz.workspace import open_workspace
from tests.test_pages import bare, built, button, checked, home, show, words  # noqa: F401  # fixtures
from tests.test_store import store  # noqa: F401  # a fixture, of SQLite and PostgreSQL

COUNT = 2 * review_tab.PAGE + 300


def questions(count: int) -> list[Question]:
    return [Question(f"q{n:06}", f"Which is pump {n}?", f"The {n}th", (), "import") for n in range(count)]


def filled(store: Store, count: int) -> QuestionSet:  # noqa: F811
    question_set = store.sets.add(store.corpora.all()[0].id, "many")
    store.questions.put(question_set.id, questions(count))
    return store.sets.get("many")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies of questions that were decoded, in order."""
    bodies, decode = list[str](), codecs.question

    def noted(body: str, split: Any) -> Question:
        question = decode(body, split)
        bodies.append(question.id)
        return question

    monkeypatch.setattr(codecs, "question", noted)
    return bodies


def test_of_a_set_that_was_read_only_what_has_changed_is_decoded(store, decoded):  # noqa: F811
    store.corpora.add("notes")
    set_id = filled(store, 50).id
    read = store.questions.decoded(set_id)
    present = [each.question for each in read.values()]
    assert present == store.questions.all(set_id)
    rejected = replace(present[7], status="rejected")
    store.questions.put(set_id, [rejected])
    decoded.clear()
    again = store.questions.decoded(set_id, read)
    assert decoded == [rejected.id]
    assert [each.question for each in again.values()] == [*present[:7], rejected, *present[8:]]
    assert again[present[0].id] is read[present[0].id]
    store.questions.delete(set_id, [present[0].id])
    store.questions.put(set_id, [present[0], replace(present[1], id="new")])  # at the end, where it was not before
    sides = splits.sides_of(store.questions.all(set_id), "stratified", 0.5, 1)
    store.sets.put_split(set_id, splits.Split("stratified", 0.5, 1), sides)
    decoded.clear()
    last = store.questions.decoded(set_id, again)
    assert len(decoded) >= len(sides)
    assert [each.question for each in last.values()] == store.questions.all(set_id)


def test_a_page_of_a_set_decodes_it_once_and_then_what_changed(home: Path, decoded: list[str]) -> None:  # noqa: F811
    filled(open_workspace().store, COUNT)
    app = show("questions", set="many")
    assert len(decoded) == COUNT
    decoded.clear()
    app.text_input(key="find-filter").set_value("pump 17").run()
    assert "111 of 2,300 questions" in words(checked(app))  # 17, 170 to 179, 1700 to 1799
    assert decoded == []
    button(app, "Reject").click().run()
    checked(app)
    assert open_workspace().store.sets.get("many").counts == {"proposed": COUNT - 1, "rejected": 1}
    assert set(decoded) == {"q000017"}
    store = open_workspace().store  # noqa: F811 - another process
    store.questions.put(store.sets.get("many").id, [replace(questions(20)[18], text="Which is no pump 17?")])
    decoded.clear()
    assert "112 of 2,300 questions" in words(checked(app.run()))
    assert set(decoded) == {"q000018"}
