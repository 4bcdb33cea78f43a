"""Questions of several claims: made of hand-made passages, each of which every question needs."""

from dataclasses import replace
from itertools import permutations

import pytest

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.generation import entities, joined_claims
from ragviz.generation.bridges import description
from ragviz.generation.comparisons import quantity
from ragviz.generation.dated_claims import dated
from ragviz.generation.joined_draft import lead
from tests.processor_time import seconds_of

FILLER = " ".join(f"Plank {number} was counted twice by the night watch." for number in range(14))
"""Some hundred words that keep two passages of a document apart."""


def document(name, text, language="en"):
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "h", len(text))


def claim(of, quote, question, answer, subject="", names=(), **more):
    assert of.text.count(quote) == 1, quote
    start = of.text.index(quote)
    values = {"type": "fact", "statement": " ".join(quote.split()), "language": of.language, "score": 8.0} | more
    return SourceClaim(
        of.id, start, start + len(quote), quote, question=question, answer=answer, subject=subject,
        entities=tuple(names), **values,
    )  # fmt: skip


def corpus_of(*pairs):
    return entities.read([(of, list(own)) for of, own in pairs])


def made(corpus, kind, passages=0, seed=0):
    return list(joined_claims.drafts(corpus, kind, passages, seed))


def without(text, quote):
    assert quote in text
    return text.replace(quote, "")


def assert_each_is_needed(draft, *documents):
    """Leaving out the passage of any claim leaves out a part of the answer: no other passage says it."""
    texts = {each.id: each.text for each in documents}
    paragraphs = [next(p for p in texts[claim.document_id].split("\n\n") if claim.quote in p) for claim in draft.claims]
    for one, other in permutations(range(len(draft.claims)), 2):
        assert draft.claims[one].answer not in paragraphs[other]
    assert len(draft.parts) == len(draft.claims) == len(set(paragraphs))


# Bridges

GUILD_RUNS = "The spring fair is run by the Harbour Guild."
GUILD_MEETS = "The Harbour Guild meets on Mondays."
GUILD_PAYS = "The Harbour Guild pays nine marks for each stall."
FAIR = document("fair.md", f"# Fair\n\n{GUILD_RUNS}\n\nThe stalls are wooden.")
GUILD = document("guild.md", f"# Guild\n\n{GUILD_MEETS}\n\n{FILLER}\n\nThe hall is old.")
STALLS = document("stalls.md", f"# Stalls\n\n{GUILD_PAYS}\n\nThe paint is green.")


def guild_claims():
    return (
        claim(FAIR, GUILD_RUNS, "Which guild runs the spring fair?", "the Harbour Guild", "spring fair",
              ["Harbour Guild"]),
        claim(GUILD, GUILD_MEETS, "When does the Harbour Guild meet?", "Mondays", "Harbour Guild"),
        claim(STALLS, GUILD_PAYS, "How many marks does the Harbour Guild pay for each stall?", "nine marks",
              "Harbour Guild"),
    )  # fmt: skip


@pytest.mark.model
def test_a_bridge_of_two_describes_the_entity_by_the_first_passage():
    runs, meets, _ = guild_claims()
    [draft] = made(corpus_of((FAIR, [runs]), (GUILD, [meets])), "bridge", 2)
    assert draft.question == "When does the guild that runs the spring fair meet?"
    assert draft.answer == "Mondays"
    assert draft.claims == (runs, meets)
    assert draft.parts == (GUILD_RUNS, GUILD_MEETS)
    assert draft.entity == "Harbour Guild"
    assert "Harbour Guild" not in draft.question  # without the first passage nobody knows which guild
    assert_each_is_needed(draft, FAIR, GUILD)


@pytest.mark.model
def test_a_bridge_of_three_asks_for_two_facts_about_what_the_first_passage_names():
    runs, meets, pays = guild_claims()
    [draft] = made(corpus_of((FAIR, [runs]), (GUILD, [meets]), (STALLS, [pays])), "bridge", 3)
    assert draft.claims[0] == runs
    assert "the guild that runs the spring fair" in draft.question
    assert "Harbour Guild" not in draft.question
    assert {claim.answer for claim in draft.claims[1:]} == {"Mondays", "nine marks"}
    assert all(claim.answer in draft.answer for claim in draft.claims[1:])
    assert_each_is_needed(draft, FAIR, GUILD, STALLS)


