"""Answering and judging over real HTTP: the calls made, what a failing endpoint or a useless model costs."""

import re
import time
from collections import Counter
from dataclasses import replace

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import ModelError, UselessModel
from ragviz.core.question import Question
from ragviz.core.recording import Context, Recording
from ragviz.core.verdict import ClaimVerdict
from ragviz.generation import pipeline
from ragviz.index import indexing
from ragviz.judging import context, forecast, planning, step, work
from ragviz.judging.steps import STEPS
from ragviz.metrics.answers import ANSWER_METRICS, chosen
from ragviz.models.chat import ModelClient
from ragviz.models.refusals import Breaker
from ragviz.models.requests import Completion
from ragviz.runs import choices, judgements, running
from ragviz.targets import answering
from ragviz.targets.retrieved_chunks import FROM_CONTEXTS
from tests import model_server
from tests.builders import Bags
from tests.model_server import FAULTS, USELESS, Memory, ModelServer
from tests.odd_judges import JUDGE_FIELDS
from tests.test_running import config, workspace  # noqa: F401 - fixtures

FACTS = {
    "en": [
        ("The north pump was replaced in {} by Harlow.", "When was the north pump replaced?", "in {} by Harlow"),
        ("The reservoir holds {} litres of water.", "How much water does the reservoir hold?", "{} litres of water"),
        ("Inspections of valves happen every {} days.", "How often do inspections happen?", "every {} days"),
    ],
    "zh": [("北阀门于{}年更换，负责人是王芳。", "北阀门是哪一年更换的？", "{}年更换")],
}


def make_items(count: int) -> list[planning.Item]:
    """Questions about passages that hold their answers, one in four Chinese, one in ten unanswerable."""
    items = []
    for number in range(count):
        lang, year = ("zh" if number % 4 == 3 else "en"), 1900 + number
        text, question, answer = (part.format(year) for part in FACTS[lang][number % len(FACTS[lang])])
        chunks = [
            Context(passage, Chunk.make_id("d", start, start + 60), 30)
            for start, passage in ((0, text), (100, "The gates open at noon on Sundays."), (200, "Dogs stay outside."))
        ]
        evidence = () if number % 10 == 9 else ((Span("d", 0, 10, text[:10]),),)
        answer = answer if evidence else ""
        made = Question(f"q{number}", f"{question} ({number})", answer, evidence, "hand", language=lang)
        items.append(planning.Item(made, Recording(made.id, tuple(chunks), origin="model")))
    return items


class Results:
    """Collects the results of `work`: the last of each question."""

    def __init__(self):
        self.judged, self.scores, self.times = {}, {}, Counter()

    def __call__(self, finished):
        for evaluated, scores in finished:
            self.judged[evaluated.question.id] = evaluated
            self.scores[evaluated.question.id] = {score.metric: score for score in scores}
            self.times[evaluated.question.id] += 1


def plan_of(server, *, cache=None, banks=None, names=("all",), answerer="model", seed=0, **more) -> planning.Plan:
    client = ModelClient(
        server.url,
        None,
        "loopback",
        cache=cache,
        prices={"loopback": (1.0, 1.0)},
        concurrency=more.pop("concurrency", 8),
        timeout=more.pop("timeout", 5.0),
        attempts=more.pop("attempts", 8),
        backoff=0.01,
    )
    config = RunConfig("i", "q", answerer=answerer, seed=seed)
    config = replace(config, metrics=chosen(names, judge=True, knows=config.knows))
    return choices.plan_of(
        config, config.metrics, banks if banks is not None else Memory(), client, client, Bags(), **more
    )


def wrong(results, items):
    """Scores that a working endpoint would have given and that are missing or the judge's fault."""
    return [
        (item.question.id, name, score.reason)
        for item in items
        for name in ANSWER_METRICS
        if (score := results.scores[item.question.id][name]).status in ("judge_error", "skipped")
    ]


def test_every_question_is_answered_and_has_every_score():
    items, results = make_items(12), Results()
    with ModelServer() as server:
        work.work(items, plan_of(server), results)
    assert sorted(results.judged) == sorted(item.question.id for item in items)
    assert set(results.times.values()) == {1}
    assert not wrong(results, items)
    first = results.judged["q0"]
    assert first.recording.answer.startswith("The north pump was replaced in 1900 by Harlow")
    assert first.recording.citations == (1,)
    assert first.matrix.reference_by_chunk[0][0] == ClaimVerdict("supported", 0)
    assert [claim_verdict.verdict for claim_verdict in first.matrix.reference_by_chunk[0][1:]] == ["absent", "absent"]
    assert first.matrix.useful == (True, False, False)
    scores = results.scores["q0"]
    for name in ("faithfulness", "context_recall", "context_precision", "completeness"):
        assert scores[name].value == 1, name
    assert scores["context_precision_plain"].value == pytest.approx(1 / 3)
    unanswerable = results.scores["q9"]
    assert {unanswerable[n].status for n in ("context_recall", "completeness", "questeval_recall", "token_f1")} == {
        "not_applicable"
    }
    assert unanswerable["faithfulness"].status == "ok"


