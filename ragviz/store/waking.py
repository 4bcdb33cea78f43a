"""The tables by which procrastinate wakes workers: in a schema of their own, beside those of the store."""

from __future__ import annotations

from functools import cache
from importlib import metadata, resources

import sqlalchemy as sa
from sqlalchemy.engine import Connection

SCHEMA = "ragviz_queue_"
"""How the names of such schemas begin."""


@cache
def schema_name() -> str:
    """Return the name of the schema: another version of procrastinate has another one, since nothing is kept in it."""
    return f"{SCHEMA}{metadata.version('procrastinate').replace('.', '_')}"


def exists(connection: Connection) -> bool:
    """Return whether the tables are there."""
    table = sa.select(sa.func.to_regclass(f"{schema_name()}.procrastinate_jobs"))
    return connection.execute(table).scalar() is not None


def was_worker_seen(connection: Connection) -> bool:
    """Return whether a worker was heard of within the minute: each writes every ten seconds."""
    workers = f"{schema_name()}.procrastinate_workers"
    newest = sa.text(f"SELECT max(last_heartbeat) > now() - interval '1 minute' FROM {workers}")  # noqa: S608 - our name
    return bool(connection.execute(newest).scalar())


def create(connection: Connection) -> None:
    """Create the schema and its tables, in the transaction of the connection."""
    tables = (resources.files("procrastinate.sql") / "schema.sql").read_text(encoding="utf-8")
    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema_name()}")
    connection.exec_driver_sql(f"SET LOCAL search_path TO {schema_name()}")
    connection.exec_driver_sql(tables.replace("%", "%%"))
    connection.exec_driver_sql("SET LOCAL search_path TO DEFAULT")
