"""The model seam over real HTTP: the loopback server answers, refuses, stalls and talks nonsense."""

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.utils import formatdate

import numpy as np
import pytest
from pydantic import BaseModel, SecretStr

from ragviz.core.call import Paid
from ragviz.core.errors import BudgetReached, Cancelled, ModelError
from ragviz.core.stopping import Stopping, follow
from ragviz.models import chat, replies
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Ledger, Request, Spending
from ragviz.models.requests import dollars as chat_dollars
from tests import model_server
from tests.loopback import hanging
from tests.model_server import USELESS, Memory, ModelServer, vector

KEY = "sk-very-secret-1234"


class Verdict(BaseModel):
    reason: str
    supported: bool
    scores: list[int]


def client_of(server, **options):
    options = {"backoff": 0.01, "timeout": 5.0} | options
    return ModelClient(server.url, SecretStr(KEY), "loopback", **options)


def say(text):
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("refuse", "mode"),
    [((), "json_schema"), (("json_schema",), "json_object"), (("json_schema", "json_object"), "text")],
)
def test_falls_back_once_and_remembers(server, refuse, mode):
    server.refuse = set(refuse)
    client = client_of(server)
    first = client.ask(Request(say("one"), Verdict))
    tried = server.counts.calls
    second = client.ask(Request(say("two"), Verdict))
    assert isinstance(first.parsed, Verdict)
    assert isinstance(second.parsed, Verdict)
    assert tried == len(refuse) + 1
    assert server.counts.calls == tried + 1
    assert client.test().mode == mode


def test_parameters_the_model_refuses_are_left_out_from_then_on(server):
    server.refuse = {"temperature", "max_tokens"}
    client = client_of(server)
    client.ask(Request(say("one"), max_tokens=7))
    assert server.bodies[-1]["max_completion_tokens"] == 7
    assert "temperature" not in server.bodies[-1]
    calls = server.counts.calls
    client.ask(Request(say("two")))
    assert server.counts.calls == calls + 1
    assert client.test().refused == ("max_tokens", "temperature")


def test_cache_by_content_and_dry_run(server):
    cache = Memory()
    request = Request(say("hello"), Verdict)
    client = client_of(server, cache=cache)
    assert client.cached([request]) == [False]
    paid = client.ask(request)
    again = client_of(server, cache=cache).ask(request)
    assert client.cached([request, Request(say("other"), Verdict)]) == [True, False]
    assert (paid.cached, again.cached) == (False, True)
    assert again.parsed == paid.parsed
    assert again.prompt_tokens == paid.prompt_tokens
    assert server.counts.calls == 1
    for other in (
        Request(say("hello")),
        Request(say("hello"), Verdict, temperature=0.5),
        Request(say("hello"), Verdict, seed=1),
        Request(say("hello"), max_tokens=9),
        Request([{"role": "system", "content": "hello"}], Verdict),
    ):
        assert client.cached([other]) == [False]
    assert ModelClient(server.url, None, "other", cache=cache).cached([request]) == [False]


def test_equal_requests_at_the_same_time_are_paid_once(server):
    server.latency = 0.2
    client = client_of(server)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.ask(Request(say("hello"))), range(8)))
    assert server.counts.calls == 1
    assert len({answer.text for answer in answers}) == 1
    assert sum(not answer.cached for answer in answers) == 1


@pytest.mark.parametrize("header", ["0.4", lambda: formatdate(time.time() + 1.5, usegmt=True)])
def test_retry_after_is_honoured_by_every_caller(server, header):
    client = client_of(server)
    client.ask(Request(say("zero")))
    server.retry_after = header if isinstance(header, str) else header()
    server.script.append("429")
    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.ask, Request(say("one")))
        time.sleep(0.15)
        pool.submit(client.ask, Request(say("two"))).result()
        assert time.monotonic() - started > 0.35
        assert first.result().text


def test_concurrency_is_bounded_and_adapts(server):
    server.latency, server.capacity = 0.05, 4
    client = client_of(server, concurrency=16)
    answers = list(client.complete_many(Request(say(f"question {i}")) for i in range(60)))
    assert all(isinstance(answer, Completion) for answer in answers)
    assert server.counts.most_in_flight <= 16
    assert client._gate.limit < 16
    refused = server.counts.faults["429"]
    server.counts.faults.clear()
    list(client.complete_many(Request(say(f"later {i}")) for i in range(60)))
    assert server.counts.faults["429"] < refused


