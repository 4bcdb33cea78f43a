"""A budget through kills: the recorded cost is never less than what the server billed, and never above the budget.

The process is killed for real while its calls are in flight, by the server: at the n-th call, n drawn from a seed.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import BudgetReached
from ragviz.core.person import Person
from ragviz.core.settings import Settings
from ragviz.index import indexing
from ragviz.retrieval import search
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.builders import ROOT, added, asking, with_models
from tests.model_server import ModelServer

PRICES = {"loopback": (10.0, 20.0), "bags": (1000.0, 0.0)}
RUN = """
from ragviz.runs import running
from ragviz.core.configuration import RunConfig
from ragviz.workspace import open_workspace
import sys
_, name, budget, retriever, *metrics = sys.argv
config = RunConfig("i", "q", retriever, answerer="model", metrics=("faithfulness", "completeness", *metrics))
running.run(open_workspace(), name, config, budget=float(budget) if budget else None)
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


@pytest.fixture
def pumps(database_url: str, tmp_path: Path) -> Iterator[tuple[Killing, Workspace]]:
    """A server, and an index with questions of which nothing was asked yet, in the environment of processes."""
    with Killing(latency=0.02) as server:
        place = {"RAGVIZ_HOME": str(tmp_path / "home"), "RAGVIZ_DATABASE_URL": database_url, "PYTHONPATH": str(ROOT)}
        os.environ |= with_models(server) | place
        workspace = Workspace(Settings(_env_file=None))
        workspace.store.prices.put(PRICES)
        said = [f"Pump {n} was replaced in {1990 + n}" for n in range(8)]
        corpus = added(
            workspace, "pumps", {"pumps.txt": "\n\n".join(f"{each} by the firm of Harlow." for each in said)}
        )
        indexing.build_index(workspace, corpus, "i", IndexConfig(chunk_size=40, embedder="openai:bags"))
        asked = [("pumps.txt", each, f"When was pump {n} replaced?", f"{each}.") for n, each in enumerate(said)]
        asking(workspace, corpus, asked, "q")
        server.billed.clear()  # the build's
        yield server, workspace


def ended(server: Killing, *arguments: str, kill: int | None, **more: str) -> tuple[int, str]:
    """Make a run in a process that is killed at its `kill`-th call; return its exit code and its last errors."""
    server.call_count, server.fatal = 0, kill
    command = [sys.executable, "-c", RUN, *arguments]
    server.process = subprocess.Popen(command, env=os.environ | more, stderr=subprocess.PIPE)
    _, errors = server.process.communicate(timeout=120)
    return server.process.returncode, errors.decode()[-400:]


RUNS = {
    "embeddings too": ("knn", "questeval_recall", "answer_relevancy", "embedding_faithfulness"),
    "chat alone": ("bm25", "questeval_recall"),
}
"""Runs by the models they call: their retriever, and metrics beside those of claims."""


@pytest.mark.parametrize("seed", seeds(1, 24))
def test_a_budget_survives_kills(seed, pumps):
    draw, kind, (server, workspace) = random.Random(seed), list(RUNS)[seed % 2], pumps
    budget, store = draw.choice([0.6, 0.9, 1.2]), workspace.store
    records, ends = [], []
    for kill in (*draw.sample(range(2, 12), 3), None):
        ends.append(ended(server, "r", str(budget), *RUNS[kind], kill=kill))
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


UNBOUNDED = ("", "bm25")


def test_a_month_of_a_person_holds_over_two_processes(pumps):
    server, workspace = pumps
    month, store, limit = datetime.now(UTC).strftime("%Y-%m"), workspace.store, 0.2
    of_ann = {"RAGVIZ_PERSON": "ann", "RAGVIZ_MONTHLY_BUDGET": str(limit)}
    # The cache is shared: two judges ask different requests.
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, name, *UNBOUNDED],
            env=os.environ | of_ann | {"RAGVIZ_MODEL": f"loopback{name}"},
            stderr=subprocess.PIPE,
        )
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
    assert (month, "ann", spent) in store.payments.of_months()
    assert "$0.20 a month for ann" in ended(server, "3", *UNBOUNDED, kill=None, **of_ann)[1]
    assert server.paid <= store.payments.of_month("ann", month).dollars + 1e-9 <= limit + 2e-9
    of_bob = of_ann | {"RAGVIZ_PERSON": "bob", "RAGVIZ_MONTHLY_BUDGET": "100"}
    assert ended(server, "3", *UNBOUNDED, kill=None, **of_bob) == (0, "")
    calls, of_carol = len(server.billed), Person("carol", "editor")
    carol = Workspace(workspace.settings.model_copy(update={"monthly_budget": 0.0}), of_carol)
    with pytest.raises(BudgetReached, match=r"limit of \$0.00 a month for carol"):
        search.search(carol, store.indexes.get("i"), "Who replaced a pump?", "knn", 3)
    assert len(server.billed) == calls
    unpriced = of_bob | {"RAGVIZ_MODEL": "free"}
    assert "RAGVIZ_MONTHLY_BUDGET needs the price of 'free'" in ended(server, "4", *UNBOUNDED, kill=None, **unpriced)[1]
