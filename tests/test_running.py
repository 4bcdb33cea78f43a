"""Runs that answer and judge: stored, killed and resumed, judged again, estimated, on the command line and in jobs."""

import json
from dataclasses import replace

import pytest

from ragviz.core import errors
from ragviz.core.call import Paid
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Span
from ragviz.core.errors import BudgetReached, ModelError, SearchError, UsageError
from ragviz.core.question import Question
from ragviz.index import indexing
from ragviz.judging import steps
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.models.requests import paid_words
from ragviz.questions import exchange
from ragviz.retrieval import search
from ragviz.runs import choices, judgements, measurements, running
from ragviz.store import stored_calls
from ragviz.workspace import Workspace
from tests.builders import added

PLACES = ["north", "south", "east", "west", "upper", "lower", "inner", "outer"]
DOCUMENT = "\n\n".join(
    f"The {place} pump was replaced in {1990 + number} by Harlow and costs {40 + number} euros a year."
    for number, place in enumerate(PLACES)
)
ROWS = [
    {
        "id": f"q-{place}",
        "question": f"When was the {place} pump replaced by Harlow?",
        "answer": f"The {place} pump was replaced in {1990 + number}.",
        "document": "pumps.txt",
        "quote": f"The {place} pump was replaced in {1990 + number} by Harlow",
    }
    for number, place in enumerate(PLACES)
] + [{"id": "q-none", "question": "Who painted the chapel?", "answer": "", "unanswerable": True}]


@pytest.fixture
def workspace(with_models) -> Workspace:
    workspace = with_models
    corpus = added(workspace, "pumps", {"pumps.txt": DOCUMENT})
    indexing.build_index(
        workspace, corpus, "i", IndexConfig(chunk_size=40, embedder="openai:bags", chunker="sentences")
    )
    data = "\n".join(json.dumps(row) for row in ROWS).encode()
    assert not exchange.import_data(workspace, corpus, data, "q.jsonl", "q").problems
    return workspace


def config(**more) -> RunConfig:
    return RunConfig("i", "q", "bm25", **{"answerer": "model", "metrics": ("all",), **more})


def test_a_run_answers_judges_and_names_causes(workspace, server):
    estimate = running.foresee(workspace, config())
    assert 0 < estimate.seconds < 60
    run = running.run(workspace, "r", config())
    calls = len(server.chats)
    assert calls <= estimate.total <= calls + 2  # a refusal has no claims; that cannot be foreseen
    assert (run.status, run.config.model, run.config.judge) == ("done", "loopback", "loopback")
    judgement = judgements.judgement_of(workspace, run)
    assert set(judgement.metrics) == set(ANSWER_METRICS)
    assert all(scored.total == len(ROWS) for scored in judgement.metrics.values())
    assert judgement.metrics["completeness"].statuses == {"ok": len(PLACES), "not_applicable": 1}
    assert judgement.metrics["completeness"].estimate.mean == 1
    assert judgement.failed == []
    assert judgement.usage.calls == calls
    assert judgement.abstention.unanswerable == 1
    assert set(judgement.causes) == {row["id"] for row in ROWS}
    before = server.counts.calls
    again = running.run(workspace, "again", config())
    assert server.counts.calls == before
    assert workspace.store.judgements.scores(again.id).keys() == workspace.store.judgements.scores(run.id).keys()


def test_what_a_run_paid_has_the_parts_of_its_estimate(workspace, server):
    workspace.store.prices.put({"loopback": (10.0, 20.0)})
    workspace.store.questions.delete(workspace.store.sets.get("q").id, ["q-none"])
    chosen = config(metrics=("completeness", "faithfulness"))
    estimate = running.foresee(workspace, chosen).to_pay
    server.billed.clear()
    run = running.run(workspace, "r", chosen)
    billed = [sum(each[part] for each in server.billed) for part in (1, 2)]
    judgement = judgements.judgement_of(workspace, run)
    paid = judgement.paid
    assert (paid.calls, paid.prompt_tokens, paid.completion_tokens) == (len(server.billed), *billed)
    assert paid.dollars == pytest.approx((10 * billed[0] + 20 * billed[1]) / 1e6)
    assert paid.calls == estimate.calls
    assert paid.prompt_tokens == pytest.approx(estimate.prompt_tokens, rel=0.25)
    assert paid.dollars == pytest.approx(estimate.dollars, rel=0.25)
    assert judgements.cost_words(judgement) == f"Paid: {paid_words(paid)}"
    again = running.run(workspace, "again", chosen)
    assert workspace.store.payments.of(again.id) == running.foresee(workspace, chosen).to_pay == Paid()


