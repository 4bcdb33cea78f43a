"""What passages say about a rare entity, and the bridges that are made of it, against planted documents."""

import pytest

from ragviz.claims.english_clauses import Tree
from ragviz.claims.extractive_claims import claims_of, statements_of, variants_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import named_at, named_in
from ragviz.core.document import Document
from ragviz.generation import entities, joined_claims
from ragviz.generation.mentions import _is_one_thing, _leans, mentions
from ragviz.text.words import parse

pytestmark = pytest.mark.model

OPENS = "The harbour office opens the Tide Gate at dawn."
PAINTS = "Two painters repair the Tide Gate every spring."
LOCKS = "The night watch locks the Tide Gate after the last boat."
FILLER = " ".join(f"Plank {number} was counted twice by the night watch." for number in range(14))


def document(name, text, language="en"):
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "h", len(text))


def corpus_of(*documents, claims=claims_of):
    return entities.read([(of, claims(of)) for of in documents], statements_of, variants_of)


def planted(opens=OPENS):
    return (
        document("a.md", f"# Harbour day\n\n{opens}\n\nThe stalls are wooden."),
        document("b.md", f"# Repairs\n\n{PAINTS}\n\nThe paint is green."),
        document("c.md", f"# Watch\n\n{LOCKS}\n\nThe lamp is old."),
    )


def bridges(corpus, passages):
    return list(joined_claims.drafts(corpus, "bridge", passages))


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("The harbour office opens the Tide Gate.", {"harbour office", "Tide Gate"}),
        ("They open the Tide Gate.", set()),  # who?
        ("This rule covers the Tide Gate.", set()),
        ("See the Tide Gate page.", set()),
        ("The Office of Harbour Affairs pays the guards.", {"Office of Harbour Affairs"}),
        ("In March 2021, the Tide Gate was closed.", {"Tide Gate"}),  # a date is no name
    ],
)
def test_what_a_sentence_says_something_about(sentence, names):
    found = named_in(Tree(sentence, parse([sentence], "en")[0]))
    assert {each.name for each in found} == names


def test_a_part_of_a_longer_name_is_not_named():
    sentence = "The Tide Gate Museum opens at nine."
    tree = Tree(sentence, parse([sentence], "en")[0])
    assert named_at(tree, 4, 13) is None
    assert named_at(tree, 4, 20).name == "Tide Gate Museum"


def test_three_passages_about_an_entity_of_three_documents_are_one_question():
    documents = planted()
    [draft] = bridges(corpus_of(*documents, claims=lambda of: []), 3)
    assert draft.question.startswith("What do “")
    assert draft.question.endswith(" each say about the Tide Gate?")
    assert all(f"“{title}”" in draft.question for title in ("Harbour day", "Repairs", "Watch"))
    assert {claim.quote for claim in draft.claims} == {OPENS, PAINTS, LOCKS}
    assert set(draft.parts) == {OPENS, PAINTS, LOCKS}
    assert all(said.rstrip(".") in draft.answer for said in (OPENS, PAINTS, LOCKS))
    assert draft.entity == "Tide Gate"


def test_a_document_that_names_it_twice_is_asked_by_its_section():
    evening = "The crane driver waits at the Tide Gate."
    twice = f"# Harbour day\n\n## Morning\n\n{OPENS}\n\n## Evening\n\n{FILLER}\n\n{evening}\n"
    documents = (document("a.md", twice), *planted()[1:])
    found = mentions(corpus_of(*documents, claims=lambda of: []))["tide gate"]
    assert {(each.title, each.section) for each in found} == {
        ("Harbour day", "Morning"), ("Harbour day", "Evening"), ("Repairs", ""), ("Watch", ""),
    }  # fmt: skip


def test_what_a_table_names_too_is_not_the_only_passage():
    table = f"# Harbour day\n\n{OPENS}\n\n| Place | Key |\n| --- | --- |\n| Tide Gate | brass |\n"
    found = mentions(corpus_of(document("a.md", table), *planted()[1:], claims=lambda of: []))["tide gate"]
    assert {each.title for each in found} == {"Repairs", "Watch"}


def test_documents_of_one_title_are_not_asked_about():
    documents = planted()
    copy = document("d.md", "# Repairs\n\nA carpenter measures the Tide Gate in autumn.")
    found = mentions(corpus_of(*documents, copy, claims=lambda of: []))["tide gate"]
    assert {each.title for each in found} == {"Harbour day", "Watch"}


def test_passages_that_say_the_same_are_not_joined():
    one, two, _ = planted()
    copy = document("c.md", f"# Watch\n\n{PAINTS}\n\nThe lamp is old.")
    assert bridges(corpus_of(one, two, copy, claims=lambda of: []), 3) == []


