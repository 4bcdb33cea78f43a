"""What can be done to jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz.core.job import Job
from ragviz.jobs import queue, worker
from ragviz.service.access import verb
from ragviz.workspace import Workspace

submit = verb("editor", "start a job", noted="never")(queue.submit_once)
resume = verb("editor", "resume a job")(queue.start)
perform = verb("editor", "start a job", noted="never")(worker.perform_new)
perform_again = verb("editor", "resume a job")(worker.perform)


@verb("editor", "cancel a job")
def cancel(workspace: Workspace, job: Job) -> None:
    """Ask a job to stop: one's own; that of somebody else only as an admin."""
    if job.person != workspace.person.name:
        workspace.person.need("admin", f"cancel a job of {job.person or 'somebody else'}")
    queue.cancel(workspace, job)


@verb("editor", "dismiss a job")
def note(workspace: Workspace, job: Job, result: Mapping[str, Any]) -> None:
    """Add to the result of a job that has ended."""
    workspace.store.jobs.update(job.id, result=dict(job.result) | dict(result))
