"""Typed places of documents: key–value lines, tables, lists, defined terms."""

import pytest

from ragviz.core.document import Document
from ragviz.generation.structure import Item, structure

TEXT = """\
---
title: Desk
owner: nobody
---
# Desk

**Opening hours**: 9 to 17
**Owner:** [Ann Lee](people.md#ann)

Some prose: it has a key, as whoever reads the line alone would say.

- Colour: blue
- `size`: the size of the [desk](desk.md)
  in centimetres
- 负责人：王芳

## Rules

Read all of this. You bring:

1. a passport
   or a card
2. two photos
   - in colour
   - without a hat

Then go.

- alone

Fees of 2024:

| Kind | Price | Note |
|:-----|------:|------|
| day \\| night | **$5** | |
| week | $20 |

```
key: value
| a | b |
|---|---|
- x
- y
```

**PTO** – paid time off

Ring buffer
: a buffer that ends where it begins

"""


def document(text: str, media_type: str = "text/markdown") -> Document:
    return Document("d", "d.md", text, (), "en", media_type, "", 0)


def quotes(places) -> list[str]:
    return [TEXT[place.start : place.end] for place in places]


@pytest.fixture(scope="module")
def found():
    return structure(document(TEXT))


def test_key_values(found):
    assert [(each.key, each.value, each.is_marked, each.is_item) for each in found.key_values] == [
        ("Opening hours", "9 to 17", True, False),
        ("Owner", "Ann Lee", True, False),
        ("Some prose", "it has a key, as whoever reads the line alone would say.", False, False),
        ("Colour", "blue", False, True),
        ("size", "the size of the desk in centimetres", True, True),
        ("负责人", "王芳", False, True),
    ]
    assert quotes(found.key_values)[4] == "`size`: the size of the [desk](desk.md)\n  in centimetres"
    assert {each.section for each in found.key_values} == {"Desk"}


def test_lists_have_their_introduction_and_what_is_nested(found):
    first, second = found.lists
    assert [item.text for item in first.items] == [
        "Colour: blue",
        "size: the size of the desk in centimetres",
        "负责人：王芳",
    ]
    assert first.introduction == ""
    assert not first.is_ordered
    assert second.introduction == "You bring"
    assert second.is_ordered
    assert second.section == "Desk > Rules"
    passport, photos = second.items
    assert (passport.text, photos.text) == ("a passport or a card", "two photos")
    assert [item.text for item in photos.items] == ["in colour", "without a hat"]
    assert quotes([second])[0].startswith("Read all of this. You bring:")
    assert quotes(second.items)[1] == "two photos\n   - in colour\n   - without a hat"
    assert isinstance(photos.items[0], Item)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("See http://example.org for more.\n", []),
        ("We meet at 9:30 sharp.\n", []),
        ("He said: go. Then: no.\n", [("He said", "go. Then: no.")]),
        ("Well, no: not this one\n", []),  # a comma parts clauses, a key has none
        ("**Fee**:\n", []),  # no value
        ("12: x\n", []),  # no word
        ("电话：010-1234\n", [("电话", "010-1234")]),
        ("请注意，本条：无效\n", []),
        ("A: 1\nmore of it\nB: 2\n", [("A", "1 more of it"), ("B", "2")]),
    ],
)
def test_what_is_a_key(text, pairs):
    assert [(each.key, each.value) for each in structure(document(text)).key_values] == pairs


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("- a\n\n- b\n", [["a", "b"]]),
        ("- a\n- b\n\nText.\n\n- c\n- d\n", [["a", "b"], ["c", "d"]]),
        ("- a\n- b\n1. c\n2. d\n", [["a", "b"], ["c", "d"]]),
        ("1、甲\n2、乙\n", [["甲", "乙"]]),
        ("（1）甲\n（2）乙\n", [["甲", "乙"]]),
        ("- only one\n", []),
        ("# - a\n", []),
    ],
)
def test_what_is_a_list(text, lists):
    assert [[item.text for item in each.items] for each in structure(document(text)).lists] == lists


@pytest.mark.parametrize(
    ("text", "title", "begins"),
    [
        ("# Desk\n\n## Tools\n\n- a\n- b\n", "Tools", "a\n"),  # without its marker, as every item
        ("# Desk\n\nIngredients\n\n- a\n- b\n", "Ingredients", "Ingredients\n"),
        ("# Desk\n\n**Ingredients**\n- a\n- b\n", "Ingredients", "**Ingredients**\n"),
        ("# Desk\n\nYou bring:\n\n- a\n- b\n", "", "You bring:\n"),  # an introduction
        ("# Desk\n\nThis is said first.\n\n- a\n- b\n", "", "a\n"),
        ("# Desk\n\nThis is said\nfirst and last\n\n- a\n- b\n", "", "a\n"),  # two lines are no title
        ("# Desk\n\nA line of many more words than any title of a list has\n\n- a\n- b\n", "", "a\n"),
        ("- a\n- b\n", "", "a\n"),
    ],
)
def test_what_heads_a_list(text, title, begins):
    (place,) = structure(document(text)).lists
    assert place.title == title
    assert text[place.start : place.end].startswith(begins)


def test_a_csv_file_is_one_table():
    text = 'Stop;Zone;First bus\nHarbour;A;05:12\n"Town; Hall";"B\nC";05:19\nshort;D\n\nPark;E;06:00\n'
    found = structure(document(text, "text/csv"))
    (table,) = found.tables
    assert table.header == ("Stop", "Zone", "First bus")
    assert [row.cells for row in table.rows] == [
        ("Harbour", "A", "05:12"),
        ("Town; Hall", "B C", "05:19"),
        ("Park", "E", "06:00"),
    ]
    assert [text[row.start : row.end] for row in table.rows] == [
        "Harbour;A;05:12",
        '"Town; Hall";"B\nC";05:19',
        "Park;E;06:00",
    ]
    assert (found.key_values, found.lists, found.definitions) == ((), (), ())


def table(*rows: str) -> tuple[tuple[str, ...], int]:
    """Return the titles and the number of rows of a table with a rule below its first row."""
    text = "\n".join([rows[0], "| --- " * (rows[0].count("|") - 1) + "|", *rows[1:]])
    (found,) = structure(Document("", "", f"# Desk\n\n{text}\n", (), "en", "text/markdown", "", 0)).tables
    return found.header, len(found.rows)


@pytest.mark.parametrize(
    "rows",
    [
        ("| pump0 | the left pump |", "| pump1 | the right pump |"),
        ("| valve | opens the left bed |", "| valve-2 | opens the left bed of the house |"),
        (
            "| lamp | a link to the red lamp |",
            "| fan | a link to the quiet fan in the red lamp |",
            "| bell | a link to the red lamp |",
        ),
        ("| mouse | 指向温室水泵的符号链接 |", "| bell | 指向花园铃铛的符号链接 |"),
        ("| lamp | 第一间温室 |", "| fan | 第一间温室 |", "| bell | 第二间温室 |"),
    ],
)
def test_a_first_row_that_is_data_is_no_header(rows: tuple[str, ...]) -> None:
    assert table(*rows) == (("", ""), len(rows))
