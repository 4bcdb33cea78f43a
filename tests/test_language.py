"""Languages, words, sentences and key phrases against results worked out by hand, in English and Chinese."""

import marshal
import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.text import keyphrases, language, segmentation, words
from tests.builders import ROOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the capital of France?", "en"),
        ("法国的首都是哪里？", "zh"),
        ("使用 `ThreadPoolExecutor` 创建线程池，不允许使用 Executors 去创建。", "zh"),
        ("The name 北京 means northern capital, and it is the seat of the government.", "en"),
        ("これは日本語の文章です。", "ja"),
        ("이것은 한국어 문장입니다.", "ko"),
        ("Это предложение на русском языке.", "ru"),
        ("Це речення українською мовою, її видно.", "uk"),
        ("این یک جملهٔ فارسی است، پس گچ", "fa"),
        ("זה משפט בעברית", "he"),
        ("Der Hund ist nicht hier, und die Katze auch nicht.", "de"),
        ("", "und"),
        ("42 + 17 = 59", "und"),
        ("👍🏽 🎉", "und"),
        ("Kubernetes Postgres", "und"),
    ],
)
def test_detect(text, expected):
    assert language.detect(text) == expected


def question_of(answer, marked="und", text="Who?", evidence=""):
    spans = ((Span("d", 0, len(evidence), evidence),),) if evidence else ()
    return Question("q", text, answer, spans, "import", language=marked)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (question_of("Bible", "en"), "en"),
        (question_of("Los Angeles"), "en"),
        (question_of("Kaiser", "de"), "de"),
        (question_of("Kaiser", evidence="Der Kaiser ist nicht in der Stadt."), "de"),
        (question_of("42", text="这座桥有多少米？"), "zh"),
        (question_of("PyTorch", "zh"), "zh"),
        (question_of("南京市长江大桥", "en"), "zh"),  # a reference in another script than its question
        (question_of("Beijing (北京)", "en"), "en"),
        (question_of("東京", "ja"), "ja"),  # Han letters alone do not make it Chinese
        (question_of("", "en"), "en"),
        (question_of("", ""), "en"),
    ],
)
def test_the_language_of_answers_is_the_questions(question, expected):
    assert language.of_answers(question) == expected


# Words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower", ["eiffel", "tower"]),
        ("a theatre; an Anthem, The end.", ["theatre", "anthem", "end"]),
        ("U.S.A. won 3.5% — in 1,200 m", ["usa", "won", "35", "—", "in", "1200", "m"]),
        ("don't", ["dont"]),
        ("state-of-the-art", ["stateoftheart"]),
        ("the", []),
        ("?!", []),
        ("", []),
    ],
)
def test_english_tokens(text, expected):
    assert words.tokens(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我来到北京清华大学。", ["我", "来到", "北京", "清华大学"]),
        ("他说：“你好！”", ["他", "说", "你好"]),
        ("ＧＰＴ－４的准确率是９９．５％", ["gpt", "4", "的", "准确率", "是", "99.5%"]),
        ("《红楼梦》", ["红楼梦"]),
        ("，。！？", []),
        ("  ", []),
    ],
)
def test_chinese_tokens(text, expected):
    assert words.tokens(text, "zh") == expected


# Sentences


def cut(text, lang="en"):
    return [text[start:end] for start, end in segmentation.sentences(text, lang)]


@pytest.mark.parametrize(
    "expected",
    [
        ["One.", "Two!", "Three?", "Four"],
        ["Dr. Li met Mr. and Mrs. J. K. Smith at St. Mary's.", "They left."],
        ["It rose by 3.5 percent to $1.2 million.", "In 2020 it fell."],
        ["See Fig. 2, Sec. 3.1 and e.g. p. 12.", "Then stop."],
        ["The U.S. economy grew.", "He lives in the U.S.", "He works there at 5 p.m. on Jan. 5."],
        ["Is it no.", "Then why?", "No. 5 is alive."],
        ['"Really?" he asked.', '"Yes."', "She left."],
        ["Install Python 3.11 from python.org.", "Then run app.py."],
        ["Wait... what?", "Well...", "Then it ended."],
        ["It is known.[1]", "It is disputed.[2][3]", "The end."],
        ["He won (again).", "**She lost.**", "Nobody cared!!"],
    ],
)
def test_english_sentences(expected):
    assert cut(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["他来了。", "她走了！", "真的吗？", "好的"],
        ["他说：“你好。”", "然后走了。"],
        ["版本3.5发布于2020年。", "文件在 app.py 中；", "完毕。"],
        ["（参见第二章。）", "下面继续！！", "是吗?!", "对。"],
        ["他想了想……没有说话。"],  # an ellipsis without a blank goes on
    ],
)
def test_chinese_sentences(expected):
    assert cut("".join(expected), "zh") == expected


