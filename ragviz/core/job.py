"""A background job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragviz.core.event import Event

JobStatus = Literal["queued", "starting", "running", "done", "failed", "cancelled", "interrupted"]
ACTIVE = ("queued", "starting", "running")
"""Statuses of jobs that wait, or are done by a process."""
ANYWHERE: Mapping[str, Any] = {"host": "", "home": "", "folder": "", "pid": None, "pid_started": None}
"""Where a job is done that no process does, and that needs nothing of a machine."""


@dataclass(frozen=True, slots=True)
class Job:
    """A long task in a child process. `done` of `total` in units of `unit`; `total` is None while unknown.

    `press` is the idempotency key of the button's press that started it, "" without one. One that waits and has a `pid`
    is done by that process when its turn comes; without one, any process starts another for it: on the machine `host`,
    with the home `home` and the `.env` of `folder`, or on any machine where these are "".
    """

    id: str
    kind: str
    title: str
    corpus_id: str
    arguments: Mapping[str, Any]
    status: JobStatus
    done: int
    total: int | None
    unit: str
    message: str
    created: float
    started: float | None
    heartbeat: float | None
    finished: float | None
    host: str
    pid: int | None
    pid_started: float | None
    cancel: bool
    result: Mapping[str, Any]
    error: str
    press: str = ""
    person: str = ""
    home: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that has not been created yet: its arguments were checked, and are what JSON can hold.

    `event` is what a person asked for; it is stored with the job.
    """

    kind: str
    title: str
    corpus_id: str
    arguments: Mapping[str, Any]
    event: Event | None = None