@pytest.mark.model
def test_a_joint_question_asks_for_one_fact_of_each_passage():
    _, meets, pays = guild_claims()
    owns_text = "The Harbour Guild owns the tall crane."
    crane = document("crane.md", f"# Crane\n\n{owns_text}")
    owns = claim(crane, owns_text, "What does the Harbour Guild own?", "the tall crane", "Harbour Guild", score=7.0)
    corpus = corpus_of((GUILD, [meets]), (STALLS, [pays]), (crane, [owns]))
    [draft] = made(corpus, "bridge", 3)
    assert set(draft.claims) == {meets, pays, owns}
    for each in draft.claims:
        assert each.question[1:].rstrip("?") in draft.question
        assert each.answer in draft.answer
        rest = [other for other in draft.claims if other != each]
        assert all(each.answer not in other.statement for other in rest)
    assert draft.question.count("?") == 1
    assert_each_is_needed(draft, GUILD, STALLS, crane)


@pytest.mark.model
def test_passages_that_say_each_others_answers_are_not_joined():
    _, meets, pays = guild_claims()
    both_text = f"{GUILD_PAYS} It does so on Mondays."
    both = document("both.md", f"# Both\n\n{both_text}")
    own = claim(both, GUILD_PAYS, pays.question, pays.answer, "Harbour Guild")
    assert made(corpus_of((GUILD, [meets]), (both, [own])), "bridge", 2) == []


@pytest.mark.model
def test_passages_close_to_each_other_are_not_joined():
    for between, count in (("", 0), (FILLER, 1)):
        near = document("near.md", f"# Near\n\n{GUILD_MEETS}\n\n{between}\n\n{GUILD_PAYS}")
        pays = guild_claims()[2]
        own = [
            claim(near, GUILD_MEETS, "When does the Harbour Guild meet?", "Mondays", "Harbour Guild"),
            claim(near, GUILD_PAYS, pays.question, pays.answer, "Harbour Guild"),
        ]
        assert len(made(corpus_of((near, own)), "bridge", 2)) == count


@pytest.mark.model
def test_a_passage_that_another_document_repeats_is_not_joined():
    _, meets, pays = guild_claims()
    copy = document("copy.md", f"# Copy\n\n{GUILD_MEETS}\n\nNothing else.")
    assert made(corpus_of((GUILD, [meets]), (STALLS, [pays]), (copy, [])), "bridge", 2) == []


@pytest.mark.model
def test_an_entity_of_many_documents_joins_nothing():
    _, meets, pays = guild_claims()
    others = [(document(f"{n}.md", f"Item {n} of the Harbour Guild."), []) for n in range(4)]
    assert made(corpus_of((GUILD, [meets]), (STALLS, [pays]), *others), "bridge", 2) == []


@pytest.mark.model
def test_what_two_sections_answer_in_the_same_words_is_not_asked_together():
    first = document("north.md", "Tide Gate is a lock of oak.")
    other = document("south.md", "Tide Gate is a lock of elm.")
    claims = [
        claim(of, of.text, f"Regarding “{topic}” in “Gates”, what is Tide Gate?", answer, "Tide Gate", ["Tide Gate"],
              type="definition")
        for of, topic, answer in ((first, "North", "a lock of oak"), (other, "South", "a lock of elm"))
    ]  # fmt: skip
    assert made(corpus_of((first, claims[:1]), (other, claims[1:])), "bridge", passages=2) == []
    asks = replace(
        claims[1], question="Regarding “South” in “Gates”, of which wood is Tide Gate?", answer="elm", type="fact"
    )
    assert made(corpus_of((first, claims[:1]), (other, [asks])), "bridge", passages=2) != []


