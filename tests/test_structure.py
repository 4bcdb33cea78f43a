"""Typed places of documents: key–value lines, tables, lists, defined terms."""

import pytest

from ragviz.core.document import Document
from ragviz.generation.structure import structure


def document(text: str, media_type: str = "text/markdown") -> Document:
    return Document("d", "d.md", text, (), "en", media_type, "", 0)


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
