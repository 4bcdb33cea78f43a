"""Question sets by a model: estimated, bounded by a budget, stopped when none are usable, all paid calls reported."""

import json
import sys
from dataclasses import asdict

import pytest

from ragviz.config import Settings
from ragviz.documents import corpora
from ragviz.errors import BudgetReached, ModelError, UsageError
from ragviz.index import indexing
from ragviz.questions import generation
from ragviz.questions.synthesize import hopeless
from ragviz.records import IndexConfig
from ragviz.workspace import Workspace
from tests.model_server import ModelServer

SENTENCES = [
    f"Pump number {n} of the {place} works was replaced in {1900 + n} by the firm {firm}."
    for n, (place, firm) in enumerate([(p, f) for p in ["northern", "southern", "eastern"] for f in "ABCDEFGH"])
]


@pytest.fixture
def server():
    with ModelServer() as server:
        yield server


@pytest.fixture
def workspace(server, tmp_path, monkeypatch) -> Workspace:
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "RAGVIZ_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    environment = {"RAGVIZ_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.url, "RAGVIZ_MODEL": "loopback"}
    environment |= {"RAGVIZ_EMBEDDER": "openai:bags", "RAGVIZ_MODEL_CONCURRENCY": "2"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    workspace = Workspace(Settings(_env_file=None))
    build(workspace, "pumps", SENTENCES)
    return workspace


def build(workspace: Workspace, name: str, paragraphs: list[str]) -> None:
    """An index with about one chunk a paragraph."""
    corpus = workspace.store.create_corpus(name)
    corpora.add_file(workspace, corpus, "pumps.txt", "\n\n".join(paragraphs).encode())
    config = IndexConfig(chunk_size=30, embedder="openai:bags", chunker="sentences")
    indexing.build_index(workspace, corpus, name, config)


def requests_to(server: ModelServer) -> list[str]:
    """The chat requests, without the two small ones that measure how long a call takes."""
    messages = [json.dumps(body["messages"]) for body in server.bodies if "messages" in body]
    return [each for each in messages if "Greet the reader" not in each and "one to sixty" not in each]


def by_model(workspace: Workspace, name: str = "q", **more) -> generation.Generated:
    return generation.generate_questions(workspace, "pumps", name, **{"generator": "model", "limit": 12} | more)


def test_a_dry_run_tells_the_calls_and_asks_for_no_question(workspace, server):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    estimate = generation.foresee_questions(workspace, "pumps", "q", generator="model", limit=12)
    assert (requests_to(server), workspace.store.question_sets()) == ([], [])
    assert (estimate.questions, estimate.total, estimate.cached) == (12, 12, 0)
    made = by_model(workspace)
    assert made.proposed == len(requests_to(server)) == 12
    [usage] = [workspace.model.usage]
    assert estimate.prompt_tokens == pytest.approx(usage.prompt_tokens, rel=0.4)
    assert estimate.cost == pytest.approx(made.dollars, rel=0.6)
    assert estimate.seconds > 0
    again = generation.foresee_questions(workspace, "pumps", "q", generator="model", limit=14)
    assert (again.questions, again.total) == (2, 2)
    other = generation.foresee_questions(workspace, "pumps", "another", generator="model", limit=14)
    assert (other.questions, other.total, other.cached) == (14, 14, 12), "what another set paid for is paid"
    free = generation.foresee_questions(workspace, "pumps", "q", limit=3)
    assert (free.questions, free.total, free.cost) == (3, 0, 0.0)


def test_a_dry_run_reckons_with_the_share_that_was_kept(workspace, server, monkeypatch):
    replies = iter([{"question": "", "answer": "", "evidence": []}] * 3)
    made_up = sys.modules["tests.model_server"].complete
    monkeypatch.setattr(
        "tests.model_server.complete", lambda body: json.dumps(next(replies, None) or json.loads(made_up(body)))
    )
    made = by_model(workspace, limit=3)
    assert (made.proposed, made.rejected) == (3, 3)
    estimate = generation.foresee_questions(workspace, "pumps", "q", generator="model", limit=7)
    assert (estimate.questions, estimate.total) == (4, 8), "half of the chunks gave a question so far"


def test_a_budget_holds_over_all_attempts_at_a_set(workspace, server):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    whole = generation.foresee_questions(workspace, "pumps", "q", generator="model", limit=12).cost
    with pytest.raises(BudgetReached, match=r"The budget of \$"):
        by_model(workspace, budget=whole / 3 + 0.04)  # the most that one call may cost has to fit too
    q = workspace.store.question_set("q")
    calls, paid = workspace.store.paid(q.id)
    assert 0 < calls == len(requests_to(server)) < 12
    assert 0 < paid <= whole / 3 + 0.04
    assert calls - 2 <= q.total <= calls, "what was paid for is kept; what came after the end is in the cache"
    with pytest.raises(BudgetReached):
        by_model(workspace, budget=paid)
    assert len(requests_to(server)) == calls
    made = by_model(workspace, budget=3 * whole)
    assert (made.total, made.calls) == (12, 12)
    assert len(set(requests_to(server))) == len(requests_to(server)) == 12, "no call was paid twice"
    assert made.dollars == pytest.approx(workspace.store.paid(q.id)[1])
    workspace.store.delete_question_set(q.id)
    assert workspace.store.paid(q.id) == (0, 0.0)


def test_fewer_questions_than_asked_for_are_explained(workspace):
    chunks = workspace.store.index("pumps").chunks
    made = by_model(workspace, limit=chunks + 7)
    assert (made.usable, made.limit, made.chunks) == (made.proposed, chunks + 7, chunks)
    said = generation.shortfall(asdict(made))
    assert said.startswith(f"{made.proposed} of {chunks + 7} questions asked for: all {chunks} chunks of the index are")
    more = by_model(workspace, limit=chunks + 9)
    assert (more.proposed, more.usable) == (0, made.usable), "those of the first generation count"
    assert generation.shortfall(asdict(by_model(workspace, limit=3))) == ""


def test_a_budget_without_a_price_makes_no_set(workspace):
    with pytest.raises(UsageError, match="price of 'loopback'"):
        by_model(workspace, budget=1.0)
    with pytest.raises(UsageError, match="no generator 'magic'"):
        generation.generate_questions(workspace, "pumps", "q", generator="magic")
    assert workspace.store.question_sets() == []


def test_a_model_none_of_whose_questions_can_stand_is_not_asked_on(workspace, server, monkeypatch):
    build(workspace, "many", [f"Pump number {n} was replaced in {n} by the firm of that year." for n in range(240)])
    monkeypatch.setattr(
        "tests.model_server.complete",
        lambda body: json.dumps({"question": "Which pump does it replace?", "answer": "a mop", "evidence": ["a mop"]}),
    )
    why = "90 chunks asked, none kept: .* no evidence stands word for word in the chunk"
    with pytest.raises(ModelError, match=why):
        generation.generate_questions(workspace, "many", "q", generator="model", limit=120)
    questions = workspace.store.questions(workspace.store.question_set("q").id)
    assert {(q.status, q.reason) for q in questions} == {("rejected", "no evidence stands word for word in the chunk")}
    calls, _ = workspace.store.paid(workspace.store.question_set("q").id)
    assert 90 <= calls == len(requests_to(server)) <= 90 + 2 * 2, "those in flight are paid and counted too"


@pytest.mark.parametrize(("chunks", "kept", "ends"), [(89, 0, False), (90, 0, True), (129, 1, False), (130, 1, True)])
def test_few_are_distinguished_from_none(chunks, kept, ends):
    # By hand: 0.95 ** 89 = 0.0104, 0.95 ** 90 = 0.0099.
    assert hopeless(chunks, kept) is ends


def test_one_question_of_ten_chunks_is_enough_to_go_on():
    assert not any(hopeless(n, n // 10) for n in range(1, 5000))


def test_the_command_line_foresees_and_tells_what_was_paid(workspace, server, command_line):
    workspace.set_prices({"loopback": (10.0, 20.0)})

    command = ["questions", "generate", "--index", "pumps", "--name", "q", "--generator", "model", "--limit", "8"]
    code, out, err = command_line(*command, "--dry-run", "--json")
    printed = json.loads(out)
    assert (code, printed["calls"], printed["cached"]) == (0, {"question": 8}, 0), err
    assert requests_to(server) == []
    code, out, err = command_line(*command, "--budget", str(printed["cost"] / 4 + 0.04), "--json")
    assert (code, out) == (1, "")
    paid = len(requests_to(server))
    assert f"{paid:,} model calls, $" in err
    assert "The budget of $" in err
    code, out, err = command_line(*command, "--json")
    assert (code, json.loads(out)["calls"]) == (0, 8), err
    [listed] = json.loads(command_line("questions", "list", "--json")[1])
    assert (listed["paid_calls"], listed["paid_dollars"] > 0) == (8, True)