def test_an_entity_of_more_than_five_documents_joins_nothing():
    more = [
        document(f"{n}.md", f"# Page {'abcd'[n]}\n\nGuard {n} watches the Tide Gate in week {n}.") for n in range(4)
    ]
    assert "tide gate" not in mentions(corpus_of(*planted(), *more, claims=lambda of: []))


def test_a_definition_describes_what_the_others_are_about():
    documents = (
        document("a.md", "# Terms\n\nWharfinger:: an officer who keeps the berth book of a river harbour\n"),
        document("b.md", "# Fees\n\nThe town pays the Wharfinger in silver coins every autumn."),
        document("c.md", "# Storms\n\nThe bell ringer wakes the Wharfinger before a spring flood."),
    )
    drafts = bridges(corpus_of(*documents), 3)
    assert [draft.question for draft in drafts] == [
        "What do “Fees” and “Storms” each say about the officer who keeps the berth book of a river harbour?"
    ]
    assert all("wharfinger" not in draft.question.lower() for draft in drafts)
    assert drafts[0].claims[0].document_id == documents[0].id


def test_what_shares_only_a_page_comes_last():
    page = (
        f"# Rope store\n\nThe rope walk closes at dusk.\n\n{FILLER}\n\nThe keeper counts coils on Monday."
        f"\n\n{FILLER}\n\nThe cellar holds 40 barrels.\n"
    )
    drafts = bridges(corpus_of(document("r.md", page), *planted()), 3)
    assert drafts[0].entity == "Tide Gate"
    assert all(draft.score < drafts[0].score - 4 for draft in drafts[1:])


def test_chinese_passages_about_an_entity():
    documents = [
        document(f"{title}.md", f"# {title}\n\n{text}\n", "zh")
        for title, text in (
            ("港口日", "港务处每天清晨打开“潮汐闸门”，让渔船出海。"),
            ("维修", "两名油漆工每年春天修理“潮汐闸门”的木板。"),
            ("夜班", "守夜人在最后一艘船靠岸以后锁上“潮汐闸门”。"),
        )
    ]
    [draft] = bridges(corpus_of(*documents, claims=lambda of: []), 3)
    assert draft.question.endswith("分别是怎么说“潮汐闸门”的？")
    assert all(f"《{title}》" in draft.question for title in ("港口日", "维修", "夜班"))
    assert len(draft.claims) == 3


# Versions


def policy(year, allowance):
    return document(
        f"policy-{year}.md",
        f"# Travel policy {year}\n\n## Meals\n\nThe daily meal allowance is {allowance} euros.\n",
    )


def test_versions_are_told_by_the_titles_of_their_documents():
    drafts = list(joined_claims.drafts(corpus_of(policy(2021, 42), policy(2024, 55)), "version"))
    assert {draft.question: draft.answer for draft in drafts} == {
        "In the current “Travel policy”, how many euros is the daily meal allowance?": "55 euros",
        "In the “Travel policy” that held in 2022, how many euros was the daily meal allowance?": "42 euros",
    }
    assert all(len({claim.document_id for claim in draft.claims}) == 2 for draft in drafts)


def test_policies_of_different_things_are_no_versions():
    other = document("b.md", "# Car policy 2024\n\n## Meals\n\nThe daily meal allowance is 55 euros.\n")
    assert list(joined_claims.drafts(corpus_of(policy(2021, 42), other), "version")) == []


def test_a_change_log_tells_versions_by_its_headings():
    log = (
        "# Changelog of Paddle\n\n## 2.10.0 (2024-05-01)\n\nThe default timeout is 60 seconds.\n\n"
        "## 2.9.0 (2023-11-12)\n\nThe default timeout is 30 seconds.\n"
    )
    [draft] = joined_claims.drafts(corpus_of(document("log.md", log)), "version")
    assert draft.question == "In the latest version of “Changelog of Paddle”, how many seconds is the default timeout?"
    assert draft.answer == "60 seconds"


def test_a_day_before_its_month_is_read_and_nothing_is_said_of_a_year_that_only_happened():
    said = "Since 1 March 2024, the mooring fee is 9 euros.", "From 2019, the mooring fee was 6 euros."
    past = "In 2012, the mooring fee was 4 euros."
    fees = document("fees.md", f"# Mooring\n\n{said[0]}\n\n{said[1]}\n\n{past}\n")
    drafts = joined_claims.drafts(corpus_of(fees), "version")
    assert {draft.question: draft.answer for draft in drafts} == {
        "Currently, in “Mooring”, how many euros is the mooring fee?": "9 euros",
        "In 2020, in “Mooring”, how many euros was the mooring fee?": "6 euros",
    }


