"""The home and its database: permissions, engines, transactions, retries, errors as messages with the next step.

Everything is a transaction. One that had no effect, because its connection was lost or it conflicted with another, is
`Undone`, and a `repeated` method is retried until it succeeds or `PATIENCE` ends.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import random
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial, wraps
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from ragviz.core import addresses
from ragviz.core.errors import RagvizError, Refused, ServiceError, StorageError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
_BROKEN = (errno.EIO, errno.EFBIG, errno.ESTALE)
NOTHING = 2**20
"""Free bytes below which a disk counts as full, when a write to it failed."""
FOLDERS = ("indexes", "logs", "uploads")
"""Folders of ragviz in its home."""


def file_url(file: Path) -> str:
    """Return the SQLAlchemy URL of a SQLite file."""
    return str(sa.URL.create("sqlite", database=str(file)))


def create_home(home: Path) -> None:
    """Create `home` and its folders for this user only; those that exist stay. OSError when it cannot be a folder."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in FOLDERS:
        with suppress(OSError):  # it exists, or the home may only be read
            (home / name).mkdir(mode=0o700)


def try_writing(home: Path) -> None:
    """Write a byte into the home and its folders, and leave none there; StorageError for one that cannot be written."""
    for folder in (home, *(home / name for name in FOLDERS)):
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"x")
        except OSError as error:
            refused = full(folder) if error.errno in _FULL else unwritable(folder, error.strerror or "refused")
            raise refused from None


def full(place: Path | None) -> StorageError:
    """Return the error for a full disk of `place`; None, as for an open file, means the home."""
    usage = _usage(place) if place else None
    free = "" if usage is None else f" ({usage / 2**20:,.1f} MB free)"
    return StorageError(
        f"The disk that holds {place or 'RAGVIZ_HOME'} is full{free}: make room there, or set RAGVIZ_HOME to a folder "
        "on another disk, then try again. What was finished is kept."
    )


def unwritable(place: Path, reason: str) -> StorageError:
    """Return the error for a `place` that this user may not write, or not even read."""
    closed = os.access(place, os.F_OK) and not os.access(place, os.R_OK)
    in_folder = os.path.isdir(place.parent)  # noqa: PTH112 - `Path.is_dir` raises where one may not look
    closed = closed or (in_folder and not os.access(place.parent, os.X_OK))
    done, right = ("read", "read and write") if closed else ("written", "write")
    return StorageError(
        f"{place} cannot be {done} ({reason}): give the user that runs ragviz the right to {right} there, or set "
        "RAGVIZ_HOME to a folder of its own."
    )


def is_full(place: Path) -> bool:
    """Return whether the disk where `place` is, or would be, is full."""
    usage = _usage(place)
    return usage is not None and usage < NOTHING


def explained(error: OSError) -> StorageError | None:
    """Return an error of the disk as a message for the user; None for any other error.

    >>> print(explained(PermissionError(13, "Permission denied", "/data/logs")))
    /data/logs cannot be written (Permission denied): give the user that runs ragviz the right to write there, or set \
RAGVIZ_HOME to a folder of its own.
    >>> print(explained(OSError(28, "No space left on device")))
    The disk that holds RAGVIZ_HOME is full: make room there, or set RAGVIZ_HOME to a folder on another disk, then try \
again. What was finished is kept.
    >>> explained(ConnectionResetError(104, "Connection reset by peer")) is None
    True
    """
    place = Path(str(error.filename)) if error.filename is not None else None
    if error.errno in _FULL:
        return full(place)
    if error.errno in _REFUSED and place is not None:
        return unwritable(place, error.strerror or "refused")
    if error.errno in _BROKEN:
        return StorageError(
            f"{place or 'A file of RAGVIZ_HOME'} could not be read or written ({error.strerror}): check the disk and "
            "the limits of this user's files, then try again."
        )
    return None


