"""The process that does a job: progress, heartbeat, stopping, and how it ended."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ragviz import logs
from ragviz.core import processes
from ragviz.core.call import Paid
from ragviz.core.digests import new_id
from ragviz.core.errors import Cancelled, Deleted, RagvizError, UsageError
from ragviz.core.event import Event
from ragviz.core.job import Job, NewJob
from ragviz.core.person import Person
from ragviz.core.settings import TYPED, Settings
from ragviz.core.stopping import SENTENCE, Progress, Stopping, following
from ragviz.jobs import queue
from ragviz.jobs.queue import kept, made_by, not_free, note_interrupted, refreshed
from ragviz.jobs.tasks import KINDS
from ragviz.store import database
from ragviz.store.store import Store
from ragviz.store.transactions import Kind as Noun
from ragviz.store.transactions import label
from ragviz.workspace import Workspace, open_workspace

_log = logging.getLogger("ragviz")
BEAT = 1.0
"""Seconds between two writes of a running job's progress within one stage of its work."""
LOOK = 0.25
"""Seconds between two checks whether a running job should stop."""


def perform(workspace: Workspace, job_id: str, watch: Progress | None = None) -> Job:
    """Do a job in this process, with its row, when its turn comes; `watch` gets its place, then progress.

    Its end is recorded in the row (`done`, `failed` with the sentence, `cancelled`) before an error is raised; what
    ends a job that was stopped says what is kept of it.

    Raises:
        UsageError: another process is doing it, or it is done.
        Deleted: what it works on was deleted meanwhile; the job's row is deleted too.
        RagvizError: whatever the task raised.

    """
    store = workspace.store
    job = store.jobs.get(job_id)
    note_interrupted(store, job)
    place = queue.place(workspace, job, processes.this_process())
    if not store.jobs.queue(job_id, person=workspace.person.name, **place):
        raise not_free(store.jobs.get(job_id))
    return _in_turn(workspace, job_id, watch)


def perform_new(workspace: Workspace, new: NewJob, watch: Progress | None = None) -> Job:
    """Create a job and do it in this process, so that the pages see it and a killed one can be resumed.

    After a usage error, which changed nothing and is raised to the caller, the row is deleted. Raises as `perform`.
    """
    row = {"person": workspace.person.name, **queue.place(workspace, new, processes.this_process())}
    job = workspace.store.jobs.add(new.kind, new.title, new.corpus_id, new.arguments, new.event, **row)
    try:
        return _in_turn(workspace, job.id, watch)
    except UsageError:
        workspace.store.jobs.delete(job.id)
        raise


def _in_turn(workspace: Workspace, job_id: str, watch: Progress | None) -> Job:
    """Do a job of this process once it may start; it may be cancelled while it waits. Then start those that wait."""
    store = workspace.store
    try:
        while queue.take(workspace, lambda job: job.id == job_id, status="starting") is None:
            if store.jobs.get(job_id).status == "cancelled":
                raise Cancelled(SENTENCE)
            if watch is not None and (place := queue.places(workspace).get(job_id)):
                watch(0, None, "", queue.place_words(place))
            queue.start_waiting(workspace)
            time.sleep(queue.TURN)
    except KeyboardInterrupt:
        store.jobs.update(job_id, status="cancelled", error=SENTENCE, finished=time.time())
        raise
    try:
        return _perform(workspace, job_id, watch)
    finally:
        with suppress(RagvizError):  # whoever looks next starts them
            queue.start_waiting(workspace)