def test_a_second_entity_of_a_document_leads_to_a_third_passage():
    chain = "A smith greases the Iron Chain every Monday."
    documents = (
        document("a.md", f"# Harbour day\n\n{OPENS}\n"),
        document("b.md", f"# Repairs\n\n{PAINTS}\n\n{FILLER}\n\nThe storm broke the Iron Chain in autumn.\n"),
        document("c.md", f"# Smithy\n\n{chain}\n"),
    )
    drafts = bridges(corpus_of(*documents, claims=lambda of: []), 3)
    assert drafts
    for draft in drafts:
        assert len({claim.document_id for claim in draft.claims}) == 3
        assert "the Tide Gate" in draft.question
        assert "the Iron Chain" in draft.question
    assert bridges(corpus_of(*documents[:2], claims=lambda of: []), 3) == []  # nothing leads further


def test_what_is_compared_is_named_as_its_unit_asks():
    rows = "| Badge renewal | 3 business days |\n| Key renewal | 9 business days |\n"
    text = f"# Permits\n\n| ACTION | TIME |\n| --- | --- |\n{rows}"
    [draft] = joined_claims.drafts(corpus_of(document("p.md", text)), "comparison")
    assert "which has the longer time" in draft.question
    assert "TIME" not in draft.question
    assert draft.answer.startswith("“Key renewal” (9 business days")


def test_alternatives_are_no_name():
    texts = [text.replace("the Tide Gate", "the tide/gate") for text in (OPENS, PAINTS, LOCKS)]
    documents = [document(f"{n}.md", f"# Page {'PQR'[n]}\n\n{text}\n") for n, text in enumerate(texts)]
    assert mentions(corpus_of(*documents, claims=lambda of: [])).keys().isdisjoint({"tide gate"})


@pytest.mark.parametrize(
    ("sentence", "language", "leans"),
    [
        (OPENS, "en", False),
        ("All harbour boats meet these criteria.", "en", True),
        ("The Tide Gate also closes at noon.", "en", True),
        ("Thus, the Tide Gate is closed at noon.", "en", True),
        ("If it is high water, close the Tide Gate.", "en", True),
        ("The Tide Gate is no longer wooden, though.", "en", True),
        ("因此，港务局关闭“潮门”。", "zh", True),
        ("港务局在黎明打开“潮门”。", "zh", False),
    ],
)
def test_a_sentence_that_needs_the_one_before_it_says_nothing_alone(sentence, language, leans):
    assert _leans(sentence, language) is leans


@pytest.mark.parametrize("name", ["storage media", "TG"])
def test_a_common_noun_or_a_short_abbreviation_joins_no_passages(name):
    documents = [document(each.name, each.text.replace("the Tide Gate", f"the {name}")) for each in planted()]
    assert not [draft for draft in bridges(corpus_of(*documents, claims=lambda of: []), 3) if draft.entity == name]
    assert bridges(corpus_of(*planted(), claims=lambda of: []), 3)


def test_a_passage_that_has_the_name_as_common_words_says_nothing_about_it():
    lowered = document("b.md", planted()[1].text.replace("Tide Gate", "tide gate"))
    documents = (planted()[0], lowered, planted()[2])
    found = mentions(corpus_of(*documents, claims=lambda of: []))["tide gate"]
    assert {each.title for each in found} == {"Harbour day", "Watch"}


def said_of(second, name="Tide Gate"):
    """Return the titles of the pages that say something about the gate where the second one holds `second`."""
    documents = (planted()[0], document("b.md", f"# Repairs\n\n{second}\n\nThe paint is green."), planted()[2])
    return {each.claim.quote for each in mentions(corpus_of(*documents, claims=lambda of: [])).get(name.lower(), ())}


def test_what_only_touches_an_entity_says_nothing_about_it():
    inside = "The smith keeps a brass key of the Tide Gate."
    assert inside not in said_of(inside)
    assert PAINTS in said_of(PAINTS)


def test_a_sentence_that_leans_takes_the_one_before_it():
    both = "Storm water breaks the planks every year. Therefore, two painters repair the Tide Gate every spring."
    assert both in said_of(both)
    assert not {quote for quote in said_of(f"Therefore, {PAINTS[0].lower()}{PAINTS[1:]}") if "Therefore" in quote}


def test_a_sentence_that_goes_on_is_a_part_of_what_is_said():
    both = f"{PAINTS} They use tar and red lead."
    assert both in said_of(both)
    assert PAINTS in said_of(f"{PAINTS} Wooden stalls are sold in autumn.")


def pages(*texts):
    return [document(f"{n}.md", f"# Page {'PQRSTUVWX'[n]}\n\n{text}\n") for n, text in enumerate(texts)]


SUBJECTS = "The {} closes at dusk every winter.", "The {} needs new planks after a storm."