def _usage(place: Path) -> int | None:
    """Return the free bytes on the disk of `place`, or of the nearest existing folder above it."""
    for folder in (place, *place.parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None


PATIENCE = 30.0
"""Seconds to wait for a database that was reachable before: its server may be restarting."""
AT_FIRST = 10.0
"""Seconds to wait for a database when it is opened: its address may be wrong."""
CONNECTING = 10
"""Seconds that a server has to answer a connection attempt."""
ANSWERING = 3.0
"""Seconds to wait for it where something has to be answered soon, if only that it is down."""
_at_most: ContextVar[float] = ContextVar("at_most", default=PATIENCE)
GONE = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""A connection counts as lost when the server acknowledges nothing for 30 seconds; a working server does."""
BUSY = 30.0
"""Seconds that a writer of SQLite waits for another one."""

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
_TEMPORARY = {"40001", "40P01", "57P01", "57P02", "57P03", "53300"}
"""PostgreSQL's codes of temporary errors: serialisation failure, deadlock, shutdown, crash, starting, too many."""
_STATES = ("starting up", "shutting down", "recovery mode", "accepting connections", "too many", "term")
"""PostgreSQL's words for temporary states, for drivers that do not pass the code on."""
_URLS = "write it like postgresql+psycopg://user:password@host:5432/database, or unset it for a SQLite file"

Arguments = ParamSpec("Arguments")
T = TypeVar("T")


class Undone(Exception):
    """A transaction that had no effect and may be retried; `sentence` is raised when that does not help."""

    def __init__(self, sentence: RagvizError) -> None:
        self.sentence = sentence
        super().__init__(str(sentence))


def open_engine(url: str) -> Engine:
    """Open the database at a SQLAlchemy `url`, without connecting; to be prepared by `prepare` before it is used.

    Raises:
        UsageError: `url` is not an address of a database; it is not quoted, as it may hold a password.

    """
    if addresses.is_ambiguous(url):
        raise UsageError(
            f"RAGVIZ_DATABASE_URL can be read in two ways: {_URLS}, / \\ ? # @ in a password as %2F %5C %3F %23 %40."
        )
    try:
        parts = sa.make_url(url)
        if parts.port is not None and not 0 < parts.port < 65_536:
            raise ValueError
        bounds, server = _bounds(parts), not url.startswith("sqlite")
        engine = sa.create_engine(url, pool_pre_ping=server, hide_parameters=True, connect_args=bounds)
    except (sa.exc.NoSuchModuleError, ImportError):
        problem = f"there is no driver for '{url.partition(':')[0]}' here"
    except ValueError:
        problem = "its port is no number from 1 to 65535"
    except sa.exc.ArgumentError:
        problem = "it is no URL"
    else:
        return engine
    raise UsageError(f"RAGVIZ_DATABASE_URL cannot be used ({problem}): {_URLS}.")


def _bounds(url: sa.URL) -> dict[str, Any]:
    """Return time-outs, unless the address sets them: for a file that is locked, and a server that drops packets.

    The drivers of servers would wait for minutes to connect, and for hours for an answer.
    """
    server: dict[str, Any] = {"connect_timeout": CONNECTING, **GONE}
    bounds = {"pysqlite": {"timeout": BUSY}, "psycopg": server}.get(url.get_dialect().driver, {})
    return {name: value for name, value in bounds.items() if name not in url.query}


def prepare(engine: Engine) -> None:
    """Allow many readers of a SQLite file beside one writer; the file is marked for that."""
    if engine.dialect.name != "sqlite":
        return
    engine.dispose()  # connections that were opened before
    _files.add(engine)

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        retried(partial(_set_write_ahead, connection, Path(engine.url.database or "")), BUSY)
        connection.execute("PRAGMA synchronous=NORMAL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if not options.get("alone", False):  # a query alone is a transaction by itself
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes", False) else "BEGIN")


_files: WeakSet[Engine] = WeakSet()


@atexit.register
def _close_files() -> None:
    """Close SQLite files, whose last connection writes the log into the file: a process killed leaves it beside."""
    for engine in _files:
        engine.dispose()


def _set_write_ahead(connection: sqlite3.Connection, file: Path) -> None:
    """Turn on the write-ahead log; `Undone` while another process does, for which SQLite does not wait here."""
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except UnicodeDecodeError:  # SQLite quotes the damaged bytes
        raise _damaged(file, "malformed database schema") from None
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        raise Undone(_locked(file)) from None


def read_only(engine: Engine) -> Engine:
    """Return an engine of the same database that writes nothing, whatever statement it is given."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(read_only=True, postgresql_readonly=True)
    other = sa.create_engine(engine.url, hide_parameters=True, connect_args=_bounds(engine.url))
    prepare(other)
    sa.event.listen(other, "connect", lambda connection, _: connection.execute("PRAGMA query_only=ON"))
    return other.execution_options(read_only=True)


def may_write(connection: Connection) -> bool:
    """Return whether the user of the database may change its tables: a role of PostgreSQL may have SELECT alone."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(sa.text("SELECT has_table_privilege('runs', 'INSERT')")).scalar())


def is_read_only(engine: Engine) -> bool:
    """Return whether an engine is one of `read_only`."""
    return bool(engine.get_execution_options().get("read_only", False))


# Transactions


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for reading, which waits for no writer.

    Raises:
        Undone: the connection was lost; the reading may be retried.
        ServiceError: the database refuses, with the reason.

    """
    try:
        with engine.connect() as connection:
            yield connection
    except UnicodeDecodeError:  # SQLite quotes the damaged bytes
        raise _damaged(Path(engine.url.database or ""), "malformed database schema") from None
    except (zlib.error, json.JSONDecodeError) as error:
        raise _damaged(Path(engine.url.database or ""), f"a value cannot be decoded: {error}") from None
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        _raise_explained(error, engine)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for writing: all of its transaction is committed, or nothing.

    When the connection is lost while PostgreSQL commits, the transaction's receipt shows afterwards whether it was
    committed, so that no committed transaction is retried.

    Raises:
        Undone: nothing was committed, and it may be retried.
        ServiceError: the database refuses, with the reason; nothing was committed.
        Refused: it is open for reading only.

    """
    if is_read_only(engine):
        raise Refused(f"The database {shown(engine)} is open here for reading only: nothing was changed.")
    receipt = None
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection
            if engine.dialect.name == "postgresql":
                receipt = _written_receipt(connection)
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        if receipt is None or not retried(partial(_was_committed, engine, receipt), PATIENCE):
            _raise_explained(error, engine)


_Receipt = tuple[str, int, int]
"""The connection that wrote a transaction, its transactions so far, PostgreSQL's number of it, reused after a crash."""


_WRITE_RECEIPT = """
    INSERT INTO receipts (writer, number, written) VALUES (:writer, :number, :written)
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written = excluded.written
    RETURNING txid_current()
"""
_DROP_RECEIPTS = """
    DELETE FROM receipts WHERE writer IN (SELECT writer FROM receipts WHERE written < :before FOR UPDATE SKIP LOCKED)
"""


def _written_receipt(connection: Connection) -> _Receipt:
    """Write the receipt of a transaction before its commit; a new writer deletes those older than an hour."""
    now = time.time()
    if "writer" not in connection.info:
        connection.info.update(writer=secrets.token_hex(8), number=0)
        connection.execute(sa.text(_DROP_RECEIPTS), {"before": now - 3600})
    connection.info["number"] += 1
    writer, number = connection.info["writer"], connection.info["number"]
    row = {"writer": writer, "number": number, "written": now}
    return writer, number, connection.execute(sa.text(_WRITE_RECEIPT), row).scalar_one()


def _was_committed(engine: Engine, receipt: _Receipt) -> bool:
    """Return whether PostgreSQL committed the transaction of a receipt; `Undone` while it is still in progress."""
    writer, number, transaction = receipt
    with reading(engine) as connection:
        status = sa.text("SELECT txid_status(:transaction)")
        try:
            current = connection.execute(status, {"transaction": transaction}).scalar()
        except sa.exc.DataError:  # a number in the future: the server crashed and has not reached it again
            return False
        if current == "in progress":
            raise Undone(ServiceError(f"The database {shown(engine)} did not say whether it kept the last change."))
        committed = sa.text("SELECT number FROM receipts WHERE writer = :writer")
        return connection.execute(committed, {"writer": writer}).scalar() == number


def retried(work: Callable[[], T], patience: float) -> T:
    """Return the result of `work`, retried while it is `Undone`, for `patience` seconds at most."""
    end = time.monotonic() + min(patience, _at_most.get())
    for pause in chain(_PAUSES, repeat(0.8)):
        try:
            return work()
        except Undone as error:
            if time.monotonic() + pause > end:
                raise error.sentence from error
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - conflicting transactions get different pauses
    raise AssertionError("unreachable")


@contextmanager
def answering() -> Iterator[None]:
    """Wait `ANSWERING` seconds at most for the database in what is done inside, and in its threads."""
    before = _at_most.set(ANSWERING)
    try:
        yield
    finally:
        _at_most.reset(before)


def repeated(method: Callable[Arguments, T]) -> Callable[Arguments, T]:
    """Retry a method of one transaction while that is `Undone`."""

    @wraps(method)
    def retrying(*args: Arguments.args, **options: Arguments.kwargs) -> T:
        return retried(lambda: method(*args, **options), PATIENCE)

    return retrying


NO_CHECKSUMS = "its server has no checksums of its pages, and would not notice a damaged one"


def damage(engine: Engine) -> str:
    """Return what is damaged in a SQLite file, all of which is read; "" when nothing is.

    A server examines its pages itself, when it reads them: `NO_CHECKSUMS` where it cannot.
    """
    with reading(engine) as connection:
        if engine.dialect.name != "sqlite":
            has_checksums = connection.exec_driver_sql("SHOW data_checksums").scalar_one() == "on"
            return "" if has_checksums else NO_CHECKSUMS
        rows = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
    return "" if rows == ["ok"] else "; ".join(row.strip().replace("\n", ", ") for row in rows)


# Errors


def shown(engine: Engine) -> str:
    """Return the address of a database, without its password."""
    return addresses.shown(engine.url.render_as_string(hide_password=False))


def _raise_explained(error: Exception, engine: Engine) -> NoReturn:
    """Raise what an error of the database means: `Undone`, a message for the user, or the error itself: a defect."""
    if isinstance(error, sa.exc.TimeoutError):
        raise ServiceError(
            f"The database {shown(engine)} is busy: no connection was free for 30 seconds. Try again."
        ) from None
    assert isinstance(error, sa.exc.DBAPIError)
    is_file = engine.dialect.name == "sqlite"
    explained = _sqlite_error(error, Path(engine.url.database or "")) if is_file else _server_error(error, engine)
    if explained is error:
        raise error
    raise explained from None


def _sqlite_error(error: sa.exc.DBAPIError, file: Path) -> Exception:
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and is_full(file)):
        return full(file)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _locked(file)
    unversioned = code == sqlite3.SQLITE_ERROR and "already exists" in str(error.orig)  # its schema version is lost
    if unversioned or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(file, str(error.orig))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return unwritable(file, str(error.orig))
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
        f"The database {file} is damaged ({reason}): put a backup in its place (`ragviz restore FILE --replace`), or "
        f"save what can be read with `sqlite3 {file} .recover | sqlite3 recovered.db`, and put recovered.db there."
    )


