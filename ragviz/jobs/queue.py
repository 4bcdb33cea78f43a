"""Jobs waiting, running and ended: started once however often a button is pressed, cancelled, listed.

A row outlives the process, the page and the browser. A job whose process has ended is `interrupted`, and `start` on the
same row resumes it. A job waits until its turn comes and the machine has room; whoever looks then starts its process:
the process of a job that ends, a page, `ragviz jobs`, a worker. On PostgreSQL that may be on any machine.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from ragviz.core import processes
from ragviz.core.configuration import Run
from ragviz.core.errors import RagvizError, StorageError, UsageError
from ragviz.core.job import ACTIVE as ACTIVE
from ragviz.core.job import ANYWHERE, Job, NewJob
from ragviz.core.settings import TYPED
from ragviz.core.share import Share
from ragviz.jobs import carrier, turns
from ragviz.jobs.tasks import HELP, KINDS
from ragviz.store import database
from ragviz.store.store import Store
from ragviz.workspace import Workspace

UPLOADS_KEPT = 24 * 3600.0
"""Seconds in which an upload that was interrupted, or has files to be confirmed, can be resumed."""
SILENCE = 60.0
"""Seconds without a heartbeat after which a job on another machine counts as interrupted."""
TURN = 0.5
"""Seconds between two checks whether the turn of a waiting job has come."""
NO_WORKER = "No worker has been seen for a minute: start one with `ragviz worker`."
_log = logging.getLogger("ragviz")


@dataclass(frozen=True, slots=True)
class Press:
    """A press of a button: `key` names the button as it was drawn, `shown` is when it was last drawn before the press.

    All presses of one drawing have the same key, however late they arrive: it is an idempotency key.
    """

    key: str
    shown: float


def submit_once(workspace: Workspace, new: NewJob, press: Press | None = None) -> tuple[Job, bool]:
    """Create a job, and start it when there is room, unless it is there already: a second press.

    That is a job, active or ended, that a press with this key started, whatever its arguments; one with the same
    arguments that is active; and one with the same arguments that was created since the button was shown: whoever
    pressed it could not see that job. Returns the job, and whether it was started now. Two processes that submit at
    once start one.

    Raises:
        UsageError: an active job makes the same index or run with other choices.
        StorageError: as `start`.

    """
    wanted, key = _identity(new.arguments), press.key if press else ""
    since = press.shown if press else None

    def duplicate(seen: Sequence[Job]) -> Job | None:
        if key and (pressed := _pressed(seen, key)):
            return refreshed(pressed)
        current = [refreshed(job) for job in seen]
        alive = [job for job in current if job.status in ACTIVE]
        unseen = [job for job in current if since is not None and job.created >= since]
        same = next((job for job in (*alive, *unseen) if _identity(job.arguments) == wanted), None)
        kind = KINDS.get(new.kind)
        if same is None and kind is not None and kind.makes is not None:
            made = kind.made(kind.makes[0], new.arguments)
            for job in alive:
                if kind.made(kind.makes[0], job.arguments) == made:
                    choices = "with other choices: wait for its end, or cancel it"
                    raise UsageError(f"“{job.title}” is active already, {choices}.")
        return same

    row = {"person": workspace.person.name, **place(workspace, new)}
    job, is_new = workspace.store.jobs.add_once(new, duplicate, key, since, **row)
    if is_new:
        _log.info("Submitted: %s", job.title, extra=about(job))
    return (_started(workspace, job) if is_new else job), is_new


_typed: dict[str, Mapping[str, str]] = {}
"""Settings that the persons typed whose jobs wait in this process, by the ids of the jobs: they are stored nowhere."""


def _identity(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that tell a job from another, as JSON gives them back; of an upload, its own name for it."""
    copies = ("folder", "files") if "upload" in arguments else ()  # a second press copies the files a second time
    told = {name: value for name, value in arguments.items() if name not in copies}
    return cast(dict[str, Any], json.loads(json.dumps(told)))


