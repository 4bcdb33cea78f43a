"""What can be done to jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz.core.job import Job
from ragviz.core.stopping import Progress
from ragviz.jobs import queue, worker
from ragviz.service.access import verb
from ragviz.workspace import Workspace

submit = verb("editor", "start a job", noted="never")(queue.submit_once)
perform = verb("editor", "start a job", noted="never")(worker.perform_new)


def _check_own(workspace: Workspace, job: Job, what: str) -> None:
    """Raise Refused for a job of somebody else, of whom only an admin takes it."""
    if job.person != workspace.person.name:
        workspace.person.need("admin", f"{what} a job of {job.person or 'somebody else'}")


@verb("editor", "resume a job")
def resume(workspace: Workspace, job: Job) -> Job:
    """Queue a job again, one's own; an admin's is one of somebody else from then on. Raises as `queue.start`."""
    _check_own(workspace, job, "resume")
    return queue.start(workspace, job)


@verb("editor", "resume a job")
def perform_again(workspace: Workspace, job_id: str, watch: Progress | None = None) -> Job:
    """Do a job as `resume`, in this process. Raises as `worker.perform`."""
    _check_own(workspace, workspace.store.jobs.get(job_id), "resume")
    return worker.perform(workspace, job_id, watch)


@verb("editor", "cancel a job")
def cancel(workspace: Workspace, job: Job) -> None:
    """Ask a job to stop: one's own; that of somebody else only as an admin."""
    _check_own(workspace, job, "cancel")
    queue.cancel(workspace, job)


@verb("editor", "dismiss a job")
def note(workspace: Workspace, job: Job, result: Mapping[str, Any]) -> None:
    """Add to the result of a job that has ended."""
    workspace.store.jobs.update(job.id, result=dict(job.result) | dict(result))
