"""Jobs are real processes: they outlive their starter, are stopped, killed and resumed, and never done twice."""

import os
import signal
import time
from pathlib import Path

import pytest

from ragviz import jobs
from ragviz.config import Settings
from ragviz.documents import corpora
from ragviz.errors import Cancelled, UsageError
from ragviz.processes import this_process
from ragviz.records import IndexConfig, Job
from ragviz.workspace import Workspace


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    return Workspace(Settings(_env_file=None, home=tmp_path / "home"))


def wait(workspace: Workspace, job: Job, until=("done", "failed", "cancelled", "interrupted"), seconds=120) -> Job:
    end = time.time() + seconds
    while time.time() < end:
        job = next(j for j in jobs.jobs(workspace) if j.id == job.id)
        if job.status in until:
            return job
        time.sleep(0.05)
    log = workspace.log_of(job.id)
    raise AssertionError(f"{job} did not get to {until}: {log.read_text() if log.exists() else 'no log'}")


def submit_files(workspace, files) -> Job:
    corpus = workspace.store.create_corpus("notes")
    folder, staged = corpora.stage(workspace, files)
    arguments = {"corpus": corpus.id, "folder": str(folder), "files": staged, "replace": False}
    return jobs.submit(workspace, "documents", "Add files", corpus.id, arguments)


def test_files_are_read_by_another_process(workspace):
    job = wait(workspace, submit_files(workspace, [("a.txt", b"The pump was replaced."), ("b.txt", b"")]))
    assert job.status == "done", job.error
    assert [f["status"] for f in job.result["files"]] == ["added", "unreadable"]
    assert (job.done, job.total, job.unit) == (2, 2, "files")
    assert job.pid != os.getpid()
    end = time.time() + 20
    while uploads(workspace):  # they are deleted after the job is done: killed before, it finds them again
        assert time.time() < end
        time.sleep(0.05)


def test_an_error_ends_up_in_the_row_as_a_sentence(workspace):
    corpus = workspace.store.create_corpus("empty")
    arguments = {"corpus": corpus.id, "name": "i", "config": {"chunk_size": 200}}
    job = wait(workspace, jobs.submit(workspace, "index", "Build i", corpus.id, arguments))
    assert job.status == "failed"
    assert job.error == "Corpus 'empty' has no text to index: add documents first."