def _server_error(error: sa.exc.DBAPIError, engine: Engine) -> Exception:
    """Return the message for an error of a database server, inside `Undone` when the error is temporary."""
    code = getattr(error.orig, "sqlstate", None)
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
            f"The database {shown(engine)} cannot store something this long ({_reason(error, engine)}): shorten "
            "the name, id or text that is written."
        )
    if code is None and "invalid connection option" in str(error.orig):
        return UsageError(f"RAGVIZ_DATABASE_URL has a parameter that the driver does not know: {_URLS}.")
    lost = error.connection_invalidated or (code is None and isinstance(error, sa.exc.OperationalError))
    if not lost and code not in _TEMPORARY and not isinstance(error, sa.exc.OperationalError):
        return error
    sentence = ServiceError(
        f"The database {shown(engine)} cannot be used: {_reason(error, engine)}. Start it, or check "
        "RAGVIZ_DATABASE_URL; what was finished is kept."
    )
    words = str(error.orig)  # drivers do not pass on the code of a server that refuses this user
    refused = "FATAL:" in words and not any(state in words for state in _STATES)
    return Undone(sentence) if (lost or code in _TEMPORARY) and not refused else sentence


def _reason(error: sa.exc.DBAPIError, engine: Engine) -> str:
    """Return a driver's message, without the secrets of the address, and without what precedes an @."""
    message = str(error.orig).strip().split("\n")[0].rstrip(".")
    secrets_of_url = addresses.secrets_of(engine.url.render_as_string(hide_password=False))
    for secret in sorted(secrets_of_url, key=len, reverse=True):
        message = message.replace(secret, addresses.HIDDEN)
    return re.sub(r"[^\s'\"]*@", f"{addresses.HIDDEN}@", message)