def test_a_run_that_cannot_begin_leaves_none_behind(workspace, server, monkeypatch):
    def down(*_: object) -> None:
        raise SearchError("The index is down.")

    with monkeypatch.context() as broken:
        broken.setattr(search, "retriever", lambda *_, **__: down)
        with pytest.raises(SearchError):
            running.run(workspace, "r", config())
    assert workspace.store.runs.find("r") is None

    with monkeypatch.context() as broken:  # one that has begun is kept, to resume
        broken.setattr(running, "FIRST_BATCH", 4)
        searches = iter([search.retriever(workspace, workspace.store.indexes.get("i"), "bm25"), down])
        broken.setattr(search, "retriever", lambda *_, **__: lambda *words: next(searches)(*words))
        with pytest.raises(SearchError):
            running.run(workspace, "r", config())
    assert len(workspace.store.rankings.question_ids(workspace.store.runs.get("r").id)) == 4


def test_the_vectors_that_an_earlier_run_computed_count_in_the_latency(workspace, server, monkeypatch):
    monkeypatch.setattr(running, "FIRST_BATCH", 4)
    bare = {"answerer": "none", "metrics": ()}
    noted = running.run(workspace, "cold", replace(config(**bare), retriever="knn")).provenance["retrieval"]
    learnt, work = workspace.store.cache("rate"), "questions embedded by openai:bags"
    assert stored_calls.duration(learnt, work, noted["questions"]) <= noted["seconds"] + 0.001
    stored_calls.learn(learnt, work, 1, 300.0)  # as of a slow embedder
    slow = stored_calls.duration(learnt, work, noted["questions"])
    warm = running.run(workspace, "warm", replace(config(**bare), retriever="hybrid")).provenance["retrieval"]
    assert warm["questions"] == noted["questions"] > 0
    assert 100 < slow <= warm["seconds"] + 0.001 < slow + 5


def test_a_budget_holds_over_all_attempts(workspace, server):
    workspace.store.prices.put({"loopback": (10.0, 20.0), "bags": (0.0, 0.0)})
    whole = running.foresee(workspace, config()).cost
    paid, calls = [], []
    for _ in range(3):
        with pytest.raises(BudgetReached, match="does not hold another call"):
            running.run(workspace, "r", config(), budget=whole / 3)
        run = workspace.store.runs.get("r")
        paid.append(workspace.store.payments.of(run.id))
        calls.append(len(server.chats))
    dollars = [each.dollars for each in paid]
    assert 0 < dollars[0] <= dollars[1] <= dollars[2] <= whole / 3, "a cheaper call may still fit another time"
    assert 0 < calls[0] <= calls[1] <= calls[2]
    running.run(workspace, "r", config(), budget=2 * whole)
    judgement = judgements.judgement_of(workspace, workspace.store.runs.get("r"))
    assert judgement.paid.dollars < 2 * whole
    assert judgement.usage.cost == pytest.approx(judgement.paid.dollars)  # the calls of banks are counted once
    again = judgements.judgement_of(workspace, running.run(workspace, "again", config(), budget=0.0))
    assert again.paid.dollars == 0 < again.usage.cost
    assert judgements.cost_words(again).startswith("Paid: nothing; other runs paid ")
    workspace.store.runs.delete(run.id)
    assert workspace.store.payments.of(run.id) == Paid()


def test_an_index_embeds_with_its_prompts_and_names_the_chunk_that_an_endpoint_refuses(workspace, server):
    corpus = workspace.store.corpora.get("pumps")
    prompted = IndexConfig(chunk_size=40, embedder="openai:bags", query_prompt="query:", passage_prompt="passage:")
    indexing.build_index(workspace, corpus, "prompted", prompted)
    texts = [text for body in server.bodies if body.get("model") == "bags" for text in body["input"]]
    assert sum(text.startswith("passage: ") for text in texts) == workspace.store.indexes.get("prompted").chunks
    search.search(workspace, workspace.store.indexes.get("prompted"), "the north pump", "knn", 3)
    assert server.bodies[-1]["input"] == ["query: the north pump"]
    with pytest.raises(UsageError, match="'all-MiniLM-L6-v2' names its own prompts"):
        indexing.build_index(workspace, corpus, "local", replace(prompted, embedder="all-MiniLM-L6-v2"))
    server.longest = len(DOCUMENT) - 1
    with pytest.raises(
        ModelError, match=r"^Characters 0 to \d+ of 'pumps.txt', a chunk of \d+ tokens: Model 'bags' .*413"
    ):
        indexing.build_index(workspace, corpus, "long", IndexConfig(chunk_size=1000, embedder="openai:bags"))


