"""Kinds of values, and which way a table is read."""

import pytest

from ragviz.claims import value_kinds
from ragviz.claims.structure import structure
from ragviz.core.document import Document


def way(text: str) -> value_kinds.Way:
    (table,) = structure(Document("d", "d.md", text, (), "en", "text/markdown", "", 0)).tables
    return value_kinds.way(table)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("14 EUR", "amount eur"),
        ("EUR 14", "amount eur"),
        ("$1,250.00", "amount $"),
        ("60 %", "amount %"),
        ("-20 °C", "amount °c"),
        ("24 months", "amount month"),
        ("1 month", "amount month"),
        ("up to 30 min", "amount min"),
        ("12.50", "number"),
        ("2,140", "number"),
        ("05:12", "time"),
        ("16 May", "date"),
        ("2025-02-11 07:42 UTC", "date"),
        ("white", "text"),
        ("2 rooms, a kitchen and a bathroom", "text"),
        ("yes", ""),
        ("–", ""),
        ("", ""),
    ],
)
def test_the_kind_of_a_value(value, kind):
    assert value_kinds.kind(value) == kind


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        (["| | Van | Car |", "| Price | 54 € | 38 € |", "| Height | 3 m | 2 m |"], "rows"),
        (["| Ticket | Price | Days |", "| day | 5 € | 1 |", "| week | 20 € | 7 |"], "columns"),
        (["| Fare | Adult | Child |", "| Single | 12.50 | 6 |", "| Return | 22 | 11 |"], "cross"),
        (["| Tool | Owner | Use |", "| Saw | Ann | wood |", "| File | Bob | steel |"], "columns"),
        (["| Ticket | Price |", "| day | 5 € |", "| week | 20 € |"], "columns"),  # one column says what its cells are
        (["| | Van | Car |", "| Price | 54 € | – |", "| Height | 3 m | 2 m |"], "rows"),
    ],
)
def test_which_way_a_table_is_read(rows, read):
    rule = "|---" * (rows[0].count("|") - 1) + "|"
    assert way("\n".join([rows[0], rule, *rows[1:]]) + "\n") == read


def test_values_are_alike_when_two_of_three_are_of_one_kind():
    assert value_kinds.are_alike(["2 days", "1 day", "as the court says"])
    assert not value_kinds.are_alike(["2 days", "red", "as the court says"])
    assert not value_kinds.are_alike(["Ann", "Bob"])
    assert not value_kinds.are_alike([])
