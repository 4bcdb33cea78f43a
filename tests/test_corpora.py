"""Adding files to corpora: recognised, replaced on request, refused with a message; what many of them cost."""

import gc
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import DocumentInfo
from ragviz.documents import corpora, encoding, html, kinds, parsing
from ragviz.index import indexing
from ragviz.runs import choices, running
from ragviz.workspace import Workspace
from tests.builders import asking


@pytest.fixture
def corpus(workspace):
    return workspace.store.corpora.add("notes")


def test_same_bytes_are_recognised_and_other_bytes_need_replace(workspace, corpus):
    first = corpora.add_file(workspace, corpus, "a.txt", b"The pump was replaced in May.")
    again = corpora.add_file(workspace, corpus, "a.txt", b"The pump was replaced in May.")
    other = corpora.add_file(workspace, corpus, "a.txt", b"The pump was replaced in June.")
    assert [first.status, again.status, other.status] == ["added", "same", "exists"]
    assert workspace.store.documents.all(corpus.id)[0].characters == len("The pump was replaced in May.")
    replacing = corpora.add_file(workspace, corpus, "a.txt", b"The pump was replaced in June.", replace=True)
    assert replacing.status == "replaced"
    [info] = workspace.store.documents.all(corpus.id)
    assert workspace.store.documents.get(corpus.id, info.id).text.endswith("June.")


def test_an_index_counts_a_replaced_document_as_changed_only(workspace, corpus):
    for name in ("a.txt", "b.txt", "c.txt"):
        corpora.add_file(workspace, corpus, name, f"The pump of {name} was replaced in May.".encode())
    indexing.build_index(workspace, corpus, "words", IndexConfig(embedder=""))
    _, replaced, deleted = workspace.store.documents.all(corpus.id)
    corpora.add_file(workspace, corpus, "b.txt", b"The pump was replaced in June.", replace=True)
    corpora.delete_documents(workspace, corpus, [deleted.id])
    corpora.add_file(workspace, corpus, "d.txt", b"The valve leaks.")
    new, changed, removed = indexing.stale(workspace, workspace.store.indexes.get("words"))
    assert ([d.name for d in new], [d.name for d in changed], removed) == (["d.txt"], ["b.txt"], [deleted.id])
    assert replaced.id not in {d.id for d in changed}
    corpora.delete_documents(workspace, corpus, [changed[0].id])
    removed = indexing.stale(workspace, workspace.store.indexes.get("words"))[2]
    assert sorted(removed) == sorted([replaced.id, deleted.id]), "its successor was deleted"


def test_a_file_over_the_limit_is_not_even_read(workspace, corpus, tmp_path):
    big = tmp_path / "big.txt"
    with big.open("wb") as handle:
        handle.truncate(workspace.settings.max_file_mb * 2**20 + 1)
    [outcome] = corpora.add_files(workspace, corpus, [("big.txt", big)])
    assert outcome.status == "unreadable"
    assert "limit of 200 MB" in outcome.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
def test_other_things_in_a_folder_have_a_message_each(workspace, corpus, tmp_path, monkeypatch):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("The pump was replaced.", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("not of this folder", encoding="utf-8")
    (tmp_path / "other").mkdir()
    os.mkfifo(folder / "pipe.txt")
    (folder / "b.txt").symlink_to("sub/a.txt")
    (folder / "same").symlink_to("sub")
    (folder / "sub" / "loop").symlink_to("..")
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "outside").symlink_to("../other")
    (folder / "nowhere.txt").symlink_to("absent")
    (folder / "itself.txt").symlink_to("itself.txt")
    (folder / "null.txt").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(folder)  # a socket's path may have 107 bytes
        listener.bind("socket.txt")
    outcomes = corpora.add_files(workspace, corpus, corpora.files_under([folder]))
    out = "This is a link that leads out of the folder: add what it leads to by its own path."
    nothing = "This is a link to nothing: mend it, or leave it out."
    inside = "This is a link to a folder inside the one that is added: what is in it is read by its own path."
    assert {o.name: o.message for o in outcomes} == {
        "b.txt": "", "same": inside, "sub/loop": inside, "itself.txt": nothing, "nowhere.txt": nothing, "null.txt": out,
        "out.txt": out, "outside": out,
        "pipe.txt": "This is a named pipe, not a file: leave it out.",
        "socket.txt": "This is a socket, not a file: leave it out.", "sub/a.txt": "",
    }  # fmt: skip
    assert [d.name for d in workspace.store.documents.all(corpus.id)] == ["b.txt", "sub/a.txt"]


