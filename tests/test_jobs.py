"""Jobs are real processes: they outlive their starter, are stopped, killed and resumed, and never done twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace

import psutil
import pytest

from ragviz.core import processes
from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import Refused, StorageError, UsageError
from ragviz.core.job import Job, NewJob
from ragviz.core.person import Person
from ragviz.core.settings import TYPED, Settings
from ragviz.documents import corpora
from ragviz.jobs import queue, tasks, turns, worker
from ragviz.service import job_verbs
from ragviz.workspace import Workspace
from tests.builders import wait_until
from tests.model_server import ModelServer


def wait(workspace: Workspace, job: Job, until=("done", "failed", "cancelled", "interrupted")) -> Job:
    def reached() -> list[Job]:
        return [each for each in queue.listed(workspace) if each.id == job.id and each.status in until]

    return wait_until(reached, 120)[0]


def submit_files(workspace, files) -> Job:
    corpus = workspace.store.corpora.add("notes")
    folder, staged = corpora.stage(workspace, files)
    arguments = {"corpus": corpus.id, "folder": str(folder), "files": staged, "replace": False}
    return queue.submit_once(workspace, NewJob("documents", "Add files", corpus.id, arguments))[0]


def submitting(workspace, *of):
    """What submits a job of this kind, title and corpus with the arguments that it is given."""
    return lambda arguments, *press: queue.submit_once(workspace, NewJob(*of, arguments), *press)


def test_files_are_read_by_another_process(workspace):
    job = wait(workspace, submit_files(workspace, [("a.txt", b"The pump was replaced."), ("b.txt", b"")]))
    assert job.status == "done", job.error
    assert [f["status"] for f in job.result["files"]] == ["added", "unreadable"]
    assert (job.done, job.total, job.unit) == (2, 2, "files")
    assert job.pid != os.getpid()
    uploads = workspace.settings.home / "uploads"
    wait_until(lambda: not list(uploads.iterdir()))  # deleted after the job is done: killed before, it finds them again


def test_a_defect_names_the_log_that_has_its_traceback_without_a_password(workspace, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("one by nought in http://me:hunter2@host/v1?key=hunter2, with hunter2-of-a-key")

    monkeypatch.setenv("OPENAI_API_KEY", "hunter2-of-a-key")
    monkeypatch.setitem(tasks.KINDS, "sample", replace(tasks.KINDS["sample"], run=broken))
    opened = Workspace(Settings(_env_file=None, home=workspace.settings.home))
    job = workspace.store.jobs.add("sample", "x", "", {})
    with pytest.raises(ZeroDivisionError):
        worker.perform(opened, job.id)
    failed = workspace.store.jobs.get(job.id)
    assert failed.status == "failed"
    log = workspace.log_of(job.id)
    assert failed.error == (
        f"A defect in ragviz: ZeroDivisionError. Try again; if it fails again, report it with the traceback in {log}."
    )
    assert queue.log_to_read(workspace, failed) is None, "its error names the log already"
    assert "one by nought in http://••••@host/v1?••••" in log.read_text()
    assert "hunter2" not in log.read_text()


def test_a_job_that_is_being_done_is_not_done_again(workspace):
    job = workspace.store.jobs.add("sample", "x", "", {})
    me = processes.this_process()
    place = {"pid": me["pid"], "pid_started": me["started"], "host": me["host"]}
    workspace.store.jobs.update(job.id, status="running", heartbeat=time.time(), **place)
    with pytest.raises(UsageError, match="being done already"):
        worker.perform(workspace, job.id)


@pytest.fixture
def building(workspace, monkeypatch) -> Iterator[tuple[Job, ModelServer]]:
    """A build, stopped by a test in the middle: its endpoint embeds a batch in a second until the test says so."""
    with ModelServer(latency=1.0) as server:
        monkeypatch.setenv("RAGVIZ_HOME", str(workspace.settings.home))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        corpus = workspace.store.corpora.add("notes")
        lines = "\n\n".join(f"The pump of room {number} is checked every week." for number in range(2000))
        corpora.add_file(workspace, corpus, "long.txt", lines.encode())
        arguments = {"corpus": corpus.id, "name": "i", "config": asdict(CONFIG)}
        job = queue.submit_once(workspace, NewJob("index", "Build i", corpus.id, arguments))[0]

        def in_the_middle() -> Job | None:
            now = workspace.store.jobs.get(job.id)
            assert now.status in queue.ACTIVE, now
            return now if 0 < now.done < (now.total or 0) and now.unit == "chunks" else None

        yield wait_until(in_the_middle, 200), server


CONFIG = IndexConfig("sentences", 12, embedder="openai:bags")


@pytest.mark.model
def test_a_killed_build_is_resumed_and_embeds_only_the_rest(workspace, building, caplog):
    job, server = building
    os.kill(job.pid, signal.SIGKILL)
    killed = wait(workspace, job, until=("interrupted",))
    ended = f"Process {job.pid} ended with exit status -9: Build i"
    wait_until(lambda: ("WARNING", ended) in [(each.levelname, each.getMessage()) for each in caplog.records])
    server.latency = 0.0
    assert workspace.store.indexes.get("i").status == "building"
    done = wait(workspace, queue.start(workspace, killed))
    assert done.status == "done", done.error
    assert 0 < done.result["embedded"] < done.result["chunks"]
    info = workspace.store.indexes.get("i")
    assert (info.status, workspace.index(info).count()) == ("ready", done.result["chunks"])


@pytest.mark.model
def test_a_cancelled_build_leaves_no_half_index_and_can_be_resumed(workspace, building):
    job, server = building
    queue.cancel(workspace, job)
    cancelled = wait(workspace, job, until=("cancelled",))
    wait_until(lambda: not processes.is_alive(job.host, job.pid, job.pid_started))
    assert workspace.log_of(job.id).read_text() == "", "who stops a job has no error to read"
    server.latency = 0.0
    info = workspace.store.indexes.get("i")
    assert (info.status, workspace.index(info).exists()) == ("failed", False)
    done = wait(workspace, queue.start(workspace, cancelled))
    assert done.status == "done", done.error
    assert workspace.store.indexes.get("i").config == CONFIG


def test_a_job_is_resumed_by_its_person_or_by_an_admin_who_pays_then(workspace, monkeypatch):
    monkeypatch.setattr(queue, "start_waiting", lambda *_: [])
    job = workspace.store.jobs.add("sample", "of root", "", {}, person="root")
    queue.cancel(workspace, job)
    ed, ann, root = (workspace.acting(Person(*who), {}) for who in (("ed", "editor"), ("ann",), ("root", "editor")))
    for again in (lambda: job_verbs.resume(ed, job), lambda: job_verbs.perform_again(ed, job.id)):
        with pytest.raises(Refused, match="may not resume a job of root"):
            again()
    assert workspace.store.jobs.get(job.id).status == "cancelled"
    assert [job_verbs.resume(each, job).person for each in (root, ann)] == ["root", "ann"]


SUBMIT = """
import sys
from ragviz.core.job import NewJob
from ragviz.jobs import queue
from ragviz.core.settings import Settings
from ragviz.workspace import Workspace

