"""A run judged at an endpoint: processor time, time with many calls in flight, memory.

    python benchmarks/judging.py

Every question of a set is answered, judged and embedded by the loopback model server, over real HTTP, in a new
workspace: the run holds all that a person pays for, from loading libraries to the last score in the store. Only the
index and the question set are made before. The server is a process of its own, which is not counted. Questions have
three passages of 900 characters and a reference of two sentences. The other side sends the very requests of the run
again, by the openai client and a pool of as many threads, which keeps nothing of the replies.

For all metrics, and for the six that other libraries have too, a row each of `make bench`:

- processor time an item; and ÷ that of the client, which is a bound from below: it makes nothing of what it receives;
- time with `--concurrency` calls in flight, of `--latency` seconds each, ÷ the time that the client takes for them.
  `alone_ratio` and `client_alone_ratio` are that of either ÷ calls × latency ÷ concurrency, `most_in_flight` the calls
  that the server saw at once;
- the peak of resident memory;
- the space that an item takes in the store: its ranking, answer, verdicts and scores, the replies and banks that other
  runs find there; without the vectors of its sentences, which are of the embedder's size.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rows import processor_seconds, row  # noqa: E402

from ragviz.core.configuration import IndexConfig, RunConfig  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402

METRICS = {
    "all": ("all",),
    "six": (
        "faithfulness",
        "context_precision",
        "context_recall",
        "answer_relevancy",
        "answer_correctness",
        "embedding_similarity",
    ),
}
WORDS = re.findall(
    r"\w+",
    "pump valve filter tank meter gauge pipe motor panel alarm switch cable station north south river gate winter"
    " summer engineer inspection pressure water level report night crew spring repair schedule budget office road",
)
processes = multiprocessing.get_context("spawn")


def sentence(rng: random.Random) -> str:
    """Return a sentence of fourteen words, one of them a number."""
    words = rng.choices(WORDS, k=13)
    words.insert(6, str(rng.randrange(1000, 9999)))
    return " ".join(words).capitalize() + "."


def fill(home: Path, url: str, count: int) -> None:
    """Make a workspace with `count` documents of three passages, an index of them, and a question about each."""
    from ragviz.documents import corpora
    from ragviz.index import indexing
    from ragviz.questions import exchange

    workspace = opened(home, url, 8)
    corpus, rng, rows, files = workspace.store.corpora.add("benchmark"), random.Random(7), [], []
    for number in range(count):
        sentences = [sentence(rng) for _ in range(30)]
        path = home / f"{number}.md"
        path.write_text(" ".join(sentences), encoding="utf-8")
        files.append((path.name, path))
        topic = " ".join(sentences[1].split()[3:9])
        answer = " ".join(sentences[1:3])
        rows.append({"question": f"What about {topic}?", "answer": answer, "document": path.name, "quote": answer})
    corpora.add_files(workspace, corpus, files)
    indexing.build_index(workspace, corpus, "index", IndexConfig("recursive", 300, embedder="openai:loopback"))
    data = "\n".join(map(json.dumps, rows)).encode()
    exchange.import_data(workspace, corpus, data, "questions.jsonl", "asked")


def opened(home: Path, url: str, concurrency: int) -> Workspace:
    """Open the workspace of a folder, with the models at `url`."""
    return Workspace(
        Settings(
            _env_file=None,  # type: ignore[call-arg]
            home=home,
            openai_base_url=url,
            model="loopback",
            embedder="openai:loopback",
            model_concurrency=concurrency,
        )
    )


def stored_kb(home: Path) -> float:
    """Kilobytes of the pages that runs, verdicts and replies take in the store: no documents, questions and vectors."""
    with closing(sqlite3.connect(home / "ragviz.db")) as connection:
        sizes = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        of_vectors = "sum((kind = 'embedding') * (length(value) + 50)) * 1.0 / sum(length(value) + 50)"
        sizes["cache"] *= 1 - connection.execute(f"SELECT {of_vectors} FROM cache").fetchone()[0]
    return sum(size for name, size in sizes.items() if not re.search("document|question|cuts", name)) / 1024


def judge(pipe: Connection, home: Path, url: str, concurrency: int, metrics: Sequence[str]) -> None:
    """Make a run in this process, and send what it took."""
    from ragviz.runs import running

    workspace = opened(home, url, concurrency)
    before, started = processor_seconds(), time.perf_counter()
    config = RunConfig("index", "asked", "knn", k=3, answerer="model", metrics=tuple(metrics), depth=10)
    current = running.run(workspace, f"run at {concurrency}", config)
    seconds, cpu = time.perf_counter() - started, processor_seconds() - before
    # Not `ru_maxrss`: that begins with the memory of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    memory = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
    failed = [
        s
        for j in workspace.store.judgements.scores(current.id).values()
        for s in j.values()
        if s.status == "judge_error"
    ]
    assert not failed, failed[:3]
    pipe.send({"seconds": seconds, "cpu": cpu, "mb": memory})


def send_again(pipe: Connection, url: str, concurrency: int, bodies: Sequence[dict[str, Any]]) -> None:
    """Send the same requests by the openai client in this process, and send what that took."""
    before, started = processor_seconds(), time.perf_counter()
    import openai

    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)

    def call(body: dict[str, Any]) -> None:
        client.embeddings.create(**body) if "input" in body else client.chat.completions.create(**body)

    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(call, bodies))
    pipe.send({"seconds": time.perf_counter() - started, "cpu": processor_seconds() - before})


def serve(pipe: Connection, latency: float) -> None:
    """Serve models in this process; at each message send what was asked since the last."""
    from tests.model_server import Counts, ModelServer

    with ModelServer(latency=latency) as server:
        pipe.send(server.url)
        while pipe.recv():
            pipe.send((server.bodies, server.counts.most_in_flight))
            server.bodies, server.counts = [], Counts()


@contextmanager
def served(latency: float) -> Iterator[tuple[str, Connection]]:
    """Address of a model server in a process of its own, and the pipe to it."""
    ours, theirs = processes.Pipe()
    process = processes.Process(target=serve, args=(theirs, latency))
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        ours.send(None)
        process.join()


def in_process(side: Any, *arguments: Any) -> dict[str, float]:
    """Do one side in a process of its own, and return what it sends."""
    ours, theirs = processes.Pipe()
    process = processes.Process(target=side, args=(theirs, *arguments))
    process.start()
    theirs.close()
    result: dict[str, float] = ours.recv()
    process.join()
    return result


def measure(metrics: str, items: int, concurrency: int, latency: float) -> dict[str, Any]:
    """Make a run with eight calls in flight at an endpoint that answers at once, and one with many at a slow one."""
    found: dict[str, Any] = {}
    for wide in (False, True):
        calls_at_once = concurrency if wide else 8
        with tempfile.TemporaryDirectory() as folder, served(latency if wide else 0.0) as (url, server):
            home = Path(folder)
            fill(home, url, items)
            before = stored_kb(home)
            server.send("index")
            server.recv()
            ours = in_process(judge, home, url, calls_at_once, METRICS[metrics])
            server.send("run")
            bodies, most = server.recv()
            kilobytes = stored_kb(home) - before
            client = in_process(send_again, url, calls_at_once, bodies)
        if wide:
            alone = len(bodies) * latency / concurrency
            found |= {"seconds": ours["seconds"], "client_seconds": client["seconds"]}
            found |= {"alone_ratio": ours["seconds"] / alone, "client_alone_ratio": client["seconds"] / alone}
            found |= {"most_in_flight": most}
        else:
            found |= {"kb": kilobytes / items}
            found |= {"calls": len(bodies) / items, "ms": 1000 * ours["cpu"] / items}
            found |= {"client_ms": 1000 * client["cpu"] / items, "mb": ours["mb"]}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    """Measure, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--metrics", nargs="*", choices=METRICS, default=list(METRICS))
    options = parser.parse_args()
    for metrics in options.metrics:
        found = measure(metrics, options.items, options.concurrency, options.latency)
        print(json.dumps({"benchmark": "judging", "metrics": metrics, "items": options.items} | found))
        stored = f"judged item, {metrics} metrics, {options.items} items: space in the store without vectors"
        row(stored, found["kb"], None, "kB", 12)
        item = f"judged item, {metrics} metrics, {options.items} items, {found['calls']} calls each"
        row(f"{item}: processor time", found["ms"], None, "ms CPU", 25 if metrics == "all" else 12)
        row(f"{item}: ÷ the openai client's for these calls", found["ms"], found["client_ms"], "ms CPU", 3)
        wide = f"{item}, {options.concurrency} in flight, {options.latency:g} s each: time"
        row(f"{wide} ÷ the openai client's", found["seconds"], found["client_seconds"], "s", 1.5)
        row(f"{item}: peak of memory", found["mb"], None, "MB", 250)


if __name__ == "__main__":
    main()
