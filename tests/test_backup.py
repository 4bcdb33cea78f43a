"""A backup holds what was there at one moment, comes back elsewhere to the last digit; a bad one changes nothing."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.digests import new_id
from ragviz.core.errors import InputError, StorageError, UsageError
from ragviz.core.settings import Settings
from ragviz.core.stopping import silent
from ragviz.index import damage, indexing
from ragviz.service import upkeep_verbs
from ragviz.upkeep import archive, backup, restore
from ragviz.workspace import Workspace
from tests.builders import ROOT, added, ragviz, wait_until

SAMPLE = "Sample: Tarrow Ridge Observatory"
SHOWN = (
    ("results", "sample-answered"),
    ("runs", "questions", "sample-hybrid"),
    ("experiments", "show", "sample-experiment"),
    ("index", "search", "sample-recursive-120", "Who built the observatory?"),
    ("prices", "list"),
)
"""What is compared before and after: the numbers of runs among them."""


def opened(home: Path, url: str | None = None) -> Workspace:
    home.mkdir(exist_ok=True, parents=True)
    return Workspace(Settings(_env_file=None, home=home, database_url=url))


def shown(home: Path, url: str | None = None) -> list[str]:
    done = [ragviz(home, *words, "--json", **({"RAGVIZ_DATABASE_URL": url} if url else {})) for words in SHOWN]
    assert [each.stderr for each in done if each.returncode] == []
    return [each.stdout for each in done]


_WRITER = """
import itertools, sys
from pathlib import Path
from ragviz.core.call import Paid
from ragviz.core.configuration import IndexConfig
from ragviz.core.settings import Settings
from ragviz.index import indexing
from ragviz.workspace import Workspace

workspace = Workspace(Settings(_env_file=None, home=Path(sys.argv[1]), database_url=sys.argv[2] or None))
store = workspace.store
corpus = store.corpora.get("busy")
for number in itertools.count():
    config = IndexConfig(embedder="", chunk_size=20 + number % 30, overlap=0)
    indexing.build_index(workspace, corpus, "rebuilt", config, fresh=True)
    store.payments.add(store.indexes.get("rebuilt").id, Paid(1, dollars=0.25))
    if number == 1:
        print("ready", flush=True)
