"""Where ragviz works when little or nothing is configured, and what it leaves alone there."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from platformdirs import user_data_dir

from ragviz.core.errors import UsageError
from ragviz.core.settings import TYPED, Settings, settings
from ragviz.store.store import open_store
from tests.conftest import ROOT

DOCUMENTED = {
    "RAGVIZ_HOME": ("home", "/data", Path("/data")),
    "RAGVIZ_DATABASE_URL": ("database_url", "sqlite:///a.db", "sqlite:///a.db"),
    "ELASTICSEARCH_URL": ("elasticsearch_url", "http://localhost:9200", "http://localhost:9200"),
    "ELASTICSEARCH_API_KEY": ("elasticsearch_api_key", "k1", "k1"),
    "ELASTICSEARCH_USER": ("elasticsearch_user", "u", "u"),
    "ELASTICSEARCH_PASSWORD": ("elasticsearch_password", "p", "p"),
    "ELASTICSEARCH_FINGERPRINT": ("elasticsearch_fingerprint", "ab" * 32, "ab" * 32),
    "ELASTICSEARCH_PREFIX": ("elasticsearch_prefix", "team-a-", "team-a-"),
    "OPENAI_API_KEY": ("openai_api_key", "k2", "k2"),
    "OPENAI_BASE_URL": ("openai_base_url", "http://localhost:8000/v1", "http://localhost:8000/v1"),
    "RAGVIZ_MODEL": ("model", "m", "m"),
    "RAGVIZ_JUDGE": ("judge", "j", "j"),
    "RAGVIZ_EMBEDDER": ("embedder", "e", "e"),
    "RAGVIZ_MODEL_CONCURRENCY": ("model_concurrency", "3", 3),
    "RAGVIZ_MODEL_TIMEOUT": ("model_timeout", "2.5", 2.5),
    "RAGVIZ_CA_FILE": ("ca_file", "/ca.pem", Path("/ca.pem")),
    "RAGVIZ_OUTAGE_MINUTES": ("outage_minutes", "1", 1.0),
    "RAGVIZ_PERSON": ("person", "Ann", "Ann"),
    "RAGVIZ_JOBS": ("jobs", "3", 3),
    "RAGVIZ_MONTHLY_BUDGET": ("monthly_budget", "2.5", 2.5),
    "RAGVIZ_QUEUES": ("queues", "none", "none"),
    "RAGVIZ_MAX_FILE_MB": ("max_file_mb", "7", 7),
    "RAGVIZ_LOG": ("log", "json", "json"),
    "RAGVIZ_METRICS": ("metrics", "9464", "9464"),
    "RAGVIZ_ALLOWED_HOSTS": ("allowed_hosts", "ragviz.example", "ragviz.example"),
}
FOREIGN = sorted(
    {n for f in Settings.model_fields for n in (f, f.upper(), f"RAGVIZ_{f}")} - DOCUMENTED.keys() - {"HOME"}
)


@pytest.fixture
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No variable of ragviz, in an empty folder."""
    for name in [*DOCUMENTED, *FOREIGN]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values() -> dict[str, object]:
    """The settings as they are read now, keys in plain text."""
    read = Settings()
    return {
        name: value.get_secret_value() if hasattr(value := getattr(read, name), "get_secret_value") else value
        for name in Settings.model_fields
    }


def test_every_setting_is_documented_and_has_one_variable() -> None:
    assert {str(field.alias): name for name, field in Settings.model_fields.items()} == {
        variable: name for variable, (name, _, _) in DOCUMENTED.items()
    }
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
    assert [variable for variable in DOCUMENTED if f"`{variable}`" not in pages] == []