@pytest.mark.parametrize(
    ("name", "joined"), [("Tide Gate", True), ("Ferry bridge", True), ("Ferry lamp", False), ("Pier Gate", False)]
)
def test_a_general_term_of_the_corpus_joins_no_passages(name, joined):
    lamps = [f"Guard number {n} cleans a lamp of the Pier on day {n}." for n in range(6)]
    corpus = corpus_of(*pages(*(text.format(name) for text in SUBJECTS), *lamps), claims=lambda of: [])
    assert any(draft.entity == name for draft in bridges(corpus, 2)) is joined


def test_three_passages_about_a_general_term_come_after_those_about_a_name():
    third = "The {} keeps the flood out of the town."
    lamps = [f"Guard number {n} cleans a lamp on day {n}." for n in range(6)]

    def score(name):
        said = (text.format(name) for text in (*SUBJECTS, third))
        drafts = bridges(corpus_of(*pages(*said, *lamps), claims=lambda of: []), 3)
        return next(draft.score for draft in drafts if draft.entity == name)

    assert score("Ferry lamp") < score("Ferry bridge") - 1


def test_two_passages_of_which_one_has_the_name_as_an_object_are_not_joined():
    both = [text.format("Tide Gate") for text in SUBJECTS]
    assert bridges(corpus_of(*pages(*both), claims=lambda of: []), 2)
    assert not bridges(corpus_of(*pages(both[0], PAINTS), claims=lambda of: []), 2)


def test_what_a_backwards_question_answers_with_leads_nowhere():
    keeper = document("b.md", "# Fees\n\nThe Wharf Master collects silver coins in the town every autumn.")

    def led(question, text="The Wharf Master is asked to ring the bell."):
        of = document("a.md", f"# Storms\n\n{text}\n")
        claim = SourceClaim(
            of.id, of.text.index(text), of.text.index(text) + len(text), text, "fact", question, "The Wharf Master",
            text, "Wharf Master", "en", "", "", ("Wharf Master",), 8.0,
        )  # fmt: skip
        own = {of.id: [claim]}
        corpus = corpus_of(of, keeper, claims=lambda each: own.get(each.id, []))
        return [draft for draft in bridges(corpus, 2) if claim in draft.claims and "say about it" in draft.question]

    assert not led("In a storm, what is asked to ring the bell?")
    assert led("In a storm, who is asked to ring the bell?")


@pytest.mark.parametrize("label", ["Click “Tide Gate” to go on.", "The painter opens the Tide Gate dialog at noon."])
def test_a_label_of_a_screen_joins_no_passages(label):
    documents = [*planted(), document("d.md", f"# Screens\n\n{label}\n")]
    assert "tide gate" not in mentions(corpus_of(*documents, claims=lambda of: []))
    plain = document("d.md", "# Screens\n\nThe painter opens the Tide Gate slowly at noon.\n")
    assert "tide gate" in mentions(corpus_of(*planted(), plain, claims=lambda of: []))


def chinese(*texts):
    titles = ("港口日", "维修", "夜班")
    return corpus_of(
        *(document(f"{title}.md", f"# {title}\n\n{text}\n", "zh") for title, text in zip(titles, texts, strict=False)),
        claims=lambda of: [],
    )


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("两名油漆工每年春天修理「潮汐闸门」的木板。", True),
        ("油漆工请点击「潮汐闸门」，然后等待画面出现。", False),
        ("油漆工在傍晚打开「潮汐闸门」对话框并等待。", False),
        ("两名油漆工每天早晨在「潮汐闸门」等待渔船。", False),
    ],
)
def test_chinese_labels_and_places_join_no_passages(text, joined):
    assert bool(bridges(chinese("港务处每天清晨锁上「潮汐闸门」的铁链。", text), 2)) is joined


def test_an_abbreviation_that_is_spelt_out_in_one_way_is_one_thing():
    documents = [document(each.name, each.text.replace("the Tide Gate", "the HWO")) for each in planted()]
    spelt = document("d.md", "# Terms\n\nThe town founded the Harbour Watch Office (HWO) long ago.\n")
    other = document("e.md", "# More terms\n\nThe king founded the High Water Order (HWO) in spring.\n")
    assert "hwo" not in mentions(corpus_of(*documents, claims=lambda of: []))
    assert len(mentions(corpus_of(*documents, spelt, claims=lambda of: []))["hwo"]) == 3
    assert "hwo" not in mentions(corpus_of(*documents, spelt, other, claims=lambda of: []))


def test_a_verb_before_a_name_is_no_part_of_it():
    assert not _is_one_thing("email Ida Brandt")
    assert _is_one_thing("Ida Brandt")
    assert not _is_one_thing("Appendix B")
