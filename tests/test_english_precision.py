"""What is not asked about in English, each with a neighbouring sentence that is; sentences written by hand."""

import pytest

from ragviz.claims import english_gate
from ragviz.claims.extractive_claims import claims_of
from ragviz.generation.boilerplate import Boilerplate
from tests.test_english_claims import document

pytestmark = pytest.mark.model
HEAD = "# Harbour rules\n\n## Boats\n\n"


def asked(body, head=HEAD):
    """Type, question and answer of every claim, without what tells where it belongs."""
    leads = ("Regarding boats in “Harbour rules”, ", "In “Harbour rules”, ")
    found = []
    for claim in claims_of(document(head + body)):
        line = claim.question
        for lead in leads:
            line = line.removeprefix(lead)
        found.append((claim.type, line, claim.answer))
    return found


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (  # which sorting is known from elsewhere
            "The default sorting is based on the current length of every mast.",
            "The berth sorting of tugs is based on the registered length of every mast.",
        ),
        (
            "The extra sails are stored as spares in the red shed behind the quay.",
            "The storm sails are stored as spares in the red shed behind the quay.",
        ),
        (
            "Existing ropes are left in the red shed behind the old quay.",
            "Hemp ropes are left in the red shed behind the old quay.",
        ),
        (
            "Like all boats of Oslo, the northern ferry is kept in the red harbour shed.",
            "The northern ferry of Oslo is kept in the red harbour shed.",
        ),
        ("On some days the Oslo lock is not open to small boats.", "The Oslo lock is not open to small boats."),
        (  # what an option does
            "-n, --no-owner\n\nDo not write the owners of boats into the list.",
            "Rules of the desk\n\nDo not write the owners of boats into the list.",
        ),
        (  # one of several
            "One popular way to moor a boat is to tie the bow rope to the northern ring.",
            "The usual way to moor a boat is to tie the bow rope to the northern ring.",
        ),
        (
            "None of the spare sails is kept in the red shed behind the Oslo lock.",
            "The spare sail of Oslo is kept in the red shed behind the lock.",
        ),
        (  # no term, but something in its circumstances
            "The long absence of the harbour cat is a source of worry for the crew.",
            "A harbour cat is an animal that keeps mice from the sheds of the crew.",
        ),
        (  # a judgement
            "A keel boat is a difficult vessel to steer through the narrow lock.",
            "A keel boat is a sailing vessel with a fin of lead.",
        ),
        ("A keel boat is a very good fit for narrow rivers.", "A keel boat is a sailing vessel for narrow rivers."),
        (
            "A nice feature is the automated counting of boats at the lock.",
            "A sluice is a gate that counts boats at the lock.",
        ),
        (  # what would be, if
            "The Oslo lock would not be safe for small boats in the dark.",
            "The Oslo lock is not safe for small boats in the dark.",
        ),
        (  # until changes what is denied
            "Fishing boats must not enter the northern lock until a pilot arrives.",
            "Fishing boats must not enter the northern lock without a pilot.",
        ),
        (  # "what does it enable to …?"
            "The Berlin office allows the fishing crews to sail in the red boat.",
            "The Berlin office keeps the fishing nets in the red boat.",
        ),
        (
            "Each registered fishing boat has a priority of 100.",
            "Each registered fishing boat carries a priority of 100 metres.",
        ),
        (  # many things are not
            "Repainted club boats are not likely bound to the single northern quay.",
            "Repainted club boats are bound by law to the single northern quay.",
        ),
        (
            "BERTHS Fishing boats must not enter the northern lock. For fishing ask here!",
            "Fishing boats must not enter the northern lock. For fishing ask here!",
        ),
        (  # half of a name
            "The Berlin office keeps the boat- and ferry contracts in the red archive room.",
            "The Berlin office keeps the signed contracts in the red archive room.",
        ),
    ],
)
def test_no_question_beside_one(refused, kept):
    assert asked(f"{refused}\n") == []
    assert asked(f"{kept}\n")


