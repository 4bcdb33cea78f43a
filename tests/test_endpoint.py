"""A running system asked over real HTTP: what is sent, what is read, and what is said of each failure."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from ragviz.core import addresses
from ragviz.core.endpoint_choices import PRESETS
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.targets import endpoint
from ragviz.targets.endpoint import Asker, of_choices
from ragviz.targets.logged_item import Passage
from tests.conftest import CommandResult
from tests.system_server import SystemServer

TOKEN = "tok-4321"
QUESTION = Question("q1", 'When does "it" open?\n', "At nine.", (), "hand", history=(("What is it?", "A pool."),))
BODY = '{"id": "{{id}}", "question": "{{question}}", "turns": ["{{history}}", "now"]}'
PARTS = {"contexts": "sources[].text", "ids": "sources[].id", "scores": "sources[].score"} | {
    "documents": "sources[].meta.file",
    "prompt_tokens": "usage.in",
    "completion_tokens": "usage.out",
}
SOURCES = [{"text": "Open at 9.", "id": "c1", "score": 0.5, "meta": {"file": "a.txt"}}, {"text": "Closed", "id": 7}]


def told(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"answer": "At nine o'clock.", "sources": SOURCES, "usage": {"in": 12, "out": 4}}


@pytest.fixture
def system() -> Iterator[SystemServer]:
    with SystemServer(told) as server:
        yield server


def target(server: SystemServer, **choices: Any) -> endpoint.Endpoint:
    return of_choices("bot", {"url": server.url, "body": BODY, "timeout": 1.0, **PARTS, **choices})


@pytest.mark.parametrize("stream", ["none", "events", "lines"])
def test_a_reply_is_read_in_each_form(system: SystemServer, stream: str) -> None:
    system.script.append(stream)
    tested = endpoint.tried(target(system, stream=stream), QUESTION)
    item = tested.item
    assert item.error == ""
    assert item.answer == "At nine o'clock."
    assert item.contexts == (Passage("Open at 9.", "c1", "a.txt", 0.5), Passage("Closed", "7", "", None))
    assert (item.prompt_tokens, item.completion_tokens, item.abstained) == (12, 4, False)
    assert system.bodies[0] == {
        "id": "q1",
        "question": QUESTION.text,
        "turns": [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "A pool."}, "now"],
    }


def test_a_token_is_sent_and_never_shown(system: SystemServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_TOKEN", TOKEN)
    made = target(system, headers={"Authorization": "Bearer ${TARGET_TOKEN}"})
    system.script += [
        "ok",
        (500, json.dumps({"error": f"bad {TOKEN}"})),
        (401, f"no {TOKEN}"),
        (200, f'{{"a": "{TOKEN}"}}'),
    ]
    all_tested = [endpoint.tried(made, QUESTION) for _ in range(4)]
    assert system.seen[0]["Authorization"] == f"Bearer {TOKEN}"
    assert "Bearer ${TARGET_TOKEN}" in all_tested[0].request
    assert TOKEN not in repr((made, all_tested))
    assert "HTTP 500 (bad ••••)" in all_tested[1].item.error
    assert "what TARGET_TOKEN holds" in all_tested[2].item.error
    assert "finds nothing in its reply, which has a" in all_tested[3].item.error
    for others in ({"headers": {"X-Id": "${RAGVIZ_DATABASE_URL}"}}, {"url": f"{system.url}?x=${{PATH}}"}):
        with pytest.raises(UsageError, match="only those whose names begin with TARGET_ are sent"):
            target(system, **others)
    monkeypatch.delenv("TARGET_TOKEN")
    with pytest.raises(UsageError, match="TARGET_TOKEN, which is not set"):
        endpoint.tried(made, QUESTION)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("late", "did not answer within 1 s"),
        ("drop", "cannot be reached, or broke off its reply"),
        ("half", "broke off its reply"),
        ("page", "with a web page (Bad gateway: Try later)"),
        ("429", "HTTP 429 (Slow down)"),
        ((302, "http://elsewhere/x?t=1"), "HTTP 302 (http://elsewhere/x)"),
        ((403, "You may not"), "Give a header"),
        ((422, '{"detail": [{"loc": ["body", "q"], "msg": "Field required"}]}'), "body.q: Field required"),
        ((200, ""), "answered with nothing"),
        ((200, '{"answer": " "}'), "with an empty text"),
        ((200, '{"answer": "At n'), "half of it"),
        ((200, '{"error": {"message": "No index"}}'), "with an error (No index)"),
        ((200, '{"reply": "x", "n": 1}'), "finds nothing in its reply, which has reply, n"),
        ((200, 'data: {"answer": "x"}\n\n'), "choose --stream events"),
        ((200, '{"answer": "x", "sources": [{"text": {"a": 1}}]}'), "finds objects with a"),
    ],
)
def test_each_failure_says_what_came_and_what_to_do(system: SystemServer, fault: Any, said: str) -> None:
    system.script.append(fault)
    item = endpoint.tried(target(system), QUESTION).item
    assert said in item.error
    assert item.answer is None
    assert item.error.startswith("Target 'bot' at 127.0.0.1:")


def test_what_may_pass_is_asked_again_and_an_abstention_is_told(
    system: SystemServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "BACKOFF", 0.01)
    system.script += ["429", "drop", "half"]
    item = Asker(target(system, abstains="NINE  O'CLOCK")).ask(QUESTION)
    assert (item.answer, item.abstained) == ("At nine o'clock.", True)
    assert system.paid["q1"] == 1
    assert endpoint.tried(target(system, abstained="usage.out > `3`"), QUESTION).item.abstained
    with SystemServer(told) as down:
        gone = target(down, retries=0)
    assert "cannot be reached" in Asker(gone).ask(QUESTION).error


def test_the_bounds_are_kept(system: SystemServer) -> None:
    system.latency = 0.05
    asker = Asker(target(system, concurrency=2, per_minute=600))
    started = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        assert all(item.answer for item in pool.map(asker.ask, [QUESTION] * 6))
    assert system.most <= 2
    assert time.monotonic() - started >= 0.5


def test_a_question_can_stand_in_the_address(system: SystemServer) -> None:
    system.answers = lambda body: {"answer": body["path"]}
    made = of_choices("get", {"url": system.url + "?q={{question}}", "method": "GET"})
    assert endpoint.tried(made, QUESTION).item.answer == "/ask?q=When%20does%20%22it%22%20open%3F%0A"


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"url": "localhost/ask"}, "no address"),
        ({"url": "http://h/ask?api_key=abc"}, "a secret in its address"),
        ({"headers": {"X-Api-Key": "abc"}}, "would be stored"),
        ({"body": '{"q": {{question}}}'}, "is no JSON"),
        ({"body": '{"q": "x"}'}, "{{question}} is nowhere"),
        ({"body": '{"q": "{{questoin}}"}'}, "{{questoin}} is no place"),
        ({"contexts": "sources[.text"}, "--contexts is no JMESPath"),
        ({"answer": ""}, "--answer is no JMESPath"),
        ({"colour": "red"}, "colour is no choice"),
        ({"concurrency": 0}, "from 1 to 256"),
    ],
)
def test_a_target_that_cannot_be_asked_is_refused(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        of_choices("bot", {"url": "http://localhost/ask", **choices})
    assert said in str(caught.value)


REPLIES = json.loads((Path(__file__).parent / "data" / "replies.json").read_text(encoding="utf-8"))
"""A reply as each service documents it, and the contexts in it: text, id, document, score."""


@pytest.mark.parametrize("name", PRESETS)
def test_presets_read_the_documented_replies(system: SystemServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system.answers = lambda body: REPLIES[name]["reply"]
    passages = tuple(Passage(*each) for each in REPLIES[name]["contexts"])
    for variable in ("OPENAI", "DIFY", "RAGFLOW", "FLOWISE", "ANYTHINGLLM"):
        monkeypatch.setenv(f"TARGET_{variable}_API_KEY", TOKEN)
    item = endpoint.tried(of_choices(name, {**PRESETS[name].choices, "url": system.url}), QUESTION).item
    assert (item.error, item.answer, item.contexts) == ("", "A", passages)
    assert json.dumps(QUESTION.text) in json.dumps(system.bodies[0])


def test_targets_are_added_tried_listed_and_deleted(
    system: SystemServer,
    command_line: Callable[..., CommandResult],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("TARGET_TOKEN", TOKEN)
    given = ["--url", system.url, "--header", "X-Api-Key: ${TARGET_TOKEN}", "--contexts", "sources[].text"]
    code, printed, _ = command_line("targets", "add", "bot", *given)
    assert (code, "ragviz targets test 'bot'" in printed) == (0, True)
    code, printed, _ = command_line("targets", "test", "bot", "--question", "When?")
    assert (code, "Answer: At nine o'clock." in printed, TOKEN in printed) == (0, True, False)
    assert system.bodies == [{"question": "When?"}]
    assert system.seen[0]["X-Api-Key"] == TOKEN
    system.script.append((503, TOKEN))
    code, printed, said = command_line("targets", "test", "bot", "--json")
    assert (code, "HTTP 503 (••••)" in said, json.loads(printed)["item"]["answer"]) == (1, True, None)
    [listed] = json.loads(command_line("targets", "list", "--json")[1])
    assert (listed["name"], listed["headers"]) == ("bot", {"X-Api-Key": "${TARGET_TOKEN}"})
    assert "There is already a target called 'bot'" in command_line("targets", "add", "bot", *given)[2]
    assert command_line("targets", "delete", "bot", "--yes")[0] == 0
    code, _, said = command_line("targets", "test", "bot")
    assert (code, "There is no target called 'bot'. There is: none yet." in said) == (2, True)
    made = json.loads(
        command_line("targets", "add", "d", "--preset", "dify", "--header", "Authorization:", "--json")[1]
    )
    assert (made["headers"], made["contexts"]) == ({}, "metadata.retriever_resources[].content")


@pytest.mark.parametrize(
    "answer",
    [
        "[@,@]|" * 60 + "to_string(@)",
        "[@,@]|" * 60 + "@",
        "[@,@][]|" * 60 + "@",
        "join(to_string(@), sources[].text)|" + "join(@, [@,@])|" * 20 + "@",
    ],
)
def test_an_expression_makes_no_more_of_a_reply_than_a_reply_may_have(system: SystemServer, answer: str) -> None:
    """Of a line, an expression of a line can make more than any memory holds."""
    item = endpoint.tried(target(system, answer=answer), QUESTION).item
    assert "--answer makes more of its reply than a reply may have" in item.error


def test_a_question_is_not_sent_a_thousand_times_in_one_request(system: SystemServer) -> None:
    made = target(system, body=json.dumps({"question": "{{question}}" * 8_000}))
    with pytest.raises(UsageError, match="let the question stand in its body once"):
        endpoint.tried(made, Question("q", "x" * 10_000, "", (), "hand"))
    assert not system.bodies


def test_nothing_is_read_where_a_cloud_gives_out_keys(system: SystemServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_OF_MACHINES", (ip_network("127.0.0.0/8"),))
    tested = endpoint.tried(target(system), QUESTION)
    assert "at an address of this machine's own link" in tested.item.error
    assert tested.reply is None
