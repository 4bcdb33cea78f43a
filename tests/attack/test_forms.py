"""Two people at one form: a click lands on what was shown, or on nothing with a sentence; what was typed stays."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ragviz import cli
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import SearchError
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import damage, deletion, indexing
from ragviz.retrieval import search
from ragviz.runs import running
from ragviz.workspace import Workspace, open_workspace
from tests.test_pages import Hashing, bare, built, button, checked, home, show, typed, words  # noqa: F401  # fixtures


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label.startswith(label)).click()
    return app.run()


def warned(app: AppTest) -> str:
    return " ".join(box.value for box in app.warning)


# What was chosen is deleted while the form is open


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


def test_a_run_started_from_one_that_is_gone_does_not_take_the_defaults(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    app = show("run", corpus="notes")
    app.selectbox(key="start-from").set_value("words")
    checked(app.run())
    store.runs.delete(store.runs.get("words").id)
    press(app, "Run")
    assert "The run “words” was deleted meanwhile: nothing was done" in warned(app)
    assert store.jobs.all() == []


def test_questions_are_not_made_of_another_index(home: Path) -> None:  # noqa: F811
    store = open_workspace().store
    app = show("questions", corpus="notes", tab="Generate")
    app.selectbox(key="generate-from").set_value("small")
    app.number_input[0].set_value(7)
    deletion.delete_index(open_workspace(), store.indexes.get("small"))
    press(app, "Generate")
    assert "“small”" in warned(app)
    assert store.jobs.all() == []


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
    show_again(app)
    checked(app._run(pressed))
    assert store.questions.all(question_set.id) == before


def show_again(app: AppTest) -> None:
    """Draw the page without what was pressed."""
    states = app._tree.get_widget_states()
    del states.widgets[:]
    checked(app._run(states))


@pytest.mark.parametrize("since", ["done", "running", "gone"])
def test_a_job_is_not_resumed_from_a_screen_that_is_late(home: Path, since: str) -> None:  # noqa: F811
    """Somebody else took it up, or deleted what it worked on: the person is told, and nothing is done to it."""
    store = open_workspace().store
    job = store.jobs.add("run", "Run late", store.corpora.get("notes").id, {})
    store.jobs.update(job.id, status="cancelled", finished=time.time(), error="Stopped; what was finished is kept.")
    app = show("home", corpus="notes")
    app.button(key=f"resume-{job.id}").click()
    if since == "gone":
        store.jobs.delete(job.id)
    else:
        place = {"host": "elsewhere", "heartbeat": time.time() + 3600, "started": time.time()}
        store.jobs.update(job.id, status=since, error="", finished=time.time() if since == "done" else None, **place)
    before = store.jobs.all()
    checked(app.run())
    assert store.jobs.all() == before
    sentences = {
        "done": "Run late has finished",
        "running": "Run late is running again",
        "gone": "nothing is left of the job",
    }
    assert sentences[since] in " ".join([words(app), *(toast.value for toast in app.toast)])


# What is typed into the table of questions


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[int, dict[str, Any]]]:
    """Edits by the key of the table, into which AppTest cannot type; those of a key that is not drawn are forgotten."""
    edits: dict[str, dict[int, dict[str, Any]]] = {}
    draw = st.data_editor

    def drawn(rows: Any, *, key: str, **more: Any) -> Any:
        result = draw(rows, key=key, **more)
        shown[:] = [key, rows]
        return result

    shown: list[Any] = []
    monkeypatch.setattr(st, "data_editor", drawn)
    monkeypatch.setattr("streamlit.runtime.state.session_state_proxy.SessionStateProxy.get", patched(edits))
    edits["shown"] = shown  # type: ignore[assignment]
    return edits


def patched(edits: dict[str, Any]) -> Any:
    def get(self: Any, key: str, default: Any = None) -> Any:
        if key in edits and key in self:
            return {"edited_rows": edits[key]}
        try:
            return self[key]
        except KeyError:
            return default

    return get


def table_of(typing: dict[str, Any]) -> tuple[str, Any]:
    key, rows = typing["shown"]
    return key, rows


def test_what_is_typed_outlives_filter_tab_toggle_and_page(home: Path, typing: dict[str, Any]) -> None:  # noqa: F811
    store = open_workspace().store
    set_id = store.sets.get("asked").id
    app = show("questions", corpus="notes", set="asked", **{"in-table": "true"})
    key, rows = table_of(typing)
    row = list(rows["Id"]).index("q5")
    typing[key] = {row: {"Answer": "typed by hand"}}
    checked(app.run())
    app.text_input(key="find-filter").set_value("older")
    checked(app.run())
    assert table_of(typing)[0] == key, "the table stays while something is typed"
    assert "until you save or discard" in words(app)
    app.toggle(key="in-table").set_value(False)
    checked(app.run())
    assert "not saved yet: they are kept there" in words(app)
    app.switch_page("pages/documents.py").run()
    app.switch_page("pages/questions.py")
    app.query_params["set"], app.query_params["corpus"], app.query_params["in-table"] = "asked", "notes", "true"
    app.run()
    if not app.toggle(key="in-table").value:
        app.toggle(key="in-table").set_value(True)
        app.run()
    checked(app)
    again, rows = table_of(typing)
    assert again != key
    assert rows.loc[rows["Id"] == "q5", "Answer"].item() == "typed by hand"
    press(app, "Save 1 change")
    checked(app)
    answers = {question.id: question.answer for question in store.questions.all(set_id)}
    assert answers["q5"] == "typed by hand"
    assert [i for i, answer in answers.items() if answer == "typed by hand"] == ["q5"]


# What it is typed into is deleted


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


GONE = ["set others", "set alone", "corpus others", "corpus alone"]


@pytest.mark.parametrize("what", GONE)
def test_what_is_typed_into_the_table_of_a_set_that_is_deleted_is_shown(home: Path, typing, what: str) -> None:  # noqa: F811
    workspace = open_workspace()
    app = show("questions", corpus="notes", set="asked", **{"in-table": "true"})
    key, rows = table_of(typing)
    typing[key] = {
        list(rows["Id"]).index("q5"): {"Answer": "打字 $x$"},
        list(rows["Id"]).index("two"): {"Reason": "old"},
    }
    something_else(workspace, what)
    checked(app.run())
    subject = "corpus called “notes”" if what.startswith("corpus") else "question set called “asked”"
    left_over(app, {"q5": "打字 $x$", "two": "3"})
    assert f"There is no {subject} here" in warning(app) or what == "corpus alone"
    assert all(q.answer != "打字 $x$" for q in everything(workspace))
    app.switch_page("pages/questions.py").run()
    left_over(app, {"q5": "打字 $x$", "two": "3"})
    checked(press(app, "Dismiss"))
    assert "was deleted by somebody else" not in warning(app)


def left_over(app: AppTest, answers: dict[str, str]) -> None:
    """What was typed is shown, once."""
    assert warning(app).count("was deleted by somebody else meanwhile. Your unsaved changes are kept here") == 1
    (rows,) = [frame.value for frame in app.dataframe if list(frame.value)[:2] == ["Question", "Answer"]]
    assert dict(zip(rows["Id"], rows["Answer"], strict=True)) == answers


def warning(app: AppTest) -> str:
    """What the page warns of, as it is read."""
    return warned(app).replace("\\", "")


def everything(workspace: Workspace) -> list[Question]:
    store = workspace.store
    return [q for corpus in store.corpora.all() for s in store.sets.all(corpus.id) for q in store.questions.all(s.id)]


@pytest.mark.parametrize("pressed", ["", "Save"])
@pytest.mark.parametrize("what", [*GONE, "question others"])
def test_what_is_typed_over_a_question_that_is_deleted_is_shown(home: Path, what: str, pressed: str) -> None:  # noqa: F811
    """The last word is typed and *Save* pressed when it is gone already."""
    workspace = open_workspace()
    app = show("questions", corpus="notes", set="asked", edit="q5")
    area(app, "Answer").set_value("typed")
    checked(app.run())
    something_else(workspace, what)
    before = everything(workspace)
    area(app, "Answer").set_value("typed by hand")
    if pressed:
        button(app, pressed).click()
    checked(app.run())
    left_over(app, {"q5": "typed by hand"})
    assert everything(workspace) == before
    assert not any(box.label == "Answer" for box in app.text_area), "no other question is opened in its place"
    checked(press(app, "Dismiss"))
    assert "was deleted by somebody else" not in warning(app)


def area(app: AppTest, label: str) -> Any:
    return next(box for box in app.text_area if box.label == label)


def test_a_question_written_for_a_set_that_is_deleted_goes_into_another_only_when_told(home: Path) -> None:  # noqa: F811
    workspace = open_workspace()
    app = show("questions", corpus="notes", set="asked", tab="Write")
    area(app, "Question").set_value("Which pump is the oldest?")
    checked(app.run())
    assert "saved into the set “asked”" in words(app).replace("\\", "")
    something_else(workspace, "set others")
    before = everything(workspace)
    area(app, "Answer").set_value("None.")
    press(app, "Save")
    checked(app)
    assert everything(workspace) == before
    assert "There is no question set called “asked” here; this is “second”" in warning(app)
    assert (area(app, "Question").value, area(app, "Answer").value) == ("Which pump is the oldest?", "None.")
    assert "saved into the set “second”" in words(app).replace("\\", "")
    checked(press(app, "Save"))
    assert [q.text for q in everything(workspace)][-1] == "Which pump is the oldest?"


def test_a_question_written_where_no_set_is_goes_into_none_that_came_meanwhile(home: Path) -> None:  # noqa: F811
    workspace, store = open_workspace(), open_workspace().store
    corpus = store.corpora.get("notes")
    store.sets.delete(store.sets.get("asked").id)
    app = show("questions", corpus="notes", tab="Write")
    area(app, "Question").set_value("Which pump is the oldest?")
    checked(app.run())
    store.sets.add(corpus.id, "of another person")
    press(app, "Save")
    checked(app)
    assert "“notes-questions” was to receive the question; now it would be “of another person”" in warning(app)
    assert everything(workspace) == []
    assert area(app, "Question").value == "Which pump is the oldest?"


@pytest.mark.parametrize("what", ["corpus others", "corpus alone"])
def test_a_question_written_for_a_corpus_that_is_deleted_is_shown(home: Path, what: str) -> None:  # noqa: F811
    workspace = open_workspace()
    app = show("questions", corpus="notes", set="asked", tab="Write")
    area(app, "Question").set_value("Which pump is the oldest?")
    area(app, "Answer").set_value("None.")
    checked(app.run())
    something_else(workspace, what)
    press(app, "Save")
    left_over(checked(app), {"": "None."})
    assert everything(workspace) == []


# Settings


@pytest.mark.usefixtures("typed")
def test_two_who_set_the_endpoint_do_not_undo_each_other(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one.example/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-first-endpoint")
    mine, theirs = show("settings"), show("settings")
    field(theirs, "Base URL").set_value("http://two.example/v1")
    press(theirs, "Apply")
    field(mine, "API key").set_value("my-key-for-the-first-endpoint")
    press(mine, "Apply")
    assert "OPENAI\\_BASE\\_URL is now" in mine.error[0].value
    assert "my-key-for-the-first-endpoint" not in os.environ.values(), "a key goes to the address that was shown"
    assert field(mine, "API key").value == "my-key-for-the-first-endpoint"

    third = show("settings")
    field(theirs, "Model").set_value("their-model")
    press(theirs, "Apply")
    field(third, "Judge model").set_value("my-judge")
    press(third, "Apply")
    applied = Settings(_env_file=None)
    assert (applied.model, applied.judge, applied.openai_base_url) == (
        "their-model",
        "my-judge",
        "http://two.example/v1",
    )


def field(app: AppTest, label: str) -> Any:
    return next(box for box in app.text_input if box.label == label)


# Files of an index on another machine


def test_a_second_machine_says_that_the_files_are_elsewhere(tmp_path: Path, monkeypatch, capsys) -> None:
    """Both reach one database; each has a home of its own."""
    monkeypatch.setattr(Workspace, "embedder", lambda *_: Hashing())
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAGVIZ_DATABASE_URL", f"sqlite:///{tmp_path / 'shared.db'}")

    def machine(name: str) -> Workspace:
        monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / name))
        return open_workspace()

    one = machine("one")
    corpus = one.store.corpora.add("notes")
    corpora.add_file(one, corpus, "a.txt", b"Pump 1 moves 10 litres. Pump 2 moves 20 litres.")
    indexing.build_index(one, corpus, "i", IndexConfig(chunk_size=12))
    two = machine("two")
    info = two.store.indexes.get("i")
    assert damage.damage(two, info) == "its files are not on this machine, but on that which built it, or removed"
    for way in ("knn", "bm25", "hybrid"):
        with pytest.raises(
            SearchError, match=r"cannot be searched here: .*Build it here too.*or build one on Elastics"
        ):
            search.search(two, info, "pump", way, 3)
    two.store.questions.put(two.store.sets.add(corpus.id, "q").id, [Question("q", "?", "", (), "hand")])
    monkeypatch.setattr("sys.argv", ["ragviz", "index", "list", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "not on this machine" in capsys.readouterr().out

    indexing.build_index(two, corpus, "i", IndexConfig(chunk_size=12))
    for workspace in (one, two):  # the same documents, cut alike: the first machine's files are still right
        info = workspace.store.indexes.get("i")
        assert damage.damage(workspace, info) == ""
        assert search.search(workspace, info, "20 litres", "bm25", 1)[0].chunk.text.count("20")
    shutil.rmtree(tmp_path / "one" / "indexes")
    assert "not on this machine" in damage.damage(machine("one"), info)
    with pytest.raises(SearchError, match="cannot be searched here"):
        running.run(machine("one"), "r", RunConfig("i", "q", "bm25"))


# A job whose subject is deleted


@pytest.mark.parametrize("subject", ["corpus", "index", "set"])
def test_a_job_that_is_gone_with_what_it_worked_on_is_told(home: Path, subject: str) -> None:  # noqa: F811
    """Nothing is left of the job, so that no row tells what became of it."""
    workspace, store = open_workspace(), open_workspace().store
    corpora.add_file(workspace, store.corpora.add("another"), "b.txt", b"Another text.")
    corpus, info = store.corpora.get("notes"), store.indexes.get("small")
    for other in [other for other in store.indexes.all(corpus.id) if other.id != info.id]:
        deletion.delete_index(workspace, other)
    app = show("run", corpus="notes", index="small", set="asked")
    press(app, "Run")
    (job,) = store.jobs.all()
    assert job.title in words(app).replace("\\", "")
    if subject == "corpus":
        deletion.delete_corpus(workspace, corpus)
    elif subject == "index":
        deletion.delete_index(workspace, info)
    else:
        store.sets.delete(store.sets.get("asked").id)
    store.jobs.delete(job.id)  # as its process does
    checked(app.run())
    shown = words(app).replace("\\", "")
    assert f"{job.title}** was removed" in shown
    assert "What it worked on was deleted" in shown
    gone = {"corpus": "corpus called “notes”", "index": "index called “small”", "set": "question set called “asked”"}
    assert f"There is no {gone[subject]} here" in warning(app)
    checked(press(app, "Dismiss"))
    assert job.title not in words(app).replace("\\", "")