def test_all_claims_of_a_long_answer_are_judged():
    """30 sentences stand in the passage and 10 are invented: 30 ÷ 40, and not 1 of the first 30 claims."""
    told = [f"Room {number} has {number + 100} seats." for number in range(1, 31)]
    invented = [f"Hall {number} was painted by Harlow." for number in range(41, 51)]
    passage = Context(" ".join(told), Chunk.make_id("d", 0, 900), 300)
    made = Question("q", "What of the rooms?", " ".join(told), ((Span("d", 0, 900, passage.text),),), "hand")
    items, results = [planning.Item(made, Recording("q", (passage,), origin="model"))], Results()
    with ModelServer() as server:
        plan = replace(
            plan_of(server, names=("faithfulness", "factual_precision", "completeness")),
            answers=lambda _, recording, __: replace(recording, answer=" ".join(told + invented), status="answered"),
        )
        work.work(items, plan, results)
        calls = server.counts.calls
    assert {name: score.value for name, score in results.scores["q"].items()} == {
        "faithfulness": 0.75,
        "factual_precision": 0.75,
        "completeness": 1,
    }
    # claims of the reference (its 30th sentence again) and of the answer, 70 claims by 60, 40 by 30: two calls each
    assert calls == 2 + 2 + 2 + 2


def test_an_empty_answer_leaves_the_metrics_of_its_contexts():
    items, results = make_items(1), Results()
    with ModelServer() as server:
        plan = plan_of(server, names=("context_recall", "context_precision", "completeness"))
        reply = answering.AnswerReply(answerable=True, answer=" ")
        empty = Completion(reply.model_dump_json(), reply, 100, 10, 0.5, False, "m1", 0.25)

        def answers(question, recording, _):
            return answering.read_answer(FROM_CONTEXTS, question, recording, empty)

        work.work(items, replace(plan, answers=answers), results)
    assert {name: (score.value, score.status) for name, score in results.scores["q0"].items()} == {
        "context_recall": (1, "ok"),
        "context_precision": (1, "ok"),
        "completeness": (None, "no_answer"),
    }


def test_an_item_takes_four_judging_calls_and_a_second_run_none():
    items, cache, banks = make_items(8), Memory(), Memory()
    answerable = sum(item.question.kind != "unanswerable" for item in items)
    with ModelServer() as server:
        work.work(items, plan_of(server, cache=cache, banks=banks), Results())
        first = server.counts.calls
        # answer, claims, context, comparison, questeval; once for the reference: its claims, its bank and its answers
        assert first == 5 * len(items) + 3 * answerable
        work.work(items, plan_of(server, cache=cache, banks=banks), Results())
        assert server.counts.calls == first
        other = [
            replace(item, recording=replace(item.recording, contexts=item.recording.contexts[:2])) for item in items
        ]  # another run: the references are done
        work.work(other, plan_of(server, cache=cache, banks=banks), Results())
        assert server.counts.calls <= first + 5 * len(items)


def test_a_dry_run_counts_the_calls_and_makes_none():
    items, cache, banks = make_items(9), Memory(), Memory()
    with ModelServer() as server:
        estimate = forecast.foresee(items, plan_of(server, cache=cache, banks=banks))
        assert server.counts.calls == 0
        assert not banks.items
        work.work(items, plan_of(server, cache=cache, banks=banks), Results())
        assert estimate.total == server.counts.calls
        assert estimate.cached == 0
        paid = sum(len(m["content"]) for body in server.bodies for m in body["messages"]) / 4
        assert paid / 2 < estimate.prompt_tokens < 2 * paid
        assert estimate.cost == pytest.approx((estimate.prompt_tokens + estimate.completion_tokens) / 1e6)
        calls = server.counts.calls
        again = forecast.foresee(items, plan_of(server, cache=cache, banks=banks))
        assert again.cached == again.total > 0
        assert (again.prompt_tokens, again.cost, again.seconds) == (0, 0.0, 0.0)
        assert server.counts.calls == calls


