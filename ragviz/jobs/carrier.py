"""Jobs that any machine may do: procrastinate wakes the workers, through tables of its own beside those of the store.

The store says which job is next; a task of procrastinate only says that one waits in a queue. So a task that is lost
costs nothing, and neither does one too many.
"""

from __future__ import annotations

import logging
from typing import Any

import sqlalchemy as sa

from ragviz.core.job import Job
from ragviz.jobs.tasks import KINDS
from ragviz.store import waking
from ragviz.workspace import Workspace

TASK = "job"
_log = logging.getLogger("ragviz")


def announce(workspace: Workspace, job: Job) -> None:
    """Wake a worker for a job, unless it was announced and not taken yet."""
    from procrastinate import App, SyncPsycopgConnector
    from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

    try:
        with App(connector=SyncPsycopgConnector(**connection(workspace))).open() as app:
            app.configure_task(TASK, queue=KINDS[job.kind].queue, queueing_lock=job.id).defer()
    except AlreadyEnqueued:
        pass
    except ConnectorException as error:
        _log.warning("Job %s waits until a worker looks for it: %s", job.id, error)


def connection(workspace: Workspace) -> dict[str, Any]:
    """Return what procrastinate's connectors need to use its tables in the database of the store."""
    url = workspace.settings.database_url
    assert url is not None
    address = sa.make_url(url.get_secret_value()).set(drivername="postgresql")
    path = {"options": f"-c search_path={waking.schema_name()}"}
    return {"conninfo": address.render_as_string(hide_password=False), "min_size": 1, "kwargs": path}
