"""Copies of a database: as it is at one moment, while others write to it; and brought back at another place."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from ragviz.core.configuration import IndexInfo
from ragviz.core.errors import ServiceError, StorageError
from ragviz.core.job import ACTIVE, ANYWHERE
from ragviz.core.stopping import Progress, silent
from ragviz.store import database, schema, waking
from ragviz.store.schema import Cuts, cuts_of, record

_log = logging.getLogger("ragviz")
PAGES = 2_000
"""Pages of a SQLite file that are copied between two reports of progress: 8 MB."""
STOPPED = (
    "It waited or ran when the backup was made that this home was restored from. Resume it: nothing is done twice."
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A database as it is at one moment, however long it is read: what others write meanwhile is not in it."""

    engine: Engine
    connection: Connection
    exported: str
    """The name by which PostgreSQL gives other connections the same moment; "" on SQLite."""

    def indexes(self) -> list[IndexInfo]:
        """Return the rows of all indexes."""
        return [record(IndexInfo, row) for row in self.connection.execute(sa.select(schema.indexes)).all()]

    def cuts(self, build: str) -> dict[str, Cuts]:
        """Return the cuts of a build, by document."""
        table = schema.cuts.c
        query = sa.select(table.document_id, table.spans).where(table.build == build)
        return {row.document_id: cuts_of(row.spans) for row in self.connection.execute(query).all()}

    def write(self, file: Path, progress: Progress) -> None:
        """Write it as a SQLite file, or as an archive of `pg_dump`; a damaged SQLite database is refused.

        Raises:
            StorageError: the database is damaged; the disk is full.
            ServiceError: `pg_dump` is missing, too old, or failed.

        """
        file.touch(mode=0o600)
        if self.exported:
            progress(0, None, "", "Copying the database")
            _run(
                "pg_dump",
                self.engine,
                _address(self.engine),
                f"--snapshot={self.exported}",
                "--format=custom",
                f"--exclude-schema={waking.SCHEMA}*",
                f"--file={file}",
            )
            return
        raw = self.connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)

        def watch(_status: int, remaining: int, total: int) -> None:
            progress(total - remaining, total, "pages", "Copying the database")

        try:
            with closing(sqlite3.connect(file)) as copy:
                raw.backup(copy, pages=PAGES, progress=watch)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL or database.is_full(file):
                raise database.full(file) from None
            raise StorageError(f"The database {database.shown(self.engine)} cannot be copied: {error}.") from None
        if reason := damage_of(file):
            raise StorageError(
                f"The database {database.shown(self.engine)} is damaged ({reason}), so nothing was written: go back to "
                "an earlier backup with `ragviz restore FILE --replace`."
            )


@contextmanager
def snapshot(engine: Engine) -> Iterator[Snapshot]:
    """Open a snapshot of a database that was prepared; no writer waits for it."""
    if engine.dialect.name == "sqlite":
        with database.reading(engine) as connection:
            connection.execute(sa.text("SELECT count(*) FROM sqlite_master"))  # the first query chooses the moment
            yield Snapshot(engine, connection, "")
        return
    with database.reading(engine.execution_options(isolation_level="REPEATABLE READ")) as connection:
        exported = connection.execute(sa.text("SELECT pg_export_snapshot()")).scalar_one()
        yield Snapshot(engine, connection, exported)


def before_upgrade(engine: Engine, home: Path | None, old: str, new: str) -> Path | None:
    """Copy a database before its tables are changed from one revision to another, and return where the copy is.

    Without a fitting `pg_dump` a server's database is upgraded without one, in one transaction as always.

    Raises:
        StorageError: the database is damaged; the disk is full.

    """
    is_file = engine.dialect.name == "sqlite"
    folder = Path(engine.url.database or "").parent if is_file else home
    if folder is None:
        return None
    copy = folder / f"ragviz-before-upgrade-{old}-to-{new}.{'db' if is_file else 'dump'}"
    place = database.shown(engine)
    if copy.exists():
        _log.warning(
            f"An upgrade of {place} from revision {old} to {new} was interrupted, and left it as it was: it begins "
            f"again. {copy} is a copy of it. Should that fail, report it, and go on with the earlier version of ragviz."
        )
    partial = copy.with_suffix(".partial")
    try:
        with snapshot(engine) as now:
            partial.unlink(missing_ok=True)
            now.write(partial, silent)
        partial.replace(copy)
    except StorageError:
        raise
    except ServiceError as error:
        _log.warning(f"{place} is upgraded from revision {old} to {new} without a copy. {error}")
        return None
    finally:
        partial.unlink(missing_ok=True)
    return copy