"""


@contextmanager
def writing(workspace: Workspace, url: str | None = None) -> Iterator[None]:
    """Another process that rebuilds an index with other chunks again and again, and pays."""
    words = [sys.executable, "-c", _WRITER, str(workspace.settings.home), url or ""]
    process = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        assert process.poll() is None, "it wrote until the end"
    finally:
        process.kill()
        process.wait()


def busy_home(home: Path, url: str | None = None) -> Workspace:
    """A home with a corpus to be indexed without a model."""
    workspace = opened(home, url)
    text = " ".join(f"Lamp {number} was lit in {1800 + number}." for number in range(400))
    corpus = added(workspace, "busy", {f"{part}.txt": f"{part}. {text}" for part in range(5)})
    indexing.build_index(workspace, corpus, "rebuilt", IndexConfig(embedder="", chunk_size=19, overlap=0))
    return workspace


def test_each_backup_of_an_index_that_is_rebuilt_meanwhile_fits_its_database(tmp_path):
    workspace = busy_home(tmp_path / "home")
    sizes = set()
    with writing(workspace):
        for number in range(3):
            built = workspace.store.indexes.get("rebuilt").config
            contents = upkeep_verbs.back_up(workspace, tmp_path / f"{number}.zip")
            assert contents.kept == ["rebuilt"]
            wait_until(lambda built=built: workspace.store.indexes.get("rebuilt").config != built)
    for number in range(3):
        other = opened(tmp_path / f"other-{number}")
        upkeep_verbs.bring_back(other, tmp_path / f"{number}.zip")
        info = other.store.indexes.get("rebuilt")
        assert damage.damage(other, info) == ""
        assert other.store.payments.of(info.id).calls >= 1
        sizes.add(info.config.chunk_size)
    assert len(sizes) > 1
    assert {path.name for path in (tmp_path / "home").iterdir()} - {"ragviz.db.json"} <= {
        *("ragviz.db", "ragviz.db-wal", "ragviz.db-shm", "indexes", "uploads", "logs"),
    }


def test_a_build_between_the_files_and_the_database_is_not_torn(tmp_path, monkeypatch):
    workspace = busy_home(tmp_path / "home")
    hold, rounds = backup._hold, []

    def overtaken(*arguments: Any) -> None:
        hold(*arguments)
        rounds.append(len(rounds))
        if len(rounds) == 1:
            corpus = workspace.store.corpora.get("busy")
            indexing.build_index(workspace, corpus, "rebuilt", IndexConfig(embedder="", chunk_size=33, overlap=0))

    monkeypatch.setattr(backup, "_hold", overtaken)
    assert upkeep_verbs.back_up(workspace, tmp_path / "kept.zip").kept == ["rebuilt"]
    assert rounds == [0, 1]
    other = opened(tmp_path / "other")
    upkeep_verbs.bring_back(other, tmp_path / "kept.zip")
    info = other.store.indexes.get("rebuilt")
    assert (info.config.chunk_size, damage.damage(other, info)) == (33, "")


def test_the_sample_comes_back_at_another_path_to_the_last_digit(tmp_path, loaded_sample: Callable[[Path], str]):
    loaded_sample(tmp_path / "home")
    before = shown(tmp_path / "home")
    workspace = opened(tmp_path / "home")
    waiting = workspace.settings.home / "uploads" / new_id()
    waiting.mkdir(parents=True)
    (waiting / "0").write_text("It waits to be read.")
    home = str(workspace.settings.home)
    arguments = {"folder": str(waiting), "files": [["a.txt", f"{waiting}/0"]], "note": f"{home}-2"}
    place = {"host": os.uname().nodename, "home": home, "folder": home, "pid": os.getpid()}
    job = workspace.store.jobs.add("documents", "Read 1 file", "", arguments, **place)
    workspace.store.jobs.update(job.id, status="running")
    upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    workspace.store._engine.dispose()
    shutil.rmtree(tmp_path / "home")

    other = opened(tmp_path / "elsewhere" / "new home")
    upkeep_verbs.bring_back(other, tmp_path / "kept.zip")
    assert shown(other.settings.home) == before
    brought = other.store.jobs.get(job.id)
    assert (brought.status, brought.pid) == ("interrupted", None)
    assert brought.home == brought.folder == brought.host == ""
    [[_, path]] = brought.arguments["files"]
    assert Path(path).read_text() == "It waits to be read."
    assert brought.arguments["note"] == f"{home}-2", "another folder, whose name begins alike"
    other.store._engine.dispose()
    left = (other.settings.home / "ragviz.db").read_bytes().replace(f"{home}-2".encode(), b"")
    assert home.encode() not in left, "nothing names the place of the original"


def small(tmp_path: Path) -> tuple[Workspace, Path]:
    workspace = opened(tmp_path / "home")
    workspace.store.corpora.add("notes")
    (workspace.settings.home / "logs").mkdir(exist_ok=True)
    (workspace.settings.home / "logs" / "job-1.log").write_text("done " * 5_000)
    (workspace.settings.home / ".env").write_text("OPENAI_API_KEY=sk-secret-of-mine")
    upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    return workspace, tmp_path / "kept.zip"


def test_what_is_there_is_replaced_only_when_asked_and_is_kept(tmp_path):
    workspace, file = small(tmp_path)
    workspace.store.corpora.add("later")
    with pytest.raises(UsageError, match=r"is not empty, and nothing was written: .*give --replace"):
        upkeep_verbs.bring_back(workspace, file)
    with pytest.raises(UsageError, match="is in use, and nothing was replaced"):
        upkeep_verbs.bring_back(opened(workspace.settings.home), file, replace=True)
    assert {corpus.name for corpus in workspace.store.corpora.all()} == {"notes", "later"}
    workspace.store._engine.dispose()
    restored = upkeep_verbs.bring_back(workspace, file, replace=True)
    assert [corpus.name for corpus in opened(workspace.settings.home).store.corpora.all()] == ["notes"]
    replaced = opened(Path(restored.replaced))
    assert {corpus.name for corpus in replaced.store.corpora.all()} == {"notes", "later"}


def test_a_damaged_database_can_be_replaced(tmp_path):
    workspace, file = small(tmp_path)
    workspace.store._engine.dispose()
    (workspace.settings.home / "ragviz.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8_000)
    with pytest.raises(StorageError, match="is damaged"):
        upkeep_verbs.bring_back(workspace, file)
    upkeep_verbs.bring_back(workspace, file, replace=True)
    assert [corpus.name for corpus in opened(workspace.settings.home).store.corpora.all()] == ["notes"]


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Write the files of a backup again, changed."""
    with zipfile.ZipFile(file) as kept:
        files = {name: kept.read(name) for name in kept.namelist()}
    change(files)
    with zipfile.ZipFile(file, "w") as kept:
        for name, data in files.items():
            kept.writestr(name, data)


def with_list(**changes: object) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files[archive.LIST] = json.dumps(json.loads(files[archive.LIST]) | changes).encode()

    return change


def outside(files: dict[str, bytes]) -> None:
    listed = json.loads(files[archive.LIST])
    listed["files"]["logs/../../evil"] = listed["files"].pop("logs/job-1.log")
    files["logs/../../evil"] = files.pop("logs/job-1.log")
    files[archive.LIST] = json.dumps(listed).encode()


def after(statement: str) -> Callable[[dict[str, bytes]], None]:
    """A database that was changed, with the checksum that it has since."""

    def change(files: dict[str, bytes]) -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            data = files["ragviz.db"]
            connection.deserialize(data[:18] + b"\1\1" + data[20:])  # a file in memory has no write-ahead log
            connection.execute(statement)
            connection.commit()
            files["ragviz.db"] = connection.serialize()
        listed = json.loads(files[archive.LIST])
        listed["files"]["ragviz.db"] = [len(files["ragviz.db"]), hashlib.sha256(files["ragviz.db"]).hexdigest()]
        files[archive.LIST] = json.dumps(listed).encode()

    return change


