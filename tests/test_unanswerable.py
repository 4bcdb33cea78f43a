"""Unanswerable questions: swaps against planted corpora; a swap that happens to be true is refused."""

import re

import pytest

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.generation import entities, joined_claims
from ragviz.generation.exact_search import ExactSearch
from ragviz.generation.unanswerable import absent, unanswerables

pytestmark = pytest.mark.model


def document(name, text, language="en"):
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "h", len(text))


def claim(of, quote, question, answer, subject="", names=(), **more):
    start = of.text.index(quote)
    values = {"type": "fact", "statement": " ".join(quote.split()), "language": of.language, "score": 8.0} | more
    return SourceClaim(
        of.id, start, start + len(quote), quote, question=question, answer=answer, subject=subject,
        entities=tuple(names), **values,
    )  # fmt: skip


def swapped(*pairs, seed=0):
    return list(unanswerables(entities.read([(of, list(own)) for of, own in pairs]), seed))


LEADS = "Ida Brandt leads the Rope Guild."
FUNDED = "The Stone Guild was founded in 1912 by masons."
ROPE = document("rope.md", f"# Rope\n\n{LEADS}\n\nIts hall is blue.")
STONE = document("stone.md", f"# Stone\n\n{FUNDED}\n\nThe Stone Guild has forty members.")
WHO_LEADS = claim(ROPE, LEADS, "Who leads the Rope Guild?", "Ida Brandt", "Rope Guild")
HOW_MANY = claim(STONE, "The Stone Guild has forty members.", "How many members does the Stone Guild have?",
                 "forty members", "Stone Guild")  # fmt: skip


def test_an_entity_is_swapped_for_another_of_its_kind():
    drafts = swapped((ROPE, [WHO_LEADS]), (STONE, [HOW_MANY]))
    assert {(draft.question, draft.swapped) for draft in drafts} == {
        ("Who leads the Stone Guild?", ("Rope Guild", "Stone Guild")),
        ("How many members does the Rope Guild have?", ("Stone Guild", "Rope Guild")),
    }
    assert all((draft.answer, draft.claims, draft.type) == ("", (), "unanswerable") for draft in drafts)


def test_a_common_noun_is_not_swapped():
    pairs = [(ROPE, [WHO_LEADS]), (STONE, [HOW_MANY])]
    lowered = []
    for of, [own] in pairs:
        text = of.text.replace(" Guild", " guild").replace("Rope g", "rope g").replace("Stone g", "stone g")
        plain = document(of.name, text)
        low = [
            each.replace("Rope Guild", "rope guild").replace("Stone Guild", "stone guild")
            for each in (own.quote, own.question, own.subject)
        ]
        lowered.append((plain, [claim(plain, low[0], low[1], own.answer, low[2])]))
    assert swapped(*pairs)
    assert swapped(*lowered) == []


@pytest.mark.parametrize(
    "said",
    [
        "The Stone Guild is led by Ann Ode.",
        "# Stone Guild\n\nThe building is old.\n\nAnn Ode leads it since spring.",  # only the heading names it
        "Ann Ode paints. She is also leading the guilds of wood.\n\nThe Stone Guild likes her.",  # near it
        "The Stone Guild knows Ida Brandt well.",  # the old answer beside the new name
    ],
)
def test_a_swap_that_a_document_may_answer_is_refused(said):
    planted = document("planted.md", said)
    drafts = swapped((ROPE, [WHO_LEADS]), (STONE, [HOW_MANY]), (planted, []))
    assert "Who leads the Stone Guild?" not in {draft.question for draft in drafts}


def test_things_of_another_kind_are_not_swapped():
    tower = document("tower.md", "The old tower was built by masons in a year.")
    own = claim(tower, tower.text, "Who built the old tower?", "masons", "old tower")
    assert swapped((ROPE, [WHO_LEADS]), (tower, [own])) == []


def test_a_part_of_a_quoted_name_is_not_swapped():
    row = document("row.md", "| Using the Rope Guild | nine marks |")
    own = claim(row, row.text, "What is the price of “Using the Rope Guild”?", "nine marks", "Rope Guild")
    questions = {draft.question for draft in swapped((row, [own]), (STONE, [HOW_MANY]))}
    assert "What is the price of “Using the Stone Guild”?" not in questions