def compared(results, truth, items):
    """Scores that are not those of an undisturbed run: (reported failures, all others)."""
    failed, altered = [], []
    for item in items:
        for name in ANSWER_METRICS:
            mine, right = results.scores[item.question.id][name], truth.scores[item.question.id][name]
            if (mine.status, mine.value) != (right.status, right.value):
                reported = mine.status in ("judge_error", "skipped") and mine.reason
                (failed if reported else altered).append((item.question.id, name, mine, right))
    return failed, altered


@pytest.fixture(scope="module")
def undisturbed():
    items, truth = make_items(30), Results()
    with ModelServer() as server:
        work.work(items, plan_of(server), truth)
    assert not wrong(truth, items)
    return items, truth


@pytest.mark.parametrize(("share", "faults"), [(0.3, FAULTS), (0.6, USELESS)], ids=["all", "useless"])
def test_a_faulty_run_has_the_scores_of_an_undisturbed_one(undisturbed, share, faults):
    """A failure is reported, and gone after another attempt; it never changes a score."""
    items, truth = undisturbed
    results, cache, banks = Results(), Memory(), Memory()
    with ModelServer(fail=share, faults=faults, hang=0.15, retry_after="0.01") as server:
        plan = plan_of(server, timeout=0.1, patience=30, cache=cache, banks=banks)
        work.work(items, plan, results)
        assert sum(server.counts.faults.values()) > share * 0.5 * server.counts.calls
        failed, altered = compared(results, truth, items)
        assert not altered
        assert len({question for question, *_ in failed}) <= {0.3: 2, 0.6: 12}[share]  # nine unusable replies
        server.fail = 0.0
        left = [item for item in items if results.judged[item.question.id].failures]
        work.work([replace(i, seed=100, failed=frozenset(STEPS)) for i in left], plan, results)
    assert compared(results, truth, items) == ([], [])


@pytest.mark.parametrize("fault", USELESS)
def test_a_step_has_at_most_so_many_replies_and_no_two_in_the_same_words(fault, monkeypatch):
    [item], results = make_items(1), Results()
    config = {"names": ("context_recall",), "answerer": "none"}
    with ModelServer(fail=1.0, faults=(fault,)) as server:
        started = time.monotonic()
        work.work([item], plan_of(server, **config), results)
        assert time.monotonic() - started < 10
        assert server.counts.calls == step.REPLIES
        assert len({str(body["messages"]) for body in server.bodies}) == step.REPLIES
        assert results.scores["q0"]["context_recall"].status == "judge_error"
        again = replace(item, seed=60, failed=frozenset(results.judged["q0"].failures))
        work.work([again], plan_of(server, **config), results)
        assert len({str(body["messages"]) for body in server.bodies}) == 2 * step.REPLIES


def test_one_call_that_always_fails_is_one_question_that_failed(monkeypatch):
    monkeypatch.setattr(work, "PAUSES", (0.05,))
    items, results = make_items(12), Results()
    with ModelServer() as server:
        plan = plan_of(server, attempts=1, patience=60)
        real = plan.answerer.ask

        def ask(request):
            if "(5)" in str(request.messages):
                raise ModelError("Model 'loopback' answered HTTP 504.", outage=True, temporary=True)
            return real(request)

        monkeypatch.setattr(plan.answerer, "ask", ask)
        work.work(items, plan, results)
    assert {question for question, _, _ in wrong(results, items)} == {"q5"}
    assert len(results.judged) == 12
    failed = results.judged["q5"].recording
    assert (failed.status, failed.reason) == ("failed", "Model 'loopback' answered HTTP 504.")
    assert failed.contexts  # it was handed over: nothing was cut


def test_a_judge_that_leaves_claims_out_is_asked_for_those_alone(monkeypatch):
    items, results = make_items(1), Results()
    real_request = context.context_request
    asked_claims = []

    def recorded_request(question, reference, claims, passages):
        asked_claims.append(sorted(claims))
        return real_request(question, reference, claims, passages)

    monkeypatch.setattr(context, "context_request", recorded_request)
    real = context.read_context
    calls = []

    def forgetful(reply, claims, passages, before):
        calls.append(1)
        rows = reply.claims[:-1] if len(calls) == 1 else reply.claims
        return real(reply.model_copy(update={"claims": rows}), claims, passages, before)

    monkeypatch.setattr(context, "read_context", forgetful)
    with ModelServer() as server:
        work.work(items, plan_of(server), results)
    assert asked_claims == [[0, 1], [1]]
    assert results.scores["q0"]["context_recall"].status == "ok"


def talk(monkeypatch, only: frozenset[str] | set[str] = frozenset()) -> None:
    """Make the server chat when replies with one of the fields `only` are requested; always without `only`."""
    real = model_server.complete

    def complete(body):
        fields = set(body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {}))
        return real(body) if only and not only & fields else "Let me tell you about the weather instead."

    monkeypatch.setattr(model_server, "complete", complete)


