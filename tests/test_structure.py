"""Typed places of documents: key–value lines, tables, lists, defined terms."""

import pytest

from ragviz.core.document import Document
from ragviz.generation.structure import structure

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
    assert [(each.key, each.value) for each in found.key_values] == [
        ("Opening hours", "9 to 17"),
        ("Owner", "Ann Lee"),
        ("Some prose", "it has a key, as whoever reads the line alone would say."),
        ("Colour", "blue"),
        ("size", "the size of the desk in centimetres"),
        ("负责人", "王芳"),
    ]
    assert quotes(found.key_values)[4] == "`size`: the size of the [desk](desk.md)\n  in centimetres"
    assert {each.section for each in found.key_values} == {"Desk"}


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
