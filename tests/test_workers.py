"""Workers on other machines: real processes with homes of their own, a real PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.digests import new_id
from ragviz.core.document import Corpus, Span
from ragviz.core.experiment import Cell, Experiment, ExperimentRule
from ragviz.core.job import Job, NewJob
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking
from ragviz.core.settings import Settings
from ragviz.documents.corpora import add_file
from ragviz.index.indexing import build_index
from ragviz.jobs import queue, worker
from ragviz.runs import shared_retrieval
from ragviz.service import index_verbs, run_verbs, target_verbs
from ragviz.store import waking
from ragviz.upkeep import doctor
from ragviz.workspace import Workspace
from tests.builders import added, wait_until
from tests.conftest import POSTGRESQL, CommandResult, emptied
from tests.model_server import ModelServer
from tests.system_server import SystemServer
from tests.test_recorded import answers, questions_in, target, told

pytestmark = pytest.mark.skipif(POSTGRESQL not in os.environ, reason=f"{POSTGRESQL} is not set")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The dashboard's machine, which leaves all jobs to workers that it can leave to them."""
    os.environ |= {"RAGVIZ_DATABASE_URL": emptied(os.environ[POSTGRESQL]), "RAGVIZ_QUEUES": "none"}
    os.environ |= {"ELASTICSEARCH_URL": "http://127.0.0.1:9", "RAGVIZ_HOME": str(tmp_path / "home")}
    return Workspace(Settings(_env_file=None, home=tmp_path / "home"))


