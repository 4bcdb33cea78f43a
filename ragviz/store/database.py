"""The connection to the database: opened, waited for, its work done again, and what goes wrong with it in a sentence.

Everything is a transaction. One that left nothing behind, because its connection was lost or it stood in another's way,
is `Undone`, and what is `repeated` is done again until it succeeds or `PATIENCE` ends.
"""

from __future__ import annotations

import random
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from ragviz.errors import RagvizError, ServiceError, StorageError, UsageError
from ragviz.store import disk
from ragviz.text import addresses

PATIENCE = 30.0
"""Seconds that a database is waited for which was there before: its server may be restarting."""
AT_FIRST = 10.0
"""Seconds that it is waited for when it is opened: its address may be wrong."""
CONNECTING = 10
"""Seconds that a server has to answer whoever connects."""
GONE = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""When a connection counts as lost whose other end acknowledges nothing: after 30 seconds. One that is at work does."""
BUSY = 30.0
"""Seconds that a writer of SQLite waits for another one to end."""

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
_PASSING = {"40001", "40P01", "57P01", "57P02", "57P03", "53300"}
"""PostgreSQL's codes of what passes: could not be serialised, deadlock, shut down, crashed, starting, too many."""
_STATES = ("starting up", "shutting down", "recovery mode", "accepting connections", "too many", "term")
"""Words of PostgreSQL for the states that pass, where the code is not handed on."""
_URLS = "write it like postgresql+psycopg://user:password@host:5432/database, or unset it for a SQLite file"

Given = ParamSpec("Given")
T = TypeVar("T")


class Undone(Exception):
    """A transaction that left nothing behind and may be done again; `sentence` is told when that does not help."""

    def __init__(self, sentence: RagvizError) -> None:
        """Keep what is told in the end."""
        self.sentence = sentence
        super().__init__(str(sentence))


def open_engine(url: str) -> Engine:
    """Open the database at a SQLAlchemy `url`, without asking it anything.

    Raises:
        UsageError: `url` is no address of a database. What it says is not quoted: there may be a password in it.

    """
    if addresses.is_ambiguous(url):
        raise UsageError(
            f"RAGVIZ_DATABASE_URL can be read in two ways: {_URLS}, / \\ ? # @ in a password as %2F %5C %3F %23 %40."
        )
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=_bounds(sa.make_url(url)))
    except (sa.exc.ArgumentError, ValueError, ImportError) as error:  # no URL, a port that is none, an unknown driver
        raise UsageError(f"RAGVIZ_DATABASE_URL cannot be used ({_about(url, error)}): {_URLS}.") from None
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    return engine


def _bounds(url: sa.URL) -> dict[str, Any]:
    """How long a server that drops packets is waited for, where the address does not say so itself.

    Its drivers would wait for minutes to connect, and for hours for an answer.
    """
    if url.get_dialect().driver not in ("psycopg", "psycopg2"):
        return {}
    bounds = {"connect_timeout": CONNECTING, **GONE}
    return {name: value for name, value in bounds.items() if name not in url.query}


def _about(url: str, error: Exception) -> str:
    """What is wrong with an address of a database, without quoting it: there may be a password in it."""
    if isinstance(error, sa.exc.NoSuchModuleError | ImportError):
        return f"there is no driver for '{url.partition(':')[0]}' here"
    return "its port is no number" if isinstance(error, ValueError) else "it is no URL"