def _perform(workspace: Workspace, job_id: str, watch: Progress | None) -> Job:
    store, paid = workspace.store, workspace.paid
    job = store.jobs.get(job_id)
    kind = KINDS[job.kind]
    me = processes.this_process()
    place = {"host": me["host"], "pid": me["pid"], "pid_started": me["started"]}
    clock = {"started": time.time(), "heartbeat": time.time()}
    first = {"done": 0, "total": None, "unit": "", "message": kind.first}
    if not store.jobs.claim(job_id, error="", **place, **clock, **first):
        raise not_free(store.jobs.get(job_id))
    logs.of_process(**queue.about(job))
    _log.info("Started: %s", job.title)
    with _Heartbeat(store, job, watch) as beat, following(beat.stopping):
        try:
            _refuse_second(workspace, store.jobs.get(job_id))
            result = kind.made_before(workspace, job) if kind.made_before is not None else None
            result = result or kind.run(workspace, job.arguments, beat)
            beat.refuse_deleted()
        except BaseException as error:
            _record_end(workspace, job, beat, error, workspace.paid - paid)
            raise
    with store.noting(_ended(job, "done", workspace.paid - paid)):
        store.jobs.update(job_id, status="done", result=result, **beat.values(), finished=time.time())
    _log.info("Done: %s", job.title)
    job = store.jobs.get(job_id)
    if kind.done is not None:
        kind.done(workspace, job)
    return job


def _ended(job: Job, status: str, paid: Paid) -> Event:
    spent = {name: value for name, value in asdict(paid).items() if value}
    details = {"kind": job.kind, "status": status, **spent}
    return Event(new_id(), time.time(), job.person, "", "end", "job", job.id, job.title, details)


def _record_end(workspace: Workspace, job: Job, beat: _Heartbeat, error: BaseException, paid: Paid) -> None:
    """Write into its row how a job ended that did not come to its end; one that was stopped says what is kept of it."""
    store = workspace.store
    if beat.deleted or isinstance(error, Deleted):  # the error is a consequence
        helped_nobody = "share" in job.arguments and paid == Paid()
        with nullcontext() if helped_nobody else store.noting(_ended(job, "deleted", paid)):
            store.jobs.delete(job.id)
        workspace.log_of(job.id).unlink(missing_ok=True)
        raise Deleted(beat.deleted or str(error)) from error
    reached = beat.values()
    end = _end_of(error, replace(job, **reached), workspace.log_of(job.id), workspace.settings)
    _log.info("%s: %s. %s", end["status"].capitalize(), job.title, end["error"])
    # When the disk is full, this fails too, and the job will be interrupted.
    with suppress(RagvizError), store.noting(_ended(job, end["status"], paid)):
        store.jobs.update(job.id, **end, **reached, finished=time.time())
    if isinstance(error, Cancelled | KeyboardInterrupt):
        raise type(error)(end["error"]) from error


def _refuse_second(workspace: Workspace, job: Job) -> None:
    """Let only the first of two processes make a run, judge it again, or make those of an experiment."""
    made = made_by(job, "run"), made_by(job, "experiment")
    if not any(made):
        return
    for other in map(refreshed, workspace.store.jobs.all()):
        earlier = (other.started or 0, other.id) < (job.started or 0, job.id)
        same = (made_by(other, "run"), made_by(other, "experiment")) == made
        if other.status == "running" and other.id != job.id and same and earlier:
            what = f"Run '{made[0]}' is" if made[0] else "The runs of this experiment are"
            raise UsageError(f"{what} being made already (process {other.pid}): wait for it, or stop that.")


def _end_of(error: BaseException, job: Job, log: Path, settings: Settings) -> dict[str, str]:
    """Return how a job ended, by what it had reached, as columns of its row; its log gets the traceback of a defect."""
    if isinstance(error, Cancelled | KeyboardInterrupt):
        return {"status": "cancelled", "error": f"{SENTENCE} {kept(replace(job, status='cancelled'))}"}
    if isinstance(error, OSError) and (refused := database.explained(error)) is not None:
        return {"status": "failed", "error": str(refused)}
    if isinstance(error, RagvizError):
        return {"status": "failed", "error": str(error)}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as output:
        output.write(logs.line(settings, "A defect in ragviz", error) + "\n")
    report = f"Try again; if it fails again, report it with the traceback in {log}."
    return {"status": "failed", "error": f"A defect in ragviz: {type(error).__name__}. {report}"}


