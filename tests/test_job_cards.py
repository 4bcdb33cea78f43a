"""What pages tell of jobs: the cards of those that ended badly, buttons while one is active, times learnt here."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from subprocess import run as process

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.core.job import Job
from ragviz.ui import job_panel
from ragviz.workspace import Workspace, open_workspace
from tests.test_pages import (
    built,  # noqa: F401 - a fixture
    button,
    checked,
    home,  # noqa: F401 - a fixture
    show,
)


@pytest.fixture
def workspace(home: Path) -> Workspace:  # noqa: F811
    return open_workspace()


def going(workspace: Workspace, kind: str, arguments: Mapping[str, object], **more: object) -> Job:
    """The row of a job that a process of another machine is doing."""
    store = workspace.store
    job = store.jobs.add(kind, "The job", store.corpora.get("notes").id, arguments)
    place = {"host": "elsewhere", "heartbeat": time.time() + 3600, "started": time.time()}
    store.jobs.update(job.id, **{"status": "running"} | place | more)
    return store.jobs.get(job.id)


def read(marked: Iterable[str]) -> str:
    """Markdown as a person reads it."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", "\n".join(marked))


def card(app: AppTest) -> str:
    """What the sidebar says when the card of "The job" is in it, else ""."""
    lines = [each.label for each in app.sidebar.expander]
    said = read([*lines, *(each.value for each in (*app.sidebar.markdown, *app.sidebar.caption))])
    return said if "**The job**" in said else ""


def toasts(app: AppTest) -> str:
    return read(toast.value for toast in app.toast)


# Jobs that ended badly


def test_a_failure_names_its_reason_its_log_and_what_to_do(workspace: Workspace) -> None:
    arguments = {"name": "r", "config": {"index": "gone", "questions": "asked"}}
    job = workspace.store.jobs.add("run", "The job", workspace.store.corpora.get("notes").id, arguments)
    workspace.store.jobs.update(job.id, status="starting")
    log = workspace.log_of(job.id)
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as output:  # as `queue.start_waiting` does it, which the fixture keeps from starting processes
        done = process([sys.executable, "-m", "ragviz.jobs", job.id], stdout=output, stderr=output, check=False)
    assert done.returncode == 1
    app = show("home")
    said = card(app)
    reason = "There is no index called 'gone'"
    assert "failed" in said
    assert reason in said
    [shown] = re.findall(r"Log: (.+)", said)
    assert reason in Path(shown).read_text(encoding="utf-8")
    assert [b.label for b in app.sidebar.button if job.id in b.key] == ["Try again", "Dismiss"]
    assert "Open run" in [re.sub(r":blue\[(.*)\]", r"\1", each.proto.label) for each in app.sidebar.get("page_link")]
    button(app, "Dismiss").click()
    assert card(checked(app.run())) == ""


@pytest.mark.parametrize(
    ("kind", "unit", "ending", "kept"),
    [
        ("index", "chunks", "cancelled", "34 of 90 chunks were added, and their vectors are kept"),
        ("run", "questions", "paused", "34 of 90 questions are retrieved and kept."),
        ("documents", "files", "cancelled", "34 of 90 files are read and stay in the corpus. Add the others again"),
    ],
)
def test_a_job_that_a_person_stopped_has_not_failed(
    workspace: Workspace, kind: str, unit: str, ending: str, kept: str
) -> None:
    arguments = {"name": "i", "files": [["a.txt", "gone/a.txt"]], "folder": "gone"}
    job = going(workspace, kind, arguments, done=34, total=90, unit=unit)
    app = show("home")
    workspace.store.jobs.update(job.id, status="cancelled", error="Stopped.", finished=time.time())
    checked(app.run())
    assert f"The job: {ending}" in toasts(app)
    said = card(app)
    assert f"**The job** {ending}" in said
    assert kept in said
    assert "fail" not in said.lower()
    resumable = [b.label for b in app.sidebar.button if b.key == f"resume-{job.id}"]
    assert resumable == ([] if kind == "documents" else ["Resume"]), "the copies of a cancelled upload are deleted"


def test_beyond_two_jobs_the_others_are_one_line_so_that_the_navigation_stays_in_view(workspace: Workspace) -> None:
    store = workspace.store
    for name in "abcde":
        job = store.jobs.add("run", f"Run {name}", store.corpora.get("notes").id, {"name": name})
        store.jobs.update(job.id, status="failed", error="No such index.", finished=time.time())
    lines = show("home").sidebar.expander
    assert [line.label for line in lines if not line.label.startswith(":red")] == ["3 more jobs"]
    assert not any(line.proto.expanded for line in lines)


# A second press


@pytest.mark.parametrize(
    ("page", "label", "params"), [("index", "Build index", {"tab": "New index"}), ("run", "Run", {})]
)
def test_who_presses_in_the_same_moment_is_told_that_it_runs_already(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, page: str, label: str, params: dict[str, str]
) -> None:
    first, second = show(page, **params), show(page, **params)
    button(first, label).click()
    checked(first.run())
    [job] = workspace.store.jobs.all()
    monkeypatch.setattr(job_panel, "active_job", lambda *_, **__: None)  # looked up a moment before the job was there
    button(second, label).click()
    checked(second.run())
    assert [each.id for each in workspace.store.jobs.all()] == [job.id]
    assert f"{job.title} is waiting or running already. Nothing was started a second time." in toasts(second)
