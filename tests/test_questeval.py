"""RAGQuestEval: numbers by hand, the public banks, a model over real HTTP, and the key phrases without one."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragviz.core.verdict import Bank, BankItem
from ragviz.judging.banks import AnswersReply, ReadAnswer, read_answers, read_banks
from ragviz.judging.similarities import extractive_answers, made_banks
from ragviz.metrics.questeval import crud, measure

OWN = Path(__file__).parent / "data" / "banks.json"
PUBLIC = Path(__file__).resolve().parents[2] / "shared/data/questeval/QuestAnswer2Docs_quest_gt_save.json"
public = pytest.mark.skipif(not PUBLIC.is_file(), reason=f"no public banks at {PUBLIC}")

TOWER = "The Shukhov Tower in Moscow was built in 1922. It is 160 metres high and weighs 1,200 tonnes."
BRIDGE = "南京市长江大桥建于1968年，全长6,772米。上海市体育局发放了总额500万元的体育消费券。"


def bank_of(*answers, language="en"):
    items = tuple(BankItem(f"key {n}", f"Question {n}?", answer) for n, answer in enumerate(answers))
    return Bank(items, language, "import")


# The numbers


def test_both_denominators_and_what_the_reference_does_not_answer():
    """|Q| = 5, |A| = 4, |B| = 2; the generated text's answer to the question outside A counts nowhere."""
    measured = measure(bank_of("1931", "Paris", "red", "blue", None), ["in 1931", "Paris", None, None, "green"])
    assert measured.f1 == (pytest.approx(2 / 3), 1.0, None, None, None)
    assert (measured.questions, measured.answerable, measured.answered) == (5, 4, 2)
    assert measured.recall == 0.5
    assert measured.precision == pytest.approx(5 / 6)
    assert measured.recall_over_questions == pytest.approx(2 / 5)
    assert measured.precision_over_questions == pytest.approx(5 / 3 / 5)
    assert measured.quality == pytest.approx(0.2)


