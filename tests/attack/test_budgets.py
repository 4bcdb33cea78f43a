"""A budget through kills: the recorded cost is never less than what the server billed, and never above the budget.

The process is killed for real while its calls are in flight, by the server: at the n-th call, n drawn from a seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Span
from ragviz.core.errors import BudgetReached
from ragviz.core.person import Person
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.retrieval import search
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.conftest import emptied
from tests.model_server import ModelServer

POSTGRESQL = os.environ.get("RAGVIZ_TEST_POSTGRESQL_URL")
PRICES = {"loopback": (10.0, 20.0), "bags": (1000.0, 0.0)}
ROOT = Path(__file__).resolve().parents[2]
RUN = """
from ragviz.runs import running
from ragviz.core.configuration import RunConfig
from ragviz.workspace import open_workspace
import sys
names = ("faithfulness", "completeness", "questeval_recall", *sys.argv[3:])
config = RunConfig("i", "q", sys.argv[2], answerer="model", metrics=names)
running.run(open_workspace(), "r", config, budget=float(sys.argv[1]))
"""


class Killing(ModelServer):
    """Kills the calling process at its `fatal`-th call, and counts what its answers cost."""

    process: subprocess.Popen[bytes] | None = None
    fatal: int | None = None
    call_count = 0

    def fault(self) -> str:
        with self._lock:
            self.call_count += 1
            if self.call_count == self.fatal and self.process is not None:
                self.process.send_signal(signal.SIGKILL)
        return super().fault()

    @property
    def paid(self) -> float:
        """Dollars of every answer that was made, received or not."""
        return sum(
            (sent * PRICES[m.rstrip("12")][0] + received * PRICES[m.rstrip("12")][1]) / 1e6
            for m, sent, received in self.billed
        )


@pytest.fixture(params=["sqlite", *["postgresql"] * bool(POSTGRESQL)])
def database(request) -> str | None:
    if request.param == "sqlite":
        return None
    return emptied(POSTGRESQL)


def prepared(home: Path, url: str, database: str | None) -> Workspace:
    more = {"database_url": database} if database else {}
    workspace = Workspace(
        Settings(_env_file=None, home=home, openai_base_url=url, model="loopback", embedder="openai:bags", **more)
    )
    workspace.store.prices.put(PRICES)
    store = workspace.store
    corpus = store.corpora.add("pumps")
    text = "\n\n".join(f"Pump {n} was replaced in {1990 + n} by the firm of Harlow." for n in range(8))
    corpora.add_file(workspace, corpus, "pumps.txt", text.encode())
    indexing.build_index(workspace, corpus, "i", IndexConfig(chunk_size=40, embedder="openai:bags"))
    [info] = store.documents.all(corpus.id)
    question_set = store.sets.add(corpus.id, "q")
    questions = []
    for n in range(8):
        quote = f"Pump {n} was replaced in {1990 + n}"
        start = text.index(quote)
        span = Span(info.id, start, start + len(quote), quote)
        answer = f"Pump {n} was replaced in {1990 + n}."
        questions.append(Question(f"q{n}", f"When was pump {n} replaced?", answer, ((span,),), "hand"))
    store.questions.put(question_set.id, questions)
    return workspace


def environment(home: Path, url: str, database: str | None) -> dict[str, str]:
    """The environment of a separate process."""
    return os.environ | {
        "RAGVIZ_HOME": str(home),
        "OPENAI_BASE_URL": url,
        "RAGVIZ_MODEL": "loopback",
        "RAGVIZ_EMBEDDER": "openai:bags",
        "RAGVIZ_MODEL_CONCURRENCY": "4",
        "PYTHONPATH": str(ROOT),
        **({"RAGVIZ_DATABASE_URL": database} if database else {}),
    }


def ended(server: Killing, code: str, *arguments: str, kill: int | None, env: dict[str, str]) -> tuple[int, str]:
    """Run code in a process that is killed at its `kill`-th call; return its exit code and its last errors."""
    server.call_count, server.fatal = 0, kill
    command = [sys.executable, "-c", code, *arguments]
    server.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE)
    _, errors = server.process.communicate(timeout=120)
    return server.process.returncode, errors.decode()[-400:]


RUNS = {"embeddings too": ("knn", "answer_relevancy", "embedding_faithfulness"), "chat alone": ("bm25",)}
"""Runs by the models they call: their retriever, and metrics beside the judged ones."""


@pytest.mark.parametrize("seed", seeds(1, 24))
def test_a_budget_survives_kills(seed, database, tmp_path):
    draw, kind = random.Random(seed), list(RUNS)[seed % 2]
    budget = draw.choice([0.6, 0.9, 1.2])
    with Killing(latency=0.02) as server:
        store = prepared(tmp_path / "home", server.url, database).store
        server.billed.clear()  # the build's
        env = environment(tmp_path / "home", server.url, database)
        records, ends = [], []
        for kill in (*draw.sample(range(2, 12), 3), None):
            ends.append(ended(server, RUN, str(budget), *RUNS[kind], kill=kill, env=env))
            run = store.runs.find("r")
            told = store.payments.of(run.id) if run else None
            calls, paid = (told.calls, told.dollars) if told else (0, 0.0)
            records.append((calls, paid, len(server.billed), server.paid))
            assert server.paid <= paid + 1e-9, (records, ends)
            assert paid <= budget + 1e-9, (records, ends)
            assert len(server.billed) <= calls, (records, ends)
        assert -signal.SIGKILL in [code for code, _ in ends], "no kill came while calls were in flight"
        assert server.paid > 0
        assert ends[-1][0] == 0 or "does not hold another call" in ends[-1][1], ends[-1]
        embedded = [tokens for model, tokens, _ in server.billed if model == "bags"]
        assert bool(embedded) == (kind == "embeddings too")


ANN = """
from ragviz.runs import running
from ragviz.core.configuration import RunConfig
from ragviz.workspace import open_workspace
import sys
config = RunConfig("i", "q", "bm25", answerer="model", metrics=("faithfulness", "completeness"))
running.run(open_workspace(), sys.argv[1], config)
"""


def test_a_month_of_a_person_holds_over_two_processes(database, tmp_path):
    with Killing(latency=0.02) as server:
        workspace = prepared(tmp_path / "home", server.url, database)
        server.billed.clear()  # the build's
        month, store = datetime.now(UTC).strftime("%Y-%m"), workspace.store
        limit = 0.2
        of_ann = environment(tmp_path / "home", server.url, database)
        of_ann |= {"RAGVIZ_PERSON": "ann", "RAGVIZ_MONTHLY_BUDGET": str(limit)}
        # The cache is shared: two judges ask different requests.
        command = [sys.executable, "-c", ANN]
        both = [
            subprocess.Popen([*command, name], env=of_ann | {"RAGVIZ_MODEL": f"loopback{name}"}, stderr=subprocess.PIPE)
            for name in ("1", "2")
        ]
        said = [process.communicate(timeout=120)[1].decode() for process in both]
        assert all("The limit of $0.20 a month for ann does not hold another call" in each for each in said), said
        assert all("(UTC): resume then, or when RAGVIZ_MONTHLY_BUDGET is higher." in each for each in said)
        spent = store.payments.of_month("ann", month)
        assert 0.5 * limit < server.paid <= spent.dollars + 1e-9 <= limit + 2e-9
        runs = [store.runs.get(name) for name in ("1", "2")]
        assert spent.dollars == pytest.approx(sum(store.payments.of(run.id).dollars for run in runs))
        for run in runs:  # what is deleted stays paid, and another person has a month of their own
            store.runs.delete(run.id)
        assert store.payments.of_month("ann", month) == spent
        assert "$0.20 a month for ann" in ended(server, ANN, "3", kill=None, env=of_ann)[1]
        assert server.paid <= store.payments.of_month("ann", month).dollars + 1e-9 <= limit + 2e-9
        of_bob = of_ann | {"RAGVIZ_PERSON": "bob", "RAGVIZ_MONTHLY_BUDGET": "100"}
        assert ended(server, ANN, "3", kill=None, env=of_bob) == (0, "")
        calls, of_carol = len(server.billed), Person("carol", "editor")
        carol = Workspace(workspace.settings.model_copy(update={"monthly_budget": 0.0}), of_carol)
        with pytest.raises(BudgetReached, match=r"limit of \$0.00 a month for carol"):
            search.search(carol, store.indexes.get("i"), "Who replaced a pump?", "knn", 3)
        assert len(server.billed) == calls
        unpriced = of_bob | {"RAGVIZ_MODEL": "free"}
        assert "RAGVIZ_MONTHLY_BUDGET needs the price of 'free'" in ended(server, ANN, "4", kill=None, env=unpriced)[1]