def test_a_topic_is_named_once():
    one, two = "Rope is measured in fathoms.", "The rope walk closes at dusk."
    ropes = document("ropes.md", f"# Rope store\n\n{one}\n\n{FILLER}\n\n{two}")
    claims = [
        claim(ropes, one, "In “Rope store”, in what is rope measured?", "fathoms", "rope"),
        claim(ropes, two, "In “Rope store”, when does the rope walk close?", "dusk", "rope walk"),
    ]
    [draft] = made(corpus_of((ropes, claims)), "bridge", 2)
    assert draft.question.count("Rope store") == 1
    assert draft.answer in ("fathoms; dusk", "dusk; fathoms")


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "name", "described"),
    [
        ("What is the capital of the island?", "Norhaven", "the capital of the island"),
        ("Who approves the stall permit?", "Ida Brandt", "whoever approves the stall permit"),
        ("Which guild runs the spring fair?", "Harbour Guild", "the guild that runs the spring fair"),
        ("Which crane does the guild use for barges?", "Tall Crane", "the crane that the guild uses for barges"),
        ("Which gate can the elders close?", "Harbour Gate", "the gate that the elders can close"),
        ("When does the fair begin?", "Monday", ""),
    ],
)
def test_descriptions_of_an_answer(question, name, described):
    of = document("d.md", question)
    assert description(claim(of, question, question, name), name) == described


def test_chinese_descriptions_of_an_answer():
    of = document("d.md", "春季集市的主办方是谁？", "zh")
    assert description(claim(of, of.text, of.text, "港口公会"), "港口公会") == "春季集市的主办方"


@pytest.mark.model
def test_a_chinese_bridge():
    runs_text, meets_text = "春季集市的主办方是港口公会。", "港口公会每逢周一开会。"
    fair, guild = document("集市.md", runs_text, "zh"), document("公会.md", meets_text, "zh")
    runs = claim(fair, runs_text, "春季集市的主办方是谁？", "港口公会", "春季集市", ["港口公会"])
    meets = claim(guild, meets_text, "港口公会什么时候开会？", "每逢周一", "港口公会")
    [draft] = made(corpus_of((fair, [runs]), (guild, [meets])), "bridge", 2)
    assert (draft.question, draft.answer, draft.language) == ("春季集市的主办方什么时候开会？", "每逢周一", "zh")


@pytest.mark.model
def test_facts_that_only_mention_an_entity_are_not_asked_together():
    _, meets, pays = guild_claims()
    text = "The smith greases chains of the Harbour Guild on rainy days."
    smithy = document("smithy.md", f"# Smithy\n\n{text}")
    aside = claim(smithy, text, "When does the smith grease chains of the Harbour Guild?", "on rainy days", "smith")
    assert made(corpus_of((GUILD, [meets]), (smithy, [aside])), "bridge", 2) == []
    assert made(corpus_of((GUILD, [meets]), (STALLS, [pays])), "bridge", 2)


def test_a_chinese_common_noun_of_two_topics_joins_nothing():
    def joint(leads):
        texts = ["年利率是百分之四。", "年利率从春天起计算。"]
        documents = [document(f"{n}.md", text, "zh") for n, text in enumerate(texts)]
        asked = [f"{leads[0]}年利率是多少？", f"{leads[1]}年利率从什么时候起计算？"]
        pairs = zip(documents, texts, asked, ("百分之四", "春天"), strict=True)
        own = [(of, [claim(of, text, question, answer, "年利率")]) for of, text, question, answer in pairs]
        return made(corpus_of(*own), "bridge", 2)

    assert joint(("", ""))
    assert joint(("关于渔船，", "关于仓库，")) == []


# Comparisons

TOLLS = document(
    "tolls.md",
    "# Tolls\n\n| ticket | price | valid on | seats |\n| --- | --- | --- | --- |\n| Day ticket | $4 | weekdays | 2 |\n"
    "| Week ticket | $19 | Sundays | 3 |\n",
)


def row(name, column, value, **more):
    [line] = [line for line in TOLLS.text.splitlines() if name in line]
    return claim(TOLLS, line, f"What is the {column} of “{name}”?", value, name, attribute=column, type="table",
                 section="Tolls", **more)  # fmt: skip


@pytest.mark.model
def test_numbers_with_one_unit_are_compared_by_size():
    [draft] = made(corpus_of((TOLLS, [row("Day ticket", "price", "$4"), row("Week ticket", "price", "$19")])),
                   "comparison")  # fmt: skip
    assert draft.question == "Which has the higher price, “Day ticket” or “Week ticket”?"
    assert draft.answer == "“Week ticket” ($19, against $4 for “Day ticket”)"
    assert draft.parts == tuple(claim.statement for claim in draft.claims)


