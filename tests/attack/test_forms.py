"""Two people at one form: a click lands on what was shown, or on nothing with a sentence; what was typed stays."""

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.index import deletion
from ragviz.workspace import Workspace, open_workspace
from tests.test_pages import built, button, checked, home, show, words  # noqa: F401  # fixtures


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label.startswith(label)).click()
    return app.run()


def warned(app: AppTest) -> str:
    return " ".join(box.value for box in app.warning)


def test_a_click_meant_for_a_corpus_that_is_gone_does_not_land_on_another(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    corpora.add_file(open_workspace(), store.corpora.add("another"), "b.txt", b"Another text.")
    app = show("documents", corpus="notes")
    deletion.delete_corpus(open_workspace(), store.corpora.get("notes"))
    press(app, "Delete the whole corpus")
    assert "There is no corpus called “notes” here" in warned(app)
    assert "This deletes" not in words(app)
    app = press(app, "Delete the whole corpus")  # what is shown now is asked about
    assert "This deletes the corpus “another”" in words(app)
    assert app.button(key="confirm-do").label == "Delete all of it"
    assert [corpus.name for corpus in store.corpora.all()] == ["another"], "nothing is gone before it is confirmed"


@pytest.mark.parametrize("what", ["index", "set"])
def test_a_run_is_not_begun_on_what_took_the_place_of_what_was_chosen(home: Path, what: str) -> None:  # noqa: F811
    workspace, store = open_workspace(), open_workspace().store
    corpus = store.corpora.get("notes")
    store.questions.put(store.sets.add(corpus.id, "later").id, store.questions.all(store.sets.get("asked").id))
    chosen = {"index": "small", "set": "asked"}
    app = show("run", corpus="notes", **chosen)
    if what == "index":
        deletion.delete_index(workspace, store.indexes.get("small"))
    else:
        store.sets.delete(store.sets.get("asked").id)
    press(app, "Run")
    assert f"“{chosen[what]}”" in warned(app)
    assert store.jobs.all() == []
    press(app, "Run")
    assert [job.kind for job in store.jobs.all()] == ["run"]


def test_a_decision_is_one_on_the_question_on_the_screen_however_late_the_screen_is(home: Path) -> None:  # noqa: F811
    """The page was drawn anew, for a job that ended, and the click was made before the browser showed that."""
    store = open_workspace().store
    question_set = store.sets.get("asked")
    app = show("questions", corpus="notes", set="asked", question="q5")
    button(app, "Reject").click()
    pressed = app._tree.get_widget_states()
    question = next(q for q in store.questions.all(question_set.id) if q.id == "q5")
    store.questions.put(question_set.id, [replace(question, answer="told anew")])
    before = store.questions.all(question_set.id)
    nothing_pressed = app._tree.get_widget_states()
    del nothing_pressed.widgets[:]
    checked(app._run(nothing_pressed))
    checked(app._run(pressed))
    assert store.questions.all(question_set.id) == before


def something_else(workspace: Workspace, what: str) -> None:
    """Let another person delete what is looked at: `what` names it, and whether another of its kind stays."""
    store, (subject, others) = workspace.store, what.split()
    corpus, question_set = store.corpora.get("notes"), store.sets.get("asked")
    if subject == "set" and others == "others":
        store.questions.put(store.sets.add(corpus.id, "second").id, store.questions.all(question_set.id))
    if subject == "corpus" and others == "others":
        corpora.add_file(workspace, store.corpora.add("another"), "b.txt", b"Another text.")
    if subject == "question":
        store.questions.delete(question_set.id, ["q5"])
    elif subject == "set":
        store.sets.delete(question_set.id)
    else:
        deletion.delete_corpus(workspace, corpus)


def everything(workspace: Workspace) -> list[Question]:
    store = workspace.store
    return [q for corpus in store.corpora.all() for s in store.sets.all(corpus.id) for q in store.questions.all(s.id)]


@pytest.mark.parametrize("pressed", ["", "Save"])
@pytest.mark.parametrize("what", ["set others", "set alone", "corpus alone", "question others"])
def test_what_is_typed_over_a_question_that_is_deleted_is_saved_into_no_other(
    home: Path,  # noqa: F811
    what: str,
    pressed: str,
) -> None:
    """The last word is typed and *Save* pressed when it is gone already."""
    workspace = open_workspace()
    app = show("questions", corpus="notes", set="asked", edit="q5")

    def typed_answer(words: str) -> None:
        next(box for box in app.text_area if box.label == "Answer").set_value(words)

    typed_answer("typed")
    checked(app.run())
    something_else(workspace, what)
    before = everything(workspace)
    typed_answer("typed by hand")
    if pressed:
        button(app, pressed).click()
    checked(app.run())
    assert everything(workspace) == before
    assert not any(box.label == "Answer" for box in app.text_area), "no other question is opened in its place"
