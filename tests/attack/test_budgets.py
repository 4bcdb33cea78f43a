"""A budget through kills: what is told is never less than what the server was paid, and that never more than allowed.

The process is killed for real while its calls are in flight, by the server: at the n-th call, n drawn from a seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from ragviz import corpora, indexing
from ragviz.config import Settings
from ragviz.records import IndexConfig, Question, Span
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.model_server import ModelServer

POSTGRESQL = os.environ.get("RAGVIZ_TEST_POSTGRESQL_URL")
PRICES = (10.0, 20.0)
ROOT = Path(__file__).resolve().parents[2]
RUN = """
from ragviz import running
from ragviz.records import RunConfig
from ragviz.workspace import open_workspace
import sys
names = ("faithfulness", "completeness", "questeval_recall")
config = RunConfig("i", "q", "bm25", answerer="model", metrics=names)
running.run(open_workspace(), "r", config, budget=float(sys.argv[1]))
"""


class Killing(ModelServer):
    """Kills the process that asks at its `fatal`-th call, and counts what its answers cost."""

    process: subprocess.Popen[bytes] | None = None
    fatal: int | None = None
    seen = 0

    def fault(self) -> str:
        with self._lock:
            self.seen += 1
            if self.seen == self.fatal and self.process is not None:
                self.process.send_signal(signal.SIGKILL)
        return super().fault()

    @property
    def paid(self) -> float:
        """Dollars of every answer that was made, whoever still heard it."""
        return sum((asked * PRICES[0] + answered * PRICES[1]) / 1e6 for asked, answered in self.billed)


@pytest.fixture(params=["sqlite", *["postgresql"] * bool(POSTGRESQL)])
def database(request) -> str | None:
    if request.param == "sqlite":
        return None
    engine = sa.create_engine(POSTGRESQL)
    everything = sa.MetaData()
    everything.reflect(engine)
    everything.drop_all(engine)
    engine.dispose()
    return POSTGRESQL


def prepared(home: Path, url: str, database: str | None) -> Workspace:
    more = {"database_url": database} if database else {}
    workspace = Workspace(
        Settings(_env_file=None, home=home, openai_base_url=url, model="loopback", embedder="openai:bags", **more)
    )
    store = workspace.store
    corpus = store.create_corpus("pumps")
    text = "\n\n".join(f"Pump {n} was replaced in {1990 + n} by the firm of Harlow." for n in range(8))
    corpora.add_file(workspace, corpus, "pumps.txt", text.encode())
    indexing.build_index(workspace, corpus, "i", IndexConfig(chunk_size=40, embedder="openai:bags"))
    [info] = store.documents(corpus.id)
    asked = store.create_question_set(corpus.id, "q")
    questions = []
    for n in range(8):
        quote = f"Pump {n} was replaced in {1990 + n}"
        start = text.index(quote)
        span = Span(info.id, start, start + len(quote), quote)
        answer = f"Pump {n} was replaced in {1990 + n}."
        questions.append(Question(f"q{n}", f"When was pump {n} replaced?", answer, ((span,),), "hand"))
    store.put_questions(asked.id, questions)
    workspace.set_prices({"loopback": PRICES})
    return workspace


@pytest.mark.parametrize("seed", seeds(1, 12))
def test_a_budget_survives_kills(seed, database, tmp_path):
    draw = random.Random(seed)
    budget = draw.choice([0.6, 0.9, 1.2])
    with Killing(latency=0.02) as server:
        store = prepared(tmp_path / "home", server.url, database).store
        environment = os.environ | {
            "RAGVIZ_HOME": str(tmp_path / "home"),
            "OPENAI_BASE_URL": server.url,
            "RAGVIZ_MODEL": "loopback",
            "RAGVIZ_EMBEDDER": "openai:bags",
            "RAGVIZ_MODEL_CONCURRENCY": "4",
            "PYTHONPATH": str(ROOT),
        }
        environment |= {"RAGVIZ_DATABASE_URL": database} if database else {}
        told, ends = [], []
        for kill in (*draw.sample(range(2, 12), 3), None):
            server.seen, server.fatal = 0, kill
            server.process = subprocess.Popen(
                [sys.executable, "-c", RUN, str(budget)], env=environment, stderr=subprocess.PIPE
            )
            _, errors = server.process.communicate(timeout=120)
            ends.append((server.process.returncode, errors.decode()[-400:]))
            run = store.run_named("r")
            calls, paid = store.paid(run.id) if run else (0, 0.0)
            told.append((calls, paid, len(server.billed), server.paid))
            assert server.paid <= paid + 1e-9, (told, ends)
            assert paid <= budget + 1e-9, (told, ends)
            assert len(server.billed) <= calls, (told, ends)
        assert -signal.SIGKILL in [code for code, _ in ends], "no kill came while calls were in flight"
        assert server.paid > 0
        assert ends[-1][0] == 0 or "does not hold another call" in ends[-1][1], ends[-1]
