"""A sweep of twelve configurations: calls of the judge, texts embedded, and what it pays when it is killed.

    python benchmarks/sweep.py

The corpus is the sample; the cells are 3 chunkings × 2 retrievers × 2 k, answered, judged and embedded by the loopback
model server over real HTTP. The calls of the judge, and all requests, of the twelve are counted against those of the
first cell alone, and against those that distinct answers and passages need; the texts that were embedded against the
distinct ones. Then a sweep of six cells is killed by
SIGKILL at ten moments, evenly spaced over its calls, and resumed each time: it has to end with the numbers of an
uninterrupted one. What was asked twice is counted against the calls that can have been under way when it was killed,
whose reply nobody can know, and the control items, which each start asks anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rows import row  # noqa: E402

from ragviz import sample  # noqa: E402
from ragviz.core.settings import Settings  # noqa: E402
from ragviz.documents import corpora  # noqa: E402
from ragviz.questions import exchange  # noqa: E402
from ragviz.targets import citations  # noqa: E402
from ragviz.workspace import Workspace  # noqa: E402
from tests.model_server import ModelServer, complete  # noqa: E402

JUDGE = "judge"
CHUNKINGS = ({"chunker": "tokens", "chunk_size": 200}, {"chunker": "recursive", "chunk_size": 120})
CHUNKINGS += ({"chunker": "sentences", "chunk_size": 150},)
KILLS = 10
CONCURRENCY = 4
CONTROLS = 4  # one of each kind


def cells(chunkings: int, retrievers: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cells of a sweep."""
    return [
        chunking | {"retriever": retriever, "k": k, "answerer": "model", "model": "loopback", "depth": 10}
        for chunking in CHUNKINGS[:chunkings]
        for retriever in retrievers
        for k in (5, 3)
    ]