@pytest.mark.parametrize(
    ("first", "verb"),
    [
        ("Discard received harbour packets with probability 0.1 of the northern lock.", "discard"),
        ("Deny tide(1) queries which attempt to change the state of the northern lock.", "deny"),
    ],
)
def test_a_command_is_not_about_a_name(first, verb):
    """The parser takes the first word for a name, which the document knows as a common word only."""
    assert asked(f"{first}\n\nGuards {verb} boats.\n") == []
    assert asked(f"{first}\n\nOur {verb.title()} and his friends {verb} boats.\n") != []


def test_keys_of_a_release_name_nothing():
    body = "- **Speed limit**: 6 knots\n- **Largest boat**: 12 metres\n"
    assert asked(f"## Rules of the lock\n\n{body}")
    assert asked(f"## Release notes\n\n{body}") == []


def test_a_word_that_is_marked_as_a_name_is_asked_for_as_one():
    found = asked("- `rudder`: steering gear\n- Owner: Ann Lee\n- Length: 12 metres\n")
    lines = [line for kind, line, _ in found if kind != "list"]
    assert lines == ["what is listed for “rudder”?", "who is the owner?", "what is the length?"]


def test_what_stands_in_brackets_stays_in_the_answer():
    ((_, line, answer),) = asked(
        "The harbour office keeps the signed (or stamped) contracts in the red archive room.\n"
    )
    assert line == "what does the harbour office keep in the red archive room?"
    assert answer == "the signed (or stamped) contracts"


def test_what_must_not_be_is_asked_for_by_may():
    assert asked("Fishing boats must not enter the northern lock.\n") == [
        (
            "exception",
            "may fishing boats enter the northern lock?",
            "No, fishing boats must not enter the northern lock",
        )
    ]


def test_a_denial_ends_with_its_clause():
    ((_, line, answer),) = asked("The Oslo lock is not safe for tugs and has a yellow gate.\n")
    assert (line, answer) == ("is the Oslo lock safe for tugs?", "No, the Oslo lock is not safe for tugs")


def test_a_first_row_of_data_is_no_title():
    rows = "| End | Close the list of boats. |\n| Enter | Print the list. |\n"
    body = f"| Home | Open the list of all boats at the quay. |\n|---|---|\n{rows}"
    found = asked(body)
    assert ("table", "what is listed for “End”?", "Close the list of boats") in found
    assert all("Open the list" not in line for _, line, _ in found)
    titled = asked(f"| Key | Effect |\n|---|---|\n{rows}")
    assert ("table", "what is the effect of “End”?", "Close the list of boats") in titled


def test_a_bar_of_links_is_no_table():
    bar = "| Prev |  | Next |\n|---|---|---|\n| Tides | Up | Locks |\n"
    assert asked(bar) == []
    assert asked(bar.replace("|  |", "| Depth |")) != []


def test_a_table_of_one_row_that_three_documents_have_is_boilerplate():
    def page(number, rows):
        return document(f"# Page {number}\n\n| Prev | Home | Next |\n|---|---|---|\n{rows}", name=f"{number}.md")

    bars = [page(n, f"| Quay {n} | Up | Lock {n} |\n") for n in range(3)]
    tables = [page(n, f"| Quay {n} | Up | Lock {n} |\n| Pier {n} | Down | Gate {n} |\n") for n in range(3)]
    assert Boilerplate(bars).without(bars[0], claims_of(bars[0])) == []
    assert Boilerplate(tables).without(tables[0], claims_of(tables[0])) == claims_of(tables[0]) != []


def test_items_under_a_plain_line_are_asked_for_where_it_is_marked():
    items = "- Tides of the north\n- Tides of the south\n"
    assert asked(f"Some text on the quay.\n\nFigure 3. The old quay\n\n{items}") == []
    assert asked(f"Some text on the quay.\n\n**Harbour tide tables**\n\n{items}") != []


