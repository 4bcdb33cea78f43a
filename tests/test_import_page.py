"""The tab *Import* and the popover *Export*: what becomes of files of every format is told on the page."""

import json
from pathlib import Path

import pytest

from ragviz.jobs import queue, worker
from ragviz.ui import import_tab
from ragviz.workspace import open_workspace
from tests.test_formats_in import FERRY, beir, row, squad, zipped
from tests.test_pages import bare, built, button, checked, home, show, words  # noqa: F401 - fixtures


def imported(app, *uploads, name="brought"):
    return checked(pressed(app, *uploads, name=name))


def pressed(app, *uploads, name="brought"):
    app.get("file_uploader")[0].upload(*uploads)
    app.text_input(key="import-name").set_value(name)
    button(app, "Import").click()
    return app.run()


def test_a_zip_of_beir_brings_documents_and_questions(home: Path) -> None:  # noqa: F811
    app = imported(show("questions", tab="Import"), "beir.zip", zipped(beir()), "application/zip")
    assert "5 questions and 3 documents imported into brought" in words(app)
    assert "from BEIR" in words(app)
    store = open_workspace().store
    assert store.sets.get("brought").sides == {"test": 2, "validation": 1, "": 2}
    assert store.documents.find(store.corpora.get("notes").id, "d3") is not None


def test_an_offset_that_was_repaired_is_listed(home: Path) -> None:  # noqa: F811
    data = json.dumps(squad(row(1, "Where?", "pier two", 3), row(2, "When?", "noon", 0))).encode()
    app = imported(show("questions", tab="Import"), "squad.json", data, "application/json")
    assert "1 question and 1 document imported" in words(app)
    assert "1 row skipped, 1 row imported otherwise than written" in words(app)
    table = next(d for d in app.dataframe if "Reason" in d.value and "Row" in d.value)
    assert list(table.value["Row"]) == [1, 2]
    columns = json.loads(table.proto.columns)
    assert columns["Row"]["pinned"], "else it gets half of the width that the columns leave"
    assert (
        open_workspace().store.documents.find(open_workspace().store.corpora.get("notes").id, "Ferries/001") is not None
    )
    assert FERRY in "".join(d.text for d in texts())


def texts():
    store = open_workspace().store
    corpus = store.corpora.get("notes")
    return store.documents.texts(corpus.id, [info.id for info in store.documents.all(corpus.id) if info.status == "ok"])


def test_what_a_triple_is_stands_beside_the_form(home: Path) -> None:  # noqa: F811
    text = words(show("questions", tab="Import"))
    assert "triples of question, answer and passage" in text
    passage = next(iter(texts())).text.split("\n\n")[1].split(".")[0]
    data = f'question,answer,passage\nWhat?,That.,"{passage}"\n'.encode()
    app = imported(show("questions", tab="Import"), "t.csv", data, "text/csv")
    assert "1 question imported into brought" in words(app)
    store = open_workspace().store
    [question] = store.questions.all(store.sets.get("brought").id)
    assert question.evidence[0][0].text == passage


def test_large_files_are_imported_by_a_job(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(import_tab, "AT_ONCE", 10)
    monkeypatch.setattr(queue, "start", lambda workspace, job: workspace.store.jobs.get(job.id))
    imported(show("questions", tab="Import"), "beir.zip", zipped(beir()), "application/zip")
    workspace = open_workspace()
    job = workspace.store.jobs.all()[0]
    assert (job.kind, job.arguments["name"], job.arguments["format"]) == ("import", "brought", "auto")
    assert workspace.store.sets.find("brought") is None
    done = worker.perform(workspace, job.id)
    assert done.result["imported"] == 5
    assert not Path(job.arguments["folder"]).exists()
    assert "5 questions and 3 documents imported into brought" in words(show("questions"))
    workspace.store.sets.delete(workspace.store.sets.get("brought").id)
    assert "imported into brought" not in words(show("questions"))


def test_a_file_that_is_no_question_set_is_told(home: Path) -> None:  # noqa: F811
    app = pressed(show("questions", tab="Import"), "x.csv", b"name,age\nAda,36\n", "text/csv")
    assert "has no column" in app.error[0].value
    assert open_workspace().store.sets.find("brought") is None


def test_every_format_is_exported_and_says_what_it_lacks(home: Path) -> None:  # noqa: F811
    app = show("questions")
    labels = [each.proto.label for each in app.get("download_button")]
    assert {"JSONL", "CSV", "BEIR", "Ragas", "SQuAD", "TREC"} <= set(labels)
    assert "lacks places within documents, titles of documents" in words(app)
    assert "restores the same questions" in words(app)
