"""What pages tell of jobs: the cards of those that ended badly, buttons while one is active, times learnt here."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragviz.core import processes
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


def read(marked: Iterable[str]) -> str:
    """Markdown as a person reads it."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", "\n".join(marked))


def toasts(app: AppTest) -> str:
    return read(toast.value for toast in app.toast)


# Jobs that ended badly


def test_an_interrupted_build_stands_before_the_helpers_and_says_where_it_ended(workspace: Workspace) -> None:
    jobs, corpus_id = workspace.store.jobs, workspace.store.corpora.get("notes").id
    dead = processes.this_process() | {"started": 1.0}
    build = {"host": dead["host"], "pid": dead["pid"], "pid_started": dead["started"], "status": "running"}
    helper = {"host": "elsewhere", "heartbeat": time.time(), "status": "running"}
    added = [("index", "Build small", {"name": "small"}, build)]
    added += [("help-index", f"Help {n}", {"index": "x", "share": f"share {n}"}, helper) for n in range(2)]
    for kind, title, arguments, columns in added:
        job, _ = jobs.add_once(kind, title, corpus_id, arguments, lambda _: None)
        jobs.update(job.id, **columns)
    app = show("index")
    assert read(each.label for each in app.sidebar.expander) == ":orange[▲] **Build small** interrupted\n1 more job"
    assert f"Its process on {dead['host']} ended unexpectedly" in read(each.value for each in app.sidebar.caption)
    assert f"its build was interrupted on {dead['host']}" in read(each.value for each in app.main.markdown)


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