@pytest.mark.parametrize(("status", "calls", "outage"), [("400", 1, False), ("404", 1, True), ("500", 3, False)])
def test_statuses_decide_whether_further_calls_help(server, status, calls, outage):
    server.script.extend([status] * 5)
    with pytest.raises(ModelError, match=f"HTTP {status}") as caught:
        client_of(server, attempts=3).ask(Request(say("hello")))
    assert server.counts.calls == calls
    assert caught.value.outage is outage


def test_the_key_is_nowhere(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.key = "another"
    cache = Memory()
    client = client_of(server, cache=cache)
    with pytest.raises(ModelError, match=r"HTTP 401\. The key was refused") as refused:
        client.ask(Request(say("hello")))
    server.key = KEY
    server.script.append("400")  # this one echoes the Authorization header
    with pytest.raises(ModelError, match="••••") as echoed:
        client.ask(Request(say("hello")))
    client.ask(Request(say("hello")))
    texts = [str(refused.value), str(echoed.value), repr(client), caplog.text, repr(cache.items), repr(vars(client))]
    assert not [text for text in texts if KEY in text]


def embedded(client, texts) -> np.ndarray:
    vectors = [None] * len(texts)
    for places, rows in client.embed("embedder", texts):
        for place, row in zip(places, rows, strict=True):
            vectors[place] = row
    return np.array(vectors)


@pytest.mark.parametrize(
    ("refuse", "ignores", "asked"),
    [
        ((), False, ["base64"] * 3),
        ((), True, ["base64", "float", "float"]),
        (("base64",), False, ["base64", "float", "float", "float"]),
    ],
)
def test_vectors_come_in_base64_where_the_server_sends_it_else_as_numbers(server, refuse, ignores, asked):
    server.refuse, server.ignore_format = set(refuse), ignores
    texts = [f"text number {i} 文本" for i in range(150)]
    truth = np.array([vector(text) for text in texts], dtype=np.float32)
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    assert np.array_equal(embedded(client_of(server, concurrency=1), texts), truth)
    assert [body["encoding_format"] for body in server.bodies] == asked


def test_an_embeddings_call_that_is_refused_is_halved_and_that_is_remembered(server):
    server.most_texts = 20
    client, texts = client_of(server, concurrency=1), [f"text {i}" for i in range(64)]
    np.testing.assert_allclose(np.linalg.norm(embedded(client, texts), axis=1), 1, atol=1e-6)
    # Until a call is answered, each refusal may be meant for base64.
    assert [len(body["input"]) for body in server.bodies] == [64, 64, 32, 32, 16, 16, 16, 16]
    server.bodies.clear()
    embedded(client, texts)
    assert [len(body["input"]) for body in server.bodies] == [16] * 4


def test_a_text_that_cannot_be_embedded_is_named(server, monkeypatch):
    texts = [f"text {i}" for i in range(150)]
    texts[100] = "far too long, " * 20
    server.longest = 100
    with pytest.raises(
        ModelError, match=r"HTTP 413 \(inputs must have less than 100.*begins “far too long, f"
    ) as failed:
        embedded(client_of(server), texts)
    assert failed.value.place == 100
    real = model_server.vector
    server.longest = 1000
    monkeypatch.setattr(model_server, "vector", lambda text: [0.0] * 64 if text == "text 70" else real(text))
    with pytest.raises(ModelError, match=r"gave a zero vector\. Choose another embedder.*begins “text 70”") as failed:
        embedded(client_of(server), texts)
    assert failed.value.place == 70


CLAIM = {"reason": "meant", "supported": True, "scores": [1]}
MEANT = json.dumps(CLAIM)
DRAFT = json.dumps(CLAIM | {"reason": "a draft"})


@pytest.mark.parametrize(
    "said",
    [
        f"Sure! Here is the JSON:\n\n{MEANT}\n\nLet me know if you need more (e.g. {{more}}).",
        f"Draft: {DRAFT}\n\nFinal answer:\n{MEANT}",
        f"My evaluation {{in JSON}}:\n\n```json\n{MEANT}\n```\n\nI used {{reason}} as asked.",
        f"My evaluation {{in JSON}}:\n\n```json\n{MEANT[:-1]},}}\n```\n\nI used {{reason}} as asked.",
        json.dumps({"response": CLAIM}),
        [
            {"type": "reasoning", "text": DRAFT},
            {"type": "text", "text": MEANT[:9]},
            {"type": "text", "text": MEANT[9:]},
        ],
    ],
    ids=["braces around", "after a draft", "fenced", "fenced, to be mended", "wrapped", "in parts"],
)
def test_the_object_that_is_meant_is_read(server, monkeypatch, said):
    real = model_server._completion
    monkeypatch.setattr("tests.model_server._completion", lambda body, text: real(body, "") | {"choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}]})  # fmt: skip
    assert client_of(server).ask(Request(say("x"), Verdict)).parsed == Verdict(**CLAIM)
    assert server.counts.calls == 1


def test_null_is_an_empty_list_and_a_cut_second_object_is_not_replaced_by_the_first():
    request = Request(say("x"), Verdict)
    assert replies.read('{"reason": "r", "supported": true, "scores": null}', request).scores == []
    with pytest.raises(replies.Malformed, match="supported: Input should be a valid boolean"):
        replies.read('{"reason": "r", "supported": null, "scores": null}', request)
    with pytest.raises(replies.Malformed, match="ends in the middle"):
        replies.read(f"Draft: {DRAFT} Final: {MEANT[:-4]}", request)


LITELLM = {"message": "litellm.UnsupportedParamsError: g models don't support temperature=0.0. Only temperature=1 is"
           " supported.", "type": "None", "param": None, "code": "400"}  # fmt: skip
VLLM = {"object": "error", "message": "System role not supported", "type": "BadRequestError", "code": 400}
MISTRAL = {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}


@pytest.mark.parametrize(
    ("part", "status", "body"),
    [("temperature", 400, {"error": LITELLM}), ("system", 400, VLLM), ("system", 200, VLLM), ("seed", 422, MISTRAL)],
)
def test_what_a_server_refuses_in_any_words_is_left_out_from_then_on(server, part, status, body):
    server.words = {part: (status, json.dumps(body))}
    client = client_of(server)
    messages = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "The text."}]
    for seed in (1, 2):
        assert client.ask(Request(messages, Verdict, seed=seed)).parsed
    assert server.counts.calls == 3
    sent = {**server.bodies[-1]}
    texts = [message["content"] for message in sent["messages"]]
    assert texts == (["Judge.\n\nThe text."] if part == "system" else ["Judge.", "The text."])
    assert {"temperature", "seed"} - sent.keys() == {part} - {"system"}
    tested = client_of(server).test()  # a test's request has the form of real ones
    assert (tested.refused, tested.mode) == ((part,), "json_schema")


@pytest.mark.parametrize(
    ("body", "said", "outage"),
    [
        ('{"error":{"message":"Provider returned error","code":502}}', "an error (Provider returned error). Try", True),
        ('{"code": 1113, "msg": "No balance left"}', "an error (No balance left). ", False),
        ("<html><head><title>Sign in</title></head><body>ACME SSO</body></html>",
         "a web page (Sign in: ACME SSO). Set OPENAI_BASE_URL", True),
        ('data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n', "a stream of events (data:", True),
        ("It works!", "text that is no JSON (It works!). Check that OPENAI_BASE_URL", True),
    ],
    ids=["error", "other fields", "page", "stream", "text"],
)  # fmt: skip
def test_what_is_no_reply_at_status_200_is_named_in_the_servers_words(server, body, said, outage):
    server.words = {"": (200, body)}
    client, ledger = client_of(server, attempts=2, prices={"loop": (9.0, 9.0)}), Ledger()
    with pytest.raises(ModelError) as failed:
        client.ask(Request(say("x"), Verdict, max_tokens=9, spending=(spending := Spending(ledger, 1.0))))
    assert f"answered HTTP 200 with {said}" in str(failed.value)
    assert failed.value.outage is outage
    with pytest.raises(ModelError, match="answered HTTP 200 with"):
        embedded(client, ["x"])
    spending.settle()
    assert (ledger.total.dollars, client.usage.calls) == (0.0, 0)


def test_a_budget_holds_where_no_tokens_are_reported(server, monkeypatch):
    real, budget, paid, bills = model_server._completion, 0.06, Ledger(), []

    def unreported(body, text):
        response = real(body, text)
        bills.append(response.pop("usage"))
        return response

    monkeypatch.setattr("tests.model_server._completion", unreported)
    client, spending = client_of(server, prices={"loop": (20.0, 60.0)}), Spending(paid, budget)
    requests = [Request(say(f"{n}: {'the pump ' * 20}"), max_tokens=64, spending=spending) for n in range(99)]
    with pytest.raises(BudgetReached, match=r"budget of \$0.06"):
        list(map(client.ask, requests))
    spending.settle()
    truth = sum(20 * bill["prompt_tokens"] + 60 * bill["completion_tokens"] for bill in bills) / 1e6
    assert 0.5 * budget < truth <= paid.total.dollars <= budget
    assert client.usage.estimated == client.usage.calls == len(bills) > 5


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("429", r"HTTP 429 \(Rate limit reached\)"),
        ("500", r"HTTP 500 \(The server says 500"),
        ("closed", "ended the connection without an answer"),
        ("no connection", r"took no connection within 0\.2 s\. Check OPENAI_BASE_URL"),
        ("refused connection", r"cannot be reached \(.*Connection refused\)\. Check OPENAI_BASE_URL"),
    ],
)
def test_calls_that_were_plainly_never_answered_cost_nothing(server, fault, told):
    ledger = Ledger()
    spending = Spending(ledger, 0.01)
    server.script.extend(["timeout" if fault == "closed" else fault] * 20)
    server.hang = 0.0  # it closes the connection at once
    with hanging(full=True) as port:
        url = {"no connection": f"http://127.0.0.1:{port}/v1", "refused connection": "http://127.0.0.1:1/v1"}.get(
            fault, server.url
        )
        client = ModelClient(url, None, "loopback", prices={"loop": (9.0, 9.0)}, backoff=0.01, timeout=0.4, attempts=4)
        with pytest.raises(ModelError, match=told):
            client.ask(Request(say("x"), max_tokens=400, spending=spending))  # three would be over the budget
    spending.settle()
    assert ledger.total == Paid()