def _prepare_sqlite(engine: Engine) -> None:
    """Many readers beside one writer, which waits for its turn instead of failing."""

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout={BUSY * 1000:.0f}")
        waited(partial(_set_write_ahead, connection, Path(engine.url.database or "")), BUSY)
        connection.execute("PRAGMA synchronous=NORMAL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_write_ahead(connection: sqlite3.Connection, file: Path) -> None:
    """Have changes written ahead to a log; `Undone` while others do the same, for whom SQLite does not wait here."""
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except UnicodeDecodeError:  # SQLite quotes the damaged bytes
        raise _damaged(file, "malformed database schema") from None
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        raise Undone(_locked(file)) from None


# Transactions


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection to read from: it waits for no writer.

    Raises:
        Undone: the connection was lost; what was read may be read again.
        ServiceError: the database refuses, for a reason that the sentence tells.

    """
    try:
        with engine.connect() as connection:
            yield connection
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        _tell(error, engine)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: all of it is kept, or nothing.

    Where the connection is lost while PostgreSQL commits, it is asked afterwards for the receipt that the transaction
    wrote, so that what is done again was not done before.

    Raises:
        Undone: nothing was kept, and it may be done again.
        ServiceError: the database refuses, for a reason that the sentence tells; nothing was kept.

    """
    receipt = None
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection
            if engine.dialect.name == "postgresql":
                receipt = _written_receipt(connection)
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        if receipt is None or not waited(partial(_was_committed, engine, receipt), PATIENCE):
            _tell(error, engine)


@dataclass(frozen=True)
class _Receipt:
    """What a transaction of PostgreSQL writes to be known by; its number alone is given anew after a crash."""

    writer: str
    """Who wrote it: a connection, which has one receipt at a time."""
    number: int
    """The writer's transactions so far."""
    transaction: int
    """PostgreSQL's number of the transaction."""


_WRITE_RECEIPT = """
    INSERT INTO receipts (writer, number, written) VALUES (:writer, :number, :written)
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written = excluded.written
    RETURNING txid_current()
"""
_DROP_RECEIPTS = """
    DELETE FROM receipts WHERE writer IN (SELECT writer FROM receipts WHERE written < :before FOR UPDATE SKIP LOCKED)
"""


def _written_receipt(connection: Connection) -> _Receipt:
    """Write the receipt of a transaction that is about to be committed; a new writer drops those of an hour ago."""
    now = time.time()
    if "writer" not in connection.info:
        connection.info.update(writer=secrets.token_hex(8), number=0)
        connection.execute(sa.text(_DROP_RECEIPTS), {"before": now - 3600})
    connection.info["number"] += 1
    writer, number = connection.info["writer"], connection.info["number"]
    row = {"writer": writer, "number": number, "written": now}
    return _Receipt(writer, number, connection.execute(sa.text(_WRITE_RECEIPT), row).scalar_one())


def _was_committed(engine: Engine, receipt: _Receipt) -> bool:
    """Whether PostgreSQL kept the transaction of this receipt; `Undone` while it is still at it."""
    with reading(engine) as connection:
        status = sa.text("SELECT txid_status(:transaction)")
        try:
            current = connection.execute(status, {"transaction": receipt.transaction}).scalar()
        except sa.exc.DataError:  # a number in the future: the server went down, and has not come to it again
            return False
        if current == "in progress":
            raise Undone(ServiceError(f"The database {shown(engine)} did not tell whether it kept the last change."))
        kept = sa.text("SELECT number FROM receipts WHERE writer = :writer")
        return connection.execute(kept, {"writer": receipt.writer}).scalar() == receipt.number


def waited(work: Callable[[], T], patience: float) -> T:
    """Do `work` again while it is undone, for `patience` seconds at most."""
    end = time.monotonic() + patience
    for pause in chain(_PAUSES, repeat(0.8)):
        try:
            return work()
        except Undone as error:
            if time.monotonic() + pause > end:
                raise error.sentence from error
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - two that stood in each other's way part
    raise AssertionError("unreachable")


def repeated(method: Callable[Given, T]) -> Callable[Given, T]:
    """Have a method of one transaction done again while that is undone."""

    @wraps(method)
    def again(*args: Given.args, **options: Given.kwargs) -> T:
        return waited(lambda: method(*args, **options), PATIENCE)

    return again


# What goes wrong


def shown(engine: Engine) -> str:
    """Where a database is, without its password."""
    return addresses.shown(engine.url.render_as_string(hide_password=False))


def _tell(error: Exception, engine: Engine) -> NoReturn:
    """Raise what an error of the database comes to; it goes on as it is where it is a defect of ours."""
    told = _told(error, engine)
    if told is error:
        raise error
    raise told from None


def _told(error: Exception, engine: Engine) -> Exception:
    """What an error of the database comes to: `Undone`, a sentence, or itself."""
    if isinstance(error, sa.exc.TimeoutError):
        return ServiceError(f"The database {shown(engine)} is busy: no connection was free for 30 seconds. Try again.")
    assert isinstance(error, sa.exc.DBAPIError)
    if engine.dialect.name == "sqlite":
        return _of_sqlite(error, Path(engine.url.database or ""))
    return _of_server(error, engine)


def _of_sqlite(error: sa.exc.DBAPIError, file: Path) -> Exception:
    """The sentence for an error of SQLite, by the lower byte of its code."""
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and disk.is_full(file)):
        return disk.full(file)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _locked(file)
    remade = code == sqlite3.SQLITE_ERROR and "already exists" in str(error.orig)  # the version of its schema is gone
    if remade or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(file, str(error.orig))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return disk.unwritable(file, str(error.orig))
    if code == sqlite3.SQLITE_IOERR:
        return StorageError(
            f"The database {file} cannot be read or written ({error.orig}): check the disk and the limits of this "
            "user's files, then try again."
        )
    return error


