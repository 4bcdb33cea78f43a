"""Sections of documents: paths of headings, their places, titles."""

import pytest

from ragviz.generation.sections import section_at, sections, title_of
from ragviz.generation.structure import structure
from tests.builders import document

MARKDOWN = "text/markdown"


def paths(text: str, media_type: str = MARKDOWN) -> list[str]:
    found = sections(document("notes", text, media_type=media_type))
    assert "".join(text[each.start : each.end] for each in found) == text  # they adjoin and leave nothing out
    assert all(each.start < each.end for each in found)
    return [each.path for each in found]


@pytest.mark.parametrize(
    ("media_type", "text", "expected"),
    [
        (MARKDOWN, "Before.\n\n# A\n\nx\n\n### C\n\ny\n\n## B\n\nz\n", ["", "A", "A > C", "A > B"]),
        (MARKDOWN, "Travel\n======\n\nx\n\nFares\n-----\n\ny\n\nLeave\n=====\n", ["Travel", "Travel > Fares", "Leave"]),
        (MARKDOWN, "# **The** `run` [page](a.md) {#run}\n\nx\n", ["The run page"]),
        (MARKDOWN, "# A\n\n```\n# no heading\n```\n\n## B ##\n", ["A", "A > B"]),
        (MARKDOWN, "---\ntitle: T\n\nslug: /x\n---\n\n# A\n\nx\n", ["", "A"]),  # not a heading "slug: /x"
        (MARKDOWN, "# A > B\n\nx\n", ["A › B"]),
        ("text/asciidoc", "= Doc\n\n== A\n\nx\n\n=== C\n\n== B\n", ["Doc", "Doc > A", "Doc > A > C", "Doc > B"]),
        ("text/x-rst", "===\nDoc\n===\n\nA\n---\n\nx\n\nB\n---\n\ny\n", ["Doc", "Doc > A", "Doc > B"]),
        ("text/x-rst", "Doc\n***\n\nA\n===\n\nx\n", ["Doc", "Doc > A"]),  # the first style used is the outermost
        ("text/plain", "Just a line\n\nAnother line\n", [""]),
        (
            "text/plain",
            "1 Travel\nx is y.\n1.1 Fares\nWe pay.\n1.2 Inns\nz\n",
            ["1 Travel", "1 Travel > 1.1 Fares", "1 Travel > 1.2 Inns"],
        ),
        (
            "text/plain",
            "Travel\n======\n\n1.1 Fares\nWe pay.\n\n请假\n----\n五天。\n\nSigned.\n--------------------\n",
            ["Travel", "Travel > 1.1 Fares", "Travel > 请假"],
        ),
        ("text/plain", "1. Buy milk\n2. Go home\n", [""]),  # a list
        ("text/plain", "We pay\n3.5 million\nand 1.2 Fares is a section.\n", [""]),
        ("text/plain", "1.1 Fares ........ 12\n1.2 Hotels   14\n", [""]),  # a table of contents
        ("text/plain", "Chapter 3: Leave\nx.\nSection 4 says more.\n", ["Chapter 3: Leave"]),
        (
            "application/pdf",
            "第一章 总则\n第一条 适用于员工。\n第二章 差旅\n第三条规定如下。\n",
            ["第一章 总则", "第一章 总则 > 第一条", "第二章 差旅"],
        ),
        (
            "application/pdf",
            "一、总则\n正文。\n（一）范围\n二、凡是员工，均应遵守。\n",
            ["一、总则", "一、总则 > （一）范围"],
        ),
        (MARKDOWN, "", []),
    ],
)
def test_paths(media_type, text, expected):
    assert paths(text, media_type) == expected


def test_a_section_holds_its_heading_and_its_place_is_found():
    text = "Intro.\n\n# Leave\n\nFive days.\n\n## Unpaid\n\nAsk.\n"
    found = sections(document("notes.md", text, media_type=MARKDOWN))
    assert text[found[1].start : found[1].end] == "# Leave\n\nFive days.\n\n"
    assert section_at(found, text.index("Five")).path == "Leave"
    assert section_at(found, text.index("Ask")).title == "Unpaid"
    assert section_at(found, 0).path == section_at(found, 3).path == ""
    assert section_at(found, len(text) + 5).path == "Leave > Unpaid"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "The *guide*"\n---\n\n# Other\n', "The guide"),
        ("---\nslug: x\n---\n\n# Other\n", ""),
        ("# Guide\n\n## A\n\n## B\n", "Guide"),
        ("## A\n\nx\n\n## B\n\ny\n", ""),  # two of the same level: neither is the document's
        ("## A\n\nx\n\n# B\n\ny\n", ""),  # the outermost comes late
        ("no heading\n", ""),
    ],
)
def test_title(text, title):
    assert title_of(document("notes.md", text, media_type=MARKDOWN)) == title


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
    found = structure(document("notes.md", text, media_type=MARKDOWN))
    assert [[item.text for item in each.items] for each in found.lists] == lists


def test_a_csv_file_is_one_table():
    text = 'Stop;Zone;First bus\nHarbour;A;05:12\n"Town; Hall";"B\nC";05:19\nshort;D\n\nPark;E;06:00\n'
    found = structure(document("stops.csv", text, media_type="text/csv"))
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