def test_a_run_that_stops_for_calls_without_an_answer_says_so():
    ledger = Ledger()
    spending = Spending(ledger, 0.01)
    with hanging(full=False) as port:
        client = ModelClient(
            f"http://127.0.0.1:{port}/v1", None, "loopback", prices={"loop": (9.0, 9.0)}, backoff=0.01, timeout=0.2
        )
        with pytest.raises(BudgetReached) as stopped:
            client.ask(Request(say("x"), max_tokens=400, spending=spending))
    most = 9 * (400 + 16 * 2) / 1e6
    assert ledger.total.calls >= 2
    assert (
        f"{chat_dollars(2 * most)} of it are held for 2 calls without an answer, which may be charged, $0.00 are"
        in (str(stopped.value))
    )
    assert "RAGVIZ_MODEL_TIMEOUT" in str(stopped.value)


@pytest.mark.parametrize("status", [302, 308])
def test_a_redirect_gets_neither_the_prompt_nor_the_key(server, status):
    with ModelServer() as moved:
        moved.words = {"": (status, server.url)}
        client = client_of(moved)
        with pytest.raises(ModelError, match="set OPENAI_BASE_URL to its new address"):
            client.ask(Request(say("hello")))
        with pytest.raises(ModelError, match="set OPENAI_BASE_URL to its new address"):
            embedded(client, ["hello"])
    assert (moved.counts.calls, server.counts.calls) == (2, 0)


