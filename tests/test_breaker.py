"""Work with a model whose replies are useless is stopped before it costs much, and continues when it is resumed."""

import re

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import ModelError, UselessModel
from ragviz.generation import pipeline
from ragviz.index import indexing
from ragviz.judging import work
from ragviz.models.refusals import Breaker
from ragviz.runs import judgements, running
from tests import model_server
from tests.model_server import ModelServer
from tests.odd_judges import JUDGE_FIELDS
from tests.test_judging import Results, make_items, plan_of
from tests.test_running import config, workspace  # noqa: F401 - fixtures


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
