"""The database opened: SQLite or PostgreSQL, by its address."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from ragviz.errors import ServiceError
from ragviz.store import codecs, database
from ragviz.store.store import Store


def open_store(url: str) -> Store:
    """Open the store at a SQLAlchemy `url` and bring its schema up to date.

    Raises:
        UsageError: `url` is no address of a database.
        ServiceError: the database cannot be reached or used, or a newer ragviz wrote it. The password is never shown.

    """
    store = Store(database.open_engine(url))
    database.waited(store.migrate, database.AT_FIRST)
    try:
        store.settle_all()
    except ServiceError as error:  # whoever only reads need not be able to write
        codecs.log.warning("Evidence that a killed process left behind is not moved yet. %s", error)
    return store


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file; its folder is made when it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(sa.URL.create("sqlite", database=str(path)))