def test_a_year_is_swapped_for_another_year_of_the_corpus():
    paid, other = "In 1998, the harbour paid nine marks.", "The bridge was closed in 2004."
    toll, bridge = document("toll.md", paid), document("bridge.md", other)
    asked = claim(toll, paid, "In 1998, how many marks did the harbour pay?", "nine marks", "harbour", type="number")
    closed = claim(bridge, other, "When was the bridge closed?", "2004", "bridge", type="number")
    [draft] = swapped((toll, [asked]), (bridge, [closed]))
    assert draft.question == "In 2004, how many marks did the harbour pay?"
    assert draft.swapped == ("1998", "2004")
    planted = document("planted.md", "The harbour was dredged. That was in 2004.")
    assert swapped((toll, [asked]), (bridge, [closed]), (planted, [])) == []


def test_a_year_of_an_aside_is_not_swapped():
    text = "The crane, which was bought in 1998 for the harbour, lifts nine tons."
    of, bridge = document("crane.md", text), document("bridge.md", "The bridge was closed in 2004.")
    asked = claim(of, text, "How many tons does the crane, bought in 1998 for the harbour, lift?", "nine tons", "crane")
    closed = claim(bridge, bridge.text, "When was the bridge closed?", "2004", "bridge")
    assert not [draft for draft in swapped((of, [asked]), (bridge, [closed])) if re.search("2004", draft.question)]


def test_an_attribute_is_swapped_for_that_of_another_thing_of_the_kind():
    lines = "Price: nine marks", "Berths: forty"
    north = document("north.md", f"# North dock\n\n{lines[0]}\n")
    south = document("south.md", f"# South dock\n\n{lines[1]}\n")
    claims = [
        claim(of, line, f"What is the {attribute} of the {name}?", answer, name, attribute=attribute)
        for of, line, attribute, name, answer in (
            (north, lines[0], "price", "north dock", "nine marks"),
            (south, lines[1], "berth count", "south dock", "forty"),
        )
    ]
    drafts = swapped((north, claims[:1]), (south, claims[1:]))
    asked = {(draft.question, draft.swapped) for draft in drafts}
    assert ("What is the berth count of the north dock?", ("price", "berth count")) in asked
    planted = document("planted.md", "At the north dock we counted every berth.")
    drafts = swapped((north, claims[:1]), (south, claims[1:]), (planted, []))
    assert "What is the berth count of the north dock?" not in {draft.question for draft in drafts}


def test_absent_needs_every_word_of_a_short_question_to_be_away():
    search = ExactSearch([STONE])
    assert absent(search, "Stone Guild", ["leads"])
    assert not absent(search, "Stone Guild", ["leads", "members"])  # one of two stands there
    assert absent(search, "Stone Guild", ["leads", "rope", "members"])  # one of three
    assert not absent(search, "Stone Guild", [])
    assert absent(search, "Paper Guild", ["members"])  # not mentioned at all
    everywhere = ExactSearch([document("a.md", "guild " * 300)])
    assert not absent(everywhere, "guild", ["zebra"])  # mentioned too often to be looked at


def test_a_question_without_evidence_tells_what_was_swapped():
    drafts = list(joined_claims.drafts(entities.read([(ROPE, [WHO_LEADS]), (STONE, [HOW_MANY])]), "unanswerable"))
    questions = [joined_claims.to_question(draft) for draft in drafts]
    assert {question.kind for question in questions} == {"unanswerable"}
    assert {(q.answer, q.evidence, q.parts, q.type, q.unanswerable) for q in questions} == {
        ("", (), (), "unanswerable", True)
    }
    assert {question.reason for question in questions} == {
        "“Rope Guild” was swapped for “Stone Guild”", "“Stone Guild” was swapped for “Rope Guild”",
    }  # fmt: skip
    places = {draft.question: draft.place for draft in drafts}
    assert places["Who leads the Stone Guild?"] == (ROPE.id, "")  # where the true question stands
    assert len({question.id for question in questions}) == 2


