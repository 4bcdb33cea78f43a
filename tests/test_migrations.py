"""The schema: Alembic brings an empty database to the tables of `store.schema`, and unknown ones are refused."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from ragviz.core.errors import ServiceError, UsageError
from ragviz.store import database, migrations, schema, store
from ragviz.store.store import open_store


def test_an_empty_database_is_upgraded_to_the_tables_of_the_store(database_url):
    engine = open_store(database_url)._engine
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
        schema.moves.drop(connection)
        assert len(compare_metadata(MigrationContext.configure(connection), schema.metadata)) == 1, "it does compare"


def test_the_newest_revision_is_that_of_the_scripts():
    assert ScriptDirectory(Path(migrations.__file__).parent).get_heads() == [store.REVISION]


@pytest.mark.parametrize("revision", ["99", "3f2a91c0"])
def test_a_database_of_an_unknown_revision_is_refused_and_left_as_it_is(database_url, revision):
    engine = open_store(database_url)._engine
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    with pytest.raises(ServiceError, match=f"has schema {revision}, this ragviz knows {store.REVISION}: upgrade"):
        open_store(database_url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == revision


_OPENING = """
import os, sys
from ragviz.store.store import open_store
print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1]).corpora.add(str(os.getpid()))
"""


def test_of_processes_that_open_a_new_database_at_once_one_creates_it(database_url):
    """No children of multiprocessing, which would run anew the page that an earlier test left as `__main__`."""
    command = [sys.executable, "-c", _OPENING, database_url]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0] * 3
    assert len(open_store(database_url).corpora.all()) == 3


def test_a_migration_that_fails_leaves_nothing_behind(database_url, monkeypatch):
    monkeypatch.setattr(store, "refuse_foreign", lambda engine: None)
    engine = database.open_engine(database_url)
    with engine.begin() as connection:
        schema.verdicts.create(connection)  # the last table of the baseline: it is in the way
    with pytest.raises((ServiceError, sa.exc.ProgrammingError)):
        open_store(database_url)
    assert sa.inspect(engine).get_table_names() == ["verdicts"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("DROP TABLE targets", "no table targets"),
        ("ALTER TABLE runs DROP COLUMN note", "no column note in table runs"),
        ("ALTER TABLE runs ADD COLUMN old TEXT", "a column old in table runs"),
    ],
)
def test_a_database_of_an_unreleased_version_is_named(database_url, change, part):
    engine = open_store(database_url)._engine
    with engine.begin() as connection:
        connection.execute(sa.text(change))
    with pytest.raises(UsageError, match=f"before the first release: it has {part}\\. Move it away"):
        open_store(database_url)