def place(workspace: Workspace, job: Job | NewJob, process: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return where a job is to be done, as columns of its row; `process` is one that does it when its turn comes.

    One of a person who typed settings waits for this process, which holds them, to start it.
    """
    process = process or (processes.this_process() if workspace.typed else None)
    if process is None and _can_be_done_elsewhere(workspace, job):
        return dict(ANYWHERE)
    known = process or {"pid": None, "started": None}
    return _here(workspace) | {"pid": known["pid"], "pid_started": known["started"]}


def _here(workspace: Workspace) -> dict[str, Any]:
    home = str(workspace.settings.home)
    return {"host": socket.gethostname(), "home": home, "folder": str(workspace.opened_in)}


def _can_be_done_elsewhere(workspace: Workspace, job: Job | NewJob) -> bool:
    """Return whether a job needs nothing of this machine: no file, no local index that was built or that it builds."""
    store, settings = workspace.store, workspace.settings
    typed = workspace.typed or os.environ.get(TYPED)
    if typed or not (KINDS[job.kind].queue and store.is_shared and settings.elasticsearch_url):
        return False
    chosen = [job.arguments.get(name) or {} for name in ("config", "cut")]
    backends = [info.config.backend for info in store.indexes.all(job.corpus_id) if info.build]
    if swept := store.experiments.find(made_by(job, "experiment")):
        backends += [cell.index.backend for cell in swept.cells if not cell.run.system]
    return "local" not in (*backends, *(each.get("backend") for each in chosen))


def start(workspace: Workspace, job: Job) -> Job:
    """Queue a job that is interrupted, failed or cancelled, and start its process when its turn has come.

    It is the job of who resumes it, who pays, and whose settings it gets.

    Raises:
        UsageError: the job is done, or another process is doing it.
        StorageError: its log cannot be written; the job has failed, and can be started again.

    """
    note_interrupted(workspace.store, workspace.store.jobs.get(job.id))
    if not workspace.store.jobs.queue(job.id, person=workspace.person.name, **place(workspace, job)):
        raise not_free(workspace.store.jobs.get(job.id))
    return _started(workspace, job)


def _started(workspace: Workspace, job: Job) -> Job:
    if workspace.typed:
        _typed[job.id] = workspace.typed
    else:
        _typed.pop(job.id, None)  # of somebody else, who queued it before
    start_waiting(workspace)
    now = workspace.store.jobs.get(job.id)
    if now.status == "queued" and not now.host:
        carrier.announce(workspace, now)
    if now.status == "failed" and (now.started or 0) < now.created:  # it had no process
        raise StorageError(now.error)
    return now


def start_waiting(workspace: Workspace, most: int | None = None) -> list[subprocess.Popen[bytes]]:
    """Start the processes of jobs that wait, whose turn has come, and that there is room for; `most` of them.

    These are jobs of this home, and of RAGVIZ_QUEUES those that any machine may do. A process reads the environment of
    this one, including keys, and the `.env` of the folder that its job was submitted from, or this one runs in. It
    outlives this one, and prints to `Workspace.log_of`. A process with the settings that a person typed starts none:
    they are that person's own. Whoever started it looks again when it has ended.
    """
    if os.environ.get(TYPED):
        return []
    if workspace.store.is_shared:
        _offer_help(workspace)
    me, home = processes.this_process(), str(workspace.settings.home)
    mine = {"status": "starting", "host": me["host"], "home": home, "pid": me["pid"], "pid_started": me["started"]}
    started: list[subprocess.Popen[bytes]] = []

    def may_start(job: Job) -> bool:
        return job.id in _typed or (job.pid is None and job.home in (home, ""))

    while most is None or len(started) < most:
        job = take(workspace, may_start, **mine)
        if job is None:
            break
        typed = _typed.pop(job.id, {})
        try:
            process = _process(job, workspace, typed)
        except OSError as error:
            refused = database.explained(error) or f"No process could be started for a job ({error.strerror})."
            workspace.store.jobs.update(job.id, status="failed", error=str(refused), finished=time.time())
        else:
            workspace.store.jobs.note_process(job.id, process.pid, processes.start_of(process.pid))
            _log.info("Started process %d: %s", process.pid, job.title, extra=about(job))
            threading.Thread(target=_follow, args=(workspace, process, job, bool(typed)), daemon=True).start()
            started.append(process)
    return started


def about(job: Job) -> dict[str, str]:
    """Return whose job it is and what it makes, as a line of the log has them."""
    return {"person": job.person, "job": job.id, "run": made_by(job, "run")}


def _follow(workspace: Workspace, process: subprocess.Popen[bytes], job: Job, starts_next: bool) -> None:
    """Wait for the end of a process, so that it leaves no zombie; start the next jobs where it does not itself."""
    status = process.wait()
    level = logging.WARNING if status < 0 else logging.INFO  # killed by a signal, of which it says nothing itself
    _log.log(level, "Process %d ended with exit status %d: %s", process.pid, status, job.title, extra=about(job))
    if starts_next:
        with suppress(RagvizError):  # whoever looks next starts them
            start_waiting(workspace)


def _offer_help(workspace: Workspace) -> None:
    """Create a job of this home for each share of a job that is done elsewhere, once."""
    here = processes.place(workspace.settings.home)
    for share in workspace.store.shares.all():
        kind, press = HELP[share.noun], f"{share.id} {here}"
        if share.place == here or KINDS[kind].queue not in workspace.settings.queues.split(","):
            continue
        if not workspace.store.jobs.with_press(press) and not is_abandoned(workspace.store, share):
            arguments = {share.noun: share.subject, "share": share.id}
            more = _here(workspace) | {"person": share.person}
            help_with = NewJob(kind, f"Help with {share.title}", share.corpus_id, arguments)
            workspace.store.jobs.add_once(help_with, partial(_pressed, press=press), press, **more)


def is_abandoned(store: Store, share: Share) -> bool:
    """Return whether the process that offered a share is gone: what is done of it may never be used."""
    offering = [
        job
        for job in store.jobs.active()
        if job.pid == share.facts.get("pid") and processes.place(Path(job.home), job.host) == share.place
    ]
    return not any(refreshed(job).status in ACTIVE for job in offering)


def _pressed(seen: Sequence[Job], press: str) -> Job | None:
    return next((job for job in seen if job.press == press), None)


def take(workspace: Workspace, wanted: Callable[[Job], bool], **values: Any) -> Job | None:
    """Write `values` into the row of the first of the `wanted` jobs that may start now, and return it, or None."""

    def choose(active: Sequence[Job]) -> Job | None:
        current = [job for job in map(refreshed, active) if job.status in ACTIVE]
        mine = [
            job for job in current if (job.host, job.home) == here or (not job.host and KINDS[job.kind].queue in queues)
        ]
        return next(filter(wanted, turns.startable(mine, free)), None)

    here, free = (socket.gethostname(), str(workspace.settings.home)), turns.room(workspace.settings)
    queues = workspace.settings.queues.split(",")
    if choose(workspace.store.jobs.active()) is None:  # without the lock: mostly nothing can start
        return None
    return workspace.store.jobs.take(choose, heartbeat=time.time(), **values)


def take_over(workspace: Workspace) -> None:
    """Note the jobs whose process has ended here; queue anew one whose machine is lost, and that any may do."""

    def lost(active: Sequence[Job]) -> Job | None:
        silent = (job for job in active if job.host not in ("", here) and refreshed(job).status == "interrupted")
        return next((job for job in silent if _can_be_done_elsewhere(workspace, job)), None)

    here, jobs = socket.gethostname(), workspace.store.jobs
    active = jobs.active()
    for job in active:
        if job.host == here:
            note_interrupted(workspace.store, job)
    if lost(active) is not None and (taken := jobs.take(lost, status="queued", **ANYWHERE)) is not None:
        _log.info("Taken over from %s, which is silent: %s", taken.host, taken.title, extra=about(taken))


def places(workspace: Workspace) -> dict[str, int]:
    """Return the places in the queue of the jobs that wait, from 1 on, by their ids."""
    active = [job for job in map(refreshed, workspace.store.jobs.active()) if job.status in ACTIVE]
    queued_at = {job.id: (job.host, job.home) if job.host else KINDS[job.kind].queue for job in active}
    queues = [turns.in_turn([job for job in active if queued_at[job.id] == at]) for at in {*queued_at.values()}]
    return {job.id: number for waiting in queues for number, job in enumerate(waiting, 1)}


def _process(job: Job, workspace: Workspace, typed: Mapping[str, str]) -> subprocess.Popen[bytes]:
    log = workspace.log_of(job.id)
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | dict(typed) | {"RAGVIZ_HOME": str(workspace.settings.home)}  # "" counts as not set
    if typed:
        environment[TYPED] = ",".join(typed)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own module, by id
            [sys.executable, "-P", "-m", "ragviz.jobs", job.id],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=job.folder or workspace.opened_in,  # whose `.env` it reads
            env=environment,
        )


def note_interrupted(store: Store, job: Job) -> None:
    """Record that the process of a job has ended, so that another can do it."""
    now = refreshed(job)
    if now.status == "interrupted":
        store.jobs.update(job.id, status="interrupted", error=now.error)


def not_free(job: Job) -> UsageError:
    """Return the error that says why a job cannot be started."""
    if job.status == "done":
        return UsageError(f"Job {job.id} ({job.title}) is done already: start a new one.")
    return UsageError(f"Job {job.id} is being done already (process {job.pid}).")


def cancel(workspace: Workspace, job: Job) -> None:
    """Ask a job to stop; it stops at its next step, and what it finished is kept."""
    if refreshed(job).status in ("queued", "starting", "interrupted"):
        workspace.store.jobs.update(job.id, status="cancelled", cancel=True, finished=time.time())
        if (discard := KINDS[job.kind].cancelled) is not None:
            discard(workspace, job)
    else:
        workspace.store.jobs.update(job.id, cancel=True)


def listed(workspace: Workspace, limit: int = 100) -> list[Job]:
    """Return the newest jobs first, with their current status, and delete old uploads. The store is only read."""
    from ragviz.documents import corpora

    newest = [refreshed(job) for job in workspace.store.jobs.all(limit)]
    folders_in_use = {str(job.arguments.get("folder")) for job in newest if job.status in ACTIVE}
    for folder in corpora.staged_folders(workspace, UPLOADS_KEPT):
        if str(folder) not in folders_in_use:
            corpora.discard_staged(workspace, folder)
    return newest


def active_runs(workspace: Workspace) -> set[str]:
    """Return the names of runs with a queued or running job; a run without one that is not done is interrupted."""
    active = [job for job in map(refreshed, workspace.store.jobs.active()) if job.status in ACTIVE]
    ids = {made_by(job, "experiment") for job in active} - {""}
    swept = [workspace.store.experiments.find(each) for each in ids]
    names = {e.run_name(cell.name, side) for e in swept if e is not None for cell in e.cells for side in ("", "test")}
    return names | {made_by(job, "run") for job in active} - {""}


def run_statuses(workspace: Workspace, runs: Sequence[Run]) -> dict[str, str]:
    """Return the status of runs by id; one that is not done and that no job is making is "interrupted"."""
    active = active_runs(workspace)
    return {r.id: "interrupted" if r.status == "running" and r.name not in active else r.status for r in runs}


def refreshed(job: Job) -> Job:
    """Return the job with its current status: interrupted when it is active, and its process has ended."""
    if job.status not in ACTIVE or (job.status == "queued" and job.pid is None):
        return job
    alive = processes.is_alive(job.host, job.pid, job.pid_started)
    why = f"Its process on {job.host} ended unexpectedly (a crash, a restart or a lack of memory)."
    if alive is None:  # it is on another machine
        alive = time.time() - max(job.heartbeat or 0, job.created) < SILENCE
        why = f"Nothing was heard of it on {job.host} for {SILENCE:.0f} seconds."
    if alive:
        return job
    return replace(job, status="interrupted", error=f"{why} Resume it: nothing is done twice.")


def made_by(job: Job | NewJob, noun: str) -> str:
    """Return the name or id of the index, run or experiment that a job makes, "" when it makes none."""
    return KINDS[job.kind].made(noun, job.arguments)


def place_words(place: int) -> str:
    """Say at which place in the queue a job waits.

    >>> place_words(3)
    'Waiting: place 3 in the queue'
    """
    return f"Waiting: place {place:,} in the queue"


def without_worker(workspace: Workspace, jobs: Iterable[Job]) -> frozenset[str]:
    """Return the ids of the waiting jobs that are left to workers, where no worker was seen; by one query at most."""
    own = workspace.settings.queues.split(",")
    waiting = (job for job in jobs if job.status == "queued" and not job.host)
    left = {job.id for job in waiting if KINDS[job.kind].queue not in own}
    return frozenset(left if left and workspace.store.lacks_workers() else ())


def waits_for(job: Job, unserved: Collection[str]) -> str:
    """Return as a sentence what a job waits for beside its turn, "" for nothing; `unserved` as `without_worker`."""
    if job.id in unserved:
        return NO_WORKER
    elsewhere = job.status == "queued" and job.pid is None and job.host not in ("", socket.gethostname())
    return f"It needs files of {job.host}, and waits for that machine." if elsewhere else ""


def progress_words(job: Job, place: int | None = None) -> str:
    """Return how far a job is: its `place` while it waits, its stage until it is known what there is to do.

    "" for one that is done: what it found to be made already it has not counted.
    """
    if job.status == "done":
        return ""
    if job.status == "queued":
        return place_words(place) if place is not None else ""
    if job.total is None:
        return job.message if job.status == "running" else ""
    return f"{job.done:,} of {job.total:,} {job.unit}"


def note(workspace: Workspace, job: Job, unserved: Collection[str]) -> str:
    """Return what to know of a job beside its progress: its stage, what it waits for, what is kept, why it failed.

    `unserved` are the ids of jobs `without_worker`.
    """
    if job.status == "running" and job.total is not None:
        return job.message
    if job.status == "cancelled":
        return kept(job)
    if why := waits_for(job, unserved):
        return why
    log = log_to_read(workspace, job)
    return f"{job.error} Log: {log}" if log else job.error


def log_to_read(workspace: Workspace, job: Job) -> Path | None:
    """Return the log of a failed job; None when its process printed nothing, or the error names it."""
    log = workspace.log_of(job.id)
    unnamed = job.status == "failed" and str(log) not in job.error
    return log if unnamed and log.exists() and log.stat().st_size else None


def kept(job: Job) -> str:
    """Say what is left of a job that was cancelled or interrupted, as a sentence.

    >>> from ragviz.core.job import Job
    >>> run = Job("", "run", "Run r", "", {}, "cancelled", 34, 90, "questions", "", 0, 0, 0, 0, "", 0, 0, True, {}, "")
    >>> kept(run)
    '34 of 90 questions are retrieved and kept.'
    """
    kept_of = KINDS[job.kind].kept
    if isinstance(kept_of, str) and kept_of:
        return kept_of
    units = kept_of or {}
    nothing = units.get("", "Nothing was finished yet.")
    if not job.total or not job.done or ("" in units and job.unit not in units):
        words = nothing
    else:
        done = units.get(job.unit, f"{job.unit} are done and kept.")
        words = f"{job.done:,} of {job.total:,} {done}"
    return words if can_resume(job) else f"{words} Add the others again to read them."


def work_of(job: Job) -> str:
    """Return a key of the work of a job, the same for every job that does this work, also with another budget.

    The work is told by the name of the index or run that it makes, by the names of the files that it reads, else by
    its arguments.
    """
    kind = KINDS[job.kind]
    made: str | list[str] | None = None
    if kind.makes is not None:
        made = kind.made(kind.makes[0], job.arguments)
    elif "files" in job.arguments:
        made = sorted(name for name, _ in job.arguments["files"])
    others = {name: value for name, value in job.arguments.items() if name != "budget"}
    return json.dumps([job.kind, job.corpus_id, others if made is None else made], sort_keys=True)


def is_mended(workspace: Workspace, job: Job) -> bool:
    """Return whether what a job failed to do was done since, by any job or command, or has lost its subject."""
    store, ended = workspace.store, job.finished or job.heartbeat or job.created
    if job.corpus_id and store.ids_of([("corpus", job.corpus_id)]) == [None]:
        return True
    if share := job.arguments.get("share"):
        return store.shares.find(share) is None
    if made := made_by(job, "index"):
        info = store.indexes.find(made)
        return info is not None and info.corpus_id == job.corpus_id and bool(info.build) and (info.built or 0) > ended
    if made := made_by(job, "run"):
        run = store.runs.find(made)
        if run is None:
            return job.kind == "rejudge"
        return run.corpus_id == job.corpus_id and run.status == "done" and (run.finished or 0) > ended
    if made := made_by(job, "experiment"):
        experiment = store.experiments.find(made)
        if experiment is None:
            return True
        return experiment.confirmation is not None or (
            job.kind == "sweep" and len(experiment.finished) == len(experiment.cells)
        )
    return False


def can_resume(job: Job) -> bool:
    """Return whether a job that failed, was cancelled or interrupted can go on: a cancelled upload's files are gone."""
    return KINDS[job.kind].resumes_cancelled or job.status != "cancelled"
