"""A backup of a PostgreSQL database of our own, and what refuses one."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from ragviz.core.errors import InputError, ServiceError, UsageError
from ragviz.index import damage
from ragviz.service import upkeep_verbs
from ragviz.store import database
from ragviz.upkeep import doctor
from tests.attack.test_storage import Server, running
from tests.test_backup import busy_home, opened, writing

pytestmark = pytest.mark.model  # it loads the sample


@pytest.fixture(scope="module")
def cluster() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def new_database(cluster: Server, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Creates a database, and returns its address: of a user with a password that has to be escaped."""

    def create(name: str) -> str:
        url = sa.make_url(cluster.url)
        with psycopg.connect(
            host=url.host, port=url.port, user="postgres", dbname="postgres", autocommit=True
        ) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {name}")
        return url.set(database=name, password="p@ss/word").render_as_string(hide_password=False)

    return create


def test_doctor_says_that_a_server_without_checksums_notices_no_damage(tmp_path, new_database):
    [check] = [each for each in doctor.examined(opened(tmp_path, new_database("examined"))) if each.name == "Database"]
    assert (check.status, check.detail) == ("optional", database.NO_CHECKSUMS)


def test_a_backup_while_others_write_and_one_in_place_of_another(tmp_path, new_database):
    url = new_database("busy")
    workspace = busy_home(tmp_path / "home", url)
    with writing(workspace, url):
        for number in range(3):
            assert upkeep_verbs.back_up(workspace, tmp_path / f"{number}.zip").kept == ["rebuilt"]
    other = opened(tmp_path / "other", new_database("brought"))
    other.store.corpora.add("mine")
    for number in range(3):
        if number == 0:
            with pytest.raises(UsageError, match=r"is not empty, and nothing was written: .* give --replace"):
                upkeep_verbs.bring_back(other, tmp_path / "0.zip")
            with pytest.raises(UsageError, match=r"is in use by 1 other connection, and nothing was replaced"):
                upkeep_verbs.bring_back(other, tmp_path / "0.zip", replace=True)
            assert [corpus.name for corpus in other.store.corpora.all()] == ["mine"]
        other.store._engine.dispose()
        restored = upkeep_verbs.bring_back(other, tmp_path / f"{number}.zip", replace=True)
        assert [path.name for path in Path(restored.replaced).glob("*.dump")] == ["database.dump"]
        shutil.rmtree(restored.replaced)
        fresh = opened(tmp_path / "other", other.settings.database_url.get_secret_value())
        assert [corpus.name for corpus in fresh.store.corpora.all()] == ["busy"]
        info = fresh.store.indexes.get("rebuilt")
        assert damage.damage(fresh, info) == ""
        assert fresh.store.payments.of(info.id).calls >= 1
        fresh.store._engine.dispose()
    with pytest.raises(UsageError, match="holds a database of postgresql, and sqlite is configured"):
        upkeep_verbs.bring_back(opened(tmp_path / "third"), tmp_path / "0.zip")


def test_a_backup_of_other_columns_is_refused_and_nothing_is_written(tmp_path, new_database):
    workspace = opened(tmp_path / "home", new_database("earlier"))
    workspace.store.corpora.add("notes")
    with workspace.store._engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE targets DROP COLUMN created"))
    upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    other = opened(tmp_path / "other", new_database("later"))
    other.store.corpora.all()
    other.store._engine.dispose()
    with pytest.raises(InputError, match="it has no column created in table targets: take another backup"):
        upkeep_verbs.bring_back(other, tmp_path / "kept.zip")
    assert other.store.corpora.all() == []


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (None, "The program pg_dump is needed for this, and not found. Install the client programs of PostgreSQL"),
        ("echo 'pg_dump (PostgreSQL) 9.6.1'", r"is of version pg_dump \(PostgreSQL\) 9.6.1, older than the server's, "),
        (
            "[ $1 = --version ] && echo 'pg_dump (PostgreSQL) 99.1' || { echo 'pg_dump: error: no.' >&2; exit 1; }",
            "refused pg_dump: pg_dump: error: no.$",
        ),
    ],
)
def test_a_pg_dump_that_is_missing_old_or_refused_is_a_sentence(script, sentence, tmp_path, new_database, monkeypatch):
    workspace = opened(tmp_path / "home", new_database("refused"))
    workspace.store.corpora.add("notes")
    (tmp_path / "bin").mkdir()
    if script:
        (tmp_path / "bin" / "pg_dump").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / "pg_dump").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ServiceError, match=sentence) as refused:
        upkeep_verbs.back_up(workspace, tmp_path / "kept.zip")
    assert "p@ss" not in str(refused.value)
    assert not list(tmp_path.glob("kept*"))
    assert not list((tmp_path / "home").glob("ragviz-backup-*"))
    [told] = [check for check in doctor.examined(workspace) if check.name == "Backups"]
    unfit = "The program pg_restore is needed" if "refused" in sentence else sentence
    assert (told.status, bool(re.search(unfit, told.detail))) == ("optional", True)