@pytest.mark.model
def test_other_values_are_compared_by_how_they_differ():
    claims = [row("Day ticket", "validity", "weekdays"), row("Week ticket", "validity", "Sundays")]
    [draft] = made(corpus_of((TOLLS, claims)), "comparison")
    assert draft.question == "How do “Day ticket” and “Week ticket” differ in validity?"
    assert draft.answer == "“Day ticket”: weekdays; “Week ticket”: Sundays"


@pytest.mark.model
def test_what_is_not_comparable():
    day = row("Day ticket", "price", "$4")
    assert made(corpus_of((TOLLS, [day, row("Week ticket", "colour", "blue")])), "comparison") == []
    assert made(corpus_of((TOLLS, [day, row("Week ticket", "price", "$4")])), "comparison") == []  # no difference
    codes = [row("Day ticket", "zone", "2"), row("Week ticket", "zone", "3")]
    assert made(corpus_of((TOLLS, codes)), "comparison") == []  # a zone is no quantity


def test_what_no_title_names_alone_and_superlatives_are_not_compared():
    rows = ("| Single | 9 marks |", "| Return | 12 marks |")
    of = document("fares.md", "# Fares\n\n" + "\n".join(rows))

    def compared(question, attribute):
        claims = [
            claim(of, row, question.format(name), fare, name, type="table", attribute=attribute, section="Fares")
            for row, name, fare in zip(rows, ("Single", "Return"), ("9 marks", "12 marks"), strict=True)
        ]
        return [draft.question for draft in made(corpus_of((of, claims)), "comparison")]

    assert compared("What is the price of “{}”?", "price") != []
    assert compared("What is listed for “{}” under “Adult”?", "Adult") == []
    assert compared("What is the longest loan of “{}”?", "longest loan") == []


def test_quantities():
    assert quantity("1,250 marks") == quantity("1250 mark")
    assert quantity("4 to 5 days") is quantity("1998") is quantity("v2") is quantity("3rd") is None


@pytest.mark.model
def test_claims_of_one_pattern_are_compared():
    one, two = "The north desk lends maps for 3 days.", "The south desk lends maps for 9 days."
    desks = document("desks.md", f"{one}\n\n{FILLER}\n\n{two}")
    claims = [
        claim(desks, quote, f"For how many days does the {name} desk lend maps?", days, f"{name} desk")
        for quote, name, days in ((one, "north", "3 days"), (two, "south", "9 days"))
    ]
    [draft] = made(corpus_of((desks, claims)), "comparison")
    assert draft.question == "For how many days does each of the north desk and the south desk lend maps?"
    assert draft.answer == "the north desk: 3 days; the south desk: 9 days"


@pytest.mark.model
def test_a_chinese_comparison():
    lines = ["日票的价格是四元。", "周票的价格是九元。"]
    of = document("票.md", "\n\n".join(lines), "zh")
    claims = [
        claim(of, line, f"{name}的价格是多少？", price, name, attribute="价格", section="票")
        for line, name, price in ((lines[0], "日票", "四元"), (lines[1], "周票", "九元"))
    ]
    [draft] = made(corpus_of((of, claims)), "comparison")
    assert (draft.question, draft.answer) == ("日票和周票的价格有什么不同？", "日票：四元；周票：九元")


# Which version holds


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("since March 2021", "en", [("date", (2021, 3), False)]),
        ("As of 2023, five; until 2022, four", "en", [("date", (2023,), False), ("date", (2022,), True)]),
        ("in version 2.1", "en", [("version", (2, 1), False)]),
        ("before v3", "en", [("version", (3,), True)]),
        ("1998 people came", "en", []),
        ("自2021年起", "zh", [("date", (2021,), False)]),
        ("2020年以前", "zh", [("date", (2020,), True)]),
        ("从3.2版本开始", "zh", [("version", (3, 2), False)]),
    ],
)
def test_dates_and_versions_are_read(text, language, expected):
    assert [(each.family, each.key, each.ends) for each in dated(text, language)] == expected


def fee(of, quote, year, amount, word="In"):
    return claim(of, quote, f"{word} {year}, how much is the mooring fee?", amount, "mooring fee", attribute="amount")


def test_the_newest_date_holds():
    old, new = "In 2019, the mooring fee is 4 marks.", "In 2022, the mooring fee is 6 marks."
    one, two = document("old.md", old), document("new.md", new)
    older, newer = fee(one, old, 2019, "4 marks"), fee(two, new, 2022, "6 marks")
    [draft] = made(corpus_of((one, [older]), (two, [newer])), "version")
    assert draft.question == "Currently, how much is the mooring fee?"
    assert (draft.answer, draft.claims) == ("6 marks", (newer, older))
    assert made(corpus_of((two, [newer]), (one, [older])), "version") == [draft]  # whatever is read first


