"""How it stands with a job: how far it is, what is kept of it, whether it is mended or can go on."""

from __future__ import annotations

import json
from pathlib import Path

from ragviz.core.job import Job
from ragviz.jobs.queue import made_by
from ragviz.jobs.tasks import KINDS
from ragviz.workspace import Workspace


def progress_words(job: Job) -> str:
    """Return how far a job is: its stage while what there is to do is not known yet, "" before it began."""
    if job.total is None:
        return job.message if job.status == "running" else ""
    return f"{job.done:,} of {job.total:,} {job.unit}"


def note(workspace: Workspace, job: Job) -> str:
    """Return what a person should know of a job beside its progress: its stage, what is kept of it, why it failed."""
    if job.status == "running" and job.total is not None:
        return job.message
    if job.status == "cancelled":
        return kept(job)
    log = log_to_read(workspace, job)
    return f"{job.error} Log: {log}" if log else job.error


def log_to_read(workspace: Workspace, job: Job) -> Path | None:
    """Return the log of a failed job; None when its process printed nothing, or the error names it."""
    log = workspace.log_of(job.id)
    unnamed = job.status == "failed" and str(log) not in job.error
    return log if unnamed and log.exists() and log.stat().st_size else None


def kept(job: Job) -> str:
    """Say what is left of a job that was cancelled or interrupted, as a sentence.

    >>> from ragviz.core.job import Job, NewJob
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
