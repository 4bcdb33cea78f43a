"""Load on what is shared: builds in shards by one, two and three workers, kills, ten browsers beside two workers.

It needs `--database`, the URL of a PostgreSQL database that it may empty, and `--elasticsearch`, the address of a node.
A worker is a process with a home of its own, as on another machine; the endpoint of models is a stub on loopback that
takes a fixed time for a call, so that workers wait for it as for a GPU and do not compete for the cores. Prints one
JSON line for each measurement, with the load of the machine.

`--part shards` builds an index of `--chunks` by each number of `--workers`: seconds from the start of the job to its
end, processor seconds of all job processes, the most memory that one had, what database and index take on the disk, and
how many times faster than by one worker. `--part kills` kills a judged run `--kills` times at random moments on each
carrier, resumes it, and compares scores and paid calls with a run that nobody killed. `--part browsers` has
`--browsers` go through the pages of two replicas for `--minutes` while two workers do jobs: errors, and what memory
both servers have, by the round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import sqlalchemy as sa
from dashboard import CHROMIUM, serving

from ragviz.core.configuration import RunConfig
from ragviz.core.document import Span
from ragviz.core.job import Job, NewJob
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.jobs import queue
from ragviz.service import index_verbs
from ragviz.workspace import Workspace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests import model_server
from tests.conftest import emptied
from tests.model_server import ModelServer

SHARD, CALLS = 512, 8
"""Chunks that a worker takes at once, and calls to the endpoint that it then makes at once."""
OF_DOCUMENT = 500
CHOICES = {"chunker": "sentences", "chunk_size": 12, "embedder": "openai:bags"}
PAGES = ("", "documents", "index", "questions", "run", "runs", "results?run=r", "settings")


def show(**figures: Any) -> None:
    """Print one measurement."""
    print(json.dumps(figures | {"load": round(os.getloadavg()[0], 1)}), flush=True)


def opened(home: Path) -> Workspace:
    """Open the home of the dashboard."""
    os.environ["RAGVIZ_HOME"] = str(home)
    return Workspace(Settings(_env_file=None, home=home))


def filled(workspace: Workspace, sentences: int) -> str:
    """Store a corpus of sentences, each of which becomes a chunk; return its name."""
    corpus = workspace.store.corpora.add("rooms")
    starts = range(0, sentences, OF_DOCUMENT)
    for start in starts:
        numbers = range(start, min(start + OF_DOCUMENT, sentences))
        lines = (f"The pump of room {number} is checked every week." for number in numbers)
        corpora.add_file(workspace, corpus, f"{start}.txt", "\n\n".join(lines).encode())
    return corpus.name


@contextmanager
def workers(folder: Path, count: int, queues: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run workers with homes of their own, and end them and their jobs."""
    command = [sys.executable, "-m", "ragviz", "worker", "--queues", queues, "--concurrency", "1"]
    homes = [folder / f"worker-{number}" for number in range(count)]
    running = [subprocess.Popen(command, env=os.environ | {"RAGVIZ_HOME": str(home)}) for home in homes]
    try:
        yield running
    finally:
        for process in running:
            process.terminate()
            process.wait()


def ended(workspace: Workspace, job: Job, seen: dict[int, tuple[float, float]] | None = None) -> Job:
    """Wait for a job; `seen` gets the processor seconds and most megabytes of each process of these homes' jobs."""
    homes = str(workspace.settings.home.parent)
    while (job := workspace.store.jobs.get(job.id)).status in queue.ACTIVE:
        for process in psutil.process_iter(["cmdline"]) if seen is not None else ():
            if "ragviz.jobs" in (process.info["cmdline"] or ()):
                with suppress(psutil.Error):
                    if not process.environ()["RAGVIZ_HOME"].startswith(homes):
                        continue
                    held, used = process.memory_info().rss / 2**20, sum(process.cpu_times()[:2])
                    seen[process.pid] = used, max(held, seen.get(process.pid, (0.0, 0.0))[1])
        time.sleep(0.5)
    return job


# Shards


