"""What kind of value a cell or key–value line holds, and which way a table is to be read, by what its values share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from ragviz.claims.structure import Table

Way = Literal["columns", "rows", "cross"]
"""What says what a cell is: the title of its column ("Price"), the label of its row, or both together."""

NO_VALUE = re.compile(
    r"(?:yes|no|true|false|y|n|x|n/?a|none|tbd|-+|—|–|✓|✔|✗|✘|✅|❌|any|optional|required)\.?|\W*", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:[<>≤≥~±]|up to |at least |from |about )?\s*(?P<before>[$€£¥]|[A-Z]{3} )?\s*[+−-]?\d[\d.,' ]*"
    r"(?P<range>(?:to|and|[–-])\s*\d[\d.,]*)?"
    r"\s*(?P<unit>[^\W\d_]\S*|[%$€£¥]|°\S?)?(?P<rest>.*)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}\b.*")
_MONTH = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\d{4}-\d\d|\d\d?[./]\d\d?[./]\d{2,4}"
)


def kind(value: str) -> str:
    """Return what kind of value a text is: "date", "time", "number", "amount UNIT", "text"; "" where it is none.

    >>> [kind(value) for value in ("14 EUR", "$5", "2,140", "7:30", "2 May 2025", "30 min before", "red", "–")]
    ['amount eur', 'amount $', 'number', 'time', 'date', 'amount min', 'text', '']
    """
    value = value.strip()
    if NO_VALUE.fullmatch(value):
        return ""
    if _MONTH.search(value):
        return "date"
    if _CLOCK.match(value) and ":" in value[:3]:
        return "time"
    match = _AMOUNT.fullmatch(value)
    if not match or len(match["rest"].split()) > 3:
        return "text"
    unit = (match["before"] or match["unit"] or "").strip().lower().rstrip("s.")
    return f"amount {unit}" if unit else "number"


def is_one_amount(value: str) -> bool:
    """Return whether a value is a number or an amount, and no range of them.

    >>> [is_one_amount(value) for value in ("30 min", "9 to 17", "May", "12")]
    [True, False, False, True]
    """
    match = _AMOUNT.fullmatch(value.strip())
    return kind(value).startswith(("number", "amount")) and match is not None and not match["range"]


def are_alike(values: Sequence[str]) -> bool:
    """Return whether two of three values or more are of the same kind, and that is not text."""
    ((common, count),) = Counter(map(kind, values)).most_common(1) or [("", 0)]
    return common not in ("", "text") and count >= len(values) * 2 / 3


def _is_one_kind(values: Iterable[str]) -> bool:
    kinds = {kind(value) for value in values} - {""}
    return len(kinds) == 1 and "text" not in kinds


def _agree(groups: Iterable[Sequence[str]]) -> bool:
    return all(len({kind(value) for value in group} - {""}) <= 1 for group in groups)


def way(table: Table) -> Way:
    """Return which way a table is read: by the label of the row where each row, but not each column, is of one kind.

    At least half of the rows have to show it by two values or more, no texts. Where all cells of several rows and
    columns are amounts of one kind, as in a table of fares, neither says it alone.
    """
    rows = [row.cells[1:] for row in table.rows]
    columns = list(zip(*rows, strict=True))
    if len(columns) > 1 and len(rows) > 1:
        if _is_one_kind(cell for row in rows for cell in row):
            return "cross"
        shown = sum(sum(map(bool, map(kind, row))) > 1 and _is_one_kind(row) for row in rows)
        if _agree(rows) and not _agree(columns) and 2 * shown >= len(rows):
            return "rows"
    return "columns"