def test_a_reply_that_fails_its_check_is_requested_again_and_never_cached(server):
    cache, checked = Memory(), []

    def check(reply):
        checked.append(reply)
        return "a reply that is too short" if len(checked) < 3 else ""

    client = client_of(server, cache=cache)
    request = Request(say("Say something."), Verdict, check=check)
    client.ask(request)
    assert server.counts.calls == 3
    assert "That was a reply that is too short." in server.bodies[1]["messages"][-1]["content"]
    assert client.cached([request]) == [True]
    strict = replace(request, check=lambda reply: "a reply that nobody wants")
    assert client.cached([strict]) == [False]  # a reply cached without the check is not served
    entries = dict(cache.items)
    with pytest.raises(ModelError, match="gave a reply that nobody wants"):
        client.ask(strict)
    assert cache.items == entries
    assert server.counts.calls == 3 + chat.USELESS


@pytest.mark.parametrize("fault", USELESS)
def test_replies_that_cannot_be_used_end_after_three_never_in_the_same_words(server, fault):
    server.script.extend([fault] * 20)
    request = Request(say("hello"), Verdict, max_tokens=100)
    client = client_of(server)
    with pytest.raises(ModelError, match="Try again, or choose a model") as failed:
        client.ask(request)
    assert (failed.value.replies, failed.value.outage, server.counts.calls) == (3, False, 3)
    with pytest.raises(ModelError):
        client.ask(replace(request, number=failed.value.replies))  # another round
    assert len({body["messages"][-1]["content"] for body in server.bodies}) == 6
    assert {len(body["messages"]) for body in server.bodies} == {1}


