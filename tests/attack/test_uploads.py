"""Two people's uploads side by side: what waits for a password or a confirmation stays, whatever else comes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile
from streamlit.testing.v1 import AppTest

from ragviz import sample
from ragviz.core.job import Job
from ragviz.documents import corpora
from ragviz.jobs import worker
from ragviz.workspace import Workspace, open_workspace
from tests.attack.test_forms import press
from tests.test_pages import bare, checked, show, words  # noqa: F401  # a fixture

PASSWORD = "密码 1"
PLAIN = next(data for name, data in sample.documents() if name.endswith(".docx"))


@pytest.fixture(scope="module")
def locked() -> bytes:
    encrypted = io.BytesIO()
    OOXMLFile(io.BytesIO(PLAIN)).encrypt(PASSWORD, encrypted)
    return encrypted.getvalue()


@pytest.fixture
def workspace(bare: Path) -> Workspace:  # noqa: F811
    opened = open_workspace()
    corpora.add_file(opened, opened.store.corpora.add("notes"), "good.md", b"The first text.")
    return opened


def upload(workspace: Workspace, *files: tuple[str, bytes]) -> Job:
    """What *Add files* does, to its end."""
    folder, staged = corpora.stage(workspace, files)
    corpus = workspace.store.corpora.get("notes")
    arguments = {"corpus": "notes", "folder": str(folder), "files": staged, "replace": False}
    return worker.perform(workspace, workspace.store.jobs.add("documents", "Read", corpus.id, arguments).id)


def replace(workspace: Workspace, app: AppTest, count: str = "1 document") -> None:
    """Press *Replace*, and have the job done."""
    press(app, f"Replace {count}")
    (job,) = [job for job in workspace.store.jobs.all() if job.status == "queued"]
    worker.perform(workspace, job.id)


def give_password(app: AppTest, place: int = 0) -> None:
    """Type the password of a file, the first of those shown unless another `place` is given."""
    next(box for box in app.text_input[place:] if box.label.startswith("Password for ")).set_value(PASSWORD)
    press(app, "Unlock")


def passwords(app: AppTest) -> int:
    return sum(box.label.startswith("Password for ") for box in app.text_input)


def documents(workspace: Workspace) -> dict[str, int]:
    rows = workspace.store.documents.all(workspace.store.corpora.get("notes").id)
    return {d.name: d.characters for d in rows if d.status == "ok"}


def test_a_file_waits_for_its_password_while_others_upload(workspace: Workspace, locked: bytes) -> None:
    upload(workspace, ("locked.docx", locked))
    mine = show("documents", corpus="notes")
    upload(workspace, ("other.md", b"Of another person."))
    checked(mine.run())
    assert passwords(mine) == 1
    give_password(checked(mine))
    checked(mine)
    assert documents(workspace)["locked.docx"] > 100
    assert passwords(mine) == 0
    assert "give its password" not in words(mine)


def test_two_who_replace_do_it_once(workspace: Workspace) -> None:
    upload(workspace, ("good.md", b"The second text, which is longer."))
    mine, theirs = show("documents", corpus="notes"), show("documents", corpus="notes")
    replace(workspace, theirs)
    press(mine, "Replace 1 document")
    checked(mine)
    assert [job.status for job in workspace.store.jobs.all()] == ["done", "done"]
    assert "1 of 1 file read" in words(mine)