def environment(home: Path, server: ModelServer) -> dict[str, str]:
    """Return what a command needs to use this home and this server."""
    own = {"RAGVIZ_HOME": str(home), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none-needed"}
    own |= {"RAGVIZ_MODEL": "loopback", "RAGVIZ_EMBEDDER": "openai:loopback", "PYTHONPATH": str(ROOT)}
    return os.environ | own | {"RAGVIZ_MODEL_CONCURRENCY": str(CONCURRENCY)}


def fill(home: Path, questions: int) -> None:
    """Make a workspace with the sample's documents and the first of its questions."""
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    corpus = workspace.store.corpora.add("sample")
    for name, data in sample.documents():
        corpora.add_file(workspace, corpus, name, data)
    rows = b"\n".join(sample.questions().splitlines()[:questions])
    exchange.import_data(workspace, corpus, rows, "questions.jsonl", "asked")


def swept(picks: Sequence[Mapping[str, Any]], questions: int, kills: Sequence[int] = ()) -> tuple[Any, list[Any]]:
    """Sweep these cells in a new home; kill it when so many calls were made. Return what it says and all requests."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(latency=0.01) as server:
        home, chosen = Path(folder) / "home", Path(folder) / "cells.json"
        fill(home, questions)
        chosen.write_text(json.dumps(picks), encoding="utf-8")
        command = [sys.executable, "-m", "ragviz", "sweep", "sample", "--questions", "asked", "--name", "swept"]
        command += ["--cells", str(chosen), "--metrics", "all", "--judge", JUDGE]
        command += ["--primary", "faithfulness", "--json"]
        own = environment(home, server)
        for calls in kills:
            process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(server.bodies) < calls and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout), list(server.bodies)


def alone(pick: Mapping[str, Any], questions: int) -> list[Any]:
    """Make the run of one cell in a new home, and return all requests."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        home = Path(folder) / "home"
        fill(home, questions)
        built = ["index", "build", "sample", "--name", "one", "--chunker", pick["chunker"]]
        built += ["--chunk-size", str(pick["chunk_size"])]
        made = ["run", "--index", "one", "--questions", "asked", "--name", "one", "--retriever", pick["retriever"]]
        made += ["-k", str(pick["k"]), "--depth", str(pick["depth"]), "--answerer", "model", "--model", "loopback"]
        for words in (built, [*made, "--metrics", "all", "--judge", JUDGE]):
            command = [sys.executable, "-m", "ragviz", *words]
            subprocess.run(command, env=environment(home, server), capture_output=True, check=False)
        return list(server.bodies)


def judged(bodies: Sequence[Any]) -> int:
    """Count the calls of the judge."""
    return sum(body.get("model") == JUDGE for body in bodies)


def least(bodies: Sequence[Any]) -> int:
    """Count the calls of the judge that twelve configurations need, whatever shares them.

    What is asked of a reference, and of an answer by itself, is asked once of each distinct one. An answer is checked
    against passages in one call of each configuration that read some which it was not yet checked against, those of
    more passages first: what the judge says of a passage holds for all of them, but it is known only when it was read.
    """
    texts = {json.dumps(body["messages"]) for body in bodies if body.get("model") == JUDGE and _asks(body) != "Context"}
    read: dict[tuple[str, str], list[frozenset[str]]] = {}
    for body in bodies:
        if _asks(body) == "Answer":
            *lines, question = body["messages"][-1]["content"].splitlines()
            passages = {after for line, after in pairwise(lines) if re.fullmatch(r"\[\d+\]", line)}
            answer = citations.unnumbered(json.loads(complete(body))["answer"])
            read.setdefault((question, answer), []).append(frozenset(passages))
    checks = 0
    for sets in read.values():
        known = frozenset[str]()
        for passages_read in sorted(sets, key=len, reverse=True):
            checks += not passages_read <= known
            known |= passages_read
    return len(texts) + checks


def _asks(body: Mapping[str, Any]) -> str:
    """Return what a request asks for, by the type of its reply: "Answer", "Context" …; "" for embeddings."""
    name: str = body.get("response_format", {}).get("json_schema", {}).get("name", "")
    return name.removesuffix("Reply")


def embedded(bodies: Sequence[Any]) -> float:
    """Return the texts that were embedded ÷ the distinct ones."""
    texts = [text for body in bodies for text in _inputs(body)]
    return len(texts) / len(set(texts))


def _inputs(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input", [])
    return [given] if isinstance(given, str) else list(given)


def killed(questions: int) -> dict[str, Any]:
    """Kill a sweep of six cells at ten moments, and compare it with one that was left alone."""
    picks = cells(3, ["bm25"])
    whole, once = swept(picks, questions)
    moments = [len(once) * (number + 1) // (KILLS + 1) for number in range(KILLS)]
    resumed, asked = swept(picks, questions, moments)
    first = Counter(json.dumps(body, sort_keys=True) for body in once if "messages" in body)
    again = Counter(json.dumps(body, sort_keys=True) for body in asked if "messages" in body)
    return {
        "kills": KILLS,
        "calls": len(once),
        "again": again.total() - len(again),
        "other": len(again.keys() - first.keys()),
        "at_most": KILLS * (CONCURRENCY + CONTROLS),
        "numbers": _numbers(whole) == _numbers(resumed),
    }


def _numbers(body: Mapping[str, Any]) -> list[Any]:
    return [[cell["name"], cell["state"], cell["estimate"], cell["delta"], cell["tokens"]] for cell in body["cells"]]


def main() -> None:
    """Measure, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--parts", nargs="*", choices=("calls", "kills"), default=["calls", "kills"])
    options = parser.parse_args()
    if "calls" in options.parts:
        twelve = cells(3, ["knn", "bm25"])
        one = alone(twelve[0], options.questions)
        _, all_of_them = swept(twelve, options.questions)
        what = f"twelve configurations ÷ one, {options.questions} questions"
        row(f"{what}: calls of the judge", judged(all_of_them), judged(one), "calls", 2.25)
        needed = least(all_of_them)
        row(
            f"{what}: calls of the judge ÷ those that distinct answers and passages need",
            judged(all_of_them),
            needed,
            "calls",
            1.05,
        )
        row(f"{what}: all requests", len(all_of_them), len(one), "requests", 2.5)
        row(f"{what}: texts embedded ÷ distinct ones", embedded(all_of_them), None, "", 1.0)
    if "kills" in options.parts:
        found = killed(options.questions)
        print(json.dumps({"benchmark": "sweep"} | found))
        what = f"a sweep killed {KILLS} times: calls made twice"
        row(f"{what}, in flight or control items", found["again"], None, "calls", found["at_most"])
        assert found["numbers"], "a killed sweep ends with other numbers"


if __name__ == "__main__":
    main()
