"""Claims of English documents and their questions: what is asked about, and what is not."""

import re
import time

import pytest

from ragviz.claims import chinese_claims, english_claims, extractive_claims
from ragviz.claims.extractive_claims import Occurrences, claims_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.records import Document

HEAD = "# Staff rules\n\n## Leave\n\n"


def document(text: str, language: str = "en", name: str = "rules.md") -> Document:
    return Document(Document.make_id(name, text), name, text, (), language, "text/markdown", "", 0)


def asked(body: str, head: str = HEAD) -> list[tuple[str, str, str]]:
    """Type, question without its lead, and answer of every claim; each quote stands in the text once, where it says."""
    text = head + body
    found = claims_of(document(text))
    for claim in found:
        assert text[claim.start : claim.end] == claim.quote
        assert text.count(claim.quote) == 1
        assert claim.section.startswith("Staff rules")
        assert claim.language == "en"
    lead = re.compile("(?:Regarding “Leave” in|In) “Staff rules”, ")
    return [(each.type, lead.sub("", each.question, count=1), each.answer) for each in found]


@pytest.mark.model
@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "New employees have 25 days of leave.",
            ("number", "how many days of leave do new employees have?", "25 days"),
        ),
        ("Parking permits expire on 31 March.", ("number", "when do parking permits expire?", "31 March")),
        (
            "Parking permits cost $20 per year.",
            ("number", "how much do parking permits cost per year?", "$20 per year"),
        ),
        (
            "The dome fans start ninety minutes before sunset.",
            ("number", "how many minutes before sunset do the dome fans start?", "ninety minutes"),
        ),
        (
            "A sabbatical is a paid break that lasts three months.",
            ("definition", "what is a sabbatical?", "a paid break that lasts three months"),
        ),
        (
            "Dogs may not enter the reading room.",
            ("exception", "may dogs enter the reading room?", "No, dogs may not enter the reading room"),
        ),
        (
            "Do not store private keys in the shared folder.",
            (
                "exception",
                "should you store private keys in the shared folder?",
                "No, do not store private keys in the shared folder",
            ),
        ),
        (
            "Visitors may not park in the yard unless a manager has agreed.",
            ("exception", "in what case may visitors park in the yard?", "a manager has agreed"),
        ),
        (
            "Visitors may park in the yard unless the gate is closed.",
            ("exception", "in what case may visitors not park in the yard?", "the gate is closed"),
        ),
        (
            "The Berlin office keeps the signed contracts in the red archive room.",
            ("fact", "what does the Berlin office keep in the red archive room?", "the signed contracts"),
        ),
    ],
)
def test_sentences(sentence, expected):
    found = asked(f"{sentence}\n")
    if expected[1].startswith("how much"):  # the parser may take "per year" for a part of the sum or not
        assert [each[0] for each in found] == ["number"]
        assert "$20" in found[0][2]
    else:
        assert found == [expected]


@pytest.mark.model
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("**Opening hours**: 9 to 17\n", ("number", "what are the opening hours?", "9 to 17")),
        ("- Owner: Ann Lee\n- Colour: red\n", ("fact", "what is the owner?", "Ann Lee")),
        ("**PTO** – a number of days without work\n", ("definition", "what is PTO?", "a number of days without work")),
        (
            "| Ticket | Price |\n|---|---|\n| day | $5 |\n| week | $20 |\n",
            ("table", "what is the price of the ticket “week”?", "$20"),
        ),
        (
            "| Feature | Basic |\n|---|---|\n| Storage limit | 5 GB |\n",
            ("table", "what is the storage limit of “Basic”?", "5 GB"),
        ),
        (
            "| Item | 2023 |\n|---|---|\n| Travel costs | 5,000 |\n",
            ("table", "what are the travel costs for 2023?", "5,000"),
        ),
        (
            "| Name | Description |\n|---|---|\n| Main gate | Open to cars |\n",
            ("table", "what is listed for “Main gate”?", "Open to cars"),
        ),
        (
            "The form needs these three stamps:\n\n- the date;\n- the name, and\n- the number.\n",
            ("list", "which three stamps does the form need?", "the date; the name; the number"),
        ),
        (
            "The travel desk provides:\n\n1. maps\n2. tents\n",
            ("list", "what does the travel desk provide?", "maps; tents"),
        ),
        (
            "Documents for a tourist visa:\n\n- a passport\n- a photo\n",
            ("list", "what are the documents for a tourist visa?", "a passport; a photo"),
        ),
    ],
)
def test_structure(body, expected):
    assert expected in asked(body)