def test_a_defect_names_the_log_that_has_its_traceback(workspace, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("one by nought")

    monkeypatch.setitem(jobs.KINDS, "sample", broken)
    job = workspace.store.create_job("sample", "x", "", {})
    with pytest.raises(ZeroDivisionError):
        jobs.perform(workspace, job.id)
    failed = workspace.store.job(job.id)
    assert failed.status == "failed"
    log = Path(failed.error.removeprefix("A defect in ragviz: ZeroDivisionError. The traceback is in ").rstrip("."))
    assert log == workspace.log_of(job.id)
    assert "one by nought" in log.read_text()


@pytest.mark.parametrize("kind", ["index", "run"])
def test_a_job_of_another_version_is_refused_by_its_unknown_choice(workspace, kind):
    corpus = workspace.store.create_corpus("notes")
    arguments = {"corpus": corpus.id, "name": "i", "config": {"late_chunking": True}}
    job = workspace.store.create_job(kind, "x", corpus.id, arguments)
    with pytest.raises(UsageError, match="with late_chunking, which this one does not know"):
        jobs.perform(workspace, job.id)
    assert "late_chunking" in workspace.store.job(job.id).error


def test_a_job_that_is_being_done_is_not_done_again(workspace):
    job = workspace.store.create_job("sample", "x", "", {})
    me = this_process()
    place = {"pid": me["pid"], "pid_started": me["started"], "host": me["host"]}
    assert workspace.store.claim_job(job.id, heartbeat=time.time(), **place)
    with pytest.raises(UsageError, match="being done already"):
        jobs.perform(workspace, job.id)


def test_a_process_with_the_same_number_is_not_the_same_process(workspace):
    job = workspace.store.create_job("sample", "x", "", {})
    workspace.store.claim_job(job.id, pid=os.getpid(), pid_started=1.0, host=this_process()["host"])
    [listed] = jobs.jobs(workspace)
    assert listed.status == "interrupted"
    assert "Resume it" in listed.error


def test_a_waiting_job_is_cancelled_at_once(workspace):
    job = workspace.store.create_job("sample", "x", "", {})
    jobs.cancel(workspace, job)
    assert workspace.store.job(job.id).status == "cancelled"


def long_text(paragraphs: int) -> bytes:
    """Paragraphs that differ, so that each has to be embedded."""
    words = ["pump", "valve", "filter", "tank", "meter", "gauge", "pipe", "motor", "panel", "alarm", "switch", "cable"]
    lines = [
        " ".join(f"{words[(n * 7 + i * i) % len(words)]} {n * i % 97}" for i in range(1, 60)) for n in range(paragraphs)
    ]
    return "\n\n".join(lines).encode()


@pytest.fixture
def building(workspace) -> Job:
    """A build that takes long enough to be stopped in the middle."""
    corpus = workspace.store.create_corpus("notes")
    corpora.add_file(workspace, corpus, "long.txt", long_text(300))
    config = {"chunk_size": 100}
    job = jobs.submit(workspace, "index", "Build i", corpus.id, {"corpus": corpus.id, "name": "i", "config": config})
    end = time.time() + 200
    while not (0 < job.done < (job.total or 0) and job.unit == "chunks"):
        assert job.status in ("queued", "running"), job
        assert time.time() < end
        time.sleep(0.05)
        job = workspace.store.job(job.id)
    return job


@pytest.mark.model
def test_a_killed_build_is_resumed_and_embeds_only_the_rest(workspace, building):
    os.kill(building.pid, signal.SIGKILL)
    killed = wait(workspace, building, until=("interrupted",))
    assert workspace.store.index("i").status == "building"
    done = wait(workspace, jobs.start(workspace, killed))
    assert done.status == "done", done.error
    assert 0 < done.result["embedded"] < done.result["chunks"]
    info = workspace.store.index("i")
    assert (info.status, workspace.index(info).count()) == ("ready", done.result["chunks"])


@pytest.mark.model
def test_a_cancelled_build_leaves_no_half_index_and_can_be_resumed(workspace, building):
    jobs.cancel(workspace, building)
    cancelled = wait(workspace, building, until=("cancelled",))
    info = workspace.store.index("i")
    assert (info.status, workspace.index(info).exists()) == ("failed", False)
    done = wait(workspace, jobs.start(workspace, cancelled))
    assert done.status == "done", done.error
    assert workspace.store.index("i").config == IndexConfig(chunk_size=100)


def uploads(workspace) -> list[Path]:
    return list((workspace.settings.home / "uploads").iterdir())


def staged_job(workspace, status: str = "queued") -> Job:
    corpus = workspace.store.corpora()[0] if workspace.store.corpora() else workspace.store.create_corpus("notes")
    folder, staged = corpora.stage(workspace, [("a.txt", b"The pump was replaced.")])
    arguments = {"corpus": corpus.id, "folder": str(folder), "files": staged, "replace": False}
    job = workspace.store.create_job("documents", "Add files", corpus.id, arguments)
    workspace.store.update_job(job.id, status=status)
    return workspace.store.job(job.id)


def test_an_upload_that_is_stopped_leaves_no_copies(workspace):
    for status in ("queued", "interrupted"):
        jobs.cancel(workspace, staged_job(workspace, status))
        assert uploads(workspace) == []
    job = staged_job(workspace)

    def stopping(*_: object) -> None:
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        jobs.perform(workspace, job.id, stopping)
    assert uploads(workspace) == []
    with pytest.raises(UsageError, match="The uploaded files are kept for a day"):
        jobs.perform(workspace, job.id)


def test_copies_that_a_killed_upload_left_are_kept_a_day_to_resume_it(workspace):
    killed, forgotten, working = staged_job(workspace, "interrupted"), staged_job(workspace), staged_job(workspace)
    workspace.store.delete_job(forgotten.id)
    jobs.jobs(workspace)
    assert len(uploads(workspace)) == 3
    yesterday = time.time() - jobs.UPLOADS_KEPT - 10
    for folder in uploads(workspace):
        os.utime(folder, (yesterday, yesterday))
    jobs.jobs(workspace)
    assert uploads(workspace) == [Path(working.arguments["folder"])]
    assert workspace.store.job(killed.id).status == "interrupted"


def test_a_killed_upload_is_resumed_from_its_copies(workspace):
    job = staged_job(workspace, "interrupted")
    assert jobs.perform(workspace, job.id).result["files"][0]["status"] == "added"
    assert uploads(workspace) == []