def _locked(file: Path) -> StorageError:
    return StorageError(
        f"The database {file} has been locked by another program for {BUSY:.0f} seconds: end that program (`fuser "
        f"{file}` names it), then try again. What was finished is kept."
    )


def _damaged(file: Path, reason: str) -> StorageError:
    return StorageError(
        f"The database {file} is damaged ({reason}): put a backup in its place, or save what can be read with "
        f"`sqlite3 {file} .recover | sqlite3 recovered.db`, and put recovered.db in its place."
    )


def _of_server(error: sa.exc.DBAPIError, engine: Engine) -> Exception:
    """The sentence for an error of a database server, `Undone` around it where it passes."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    if code == "53100":
        return StorageError(
            f"The disk of the database server {shown(engine)} is full: make room there, then try again. What was "
            "finished is kept."
        )
    if code == "25006":
        return StorageError(f"The database {shown(engine)} is read-only: give RAGVIZ_DATABASE_URL one to write to.")
    if code in ("XX001", "XX002"):
        return StorageError(
            f"The database {shown(engine)} is damaged ({_reason(error, engine)}): put a backup in its place."
        )
    if code is not None and (code.startswith("54") or code == "22001"):  # a limit of the server, or of a column
        return UsageError(
            f"The database {shown(engine)} cannot keep something that is this long ({_reason(error, engine)}): shorten "
            "the name, id or text that is written."
        )
    if code is None and "invalid connection option" in str(error.orig):
        return UsageError(f"RAGVIZ_DATABASE_URL has a parameter that the driver does not know: {_URLS}.")
    lost = error.connection_invalidated or (code is None and isinstance(error, sa.exc.OperationalError))
    if not lost and code not in _PASSING and not isinstance(error, sa.exc.OperationalError):
        return error
    sentence = ServiceError(
        f"The database {shown(engine)} cannot be used: {_reason(error, engine)}. Start it, or check "
        "RAGVIZ_DATABASE_URL; what was finished is kept."
    )
    return Undone(sentence) if (lost or code in _PASSING) and not _refused(error) else sentence


def _refused(error: sa.exc.DBAPIError) -> bool:
    """Whether a server answers but does not let this user in; the code of that is not handed on."""
    words = str(error.orig)
    return "FATAL:" in words and not any(state in words for state in _STATES)


def _reason(error: sa.exc.DBAPIError, engine: Engine) -> str:
    """What a driver says, without the secrets of the address, nor what it takes for a host before an @."""
    said = str(error.orig).strip().split("\n")[0].rstrip(".")
    hidden = addresses.secrets_of(engine.url.render_as_string(hide_password=False))
    for secret in sorted(hidden, key=len, reverse=True):
        said = said.replace(secret, addresses.HIDDEN)
    return re.sub(r"[^\s'\"]*@", f"{addresses.HIDDEN}@", said)