@pytest.mark.model
@pytest.mark.parametrize(
    "sentence",
    [
        "It lasts three days and two nights.",  # who or what is known from elsewhere
        "They have 25 days of leave.",
        "This card costs $20 per year.",
        "The course lasts three days.",  # which one?
        "The main exception lasts three days.",
        "In this case, new employees have 30 days of leave.",
        "In addition, new employees have 30 days of leave.",
        "For example, new employees have 30 days of leave.",
        "Alternatively, new employees have 30 days of leave.",
        "Several employees bring the yellow forms to the office.",
        "You can bring the yellow forms.",
        "Supervisors may check the yellow forms.",
        "Employees usually bring the yellow forms to the reception desk.",
        "Do new employees have 25 days of leave?",
        "New employees have the following days:",
        "Don't forget to bring the yellow forms to the reception desk.",
        "Everyone at the office brings the yellow forms.",
        "The team plays a vital role in planning the move of the office.",
        "The desk enables staff all over the country to travel.",
        "New employees have `<number>` days of leave.",
        "Many ways to get help are open to staff",
    ],
)
def test_no_question_where_a_sentence_does_not_stand_alone(sentence):
    assert asked(f"{sentence}\n") == []


@pytest.mark.model
@pytest.mark.parametrize(
    "body",
    [
        "**Note**: the office is closed on Sunday\n",
        "Well known: this is a sentence that says something about it.\n",
        "- Option 1: 5 GB\n- Option 2: 6 GB\n",
        "| Ticket | Price |\n|---|---|\n| day | $5 |\n| day | $6 |\n",  # two rows of the same name
        "| Ticket | Open |\n|---|---|\n| day | yes |\n| week | no |\n",
        "| Day | 37 | Day | 43 |\n|---|---|---|---|\n| Monday | 1 | Tuesday | 2 |\n",
        "Follow these steps:\n\n1. open the door\n2. close the door\n",
        "The desk lends things such as:\n\n- maps\n- tents\n",
        "Staff are asked to leave if:\n\n- The lamp is red.\n- New employees have 25 days of leave.\n",
    ],
)
def test_no_question_of_places_that_hold_no_single_fact(body):
    assert asked(body) == []


@pytest.mark.model
def test_the_question_names_its_section_and_document_unless_it_holds_their_words():
    sentence = "New employees have 25 days of leave.\n"
    (claim,) = claims_of(document(f"# Staff rules\n\n## Part-time work\n\n{sentence}"))
    assert claim.question.startswith("Regarding “Part-time work” in “Staff rules”, how many")
    (claim,) = claims_of(document(f"# Leave of new employees\n\n{sentence}"))
    assert claim.question == "How many days of leave do new employees have?"
    (claim,) = claims_of(document(f"# Staff rules\n\n## Introduction\n\n{sentence}"))
    assert claim.question.startswith("In “Staff rules”, how many")
    (claim,) = claims_of(document(sentence, name="hr/holiday-guide.md"))
    assert claim.question.startswith("In “holiday guide”, how many")
    assert (claim.subject, claim.attribute, claim.section) == ("New employees", "days", "")


