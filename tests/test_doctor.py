"""`ragviz doctor` finds what is wrong, and nothing where nothing is."""

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

import ragviz
from ragviz.core.configuration import IndexConfig
from ragviz.core.digests import new_id
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.upkeep import doctor
from tests.conftest import CommandResult


@pytest.fixture
def examined(workspace, command_line):
    """The exit code of `ragviz doctor`, and status and finding of each part."""

    def examine() -> tuple[int, dict[str, tuple[str, str]]]:
        result: CommandResult = command_line("doctor", "--json")
        return result[0], {each["name"]: (each["status"], each["detail"]) for each in json.loads(result[1])}

    return examine


def test_version(command_line):
    assert command_line("--version") == (0, f"ragviz {ragviz.__version__}\n", "")


def test_nothing_is_wrong_with_a_new_home(examined):
    code, found = examined()
    assert code == 0
    assert {name for name, (status, _) in found.items() if status == "broken"} == set()
    assert {"Program", "Libraries", "Store", "Disk", "Database", "Indexes", "Jobs", "Uploads"} < set(found)
    assert "Sign-in" not in found, "there is no secrets file"


def test_a_home_that_cannot_be_written_is_told_and_opens_no_dashboard(examined, workspace, command_line, monkeypatch):
    logs = workspace.settings.home / "logs"
    logs.parent.mkdir()
    logs.write_text("")  # no folder: root may write in any
    code, found = examined()
    assert (code, found["Disk"][0]) == (1, "broken")
    assert f"{logs} cannot be written (Not a directory)" in found["Disk"][1]
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the dashboard was started"))
    code, _, err = command_line("app")
    assert (code, f"{logs} cannot be written" in err) == (1, True)


def test_a_damaged_page_is_found(examined, workspace):
    for number in range(300):
        workspace.store.corpora.add(f"corpus {number}")
    workspace.store._engine.dispose()
    file = workspace.settings.home / "ragviz.db"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'corpora'").fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with file.open("r+b") as stored:
        stored.seek((page - 1) * size + 12)  # where the cells of the page begin
        stored.write(b"\xff" * 8)
    code, found = examined()
    assert code == 1
    assert found["Database"][0] == "broken"
    assert f"{page}" in found["Database"][1]


def test_a_damaged_index_is_named_with_the_command_that_builds_it_again(examined, command_line, workspace):
    corpus = workspace.store.corpora.add("lamps")
    corpora.add_file(workspace, corpus, "a.txt", b"The lamp was lit. The wick burned low.")
    for name in ("sound", "broken"):
        indexing.build_index(workspace, corpus, name, IndexConfig(embedder="", chunk_size=16, overlap=0))
    assert examined()[1]["Indexes"] == ("works", "2 built, each of them as it was built")
    [terms] = workspace.index(workspace.store.indexes.get("broken")).folder.glob("gen-*/rows/terms.txt")
    terms.write_bytes(terms.read_bytes() + b"x")
    code, found = examined()
    assert code == 1
    assert found["Indexes"][0] == "broken"
    assert found["Indexes"][1].startswith("'broken': rows/terms.txt is not the file that was built")
    code, out, err = command_line("doctor")
    assert (code, err) == (1, "")
    assert "`ragviz index build lamps --name broken`" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("[auth", "broken", "secrets.toml cannot be read"),
        ("auth = 1", "broken", "have to be tables"),
        ('[ragviz.access]\nviewer = ["@a.org"]\n', "broken", "viewer: Extra inputs"),
        ("[other]\n", "broken", "secrets.toml has neither [auth] nor [ragviz.access]"),
        ('[ragviz.access]\nviewers = ["@a.org"]\nheader = "X"\nproxies = ["10.0.0.5"]\n', "works", "secrets.toml says"),
    ],
)
def test_the_secrets_file_is_examined_where_there_is_one(text, status, told, examined, workspace):
    workspace.settings.home.mkdir()
    (workspace.settings.home / "secrets.toml").write_text(text)
    found = examined()[1]["Sign-in"]
    assert (found[0], told in found[1]) == (status, True), found


def test_jobs_without_a_process_and_old_uploads_are_named(examined, workspace):
    job = workspace.store.jobs.add("run", "Run r", "", {})
    workspace.store.jobs.update(job.id, status="running", pid=os.getpid(), pid_started=1.0, host=os.uname().nodename)
    old = workspace.settings.home / "uploads" / new_id()
    old.mkdir(parents=True)
    (old / "0").write_bytes(b"x" * 2_000_000)
    os.utime(old, (time.time() - 2 * 86_400,) * 2)
    code, found = examined()
    assert code == 1
    assert found["Jobs"] == ("broken", f"interrupted: {job.id} (Run r)")
    assert found["Uploads"] == ("optional", "older than a day: 1, 2.0 MB")


@pytest.mark.parametrize(
    ("required", "locked", "status", "detail"),
    [
        ("numpy>=99", "numpy==99.1", "broken", "numpy>=99 is installed as "),
        ("no-such-library>=1", "", "broken", "no-such-library>=1 is not installed"),
        ("numpy>=1  # arrays", "numpy==1.0.0", "optional", "not of the versions that the tests passed on: numpy "),
        ("numpy>=1", "numpy==1.0.0 ; sys_platform == 'nowhere'", "works", "all 1 are"),
    ],
)
def test_libraries_are_compared_with_the_lock(required, locked, status, detail, tmp_path: Path, monkeypatch):
    (tmp_path / "requirements.txt").write_text(f"# why\n{required}\n")
    (tmp_path / "requirements.lock").write_text(f"{locked}\n")
    monkeypatch.setattr(doctor, "dashboard_folder", lambda: tmp_path)
    check = doctor._libraries()
    assert check.status == status
    assert check.detail.startswith(detail)