def test_chinese_answers_are_compared_by_jiebas_words():
    """南京市|长江大桥 against 长江大桥: 1 of 2, 1 of 1."""
    measured = measure(bank_of("长江大桥", "１９６８年", language="zh"), ["南京市长江大桥", "1968年。"])
    assert measured.f1 == (pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize(
    ("reference", "generated", "expected"),
    [
        (["上海市", "500万元", "无法推断"], ["上海市", "无法推断", "成都"], (1.0, 0.5)),
        (["上海市"], ["上海市。"], (2 / 3, 1.0)),  # the full stop is a token: 1 of 2 and 1 of 1
        (["Tower"], ["tower"], (0.0, 1.0)),  # capitals count
        (["a b"], ["a c"], (2 / 3, 1.0)),  # "a", " " and a letter: the blank is a token too, 2 of 3 and 2 of 3
        (["无法推断"], ["上海市"], (0.0, 0.0)),
        (["上海市", "无法推断"], ["上海市"], (1.0, 1.0)),  # too few, but none that counts is missing
        (["上海市"], ["上海市", "成都市"], (1.0, 1.0)),  # too many
        (["无法推断。"], ["上海市"], (0.0, 1.0)),  # only these four characters and nothing else are unanswerable
        (["", "上海市"], ["上海市", "上海市"], (0.5, 1.0)),
    ],
)
def test_crud_by_hand(reference, generated, expected):
    assert crud(reference, generated) == pytest.approx(expected)


UNANSWERABLE = "无法推断"


@pytest.mark.parametrize(
    ("file", "items", "uneven_items", "unanswerable", "unanswerable_kept"),
    [(OWN, 16, 3, 7, 6), pytest.param(PUBLIC, 800, 18, 312, 310, marks=public)],
    ids=["own", "public"],
)
def test_banks_in_the_layout_of_the_public_ones(file, items, uneven_items, unanswerable, unanswerable_kept):
    raw = json.loads(file.read_text(encoding="utf-8"))
    imported = read_banks(file.read_bytes())
    assert len(raw) == items
    assert len(imported.banks) == items - uneven_items
    assert len(imported.problems) == uneven_items
    uneven = {name for name, item in raw.items() if len(item["question"]) != len(item["answers"])}
    assert uneven == raw.keys() - imported.banks.keys()
    assert all(any(f"'{name}'" in problem for problem in imported.problems) for name in uneven)
    assert sum(answer == UNANSWERABLE for item in raw.values() for answer in item["answers"]) == unanswerable
    assert sum(item.answer is None for bank in imported.banks.values() for item in bank.items) == unanswerable_kept
    assert {bank.language for bank in imported.banks.values()} == {"zh"}
    for name, bank in imported.banks.items():
        assert [item.question for item in bank.items] == raw[name]["question"]
        assert [item.answer or UNANSWERABLE for item in bank.items] == raw[name]["answers"]


def test_answers_are_read_by_number():
    entries = (
        (3, True, "third"),
        (1, True, " the \n first "),
        (2, False, "made up"),
        (4, True, ""),  # neither one nor the other
        (1, True, "again"),
        (6, True, "<Unanswerable>"),
        (7, True, "无法推断。"),
        (9, True, "never asked"),
        (0, True, "no number"),
    )
    read = [ReadAnswer(number=n, answerable=able, answer=answer) for n, able, answer in entries]
    answers, missed = read_answers(AnswersReply(answers=read), 8)
    assert answers == {0: "the first", 1: None, 2: "third", 5: None, 6: None}
    assert missed == [3, 4, 7]


# Without a model


def test_extractive_bank_in_english():
    [bank] = made_banks([TOWER], "en")
    assert [(item.question, item.answer) for item in bank.items] == [
        ("The ____ in Moscow was built in 1922.", "Shukhov Tower"),
        ("The Shukhov Tower in ____ was built in 1922.", "Moscow"),
        ("The Shukhov Tower in Moscow was built in ____.", "1922"),
        ("It is ____ high and weighs 1,200 tonnes.", "160 metres"),
        ("It is 160 metres high and weighs ____.", "1,200 tonnes"),
    ]
    assert (bank.language, bank.maker, bank.version) == ("en", "extractive", "1")


def test_extractive_bank_in_chinese():
    question_of = {item.answer: item.question for item in made_banks([BRIDGE], "zh")[0].items}
    assert question_of["1968年"] == "南京市长江大桥建于____，全长6,772米。"
    assert question_of["6,772米"] == "南京市长江大桥建于1968年，全长____。"
    assert question_of["500万元"] == "上海市体育局发放了总额____的体育消费券。"
    assert next(iter(question_of)) == "南京市长江大桥"


FACTS = {
    "en": [
        TOWER, "The U.S. Army paid $3.5 million.", "Dr. Li's well-known [study](http://a.b/c)",
        "Use `c++` in **5%** of it.", "Mr. O’Brien", "\n\n", "# Rates in 2019",
    ],
    "zh": [
        BRIDGE, "中国人民银行2023年5月12日宣布", "张伟东参加会议。", "增长3.5%，",
        "研究生命起源", "大学生", "（１，０００人）", "\n\n",
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@settings(max_examples=40)
@given(data=st.data())
def test_the_reference_answers_every_question_of_its_bank(language, data):
    text = " ".join(data.draw(st.lists(st.sampled_from(FACTS[language]), max_size=5)))
    text += data.draw(st.text(alphabet=text + "的市1,.（）", max_size=10))
    [bank] = made_banks([text], language)
    answers = [item.answer for item in bank.items]
    assert list(extractive_answers(bank, text)) == answers
    assert extractive_answers(bank, "") == (None,) * len(answers)
    assert max(Counter(answers).values(), default=1) == 1
    assert all(
        "____" in item.question or item.question in ("What is the answer?", "答案是什么？") for item in bank.items
    )
    measured = measure(bank, extractive_answers(bank, text))
    assert (measured.recall, measured.precision) == ((1.0, 1.0) if answers else (None, None))