def test_a_chinese_swap_and_one_that_is_true():
    rope, stone = "绳索公会的会长是王芳。", "石匠公会的会费是九元。"
    one, two = document("绳索.md", rope, "zh"), document("石匠.md", stone, "zh")
    head = claim(one, rope, "绳索公会的会长是谁？", "王芳", "绳索公会", attribute="会长")
    fee = claim(two, stone, "石匠公会的会费是多少？", "九元", "石匠公会", attribute="会费")
    questions = {draft.question for draft in swapped((one, [head]), (two, [fee]))}
    assert "石匠公会的会长是谁？" in questions
    planted = document("真.md", "石匠公会由李强担任会长。", "zh")
    questions = {draft.question for draft in swapped((one, [head]), (two, [fee]), (planted, []))}
    assert "石匠公会的会长是谁？" not in questions


def questions_of(*pairs, doubtful=False):
    return {draft.question for draft in swapped(*pairs) if bool(draft.doubt) == doubtful}


@pytest.mark.parametrize(
    ("question", "answer", "asked"),
    [
        ("How many keys does the Rope Guild hold?", "nine keys", True),
        ("What does the Rope Guild provide?", "nine keys", False),  # any sentence about a guild may say it
        ("What is the aim of the Rope Guild?", "nine keys", False),
        ("If the Rope Guild has nine keys, what should you press?", "nine keys", False),  # a step
        ("How many keys do the Rope Guild and the Salt Guild hold?", "nine keys", False),  # one of two
    ],
)
def test_only_what_is_asked_of_one_thing_is_asked_of_another(question, answer, asked):
    text = "The Rope Guild holds nine keys."
    of = document("keys.md", text)
    made = questions_of((of, [claim(of, text, question, answer, "Rope Guild")]), (STONE, [HOW_MANY]))
    assert (question.replace("Rope", "Stone") in made) is asked


def test_a_bare_what_is_swapped_only_where_it_is_asked_of_two_things():
    text, more = "The Rope Guild tars hemp cables.", "The Silver Guild tars old cables."
    rope, silver = document("hemp.md", text), document("old.md", more)
    bare_one = claim(rope, text, "What is tarred in cables by the Rope Guild?", "hemp", "Rope Guild")
    other = claim(silver, more, "What is tarred in cables by the Silver Guild?", "old", "Silver Guild")
    swap = "What is tarred in cables by the Stone Guild?"
    assert swap not in questions_of((rope, [bare_one]), (STONE, [HOW_MANY]))
    assert swap in questions_of((rope, [bare_one]), (STONE, [HOW_MANY]), (silver, [other]))


def test_a_name_that_is_always_a_part_of_a_longer_one_stands_for_nothing():
    part = document("part.md", "The Stone Guild Hall is grey. We love the Stone Guild Hall.")
    whole = document("whole.md", "The Stone Guild Hall is grey. We love the Stone Guild.")
    for other, expected in ((part, False), (whole, True)):
        hall = claim(other, "The Stone Guild Hall is grey.", "Which colour has the Stone Guild?", "grey", "Stone Guild")
        assert ("Who leads the Stone Guild?" in questions_of((ROPE, [WHO_LEADS]), (other, [hall]))) is expected


def test_a_topic_is_left_out_where_its_document_does_not_name_the_other_thing():
    asked = claim(ROPE, LEADS, "In “Rope”, who leads the Rope Guild of nine members?", "Ida Brandt", "Rope Guild")
    led = claim(ROPE, LEADS, "In “Rope”, how many halls does the Rope Guild lead?", "blue", "Rope Guild")
    made = questions_of((ROPE, [asked, led]), (STONE, [HOW_MANY]))
    assert "How many halls does the Stone Guild lead?" in made
    both = document("rope.md", f"# Rope\n\n{LEADS}\n\nIt is older than the Stone Guild.")
    mills = claim(both, LEADS, "In “Rope”, how many mills does the Rope Guild own?", "nine", "Rope Guild")
    silver = document("silver.md", "The Silver Guild owns four mills.")
    own = claim(silver, silver.text, "How many mills does the Silver Guild own?", "four", "Silver Guild")
    made = questions_of((both, [mills]), (STONE, [HOW_MANY]), (silver, [own]))
    assert "In “Rope”, how many mills does the Stone Guild own?" in made
    made = questions_of((both, [mills]), (STONE, [HOW_MANY]))  # nobody else owns mills: may a guild own any?
    assert "In “Rope”, how many mills does the Stone Guild own?" not in made


