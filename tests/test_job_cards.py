"""What pages tell of jobs: the cards of those that ended badly, buttons while one is active, times learnt here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

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
