"""The tab *Real questions*: a log is read by a job, and what it says is shown and acted on."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.health import demand
from ragviz.jobs import queue, worker
from ragviz.questions.formats import input_file
from ragviz.workspace import open_workspace
from tests.test_pages import built, button, checked, home, show, words  # noqa: F401 - fixtures

LOG = "question,count\nHow much does pump 2 move?,40\nWhere is the canteen <b>?,9\nWho repairs the roof?,3\n"


def with_log() -> None:
    workspace = open_workspace()
    [file] = input_file.from_bytes("log.csv", LOG.encode())
    question_set = workspace.store.sets.get("asked")
    demand.read_into(workspace, question_set, file, workspace.store.indexes.get("small"))


def tab() -> AppTest:
    return checked(show("questions", set="asked", tab="Real questions"))


def test_a_log_is_read_by_a_job(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(queue, "start", lambda workspace, job: workspace.store.jobs.get(job.id))
    app = tab()
    assert "No log yet" in words(app)
    uploader = next(each for each in app.get("file_uploader") if "Log" in each.proto.label)
    uploader.upload("log.csv", LOG.encode(), "text/csv")
    app.selectbox(key="asked-index").set_value("small")
    button(app, "Read the log").click()
    checked(app.run())
    workspace = open_workspace()
    job = workspace.store.jobs.all()[0]
    assert (job.kind, job.arguments["index"]) == ("asked", "small")
    done = worker.perform(workspace, job.id)
    assert done.result["asked"] == 52
    assert not Path(job.arguments["folder"]).exists()
    assert "2 questions people ask" in words(tab())
    assert demand.stored(workspace, workspace.store.sets.get("asked")).asked == 52


def test_what_the_set_lacks_is_listed_and_added(home: Path) -> None:  # noqa: F811
    with_log()
    app = tab()
    table = next(d.value for d in app.dataframe if "Also asked as" in d.value)
    assert list(table["Asked"]) == [9, 3]
    assert [tile.value for tile in app.metric if tile.label == "In the set"] == ["77%"]  # 40 of 52
    button(app, "Add the 2 most asked").click()
    app = checked(app.run())
    store = open_workspace().store
    added = [q for q in store.questions.all(store.sets.get("asked").id) if q.generator == "log"]
    assert [q.text for q in added] == ["Where is the canteen <b>?", "Who repairs the roof?"]
    table = [d.value for d in app.dataframe if "Also asked as" in d.value]
    assert not table  # nothing is left to be added