@pytest.mark.parametrize("variable", DOCUMENTED)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_variable_sets_its_own_setting_and_no_other(
    variable: str, place: str, nothing_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = values()
    name, text, value = DOCUMENTED[variable]
    if place == "environment":
        monkeypatch.setenv(variable, text)
    else:
        (nothing_set / ".env").write_text(f"{variable}={text}\n", encoding="utf-8")
    assert values() == defaults | {name: value}
    assert values()[name] != defaults[name]


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_variables_of_other_programs_are_not_read(
    place: str, nothing_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = values()
    assert defaults["home"] == Path(user_data_dir("ragviz"))
    if place == "environment":
        for name in FOREIGN:
            monkeypatch.setenv(name, "postgresql://theirs")
    else:
        lines = "".join(f"{name}=postgresql://theirs\n" for name in ["HOME", *FOREIGN])
        (nothing_set / ".env").write_text(lines, encoding="utf-8")
    assert values() == defaults


SECRETS = ("RAGVIZ_DATABASE_URL", "ELASTICSEARCH_API_KEY", "ELASTICSEARCH_PASSWORD", "OPENAI_API_KEY")


def test_secrets_come_from_files(nothing_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = values()
    for variable in SECRETS:
        (nothing_set / variable).write_text(f" {DOCUMENTED[variable][1]}\n", encoding="utf-8")
        monkeypatch.setenv(f"{variable}_FILE", str(nothing_set / variable))
    monkeypatch.setenv("RAGVIZ_PERSON_FILE", "/nowhere")
    assert values() == defaults | {name: value for name, _, value in map(DOCUMENTED.get, SECRETS)}
    monkeypatch.setenv(TYPED, "OPENAI_BASE_URL,OPENAI_API_KEY")  # another address was typed, without a key
    assert settings().openai_api_key is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-typed")
    assert settings().openai_api_key.get_secret_value() == "sk-typed"


def test_a_secret_file_that_cannot_be_used_is_refused_without_showing_a_secret(
    nothing_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = nothing_set / "key"
    for content, reason in (
        (None, "No such file or directory"),
        (b"\xff\xfe", "it is no text"),
        (b" \n", "it is empty"),
    ):
        if content is not None:
            here.write_bytes(content)
        monkeypatch.setenv("OPENAI_API_KEY_FILE", str(here))
        with pytest.raises(UsageError, match=rf"^OPENAI_API_KEY_FILE names {here} that cannot be used \({reason}\)"):
            settings()
    monkeypatch.setenv("OPENAI_API_KEY_FILE", "sk-in-the-wrong-variable")
    with pytest.raises(UsageError, match="OPENAI_API_KEY_FILE names a file that") as refused:
        settings()
    here.write_text("sk-in-a-file")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(here))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-the-environment")
    with pytest.raises(UsageError, match=r"^OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set") as both:
        settings()
    assert "sk-" not in f"{refused.value}{both.value}"


# What is left alone on the disk


def held(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of everything in a folder that a person had before, and of the folder."""
    theirs = [path for path in sorted(folder.rglob("*")) if ".local" not in path.parts and path.name not in OURS]
    return {
        str(path): (stat.S_IMODE(path.stat().st_mode), b"" if path.is_dir() else path.read_bytes())
        for path in (folder, *theirs)
    }


OURS = {"indexes", "ragviz.db", "ragviz.db.json", "ragviz.db-shm", "ragviz.db-wal"}


def a_persons_folder(folder: Path) -> None:
    """Files and folders with the names of ragviz's own, days old and open to others."""
    for name in ("models/big.bin", "uploads/photos/a.jpg", "logs/job-1.log", "letters.txt", "prices.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the person's {name}", encoding="utf-8")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
        os.utime(path, (time.time() - 9 * 86400,) * 2)


ADDING = """
import platformdirs, ragviz
ragviz.open().add_documents("notes", "a.txt")
print(platformdirs.user_data_dir("ragviz"))
"""


@pytest.mark.parametrize("configured", [False, True], ids=["by default", "RAGVIZ_HOME"])
def test_a_persons_files_keep_their_mode_and_content(configured: bool, tmp_path: Path) -> None:
    person, work = tmp_path / "person", tmp_path / "work"
    a_persons_folder(person)
    work.mkdir()
    (work / "a.txt").write_text("The pump was replaced in 2023.", encoding="utf-8")
    before = held(person)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    environment = kept | {"HOME": str(person), "PYTHONPATH": str(ROOT), "DATABASE_URL": f"sqlite:///{work}/theirs.db"}
    if configured:
        environment["RAGVIZ_HOME"] = str(person)
    command = [sys.executable, "-c", ADDING]
    done = subprocess.run(command, env=environment, cwd=work, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    home = person if configured else Path(done.stdout.strip())
    assert stat.S_IMODE((home / "ragviz.db").stat().st_mode) == 0o600
    assert configured or (home.is_relative_to(person) and stat.S_IMODE(home.stat().st_mode) == 0o700)
    assert held(person) == before
    assert sorted(path.name for path in work.iterdir()) == ["a.txt"]


@pytest.mark.parametrize("theirs", [["users"], ["runs", "documents", "jobs"], ["alembic_version"]])
def test_a_database_with_tables_of_another_program_is_refused_and_left_as_it_is(
    database_url: str, theirs: list[str], tmp_path: Path
) -> None:
    engine = sa.create_engine(database_url)
    with engine.begin() as connection:
        for name in theirs:
            connection.exec_driver_sql(f"CREATE TABLE {name} (id INTEGER)")
    engine.dispose()
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=rf"holds tables of another program \(.*{theirs[0]}.*RAGVIZ_DATABASE_URL"):
        open_store(database_url)
    assert sorted(sa.inspect(engine).get_table_names()) == sorted(theirs)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


# One reading, from the folder where ragviz is started

JOB = """
import os, time
import ragviz
from ragviz.core.job import NewJob
from ragviz.jobs import queue
from ragviz.documents import corpora
workspace = ragviz.open().workspace
corpus = workspace.store.corpora.add("notes")
os.chdir("/")
folder, staged = corpora.stage(workspace, [("a.txt", b"The pump was replaced.")])
arguments = {"corpus": corpus.id, "folder": str(folder), "files": staged, "replace": False}
job, _ = queue.submit_once(workspace, NewJob("documents", "Add files", corpus.id, arguments))
while (job := workspace.store.jobs.get(job.id)).status in queue.ACTIVE and time.time() < job.created + 300:
    time.sleep(0.05)
print(job.status, [document.name for document in workspace.store.documents.all(corpus.id)])
"""


def test_a_job_reads_the_env_file_that_its_starter_read(nothing_set: Path) -> None:
    (nothing_set / ".env").write_text("RAGVIZ_HOME=data\nRAGVIZ_DATABASE_URL=sqlite:///own.db\n", encoding="utf-8")
    (nothing_set / "queue.py").write_text("raise SystemExit('a module of the person was imported')", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", JOB]
    done = subprocess.run(command, env=environment, cwd=nothing_set, capture_output=True, text=True, timeout=500)
    assert (done.stdout, done.returncode) == ("done ['a.txt']\n", 0), done.stderr
    assert sorted(path.name for path in nothing_set.iterdir() if path.name.startswith(("data", "own"))) == [
        "data",
        "own.db",
    ]


def test_a_key_that_somebody_typed_is_hidden_from_all_who_use_the_server(nothing_set: Path) -> None:
    assert settings({"OPENAI_API_KEY": "sk-of-another-person-7"}).openai_api_key is not None
    assert settings().openai_api_key is None
    assert "sk-of-another-person-7" in settings().keys


@pytest.mark.parametrize(
    "typed",
    ['"recording":{', "Children under eight", "ann@example.org", "367e7249f2b604a5-00003533-00004476", "\\" * 30],
)
def test_what_somebody_types_changes_nothing_that_others_read(nothing_set: Path, typed: str) -> None:
    assert typed in settings({"OPENAI_API_KEY": typed}).keys, "their own keys are hidden from themselves"
    assert typed not in settings().keys
