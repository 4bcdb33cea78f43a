"""Judging answers against the loopback model server; prints one JSON line.

    python benchmarks/judging.py

Items have three contexts of 200 tokens, an answer and a reference; all metrics of answers are measured. The bank and
the reference's claims, which are made once for all runs, are made before the clock starts. For 50 and for 200 items at
200 ms a call:

- `calls` and `characters` of prompts an item, without the answer itself: at most 4 and 15,000;
- `cpu_ms` an item, without the embedder (a hashed bag of words here): at most 25;
- `wall_ratio`: seconds ÷ (calls × latency ÷ concurrency): at most 1.15;
- `items_per_second` with 64 calls in flight: at least 12;
- `times_sent`: how often a context of 100,000 characters is sent: at most 2.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz.core.configuration import RunConfig  # noqa: E402
from ragviz.core.document import Chunk, Span  # noqa: E402
from ragviz.core.question import Question  # noqa: E402
from ragviz.core.score import Score  # noqa: E402
from ragviz.core.verdict import EvaluatedAnswer  # noqa: E402
from ragviz.judging import banks, planning, work  # noqa: E402
from ragviz.judging.step import State  # noqa: E402
from ragviz.judging.steps import STEPS  # noqa: E402
from ragviz.metrics.answers import chosen  # noqa: E402
from ragviz.models.chat import ModelClient  # noqa: E402
from ragviz.models.requests import Usage  # noqa: E402
from ragviz.runs import choices  # noqa: E402
from tests.model_server import vector  # noqa: E402

LATENCY = 0.2
WORDS = [
    "pump",
    "valve",
    "filter",
    "tank",
    "meter",
    "gauge",
    "pipe",
    "motor",
    "panel",
    "alarm",
    "switch",
    "cable",
    "station",
    "north",
    "south",
    "river",
    "gate",
    "winter",
    "summer",
    "engineer",
    "inspection",
    "pressure",
    "water",
    "level",
    "report",
    "night",
    "crew",
    "spring",
    "repair",
    "schedule",
    "budget",
    "office",
    "road",
]


class Memory:
    """A cache in memory."""

    def __init__(self) -> None:
        self.items_by_key: dict[str, bytes] = {}

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values of the stored `keys`."""
        return {key: self.items_by_key[key] for key in keys if key in self.items_by_key}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`."""
        self.items_by_key.update(items)


class Bags:
    """An embedder that takes almost no time: hashed words."""

    name, max_tokens, embedded, identity, dims = "bags", None, 0, "bags", 64
    seconds = 0.0

    def load(self) -> None:
        """Load nothing."""

    def embed(self, texts: Sequence[str], kind: str, progress: Any = None) -> Any:
        """Embed `texts`; counts its own CPU, which is not judging's."""
        started = time.thread_time()
        rows = np.array([vector(text) for text in texts], dtype=np.float32)
        Bags.seconds += time.thread_time() - started
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sentence(rng: random.Random) -> str:
    """Return a sentence of fourteen words, one of them a number."""
    words = rng.choices(WORDS, k=13)
    words.insert(6, str(rng.randrange(1000, 9999)))
    return " ".join(words).capitalize() + "."


def make_items(count: int, seed: int, context: int = 900) -> list[planning.Item]:
    """Questions with three chunks of about `context` characters, and a reference of two sentences of the first."""
    rng = random.Random(seed)
    items = []
    for number in range(count):
        chunks = []
        for place in range(3):
            text = ""
            while len(text) < context:
                text += sentence(rng) + " "
            text = text.strip()
            start = place * 200_000
            chunks.append(Chunk(Chunk.make_id("d", start, start + len(text)), "d", start, start + len(text), text, 200))
        sentences = chunks[0].text.split(". ")
        reference = f"{sentences[1]}. {sentences[2]}."
        topic = " ".join(sentences[1].split()[3:9])
        evidence = ((Span("d", 0, 10, reference[:10]),),)
        question = Question(f"q{seed}-{number}", f"What about {topic}?", reference, evidence, "hand")
        items.append(planning.Item(question, tuple(chunks)))
    return items


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Start the loopback model server in its own process, so that its CPU is not counted."""
    command = [sys.executable, str(ROOT / "tests" / "model_server.py"), "--port", "0", "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
    finally:
        process.terminate()
        process.wait()


class Counting(ModelClient):
    """A client that counts the characters it is about to pay for."""

    characters = 0

    def _pay(self, key: str, request: Any) -> Any:
        self.characters += sum(len(message["content"]) for message in request.messages)
        return super()._pay(key, request)


def measure(url: str, items: Sequence[planning.Item], concurrency: int) -> dict[str, float]:
    """Judge `items`, whose answers and references are prepared."""
    cache, banks = Memory(), Memory()
    client = Counting(url, None, "loopback", cache=cache, concurrency=concurrency, timeout=60)
    config = RunConfig("i", "q", answerer="model", metrics=chosen(("all",), judge=True), context_tokens=10**6)
    plan = choices.plan_of(config, config.metrics, banks, client, client, Bags())  # type: ignore[arg-type]
    prepare(items, plan)
    client.usage, client.characters = Usage(), 0
    results: list[tuple[EvaluatedAnswer, Sequence[Score]]] = []
    Bags.seconds, before, started = 0.0, cpu(), time.perf_counter()
    work.work(items, plan, results.extend)
    seconds = time.perf_counter() - started
    used = cpu() - before - Bags.seconds
    failed = [score for _, scores in results for score in scores if score.status == "judge_error"]
    assert not failed, failed[:3]
    assert len(results) == len(items)
    calls = client.usage.calls
    return {
        "items": len(items),
        "concurrency": concurrency,
        "calls": calls / len(items),
        "characters": client.characters / len(items),
        "cpu_ms": 1000 * used / len(items),
        "seconds": seconds,
        "wall_ratio": seconds / (calls * LATENCY / concurrency),
        "items_per_second": len(items) / seconds,
    }


def prepare(items: Sequence[planning.Item], plan: planning.Plan) -> None:
    """Make what is not judging: the answers, and what is made of a reference once for all runs."""

    def perform(item: planning.Item) -> None:
        state = State(item, 0)
        for step in ("answer", "bank", "reference"):
            state.results[step] = STEPS[step].perform(state, plan, lambda client, request: client.ask(request))

    with ThreadPoolExecutor(plan.concurrency) as pool:
        list(pool.map(perform, items))
    banks.extractive_banks([item.question.answer for item in items], plan.banks)


def cpu() -> float:
    """Processor seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def long_context(url: str) -> float:
    """How often a context of 100,000 characters is sent while one question is answered and judged."""
    [item] = make_items(1, 99, context=100_000 // 3)
    sent = 0
    mark = item.chunks[0].text.split(". ")[5]

    class Watching(ModelClient):
        def _pay(self, key: str, request: Any) -> Any:
            nonlocal sent
            sent += sum(message["content"].count(mark) for message in request.messages)
            return super()._pay(key, request)

    client = Watching(url, None, "loopback", concurrency=4)
    config = RunConfig("i", "q", answerer="model", metrics=chosen(("all",), judge=True), context_tokens=10**6)
    work.work([item], choices.plan_of(config, config.metrics, Memory(), client, client, Bags()), lambda evaluated: None)  # type: ignore[arg-type]
    return sent


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--concurrency", type=int, default=8)
    options = parser.parse_args()
    with server(LATENCY) as url:
        measure(url, make_items(4, 1), options.concurrency)  # loads what is loaded once
        sizes = [measure(url, make_items(n, 10 + n), options.concurrency) for n in options.items]
        wide = measure(url, make_items(max(options.items), 7), 64)
        sent = long_context(url)
    line = {
        "benchmark": "judging",
        "latency": LATENCY,
        "sizes": [rounded(size) for size in sizes],
        "in_flight_64": rounded(wide),
        "times_sent": sent,
        "at_most": {"calls": 4, "characters": 15_000, "cpu_ms": 25, "wall_ratio": 1.15, "times_sent": 2},
        "at_least": {"items_per_second": 12},
    }
    print(json.dumps(line))


def rounded(size: Mapping[str, float]) -> dict[str, float]:
    """Round the figures for printing."""
    return {name: round(value, 3) for name, value in size.items()}


if __name__ == "__main__":
    main()