@pytest.mark.parametrize("fields", [set(), JUDGE_FIELDS], ids=["nothing", "answers only"])
def test_a_model_that_never_gives_json_costs_at_most_twice_the_calls(fields, monkeypatch):
    items = make_items(12)
    with ModelServer() as good:
        work.work(items, plan_of(good), Results())
    talk(monkeypatch, fields)
    with ModelServer() as bad, pytest.raises(UselessModel, match=r"^\d+ of \d+ calls.* gave nothing usable: Model"):
        work.work(items, plan_of(bad), Results())
    assert len(bad.chats) <= 2 * len(good.chats)


def test_counts_by_hand():
    # 0.75 ** 16 = 0.01002, 0.75 ** 17 = 0.0075; binomial (24, 0.25): P(0) + P(1) = 0.0090, of 23: 0.0116.
    for usable, last in ((0, 17), (1, 24)):
        breaker = Breaker()
        breaker.count("claims", usable, last - usable - 1, "no")
        with pytest.raises(
            UselessModel, match=f"^{last - usable} of {last} calls for 'claims' gave nothing usable: no"
        ):
            breaker.count("claims", 0, 1, "no")


def test_questions_by_a_model_that_never_gives_json_stop_and_continue(workspace, server, monkeypatch):  # noqa: F811
    good = model_server.complete
    talk(monkeypatch)
    workspace.client("loopback")._backoff = 0.001
    small = IndexConfig(chunk_size=25, embedder="openai:bags", chunker="sentences")
    assert indexing.build_index(workspace, workspace.store.corpora.get("pumps"), "small", small).chunks == 8

    def make() -> pipeline.Generated:
        return pipeline.generate_questions(workspace, "small", "made", generator="model", limit=8)

    with pytest.raises(UselessModel, match=r"calls( for 'questions')? gave nothing usable"):
        make()
    stopped = len(server.chats)
    assert stopped <= 3 * 8
    made = make()  # regardless: each chunk is asked
    assert (made.proposed, len(server.chats) > stopped) == (0, True)
    monkeypatch.setattr(model_server, "complete", good)
    assert make().proposed > 0


def test_replies_from_the_cache_are_usable_ones():
    class Completed:
        cached, useless = True, 0

    breaker = Breaker()
    ask = breaker.watching(lambda client, request: Completed(), "questions")
    for _ in range(16):
        ask(None, None)

    def fail(client, request):
        error = ModelError("no")
        error.replies = 3
        raise error

    ask = breaker.watching(fail, "questions")
    for _ in range(29):
        with pytest.raises(ModelError, match=r"^no$"):
            ask(None, None)
    with pytest.raises(UselessModel, match="90 of 106"):  # binomial (106, 0.25): P(<= 16) = 0.0097, of 103: 0.0143
        ask(None, None)


def test_runs_after_the_first_are_not_stopped_by_two_references_that_never_work(workspace, server, monkeypatch):  # noqa: F811
    workspace.client("loopback")._backoff = 0.001
    good = model_server.complete

    def complete(body):
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        of_bank = "key_questions" in schema.get("properties", {})
        prompt = body["messages"][-1]["content"]
        return "Nice weather." if of_bank and re.search("The (north|south) pump", prompt) else good(body)

    monkeypatch.setattr(model_server, "complete", complete)

    def asked_for_banks():
        return sum("key_questions" in str(body.get("response_format")) for body in server.bodies)

    asked = []
    for name, k in (("first", 5), ("second", 5), ("third", 3)):
        run = running.run(workspace, name, config(k=k))
        assert run.status == "done"
        judgement = judgements.judgement_of(workspace, run)
        assert set(judgement.failed) == {"q-north", "q-south"}
        asked.append(asked_for_banks())
    assert asked[0] == asked[1] == asked[2], "what failed for good is remembered"
    failures = workspace.store.judgements.all(run.id)["q-north"].failures
    assert "gave a reply that is not JSON" in failures["bank"]
    assert failures["bank"].endswith("That was in an earlier run: judge this one again to ask anew.")

    assert set(running.rejudge(workspace, run)) == {"q-north", "q-south"}  # not stopped by the two alone
    assert asked_for_banks() > asked[2]
    monkeypatch.setattr(model_server, "complete", good)
    running.rejudge(workspace, run)
    assert judgements.judgement_of(workspace, workspace.store.runs.get(run.id)).failed == []
    assert judgements.judgement_of(workspace, running.run(workspace, "fourth", config(k=2))).failed == []