WITH_TRIGGER = "CREATE TRIGGER evil AFTER DELETE ON shards BEGIN DELETE FROM corpora; END"
"""It does something by itself when the jobs of a backup are settled."""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda files: files.pop("backup.json"), "is no backup of ragviz"),
        (lambda files: files.update({"logs/more.log": b"x"}), "its files are not those of its backup.json"),
        (outside, r"it names the file 'logs/../../evil', which no home has"),
        (lambda files: files.update({"/etc/evil": b"x"}), "it names the file '/etc/evil'"),
        (lambda files: files.update({"logs/job-1.log": b"fake " * 5_000}), "logs/job-1.log is not as it was written"),
        (with_list(format=2), "was written by ragviz .*, a newer version: upgrade ragviz"),
        (with_list(revision="99"), "a newer version: upgrade ragviz"),
        (with_list(version={}, engine=[]), "backup.json cannot be read: version"),
        (with_list(format=float("inf")), "backup.json cannot be read"),
        (with_list(version="9\x1b[2J\n", revision="99"), r"by ragviz 9\\x1b\[2J\\n, a newer"),
        (lambda files: files.update({"backup.json": b"[" * 100_000}), "backup.json cannot be read"),
        (lambda files: files.update({"backup.json": b" " * (archive.LIST_LIMIT + 1)}), "is longer than 64 MB"),
        (after("ALTER TABLE jobs DROP COLUMN pid"), "before the first release: it has no column pid in table jobs"),
        (after(WITH_TRIGGER), "has a trigger, a view or a virtual table, 'evil'"),
    ],
)
def test_a_changed_backup_is_refused_and_nothing_is_written(change, sentence, tmp_path):
    _, file = small(tmp_path)
    rewritten(file, change)
    other = opened(tmp_path / "other")
    with pytest.raises(InputError, match=sentence) as refused:
        upkeep_verbs.bring_back(other, file)
    assert str(refused.value).endswith("Nothing was written.")
    assert list((tmp_path / "other").iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_each_flipped_byte_and_each_cut_is_found(tmp_path):
    """Bytes of what is kept; a zip has others that say nothing, as the time of a file."""
    _, file = small(tmp_path)
    data = file.read_bytes()
    with zipfile.ZipFile(file) as kept:
        contents = archive.verify(file, silent)
        starts = {entry.filename: entry.header_offset + 30 + len(entry.filename) + 20 for entry in kept.infolist()}
        sizes = {entry.filename: entry.compress_size for entry in kept.infolist()}
    assert sorted(contents.files) == ["logs/job-1.log", "ragviz.db"], "keys stay out"
    places = [starts[name] + step * sizes[name] // 12 for name in contents.files for step in range(1, 12)]
    for place in places:
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(InputError, match="is damaged"):
            archive.verify(file, silent)
    for length in (0, 1, 100, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:length])
        with pytest.raises(InputError, match="is damaged"):
            archive.verify(file, silent)


def test_a_backup_is_refused_where_it_cannot_be_written(tmp_path):
    workspace, file = small(tmp_path)
    before = file.read_bytes()
    with pytest.raises(UsageError, match="exists, and was not touched"):
        upkeep_verbs.back_up(workspace, file)
    assert file.read_bytes() == before
    with pytest.raises(InputError, match="there is no folder"):
        upkeep_verbs.back_up(workspace, tmp_path / "nowhere" / "kept.zip")


def test_a_full_disk_leaves_neither_a_backup_nor_what_was_staged(tmp_path, monkeypatch):
    workspace, _ = small(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "second.zip"))

    monkeypatch.setattr(archive, "write", full)
    with pytest.raises(OSError, match="No space left"):
        upkeep_verbs.back_up(workspace, tmp_path / "second.zip")
    assert [path.name for path in tmp_path.glob("second*")] == []
    assert list(workspace.settings.home.glob("ragviz-backup-*")) == []


def test_there_must_be_room_for_what_is_brought_back(tmp_path, monkeypatch):
    _, file = small(tmp_path)
    monkeypatch.setattr(restore.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 1, 1))  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="make room there"):
        upkeep_verbs.bring_back(opened(tmp_path / "other"), file)


def test_an_index_whose_files_are_damaged_is_named_and_left_out(tmp_path):
    workspace = busy_home(tmp_path / "home")
    [vectors] = workspace.settings.home.glob("indexes/*/gen-*/rows/terms.txt")
    data = bytearray(vectors.read_bytes())
    data[100] ^= 1
    vectors.write_bytes(data)
    contents = upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    assert contents.kept == []
    assert contents.rebuilt == {
        "rebuilt": "it is damaged: rows/terms.txt is not the file that was built: its checksum differs"
    }
    other = opened(tmp_path / "other")
    upkeep_verbs.bring_back(other, tmp_path / "kept.zip")
    indexing.build_index(other, other.store.corpora.get("busy"), "rebuilt", other.store.indexes.get("rebuilt").config)
    assert damage.damage(other, other.store.indexes.get("rebuilt")) == ""
