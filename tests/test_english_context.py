"""English claims that would need more than their question says, each beside one that is asked; written by hand."""

from dataclasses import replace

import pytest

from ragviz.claims.extractive_claims import claims_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import entities
from ragviz.generation.comparisons import comparisons
from ragviz.generation.dated_claims import _asked, _when
from ragviz.generation.mentions import _is_one_thing
from tests.test_english_claims import document

pytestmark = pytest.mark.model
HEAD = "# Harbour rules\n\n## Boats\n\n"
INTRODUCED = "Tugs moor at night.\n\n"


def questions(body, *types):
    found = [c for c in claims_of(document(HEAD + body)) if not types or c.type in types]
    return [claim.question.partition("”, ")[2] for claim in found]


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (f"{INTRODUCED}Draught: 4 m\n", "Draught: 4 m\n"),  # of an example in running text; of what the heading names
        (f"{INTRODUCED}Draught: 4 m\n", f"{INTRODUCED}Draught of tugs: 4 m\n"),
        (f"{INTRODUCED}Draught: 4 m\n", f"{INTRODUCED}**Draught**: 4 m\n"),
        ("Quay depth: 4 m\n\nQuay depth: 9 m\n", "Quay depth: 4 m\n\nLock depth: 9 m\n"),
        ("Rights: Copyright: Harbour Trust\n", "Rights: Harbour Trust\n"),  # a key within the value
    ],
)
def test_a_key_is_asked_for_where_it_says_of_what(refused, kept):
    assert questions(refused, "fact", "number") == []
    assert questions(kept, "fact", "number") != []


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (  # two words of frequency
            "The Oslo club opens the north lock twice each day after the tide.",
            "The Oslo club opens the north lock each Friday after the tide.",
        ),
        (  # a verb of the coordination would stay in the question
            "The Oslo crew wants to borrow $300 from the bank and plans to repay the loan in May.",
            "The Oslo crew wants to borrow $300 from the bank in May.",
        ),
        (  # a made-up case
            "Peter wants to borrow $300 from you for the red boat.",
            "The Oslo bank wants to borrow $300 from you for the red boat.",
        ),
        (
            "You paid $300 for the red boat of the club.",
            "You must pay $300 for the red boat of the club.",
        ),
    ],
)
def test_numbers_of_one_case(refused, kept):
    assert questions(f"{refused}\n", "number") == []
    assert questions(f"{kept}\n", "number") != []


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        (
            "The difference between $600 and $300 is the registered value of the boat.",
            "The difference between the two tolls of Oslo is the registered harbour value.",
        ),
        (
            "The sail-kit package provides the CAD files for building and painting the boat in various red colours.",
            "The sail-kit package provides the CAD files for building the boat in various red colours.",
        ),
        (
            "The main purpose of the log book is to record the tide, just like you would in a paper log.",
            "The main purpose of the log book is to record the tide.",
        ),
        (
            "To summarize, the Oslo office keeps the signed contracts in the red archive room.",
            "To save paper, the Oslo office keeps the signed contracts in the red archive room.",
        ),
        (
            "The Oslo office has the signed contracts within the red archive room.",
            "The Oslo office keeps the signed contracts within the red archive room.",
        ),
    ],
)
def test_facts_without_leftovers(refused, kept):
    assert questions(f"{refused}\n", "fact") == []
    assert questions(f"{kept}\n", "fact") != []


@pytest.mark.parametrize("noun", ["case", "location", "purpose"])
def test_a_role_defines_nothing(noun):
    assert questions(f"A night berth is a {noun} that needs a second rope.\n", "definition") == []
    assert questions("A night berth is a mooring that needs a second rope.\n", "definition") != []


def test_a_plural_of_plain_nouns_needs_its_title_after_another_sentence():
    rule = "Ends of ropes must not exceed 80 centimetres in length.\n"
    assert questions(f"Write down all knots. {rule}", "exception") == []
    assert questions(rule, "exception") == ["may ends of ropes exceed 80 centimetres in length?"]
    named = document(f"# Harbour rules\n\n## Ropes\n\nWrite down all knots. {rule}")
    assert [claim.type for claim in claims_of(named)] == ["exception"]


def test_what_suffices_has_no_object():
    items = "\n\n- a red buoy\n- a white buoy\n"
    assert questions(f"If the fog is thick, a simple pair of marks would suffice:{items}", "list") == []
    assert questions(f"If the fog is thick, the harbour crew must light:{items}", "list") != []


def test_a_bare_number_in_a_crossed_table_says_what_it_counts():
    def table(corner, *columns):
        rows = "".join(f"| {name} | 1 | 2 |\n" for name in ("red berth", "blue berth"))
        return f"| {corner} | {columns[0]} | {columns[1]} |\n|---|---|---|\n{rows}"

    assert questions(table(" ", "north", "south"), "table") == []
    assert len(questions(table(" ", "tugs", "ferries"), "table")) == 4
    assert len(questions(table("number", "north", "south"), "table")) == 4


@pytest.mark.parametrize(("cell", "count"), [("N/A [b]", 0), ("tug (old)", 0), ("yellow [b]", 1)])
def test_a_cell_that_repeats_its_row_or_is_none(cell, count):
    found = questions(f"| Boat | Colour |\n|---|---|\n| Tug | {cell} |\n| Ferry | white |\n", "table")
    assert sum("“Tug”" in line for line in found) == count


@pytest.mark.parametrize(("cells", "count"), [("oak |", 0), ("oak | ash |", 2), ("oak |  |", 1)])
def test_cells_of_a_row_with_merged_ones_are_of_no_column(cells, count):
    rows = f"| Mast | {cells}\n| Deck | elm | fir |\n"
    found = questions(f"| Part | Tug wood | Ferry wood |\n|---|---|---|\n{rows}", "table")
    assert sum("“Mast”" in line for line in found) == count
    assert sum("“Deck”" in line for line in found) == 2


def test_what_only_repeats_what_is_compared():
    def compared(one, other):
        text = f"# Quays\n\n| Quay | Sign |\n|---|---|\n| North quay | {one} |\n| South quay | {other} |\n"
        of = document(text)
        return [draft.question for draft in comparisons(entities.read([(of, claims_of(of))]))]

    assert compared("NORTH (painted wood)", "SOUTH (painted wood)") == []
    assert len(compared("NORTH (painted wood)", "SOUTH (carved wood)")) == 1


def test_a_version_is_of_the_thing_it_stands_at():
    claim = SourceClaim(
        "d", 0, 9, "Tide Guide v2.1: May", "table", "In “Old books”, what is the date of “Tide Guide v2.1”?",
        "May", "", "Tide Guide v2.1", "en", "date", "Old books", (), 8.0,
    )  # fmt: skip
    when = _when(claim, "Old books")
    asked = "In “Old books”, what is the date of the latest version of “Tide Guide”?"
    assert when is not None
    assert _asked(claim, when) == asked
    titled = replace(claim, question="In “Tides v2.1”, what is the date of the flood?", section="Tides v2.1")
    when = _when(titled, "Tides v2.1")
    assert when is not None
    assert _asked(titled, when) == "In the latest version of “Tides”, what is the date of the flood?"


def test_a_plural_of_common_nouns_is_not_one_thing():
    assert not _is_one_thing("Mooring lines")
    assert _is_one_thing("Mooring line")
    assert _is_one_thing("Oslo Moorings")
    assert _is_one_thing("Harbour campus")
