"""A worker: a process that starts those of jobs, on any machine, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence

from ragviz import logs
from ragviz.core.errors import RagvizError, UsageError
from ragviz.jobs import carrier, queue, turns
from ragviz.workspace import Workspace, open_workspace

LOOK = 2.0
"""Seconds between two looks of a worker at what it was not woken for."""
_log = logging.getLogger("ragviz")


def work(workspace: Workspace, queues: Sequence[str], concurrency: int | None) -> None:
    """Do jobs of these queues until a signal ends this process: each in a process of its own, which then goes on.

    No more than `concurrency` at once, by default as many as this machine has room for.

    Raises:
        UsageError: the store is SQLite; there is no such queue.

    """
    if not workspace.store.is_shared:
        raise UsageError(
            "Workers share a PostgreSQL database: set RAGVIZ_DATABASE_URL. With a SQLite file, the dashboard and the "
            "commands do the jobs themselves."
        )
    os.environ["RAGVIZ_QUEUES"] = queue.checked_queues(queues)  # also for what a job that ends leaves to start the next
    if concurrency is not None:
        os.environ["RAGVIZ_JOBS"] = str(concurrency)
    workspace = open_workspace(workspace.settings.home)
    logs.configure(workspace.settings)
    _log.info("A worker takes jobs of %s", workspace.settings.queues)
    asyncio.run(_work(workspace, int(turns.room(workspace.settings).cores)))


async def _work(workspace: Workspace, slots: int) -> None:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(**carrier.connection(workspace)))

    @app.task(name=carrier.TASK)
    async def job() -> None:
        for process in await asyncio.to_thread(queue.start_waiting, workspace, 1):
            while process.poll() is None:  # while it runs, this slot takes no other
                await asyncio.sleep(queue.TURN)

    async with app.open_async():
        looking = asyncio.create_task(_look(workspace))
        try:
            await app.run_worker_async(
                queues=workspace.settings.queues.split(","),
                concurrency=slots,
                delete_jobs="always",
                shutdown_graceful_timeout=0,  # the processes of jobs outlive their starter
            )
        finally:
            looking.cancel()


async def _look(workspace: Workspace) -> None:
    """Note jobs whose process has ended, take over those of machines that are lost, start what waits."""
    while True:
        try:
            await asyncio.to_thread(queue.take_over, workspace)
            await asyncio.to_thread(queue.start_waiting, workspace)
        except RagvizError as error:  # a store that cannot be reached now may be reachable at the next look
            _log.warning("%s", error)
        await asyncio.sleep(LOOK)
