"""Questions of single sentences, passages that belong together, and what a question must not be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.claims import phrasing
from ragviz.claims.candidate import Candidate
from ragviz.core.chunk import Chunk
from ragviz.core.question import Question
from ragviz.generation.chosen_chunks import related
from ragviz.generation.rejection import normal, reject
from ragviz.text import prose
from ragviz.text.quotes import locate
from ragviz.text.words import parse


def chunk(text, document="d" * 16, start=0):
    end = start + len(text)
    return Chunk(Chunk.make_id(document, start, end), document, start, end, text, tokens=len(text.split()))


# Which chunks


def test_related_passes_over_itself_overlaps_and_copies():
    one = chunk("The desk lends maps of the valley for three weeks.")
    overlapping = chunk("three weeks. And more follows here.", start=38)
    copy = chunk("the desk lends MAPS of the valley for three weeks", "e" * 16)
    good = chunk("Snow chains are kept in the garage.", "e" * 16, 100)
    further = chunk("The dome opens at dusk.", "f" * 16)
    assert related(one, [one, overlapping, copy, good, further]) == (one, good, further)
    assert related(one, [copy, good], passages=3) == (one, good)
    assert related(one, [good, further], passages=2) == (one, good)


# What a question must not be


def question_of(text, answer="21 days"):
    return Question("q", text, answer, (), "extractive")


CONTEXT = "The **loan period** is 21 days, said [the desk](https://example.org/desk). 借阅期为21天，由服务台批准。"


@pytest.mark.parametrize(
    ("text", "answer", "reason"),
    [
        ("How long is the loan period at the desk?", "21 days", ""),
        ("借阅期为多少天？", "21天", ""),
        ("Who said how long the loan period is?", "The desk", ""),
        ("How long may maps be kept?", "about 21 days, said desk", ""),  # four of five words, and the number
        ("  ", "21 days", "the question is empty"),
        ("How long?", "21 days", "too short"),
        ("How long is the loan period?", " ", "the answer is empty"),
        ("According to the desk, how long is a loan?", "21 days", "refers to"),
        ("How long is the loan period in the text?", "21 days", "refers to"),
        ("What does the given passage say of loans?", "21 days", "refers to"),
        ("How long is a loan as mentioned above?", "21 days", "refers to"),
        ("文中提到的借阅期是多少天？", "21天", "refers to"),
        ("根据本文，借阅期是多少？", "21天", "refers to"),
        ("上文说借阅期为多少天？", "21天", "refers to"),
        ("这段文字里借阅期为多少天？", "21天", "refers to"),
        ("Is the loan period 21 days or more?", "21 days", "holds its answer"),
        ("How long is the loan period at the desk?", "30 days", "not in the chunk"),
        ("How long is the loan period at the desk?", "the loan period is 14 days", "not in the chunk"),
        ("How long is the loan period of maps?", "21", "asked already"),
    ],
)
def test_reject(text, answer, reason):
    existing = {normal("how LONG is a loan period, of maps")}
    result = reject(question_of(text, answer), CONTEXT, existing)
    assert result == reason if not reason else reason in result


@pytest.mark.parametrize(
    "text",
    [
        "英文中的标点怎么写？",
        "语文内容由谁决定？",
        "Where is a signed document kept?",
        "该文件由谁批准？",
        "上文化课要带什么？",
    ],
)
def test_reject_leaves_what_only_looks_like_it(text):
    assert reject(question_of(text, "21"), CONTEXT) == ""


@pytest.mark.parametrize(
    ("quote", "match"),
    [
        ("loan period", "loan period"),
        ("the loan", None),
        ("period is 21", "period is\n 21"),
        ("“a” desk", '"a" desk'),
        ("", None),
        ("nothing of it", None),
        ("21 days*", None),
    ],
)
def test_locate(quote, match):
    text = 'The loan period is\n 21 days at "a" desk.'
    place = locate(quote, text)
    assert (None if place is None else text[place[0] : place[1]]) == match


# What is read of markup

PIECES = st.sampled_from(
    [
        "**",
        "*",
        "`",
        "[",
        "](",
        ")",
        "<b>",
        "</b>",
        "<br>",
        "{% x %}",
        "_",
        "\n",
        "---\n",
        "```",
        "a",
        " b ",
        "文",
        "😀",
        "\\",
        "|",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_prose_keeps_its_offsets(source):
    read = prose.read(source)
    assert len(read.offsets) == len(read.text)
    assert list(read.offsets) == sorted(read.offsets)
    assert all(source[at] == c or c == "\n" for c, at in zip(read.text, read.offsets, strict=True))
    assert read.within(0, len(source)) == (0, len(read.text))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("See **the [list](a_(b).md)** and `x_y`.", "See the list and x_y."),
        ("_Note_ that snake_case_names stay, 4*5*6 too.", "Note that snake_case_names stay, 4*5*6 too."),
        ("---\ntitle: x\n---\nBody", "\nBody"),
        ("A<br>B <span style='x'>C</span>", "A\nB C"),
        ("Before ```\ncode\n``` after", "Before \n after"),
        ("![picture](x.png)[link]({% page 'a' %})", "link"),
        ("【强制】**类名**使用`Upper`风格", "【强制】类名使用Upper风格"),
    ],
)
def test_prose(source, text):
    assert prose.read(source).text == text


# Without a model


def best(sentence, lang):
    [words] = parse([sentence], lang)
    candidates = phrasing.questions(sentence, words, lang)
    return (candidates[0].question, candidates[0].answer) if candidates else None


@pytest.mark.model
@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("The loan period is 21 days.", "How many days is the loan period?", "21 days"),
        (
            "You must submit the signed request within five business days.",
            "Within how many business days must you submit the signed request?",
            "five business days",
        ),
        (
            "The county library was founded by Maria Keller in Springfield in 1923.",
            "When was the county library founded by Maria Keller in Springfield?",
            "1923",
        ),
        ("Submit the signed timecard by Friday.", "By when should you submit the signed timecard?", "Friday"),
        (
            "The map office opened a second branch because demand had doubled.",
            "Why did the map office open a second branch?",
            "because demand had doubled",
        ),
        (
            "If you leave the summit, you cannot receive the night allowance.",
            "If you leave the summit, what can you not receive?",
            "the night allowance",
        ),
        (
            "The parish committee meets every two weeks in the old town hall.",
            "How often does the parish committee meet in the old town hall?",
            "every two weeks",
        ),
    ],
)
def test_english_sentences_are_turned_round(sentence, question, answer):
    assert best(sentence, "en") == (question, answer)


def every(sentence, lang="en"):
    [words] = parse([sentence], lang)
    return [(candidate.question, candidate.answer) for candidate in phrasing.questions(sentence, words, lang)]


@pytest.mark.model
def test_verbs_become_singular_where_the_subject_is_asked_for():
    made = every("Snow chains are kept in the garage beside the old lodge.")
    assert ("What is kept in the garage beside the old lodge?", "Snow chains") in made


@pytest.mark.model
@pytest.mark.parametrize(
    ("sentence", "wh"),
    [
        ("Ada Lovelace wrote the first published program in London.", {"Who"}),
        ("Anyone who leaves the summit lodge must sign the green book.", {"Who"}),
        ("Paper maps are kept in the second drawer of the oak desk.", {"What"}),
        ("Site supervisors approve all leave requests.", set()),  # a person or not: grammar does not tell
        ("The old compiler checks all leave requests.", set()),
        ("The Harlow Foundation pays for the second dome.", {"What"}),  # an organisation is no person
        ("Night guides carry two red lamps on every tour.", set()),
    ],
)
def test_a_subject_is_asked_for_where_grammar_tells_who_from_what(sentence, wh):
    asked_for = {question.split()[0] for question, answer in every(sentence) if sentence.startswith(answer)}
    assert asked_for == wh


@pytest.mark.model
@pytest.mark.parametrize(
    "sentence",
    [
        "The course begins on Monday in the old town hall.",  # which course?
        "The map desk can be reached at extension 2040 at all hours.",  # a number, not a time
        "Paper maps are lent to all visitors of the second dome.",  # "What are paper maps lent to?"
        "The Karst observatory announced its intention to close the second dome.",  # "its intention" answers nothing
    ],
)
def test_what_would_be_asked_badly_is_not_asked(sentence):
    for question, answer in every(sentence):
        assert not question.startswith("When") or answer == "Monday"
        assert not question.rstrip("?").endswith((" to", " in", " at", " with", " by", " on"))
        assert not answer.startswith("its")
        assert "course begin" not in question


@pytest.mark.model
def test_a_preposition_goes_with_its_question_word():
    made = dict(every("The county library was founded by Maria Keller in 1923."))
    assert made["By whom was the county library founded in 1923?"] == "Maria Keller"


@pytest.mark.model
@pytest.mark.parametrize(
    "sentence",
    ["It must be sent to them by Friday.", "This form records the estimated amount.", "Thank you!", "# 12 / {}", ""],
)
def test_what_cannot_be_understood_alone_is_not_asked(sentence):
    assert best(sentence, "en") is None


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("日志文件推荐至少保存15天，因为有些异常具备以周为频次发生的特点。", "日志文件推荐至少保存多少天？", "15天"),
        ("线上应用不要依赖SNAPSHOT版本。", "线上应用不要依赖什么？", "SNAPSHOT版本"),
        ("公立学校的教师必须拥有学士学位。", "公立学校的教师必须拥有什么？", "学士学位"),
    ],
)
def test_chinese_asks_in_place(sentence, question, answer):
    assert best(sentence, "zh") == (question, answer)


@pytest.mark.parametrize(
    "sentence",
    [
        *("它必须在周五之前提交。", "如下所示的内容需要注意什么？", "因为这样。", ""),
        *("1785年，他向爱丁堡皇家学会提交了一篇论文。", "使用数据库函数来恢复社区的形象。"),  # who or what does it?
    ],
)
def test_chinese_that_points_elsewhere_is_not_asked(sentence):
    assert best(sentence, "zh") is None


def test_chinese_never_asks_why_for_what():
    made = every("数据库的查询结果可能为空值。", "zh")
    assert [question for question, _ in made if "为什么" in question] == []


def test_joined():
    parts = [
        Candidate("In May, who pays?", "Ann", 5),
        Candidate("Who signs?", "Bo", 4),
        Candidate("GSA pays how much?", "$5", 6),
    ]
    together = phrasing.joined(parts, "en")
    assert together.question == "In May, who pays; who signs; and GSA pays how much?"
    assert (together.answer, together.score) == ("Ann; Bo; $5", 4)
    assert phrasing.joined(parts[1:2] * 2, "zh").question == "Who signs；Who signs？"