def test_without_a_model_the_metrics_without_a_judge_are_measured(workspace, server):
    bare = Workspace(workspace.settings.model_copy(update={"embedder": "openai:bags"}))
    run = running.run(bare, "r", config(answerer="extractive", metrics=()))
    assert run.config.metrics == tuple(name for name, metric in ANSWER_METRICS.items() if not metric.judged)
    judgement = judgements.judgement_of(bare, run)
    assert judgement.metrics["extractive_questeval_recall"].estimate.n == len(PLACES)
    assert not server.chats


def test_closed_book_and_oracle_contexts(workspace):
    closed = running.run(workspace, "closed", config(context="none"))
    oracle = running.run(workspace, "oracle", config(context="oracle"))
    judgement = judgements.judgement_of(workspace, closed)
    assert all(recording.read == () for recording in judgement.recordings.values())
    assert set(judgement.statuses.values()) == {"refused"}  # the loopback knows nothing
    for question_id, recording in judgements.judgement_of(workspace, oracle).recordings.items():
        gold = {r.question_id: r.gold for r in workspace.store.rankings.all(oracle.id)}[question_id]
        assert recording.read == tuple(group[0] for group in gold)


def test_only_what_failed_is_judged_again(workspace, server, monkeypatch):
    real = steps.STEPS["comparison"]

    def broken(state, plan, ask):
        if state.item.question.id == "q-east":
            raise errors.ModelError("the judge left out 2 of the claims")
        return real.perform(state, plan, ask)

    monkeypatch.setitem(steps.STEPS, "comparison", replace(real, perform=broken))
    run = running.run(workspace, "r", config())
    judgement = judgements.judgement_of(workspace, run)
    assert judgement.failed == ["q-east"]
    assert judgement.metrics["completeness"].statuses["judge_error"] == 1
    assert judgement.rulings["q-east"].right is None
    monkeypatch.setitem(steps.STEPS, "comparison", real)
    before = server.counts.calls
    assert running.rejudge(workspace, run) == ["q-east"]
    assert server.counts.calls - before <= 1  # the rest is paid for
    after = judgements.judgement_of(workspace, run)
    assert after.failed == []
    assert after.metrics["completeness"].statuses["ok"] == len(PLACES)
    assert running.rejudge(workspace, run) == []
    with pytest.raises(UsageError, match="neither answers nor judges"):
        running.rejudge(workspace, running.run(workspace, "bare", RunConfig("i", "q", "bm25")))


def test_verdicts_for_one_run_measure_another_at_every_k(workspace, server, command_line):
    metrics = ("context_recall", "context_precision")
    running.run(workspace, "judged", config(k=2, answerer="none", metrics=metrics, judge="loopback"))
    calls = len(server.bodies)
    other = running.run(workspace, "retrieved", config(answerer="none", metrics=()))
    found = {k: measurements.pooled_of(workspace, other, k) for k in (1, 2, 3)}
    assert len(server.bodies) == calls, "nothing is asked"
    assert found[2].share.mean == 1
    assert found[3].share.mean == pytest.approx(2 / 3)
    summary = measurements.summary_of(workspace, other, 3)
    assert found[3].recall.raw == summary.metrics["recall@3"]
    assert found[3].mrr.raw == summary.metrics["mrr"]
    body = json.loads(command_line("results", "retrieved", "--json", "-k", "3")[1])["pooled"]
    assert body["judge"] == "loopback"
    assert body["share"]["mean"] == pytest.approx(2 / 3)
    assert body["recall"]["raw"]["mean"] <= body["recall"]["corrected"]["mean"] <= body["recall"]["most"]["mean"]
    words = command_line("results", "retrieved", "-k", "1")[1]
    assert "by evidence alone" in words
    assert measurements.pooled_of(workspace, replace(other, config=replace(other.config, judge="another"))) is None


def test_a_limit_draws_questions_by_document_with_the_seed():
    """12 questions about one document, 2 about another, 1 about none: of 5 at least one of each."""
    places = ["a"] * 12 + ["b"] * 2 + [""]
    questions = [
        Question(f"q{n}", "?", "", ((Span(place, 0, 1),),) if place else (), "hand") for n, place in enumerate(places)
    ]
    drawn = [q.id for q in choices.drawn(questions, 5, seed=1)]
    assert len(drawn) == 5
    assert drawn == sorted(drawn, key=lambda i: int(i[1:])), "in the order of the set"
    assert {"q12", "q13", "q14"} <= set(drawn), "documents take turns: 2 of a, 2 of b, the one of none"
    assert drawn == [q.id for q in choices.drawn(questions, 5, seed=1)]
    assert drawn != [q.id for q in choices.drawn(questions, 5, seed=2)]
    assert choices.drawn(questions, 0, seed=1) == choices.drawn(questions, 15, seed=1) == questions
