"""A worker: a process that starts those of jobs, on any machine, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from ragviz import logs
from ragviz.core.errors import RagvizError, ServiceError, UsageError
from ragviz.jobs import carrier, queue, turns
from ragviz.jobs.tasks import KINDS
from ragviz.store import database
from ragviz.workspace import Workspace, open_workspace

LOOK = 2.0
"""Seconds between two looks of a worker at what it was not woken for."""
LONGEST_PAUSE = 10.0
"""Seconds at most between two attempts to reach a database that is away."""
PATIENCE = 5.0
"""Seconds that what wakes a worker waits for a connection, also to sign off when it is stopped."""
_log = logging.getLogger("ragviz")


def work(workspace: Workspace, queues: Sequence[str], concurrency: int | None) -> None:
    """Do jobs of these queues until a signal ends this process: each in a process of its own, which then goes on.

    No more than `concurrency` at once, by default as many as this machine has room for.

    Raises:
        UsageError: the store is SQLite, or may only be read; there is no such queue.
        StorageError: the home cannot be written.
        ServiceError: the database refuses what a worker needs from its first look on.

    """
    if not workspace.store.is_shared:
        raise UsageError(
            "Workers share a PostgreSQL database: set RAGVIZ_DATABASE_URL. With a SQLite file, the dashboard and the "
            "commands do the jobs themselves."
        )
    if workspace.store.is_read_only:
        raise UsageError(
            f"The database {workspace.store.address} can only be read by this role, and a worker writes: give "
            "RAGVIZ_DATABASE_URL a role that may."
        )
    database.try_writing(workspace.settings.home)
    known = {kind.queue for kind in KINDS.values()} - {""}
    if wrong := set(queues) - known:
        raise UsageError(f"There is no queue {', '.join(sorted(wrong))}: there are {', '.join(sorted(known))}.")
    os.environ["RAGVIZ_QUEUES"] = ",".join(queues)  # also for what a job that ends leaves to start the next
    if concurrency is not None:
        os.environ["RAGVIZ_JOBS"] = str(concurrency)
    workspace = open_workspace(workspace.settings.home)
    logs.configure(workspace.settings)
    for name in ("procrastinate", "psycopg"):  # they repeat with tracebacks what is told here in a line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _log.info("A worker takes jobs of %s", workspace.settings.queues)
    asyncio.run(_Serving(workspace).until_stopped())


class _Serving:
    """What a worker does until a signal stops it; it goes on when the database comes back, however long that takes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stopped = asyncio.Event()
        self._has_worked = False
        self._pause = 0.0  # seconds before the next attempt, 0 while the database is there

    async def until_stopped(self) -> None:
        from procrastinate.exceptions import ConnectorException
        from psycopg import Error

        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, self._stopped.set)
        while not self._stopped.is_set():
            try:
                await self._serve()
            except RagvizError as error:
                await self._wait(str(error))
            except (ConnectorException, Error) as error:
                reason = str(error.__cause__ or error).partition("\n")[0].rstrip(".")
                await self._wait(f"The database {self._workspace.store.address} cannot be used: {reason}.")

    async def _wait(self, reason: str) -> None:
        """Wait before the next attempt, longer each time; a worker that never worked is ended by the reason."""
        if self._stopped.is_set():
            return
        if not self._has_worked:
            raise ServiceError(reason)
        if not self._pause:
            _log.warning("%s Until it is back, this worker takes no jobs and tries again.", reason)
        self._pause = min(2 * self._pause or 0.5, LONGEST_PAUSE)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), self._pause)

    async def _serve(self) -> None:
        """Take jobs until this worker is stopped, or the database is away."""
        from procrastinate import App, PsycopgConnector

        await asyncio.to_thread(self._workspace.store.check)
        app = App(connector=PsycopgConnector(**carrier.connection(self._workspace), timeout=PATIENCE))
        app.task(name=carrier.TASK)(self._do_one)
        async with app.open_async():
            woken = app.run_worker_async(
                queues=self._workspace.settings.queues.split(","),
                concurrency=int(turns.room(self._workspace.settings).cores),
                delete_jobs="always",
                shutdown_graceful_timeout=0,  # the processes of jobs outlive their starter
                install_signal_handlers=False,
            )
            parts = [asyncio.create_task(each) for each in (self._stopped.wait(), self._look(), woken)]
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                part.cancel()
            for result in await asyncio.gather(*parts, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result
        if not self._stopped.is_set():  # it ended itself, since its second connection was lost
            raise ServiceError(f"The database {self._workspace.store.address} closed a connection.")

    async def _do_one(self) -> None:
        with suppress(RagvizError):  # the next look meets it too
            for process in await asyncio.to_thread(queue.start_waiting, self._workspace, 1):
                while process.poll() is None:  # while it runs, this slot takes no other
                    await asyncio.sleep(queue.TURN)

    async def _look(self) -> None:
        """Note jobs whose process has ended, take over those of machines that are lost, start what waits."""
        while True:
            await asyncio.to_thread(self._workspace.store.check)  # the others would wait for it, each a while
            await asyncio.to_thread(queue.take_over, self._workspace)
            await asyncio.to_thread(queue.start_waiting, self._workspace)
            await asyncio.sleep(LOOK)
            if self._pause:
                _log.warning("The database %s is back: this worker takes jobs.", self._workspace.store.address)
            self._has_worked, self._pause = True, 0.0