def test_a_reply_that_was_cut_gets_more_room_and_later_ones_do_too(server, monkeypatch):
    monkeypatch.setattr("tests.model_server.complete", lambda body: MEANT)  # 53 characters, 13 tokens and a bit
    client = client_of(server)
    for words in ("hello", "hello again"):
        assert client.ask(Request(say(words), Verdict, max_tokens=4)).text == MEANT
    assert [body["max_tokens"] for body in server.bodies] == [4, 8, 16, 16]


def test_no_key_means_no_key_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.key = "none"
    assert ModelClient(server.url, None, "loopback").ask(Request(say("hello"))).text


@pytest.mark.parametrize("tokens", ["12", 1.5, -3, None, True, 10**400, 600_000], ids=lambda tokens: str(tokens)[:9])
def test_numbers_of_tokens_that_cannot_be_are_counted_from_the_texts(server, monkeypatch, tokens):
    real = model_server._completion
    usage = {"usage": {"prompt_tokens": tokens, "completion_tokens": tokens}}
    monkeypatch.setattr("tests.model_server._completion", lambda body, text: {**real(body, "word " * 30), **usage})
    client = client_of(server, prices={"loop": (2.0, 1.0)}, cache=Memory())
    completion = client.ask(Request(say("x" * 3000), max_tokens=100))
    assert (completion.prompt_tokens, completion.completion_tokens, completion.estimated) == (1000, 50, True)
    assert (client.usage.estimated, client.usage.cost) == (1, pytest.approx(2050 / 1e6))
    again = client.ask(Request(say("x" * 3000), max_tokens=100))
    assert (again.cached, again.cost, again.estimated) == (True, completion.cost, True)


def test_a_connection_is_kept_and_one_that_the_server_closed_is_not_used_again(server):
    server.script.extend(["ok", "hang up", "ok"])
    client = client_of(server, attempts=1)
    for number in range(3):
        client.ask(Request(say(f"{number}")))
        time.sleep(0.05)  # until the server has closed it
    assert server.connections == 2


def test_a_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    client = ModelClient("http://nowhere.example/v1", None, "loopback", attempts=1)
    assert client.ask(Request(say("Hello"))).text
    assert server.counts.calls == 1


def test_a_stop_ends_a_call_that_waits_for_its_response(server):
    server.latency = 5.0
    client, stopping = client_of(server, timeout=20.0), Stopping()
    with ThreadPoolExecutor(1, initializer=follow, initargs=(stopping,)) as pool:
        asked = pool.submit(client.ask, Request(say("Hello")))
        while not server.counts.calls:
            time.sleep(0.01)
        started = time.monotonic()
        stopping.drop(0.0)
        with pytest.raises(Cancelled):
            asked.result()
    assert time.monotonic() - started < 2
