"""Claims of English documents and their questions: what is asked about, and what is not."""

import re
import time

import pytest

from ragviz.claims import chinese_claims, english_claims, extractive_claims
from ragviz.claims.extractive_claims import Occurrences, claims_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document

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
        ("- Owner: Ann Lee\n- Colour: red\n", ("fact", "who is the owner?", "Ann Lee")),
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
    ("sentence", "expected"),
    [
        (
            "Report every accident to the shop manager, Dorit Hansen, within two hours.",
            [("number", "within how many hours should you report every accident to the shop manager?", "two hours")],
        ),
        (
            "Visitors report to the shop manager, Dorit Hansen, within two hours.",
            [("number", "within how many hours do visitors report to the shop manager?", "two hours")],
        ),
        (
            "The loan period is four weeks for books and one week for films.",
            [("definition", "what is the loan period?", "four weeks for books and one week for films")],
        ),
    ],
)
def test_appositions_and_coordinated_answers(sentence, expected):
    """An apposition hangs in no question; what is coordinated inside of the answer stays."""
    found = asked(f"{sentence}\n")
    assert [(kind, line, answer) for kind, line, answer in found if kind != "fact"] == expected


@pytest.mark.model
@pytest.mark.parametrize(
    "sentence",
    [
        "Saturdays earn a surcharge of 50 percent and Sundays of 75 percent.",  # a verb is left out
        "Adults may borrow 20 items at a time, children 10.",
        "Bicycles cost 5 euros, tandems 8 and trailers 4.",
        "Lucy Tran organises the music and Karl Brandt the barbecue.",
        "The warranty lasts 24 months for the kettle and six months for the filter.",
        "Membership fees rise from 60 to 72 euros a year.",  # two amounts
        "Renewals are possible online, by phone on 0555 1234 or at the desk.",  # no date
        "Longer requests are approved by the head of the travel department.",  # longer than what?
    ],
)
def test_no_question_where_coordination_hides_another_answer(sentence):
    assert asked(f"{sentence}\n") == []


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


FERRY = "# Ferries\n\n## Fares\n\n"


@pytest.mark.model
@pytest.mark.parametrize(
    ("table", "questions"),
    [
        (  # the label of the row is the attribute
            "| | Van | Car |\n|---|---|---|\n| Price | 54 € | 38 € |\n| Height | 3 m | 2 m |\n",
            ["what is the price of “Car”?", "what is the price of “Van”?", "what is the height of “Car”?"],
        ),
        (  # neither the row nor the column is one alone
            "| Fare | Adult | Child |\n|---|---|---|\n| Single | 12.50 | 6 |\n| Return | 22 | 11 |\n",
            ["what is listed for “Single” under “Adult”?", "what is listed for “Return” under “Child”?"],
        ),
        (  # a plural with one amount counts, or is a verb
            "| Office | Employees | Size |\n|---|---|---|\n| Oslo | 85 | 90 m² |\n| Bergen | 12 | 30 m² |\n",
            ["what is listed for “Oslo” under “Employees”?", "what is the size of the office “Bergen”?"],
        ),
        (
            "| Lot | Area |\n|---|---|\n| 1 | North valley |\n| 2 | Hallau town |\n",
            ["what is the area of the lot “1”?", "what is the area of the lot “2”?"],
        ),
    ],
)
def test_which_way_cells_are_asked_about(table, questions):
    found = [line for _, line, _ in asked_in(FERRY + table)]
    assert all(any(line.lower().endswith(question.lower()) for line in found) for question in questions), found


def asked_in(text: str, media_type: str = "text/markdown", name: str = "rules.md") -> list[tuple[str, str, str]]:
    """Type, question and answer of every claim."""
    read = Document(Document.make_id(name, text), name, text, (), "en", media_type, "", 0)
    return [(claim.type, claim.question, claim.answer) for claim in claims_of(read)]


@pytest.mark.model
def test_rows_of_a_csv_file_are_asked_about():
    text = "Stop,Zone,First bus\nHarbour,A,05:12\nTown Hall,B,05:19\n"
    found = asked_in(text, "text/csv", "timetable.csv")
    assert [answer for _, _, answer in found] == ["05:12", "A", "05:19", "B"]
    assert found[0][1] == "In “timetable”, what is the first bus of “Harbour”?"