@pytest.mark.model
def test_entities_are_as_they_stand():
    (claim,) = claims_of(document(f"{HEAD}Members of the Berlin office have 25 days of parental leave at Acme Corp.\n"))
    assert "Berlin" in claim.entities
    assert {"Acme Corp", "Acme Corp."} & set(claim.entities)


@pytest.mark.model
def test_markup_is_in_the_evidence_and_not_in_the_question():
    text = f"{HEAD}New employees have **25 [days](d.md)** of leave.\n"
    (claim,) = claims_of(document(text))
    assert claim.quote == "New employees have **25 [days](d.md)** of leave."
    assert (claim.answer, claim.statement) == ("25 days", "New employees have 25 days of leave.")


@pytest.mark.model
def test_a_repeated_quote_is_widened_to_its_heading_or_left_out():
    row = "New employees have 25 days of leave."
    apart = claims_of(document(f"# Rules\n\n## Berlin\n\n{row}\n\n## Paris\n\n{row}\n"))
    assert [claim.quote for claim in apart] == [f"## Berlin\n\n{row}", f"## Paris\n\n{row}"]
    assert claims_of(document(f"# Rules\n\n{row}\n\n{row}\n")) == [] or [
        claim.quote for claim in claims_of(document(f"# Rules\n\n{row}\n\n{row}\n"))
    ] == [f"# Rules\n\n{row}"]
    far = "x" * extractive_claims.CHARACTERS_BEFORE
    assert claims_of(document(f"# Rules\n\n## Berlin\n\n{far}\n\n{row}\n\n## Paris\n\n{far}\n\n{row}\n")) == []


def test_of_claims_with_one_question_and_two_answers_none_is_kept(monkeypatch):
    text = "The fee is 5.\n\nThe fee is 6.\n\nThe hall is red.\n\nRed is the hall.\n"

    def made(_):
        for quote, question, answer, score in (
            ("The fee is 5.", "What is the fee?", "5", 1.0),
            ("The fee is 6.", "what is the fee", "6", 2.0),
            ("The hall is red.", "Which colour?", "red", 3.0),
            ("Red is the hall.", "Which colour?", "Red", 2.0),
        ):
            start = text.index(quote)
            yield SourceClaim(
                "d", start, start + len(quote), quote, "fact", question, answer, quote, "", "en", score=score
            )

    monkeypatch.setattr(english_claims, "claims", made)
    assert [claim.quote for claim in claims_of(document(text))] == ["The hall is red."]


def test_chinese_documents_go_to_the_chinese_makers(monkeypatch):
    monkeypatch.setattr(chinese_claims, "claims", lambda _: iter(()))
    monkeypatch.setattr(english_claims, "claims", lambda _: pytest.fail("read as English"))
    assert claims_of(document("差旅费每天200元。", "zh")) == []


def test_occurrences_agree_with_a_plain_count():
    text = "The fee is 5 euros a day here. Parting is hard. The fee is 5 euros a day there. "
    text += "会议室每天开放。会议室每天开放十小时。ab a b ab"
    words = Occurrences(text)
    for start in range(0, len(text), 3):
        for end in range(start + 1, min(start + 40, len(text) + 1), 4):
            quote = text[start:end]
            if any(c.isalnum() for c in quote):
                repeated = text.find(quote) != start or text.find(quote, start + 1) >= 0
                assert words.is_repeated(start, end) == repeated, quote


@pytest.mark.model
def test_time_grows_with_the_length():
    body = "New employees of office number {n} have 25 days of leave. It has no other rule.\n\n- Fee {n}: $5\n\n"
    body += "| A{n} | B |\n|---|---|\n| xx{n} | 1{n} |\n\n"
    times = []
    claims_of(document(body.format(n=0)))
    for copies in (30, 240):
        begun = time.process_time()
        claims_of(document("# Rules\n\n" + "".join(body.format(n=n) for n in range(copies))))
        times.append(time.process_time() - begun)
    assert times[1] < 1 + 16 * times[0]
