"""What pages tell of jobs: the cards of those that ended badly, buttons while one is active, times learnt here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from subprocess import run as process

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
