"""What keeps everything goes wrong: the disk is full, unwritable, the database locked, damaged or restarted."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import psycopg
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from ragviz.core.call import Paid
from ragviz.core.errors import RagvizError, ServiceError, StorageError
from ragviz.core.settings import Settings
from ragviz.jobs import tasks, worker
from ragviz.store import database, schema
from ragviz.store.store import open_store, sqlite_url
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.attack.test_writers import url as url
from tests.builders import ROOT, document, ragviz
from tests.loopback import hanging


@pytest.fixture
def home(tmp_path) -> Path:
    store = open_store(sqlite_url(tmp_path / "家" / "ragviz.db"))
    corpus = store.corpora.add("notes")
    store.documents.add(corpus.id, document("a.txt", "The pump was replaced. " * 2000))
    store._engine.dispose()
    return tmp_path / "家"


def test_what_is_kept_is_for_its_owner_alone_and_what_is_taken_away_is_not(tmp_path):
    home, file = tmp_path / "new" / "home", tmp_path / "a.txt"
    home.parent.mkdir()
    file.write_text("The pump was replaced in 2023.", encoding="utf-8")
    done = ragviz(home, "corpus", "add", "notes", file)
    assert done.returncode == 0, done.stderr
    (tmp_path / "q.jsonl").write_text(
        '{"question": "Was it?", "answer": "Yes.", "document": "a.txt", "quote": "The pump"}\n'
    )
    assert ragviz(home, "questions", "import", "notes", tmp_path / "q.jsonl", "--name", "q").returncode == 0
    assert ragviz(home, "prices", "set", "m", "1", "2").returncode == 0
    permissions = {path: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    assert len(permissions) >= 3
    assert all(mode & 0o077 == 0 for mode in permissions.values()), permissions
    assert ragviz(home, "questions", "export", "q", tmp_path / "out.csv").returncode == 0
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o644


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_reported_with_the_next_step(small_disk, tmp_path):
    home = small_disk / "home"
    for number in range(12):
        (tmp_path / f"{number}.txt").write_text(f"{number} " + "The pump was replaced. " * 20000, encoding="utf-8")
    done = ragviz(home, "corpus", "add", "notes", *tmp_path.glob("*.txt"))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    sentence = " ".join(done.stderr.split())
    assert "is full" in sentence
    assert "make room there, or set RAGVIZ_HOME to a folder on another disk" in sentence
    assert ragviz(home, "corpus", "list").returncode == 0


# The database


def test_a_database_that_may_not_grow_is_reported_as_full_and_keeps_its_rows(home):
    store = open_store(sqlite_url(home / "ragviz.db"))
    corpus = store.corpora.get("notes")

    @database.sa.event.listens_for(store._engine, "connect")
    def _small(connection, _record):
        connection.execute("PRAGMA max_page_count=40")

    store._engine.dispose()
    with pytest.raises(StorageError, match=r"is full.*make room there"):
        store.documents.add(corpus.id, document("b.txt", "x" * 400_000))
    assert [d.name for d in store.documents.all(corpus.id)] == ["a.txt"]


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_a_damaged_database_is_reported_or_read(home, seed):
    """Bytes are overwritten anywhere: what is read is read, else a sentence says what is wrong, never a defect."""
    file, random = home / "ragviz.db", Random(seed)
    body = bytearray(file.read_bytes())
    for _ in range(random.randrange(1, 60)):
        start = random.randrange(0, len(body))
        body[start : start + 300] = random.randbytes(len(body[start : start + 300]))
    file.write_bytes(body)
    try:
        store = open_store(sqlite_url(file))
        store.corpora.all()
        store.corpora.add("more")
        sentence = ""
    except RagvizError as error:
        sentence = str(error)
    newer = "upgrade ragviz" in sentence  # the number of its schema was hit
    assert not sentence or newer or ("is damaged" in sentence and "put a backup in its place" in sentence)


def test_a_reader_waits_for_no_writer(url, tmp_path):
    """Lists are shown while an import holds the only write lock, also that of jobs whose process has ended."""
    store = open_store(url)
    corpus = store.corpora.add("notes")
    question_set = store.sets.add(corpus.id, "q")
    killed = store.jobs.add("sample", "A killed job", corpus.id, {})
    store.jobs.update(killed.id, status="running", pid=os.getpid(), pid_started=1.0, host=socket.gethostname())
    environment = {} if url.startswith("sqlite") else {"RAGVIZ_DATABASE_URL": url}
    with database.writing(store._engine) as writer:
        writer.execute(schema.prices.insert(), {"model": "m", "input": 1.0, "output": 1.0})
        start = time.perf_counter()
        assert open_store(url).sets.all()[0].id == question_set.id
        assert time.perf_counter() - start < 1
        for words, expected in {"corpus list": "notes", "questions list": "q ", "jobs": "interrupted"}.items():
            start = time.perf_counter()
            assert expected in ragviz(tmp_path / "store", *words.split(), **environment).stdout
            assert time.perf_counter() - start < database.BUSY / 2, "waited for the writer"
    assert store.prices.all()["m"] == (1.0, 1.0)


# A server that is restarted


class Server:
    """A PostgreSQL of our own, to be stopped and started."""

    def __init__(self) -> None:
        self.bin = next(Path("/usr/lib/postgresql").glob("*/bin"))
        self.place = Path(tempfile.mkdtemp())
        shutil.chown(self.place, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.run(f"{self.bin}/initdb -D {self.place}/data -A trust")
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def run(self, command: str) -> None:
        subprocess.run(["su", "postgres", "-c", f"{command} >/dev/null 2>&1"], check=True, cwd="/")

    def start(self) -> None:
        options = f"-p {self.port} -k {self.place} -c listen_addresses=127.0.0.1 -c fsync=off"
        self.run(f"{self.bin}/pg_ctl -D {self.place}/data -l {self.place}/log -o '{options}' -w start")

    def stop(self, mode: str = "fast") -> None:
        self.run(f"{self.bin}/pg_ctl -D {self.place}/data -m {mode} -w stop")


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server, where one can be started; it is gone at the end."""
    if os.getuid() or not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("no PostgreSQL to start and stop")
    server = Server()
    server.start()
    try:
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(server.place, ignore_errors=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_server_loses_no_write_and_makes_none_twice(server, mode):
    store = open_store(server.url)
    corpus = store.corpora.add(f"notes {mode}")
    question_set = store.sets.add(corpus.id, f"q {mode}")
    failed: list[Exception] = []
    done = threading.Event()
    turns = [0] * 4

    def write(number: int) -> None:
        try:
            while not done.is_set():
                store.payments.add(question_set.id, Paid(1, dollars=0.5))
                turns[number] += 1
                assert store.sets.all(corpus.id)[0].id == question_set.id
        except Exception as error:  # reported by the test
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for _ in seeds(2, 20):
        time.sleep(0.3)
        server.stop(mode)
        time.sleep(0.3)
        server.start()
        time.sleep(0.7)
    before = sum(turns)
    while sum(turns) < before + 8 and not failed:
        time.sleep(0.05)
    done.set()
    for writer in writers:
        writer.join()
    assert failed == []
    assert store.payments.of(question_set.id) == Paid(sum(turns), dollars=sum(turns) * 0.5)


@pytest.mark.parametrize(
    "words",
    [
        "the database system is starting up",
        "the database system is shutting down",
        "the database system is in recovery mode",
        "the database system is not yet accepting connections\nDETAIL:  Consistent recovery state was not reached.",
        "sorry, too many clients already",
        "terminating connection due to administrator command",
    ],
)
def test_a_server_in_a_temporary_state_is_retried(words, server, monkeypatch):
    """The driver's message for a refused connection: it passes no code on."""
    store, refusals = open_store(server.url), iter([words, words])
    store._engine.dispose()

    def connect(*_):
        if (words := next(refusals, None)) is not None:
            raise psycopg.OperationalError(
                f'connection failed: connection to server at "127.0.0.1" failed: FATAL:  {words}'
            )

    sa.event.listen(store._engine, "do_connect", connect)
    assert store.corpora.all() is not None
    assert next(refusals, None) is None


def test_a_transaction_lost_in_a_crash_is_retried_though_another_got_its_number(server):
    store, beside = open_store(server.url), open_store(server.url)
    corpus = store.corpora.add("notes of a crash")
    mine, theirs = (store.sets.add(corpus.id, f"q of {who}") for who in ("mine", "theirs"))

    numbers: list[int] = []

    def crash(connection: sa.engine.Connection) -> None:
        """Crash the server at the first commit; another transaction takes the number of the lost one."""
        if numbers:
            return
        numbers.append(connection.exec_driver_sql("SELECT txid_current()").scalar_one())
        server.stop("immediate")
        server.start()
        beside.payments.add(theirs.id, Paid(1, dollars=0.5))
        with beside._engine.connect() as look:
            status = look.execute(sa.text("SELECT txid_status(:number)"), {"number": numbers[0]}).scalar()
        assert status == "committed", "the number of the lost transaction is another's now"

    sa.event.listen(store._engine, "commit", crash)
    store.payments.add(mine.id, Paid(1, dollars=0.5))
    assert store.payments.of(mine.id) == Paid(1, dollars=0.5)


def test_a_command_a_page_and_a_job_outlast_a_restart(server, tmp_path, monkeypatch):
    from streamlit.testing.v1 import AppTest

    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAGVIZ_DATABASE_URL", server.url)
    settings = Settings(_env_file=None, home=tmp_path / "home", database_url=SecretStr(server.url))
    workspace = Workspace(settings)
    corpus = workspace.store.corpora.add("outlasts")
    page = AppTest.from_file(str(ROOT / "frame.py"), default_timeout=60).run()
    assert not page.exception

    def task(workspace, arguments, progress):
        for number in range(3):
            progress(number, 3, "steps", f"step {number}")
            if number == 1:
                server.stop()
                threading.Timer(2.0, server.start).start()
                command = subprocess.Popen(
                    [sys.executable, "-m", "ragviz", "corpus", "list"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )  # fmt: skip
                page.run()
                arguments_of["command"] = command.communicate(timeout=60)
        return {}

    arguments_of: dict[str, tuple[str, str]] = {}
    monkeypatch.setitem(tasks.KINDS, "sample", replace(tasks.KINDS["sample"], run=task))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    job = workspace.store.jobs.add("sample", "x", corpus.id, {})
    assert worker.perform(workspace, job.id).status == "done"
    assert not page.exception
    assert not page.error
    stdout, stderr = arguments_of["command"]
    assert "outlasts" in stdout, stderr


@pytest.fixture(params=["accepts nobody", "accepts and never speaks"])
def silent(request) -> Iterator[str]:
    with hanging(full="nobody" in request.param) as port:
        yield f"postgresql+psycopg://me:hunter2hunter2@127.0.0.1:{port}/x"


def test_a_server_that_never_answers_is_reported_in_seconds(silent, monkeypatch):
    monkeypatch.setattr(database, "CONNECTING", 2)
    monkeypatch.setattr(database, "AT_FIRST", 1)
    start = time.perf_counter()
    with pytest.raises(ServiceError) as refused:
        open_store(silent)
    assert time.perf_counter() - start < database.AT_FIRST + 2 * 2 + 3
    assert "cannot be used: connection timeout expired. Start it, or check RAGVIZ_DATABASE_URL" in str(refused.value)
    assert "hunter2hunter2" not in str(refused.value)