def test_what_ended_does_not_hold():
    old, new = "In 2019, the mooring fee is 4 marks.", "Until 2022, the mooring fee is 6 marks."
    one, two = document("old.md", old), document("new.md", new)
    claims = fee(one, old, 2019, "4 marks"), fee(two, new, 2022, "6 marks", "Until")
    assert made(corpus_of((one, [claims[0]]), (two, [claims[1]])), "version") == []


def test_versions_by_their_headings():
    old, new = "The limit is 10 boats.", "The limit is now 25 boats."
    log = document("log.md", f"# Version 2.9\n\n{old}\n\n# Version 2.10\n\n{new}\n")
    claims = [
        claim(log, quote, "How many boats does the dock take?", boats, "dock", attribute="limit", section=section)
        for quote, boats, section in ((old, "10 boats", "Version 2.9"), (new, "25 boats", "Version 2.10"))
    ]
    [draft] = made(corpus_of((log, claims)), "version")
    assert (draft.question, draft.answer) == ("In the latest version, how many boats does the dock take?", "25 boats")


def test_the_latest_version_of_a_log_whose_sections_are_versions():
    old, new = "The limit is 10 boats.", "The limit is now 25 boats."
    log = document(
        "log.md", f"# Dock log\n\n## Version 2.9 (2020-01-05)\n\n{old}\n\n## Version 3.1 (2022-02-03)\n\n{new}\n"
    )
    own = {
        section: (quote, boats, f"Regarding “{section}” in “Dock log”, how many boats does the dock take?")
        for quote, boats, section in (
            (old, "10 boats", "Version 2.9 (2020-01-05)"),
            (new, "25 boats", "Version 3.1 (2022-02-03)"),
        )
    }
    claims = [
        claim(log, quote, question, boats, "dock", attribute="limit", section=f"Dock log > {section}")
        for section, (quote, boats, question) in own.items()
    ]
    [draft] = made(corpus_of((log, claims)), "version")
    asked = "In the latest version of “Dock log”, how many boats does the dock take?"
    assert (draft.question, draft.answer) == (asked, "25 boats")


def test_what_each_release_fixed_is_no_version_of_what_another_did():
    old, new = "The limit is 10 boats.", "The limit is now 25 boats."
    log = document("log.md", f"# Version 2.9\n\n{old}\n\n# Version 2.10\n\n{new}\n")
    for kind, count in (("list", 0), ("fact", 1)):
        claims = [
            claim(log, quote, "What is listed under “Fixes of the dock”?", boats, "dock", type=kind, section=section)
            for quote, boats, section in ((old, "10 boats", "Version 2.9"), (new, "25 boats", "Version 2.10"))
        ]
        assert len(made(corpus_of((log, claims)), "version")) == count


def test_a_chinese_version():
    old, new = "自2019年起，停泊费是四元。", "自2022年起，停泊费是六元。"
    of = document("费.md", f"{old}\n\n{new}", "zh")
    claims = [
        claim(of, quote, f"自{year}年起，停泊费是多少？", amount, "停泊费")
        for quote, year, amount in ((old, 2019, "四元"), (new, 2022, "六元"))
    ]
    drafts = {draft.question: draft for draft in made(corpus_of((of, claims)), "version")}
    assert {question: draft.answer for question, draft in drafts.items()} == {
        "目前，停泊费是多少？": "六元",
        "2020年，停泊费是多少？": "四元",
    }
    assert {draft.claims for draft in drafts.values()} == {tuple(claims), tuple(reversed(claims))}


# Follow-ups


