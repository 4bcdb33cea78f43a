"""Entities of a corpus's claims, where words stand in it, and names as whole noun phrases: against planted texts."""

import random

import pytest

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.generation import entities
from ragviz.generation.entities import holds, is_entity, kind, normal
from ragviz.generation.exact_search import REACH, ExactSearch
from ragviz.generation.noun_phrases import noun_phrases
from tests.processor_time import seconds_of


def document(name, text, language="en"):
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "h", len(text))


def claim(of, quote, question, answer, subject="", names=(), **more):
    start = of.text.index(quote)
    assert of.text.count(quote) == 1
    values = {"type": "fact", "statement": " ".join(quote.split()), "language": of.language, "score": 8.0} | more
    return SourceClaim(
        of.id, start, start + len(quote), quote, question=question, answer=answer, subject=subject,
        entities=tuple(names), **values,
    )  # fmt: skip


FAIRS = document("fairs.md", "# Fairs\n\nThe Harbour Guild runs the spring fair.\n\nIts stalls are wooden.\n")
GUILDS = document(
    "guilds.md",
    "# Guilds\n\nThe harbour guilds meet on Mondays.\n\n## Harbour Guild\n\nAn elder approves each stall.\n",
)
TOLLS = document("tolls.md", "# Tolls\n\nBoats pay five marks.\n\nThe bridge is closed in winter.\n")
BOATS = document("船.md", "# 船\n\n港口公会管理渡船。\n\n渡船的票价是五元。\n", "zh")


def test_names_are_equal_in_their_normal_form():
    assert normal("The Harbour Guilds") == normal("harbour guild") == normal("Harbour Guild’s") == "harbour guild"
    assert normal("ＡＢ公会") == normal("ab公会")
    assert normal("港口公会") != normal("公会")


@pytest.mark.parametrize(
    ("name", "language", "names_one"),
    [
        ("Harbour Guild", "en", True),
        ("FITS", "en", True),
        ("stall permit", "en", True),
        ("stall", "en", False),  # a single common word
        ("March 2023", "en", True),
        ("2023", "en", False),
        ("12 %", "en", False),
        ("this", "en", False),
        ("港口公会", "zh", True),
        ("的", "zh", False),
        ("2021年", "zh", False),
        ("在渡船停运时", "zh", False),  # a circumstance
    ],
)
def test_what_can_name_one_thing(name, language, names_one):
    assert is_entity(name, language) is names_one


def test_kinds_are_read_off_the_form():
    assert kind("Harbour Guild", "en") == kind("the guilds of the river", "en") == "guild"
    assert kind("GS-14", "en") == kind("GS-9", "en") != kind("SF-52", "en")
    assert kind("Ann", "en") == ""
    assert kind("港口公会", "zh") == kind("石匠公会", "zh") == "公会"


def test_words_are_found_in_every_document_paragraph_and_heading():
    search = ExactSearch([FAIRS, GUILDS, TOLLS])
    assert search.documents("harbour guild") == [FAIRS.id, GUILDS.id]  # any case and number
    assert search.count("The Harbour Guild") == 2  # "the", too
    assert search.count("guild harbour") == search.count("zebra") == search.count("") == 0
    first = search.paragraphs(FAIRS.id, FAIRS.text.index("The Harbour"), FAIRS.text.index("fair."))
    assert search.holds(first, "spring fair")
    assert not search.holds(first, "stalls")
    assert not search.holds(first, "")
    assert search.paragraph(FAIRS.id, FAIRS.text.index("stalls")) == first.start + 1


def test_what_stands_near_a_name_or_under_its_heading_is_said_together_with_it():
    search = ExactSearch([FAIRS, GUILDS, TOLLS])
    assert search.near("Harbour Guild", ["approved", "elders", "winter"]) == 2
    assert search.near("boats", ["winter"]) == 1
    assert search.near("boats", ["fair"]) == 0  # said in other documents only
    assert search.near("zebra", ["fair"]) == 0
    assert search.near("the", ["fair"], most=1) is None


def test_what_is_far_from_a_name_is_not_said_together_with_it():
    for gap, together in ((REACH - 3, 1), (REACH + 1, 0)):
        text = "Otter " + "word " * gap + "seven"
        assert ExactSearch([document("a.txt", text)]).near("otter", ["seven"]) == together