@pytest.fixture
def start_worker(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a worker with a home and a log of its own, as on another machine; all are killed at the end."""
    started = []

    def start(name: str, *options: str) -> subprocess.Popen[bytes]:
        env = os.environ | {"RAGVIZ_HOME": str(tmp_path / name), "RAGVIZ_LOG": "json"}
        with (tmp_path / f"{name}.log").open("wb") as log:
            started.append(subprocess.Popen([sys.executable, "-m", "ragviz", "worker", *options], env=env, stderr=log))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def ended(workspace: Workspace, job: Job, seconds: float = 60) -> Job:
    def over() -> Job | None:
        now = queue.refreshed(workspace.store.jobs.get(job.id))
        return None if now.status in queue.ACTIVE else now

    return wait_until(over, seconds)


def recording(workspace: Workspace, server: SystemServer, name: str) -> NewJob:
    if not workspace.store.targets.all():
        workspace.store.targets.add(target(server))
        questions_in(workspace, 20)
    return target_verbs.record(workspace, "bot", workspace.store.sets.get("asked"), name, {})


def announced(workspace: Workspace) -> list[str]:
    """The queues in which procrastinate has a task that no worker has taken."""
    engine = sa.create_engine(workspace.settings.database_url.get_secret_value())
    with engine.connect() as connection:
        tasks = f"SELECT queue_name FROM {waking.schema_name()}.procrastinate_jobs WHERE status = 'todo'"
        return list(connection.exec_driver_sql(tasks).scalars())


def test_a_worker_elsewhere_does_what_the_dashboard_leaves_to_it(workspace, start_worker) -> None:
    with SystemServer(told) as server:
        job, _ = queue.submit_once(workspace, recording(workspace, server, "live"))
        assert (job.status, job.host, queue.places(workspace)) == ("queued", "", {job.id: 1})
        assert "run" in announced(workspace)
        long_ago = f"UPDATE {waking.schema_name()}.procrastinate_workers SET last_heartbeat = now() - interval '61 s'"
        with sa.create_engine(os.environ["RAGVIZ_DATABASE_URL"]).begin() as connection:
            connection.exec_driver_sql(long_ago)  # of workers of other tests, which were killed
        assert queue.note(workspace, job, queue.without_worker(workspace, [job])) == queue.NO_WORKER
        assert doctor._jobs(workspace).detail == f"1 wait. {queue.NO_WORKER}"
        start_worker("embeds", "--queues", "embed")
        start_worker("runs", "--queues", "run", "--concurrency", "1")
        wait_until(lambda: not workspace.store.lacks_workers())
        done = ended(workspace, job)
        assert (done.status, Path(done.home).name) == ("done", "runs"), done.error
        assert len(answers(workspace, "live")) == 20
        second = ended(workspace, queue.submit_once(workspace, recording(workspace, server, "second"))[0])
        assert second.status == "done", second.error
        wait_until(lambda: "run" not in announced(workspace))  # a job started at a look is taken when the slot is free


def test_a_job_whose_machine_is_lost_is_done_by_another_and_one_whose_process_died_waits_for_a_person(
    workspace, start_worker, tmp_path
) -> None:
    with SystemServer(told) as server:
        lost, _ = queue.submit_once(workspace, recording(workspace, server, "live"))
        gone = {"status": "running", "host": "lost.example", "home": "/there", "pid": 1, "created": 0, "heartbeat": 1}
        workspace.store.jobs.update(lost.id, **gone)
        killed, _ = queue.submit_once(workspace, recording(workspace, server, "killed"))
        workspace.store.jobs.update(killed.id, **gone | {"host": queue.socket.gethostname(), "pid_started": 1.0})
        start_worker("runs")
        wait_until(lambda: workspace.store.jobs.get(lost.id).status == "done")
        assert workspace.store.jobs.get(killed.id).status == "interrupted"
        log = tmp_path / "runs.log"
        wait_until(lambda: "exit status 0" in log.read_text())
        lines = [line for line in map(json.loads, log.read_text().splitlines()) if line.get("job") == lost.id]
        assert [line["message"].split(" ")[0] for line in lines] == ["Taken", "Started", "Process"]
        assert {line["run"] for line in lines} == {"live"}


def test_a_worker_goes_on_when_its_database_is_back(workspace, start_worker, tmp_path) -> None:
    url = sa.make_url(os.environ["RAGVIZ_DATABASE_URL"])
    server = sa.create_engine(url.set(database="template1"), isolation_level="AUTOCOMMIT")
    log = tmp_path / "runs.log"

    def accept(connections: bool) -> None:
        with server.connect() as connection:
            connection.exec_driver_sql(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS {connections}')
            if not connections:
                lost = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"
                connection.exec_driver_sql(lost)

    with SystemServer(told) as asked:
        before, _ = queue.submit_once(workspace, recording(workspace, asked, "before"))
        process = start_worker("runs")
        assert ended(workspace, before).status == "done"
        accept(False)
        try:
            wait_until(lambda: "tries again" in log.read_text())
            time.sleep(3)
        finally:
            accept(True)
        after, _ = queue.submit_once(workspace, recording(workspace, asked, "after"))
        assert ended(workspace, after).status == "done"
        wait_until(lambda: "is back: this worker takes jobs" in log.read_text())
    process.terminate()
    assert process.wait(20) == 0
    warned = [line["message"] for line in map(json.loads, log.read_text().splitlines()) if line["level"] != "INFO"]
    assert ["tries again" in warned[0], "is back: this worker takes jobs" in warned[1], len(warned)] == [True, True, 2]


def test_what_needs_this_machine_is_left_to_no_worker(workspace, monkeypatch) -> None:
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    corpus = workspace.store.corpora.add("notes")

    def hosts(kind: str, **arguments: object) -> str:
        return queue.submit_once(workspace, NewJob(kind, "x", corpus.id, arguments))[0].host

    assert hosts("run", name="r") == ""
    assert hosts("documents", files=[]) != ""
    assert hosts("index", name="i", config={"backend": "elasticsearch"}) == ""
    assert hosts("index", name="j", config={"backend": "local"}) != ""
    workspace.typed = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert hosts("run", name="typed") != ""
    workspace.typed = {}
    config = IndexConfig(backend="local", embedder="", chunk_size=16, overlap=0)
    cells = (Cell("cell", config, RunConfig("", "", "bm25")),)
    asked, rule = workspace.store.sets.add(corpus.id, "asked"), ExperimentRule("recall@3", 0.1, "cell")
    swept = Experiment(new_id(), corpus.id, "swept", asked.id, "", rule, cells, {}, 0.0)
    workspace.store.experiments.add(swept)
    assert hosts("sweep", experiment=swept.id) != ""
    workspace.store.indexes.add(corpus.id, "here", config)
    assert hosts("run", name="s") == "", "an index that was not built is nowhere"
    add_file(workspace, corpus, "a.txt", b"The lamp was lit.")
    build_index(workspace, corpus, "here", config)
    assert hosts("run", name="t") != ""


SENTENCES = {"chunker": "sentences", "chunk_size": 12, "embedder": "openai:bags", "backend": "local"}


def rooms(workspace: Workspace, count: int) -> Corpus:
    lines = [f"The pump of room {number} is checked every week." for number in range(count)]
    return added(workspace, "rooms", {f"{part}.txt": "\n\n".join(lines[part::2]) for part in range(2)})


def rankings(workspace: Workspace) -> list[Ranking]:
    info = workspace.store.indexes.get("i")
    [vectors] = [workspace.embedder(info.config.embedder).embed([f"room {n}" for n in range(30)], "query")]
    return workspace.index(info).knn(vectors, 20)


def ended_with_a_kill(workspace: Workspace, job: Job, kind: str) -> tuple[Job, int]:
    """Wait for the end of a job; of the helpers of this kind, the first that has done something is killed."""
    killed = 0
    while (job := workspace.store.jobs.get(job.id)).status in queue.ACTIVE:
        helping = [each for each in workspace.store.jobs.active() if each.kind == kind and each.done]
        if helping and not killed:
            os.kill(helping[0].pid, signal.SIGKILL)
            killed += 1
        time.sleep(0.05)
    return job, killed


def test_a_build_that_several_machines_share_and_are_killed_at_is_the_one_of_a_single_machine(
    workspace, start_worker, tmp_path, monkeypatch
) -> None:
    """By hand: 6,000 chunks are twelve shards; of a killed machine one batch of texts in flight is embedded again."""
    with ModelServer(latency=0.3) as server:
        server.most_texts = 64
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home"))
        corpus = rooms(workspace, 6_000)
        job, _ = queue.submit_once(workspace, index_verbs.build(workspace, corpus, "i", SENTENCES))
        for name in ("one", "two"):
            start_worker(name, "--queues", "embed")
        job, killed = ended_with_a_kill(workspace, job, "help-index")
        assert job.status == "done", job.error
        assert (killed, job.result["chunks"], job.result["embedded"]) == (1, 6_000, 6_000)
        embedded = server.counts.embedded
        assert embedded <= 6_000 + 1 + 512
        helped = {Path(each.home).name: each for each in workspace.store.jobs.all() if each.kind == "help-index"}
        assert {name: ended(workspace, each).status for name, each in helped.items()} in (
            {"one": "interrupted", "two": "done"},
            {"one": "done", "two": "interrupted"},
        )
        assert workspace.store.shares.all() == []
        shared = rankings(workspace)
        monkeypatch.delenv("RAGVIZ_DATABASE_URL")
        alone = Workspace(Settings(_env_file=None, home=tmp_path / "alone"))
        worker.perform_new(alone, index_verbs.build(alone, rooms(alone, 6_000), "i", SENTENCES))
        assert rankings(alone) == shared


def test_helpers_stop_when_the_process_of_the_build_is_killed(workspace, start_worker, tmp_path, monkeypatch) -> None:
    with ModelServer(latency=1.5) as server:
        server.most_texts = 64
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home"))
        job, _ = queue.submit_once(workspace, index_verbs.build(workspace, rooms(workspace, 6_000), "i", SENTENCES))
        start_worker("one", "--queues", "embed")
        helping = wait_until(lambda: [
            each for each in workspace.store.jobs.active() if (each.kind, each.status) == ("help-index", "running")
        ])  # fmt: skip
        os.kill(workspace.store.jobs.get(job.id).pid, signal.SIGKILL)
        assert ended(workspace, helping[0], 10).status == "cancelled"
        [interrupted] = [each for each in queue.listed(workspace) if each.kind == "index"]
        assert (interrupted.status, "ended unexpectedly" in interrupted.error) == ("interrupted", True)
        time.sleep(2)  # what was in flight is answered
        embedded = server.counts.embedded
        start_worker("two", "--queues", "embed")
        time.sleep(5)
        assert server.counts.embedded == embedded < 6_000
        assert [each.kind for each in workspace.store.jobs.all()].count("help-index") == 1


@pytest.mark.elasticsearch
def test_a_run_that_several_machines_share_and_one_is_killed_at_is_the_one_of_a_single_machine(
    workspace, start_worker, tmp_path, monkeypatch, elasticsearch_url
) -> None:
    monkeypatch.setenv("ELASTICSEARCH_URL", elasticsearch_url)
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home"))
        corpus = rooms(workspace, 1_000)
        chosen = SENTENCES | {"backend": "elasticsearch", "options": {"type": "flat"}}
        worker.perform_new(workspace, index_verbs.build(workspace, corpus, "i", chosen))
        [document] = [each for each in workspace.store.documents.all(corpus.id) if each.name == "0.txt"]
        question_set = workspace.store.sets.add(corpus.id, "asked")
        evidence = ((Span(document.id, 0, 45, "The pump of room 0 is checked every week."),),)
        asked = [Question(f"q{n}", f"When is room {n} checked?", "", evidence, "hand", "accepted") for n in range(640)]
        workspace.store.questions.put(question_set.id, asked)
        config = RunConfig(workspace.store.indexes.get("i").id, question_set.id, "knn", k=3)
        server.latency = 0.5
        job, _ = queue.submit_once(workspace, run_verbs.make(workspace, "shared", config))
        for name in ("one", "two", "three"):
            start_worker(name, "--queues", "run")
        job, killed = ended_with_a_kill(workspace, job, "help-run")
        assert (job.status, killed) == ("done", 1), job.error
        server.latency = 0
        monkeypatch.setattr(shared_retrieval, "FEWEST", 1_000)
        worker.perform_new(workspace, run_verbs.make(workspace, "alone", config))
        shared, alone = (
            workspace.store.rankings.all(workspace.store.runs.get(name).id) for name in ("shared", "alone")
        )
        assert len(shared) == 640
        assert shared == alone


def test_a_worker_needs_a_shared_database_a_queue_that_exists_and_a_home_to_write_in(
    command_line: Callable[..., CommandResult], workspace, monkeypatch
) -> None:
    assert "no queue gpu: there are embed, run" in command_line("worker", "--queues", "embed,gpu")[2]
    logs = workspace.settings.home / "logs"
    logs.rmdir()
    logs.write_text("")
    code, _, err = command_line("worker")
    assert (code, f"{logs} cannot be written" in err) == (1, True)
    monkeypatch.delenv("RAGVIZ_DATABASE_URL")
    code, _, err = command_line("worker")
    assert (code, "set RAGVIZ_DATABASE_URL" in err) == (2, True)