def test_an_attribute_of_which_a_section_speaks_is_not_asked_of_the_thing_that_it_names():
    asked = claim(
        ROPE, LEADS, "What is the usual toll of the Rope Guild?", "nine", "Rope Guild", attribute="usual toll"
    )
    lines = "Trade is free. " * 60
    speaks = document("speaks.md", f"# Trade\n\nThe Stone Guild sets it.\n\n{lines}\n\nThe toll is nine marks.")
    apart = document("apart.md", f"# Trade\n\nThe Stone Guild sets it.\n\n{lines}\n\n# Rent\n\nThe toll is nine marks.")
    swap = "What is the usual toll of the Stone Guild?"
    assert swap not in questions_of((ROPE, [asked]), (STONE, [HOW_MANY]), (speaks, []))
    assert swap in questions_of((ROPE, [asked]), (STONE, [HOW_MANY]), (apart, []))


def test_names_of_one_list_are_of_one_sort():
    text = "The keepers of Norsk, Velta and Orrin meet. The lamp of Norsk needs nine litres of oil."
    of = document("lamps.md", f"# Lamps\n\n{text}\n\n{'Nothing is said here. ' * 40}\n\n# Far\n\nWe went to Velta.")
    quote = "The lamp of Norsk needs nine litres of oil."
    asked = claim(of, quote, "How many litres of oil does the lamp of Norsk need?", "nine litres", "lamp", ["Norsk"])
    near = questions_of((of, [asked]))
    assert near == set()  # in the list they stand beside what is said of the other
    apart = document("list.md", "We saw the lights of Norsk, Velta and Orrin. They shone.")
    lamp = document("lamp.md", quote)
    asked = claim(lamp, quote, "How many litres of oil does Norsk need?", "nine litres", "Norsk", ["Norsk"])
    made = questions_of((lamp, [asked]), (apart, []))
    assert made == {"How many litres of oil does Velta need?", "How many litres of oil does Orrin need?"}


def table(rows, name="prices.md", language="en"):
    text = "| Part | Price |\n| --- | --- |\n" + "\n".join(f"| {row} | {price} |" for row, price in rows)
    of = document(name, text, language)
    ask = "{}的价格是多少？" if language == "zh" else "What is the price of “{}”?"
    return of, [
        claim(
            of,
            f"| {row} | {price} |",
            ask.format(row),
            price,
            row,
            type="table",
            attribute="价格" if language == "zh" else "price",
        )
        for row, price in rows
    ]


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ("Rail, 9 m", "Rail, 8 m"),  # 9 and what has two digits differ in length
        ("Oil, 20 litres", "Oil, 30 litres"),
        ("Course 101", "Course 102"),
        ("November 10, 2025", "November 11, 2025"),
        ("Shift F11", "Shift F12"),
        ("rope3", ""),  # the number is a part of a name
        ("Rail up to 9 m", ""),  # 8 m is in it
        ("rope(1)", ""),
        ("cut -n 3 rope", ""),
        ("Rope → 3 knots", ""),
    ],
)
def test_a_row_with_another_number(row, other):
    made = questions_of(table([(row, "nine marks")]))
    assert made == ({f"What is the price of “{other}”?"} if other else set())


def test_a_number_that_a_document_has_or_that_a_range_may_hold_is_not_taken():
    planted = document("planted.md", "Nobody sells oil, 30 litres, here.")
    assert questions_of(table([("Oil, 20 litres", "4")]), (planted, [])) == {"What is the price of “Oil, 40 litres”?"}
    assert questions_of(table([("May 3, 2025", "4"), ("April 1 - May 9, 2025", "5")])) == set()


def test_a_chinese_row_with_another_number():
    assert questions_of(table([("绳索 20 米", "九元")], "价.md", "zh")) == {"绳索 30 米的价格是多少？"}
    assert questions_of(table([("绳索 20 米以下", "九元")], "价.md", "zh")) == set()


def test_few_rows_of_a_document_get_another_number_each_once():
    rows = [(f"Course {name} 101", f"{place} marks") for place, name in enumerate(("Oak", "Elm", "Ash", "Fir"))]
    assert len(questions_of(table(rows))) == 2
    assert len(questions_of(table(rows), doubtful=True)) == 2
    of, claims = table(rows[:1])
    twice = [*claims, claim(of, claims[0].quote, "What is the room of “Course Oak 101”?", "0 marks", "Course Oak 101",
                            type="table", attribute="room")]  # fmt: skip
    assert len(questions_of((of, twice))) == 1