workspace = Workspace(Settings(_env_file=None, home=sys.argv[1]))
corpus = workspace.store.corpora.all()[0]
print("ready", flush=True)
for name in map(str.strip, sys.stdin):  # all have loaded everything: they submit at the same time
    arguments = {"corpus": corpus.name, "name": name, "config": {"chunk_size": 100}}
    job, is_new = queue.submit_once(workspace, NewJob("index", f"Build {name}", corpus.id, arguments))
    print(job.id, is_new, flush=True)
"""


def test_processes_that_submit_the_same_job_at_once_start_one(workspace, database_url, monkeypatch):
    monkeypatch.setenv("RAGVIZ_DATABASE_URL", database_url)
    workspace = Workspace(Settings(_env_file=None, home=workspace.settings.home))
    workspace.store.corpora.add("notes")
    command = [sys.executable, "-c", SUBMIT, str(workspace.settings.home)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for number in range(2):
        for process in processes:
            process.stdin.write(f"i{number}\n")
        outcomes = [process.stdout.readline().split() for process in processes]
        assert len({job_id for job_id, _ in outcomes}) == 1
        assert [is_new for _, is_new in outcomes].count("True") == 1
    for process in processes:
        process.communicate(timeout=60)
    jobs = workspace.store.jobs.all()
    assert len(jobs) == 2
    assert all(wait(workspace, job).status == "failed" for job in jobs)  # the corpus has no text


def test_a_second_press_gets_the_active_job_and_a_later_one_a_new_job(workspace, monkeypatch):
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    submit = submitting(workspace, "run", "Run r", "c")
    arguments = {"name": "r", "config": {"k": 3, "metrics": ("none",)}, "budget": None}  # a tuple becomes a list
    first, is_new = submit(arguments)
    assert is_new
    assert submit(arguments) == (first, False)
    with pytest.raises(UsageError, match="“Run r” is active already, with other choices"):
        submit(arguments | {"budget": 2.0})
    assert submit(arguments | {"name": "s"})[1]
    assert queue.submit_once(workspace, NewJob("run", "Run r", "another corpus", arguments))[1]
    queue.cancel(workspace, first)
    assert submit(arguments)[1]


def test_presses_of_one_drawing_start_one_job_also_when_it_has_ended(workspace, monkeypatch):
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    submit = submitting(workspace, "index", "Build i", "c")
    arguments = {"name": "i", "config": {"chunk_size": 40}}
    drawn = queue.Press("a drawing", time.time())
    first, is_new = submit(arguments, drawn)
    assert is_new
    for status in ("running", "done", "failed", "cancelled"):
        workspace.store.jobs.update(first.id, status=status, finished=time.time(), heartbeat=time.time() + 60, host="x")
        again, is_new = submit(arguments | {"name": "i-2"}, drawn)  # the name is suggested anew when the first is taken
        assert (again.id, again.status, is_new) == (first.id, status, False)
    another = queue.Press("a drawing that shows the end of the first job", time.time())
    second, is_new = submit(arguments, another)
    assert is_new
    assert second.id != first.id
    assert len(workspace.store.jobs.all()) == 2


def test_a_job_whose_process_died_does_not_keep_the_next_from_starting(workspace, monkeypatch):
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    first, _ = queue.submit_once(workspace, NewJob("sample", "x", "", {}))
    workspace.store.jobs.update(
        first.id, status="running", pid=os.getpid(), pid_started=1.0, host=processes.this_process()["host"]
    )
    second, is_new = queue.submit_once(workspace, NewJob("sample", "x", "", {}))
    assert is_new
    assert second.id != first.id


def waiting(number: int, person: str, kind: str = "index", status: str = "queued") -> Job:
    empty = ("", {}, status, 0, None, "", "", float(number), None, None, None, "", None, None, False, {}, "")
    return Job(str(number), kind, "", *empty, person=person)


@pytest.mark.parametrize(
    ("jobs", "room", "expected"),
    [
        # Ann submitted three before Bob submitted one, and one of Cid's runs: Ann, Bob, Ann, Cid, Ann.
        ([(1, "ann"), (2, "ann"), (3, "ann"), (4, "bob"), (5, "cid", "index", "running"), (6, "cid")], 3, "14"),
        ([(1, "ann"), (2, "ann"), (3, "ann"), (4, "bob"), (5, "cid", "index", "running"), (6, "cid")], 5, "142 6"),
        ([(1, "ann", "index", "running"), (2, "ann"), (3, "ann", "import")], 1, "3"),  # needs no core
        ([(1, "ann"), (2, "ann")], 0.5, "1"),  # a job that never fits runs alone
        ([(1, "ann", "index", "starting"), (2, "bob")], 1, ""),
    ],
)
def test_people_take_turns_and_no_more_start_than_there_is_room(jobs, room, expected):
    active = [waiting(*job) for job in jobs]
    memory, cores = 5 * tasks.KINDS["index"].memory, 5
    by_cores = turns.startable(active, turns.Room(memory, room))
    assert "".join(job.id for job in by_cores) == expected.replace(" ", "")
    by_memory = turns.startable(active, turns.Room(tasks.KINDS["index"].memory * room + 300, cores))
    assert "".join(job.id for job in by_memory) == expected.replace(" ", "")


def test_the_room_for_jobs_is_of_the_machine_or_of_the_smaller_limit_of_its_container(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(turns, "_LIMITS", (limit,))
    machine = psutil.virtual_memory().total * turns.SHARE / 2**20
    assert turns.room(Settings()).memory == machine
    limit.write_text("max\n")
    assert turns.room(Settings()).memory == machine
    limit.write_text(f"{2**30}\n")
    assert turns.room(Settings()).memory == 1024 * turns.SHARE


def test_jobs_wait_and_a_killed_and_a_cancelled_one_give_their_place_back(workspace, monkeypatch):
    workspace = Workspace(workspace.settings.model_copy(update={"jobs": 1}))
    monkeypatch.setenv("RAGVIZ_JOBS", "1")  # for the processes
    empty = workspace.store.corpora.add("empty")
    submit, choices = submitting(workspace, "index", "Build it", empty.id), {"corpus": "empty", "config": {}}
    running, busy = workspace.store.jobs.add("index", "Build", empty.id, {}), subprocess.Popen(["sleep", "600"])
    where = queue.place(
        workspace, NewJob("run", "", "", {}), {"pid": busy.pid, "started": processes.start_of(busy.pid)}
    )
    workspace.store.jobs.update(running.id, status="running", person=workspace.settings.person, **where)
    first, second, third = (submit(choices | {"name": name})[0] for name in ("a", "b", "c"))
    assert queue.places(workspace) == {first.id: 1, second.id: 2, third.id: 3}
    queue.cancel(workspace, second)
    assert queue.places(workspace) == {first.id: 1, third.id: 2}
    queue.start_waiting(workspace)
    assert workspace.store.jobs.get(first.id).status == "queued"
    corpora.add_file(workspace, workspace.store.corpora.add("small"), "a.txt", b"The pump was replaced.")
    command = [sys.executable, "-m", "ragviz", "index", "build", "small", "--name", "d", "--embedder", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as in_front:
        assert in_front.stderr.readline() == "Waiting: place 3 in the queue\n"
        busy.kill()
        busy.wait()
        assert in_front.wait(120) == 0  # it looked, and started the first, whose process started the third
    ended = [workspace.store.jobs.get(job.id) for job in (first, third)]
    assert [job.status for job in ended] == ["failed", "failed"]  # the corpus has no text
    assert ended[0].started < ended[0].finished <= ended[1].started
    assert workspace.store.jobs.get(second.id).started is None
    assert queue.refreshed(workspace.store.jobs.get(running.id)).status == "interrupted"
    assert queue.places(workspace) == {}


def test_a_job_that_another_resumes_has_none_of_the_settings_of_who_queued_it(workspace, monkeypatch):
    monkeypatch.setenv("RAGVIZ_JOBS", "1")
    started: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)
    ann = workspace.acting(Person("ann", "editor"), {"OPENAI_BASE_URL": "http://127.0.0.1:9/of-ann"})
    root = workspace.acting(Person("root"), {})
    job, _ = queue.submit_once(ann, NewJob("sample", "of ann", "", {}))
    queue.cancel(ann, job)
    monkeypatch.undo()

    def note(job: Job, _: object, typed: dict[str, str]) -> None:
        started.append((job.person, typed))
        raise OSError("no process")

    monkeypatch.setattr(queue, "_process", note)
    with pytest.raises(StorageError):
        queue.start(root, workspace.store.jobs.get(job.id))
    assert started == [("root", {})]


def test_settings_that_a_person_typed_go_to_that_persons_jobs_alone(workspace, monkeypatch):
    """Also when the job waited, and another person's page starts it."""
    monkeypatch.setenv("RAGVIZ_JOBS", "1")
    started: list[dict[str, str]] = []

    class Process:
        pid, wait = os.getpid(), threading.Event().wait

        def __init__(self, *_: object, env: dict[str, str], **__: object) -> None:
            started.append(env)

    monkeypatch.setattr(subprocess, "Popen", Process)
    url = "http://127.0.0.1:9/of-ann"
    ann = workspace.acting(Person("ann"), {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": ""})
    bob = workspace.acting(Person("bob"), {})
    first, _ = queue.submit_once(bob, NewJob("sample", "of bob", "", {"of": "bob"}))
    waits, _ = queue.submit_once(ann, NewJob("sample", "of ann", "", {"of": "ann"}))
    assert (waits.status, len(started)) == ("queued", 1)
    assert url not in started[0].values()
    bob.store.jobs.update(first.id, status="done")
    queue.start_waiting(bob)
    assert (started[1]["OPENAI_BASE_URL"], started[1]["OPENAI_API_KEY"]) == (url, "")
    assert sorted(started[1][TYPED].split(",")) == ["OPENAI_API_KEY", "OPENAI_BASE_URL"]
    bob.store.jobs.update(waits.id, status="done")
    queue.submit_once(bob, NewJob("sample", "again", "", {"of": "bob, again"}))
    assert url not in started[2].values()
    monkeypatch.setenv(TYPED, "OPENAI_BASE_URL")
    bob.store.jobs.queue(first.id, **queue.place(workspace, first))
    assert queue.start_waiting(bob) == [], "a job's process with settings of a person starts nobody's job"