def shards(database: str, chunks: Sequence[int], counts: Sequence[int], rate: float) -> None:
    """Build the index of each size by each number of workers, of which each waits for `rate` chunks a second."""
    os.environ |= {"RAGVIZ_QUEUES": "none", "RAGVIZ_MODEL_CONCURRENCY": str(CALLS)}
    model_server.vector = drawn
    with ModelServer(latency=SHARD / rate) as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        for size in chunks:
            alone, ranked = 0.0, None
            for count in counts:
                emptied(database)
                with tempfile.TemporaryDirectory() as folder, workers(Path(folder), count, "embed"):
                    workspace = opened(Path(folder) / "home")
                    corpus = workspace.store.corpora.get(filled(workspace, size))
                    choices = CHOICES | {"backend": "elasticsearch", "options": {"type": "flat"}}
                    seen: dict[int, tuple[float, float]] = {}
                    embedded = server.counts.embedded
                    job, _ = queue.submit_once(workspace, index_verbs.build(workspace, corpus, "i", choices))
                    job = ended(workspace, job, seen)
                    assert job.status == "done", job.error
                    info = workspace.store.indexes.get("i")
                    index = workspace.index(info)
                    vectors = workspace.embedder(info.config.embedder).embed([f"room {n}" for n in range(50)], "query")
                    found = index.knn(vectors, 20)
                    took = (job.finished or 0) - (job.started or 0)
                    alone = alone or took * count / counts[0]
                    show(
                        part="shards",
                        chunks=size,
                        workers=count,
                        seconds=round(took, 1),
                        times_faster=round(alone / took, 2),
                        processor_seconds=round(sum(used for used, _ in seen.values()), 1),
                        most_mb_of_a_process=round(max(held for _, held in seen.values())),
                        database_mb=round(size_of(database) / 2**20, 1),
                        index_mb=round(index.size() / 2**20, 1),
                        embedded_twice=server.counts.embedded - embedded - job.result["embedded"] - len(vectors) - 1,
                        same_rankings=ranked in (None, found),
                    )
                    ranked = found
                    index.drop()


def drawn(text: str) -> list[float]:
    """Return a vector that is no other text's, so that no two chunks are equally near."""
    return list(np.random.default_rng([*text.encode()]).standard_normal(model_server.DIMS))


def size_of(database: str) -> int:
    """Return the bytes of a PostgreSQL database."""
    engine = sa.create_engine(database)
    with engine.connect() as connection:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
    engine.dispose()
    return int(size)


# Kills


def asked(workspace: Workspace, backend: str, questions: int) -> NewJob:
    """Build an index, and return the job of a run that answers and judges."""
    corpus = workspace.store.corpora.get(filled(workspace, 200))
    choices = CHOICES | {"backend": backend}
    job, _ = queue.submit_once(workspace, index_verbs.build(workspace, corpus, "i", choices))
    assert ended(workspace, job).status == "done"
    [document] = workspace.store.documents.all(corpus.id)
    question_set = workspace.store.sets.add(corpus.id, "asked")
    evidence = ((Span(document.id, 0, 43, "The pump of room 0 is checked every week."),),)
    made = [
        Question(f"q{n}", f"When is the pump of room {n} checked?", "Every week.", evidence, "hand", "accepted")
        for n in range(questions)
    ]
    workspace.store.questions.put(question_set.id, made)
    config = RunConfig(
        workspace.store.indexes.get("i").id, question_set.id, "knn", answerer="model", model="m", judge="m",
        metrics=("all",),
    )  # fmt: skip
    return NewJob("run", "Run r", corpus.id, {"name": "r", "config": asdict(config)})


def kills(database: str, times: int, questions: int = 40) -> None:
    """Kill a judged run again and again, on both carriers."""
    draw = random.Random(1)
    os.environ |= {"RAGVIZ_MODEL": "m", "RAGVIZ_MODEL_CONCURRENCY": str(CALLS), "RAGVIZ_EMBEDDER": "openai:bags"}
    for carrier in ("local process", "workers"):
        figures = [_killed(database if carrier == "workers" else "", count, questions, draw) for count in (0, times)]
        (calls, scores, _), (calls_killed, scores_killed, done) = figures
        show(
            part="kills",
            carrier=carrier,
            kills=done,
            questions=questions,
            calls=calls,
            calls_with_kills=calls_killed,
            twice_for_each_kill=round((calls_killed - calls) / max(done, 1), 2),
            in_flight_at_most=CALLS,
            same_scores=scores == scores_killed,
        )


def _killed(database: str, times: int, questions: int, draw: random.Random) -> tuple[int, Any, int]:
    """Make a run that is killed `times`; return the calls that were answered, its scores, and the kills."""
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(latency=0.3 if times else 0.0))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ |= {"OPENAI_BASE_URL": server.url, "RAGVIZ_QUEUES": "none" if database else "embed,run"}
        os.environ["RAGVIZ_DATABASE_URL"] = emptied(database) if database else ""
        workspace = opened(folder / "home")
        if database:
            stack.enter_context(workers(folder, 2, "embed,run"))
        new = asked(workspace, "elasticsearch" if database else "local", questions)
        before, done = server.counts.calls, 0
        job, _ = queue.submit_once(workspace, new)
        while (job := queue.refreshed(workspace.store.jobs.get(job.id))).status != "done":
            assert job.status in (*queue.ACTIVE, "interrupted"), job.error
            if job.status == "running" and done < times:
                time.sleep(draw.uniform(0.2, 3.0))
                with suppress(ProcessLookupError):
                    os.kill(job.pid or 0, signal.SIGKILL)
                    done += 1
            elif job.status == "interrupted":
                job = queue.start(workspace, job)
            time.sleep(0.1)
        calls = server.counts.calls - before
        scores = workspace.store.judgements.scores(workspace.store.runs.get("r").id)
        told = {m: {q: (s.value, s.status) for q, s in each.items()} for m, each in scores.items()}
        return calls, told, done


