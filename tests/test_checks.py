"""Replies against their texts: what no honest reading yields is refused, a terse or free wording is not."""

import pytest

from ragviz.judging import banks, checks
from ragviz.judging.claims import (
    ClaimsReply,
    claims_request,
)

EN = (
    "When was the north pump replaced, and by whom?",
    "Harlow swapped it out in 1998 after it had leaked for 7 weeks.",
)
ZH = ("北阀门是哪一年更换的？", "它于2021年更换，负责人是王芳，费用为三万元。")

GOOD_CLAIMS = [
    (*EN, ["Harlow replaced the north pump in 1998.", "The north pump had leaked for seven weeks."]),
    (*EN, ["Harlow swapped it out in 1998.", "It had leaked for 7 weeks."]),
    (*EN, ["replaced 1998", "replaced by Harlow", "leaked 7 weeks"]),  # terse
    (*EN, ["The replacement of the north pump by Harlow took place in nineteen ninety-eight."]),
    (*ZH, ["北阀门于2021年更换。", "更换北阀门的负责人是王芳。", "更换北阀门的费用为30000元。"]),
    (*ZH, ["2021年更换", "王芳负责"]),
    ("When was the pump replaced?", "1998", ["The pump was replaced in 1998."]),
    ("When was the pump replaced?", "1998", ["1998"]),
    ("哪一年更换的？", "2021年", ["阀门是2021年更换的。"]),
    ("Is the reservoir open on Sundays?", "No.", ["The reservoir is not open on Sundays."]),
    ("Which country?", "The UK", ["The country is the United Kingdom."]),
    ("数据库用什么？", "MySQL 5.7", ["数据库使用 MySQL 5.7。"]),
    ("What is it?", "Der Behälter fasst 300 Liter Wasser.", ["Der Behälter fasst 300 Liter Wasser."]),
    ("何ですか？", "水槽の容量は三百リットルです。", ["水槽の容量は三百リットルである。"]),
    # Words that name fields of the schema are words of texts too.
    ("Who pays?", "Claims under the key contract are paid by Ada.", ["Ada pays the claims under the key contract."]),
    ("When?", "The passages do not tell when the pump was replaced.", []),
    ("何时？", "文中没有提到更换时间。", []),
]
BAD_CLAIMS = [
    (*EN, [], "without a claim"),
    (*EN, list("Harlow"), "single letters or words"),
    (*EN, ["Harlow", "1998", "weeks"], "single letters or words"),
    (*EN, ["yes"], "single letters or words"),
    (*EN, ["哈洛在1998年更换了水泵。"], "another language"),
    (*EN, ["Dogs stay outside on Sundays.", "Cats may come in."], "does not make"),
    (*EN, ["Harlow swapped it out in 1998."] * 5, "repeat an earlier one"),
    (*EN, ["The full sentence, in the language of the text."], "copied from the schema"),
    (*EN, ["One fact of the text as a full sentence of its own."], "copied from the schema"),
    (*ZH, [], "without a claim"),
    (*ZH, list("它于2021年更换"), "single letters or words"),
    (*ZH, ["The north valve was replaced in 2021.", "Wang Fang was in charge."], "another language"),
    (*ZH, ["狗不许进入餐厅。"], "does not make"),
    ("When was the pump replaced?", "1998", [], "without a claim"),
]


@pytest.mark.parametrize(("question", "text", "claims"), GOOD_CLAIMS)
def test_what_an_honest_judge_says_is_taken(question, text, claims):
    assert checks.claims_problem(claims, text, question, ClaimsReply) == ""


@pytest.mark.parametrize(("question", "text", "claims", "why"), BAD_CLAIMS)
def test_what_no_reading_gives_is_refused(question, text, claims, why):
    assert why in checks.claims_problem(claims, text, question, ClaimsReply)


def test_one_odd_claim_among_good_ones_is_no_reason_to_refuse():
    question, text = EN
    claims = [
        "Harlow replaced the north pump in 1998.",
        "The old apparatus dripped.",
        "The pump had leaked for 7 weeks.",
    ]
    assert checks.claims_problem(claims, text, question, ClaimsReply) == ""


@pytest.mark.parametrize(
    ("pairs", "reference", "why"),
    [
        ([("Harlow", "Who swapped the pump?"), ("1998", "In which year was it?")], EN[1], ""),
        ([("王芳", "谁负责更换？"), ("2021年", "哪一年更换的？")], ZH[1], ""),
        ([("1998", "In which year was the pump replaced?")], "1998", ""),
        ([], EN[1], "without a question"),
        ([], "…", ""),
        ([(c, c) for c in "Harlow"], EN[1], "single letters or words"),
        ([(c, c) for c in "负责人是王芳"], ZH[1], "single letters or words"),
        ([("red key", "With which key is the valve opened?")], "The valve is opened with the red key.", ""),
        ([("Harlow", "谁更换了水泵？")], EN[1], "another language"),
        ([("yes", "Do dogs stay outside?")], EN[1], "something else"),
        ([("x", "A full question, in the language of the reference.")], EN[1], "copied from the schema"),
        ([("Harlow", "Who was it?")] * 6, EN[1], "repeat an earlier one"),
    ],
)
def test_a_bank_is_about_its_reference(pairs, reference, why):
    problem = checks.bank_problem(pairs, reference, banks.BankReply)
    assert why in problem
    assert bool(problem) == bool(why)


@pytest.mark.parametrize(
    ("answers", "text", "why"),
    [
        ([("Who?", "Harlow"), ("When?", "1998"), ("How long did it leak?", "seven weeks")], EN[1], ""),
        ([("Who?", None), ("When?", "in '98")], EN[1], ""),
        ([("Was it Harlow?", "yes")], EN[1], ""),
        ([("是王芳吗？", "是")], ZH[1], ""),
        ([("Who?", "yes"), ("When?", "yes")], EN[1], "does not hold"),
        ([("Who?", "yes")], "Two eyes see more.", "does not hold"),
        ([("谁？", "是的"), ("何时？", "是的")], "王芳于2021年更换了阀门。", "does not hold"),
        ([], EN[1], "answers none"),
        ([("Who?", None), ("When?", None)], EN[1], "the very text"),
        ([("Which extension is it?", None)], "2222", ""),
    ],
)
def test_answers_occur_in_their_text(answers, text, why):
    problem = checks.answers_problem(answers, text, own=True)
    assert why in problem
    assert bool(problem) == bool(why)


@pytest.mark.parametrize(
    ("text", "evasive"),
    [
        ("Harlow replaced the north pump in 1998, for 40 euros.", False),
        ("王芳于2021年更换了北阀门。", False),
        ("It depends on the model.", True),
        ("I do not know.", True),
        ("请咨询管理员。", True),
        ("无法确定。", True),
    ],
)
def test_a_refusal_must_be_one(text, evasive):
    request = claims_request("When was it replaced?", text)
    reply = ClaimsReply(claims=[], questions=[], noncommittal=True)
    assert ("commits itself" in request.check(reply)) == (not evasive)
