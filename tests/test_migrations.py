"""Databases of earlier versions, with data in them, are upgraded; new ones have the same tables.

`schemas/N.sql` is a dump of a SQLite database that the code of schema N filled by its own command line.
"""

import os
import re
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from ragviz.analysis import evaluate
from ragviz.core.settings import Settings
from ragviz.runs import judgements, measurements
from ragviz.store import schema
from ragviz.store.migrations import MIGRATIONS, statements
from ragviz.store.opening import open_store, sqlite_url
from ragviz.workspace import Workspace

DUMPS = sorted((Path(__file__).parent / "schemas").glob("*.sql"), key=lambda path: int(path.stem))
POSTGRESQL = os.environ.get("RAGVIZ_TEST_POSTGRESQL_URL")


def restored(dump: Path, file: Path) -> str:
    with sqlite3.connect(file) as database:
        database.executescript(dump.read_text(encoding="utf-8"))
    database.close()
    return sqlite_url(file)


def emptied_postgresql() -> sa.Engine:
    engine = sa.create_engine(POSTGRESQL)
    everything = sa.MetaData()
    everything.reflect(engine)
    everything.drop_all(engine)
    return engine


def copied_to_postgresql(url: str, version: int) -> str:
    """Bring PostgreSQL to schema `version` and put the rows of a SQLite database of that schema into it."""
    engine, source = emptied_postgresql(), sa.create_engine(url)
    tables = sa.MetaData()
    tables.reflect(source)
    with engine.begin() as target, source.connect() as rows:
        target.exec_driver_sql("CREATE TABLE schema_version (version INTEGER PRIMARY KEY)")
        for migration in MIGRATIONS[:version]:
            for statement in statements(migration, "postgresql"):
                target.exec_driver_sql(statement)
        for table in tables.sorted_tables:
            if values := [row._asdict() for row in rows.execute(sa.select(table))]:
                target.execute(table.insert(), values)
    return POSTGRESQL


def form_of(engine: sa.Engine) -> dict[str, object]:
    """Tables with their columns, keys and indexes."""
    inspector = sa.inspect(engine)
    return {
        table: (
            {c["name"]: (str(c["type"].as_generic()), c["nullable"]) for c in inspector.get_columns(table)},
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted(
                (tuple(index["column_names"]), bool(index["unique"]))
                for index in inspector.get_indexes(table)
                if not index.get("duplicates_constraint")
            ),
            sorted(tuple(unique["column_names"]) for unique in inspector.get_unique_constraints(table)),
        )
        for table in inspector.get_table_names()
    }


def form_of_tables(kind: str, folder: Path) -> dict[str, object]:
    """The tables, columns, keys and indexes of `schema.py`, created in an empty database."""
    if kind == "sqlite":
        engine = sa.create_engine(sqlite_url(folder / "tables.db"))
    else:
        with sa.create_engine(POSTGRESQL).begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA IF EXISTS beside CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA beside")
        engine = sa.create_engine(POSTGRESQL, connect_args={"options": "-csearch_path=beside"})
    schema._meta.create_all(engine)
    return form_of(engine)


@pytest.fixture(params=["sqlite", *["postgresql"] * bool(POSTGRESQL)])
def kind(request) -> str:
    return request.param


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: f"schema {dump.stem}")
def test_a_database_of_every_earlier_schema_is_upgraded_with_its_data(dump, kind, tmp_path):
    url, version = restored(dump, tmp_path / "old.db"), int(dump.stem)
    if kind == "postgresql":
        url = copied_to_postgresql(url, version)
    store = open_store(url)
    assert form_of(store._engine) == form_of_tables(kind, tmp_path), (
        "the same tables, columns, keys and indexes as a new database has"
    )
    workspace = Workspace(Settings(_env_file=None, home=tmp_path))
    workspace.__dict__["store"] = store

    corpus = store.corpus("notes")
    assert [(d.name, d.status) for d in store.documents(corpus.id)] == [
        ("empty.txt", "error"),
        ("pumps.md", "ok"),
        ("阀门.txt", "ok"),
    ]
    assert version >= 5 or store.revisions(corpus.id) == (1,), "evidence was checked; counted from here on"
    index = store.index("small")
    assert (index.status, index.chunks, index.config.embedder) == ("ready", 4, "openai:loopback")
    assert sum(len(cuts) for cuts in store.cuts(index.build, index.documents).values()) == 4
    questions = store.questions(store.question_set("asked").id)
    assert [q.text for q in questions][1] == "谁负责阀门？"
    assert questions[0].evidence[0][0].text == "The north pump was replaced in May 2023"
    run = store.run("first")
    assert (run.note, run.tags) == ("", ())
    measured = evaluate.to_json(measurements.summary_of(workspace, run))["metrics"]
    assert (measured["recall@3"]["mean"], measured["recall@3"]["n"]) == (1.0, 2)
    judgement = judgements.judgement_of(workspace, run)
    if version >= 2:
        assert judgement.evaluated.keys() == {q.id for q in questions}
        assert [score.value for score in judgement.scores["faithfulness"].values()].count(1.0) == 1
    assert (store.paid(run.id)[0] > 0) == (version >= 3)
    assert {job.kind for job in store.jobs()} == {"index", "run"} | ({"import"} if version >= 13 else set())
    with store._engine.connect() as connection:
        versions = connection.execute(sa.text("SELECT max(version) FROM schema_version")).scalar()
        entries = connection.execute(sa.text("SELECT kind, key, value FROM cache")).all()
    assert versions == len(MIGRATIONS)
    assert all(store.cache(row.kind).get_many([row.key]) == {row.key: bytes(row.value)} for row in entries)
    assert entries
    pumps = store.document_named(corpus.id, "pumps.md")
    store.delete_documents(corpus.id, [pumps.id])
    store.settle(corpus.id)
    assert store.document_names(corpus.id)[pumps.id] == "pumps.md (removed since)", "the run may have named it"


def test_a_new_database_has_the_tables_of_the_store(kind, tmp_path):
    if kind == "postgresql":
        emptied_postgresql()
    new = open_store(POSTGRESQL if kind == "postgresql" else sqlite_url(tmp_path / "new.db"))
    assert form_of(new._engine) == form_of_tables(kind, tmp_path)


def test_every_schema_before_this_one_has_its_dump():
    assert set(range(1, len(MIGRATIONS))) <= {int(dump.stem) for dump in DUMPS}


def test_dumps_name_no_key_and_no_folder():
    for dump in DUMPS:
        assert not re.search(r"sk-\w|/home/|/tmp/", dump.read_text(encoding="utf-8"))
