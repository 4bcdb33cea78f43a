"""What those who run ragviz see of it: lines of its log, its health and figures for Prometheus."""

import json
import logging
import re
import socket
import sys
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragviz import __version__, logs
from ragviz.core.errors import UsageError
from ragviz.core.settings import Settings
from ragviz.models.requests import Paid
from ragviz.service import corpus_verbs
from ragviz.ui import monitoring
from ragviz.workspace import Workspace
from tests.test_browser import free_port, serving
from tests.test_jobs import submit_files, wait


def line(form: str, *, fails: bool = False) -> str:
    """A line about the address of a server with its password, and a key."""
    key = "sk-secret-of-a-model"
    settings = Settings(_env_file=None, log=form, openai_api_key=SecretStr(key))
    try:
        raise ValueError(f"refused {key}")
    except ValueError:
        failure = sys.exc_info() if fails else None
    text = f"asked http://me:hunter2@host/v1?key=x with “{key}”\nand again"
    record = logging.LogRecord("ragviz", logging.WARNING, "", 0, "%s", (text,), failure)
    record.created, record.run = 86_400.25, "baseline"
    return logs.Lines(settings).format(record)


def test_a_line_says_when_who_and_about_what_and_no_secret(monkeypatch: pytest.MonkeyPatch):
    logs.of_process(person="Ann", job="j1")
    try:
        said, text = json.loads(line("json", fails=True)), line("text", fails=True)
    finally:
        logs.of_process()
    assert said.pop("error").splitlines()[-1] == "ValueError: refused ••••"
    assert said == {
        "time": "1970-01-02T00:00:00.250+00:00", "level": "WARNING", "logger": "ragviz", "person": "Ann", "job": "j1",
        "run": "baseline", "message": "asked http://••••@host/v1?•••• with “••••”\nand again",
    }  # fmt: skip
    assert text.startswith("1970-01-02T00:00:00.250+00:00 WARNING ragviz person=Ann job=j1 run=baseline: asked http://")
    first, *traceback = text.split("\n")
    assert first.endswith(r"\nand again")
    assert all(each.startswith("  ") for each in traceback), "what an error says is no line of the log"


def test_a_stranger_writes_no_codes_to_the_terminal(monkeypatch: pytest.MonkeyPatch):
    """Who is not signed in can have an address logged; so can who sends JSON."""
    before = logging.getLogRecordFactory()
    try:
        logs.configure(Settings(_env_file=None))
        made = logging.getLogger("streamlit.web").makeRecord(
            "streamlit.web", logging.ERROR, "", 0, "Error: %s", ("a\x1b[2Jb\u2028c",), None
        )
        assert made.getMessage() == r"Error: a\x1b[2Jb\u2028c"
    finally:
        logging.setLogRecordFactory(before)
    as_json = logs.line(Settings(_env_file=None, log="json"), "a\x9b2J\u2028b")
    assert json.loads(as_json)["message"] == "a\x9b2J\u2028b"
    assert as_json.isprintable()


def logged(workspace: Workspace, job_id: str, last: str) -> list[dict[str, Any]]:
    """The lines of a job's log, once one of them holds `last`: a process writes it after the row says that it ended."""
    until = time.monotonic() + 10
    while last not in (text := workspace.log_of(job_id).read_text(encoding="utf-8")) and time.monotonic() < until:
        time.sleep(0.05)
    return [json.loads(each) for each in text.splitlines()]


def test_what_a_person_does_is_logged_and_so_are_beginning_and_end_of_a_job(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("RAGVIZ_LOG", "json")
    workspace.person = replace(workspace.person, name="Ann")
    with caplog.at_level(logging.INFO, "ragviz"):
        corpus_verbs.create(workspace, "handbook")
        job = submit_files(workspace, [("a.txt", b"The pump was replaced.")])
    said = [(each.getMessage(), each.person) for each in caplog.records]
    assert {("create corpus 'handbook'", "Ann"), ("Submitted: Add files", "Ann")} <= set(said)
    lines = logged(workspace, wait(workspace, job).id, "Done")
    assert [(each["person"], each["job"], each["message"]) for each in lines] == [
        ("Ann", job.id, "Started: Add files"),
        ("Ann", job.id, "Done: Add files"),
    ]


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def figures(text: str) -> dict[str, float]:
    """The values by name and labels; every line is one of the format's three kinds."""
    lines = [each for each in text.splitlines() if not re.match(r"# (HELP|TYPE) ragviz_\w+ ", each)]
    return {name: float(value) for name, value in (each.rsplit(" ", 1) for each in lines)}


@pytest.mark.model
def test_a_running_dashboard_gives_figures_and_logs_json(workspace: Workspace, tmp_path: Path):
    store, now = workspace.store, time.time()
    for created, started, finished, status in [
        (now - 90, now - 80, now - 60, "done"), (now - 50, now - 45, now - 15, "done"), (now - 7, None, None, "queued")
    ]:  # fmt: skip
        job = store.jobs.add("index", "Build i", "c", {}, host="another machine")
        store.jobs.update(job.id, created=created, started=started, finished=finished, status=status)
    corpus = store.corpora.add("c")
    for name, paid in (("one", Paid(3, 200, 50, 0.25)), ("two", Paid(1, 20, 5, 0.5))):
        store.payments.add(store.sets.add(corpus.id, name).id, paid)
    port = free_port()
    with serving(tmp_path, RAGVIZ_LOG="json", RAGVIZ_METRICS=str(port)) as server:
        assert get(f"http://127.0.0.1:{port}/healthz") == (200, "ok\n")
        before, _ = (figures(get(f"http://127.0.0.1:{port}/metrics")[1]) for _ in range(2))
        for _ in range(3):
            get(f"{server.url}/_stcore/health")
        status, text = get(f"http://127.0.0.1:{port}/metrics")
        assert get(f"http://127.0.0.1:{port}/")[0] == 404
    after, count, done = figures(text), 'ragviz_http_responses_total{code="200"}', '{kind="index",status="done"}'
    assert (status, after[f"ragviz_jobs{done}"], after['ragviz_jobs{kind="index",status="queued"}']) == (200, 2, 1)
    assert after[f"ragviz_jobs_waited_seconds{done}"] == pytest.approx(15, abs=0.01)
    assert after[f"ragviz_jobs_worked_seconds{done}"] == pytest.approx(50, abs=0.01)
    assert 7 < after["ragviz_queue_wait_seconds"] < 7 + time.time() - now
    assert [after[f"ragviz_model_{name}"] for name in ("calls", "dollars")] == [4, 0.75]
    assert [after[f'ragviz_model_tokens{{kind="{kind}"}}'] for kind in ("prompt", "completion")] == [220, 55]
    assert after[count] - before[count] == 3
    assert after["ragviz_http_response_seconds_total"] > before["ragviz_http_response_seconds_total"]
    lines = [each for each in server.log.read_text(encoding="utf-8").splitlines() if each.strip()]
    said = [json.loads(each) for each in lines if not each.startswith("  ")]  # all but Streamlit's greeting
    assert f"The dashboard of ragviz {__version__} serves" in [each["message"] for each in said]


def test_an_address_that_is_taken_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="nothing can listen"):
        monitoring.listen(f"127.0.0.1:{taken.getsockname()[1]}")