@pytest.mark.model
def test_a_follow_up_refers_to_the_thing_by_a_pronoun():
    permits, approves = "A stall permit lasts nine days.", "The harbour master approves a stall permit."
    of = document("permits.md", f"{permits}\n\n{approves}")
    claims = [
        claim(of, permits, "How many days does the stall permit last?", "nine days", "stall permit"),
        claim(of, approves, "Who approves the stall permit?", "the harbour master", "stall permit"),
    ]
    [draft] = made(corpus_of((of, claims)), "follow-up")
    assert draft.history == (("How many days does the stall permit last?", "nine days"),)
    assert (draft.question, draft.answer) == ("And who approves it?", "the harbour master")
    assert draft.claims == (claims[1],)  # its own passage is the evidence
    question = joined_claims.to_question(draft)
    assert (question.query.splitlines()[0], len(question.evidence)) == (draft.history[0][0], 1)


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "subject", "asked"),
    [
        ("who greases the lock chain?", "lock chain", False),  # of the same section, and of nothing else
        ("who signs the berth list?", "berth list", True),
    ],
)
def test_a_follow_up_is_about_what_was_asked_before(question, subject, asked):
    keeps, other = "The clerk keeps the berth list for nine years.", f"{question[4:-1].capitalize()} Ann Ode."
    of = document("rules.md", f"# Rules\n\n{keeps}\n\n{other}")
    lead_in = "In “Rules”, "
    claims = [
        claim(of, keeps, f"{lead_in}how many years is the berth list kept?", "nine years", "berth list"),
        claim(of, other, f"{lead_in}{question}", "Ann Ode", subject),
    ]
    assert bool(made(corpus_of((of, claims)), "follow-up")) is asked


@pytest.mark.model
def test_a_follow_up_keeps_the_column_that_its_cell_is_of():
    rows = "Fees | low | high", "Rules | few | many"
    of = document("levels.md", "# Levels\n\n" + "\n".join(rows))
    claims = [
        claim(of, quote, f"In “Levels”, what is the {name} of “Harsh”?", answer, "Harsh", type="table", attribute=name)
        for quote, name, answer in ((rows[0], "amount", "high"), (rows[1], "count", "many"))
    ]
    questions = {draft.question for draft in made(corpus_of((of, claims)), "follow-up")}
    assert "And what is the count of “Harsh”?" in questions
    assert not any("Harsh" not in question for question in questions)


@pytest.mark.model
def test_a_follow_up_asks_the_same_of_another_thing():
    claims = [row("Day ticket", "price", "$4"), row("Week ticket", "price", "$19")]
    [draft] = made(corpus_of((TOLLS, claims)), "follow-up")
    assert draft.history == (("What is the price of “Day ticket”?", "$4"),)
    assert (draft.question, draft.answer) == ("And what about “Week ticket”?", "$19")


@pytest.mark.model
def test_a_first_turn_that_gives_the_answer_away_is_not_used():
    text = "The harbour master approves stall permits within nine days."
    of = document("permits.md", text)
    claims = [
        claim(of, text, "Within how many days does the harbour master approve stall permits?", "nine days",
              "harbour master"),
        claim(of, text, "What does the harbour master approve within nine days?", "stall permits", "harbour master"),
    ]  # fmt: skip
    assert made(corpus_of((of, claims)), "follow-up") == []


@pytest.mark.model
def test_a_chinese_follow_up():
    lasts, approves = "摊位许可证的有效期是九天。", "摊位许可证由港务长批准。"
    of = document("许可证.md", f"{lasts}\n\n{approves}", "zh")
    claims = [
        claim(of, lasts, "摊位许可证的有效期是多少天？", "九天", "摊位许可证"),
        claim(of, approves, "摊位许可证由谁批准？", "港务长", "摊位许可证"),
    ]
    [draft] = made(corpus_of((of, claims)), "follow-up")
    assert draft.question == "那由谁批准？"


def of_chinese_topic(questions, subject, topic="关于借书证，"):
    quotes = [f"第{number}条说明了有关规定。" for number in range(len(questions))]
    of = document("借书证.md", "# 借书证\n\n" + "\n\n".join(quotes), "zh")
    claims = [
        claim(
            of,
            quote,
            topic + question,
            f"{number + 3}天",
            subject,
            section="借书证",
            attribute=question[: -len("是多久？")],
        )
        for number, (quote, question) in enumerate(zip(quotes, questions, strict=True))
    ]
    return [draft.question for draft in made(corpus_of((of, claims)), "follow-up")]


@pytest.mark.model
def test_a_chinese_follow_up_leaves_out_the_subject_that_its_topic_names():
    assert of_chinese_topic(["有效期是多久？", "补办时间是多久？"], "借书证") == ["那么，补办时间是多久？"]
    assert of_chinese_topic(["有效期是多久？", "补办时间是多久？"], "规定") == []  # not of the same thing