# Browsers


def browsers(database: str, minutes: float, visitors: int, think: float) -> None:
    """Let browsers go through the pages of two replicas, each waiting `think` seconds, while workers build and run."""
    from playwright.sync_api import sync_playwright

    os.environ |= {"RAGVIZ_DATABASE_URL": emptied(database), "RAGVIZ_QUEUES": "none", "RAGVIZ_MODEL": "m"}
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(latency=0.5))
        os.environ["OPENAI_BASE_URL"] = server.url
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workspace = opened(folder / "home")
        stack.enter_context(workers(folder, 2, "embed,run"))
        new = asked(workspace, "elasticsearch", 40)
        assert ended(workspace, queue.submit_once(workspace, new)[0]).status == "done"
        homes = (folder / "home", folder / "replica")
        addresses = [stack.enter_context(serving(home, RAGVIZ_DATABASE_URL=database)) for home in homes]
        served = [each for each in psutil.Process().children() if "streamlit" in " ".join(each.cmdline())]
        over, jobs = threading.Event(), list[Job]()
        busy = threading.Thread(target=_submit, args=(workspace, new, over, jobs))
        busy.start()
        playwright = stack.enter_context(sync_playwright())
        found = next(filter(None, map(shutil.which, filter(None, CHROMIUM))), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        opened_pages = [browser.new_context().new_page() for _ in range(visitors)]
        errors, visits, memory = list[str](), 0, list[float]()
        for page in opened_pages:
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: errors.append(f"script: {error}"))
            page.on("response", lambda reply: reply.status >= 500 and errors.append(f"{reply.status} {reply.url}"))
        began = time.monotonic()
        while time.monotonic() - began < 60 * minutes:
            for number, page in enumerate(opened_pages):
                address = addresses[number % len(addresses)]
                page.goto(f"{address}/{PAGES[(visits // visitors + number) % len(PAGES)]}", wait_until="commit")
                page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid]", state="attached")
                page.wait_for_timeout(1000 * think / visitors)
                for told in (page.locator("[data-testid=stException]"), page.get_by_text("a defect in ragviz")):
                    errors += [f"page: {text}" for text in told.all_inner_texts()]
                visits += 1
                memory.append(sum(each.memory_info().rss for each in served) / 2**20)
        over.set()
        browser.close()
        busy.join()
        failed = [
            job.error for job in map(workspace.store.jobs.get, (job.id for job in jobs)) if job.status == "failed"
        ]
    rounds = [memory[start : start + visitors] for start in range(0, len(memory), visitors)]
    show(
        part="browsers",
        browsers=visitors,
        minutes=round((time.monotonic() - began) / 60, 1),
        visits=visits,
        jobs=len(jobs),
        errors=errors[:5] + failed[:5],
        servers_mb_by_round=[round(max(each)) for each in rounds],
    )


def _submit(workspace: Workspace, new: NewJob, over: threading.Event, jobs: list[Job]) -> None:
    """Have the workers build an index and make a run anew, again and again."""
    corpus = workspace.store.corpora.get("rooms")
    for number in range(1000):
        if over.is_set():
            return
        built = index_verbs.build(workspace, corpus, "i", fresh=True)
        made = NewJob(new.kind, f"Run {number}", corpus.id, {**new.arguments, "name": f"r{number}"})
        for each in (built, made):
            jobs.append(ended(workspace, queue.submit_once(workspace, each)[0]))
        over.wait(1.0)


def main() -> None:
    """Measure the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--elasticsearch", required=True)
    parser.add_argument("--part", choices=("shards", "kills", "browsers"), nargs="+", default=["shards"])
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rate", type=float, default=200.0, help="chunks a second that the stub embeds for a worker")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--think", type=float, default=20.0, help="seconds that a browser looks at a page")
    given = parser.parse_args()
    os.environ |= {"RAGVIZ_DATABASE_URL": given.database, "ELASTICSEARCH_URL": given.elasticsearch}
    if "shards" in given.part:
        shards(given.database, given.chunks, given.workers, given.rate)
    if "kills" in given.part:
        kills(given.database, given.kills)
    if "browsers" in given.part:
        browsers(given.database, given.minutes, given.browsers, given.think)


if __name__ == "__main__":
    main()