def test_an_error_of_a_reader_is_that_file_s_error(workspace, corpus, tmp_path, monkeypatch):
    def broken(name: str, data: bytes):
        if name == "b.txt":
            raise ZeroDivisionError("one by nought")
        return kinds.kind_of(name, data)

    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"Text of {name}.", encoding="utf-8")
    monkeypatch.setattr(parsing, "kind_of", broken)
    outcomes = corpora.add_files(workspace, corpus, [(n, tmp_path / n) for n in ("a.txt", "b.txt", "c.txt")])
    assert [o.status for o in outcomes] == ["added", "unreadable", "added"]
    assert (
        outcomes[1].message
        == "The file is damaged: a file that cannot be read (one by nought). Save or download it anew."
    )


def test_text_and_pages_are_read_in_a_child_process(workspace, corpus, monkeypatch):
    """A failure of a reader costs its process only; a short text alone cannot take time or memory."""
    monkeypatch.setattr(encoding, "plain", None)
    monkeypatch.setattr(html, "web_page", None)
    for name, data in (("a.txt", b"Text." * 2**14), ("a.html", b"<p>Text.")):
        assert corpora.add_file(workspace, corpus, name, data).status == "added"


STRIDE = 100
"""Steps between two counts."""


class Steps:
    """Counts what the database of a workspace does."""

    def __init__(self, workspace: Workspace) -> None:
        self.count, self.statements = 0, []
        engine = workspace.store._engine
        sa.event.listen(engine, "checkout", self._watch)
        sa.event.listen(engine, "before_cursor_execute", self._note)

    def _watch(self, connection, *_) -> None:
        connection.set_progress_handler(self._step, STRIDE)

    def _step(self) -> int:
        self.count += 1
        return 0

    def _note(self, _connection, _cursor, statement, *_) -> None:
        self.statements.append(statement)

    def of(self, work: Callable[[], object]) -> int:
        before = self.count
        work()
        return (self.count - before) * STRIDE


@pytest.fixture
def steps(workspace) -> Steps:
    return Steps(workspace)


def write(folder, count: int, text: str = "Note {n}: the pump was replaced.", start: int = 0):
    folder.mkdir(exist_ok=True)
    for n in range(start, start + count):
        (folder / f"{n:05}.txt").write_text(text.format(n=n), encoding="utf-8")
    return [(f"{n:05}.txt", folder / f"{n:05}.txt") for n in range(start, start + count)]


def test_the_last_document_costs_what_the_first_did(workspace, steps, tmp_path):
    corpus = workspace.store.corpora.add("notes")
    files = write(tmp_path / "in", 600)
    rounds = [
        steps.of(lambda part=files[at : at + 100]: corpora.add_files(workspace, corpus, part))
        for at in range(0, 600, 100)
    ]
    assert rounds[-1] < 1.5 * rounds[1], rounds


def test_evidence_is_moved_in_one_reading_of_the_questions(workspace, steps, tmp_path):
    store = workspace.store
    corpus = store.corpora.add("notes")
    corpora.add_files(workspace, corpus, write(tmp_path / "in", 60))
    quote = "the pump was replaced"
    question_set = asking(
        workspace, corpus, [(info.name, quote, info.name, "!") for info in store.documents.all(corpus.id)]
    )
    files = write(tmp_path / "in", 60, "A line before. Note {n}: the pump was replaced.")
    steps.statements.clear()
    outcomes = corpora.add_files(workspace, corpus, files, replace=True)
    assert {outcome.status for outcome in outcomes} == {"replaced"}
    readings = [s for s in steps.statements if s.startswith("SELECT") and "questions.body" in s]
    assert len(readings) == 1
    names = {d.id: d.name for d in store.documents.all(corpus.id)}
    for asked_question in store.questions.all(question_set.id):
        [[span]] = asked_question.evidence
        assert not span.stale
        document = store.documents.get(corpus.id, span.document_id)
        assert document.text[span.start : span.end] == quote
        assert names[span.document_id] == asked_question.text


def test_an_index_of_many_documents_is_compared_with_its_corpus_at_once(workspace, monkeypatch):
    """No set is built, and no tuple searched, once for each document."""
    ids = tuple(f"d{n}" for n in range(20_000))
    infos = [DocumentInfo(i, "c", f"{i}.txt", "ok", 0, 9, "en", "", "", 9, (), "", 0.0) for i in ids]
    store = workspace.store
    corpus = store.corpora.add("notes")
    info = store.indexes.add(corpus.id, "i", IndexConfig())
    monkeypatch.setattr(store.documents, "all", lambda *_, **__: infos)
    gc.disable()
    began = time.process_time()
    assert indexing.stale(workspace, replace(info, documents=ids[1:])) == ([infos[0]], [], [])
    question_set = store.sets.add(corpus.id, "s")
    config = RunConfig(info.id, question_set.id)
    plan = running._plan(workspace, config)
    choices.run_row(workspace, "r", config, plan, replace(info, documents=ids), question_set, [])
    assert time.process_time() - began < 2