@pytest.mark.model
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("- Weddings: 2 days\n- Moving house: 1 day\n", "what is listed for “Weddings”?"),  # no attributes
        ("Version: 4.2\nDeadline: 3 May\n", "what is the version?"),
        ("- Site manager: Clara Bone\n- Room: the hall\n", "who is the site manager?"),
    ],
)
def test_how_values_of_keys_are_asked_about(body, expected):
    assert expected in [line for _, line, _ in asked(body)]


@pytest.mark.model
@pytest.mark.parametrize("body", ["Name: Clara Bone\n", "Apologies: Clara Bone\n"])
def test_no_question_of_keys_that_say_too_little(body):
    assert asked(body) == []


STEPS = "1. Check the tyres and the brakes.\n2. Read the display.\n3. Clean the chain.\n4. Sign the form.\n"
RETURN = "# Rental shop\n\n## Returning a bicycle\n\n"


@pytest.mark.model
def test_steps_under_a_heading():
    found = asked_in(RETURN + STEPS)
    assert found == [
        (
            "list",
            "In “Rental shop”, what are the steps under “Returning a bicycle”?",
            "Check the tyres and the brakes; Read the display; Clean the chain; Sign the form",
        ),
        ("fact", "In “Rental shop”, what is the third step under “Returning a bicycle”?", "Clean the chain"),
        (
            "fact",
            "In “Rental shop”, which step under “Returning a bicycle” comes after “Clean the chain”?",
            "Sign the form",
        ),
    ]


@pytest.mark.model
@pytest.mark.parametrize(
    ("heading", "body", "expected"),
    [
        ("Tools in the workshop", "- wrench\n- gauge\n", "In “Bicycles”, what are the tools in the workshop?"),
        ("Standard software", "- Zoom\n- Thunderbird\n", "In “Bicycles”, what is listed under “Standard software”?"),
        ("What should I bring?", "- a lock\n- a map\n", "In “Bicycles”, what should I bring?"),
        ("Weekly topics", "1. Food webs\n2. Succession\n", "In “Bicycles”, what are the weekly topics?"),
    ],
)
def test_items_under_a_heading(heading, body, expected):
    assert [line for _, line, _ in asked_in(f"# Bicycles\n\n## {heading}\n\n{body}")] == [expected]


@pytest.mark.model
@pytest.mark.parametrize(
    ("heading", "body"),
    [
        ("Examples", "- wrench\n- gauge\n"),  # says nothing
        ("Use the following tools", "- wrench\n- gauge\n"),
        ("Other tools", "- Which wrench?\n- gauge\n"),
        ("Tools", "Some text.\n\n- wrench\n- gauge\n"),  # the heading heads the text
        ("Tools", "- Manuals:\n- Links:\n"),
    ],
)
def test_no_question_of_items_that_their_heading_does_not_name(heading, body):
    assert asked_in(f"# Bicycles\n\n## {heading}\n\n{body}") == []


@pytest.mark.model
def test_a_heading_that_is_repeated_is_named_with_the_one_above():
    text = "# Changes\n\n## 2.0\n\n### Added tools\n\n- gauge\n- file\n\n## 1.0\n\n### Added tools\n\n- saw\n- axe\n"
    found = {line: answer for _, line, answer in asked_in(text)}
    assert found == {
        "In “Changes”, what is listed under “Added tools” within “2.0”?": "gauge; file",
        "In “Changes”, what is listed under “Added tools” within “1.0”?": "saw; axe",
    }


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


@pytest.mark.parametrize(
    ("sentence", "is_asked"),
    [
        ("The rope package provides a tool to check the length of every old sail.", False),
        ("The rope package provides a measuring tool to check the length of every old sail.", True),
        ("The necessary tools are shipped with the rope package and the sail package.", False),
        ("The measuring tools are shipped with the rope package and the sail package.", True),
    ],
)
def test_an_answer_that_names_no_certain_thing_is_not_asked_for(sentence, is_asked):
    assert bool(asked(sentence)) is is_asked


def test_a_value_that_only_announces_values_is_not_asked_for():
    assert not asked("HARBOUR Boats at the quay: some figures\n")
    assert not asked("Boats: some figures\n")
    assert asked("Boats: 32\n")