class _Heartbeat:
    """Receives the progress of a job, and writes it to its row once a second from a thread.

    Whether to stop is checked more often, and at each new step of the work, so that nothing is published after a
    cancellation. The job's thread follows `stopping` in whatever it waits for. A job stops when it is cancelled, and
    when something that it works on is deleted.
    """

    def __init__(self, store: Store, job: Job, watch: Progress | None) -> None:
        self._store, self._job_id, self._watch = store, job.id, watch
        self._subjects = KINDS[job.kind].subjects(job)
        self._ids: dict[tuple[Noun, str], str] = {}
        self._share = str(job.arguments.get("share", ""))
        self.deleted = ""  # the sentence, when something that the job works on was deleted
        self._latest: tuple[int, int | None, str, str] = (0, None, "", KINDS[job.kind].first)
        self.stopping, self._ended = Stopping(), threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> _Heartbeat:
        with suppress(RagvizError):  # the thread tries again
            self._look()  # notes the ids, so that an early deletion is noticed
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        if message != self._latest[3] and self._store.jobs.is_cancelled(self._job_id):
            self.stopping.drop(0)
        self._latest = (done, total, unit, message)
        if self.deleted:
            raise Deleted(self.deleted)
        if self.stopping.is_set():
            raise Cancelled(SENTENCE)
        if self._watch is not None:
            self._watch(done, total, unit, message)

    def refuse_deleted(self) -> None:
        """Raise Deleted when a subject was deleted before the next step of its work, and there was no next step."""
        self._look()
        if self.deleted:
            raise Deleted(self.deleted)

    def values(self) -> dict[str, Any]:
        return dict(zip(("done", "total", "unit", "message"), self._latest, strict=True))

    @property
    def _stage(self) -> tuple[object, ...]:
        """What changes with the stage of the work, but not with each of its steps."""
        _, total, unit, message = self._latest
        return (total, unit, message if total is None else "")

    def _write(self) -> None:
        written, stage = time.monotonic(), self._stage
        while not self._ended.wait(LOOK):
            try:
                if time.monotonic() - written >= BEAT or stage != self._stage:  # a new stage is shown at once
                    stage = self._stage
                    self._store.jobs.update(self._job_id, **self.values(), heartbeat=time.time())
                    written = time.monotonic()
                    # The job that this one helps with may be gone: then what it pays for is of no use.
                    share = self._store.shares.find(self._share) if self._share else None
                    if share is not None and queue.is_abandoned(self._store, share):
                        self.stopping.drop(0)
                self._look()
            except RagvizError as error:  # a store that cannot be reached now may be reachable at the next check
                _log.warning("Job %s: %s", self._job_id, error)

    def _look(self) -> None:
        """Check whether to stop, in two queries."""
        stops = self._store.jobs.is_cancelled(self._job_id)
        ids = self._store.ids_of([(kind, self._ids.get((kind, name), name)) for kind, name in self._subjects])
        for (kind, name), current in zip(self._subjects, ids, strict=True):
            noted_id = self._ids.get((kind, name))
            if current is not None:
                self._ids[kind, name] = current
            elif noted_id is not None:
                self.deleted = f"Stopped: {label(kind)} '{name}' that was worked on was deleted."
                stops = True
        if stops:
            self.stopping.drop(0)


def main() -> None:
    """Do the job named on the command line; its end is recorded in its row. Without one, start those that wait.

    Models stay in memory until a process has ended: another one, which waits for that end, starts the next jobs.
    """
    os.umask(0o077)
    try:
        workspace = open_workspace()
        logs.configure(workspace.settings)
        if len(sys.argv) == 1:
            sys.stdin.read()  # ends when the process that did a job has ended
            queue.start_waiting(workspace)
            return
    except RagvizError as error:
        sys.exit(str(error))
    problem = None
    try:
        workspace.person = Person(workspace.store.jobs.get(sys.argv[1]).person or workspace.person.name)
        _perform(workspace, sys.argv[1], None)
    except Cancelled:
        pass  # its end is recorded, and is no error
    except RagvizError as error:
        problem = logs.line(workspace.settings, str(error))
    except Exception as error:
        problem = logs.line(workspace.settings, "A defect in ragviz", error)
    with suppress(RagvizError):
        if queue.places(workspace) and not os.environ.get(TYPED):
            starter = [sys.executable, "-P", "-m", "ragviz.jobs"]
            subprocess.Popen(starter, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own module
    sys.exit(problem)