PIECES = [
    *(
        "One. ", "two, ", "Dr. Li ", "3.5", "U.S. ", "etc. ", "?! ", "... ", '"', "”", "[1]", "。", "！", "；", "你好",
        "“",
    ),
    *(
        "\n", "\r\n", "\n\n", "\u2028", "\x0c", " ", "\u3000", "# ", "- ", "1. ", "> ", "|", "---", "```", "👨‍👩‍👧",
        "e\u0301", "\ud800",
    ),
    *("שלום", "\u200b", "A long enough line that looks as if it had been wrapped by a program"),
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join)


@settings(max_examples=200)
@given(texts, st.sampled_from(["en", "zh", "de"]))
def test_sentences_are_exact_ordered_and_leave_out_no_word(text, lang):
    spans = segmentation.sentences(text, lang)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    inside = {i for start, end in spans for i in range(start, end)}
    left_out = "".join(c for i, c in enumerate(text) if i not in inside)
    assert not re.search(r"[^\W\dxX_]", left_out), left_out


# Key phrases


@pytest.mark.model
def test_english_key_phrases():
    text = (
        "## Travel\nThe **General Services Administration** (GSA) reimburses up to $59 per day for meals in "
        "Washington. Ms. Jane Doe of the 18F team approved the new policy on March 3, 2021; it covers about 40% of "
        "all trips."
    )
    [phrases] = keyphrases.key_phrases([text], "en")
    kinds = {p.text: p.kind for p in phrases}
    assert kinds["Washington"] == "entity:GPE"
    assert kinds["Jane Doe"] == "entity:PERSON"
    assert kinds["March 3, 2021"] == "date"
    assert kinds["about 40%"] == "number"
    assert kinds["new policy"] == "noun"  # without its article
    assert "it" not in kinds
    check_phrases(text, phrases)


def test_chinese_key_phrases():
    text = (
        "北京大学创建于1898年7月3日，位于北京市海淀区，占地面积约274万平方米。"
        "数据库连接池的默认大小是10个，超时时间为30秒，成功率99.9%。约有三百人参加了第十二届运动会。"
    )
    [phrases] = keyphrases.key_phrases([text], "zh")
    kinds = {p.text: p.kind for p in phrases}
    assert kinds["北京大学"] == "entity:ORG"
    assert kinds["北京市海淀区"] == "entity:GPE"
    assert kinds["1898年7月3日"] == "date"
    assert kinds["数据库连接池"] == "noun"  # three words of jieba in one
    assert [p.text for p in phrases if p.kind == "number"] == [
        "274万平方米", "10个", "30秒", "99.9%", "三百人", "第十二届",
    ]  # fmt: skip
    check_phrases(text, phrases)


def check_phrases(text, phrases):
    assert all(text[p.start : p.end] == p.text == p.text.strip() != "" for p in phrases)
    assert all(left.end <= right.start for left, right in pairwise(phrases))


def test_jiebas_dictionary_is_read_from_no_cache_that_others_could_write(tmp_path):
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"京市": 10**6, "南京市": 1}, 10**6)))
    words = "import jieba; from ragviz.text import words; print(words.tokens('南京市的长江大桥', 'zh'))"
    env = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", words], env=env, capture_output=True, check=True)
    assert (done.stdout.decode().strip(), done.stderr) == ("['南京市', '的', '长江大桥']", b"")
    assert [file.name for file in tmp_path.iterdir()] == ["jieba.cache"]
