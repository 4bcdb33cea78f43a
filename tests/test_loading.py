"""A judged run imports all its libraries before its first thread starts: concurrent imports can fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """
import sys, threading, time
from importlib.abc import MetaPathFinder
from ragviz.models import embedding, weights; from ragviz.judging import work
from tests.model_server import ModelServer
from tests.test_judging import Results, Memory, make_items, plan_of
from dataclasses import replace

class Slow(MetaPathFinder):
    # Delays a part of httpx, so that other threads see it half imported; records what is imported late.
    late = []

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if any(thread.name.startswith("scheduler") for thread in threading.enumerate()):
            self.late.append(top)
        if name == "httpx._api":
            time.sleep(1.0)
        return None

class Late:
    # An embedder that imports when it is loaded, as a model of sentence-transformers does.
    name, max_tokens, embedded, identity, dims = "late", None, 0, "late", 64

    def load(self):
        import httpx

    def embed(self, texts, kind, progress=None):
        self.load()
        return EMBED(self, texts, kind)

import numpy as np
from tests.test_judging import Bags
EMBED = Bags.embed
assert not {"httpx", "spacy", "jieba", "json_repair", "openai"} & set(sys.modules)
sys.meta_path.insert(0, Slow())
items, results = make_items(24), Results()
with ModelServer(latency=0.05) as server:
    plan = plan_of(server, concurrency=4, names=NAMES)
    work.work(items, replace(plan, embedder=OPENED), results)
assert len(results.judged) == 24
heavy = {"httpx", "httpx2", "spacy", "jieba", "json_repair", "openai", "torch", "transformers", "sentence_transformers"}
print(sorted(heavy & set(Slow.late)))
"""


def imported_late(embedder: str, *names: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("OPENED", embedder).replace("NAMES", repr(names))],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_import_that_is_slow_while_calls_are_in_flight_breaks_nothing():
    assert imported_late("Late()", "faithfulness", "answer_relevancy") == "[]"


@pytest.mark.model
def test_what_all_metrics_import_is_loaded_before_the_first_thread():
    assert imported_late("embedding.open_embedder(weights.PACKAGED)", "all") == "[]"
