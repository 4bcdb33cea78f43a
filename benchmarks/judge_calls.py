"""Calls of the judge for twelve configurations over one question set, against those for one of them.

    python benchmarks/judge_calls.py

The corpus is the sample; the configurations are 3 chunkings × 2 retrievers × 2 k, answered and judged by the loopback
model server over real HTTP, by all metrics of answers. One configuration is made in a workspace of its own, then all
twelve, one after another, in a new one. `ratio` is the calls of the twelve ÷ those of one, at most 4 (exit code 1
above); `characters` the same of the characters of prompts. Requests that were sent before are left out of it and
counted in `repeated`: control items, which a judge that fails them, as the loopback model does, is asked anew by every
run; `with_repeated` is the ratio with them. `answers` is how many different answers a question got. Prints one JSON
line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ragviz import sample  # noqa: E402
from ragviz.core.configuration import IndexConfig, RunConfig  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.index import indexing  # noqa: E402
from ragviz.questions import exchange  # noqa: E402
from ragviz.runs import running  # noqa: E402
from ragviz.targets import citations  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402
from tests.model_server import ModelServer  # noqa: E402

JUDGE = "judge"
INDEXES = {"tokens": ("tokens", 200), "recursive": ("recursive", 120), "sentences": ("sentences", 150)}
RETRIEVERS = ("knn", "bm25")
KS = (5, 3)
MOST = 4.0


@dataclass(frozen=True, slots=True)
class Paid:
    """Different calls of a judge, characters of their prompts, and how many calls repeated one of them."""

    calls: int
    characters: int
    repeated: int


def paid(bodies: Sequence[Mapping[str, Any]], model: str = JUDGE) -> Paid:
    """Return what a model was sent: `bodies` are the requests that the server received."""
    asked = [json.dumps(body) for body in bodies if body.get("model") == model and "messages" in body]
    different = [json.loads(body)["messages"] for body in set(asked)]
    characters = sum(len(message["content"]) for messages in different for message in messages)
    return Paid(len(different), characters, len(asked) - len(different))


@contextmanager
def workspace(server: ModelServer, questions: int, embedder: str) -> Iterator[Workspace]:
    """Yield a new workspace with the sample, cut into chunks three ways, and the first of its questions."""
    with tempfile.TemporaryDirectory() as home:
        settings = {"RAGVIZ_HOME": home, "OPENAI_BASE_URL": server.url, "RAGVIZ_MODEL": "loopback"}
        os.environ.update(settings | {"RAGVIZ_EMBEDDER": embedder})
        opened = Workspace(Settings(_env_file=None))  # type: ignore[call-arg]
        corpus = opened.store.corpora.add("sample")
        for name, data in sample.documents():
            corpora.add_file(opened, corpus, name, data)
        rows = b"\n".join(sample.questions().splitlines()[:questions])
        exchange.import_data(opened, corpus, rows, "questions.jsonl", "asked")
        for name, (chunker, size) in INDEXES.items():
            indexing.build_index(opened, corpus, name, IndexConfig(chunker, size, embedder=embedder))
        yield opened


def configurations(answerer: str) -> list[RunConfig]:
    """Return the twelve."""
    answers = {"answerer": answerer, "model": "loopback" if answerer == "model" else ""}
    judged = {"metrics": ("all",), "judge": JUDGE, "depth": 10}
    cells = product(INDEXES, RETRIEVERS, KS)
    return [RunConfig(index, "asked", retriever, k=k, **answers, **judged) for index, retriever, k in cells]  # type: ignore[arg-type]


def measure(questions: int, answerer: str, embedder: str) -> dict[str, Any]:
    """Make one configuration, and all of them, and count."""
    chosen = configurations(answerer)
    with ModelServer() as server, workspace(server, questions, embedder) as opened:
        running.run(opened, "one", chosen[0])
        one = paid(server.bodies)
    with ModelServer() as server, workspace(server, questions, embedder) as opened:
        answers: dict[str, set[str]] = {}
        steps: Counter[str] = Counter()
        each = []
        for number, config in enumerate(chosen):
            before = paid(server.bodies).calls
            run = running.run(opened, f"run {number}", config)
            each.append(paid(server.bodies).calls - before)
            for i, evaluated in opened.store.judgements.all(run.id).items():
                answers.setdefault(i, set()).add(citations.without_citations(evaluated.recording.answer))
                steps.update(call.step for call in evaluated.calls if not call.cached and call.model == JUDGE)
        twelve = paid(server.bodies)
    return {
        "questions": questions,
        "answerer": answerer,
        "one": one.calls,
        "twelve": twelve.calls,
        "ratio": round(twelve.calls / one.calls, 3),
        "with_repeated": round((twelve.calls + twelve.repeated) / (one.calls + one.repeated), 3),
        "repeated": twelve.repeated,
        "characters": round(twelve.characters / one.characters, 3),
        "answers": round(sum(map(len, answers.values())) / len(answers), 2),
        "each": each,
        "steps": dict(steps),
    }


def main() -> int:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--embedder", default="all-MiniLM-L6-v2")
    parser.add_argument("--answerer", nargs="*", default=["model", "extractive"])
    options = parser.parse_args()
    found = [measure(options.questions, answerer, options.embedder) for answerer in options.answerer]
    print(json.dumps({"benchmark": "judge_calls", "at_most": MOST, "runs": found}))
    return int(any(each["ratio"] > MOST for each in found))


if __name__ == "__main__":
    sys.exit(main())
