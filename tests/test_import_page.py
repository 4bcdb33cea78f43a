"""The tab *Import* and the popover *Export*: what becomes of files of every format is told on the page."""

from pathlib import Path

import pytest

from ragviz.jobs import queue, worker
from ragviz.ui import import_tab
from ragviz.workspace import open_workspace
from tests.test_formats_in import beir, zipped
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


def texts():
    store = open_workspace().store
    corpus = store.corpora.get("notes")
    return store.documents.texts(corpus.id, [info.id for info in store.documents.all(corpus.id) if info.status == "ok"])


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


def test_every_format_is_exported_and_says_what_it_lacks(home: Path) -> None:  # noqa: F811
    app = show("questions")
    labels = [each.proto.label for each in app.get("download_button")]
    assert {"JSONL", "CSV", "BEIR", "Ragas", "SQuAD", "TREC"} <= set(labels)
    assert "lacks places within documents, titles of documents" in words(app)
    assert "restores the same questions" in words(app)