def test_a_repeated_title_is_told_apart_by_the_one_above():
    text = "# Locks\n\n## North lock\n\n### Fees\n\nA pass is a card that opens the gate.\n\n"
    text += "## South lock\n\n### Fees\n\nA token is a coin that opens the barrier.\n"
    assert [claim.question for claim in claims_of(document(text))] == [
        "Regarding fees within “North lock”, what is a pass?",
        "Regarding fees within “South lock”, what is a token?",
    ]


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        ("- Pattern: [0-9][a-z]\n- Colour: red\n", "- Pattern: waves\n- Colour: red\n"),
        ("Figure: Old harbour\n", "Pilot: Old harbour\n"),
    ],
)
def test_keys_whose_value_is_no_value(refused, kept):
    assert len(asked(refused)) == len(asked(kept)) - 1


def test_a_key_with_an_article_has_one_only():
    assert [line for _, line, _ in asked("The pass type: blue\n")] == ["what is the pass type?"]


@pytest.mark.parametrize(
    ("introduction", "is_asked"),
    [
        ("There are sets of boats:", False),
        ("There are three kinds of boats:", True),
        ("You should also check:", False),
        ("The harbour desk lends:", True),
        ("A full map can be found:", False),
    ],
)
def test_which_introductions_are_asked_about(introduction, is_asked):
    assert bool([each for each in asked(f"{introduction}\n\n- tugs\n- ferries\n") if each[0] == "list"]) is is_asked


def test_words_that_are_cut_and_questions_that_are_long():
    assert english_gate.is_cut("which files begin with new-?")
    assert not english_gate.is_cut("which e-mail is new?")
    assert english_gate.is_cut("what is the the fee?")
    assert english_gate.is_cut("hold the and the key")
    assert english_gate.is_short(" ".join(["word"] * english_gate.LONGEST))
    assert not english_gate.is_short(" ".join(["word"] * (english_gate.LONGEST + 1)))


def test_clearer_questions_have_a_higher_score():
    text = f"{HEAD}The Oslo office keeps the signed contracts in the red archive room.\n\n"
    text += (
        "The northern office keeps the signed contracts in the red archive room while the crews of all boats sleep.\n"
    )
    scores = {claim.question.partition(", ")[2]: claim.score for claim in claims_of(document(text))}
    short = next(score for line, score in scores.items() if "Oslo" in line)
    assert all(short > score for line, score in scores.items() if "Oslo" not in line)


def test_a_title_with_an_optional_plural_is_asked_for_by_its_noun():
    found = asked("| Quay | Depth(s) |\n|---|---|\n| North quay | 4 m, 6 m |\n")
    assert [line for _, line, _ in found] == ["what is the depth of the quay “North quay”?"]


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (  # who is told to do what
            "The Berlin office has signed contracts in the red archive room.",
            "The Berlin office keeps the signed contracts in the red archive room.",
        ),
        ("Net lifting is a new trial at the moment.", "Net lifting is a new trial of the harbour office."),
    ],
)
def test_no_question_of_what_may_be_much_or_only_now(refused, kept):
    assert [each for each in asked(f"{refused}\n") if each[0] in ("fact", "definition")] == []
    assert [each for each in asked(f"{kept}\n") if each[0] in ("fact", "definition")] != []


def test_a_form_to_be_filled_in_is_not_asked_about():
    text = "## Crew\n\nA keel boat is a sailing vessel with a fin of lead.\n"
    assert claims_of(document(f"# [Boat name] crew list\n\n{text}")) == []
    assert claims_of(document(f"# Oslo crew list\n\n{text}")) != []


@pytest.mark.parametrize("count", [4, 5])
def test_the_second_step_is_asked_for_where_there_are_five(count):
    steps = ["Check the tyres.", "Read the display.", "Clean the chain.", "Sign the form.", "Lock the door."][:count]
    body = "".join(f"{number}. {step}\n" for number, step in enumerate(steps, 1))
    found = [claim.answer for claim in claims_of(document(f"# Shop\n\n## Returning a bicycle\n\n{body}"))]
    assert ("Read the display" in found) is (count == 5)
    assert steps[-1].rstrip(".") in found