def damage_of(file: Path) -> str:
    """Return what is damaged in a SQLite file that nobody uses, "" when nothing is."""
    engine = database.open_engine(database.file_url(file))
    try:
        return database.damage(engine)
    except StorageError as error:
        return str(error)
    finally:
        engine.dispose()


def bring_back(engine: Engine, dump: Path) -> None:
    """Restore an archive of `pg_dump` into a PostgreSQL database, in place of the tables it has: all of it, or nothing.

    Raises:
        ServiceError: `pg_restore` is missing, too old, or failed.

    """
    options = ("--single-transaction", "--exit-on-error", "--clean", "--if-exists")
    _run("pg_restore", engine, _address(engine), *options, str(dump))


_TABLE = re.compile(r"^CREATE TABLE \w+\.(\w+) \($(.*?)^\);$", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"^    (?!CONSTRAINT )\"?(\w+)", re.MULTILINE)


def columns_of_dump(engine: Engine, dump: Path) -> dict[str, set[str]]:
    """Return the columns of each table in an archive of `pg_dump`."""
    script = _run("pg_restore", engine, "--schema-only", "--file=-", str(dump))
    return {name: {*_COLUMN.findall(body)} for name, body in _TABLE.findall(script)}


def columns_of(connection: Connection) -> dict[str, set[str]]:
    """Return the columns of each table of a database."""
    found = sa.inspect(connection).get_multi_columns()
    return {name: {column["name"] for column in columns} for (_, name), columns in found.items()}


def _address(engine: Engine) -> str:
    """Return the option by which a program of PostgreSQL is given a database, without the password."""
    query = {name: value for name, value in engine.url.query.items() if name != "password"}
    url = engine.url
    address = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database, query)
    return f"--dbname={address.render_as_string(hide_password=False)}"


Program = Literal["pg_dump", "pg_restore"]


def program_for(engine: Engine, program: Program) -> str:
    """Return the path of a program of PostgreSQL for this database; ServiceError when it is missing or too old."""
    with database.reading(engine) as connection:
        server = int(connection.execute(sa.text("SHOW server_version_num")).scalar_one()) // 10_000
    install = f"Install the client programs of PostgreSQL {server} or newer, where ragviz runs"
    if (path := shutil.which(program)) is None:
        raise ServiceError(f"The program {program} is needed for this, and not found. {install}.")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    version = re.search(r"\) (\d+)", told)
    if version is None or int(version[1]) < server:
        raise ServiceError(f"{path} is of version {told.strip()}, older than the server's, {server}. {install}.")
    return path


def _run(program: Program, engine: Engine, *arguments: str) -> str:
    """Return what a program of PostgreSQL prints; the password of the database is passed in its environment."""
    path = program_for(engine, program)
    password = engine.url.query.get("password", engine.url.password)
    done = subprocess.run(  # noqa: S603 - found on this machine's PATH
        [path, "--no-owner", "--no-privileges", "--no-password", *arguments],
        env=os.environ | ({"PGPASSWORD": str(password)} if password else {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0].rstrip(".")
        raise ServiceError(f"The database {database.shown(engine)} refused {program}: {reason}.")
    return done.stdout


def is_empty(engine: Engine) -> bool:
    """Return whether a database holds nothing that a person made: no tables, or those of ragviz without rows."""
    names = ("corpora", "question_sets", "runs", "experiments", "targets")
    with database.reading(engine) as connection:
        tables = sa.inspect(connection).get_table_names()
        made = [schema.metadata.tables[name] for name in names if name in tables]
        return all(connection.execute(sa.select(1).select_from(table).limit(1)).first() is None for table in made)


def settle_jobs(engine: Engine, home: Path) -> None:
    """Make the jobs of a copied database those of another home: nothing of theirs names the place of the original.

    Those that waited or ran are interrupted, and nobody is offered a share of them, so that a copy does not begin to
    work, and to pay, by itself.
    """
    with database.writing(engine) as connection:
        connection.execute(schema.shards.delete())
        connection.execute(schema.shares.delete())
        for job in connection.execute(sa.select(schema.jobs)).all():
            texts = {"arguments": job.arguments, "result": job.result, "error": job.error, "message": job.message}
            if job.home:  # its path, and the paths below it, become the other's
                path, other = (json.dumps(place, ensure_ascii=False)[1:-1] for place in (job.home, str(home)))
                text = json.dumps(texts, ensure_ascii=False)
                texts = json.loads(re.sub(re.escape(path) + r"(?![\w-]|\.\w)", other.replace("\\", r"\\"), text))
            values: dict[str, Any] = {**texts, **ANYWHERE}
            if job.status in ACTIVE:
                values |= {"status": "interrupted", "error": STOPPED}
            connection.execute(schema.jobs.update().where(schema.jobs.c.id == job.id).values(**values))