def test_another_year_or_number_comes_after_another_name():
    rows = table([("Course 101", "nine marks")])
    drafts = list(joined_claims.drafts(entities.read([rows, (ROPE, [WHO_LEADS]), (STONE, [HOW_MANY])]), "unanswerable"))
    assert [draft.swapped[0] for draft in drafts][2:] == ["Course 101"]
    assert len(drafts) == 3


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("2013年，港务局因哪一年的事故而被审查？", "2009年"),  # of another year: was it examined at all?
        ("2013年，港务局在什么时候关闭了吊桥？", "五月"),
        ("2013年，谁担任港务局的局长？", "王芳"),
    ],
)
def test_a_year_in_which_something_may_not_have_been_is_not_swapped(question, answer):
    text, other = "港务局在2013年的记录。", "吊桥于2016年关闭。"
    port, bridge = document("港.md", text, "zh"), document("桥.md", other, "zh")
    closed = claim(bridge, other, "吊桥是哪一年关闭的？", "2016年", "吊桥", type="number")
    asked = claim(port, text, question, answer, "港务局")
    assert swapped((port, [asked]), (bridge, [closed])) == []
    amount = claim(port, text, "2013年，港务局记录了多少艘货船？", "九艘", "港务局", type="number")
    assert questions_of((port, [amount]), (bridge, [closed])) == {"2016年，港务局记录了多少艘货船？"}


def test_a_report_of_another_year():
    text = "# Report 2021\n\nThe harbour counted nine ships. Ann Ode painted the crane."
    of = document("report.md", text)
    ships = claim(of, "The harbour counted nine ships.", "In “Report 2021”, how many ships did the harbour count?",
                  "nine", "harbour", type="number")  # fmt: skip
    crane = claim(of, "Ann Ode painted the crane.", "In “Report 2021”, who painted the crane?", "Ann Ode", "crane")
    asked = "In “Report 2019”, how many ships did the harbour count?"
    assert questions_of((of, [ships, crane])) == {asked}  # who painted it is told once
    told = document("told.md", "In 2019 the harbour counted four ships.")
    assert asked not in questions_of((of, [ships]), (told, []))


@pytest.mark.parametrize("when", ["Since 1998", "Until 1998", "By 1998"])
def test_a_year_from_or_until_which_something_was_may_hold_for_others(when):
    text = f"{when}, the harbour paid nine marks."
    toll, bridge = document("toll.md", text), document("bridge.md", "The bridge was closed in 2004.")
    asked = claim(toll, text, f"{when}, how many marks did the harbour pay?", "nine marks", "harbour", type="number")
    closed = claim(bridge, bridge.text, "When was the bridge closed?", "2004", "bridge", type="number")
    assert swapped((toll, [asked]), (bridge, [closed])) == []


def test_chinese_swaps_need_a_name_and_a_question_of_its_own():
    rope, stone = "绳索公会的会长是王芳。", "石匠公会的会费是九元。"
    one, two = document("绳索.md", rope, "zh"), document("石匠.md", stone, "zh")
    fee = claim(two, stone, "石匠公会的会费是多少？", "九元", "石匠公会", attribute="会费")
    for question, attribute, asked in (
        ("绳索公会的会长是谁？", "会长", True),
        ("如果绳索公会没有会长，应该怎么办？", "处理办法", False),
        ("绳索公会的作用是什么？", "作用", False),
    ):
        head = claim(one, rope, question, "王芳", "绳索公会", attribute=attribute)
        assert (question.replace("绳索", "石匠") in questions_of((one, [head]), (two, [fee]))) is asked
    cut = document("光标.md", "石匠器很好。", "zh")
    tool = claim(cut, cut.text, "石匠器的颜色是什么？", "红色", "石匠器", attribute="颜色")
    saw = claim(one, rope, "绳索器的会长是谁？", "王芳", "绳索器", attribute="会长")
    assert "石匠器的会长是谁？" not in questions_of((one, [saw]), (cut, [tool]))  # one character makes no kind


def test_phrases_of_one_section():
    search = ExactSearch([document("a.md", "# Ropes\n\nThe crane is red.\n\n# Salt\n\nThe mill is old.")])
    assert search.share_a_section("crane", "red")
    assert search.share_a_section("crane", "ropes")  # in the heading above it
    assert not search.share_a_section("crane", "mill")
    assert not search.share_a_section("crane", "salt")
