"""Styles of questions that need no model: keywords, circumstances, errors of typing."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest

from ragviz.generation import styles
from ragviz.generation.styles import styled
from ragviz.questions.question_types import STYLES

KEYWORDS = {
    "en": {
        "For how many days does the desk lend maps?": "days desk lend maps",
        "Who approves expenses over $5,000?": "approves expenses $5,000",
        "Which plan does not include e-mail support?": "plan not include e-mail support",
        "How long must records be kept?": "how long records kept",
        "What should you do if the server doesn't answer within 5 minutes?": "server not answer 5 minutes",
        "When was the Department of Labor moved to 12 Main Street?": "Department of Labor moved 12 Main Street",
    },
    "zh": {
        "谁负责审批预算超过五万元的项目？": "负责 审批 预算 超过 五万元 项目",
        "试用期最长不得超过多少个月？": "试用期 最长 不得 超过",
        "什么时候提交报销单？": "提交 报销单",
        "南京市长江大桥位于哪里？": "南京市 长江大桥 位于",
        "联系人的电话是多少？": "联系人 电话",
        "百分之多少的用户没有完成注册？": "用户 没有 完成 注册",
        "2024年3月发布的版本为什么不支持 Python 3.8？": "2024年3月 发布 版本 不 支持 Python 3.8",
    },
}
MISSPELT = {
    "en": [
        "What happens when the monthly allowance of the Springfield office exceeds 12,500 dollars?",
        "Which documents must travellers present before boarding the Rotterdam ferry in 2024?",
        "How often does Margaret Thornton review the procedures for emergency evacuation?",
    ],
    "zh": [
        "员工每年可以申请多少天的陪产假？",
        "王小明在2023年5月提交的报销申请需要谁审批？",
        "北京分公司的服务器必须在几分钟内完成备份？",
    ],
}
CASES = [(language, text) for language, texts in MISSPELT.items() for text in texts]


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language in KEYWORDS for text in KEYWORDS[language]]
)
def test_keywords_are_the_words_that_mean_something(language: str, text: str) -> None:
    assert styled(text, "keywords", language) == KEYWORDS[language][text]


@pytest.mark.parametrize(
    ("text", "language"), [("Who is it?", "en"), ("为什么？", "zh"), ("", "en"), ("Wer zahlt?", "de")]
)
def test_a_question_without_content_has_no_keywords(text: str, language: str) -> None:
    assert styled(text, "keywords", language) is None


@pytest.mark.parametrize(
    ("text", "language"), [("What is the ref?", "en"), ("ref 是什么？", "zh"), ("报销单是什么？", "zh")]
)
def test_one_word_is_no_search(text: str, language: str) -> None:
    assert styled(text, "keywords", language) is None


def test_words_of_a_file_name_are_no_keywords_and_those_of_a_title_are() -> None:
    text = "In “rules pier 6 built north”, who paints the crane?"
    assert styled(text, "keywords", "en", file_name="rules pier 6 built north") == "paints crane"
    assert styled(text, "keywords", "en") == "rules pier 6 built north paints crane"
    assert styled("In “rules pier 6”, what is the ref?", "keywords", "en", file_name="rules pier 6") is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_as_a_colleague_asks_is_as_it_is_and_what_needs_a_model_is_not_made(language: str) -> None:
    text = MISSPELT[language][0]
    assert styled(text, "colleague", language) == text
    assert all(styled(text, name, language) is None for name, spec in STYLES.items() if spec.needs_model)


def test_circumstances_are_the_last_heading_without_its_number() -> None:
    long = styled("How much is it?", "long", "en", section="Handbook > Chapter 2 Travel > 2.3 Train tickets", key="a")
    assert long is not None
    assert long.endswith(" How much is it?")
    assert "“Train tickets”, a part of “Travel”" in long
    chinese = styled("最多可以报销多少元？", "long", "zh", section="第二章 差旅 > 2.3 火车票", key="a")
    assert chinese is not None
    assert chinese.endswith("最多可以报销多少元？")
    assert "“差旅”中“火车票”" in chinese


def test_without_a_section_the_question_says_what_it_is_about() -> None:
    long = styled("For how many days does the desk lend maps?", "long", "en")
    assert long is not None
    assert re.search("“(desk|maps)”", long)
    assert "“连接池" in str(styled("连接池的默认大小是多少？", "long", "zh"))
    assert styled("Why?", "long", "en") is None
    assert styled("为什么？", "long", "zh", section="12 > 3.") is None, "a number names nothing"


@pytest.mark.parametrize(("language", "text"), CASES)
def test_errors_of_typing_are_few_and_leave_names_and_numbers(language: str, text: str) -> None:
    names = [*re.findall(r"[A-Z][a-z]+|\d[\d,]*", text.removeprefix(text.split()[0])), "王小明", "北京"]
    seen = set()
    for seed in range(60):
        typed = styled(text, "misspelt", language, seed=seed, key="q")
        assert typed is not None
        assert typed != text
        assert all(typed.count(name) == text.count(name) for name in names)
        assert 1 <= _changed_words(text, typed, language) <= styles.ERRORS
        seen.add(typed)
    assert len(seen) > 5, "the seed decides"


def _changed_words(text: str, typed: str, language: str) -> int:
    """Words that differ; of Chinese, runs of differing characters, one error being one or two of them."""
    if language == "en":
        pairs = list(zip(text.split(), typed.split(), strict=True))
        changed = [(left, right) for left, right in pairs if left != right]
        assert all(left[0] == right[0] and abs(len(left) - len(right)) <= 1 for left, right in changed)
        assert all(len(left.strip("?,.")) >= 5 for left, _ in changed)
        return len(changed)
    assert len(text) == len(typed)
    blocks = SequenceMatcher(None, text, typed, autojunk=False).get_opcodes()
    places = sorted(at for kind, start, end, *_ in blocks if kind != "equal" for at in range(start, end) or [start])
    return sum(1 for at, after in zip(places, [*places[1:], 10_000], strict=True) if after - at > 3)


def test_the_same_seed_and_key_give_the_same_text() -> None:
    text = MISSPELT["en"][0]
    again = {styled(text, "misspelt", "en", seed=3, key="q7") for _ in range(5)}
    assert len(again) == 1
    assert len({styled(text, "misspelt", "en", seed=3, key=f"q{n}") for n in range(20)}) > 5, "the key decides too"


def test_only_words_of_five_letters_are_misspelt_and_no_code() -> None:
    assert styled("Who has to pay the fee?", "misspelt", "en") is None
    assert styled("What does `max_connections` in settings.py set?", "misspelt", "en") is None


@pytest.mark.parametrize("word", ["maintain", "aaaaa", "books", "zzzzzzz"])
def test_a_mistyped_word_differs_by_one_error(word: str) -> None:
    import random

    for seed in range(50):
        typed = styles._mistyped(word, random.Random(seed))
        assert typed != word
        assert typed[0] == word[0]
        assert abs(len(typed) - len(word)) <= 1
        if len(typed) == len(word):
            differing = [at for at in range(len(word)) if word[at] != typed[at]]
            swapped = len(differing) == 2 and differing[1] == differing[0] + 1
            assert len(differing) == 1 or (swapped and sorted(word) == sorted(typed))


def test_neighbouring_keys_are_neighbours() -> None:
    assert styles._NEIGHBOURS["s"] >= {"a", "d", "w", "e", "z", "x"}
    assert not styles._NEIGHBOURS["q"] & set("epl")


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Regarding rent in “Boat fares”, who pays the deposit?", "rent Boat fares pays deposit"),
        ("In “Boat fares”, what is listed for “Rowing boat” under “Deposit”?", "Boat fares Rowing boat Deposit"),
        ("What does the form regarding deposits list?", "form regarding deposits list"),
    ],
)
def test_keywords_leave_out_words_of_the_question_s_form(text, keywords):
    assert styled(text, "keywords", "en") == keywords


@pytest.mark.model
def test_keywords_have_no_quotation_marks():
    assert "「" not in str(styled("在「港口船费」中，可以查询什么？", "keywords", "zh"))


@pytest.mark.model
def test_circumstances_name_the_topic_instead_of_the_question():
    text = "Regarding rent in “Boat fares”, who pays the deposit?"
    long = styled(text, "long", "en", section="Boats > Rent", key="a")
    assert long.count("rent in “Boat fares”") == 1
    assert long.endswith(" Who pays the deposit?")
    other = styled("Who pays the rent in “Boat fares”?", "long", "en", section="Boats > Rent", key="a")
    assert "“Rent”, a part of “Boats”" in other
    assert other.endswith(" Who pays the rent in “Boat fares”?")