BERTHS = """# Harbour

## Berths

| Berth | Guild | Fee |
| --- | --- | --- |
| East | Weavers | 21 marks |
| West | Tanners | 30 marks |
|  | Dyers | 33 marks |
| North | Coopers | 12 marks |
"""
OTHER_BERTHS = """
In winter:

| Berth | Guild | Depth |
| --- | --- | --- |
| North | Bakers | 9 m |
| South | Millers | 7 m |
"""


@pytest.mark.model
def test_a_row_that_goes_on_or_stands_in_another_table_has_no_one_value():
    """West has two guilds and fees. North has two guilds, one of them in winter, but one fee and one depth."""
    cells = {claim.answer for claim in claims_of(document(BERTHS)) if claim.type == "table"}
    assert cells == {"Weavers", "21 marks", "Coopers", "12 marks"}
    cells = {claim.answer for claim in claims_of(document(BERTHS + OTHER_BERTHS)) if claim.type == "table"}
    assert cells == {"Weavers", "21 marks", "12 marks", "9 m", "Millers", "7 m"}
    apart = OTHER_BERTHS.replace("In winter:", "## Winter berths")
    cells = {claim.answer for claim in claims_of(document(BERTHS + apart)) if claim.type == "table"}
    assert cells == {"Weavers", "21 marks", "Coopers", "12 marks", "Bakers", "9 m", "Millers", "7 m"}


@pytest.mark.model
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Of a table without titles, the first row may be some that are not marked.
        ("|  |  |\n|---|---|\n| Berth | Guild |\n| East | Weavers |\n| West | Tanners |\n",
         {"what is listed for “East”?", "what is listed for “West”?"}),
        ("|  |  |  |\n|---|---|---|\n| Berth | Guild | Fee |\n| East | Weavers | $9 |\n", set()),
        # Tables of one row with the same titles are each about their section.
        ("### Rope\n\n| type | default |\n|---|---|\n| hemp | 9 m |\n\n### Sail\n\n| type | default |\n|---|---|\n"
         "| linen | 12 m |\n", set()),
        ("Some of the guilds of the harbour are:\n\n- weavers\n- tanners\n", set()),
    ],
)  # fmt: skip
def test_what_a_table_does_not_tell_is_not_asked(body, expected):
    found = claims_of(document(f"# Harbour berths\n\n{body}"))
    assert {claim.question.split(", ", 1)[-1] for claim in found if claim.type in ("table", "list")} == expected


@pytest.mark.model
@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("The Kestrel pump has a length of 12 feet.", "what is the length of the Kestrel pump?", "12 feet"),
        ("The length of the Kestrel pump is 12 feet.", "what is the length of the Kestrel pump?", "12 feet"),
        ("The default value of MAX_CONN is 100.", "what is the default value of MAX_CONN?", "100"),
        ("The timeout of the Heron daemon is at most 30 seconds.", "what is the timeout of the Heron daemon?",
         "at most 30 seconds"),
        ("The fee for a fishing licence is $25 per year.", "what is the fee for a fishing licence?", "$25 per year"),
        # Of several amounts, of what is not said, of a count, under a condition, or not of this thing alone: nothing.
        ("The Oslo lock has a length of 120 metres and a width of 14 metres.", None, None),
        ("The pressure of the pump is 12 bar.", None, None),
        ("The number of the Kestrel pumps is 12 pieces.", None, None),
        ("In winter, the maximum pressure of the Kestrel pump is 9 bar.", None, None),
        ("The maximum pressure of the Kestrel pump is 12 bar higher than before.", None, None),
        ("The maximum pressure of the Kestrel pump is 12 bar after a repair.", None, None),
        ("The maximum pressure of the Kestrel pump is not 12 bar.", None, None),
        ("The maximum pressure of its pump is 12 bar.", None, None),
    ],
)  # fmt: skip
def test_a_measured_attribute_is_asked_for(sentence, question, answer):
    found = [
        (claim.question.split(", ", 1)[-1], claim.answer)
        for claim in claims_of(document(f"# Harbour rules\n\n{sentence}\n"))
        if claim.question.split(", ", 1)[-1].startswith("what is the")
    ]
    assert found == ([(question, answer)] if question else [])
