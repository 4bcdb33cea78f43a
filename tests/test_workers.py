"""Workers on other machines: real processes with homes of their own, a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.job import Job, NewJob
from ragviz.core.settings import Settings
from ragviz.jobs import queue
from ragviz.service import target_verbs
from ragviz.workspace import Workspace
from tests.conftest import POSTGRESQL, CommandResult, emptied
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
    """Starts a worker with a home of its own, as on another machine; all are killed at the end."""
    started = []

    def start(name: str, *options: str) -> subprocess.Popen[bytes]:
        env = os.environ | {"RAGVIZ_HOME": str(tmp_path / name)}
        started.append(subprocess.Popen([sys.executable, "-m", "ragviz", "worker", *options], env=env))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def ended(workspace: Workspace, job: Job, seconds: float = 60) -> Job:
    end = time.time() + seconds
    while (job := queue.refreshed(workspace.store.jobs.get(job.id))).status in queue.ACTIVE:
        assert time.time() < end, job
        time.sleep(0.1)
    return job


def recording(workspace: Workspace, server: SystemServer, name: str) -> NewJob:
    if not workspace.store.targets.all():
        workspace.store.targets.add(target(server))
        questions_in(workspace, 20)
    return target_verbs.record(workspace, "bot", workspace.store.sets.get("asked"), name, {})


def test_a_worker_elsewhere_does_what_the_dashboard_leaves_to_it(workspace, start_worker) -> None:
    with SystemServer(told) as server:
        job, _ = queue.submit_once(workspace, recording(workspace, server, "live"))
        assert (job.status, job.host, queue.places(workspace)) == ("queued", "", {job.id: 1})
        start_worker("embeds", "--queues", "embed")
        start_worker("runs", "--queues", "run", "--concurrency", "1")
        done = ended(workspace, job)
        assert (done.status, Path(done.home).name) == ("done", "runs"), done.error
        assert len(answers(workspace, "live")) == 20
        began = time.time()
        second = ended(workspace, queue.submit_once(workspace, recording(workspace, server, "second"))[0])
    assert second.status == "done", second.error
    assert second.started - began < 2 * queue.SILENCE / 60, "it is woken, and does not poll"


def test_a_job_whose_machine_is_lost_is_done_by_another_and_one_whose_process_died_waits_for_a_person(
    workspace, start_worker
) -> None:
    with SystemServer(told) as server:
        lost, _ = queue.submit_once(workspace, recording(workspace, server, "live"))
        gone = {"status": "running", "host": "lost.example", "home": "/there", "pid": 1, "created": 0, "heartbeat": 1}
        workspace.store.jobs.update(lost.id, **gone)
        killed, _ = queue.submit_once(workspace, recording(workspace, server, "killed"))
        workspace.store.jobs.update(killed.id, **gone | {"host": queue.socket.gethostname(), "pid_started": 1.0})
        start_worker("runs")
        end = time.time() + 60
        while workspace.store.jobs.get(lost.id).status != "done":
            assert time.time() < end
            time.sleep(0.1)
        assert workspace.store.jobs.get(killed.id).status == "interrupted"


def test_what_needs_this_machine_is_left_to_no_worker(workspace, monkeypatch) -> None:
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    corpus = workspace.store.corpora.add("notes")

    def hosts(kind: str, **arguments: object) -> str:
        return queue.submit_once(workspace, NewJob(kind, "x", corpus.id, arguments))[0].host

    assert hosts("run", name="r") == ""
    assert hosts("documents", files=[]) != ""
    assert hosts("index", name="i", config={"backend": "elasticsearch"}) == ""
    assert hosts("index", name="j", config={"backend": "local"}) != ""
    monkeypatch.setenv("RAGVIZ_TYPED", "OPENAI_BASE_URL")
    assert hosts("run", name="typed") != ""
    monkeypatch.delenv("RAGVIZ_TYPED")
    workspace.store.indexes.add(corpus.id, "here", IndexConfig(backend="local"))
    assert hosts("run", name="s") != ""


def test_a_worker_needs_a_shared_database_and_a_queue_that_exists(
    command_line: Callable[..., CommandResult], workspace, monkeypatch
) -> None:
    assert "no queue gpu: there are embed, run" in command_line("worker", "--queues", "embed,gpu")[2]
    monkeypatch.delenv("RAGVIZ_DATABASE_URL")
    code, _, err = command_line("worker")
    assert (code, "set RAGVIZ_DATABASE_URL" in err) == (2, True)
