"""Opening the store by its address, on SQLite or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from ragviz.core.errors import ServiceError
from ragviz.store import codecs, database
from ragviz.store.store import Store


def open_store(url: str) -> Store:
    """Open the store at a SQLAlchemy `url` and bring its schema up to date.

    Raises:
        UsageError: `url` is not an address of a database.
        ServiceError: the database cannot be reached or used, or a newer ragviz wrote it. The password is never shown.

    """
    store = Store(database.open_engine(url))
    database.retried(store.migrate, database.AT_FIRST)
    try:
        store.settle_all()
    except ServiceError as error:  # reading must work without the right to write
        codecs.log.warning("Evidence that a killed process left is not moved yet. %s", error)
    return store


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file; its folder is created when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(sa.URL.create("sqlite", database=str(path)))