def test_found_places_are_those_of_a_plain_search():
    generator = random.Random(5)
    words = ["ash", "birch", "cedar", "fir", "oak"]
    texts = [" ".join(generator.choices(words, k=60)) for _ in range(20)]
    search = ExactSearch([document(f"{number}.txt", text) for number, text in enumerate(texts)])
    for _ in range(40):
        wanted = " ".join(generator.choices(words, k=generator.randint(1, 3)))
        own = [text.split() for text in texts]
        size = len(wanted.split())
        expected = sum(line[at : at + size] == wanted.split() for line in own for at in range(60))
        assert search.count(wanted) == expected


def test_claims_that_ask_about_an_entity_and_that_answer_with_it():
    runs = claim(FAIRS, "The Harbour Guild runs the spring fair.", "Who runs the spring fair?", "The Harbour Guild",
                 "spring fair", ["Harbour Guild", "spring fair"])  # fmt: skip
    meets = claim(GUILDS, "The harbour guilds meet on Mondays.", "When do the harbour guilds meet?", "Mondays",
                  "harbour guilds")  # fmt: skip
    corpus = entities.read([(FAIRS, [runs]), (GUILDS, [meets]), (TOLLS, [])])
    assert corpus.answering["harbour guild"] == (0,)
    assert corpus.about["harbour guild"] == (1,)
    assert corpus.about["spring fair"] == (0,)
    assert list(corpus.rare()) == ["harbour guild"]  # the fair is in one passage


def test_an_entity_of_every_document_is_not_rare():
    documents = [document(f"{number}.md", f"Item {number}: the Harbour Guild pays.") for number in range(6)]
    claims = [
        claim(each, each.text, "Who pays the toll?", "the Harbour Guild", "toll", ["Harbour Guild"])
        for each in documents
    ]
    pairs = [(each, [own]) for each, own in zip(documents, claims, strict=True)]
    assert list(entities.read(pairs[:5]).rare()) == ["harbour guild"]
    assert list(entities.read(pairs).rare()) == []


def test_a_name_inside_a_path_is_not_asked_about():
    text = "The file docs/harbour-guild.md has nine bytes. The Harbour Guild is old."
    of = document("files.md", text)
    path = claim(of, "The file docs/harbour-guild.md has nine bytes.", "How long is docs/harbour-guild.md?", "nine")
    old = claim(of, "The Harbour Guild is old.", "How old is the Harbour Guild?", "old", "Harbour Guild")
    assert entities.read([(of, [path, old])]).about["harbour guild"] == (1,)


def test_a_phrase_is_held_in_any_inflection():
    assert holds("Submit absence requests early.", "an absence request")
    assert not holds("absence of requests", "absence requests")
    assert not holds("anything", "")


def test_reading_a_corpus_takes_time_in_proportion_to_it():
    def seconds(size):
        pairs = []
        for number in range(size):
            of = document(f"{number}.md", f"Guild{number} of Town{number} meets in hall {number}.\n\n" + "x y z " * 40)
            own = claim(of, of.text.partition("\n")[0], f"Where does Guild{number} meet?", f"hall {number}",
                        f"Guild{number}", [f"Town{number}"])  # fmt: skip
            pairs.append((of, [own]))
        assert sum(1 for _ in entities.read(pairs).rare()) == 0
        return seconds_of(lambda: list(entities.read(pairs).rare()))

    seconds(50)
    assert seconds(1600) < 12 * max(seconds(400), 0.02)  # four times as much; the square would be sixteen


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "name", "with_pronoun"),
    [
        ("Who approves the stall permit?", "stall permit", "Who approves it?"),
        ("When do the elders of the town meet?", "elders", None),  # a part of a longer phrase
        ("When does the Harbour Guild meet?", "Harbour", None),
        ("When does the Harbour Guild meet?", "Harbour Guild", "When does it meet?"),
        ("When do the travel cards expire?", "travel cards", "When do they expire?"),
        ("What is the Harbour Guild's motto?", "Harbour Guild", "What is its motto?"),
        ("What is FITS?", "FITS", "What is it?"),
        ("Where does Harbour meet Harbour?", "Harbour", None),  # which one?
    ],
)
def test_a_whole_noun_phrase_is_replaced(question, name, with_pronoun):
    [phrase] = noun_phrases([(question, name)], "en")
    assert (phrase and phrase.replaced(phrase.pronoun)) == with_pronoun


@pytest.mark.model
def test_a_whole_chinese_noun_phrase():
    own, part = noun_phrases([("港口公会的会长是谁？", "港口公会"), ("港口公会的会长是谁？", "公会")], "zh")
    assert own is not None
    assert own.text == "港口公会"
    assert own.possessive
    assert part is None