@pytest.mark.model
def test_a_chinese_question_that_is_understood_alone_is_no_follow_up():
    assert of_chinese_topic(["为什么蒙古帝国西征？", "为什么忽必烈的远征受阻？"], "蒙古帝国", "关于蒙古帝国，") == []
    assert of_chinese_topic(["有效期是多久？", "“金桂”读书会的时间是多久？"], "借书证") == []
    assert of_chinese_topic(["有效期是多久？", "沙漠地区骆驼商队的行程时间是多久？"], "借书证") == []


@pytest.mark.model
def test_a_unit_is_not_compared():
    of = document("rates.md", "\n\n".join(("The daily meal allowance is 45 euros.", "The hotel limit is 90 euros.")))

    def asked(attribute, sizes=("45 euros", "90 euros")):
        claims = [
            claim(of, quote, f"How many euros is the {name}?", size, name, attribute=attribute, type="table")
            for quote, name, size in zip(of.text.split("\n\n"), ("meal allowance", "hotel limit"), sizes, strict=True)
        ]
        return [draft.question for draft in made(corpus_of((of, claims)), "comparison")]

    assert asked("amount") == ["Which has the higher amount, the meal allowance or the hotel limit?"]
    assert asked("euros") == asked("dollars", ("$45", "$90")) == asked("litres", ("45 litres", "90 litres")) == []


# All


def test_leads_are_what_stands_before_the_question():
    assert lead("Regarding fares in “Travel”, how much is it?") == ("Regarding fares in “Travel”, ", "how much is it?")
    assert lead("In 1974, who won?")[0] == ""
    assert lead("Who won, and when?")[0] == ""


@pytest.mark.model
def test_questions_are_the_same_for_the_same_seed_and_keep_their_evidence():
    runs, meets, pays = guild_claims()
    corpus = corpus_of((FAIR, [runs]), (GUILD, [meets]), (STALLS, [pays]))
    first = [joined_claims.to_question(draft, seed=3) for draft in made(corpus, "bridge", 3, seed=3)]
    again = [joined_claims.to_question(draft, seed=3) for draft in made(corpus, "bridge", 3, seed=3)]
    assert first == again
    texts = {each.id: each.text for each in (FAIR, GUILD, STALLS)}
    for question in first:
        assert (question.type, question.kind, len(question.parts)) == ("bridge", "multi", len(question.evidence))
        for [span] in question.evidence:
            assert texts[span.document_id][span.start : span.end] == span.text
    other = [joined_claims.to_question(draft, seed=4).id for draft in made(corpus, "bridge", 3, seed=4)]
    assert {question.id for question in first}.isdisjoint(other)


@pytest.mark.model
def test_candidates_are_grouped_by_the_place_of_the_first_claim():
    claims = [row("Day ticket", "price", "$4"), row("Week ticket", "price", "$19")]
    [(place, [draft])] = joined_claims.candidates(corpus_of((TOLLS, claims)), "comparison").items()
    assert place == (TOLLS.id, "Tolls") == draft.place


def test_impossible_orders_say_what_is_possible():
    corpus = corpus_of((TOLLS, []))
    with pytest.raises(UsageError, match="choose one of comparison, bridge"):
        made(corpus, "fact")
    with pytest.raises(UsageError, match="choose 2 to 5"):
        made(corpus, "bridge", 6)
    assert made(corpus, "bridge") == made(corpus, "version") == made(corpus, "unanswerable") == []


@pytest.mark.model
def test_time_grows_with_the_claims_and_not_with_their_pairs():
    def seconds(rows):
        lines = [f"| Berth {number} | {number} marks |" for number in range(rows)]
        of = document("berths.md", "# Berths\n\n| berth | price |\n| --- | --- |\n" + "\n".join(lines))
        claims = [
            claim(of, line, f"What is the price of “Berth {n}”?", f"{n} marks", f"Berth {n}", attribute="price",
                  section="Berths")
            for n, line in enumerate(lines)
        ]  # fmt: skip
        assert rows / 3 < len(made(corpus_of((of, claims)), "comparison")) <= rows
        return seconds_of(lambda: made(corpus_of((of, claims)), "comparison"))

    seconds(40)
    assert seconds(800) < 12 * max(seconds(200), 0.02)
