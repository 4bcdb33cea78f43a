"""The background jobs in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ragviz.core.digests import new_id
from ragviz.core.errors import NotFoundError
from ragviz.core.job import Job
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.schema import record
from ragviz.store.transactions import Repository, is_text
from ragviz.text.untrusted import storable

_SUBMITTING = 7_261_766_070  # PostgreSQL's advisory lock for jobs that are created once


class StoredJobs(Repository):
    """Background jobs; a change of a job counts as a change of nothing."""

    def add(self, kind: str, title: str, corpus_id: str, arguments: Mapping[str, Any]) -> Job:
        """Create a queued job."""
        return self.add_once(kind, title, corpus_id, arguments, lambda _: None)[0]

    @repeated
    def add_once(
        self,
        kind: str,
        title: str,
        corpus_id: str,
        arguments: Mapping[str, Any],
        duplicates: Callable[[Sequence[Job]], Job | None],
        press: str = "",
        since: float | None = None,
    ) -> tuple[Job, bool]:
        """Create a queued job, unless `duplicates` finds it among those that may be it already.

        Those are the jobs with the idempotency key `press` ("" has none), and of its kind and corpus the queued and
        running ones and those created at the time `since` or later. Returns the job, and whether it is new. Of two
        callers at once, also in two processes, the second sees the job of the first. `duplicates` may raise, and then
        nothing is created.
        """
        jobs = schema.jobs.c
        recent = sa.or_(jobs.status.in_(("queued", "running")), sa.false() if since is None else jobs.created >= since)
        pressed = sa.and_(jobs.press == press, sa.literal(bool(press)))
        seen = sa.or_(sa.and_(jobs.kind == kind, jobs.corpus_id == corpus_id, recent), pressed)
        row: dict[str, Any] = {"id": new_id(), "kind": kind, "title": title, "corpus_id": corpus_id, "status": "queued"}
        row |= {"done": 0, "unit": "", "message": "", "host": "", "cancel": False, "result": {}, "error": ""}
        row = storable(row | {"press": press, "arguments": dict(arguments), "created": time.time()})
        with self._transactions.writing() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SUBMITTING)))
            found = connection.execute(sa.select(schema.jobs).where(seen).order_by(jobs.created))
            existing = duplicates([record(Job, each) for each in found])
            if existing is None:
                connection.execute(schema.jobs.insert().values(**row))
        return (self.get(str(row["id"])), True) if existing is None else (existing, False)

    @repeated
    def update(self, job_id: str, **values: Any) -> None:
        """Write some columns of a job's row; `result` is a dictionary."""
        with self._transactions.writing() as connection:
            connection.execute(schema.jobs.update().where(schema.jobs.c.id == job_id).values(**storable(values)))

    def queue(self, job_id: str) -> bool:
        """Queue a job again; False when it is running, done or deleted."""
        return self._free(job_id, status="queued", error="", finished=None, created=time.time())

    def claim(self, job_id: str, **values: Any) -> bool:
        """Set a job running for one process, with its `values`; False when another one took or finished the job."""
        return self._free(job_id, status="running", **values)

    @repeated
    def _free(self, job_id: str, **values: Any) -> bool:
        """Write columns of a job that neither runs nor is done, and is not to stop any more; False without one."""
        jobs = schema.jobs
        free = jobs.update().where(jobs.c.id == job_id, jobs.c.status.not_in(("running", "done")))
        with self._transactions.writing() as connection:
            return connection.execute(free.values(cancel=False, **values)).rowcount == 1

    def all(self, limit: int = 100) -> list[Job]:
        """Return the jobs, the newest first."""
        rows = self._rows(sa.select(schema.jobs).order_by(schema.jobs.c.created.desc()).limit(limit))
        return [record(Job, row) for row in rows]

    def get(self, job_id: str) -> Job:
        """Return a job by id, or raise NotFoundError."""
        rows = self._rows(sa.select(schema.jobs).where(schema.jobs.c.id == job_id if is_text(job_id) else sa.false()))
        if not rows:
            raise NotFoundError(f"There is no job '{job_id}'. `ragviz jobs` lists them.")
        return record(Job, rows[0])

    def is_cancelled(self, job_id: str) -> bool:
        """Return whether a job is to stop; reads nothing else of it, as its arguments may be large."""
        return any(row.cancel for row in self._rows(sa.select(schema.jobs.c.cancel).where(schema.jobs.c.id == job_id)))

    @repeated
    def delete(self, job_id: str) -> None:
        """Delete a job; its results stay."""
        with self._transactions.writing() as connection:
            connection.execute(schema.jobs.delete().where(schema.jobs.c.id == job_id))
