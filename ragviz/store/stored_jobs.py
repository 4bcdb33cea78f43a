"""The background jobs in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from ragviz.core.digests import new_id
from ragviz.core.errors import NotFoundError
from ragviz.core.job import ACTIVE, Job, NewJob
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.schema import columns, record
from ragviz.store.transactions import Repository, is_text, note

_SUBMITTING = 7_261_766_070  # PostgreSQL's advisory lock for jobs that are created, or start, once
_ACTIVE = sa.select(schema.jobs).where(schema.jobs.c.status.in_(ACTIVE)).order_by(schema.jobs.c.created)


class StoredJobs(Repository):
    """Background jobs; a change of a job counts as a change of nothing."""

    def add(self, *new: Any, **place: Any) -> Job:
        """Create a queued job of the fields of a `NewJob`; `place` are further columns of its row."""
        return self.add_once(NewJob(*new), lambda _: None, **place)[0]

    @repeated
    def add_once(
        self,
        new: NewJob,
        duplicates: Callable[[Sequence[Job]], Job | None],
        press: str = "",
        since: float | None = None,
        **place: Any,
    ) -> tuple[Job, bool]:
        """Create a queued job, unless `duplicates` finds it among those that may be it already.

        Those are the jobs with the idempotency key `press` ("" has none), and of its kind and corpus the active ones
        and those created at the time `since` or later. Returns the job, and whether it is new. Of two
        callers at once, also in two processes, the second sees the job of the first. `duplicates` may raise, and then
        nothing is created. The event of `new` is stored with it.
        """
        jobs = schema.jobs.c
        recent = sa.or_(jobs.status.in_(ACTIVE), sa.false() if since is None else jobs.created >= since)
        pressed = sa.and_(jobs.press == press, sa.literal(bool(press)))
        seen = sa.or_(sa.and_(jobs.kind == new.kind, jobs.corpus_id == new.corpus_id, recent), pressed)
        row: dict[str, Any] = columns(new, schema.jobs) | {"id": new_id(), "status": "queued"}
        row |= {"done": 0, "unit": "", "message": "", "host": "", "cancel": False, "result": {}, "error": ""}
        row |= {"person": "", "home": "", "folder": ""} | place
        row |= {"press": press, "created": time.time()}
        with self._one_at_a_time() as connection:
            found = connection.execute(sa.select(schema.jobs).where(seen).order_by(jobs.created))
            existing = duplicates([record(Job, each) for each in found])
            if existing is None:
                connection.execute(schema.jobs.insert().values(**row))
                if new.event is not None:
                    note(connection, replace(new.event, details={**new.event.details, "job": row["id"]}))
        return (self.get(str(row["id"])), True) if existing is None else (existing, False)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[Connection]:
        with self._transactions.writing() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SUBMITTING)))
            yield connection

    @repeated
    def take(self, choose: Callable[[Sequence[Job]], Job | None], **values: Any) -> Job | None:
        """Write columns of the job that is chosen among the active ones, and return it; None when none is.

        Of two callers at once, also in two processes, the second sees what the first wrote.
        """
        with self._one_at_a_time() as connection:
            chosen = choose([record(Job, row) for row in connection.execute(_ACTIVE)])
            if chosen is not None:
                written = schema.jobs.update().where(schema.jobs.c.id == chosen.id)
                connection.execute(written.values(**values))
        return chosen

    @repeated
    def update(self, job_id: str, **values: Any) -> None:
        """Write some columns of a job's row; `result` is a dictionary."""
        with self._transactions.writing() as connection:
            connection.execute(schema.jobs.update().where(schema.jobs.c.id == job_id).values(**values))

    def queue(self, job_id: str, **place: Any) -> bool:
        """Queue a job anew, with columns of its `place`; False when a process is at it, and when it is done or gone."""
        jobs = schema.jobs.c
        free = sa.or_(jobs.status.not_in((*ACTIVE, "done")), sa.and_(jobs.status == "queued", jobs.pid.is_(None)))
        again = {"status": "queued", "error": "", "finished": None, "created": time.time()}
        return self._changed(job_id, free, again | place)

    def claim(self, job_id: str, **values: Any) -> bool:
        """Set a job running whose process was started, with `values`; False when it was cancelled, taken or deleted."""
        return self._changed(job_id, schema.jobs.c.status == "starting", {"status": "running"} | values)

    def note_process(self, job_id: str, pid: int, pid_started: float) -> None:
        """Note the process that was started for a job, until it takes the job itself."""
        values = {"pid": pid, "pid_started": pid_started}
        self._changed(job_id, schema.jobs.c.status == "starting", values)

    @repeated
    def _changed(self, job_id: str, where: sa.ColumnElement[bool], values: Mapping[str, Any]) -> bool:
        """Write columns of a job that is not to stop any more; False when it is not as it has to be."""
        changed = schema.jobs.update().where(schema.jobs.c.id == job_id, where)
        with self._transactions.writing() as connection:
            return connection.execute(changed.values(cancel=False, **values)).rowcount == 1

    def all(self, limit: int = 100) -> list[Job]:
        """Return the newest jobs, and all that are active, the newest first."""
        jobs = schema.jobs.c
        newest = sa.select(jobs.id).order_by(jobs.created.desc()).limit(limit).subquery()
        of = sa.or_(jobs.status.in_(ACTIVE), jobs.id.in_(sa.select(newest.c.id)))
        return [record(Job, row) for row in self._rows(sa.select(schema.jobs).where(of).order_by(jobs.created.desc()))]

    def with_press(self, press: str) -> bool:
        """Return whether there is a job with this idempotency key."""
        return bool(self._rows(sa.select(schema.jobs.c.id).where(schema.jobs.c.press == press)))

    def active(self) -> list[Job]:
        """Return the jobs that wait, or that a process was started for, the oldest first."""
        return [record(Job, row) for row in self._rows(_ACTIVE)]

    def sums(self) -> Sequence[Row[Any]]:
        """Return, by kind and status, how many `jobs`, when the `first` was made, seconds `waited` and `worked`."""
        jobs = schema.jobs.c
        waited, worked = sa.func.sum(jobs.started - jobs.created), sa.func.sum(jobs.finished - jobs.started)
        counts = (sa.func.count().label("jobs"), sa.func.min(jobs.created).label("first"))
        sums = (waited.label("waited"), worked.label("worked"))
        return self._rows(sa.select(jobs.kind, jobs.status, *counts, *sums).group_by(jobs.kind, jobs.status))

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
