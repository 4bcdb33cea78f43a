"""Servers that tests share. A real Elasticsearch is required in CI; elsewhere its tests are skipped without one.

`-n 2` runs two processes: the tests of a file stay together and in order, so do those of all files that use
Elasticsearch (one node is started) and of all that use a browser. Each process has a PostgreSQL database of its own.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import hypothesis
import pytest
import sqlalchemy as sa
from filelock import FileLock

from ragviz import cli
from ragviz import workspace as workspaces
from ragviz.core.settings import Settings
from ragviz.store.store import open_store, sqlite_url
from ragviz.workspace import Workspace
from tests import builders
from tests.model_server import ModelServer

if TYPE_CHECKING:
    from tests.test_browser import Server

hypothesis.settings.register_profile("unhurried", hypothesis.settings(), deadline=None)  # machines are busy at times
hypothesis.settings.load_profile("unhurried")

ROOT = Path(__file__).resolve().parent.parent
POSTGRESQL = "RAGVIZ_TEST_POSTGRESQL_URL"
CommandResult = tuple[int, str, str]
SHARED = ("browser", "elasticsearch")
"""Marks whose tests stay in one process. The longest first: what runs beside it is then spread around it."""


def pytest_configure() -> None:
    gc.disable()  # until all is imported, nothing of which is garbage
    for configured in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGVIZ_DATABASE_URL"):
        os.environ.pop(configured, None)
    worker, server = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get(POSTGRESQL)
    if worker and server:
        os.environ[POSTGRESQL] = emptied_database(sa.make_url(server), worker)


def emptied_database(server: sa.URL, worker: str) -> str:
    """URL of a new database of this process on the server, in place of the one that an earlier session left."""
    own = server.set(database=f"{server.database}_{worker}")
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE IF EXISTS "{own.database}" WITH (FORCE)')
        connection.exec_driver_sql(f'CREATE DATABASE "{own.database}"')
    engine.dispose()
    return own.render_as_string(hide_password=False)


def pytest_make_parametrize_id(val: object) -> str | None:
    """A test is called the same in every process, and by no address."""
    return "postgresql" if val and val == os.environ.get(POSTGRESQL) else None


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"loaded_sample", "dashboard"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.model)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: [mark != group_of(file_of(item.nodeid)) for mark in SHARED])


def pytest_collection_finish() -> None:
    """Leave what was imported out of the search for garbage, which takes a tenth of the tests' time otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(autouse=True)
def collection_again() -> Iterator[None]:
    """Turn the garbage collection on again: tests of processor time turn it off."""
    yield
    gc.enable()


@pytest.fixture(params=["local", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "store" / "ragviz.db")
    if not (url := os.environ.get(POSTGRESQL)):
        pytest.skip(f"{POSTGRESQL} is not set")
    return emptied(url)


def emptied(url: str) -> str:
    """The address of a PostgreSQL database, of which every table has been dropped."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine.dispose()
    return url


@pytest.fixture(scope="session", autouse=True)
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The database of a new workspace is a copy of one that was migrated; `test_migrations` opens stores themselves."""
    file = tmp_path_factory.mktemp("empty") / "ragviz.db"
    open_store(sqlite_url(file))
    migrated = file.with_name("migrated.db")
    with closing(sqlite3.connect(file)) as database:
        database.execute("VACUUM INTO ?", [str(migrated)])
    content = migrated.read_bytes()

    def copied(path: Path) -> str:
        url = sqlite_url(path)
        if path.is_file() and path.stat().st_size == 0:
            path.write_bytes(content)
        return url

    with mock.patch.object(workspaces, "sqlite_url", copied):
        yield


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty home with nothing configured, the command line's too; tests that need more have their own fixture."""
    os.environ["RAGVIZ_HOME"] = str(tmp_path / "home")
    return Workspace(Settings(_env_file=None, home=tmp_path / "home"))


@pytest.fixture
def with_models(server: ModelServer, workspace: Workspace) -> Workspace:
    """The same with a model and an embedder on loopback."""
    os.environ |= builders.with_models(server)
    return Workspace(Settings(_env_file=None, home=workspace.settings.home))


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """Call the command line in this process: (exit code, standard output, standard error)."""

    def call(*words: object) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["ragviz", *map(str, words)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        out, err = capsys.readouterr()
        return code, out, err

    return call


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@cache
def group_of(file: str) -> str:
    """What stays in one process: the tests of all files that use a mark, else those of the file."""
    source = (ROOT / file).read_text(encoding="utf-8")
    return next((mark for mark in SHARED if f"pytest.mark.{mark}" in source), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand groups out in order. (xdist's own `loadgroup` is blind to marks with pytest 9.2: it sets `Item._nodeid`.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(file_of(nodeid))

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """What a test, or what is typed on a page, puts into the environment ends with the test; the umask is the usual."""
    os.umask(0o022)
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def loaded_sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Copies a home with the sample to a path, and returns what `ragviz sample --json` printed when it was loaded.

    It is loaded once for all processes, by the person "tester", which takes half a minute, and costs nothing: they may
    spend nothing.
    """
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sample"
    printed = home.with_suffix(".json")
    ours = {str(field.alias) for field in Settings.model_fields.values()}
    env = {name: value for name, value in os.environ.items() if name not in ours}
    env |= {"RAGVIZ_HOME": str(home), "RAGVIZ_PERSON": "tester", "RAGVIZ_MONTHLY_BUDGET": "0", "PYTHONPATH": str(ROOT)}
    with FileLock(home.with_suffix(".lock")):
        if not printed.exists():
            command = [sys.executable, "-m", "ragviz", "sample", "--json"]
            printed.write_bytes(subprocess.run(command, env=env, cwd=base, stdout=subprocess.PIPE, check=True).stdout)

    def copied(to: Path) -> str:
        shutil.copytree(home, to)
        return printed.read_text(encoding="utf-8")

    return copied


@pytest.fixture(scope="session")
def sample_server(loaded_sample: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with the sample, which has an answered and judged run; its tests change nothing."""
    from tests.test_browser import serving

    folder = tmp_path_factory.mktemp("sample_server")
    loaded_sample(folder / "home")
    with serving(folder) as started:
        yield started


@pytest.fixture(scope="session")
def elasticsearch_tool() -> Iterator[ModuleType]:
    """tools/elasticsearch/run.py, which builds and runs a node.

    Nodes that live for minutes are compiled once, lightly: that halves what they take of the processor.
    """
    file = ROOT / "tools" / "elasticsearch" / "run.py"
    spec = importlib.util.spec_from_file_location("elasticsearch_node", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", f"{os.environ.get('JDK_JAVA_OPTIONS', '')} -XX:TieredStopAtLevel=1".strip())
        yield module


@pytest.fixture(scope="session")
def elasticsearch_url(elasticsearch_tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an Elasticsearch: ELASTICSEARCH_URL, else a node of our own for this session."""
    if url := os.environ.get("ELASTICSEARCH_URL"):
        yield url
        return
    if not elasticsearch_tool.is_built():
        if os.environ.get("CI") != "true":
            pytest.skip("no Elasticsearch: set ELASTICSEARCH_URL, or run `make elasticsearch` once")
        elasticsearch_tool.build()
    data = tmp_path_factory.mktemp("elasticsearch")
    with elasticsearch_tool.running(elasticsearch_tool.free_port(), data) as (url, _):
        yield url
