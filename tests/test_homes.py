"""Copies of a home in use, cut and damaged files, and killed upgrades are found when a home is opened."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from ragviz.core.errors import StorageError
from ragviz.service import upkeep_verbs
from ragviz.store import copies, database, migrations, schema, store
from ragviz.store.store import open_store
from tests.conftest import ROOT
from tests.test_backup import opened

_USING = """
import sys
from pathlib import Path
from ragviz.core.settings import Settings
from ragviz.workspace import Workspace

store = Workspace(Settings(_env_file=None, home=Path(sys.argv[1]))).store
store.corpora.add("written")
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def using(home: Path) -> Iterator[None]:
    """Another process that has written, and has the home open."""
    command = [sys.executable, "-c", _USING, str(home)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield
    process.communicate(b"\n", timeout=60)


def names(home: Path) -> list[str]:
    with closed(home) as workspace:
        return [corpus.name for corpus in workspace.store.corpora.all()]


@contextmanager
def closed(home: Path) -> Iterator:
    workspace = opened(home)
    yield workspace
    workspace.store._engine.dispose()


@pytest.fixture
def home(tmp_path):
    with closed(tmp_path / "home") as workspace:
        workspace.store.corpora.add("notes")
    return tmp_path / "home"


def test_a_copy_of_a_home_in_use_is_refused_until_it_is_adopted(home, tmp_path, command_line, monkeypatch):
    copy = tmp_path / "copy"
    with using(home):
        shutil.copytree(home, copy)
    monkeypatch.setenv("RAGVIZ_HOME", str(copy))
    code, out, err = command_line("corpus", "list")
    assert (code, out) == (1, "")
    assert f"{copy} is a copy of {home} that was made while that was used" in err
    assert command_line("doctor")[0] == 1
    code, out, err = command_line("doctor", "--adopt")
    assert code == 0, out + err
    assert set(names(copy)) == {"notes", "written"}


def test_a_backup_replaces_a_copy_of_a_home_in_use(home, tmp_path):
    copy = tmp_path / "copy"
    with using(home):
        shutil.copytree(home, copy)
    with closed(home) as workspace:
        upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    upkeep_verbs.bring_back(opened(copy), tmp_path / "kept.zip", replace=True)
    assert set(names(copy)) == {"notes", "written"}


def test_a_copy_of_a_closed_home_is_examined_once(home, tmp_path, monkeypatch):
    examined, damage_of = [], copies.damage_of
    monkeypatch.setattr(copies, "damage_of", lambda file: examined.append(file) or damage_of(file))
    names(home)
    assert examined == []
    shutil.copytree(home, tmp_path / "copy")
    assert names(tmp_path / "copy") == names(tmp_path / "copy") == ["notes"]
    assert examined == [tmp_path / "copy" / "ragviz.db"]
    home.rename(tmp_path / "moved")
    assert names(tmp_path / "moved") == ["notes"]
    assert len(examined) == 1, "a home that was moved is the same"


def test_a_copy_without_the_log_of_the_original_is_refused(tmp_path):
    with using(tmp_path / "home"):  # all that was written stands in its log
        shutil.copytree(tmp_path / "home", tmp_path / "copy", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    with pytest.raises(StorageError, match="it has no tables: they stood in the log beside it, which was not copied"):
        names(tmp_path / "copy")
    assert not (tmp_path / "copy" / "ragviz.db-wal").exists()


def test_a_copy_with_a_torn_page_is_refused(home, tmp_path):
    shutil.copytree(home, tmp_path / "copy")
    file = tmp_path / "copy" / "ragviz.db"
    with file.open("r+b") as stored:
        stored.seek(5 * 4096)
        stored.write(os.urandom(4096))
    with pytest.raises(StorageError, match=r"The database that was copied to .* is damaged"):
        names(tmp_path / "copy")


def test_a_home_that_is_opened_twice_is_not_taken_for_closed_by_another_process(tmp_path):
    """Closing a file ends the locks that the process holds on it, and whoever closes last deletes the log."""
    first = opened(tmp_path / "home")
    first.store.corpora.add("first")
    opened(tmp_path / "home").store.corpora.add("second")
    with using(tmp_path / "home"):
        pass
    assert (tmp_path / "home" / "ragviz.db-wal").exists()
    assert [corpus.name for corpus in first.store.corpora.all()] == ["first", "second", "written"]


def test_a_file_that_was_cut_is_refused_at_once(home):
    file = home / "ragviz.db"
    os.truncate(file, file.stat().st_size - 4096)
    with pytest.raises(StorageError, match=r"is damaged \(database disk image is malformed\)"):
        names(home)


def test_a_flipped_byte_in_what_a_judge_said_is_a_sentence(home):
    """SQLite has no checksums of its own; what is compressed has."""
    with closed(home) as workspace:
        pages = workspace.store._transactions
        with pages.writing() as connection:
            row = {"subject": "s", "judge": "j", "chunk": "c", "body": '{"supported": true}' * 9}
            connection.execute(schema.verdicts.insert().values(row))
            stored = bytearray(connection.exec_driver_sql("SELECT body FROM verdicts").scalar_one())
            stored[12] ^= 1
            connection.exec_driver_sql("UPDATE verdicts SET body = ?", (bytes(stored),))
        with pytest.raises(StorageError, match=r"is damaged .*restore FILE --replace"):
            pages.rows(sa.select(schema.verdicts))


def test_an_interrupted_restore_is_named(tmp_path):
    staged = tmp_path / "home" / "ragviz-restore-1"
    staged.mkdir(parents=True)
    (staged / "ragviz.db").write_bytes(b"x")
    with pytest.raises(StorageError, match="is being restored, or that was interrupted"):
        names(tmp_path / "home")


_REVISION = """
import sys
import time

import sqlalchemy as sa
from alembic import op

revision, down_revision = "2", "1"


def upgrade():
    op.add_column("corpora", sa.Column("colour", sa.Text(), nullable=True))
    op.execute("DELETE FROM corpora")
    if sys.argv[-1] == "killed":
        print("half", flush=True)
        time.sleep(600)
    op.execute("UPDATE alembic_version SET version_num = '1'")  # Alembic sets it from 1 to 2
"""
_OPENING = """
import sys
from pathlib import Path
from ragviz.store import store

store.MIGRATIONS, store.REVISION = sys.argv[1], "2"
store.open_store(sys.argv[2], Path(sys.argv[3]))
"""


def opening(folder: Path, url: str, home: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _OPENING, str(folder), url, str(home), how]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_upgrade_leaves_the_database_and_a_copy_and_is_done_at_the_next_opening(database_url, tmp_path):
    is_file = database_url.startswith("sqlite")
    before = open_store(database_url)
    before.corpora.add("notes")
    before._engine.dispose()
    folder, home = tmp_path / "migrations", tmp_path / "store"
    home.mkdir(exist_ok=True)
    shutil.copytree(Path(migrations.__file__).parent, folder)
    (folder / "versions" / "second.py").write_text(_REVISION)

    process = opening(folder, database_url, home, "killed")
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    copy = home / f"ragviz-before-upgrade-1-to-2.{'db' if is_file else 'dump'}"
    assert copy.exists()
    assert [corpus.name for corpus in open_store(database_url).corpora.all()] == ["notes"], "nothing of it was kept"

    process = opening(folder, database_url, home, "whole")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert f"from revision 1 to 2 was interrupted, and left it as it was: it begins again. {copy} is a copy" in told
    [kept] = home.glob("ragviz-before-upgrade-1-to-2-*")
    assert f"The database was upgraded. {kept} is a copy of it as it was" in told
    engine = database.open_engine(database_url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == "2"
        assert connection.execute(sa.text("SELECT colour FROM corpora")).all() == []
    engine.dispose()
    if is_file:
        with closing(sa.create_engine(store.sqlite_url(kept)).raw_connection()) as connection:
            assert connection.execute("SELECT name FROM corpora").fetchall() == [("notes",)]
