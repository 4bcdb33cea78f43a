"""Answers: what fits, what is cited, what is refused; without a model, and by the loopback one over real HTTP."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis.abstention import Abstention, abstention
from ragviz.core.configuration import RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import ModelError
from ragviz.core.question import Question
from ragviz.core.recording import Context, Recording
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion
from ragviz.targets.answering import REFUSALS, VERSIONS, AnswerReply, read_answer
from ragviz.targets.citations import cited
from ragviz.targets.fitting import estimate, fitted
from ragviz.targets.retrieved_chunks import FROM_CONTEXTS
from ragviz.targets.targets import TARGETS

SPAN = Span("d" * 16, 0, 10)


def chunk(text, tokens=None, start=0, document="d" * 16):
    end = start + len(text)
    tokens = len(text.split()) if tokens is None else tokens
    return Context.of(Chunk(Chunk.make_id(document, start, end), document, start, end, text, tokens))


def chunks(*texts):
    return [chunk(text, start=1000 * number) for number, text in enumerate(texts)]


def recording(contexts, budget=3000):
    read, cut = fitted(contexts, budget)
    return Recording("q", read, cut=cut)


def answer(question, contexts, answerer, *, client=None, budget=3000, kind="retrieved", **more):
    answers = TARGETS[kind].answers(RunConfig("i", "s", answerer=answerer, **more))
    return answers(question, recording(contexts, budget), client and client.ask)


def extractive(question, contexts, budget=3000):
    return answer(question, contexts, "extractive", budget=budget)


def replied(completion, contexts):
    return read_answer(FROM_CONTEXTS, ask("…"), recording(contexts), completion)


def ask(text, *, name="q", evidence=((SPAN,),), reference="", lang="en"):
    return Question(name, text, reference, evidence, "hand", "accepted", language=lang)


# What fits


def test_whole_chunks_to_the_last_token():
    three = [chunk("x" * 50, tokens, start) for tokens, start in ((100, 0), (50, 100), (51, 200))]
    assert fitted(three, 201) == (tuple(three), ())
    read, cut = fitted(three, 200)
    assert ([each.chunk_id for each in read], cut) == ([each.chunk_id for each in three], (three[2].chunk_id,))
    assert fitted(three, 189) == (tuple(three[:2]), (three[2].chunk_id,))


def test_the_last_chunk_ends_with_a_sentence_else_with_a_word_else_with_a_letter():
    text = "One two three four. " * 5 + "Five six seven eight nine ten."
    # 130 characters, of which 105 (all but the blanks) weigh 100 tokens: 60 reach into the fourth sentence.
    read, cut = fitted([chunk("x" * 10, 10, 500), chunk(text, 100)], 10 + 60)
    assert read[1].text == "One two three four. One two three four. One two three four."
    assert len(cut) == 1
    for text, size, budget, part in (
        ("alpha beta gamma delta epsilon", 10, 6, "alpha beta gamma"),
        ("Go. Alpha beta gamma delta epsilon", 10, 6, "Go. Alpha beta gamma"),
        ("a" * 40, 10, 6, "a" * 24),
        (
            "湿度超过百分之八十五就要关闭圆顶。风速超过每秒十五米也要关闭。",
            31,
            25,
            "湿度超过百分之八十五就要关闭圆顶。",
        ),
    ):
        assert fitted([chunk(text, size)], budget)[0][0].text == part


@given(
    st.lists(st.tuples(st.text("ab 。.\n望", min_size=1, max_size=60), st.integers(0, 40)), max_size=5),
    st.integers(-3, 90),
)
def test_what_fits_is_the_head_of_the_ranking_within_the_budget(parts, budget):
    given_chunks = [chunk(text, tokens, 100 * n) for n, (text, tokens) in enumerate(parts)]
    read, cut = fitted(given_chunks, budget)
    for passage, source in zip(read, given_chunks, strict=False):
        assert passage.chunk_id == source.chunk_id
        assert source.text.startswith(passage.text)
        assert (source.chunk_id in cut) == (passage.text != source.text)
    assert {each.chunk_id for each in read} | set(cut) == {c.chunk_id for c in given_chunks}
    shortened = [(p, c) for p, c in zip(read, given_chunks, strict=False) if p.text != c.text]
    assert len(shortened) <= 1
    whole = [c.tokens or estimate(c.text) for c in given_chunks if c.chunk_id not in cut]
    assert sum(whole) <= max(0, budget)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Dogs stay outside [2].", (2,)),
        ("Both [1, 3] and again [3][ 1 ].", (1, 3)),
        ("From [2-4] and [6–7], [9-8].", (2, 3, 4, 6, 7, 9, 8)),
        ("狗不能进【2】，猫也不行［３，４］，见[5、6]。", (2, 3, 4, 5, 6)),
        ("Since [2019] nothing, [a], [], [1a], (3), x[0]", (0,)),
        ("No mark", ()),
    ],
)
def test_numbers_that_are_cited(text, numbers):
    assert cited(text) == numbers


# Without a model

HANDBOOK = chunks(
    "## Opening hours of the library desk\n\nThe **library desk** lends [maps](maps.md) of the valley for three weeks "
    "[7]. Snow chains are kept in the garage.\n\nWhen does the library desk close in winter?\n\n- It closes at 17:30 "
    "in winter.",
    "| Item | Price |\n|---|---|\n| Day ticket for the cable car | 14 euros |\n| Week ticket | 60 euros |",
)


def test_the_sentence_that_shares_most_is_the_answer_clean_and_cited():
    result = extractive(ask("For how many weeks are maps lent at the library desk?"), HANDBOOK)
    said = "The library desk lends maps of the valley for three weeks [1]."
    assert result == Recording("q", tuple(HANDBOOK), said, "answered", citations=(1,), origin="extractive", version="5")


def test_chinese_answers():
    chinese_chunks = chunks("圆顶在日落前一小时打开。", "室外相对湿度达到85%，就要关闭圆顶；风速超过每秒15米也要关闭。")
    result = extractive(ask("相对湿度达到多少就要关闭圆顶？", lang="zh"), chinese_chunks)
    assert result.answer == "室外相对湿度达到85%，就要关闭圆顶[2]。"
    assert result.citations == cited(result.answer) == (2,)


# By a model


@pytest.fixture
def client(server):
    return ModelClient(server.url, None, "loopback", backoff=0.01, attempts=2)


def test_the_model_answers_from_the_passages_and_cites_them(client):
    result = answer(ask("What do maps of the valley cost?"), HANDBOOK, "model", client=client)
    assert (result.status, result.origin) == ("answered", "loopback")
    assert (result.citations, result.wrong_citations) == ((1,), ())
    assert result.answer.endswith("[1].")
    assert "maps" in result.answer
    assert result.read == tuple(c.chunk_id for c in HANDBOOK)
    assert result.version == VERSIONS["model"]
    assert result.usage is not None
    assert (result.usage.step, result.usage.model, result.usage.cached) == ("answer", "loopback", False)
    assert json.loads(result.usage.raw)["answerable"] is True
    assert result.usage.prompt_tokens > 100


def model_reply(text, *, answerable=True):
    reply = AnswerReply(answerable=answerable, answer=text)
    return Completion(reply.model_dump_json(), reply, 100, 10, 0.5, True, "m1", 0.25)


def test_a_refusal_is_marked_by_the_model_or_said_in_words():
    assert replied(model_reply(REFUSALS["en"]), HANDBOOK).status == "refused"
    assert replied(model_reply("The passages do not say what a map costs."), HANDBOOK).status == "refused"
    assert replied(model_reply("Maps do not contain prices: they are free [1]."), HANDBOOK).status == "answered"
    refusal = replied(model_reply("Not in here, see [1].", answerable=False), HANDBOOK)
    assert (refusal.status, refusal.answer, refusal.citations) == ("refused", "Not in here, see [1].", (1,))
    empty = replied(model_reply(" "), HANDBOOK)
    assert (empty.status, empty.answer) == ("failed", "")
    assert "empty answer" in empty.reason


def test_a_call_that_fails_is_a_failed_answer_and_an_outage_is_raised(server, client):
    server.script.extend(["500", "500"])
    result = answer(ask("What do maps cost?"), HANDBOOK, "model", client=client, budget=HANDBOOK[0].tokens)
    assert (result.status, result.answer, result.origin, result.usage) == ("failed", "", "model", None)
    assert "HTTP 500" in result.reason
    assert (result.read, result.cut) == ((HANDBOOK[0].chunk_id,), (HANDBOOK[1].chunk_id,))
    server.script.extend(["503", "503"])
    with pytest.raises(ModelError, match="503"):
        answer(ask("What do maps cost?"), HANDBOOK, "model", client=client)


def answer_of(name, status):
    return Recording(name, status=status)


def test_abstention_by_hand():
    questions = [ask("?", name=name) for name in "abc"] + [ask("?", name=name, evidence=()) for name in "xyz"]
    answers = [
        answer_of("a", "refused"),
        answer_of("b", "answered"),
        answer_of("c", "failed"),
        answer_of("x", "refused"),
    ]
    answers += [answer_of("y", "answered"), answer_of("z", "failed"), answer_of("other", "refused")]
    assert abstention(questions, answers) == Abstention(0.5, 0.5, 2, 2, 1)
    answers[4] = answer_of("y", "refused")
    assert abstention(questions, answers) == Abstention(2 / 3, 1.0, 3, 2, 2)
