"""What needs other sentences, signs or languages is not asked about; each with a neighbour that is. Made by hand."""

import pytest

from ragviz.claims.english_clauses import Tree, clause
from ragviz.claims.english_standalone import explains_a_sign, has_name, introduces, is_foreign, is_ours
from ragviz.claims.extractive_claims import claims_of
from ragviz.text.words import parse
from tests.test_english_claims import document

HEAD = "# Harbour rules\n\n## Boats\n\n"


def asked(body, kind=None, head=HEAD, name="rules.md"):
    found = claims_of(document(head + body, name=name))
    return [claim.question for claim in found if kind in (None, claim.type)]


@pytest.mark.model
@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        ("A sluice is a significant flood risk.", "A sluice is a gate that holds the flood back."),
        ("Tidewatch is an associated project of Oslo Port.", "Tidewatch is a program that prints the tides."),
        ("Mooring is the essence of seamanship.", "Mooring is a manoeuvre that ties a boat to the quay."),
        ("A sluice is a compromise between two gates.", "A sluice is a gate with two doors."),
        ("Night berths are Tidewatch which prints the tides.", "Night berths are moorings which cost a fee."),
        ("A sluice is a per-canal setting.", "A sluice is a setting that stops the flow of a canal."),
        (
            "Berth tags are labels that hang on masts, and the desk reads them.",
            "Berth tags are labels that hang on masts and are read at the desk.",
        ),
    ],
)
def test_a_definition_tells_what_its_kind_does(refused, kept):
    assert asked(f"{refused}\n", "definition") == []
    assert asked(f"{kept}\n", "definition")


@pytest.mark.model
def test_a_definition_keeps_its_coordination():
    body = "Berth tags are labels that hang on masts and are read at the desk.\n"
    found = claims_of(document(HEAD + body, name="a.md"))
    assert [claim.answer for claim in found] == ["labels that hang on masts and are read at the desk"]


@pytest.mark.model
def test_a_definition_stands_where_its_term_is_introduced():
    later = "Every canal has a sluice. A sluice is a gate that holds the flood back.\n"
    first = "Every canal has a lock. A sluice is a gate that holds the flood back.\n"
    assert asked(later, "definition") == []
    assert asked(first, "definition")


@pytest.mark.model
@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (
            "As usual, the storm sails are stored as spares in the red shed behind the quay.",
            "The storm sails are stored as spares in the red shed behind the quay.",
        ),
        (
            "The Berlin office keeps something similar in the red archive room.",
            "The Berlin office keeps the signed contracts in the red archive room.",
        ),
        (
            "Hemp ropes were banned in the Oslo harbour in 2019 for similar reasons.",
            "Hemp ropes were banned in the Oslo harbour in 2019 for fire safety reasons.",
        ),
        (
            "In the harbour window, the blue flag stays visible because a white lamp shines behind it.",
            "In the harbour window, the pilot flag stays visible because a white lamp shines behind the glass.",
        ),
        (
            "Figure 3 was shown in the Oslo harbour in 2019.",
            "Buoy 3 was shown in the Oslo harbour in 2019.",
        ),
        ("Original flag: a red cross\n", "Pilot flag: a red cross\n"),
        (
            "A small sail is stored as a spare in the red shed behind the quay.",
            "The storm sail is stored as a spare in the red shed behind the quay.",
        ),
        (
            "You should insert the signed contracts into a red folder and pilots sign each page.",
            "You should insert the signed contracts into a red folder and a blue binder.",
        ),
        (
            "The recommended way to clear the Oslo lock is to lower the northern gate, and then call a pilot.",
            "The recommended way to clear the Oslo lock is to lower the northern gate.",
        ),
        (
            "`*` - The storm sails are stored as spares in the red shed behind the quay.",
            "The storm sails are stored as spares in the red shed behind the quay.",
        ),
        (
            "Hemp ropes are left in a few red sheds behind the old quay.",
            "Hemp ropes are left in the red shed behind the old quay.",
        ),
    ],
)
def test_no_question_beside_one(refused, kept):
    assert asked(f"{refused}\n") == []
    assert asked(f"{kept}\n")


@pytest.mark.model
def test_what_we_do_when_we_do_something_else_is_a_remark():
    def is_remark(sentence):
        tree = Tree(sentence, parse([sentence], "en")[0])
        return is_ours(tree, clause(tree))

    assert is_remark("We do the same work when we paint the boats.")
    assert not is_remark("We do the same work when the crews paint the boats.")


@pytest.mark.model
@pytest.mark.parametrize(
    ("introduction", "is_asked"), [("Two boats are available:", False), ("Two boats carry the mail:", True)]
)
def test_a_list_says_whose_it_is(introduction, is_asked):
    assert bool(asked(f"{introduction}\n\n- tugs\n- ferries\n", "list")) is is_asked


@pytest.mark.parametrize(
    ("sentence", "is_so"),
    [
        ("A torre oferece cartões para visitar e fotografar navios.", True),
        ("Les pêcheurs réparent chaque année leurs filets à la main.", True),
        ("The café of the tower offers naïve paintings to visitors.", False),
        ("New tugs carry red lanterns.", False),
    ],
)
def test_which_sentences_are_foreign(sentence, is_so):
    assert is_foreign(sentence) is is_so


def test_a_name_stands_in_a_question():
    assert not has_name("What do the steps describe?")
    assert has_name("What does Tidewatch describe?")
    assert has_name("In “Tides”, what do the steps describe?")


def test_a_term_is_introduced_once():
    text = "# Sluice\n\nA lock is wide. A sluice is a gate. The sluice is new.\n"
    assert introduces(text, 0, text.index("A sluice"), "sluice")
    assert not introduces(text, 0, text.index("The sluice"), "sluice")


@pytest.mark.parametrize(
    ("line", "is_so"),
    [
        ("`*` - The boat", True),
        ("* - The boat", True),
        ("- **?** - The boat", True),
        ("> - The boat", False),
        ("- - The boat", False),
    ],
)
def test_which_lines_explain_a_sign(line, is_so):
    assert explains_a_sign(f"Signs\n{line}", len(f"Signs\n{line}") - 3) is is_so
