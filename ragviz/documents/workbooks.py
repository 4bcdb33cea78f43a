"""Excel workbooks as they are shown: numbers in their formats, without hidden rows, columns and sheets, as told."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from ragviz.documents import html
from ragviz.documents.number_formats import BUILT_IN, shown
from ragviz.documents.office_xml import attributes, local, relations, xml
from ragviz.text.counts import counted

MOST_CELLS = 2_000_000
"""Cells of a sheet with empty ones between: of a larger one empty columns are left out."""
NAMED = 5
"""Cells and sheets that a warning names, at most."""


@dataclass(slots=True)
class _Sheet:
    name: str
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    hidden_rows: int = 0
    hidden_columns: set[int] = field(default_factory=set)
    uncounted: list[str] = field(default_factory=list)
    """Cells whose formula has no value."""

    def add(self, number: int, cells: dict[int, str], is_hidden: Callable[[int], bool], *, hidden: bool) -> None:
        cells = {column: text for column, text in cells.items() if text}
        if hidden:
            self.hidden_rows += bool(cells)
            return
        self.hidden_columns.update(filter(is_hidden, cells))
        if cells := {column: text for column, text in cells.items() if column not in self.hidden_columns}:
            self.rows[number] = cells

    def markdown(self) -> str:
        if not self.rows:
            return ""
        used = sorted(set().union(*self.rows.values()))
        between = [c for c in range(used[0], used[-1] + 1) if c not in self.hidden_columns]
        columns = between if len(between) * len(self.rows) <= MOST_CELLS else used
        return f"## {self.name}\n\n{html.table([[row.get(c, '') for c in columns] for row in self.rows.values()])}"

    def hidden(self) -> str:
        rows = counted(self.hidden_rows, "row") if self.hidden_rows else ""
        columns = counted(len(self.hidden_columns), "column") if self.hidden_columns else ""
        return f"{' and '.join(filter(None, (rows, columns)))} of '{self.name}'" if rows or columns else ""


def xlsx(data: bytes) -> tuple[list[str], list[str]]:
    """Return the sheets of an Excel workbook that are shown, each as Markdown ("" for an empty one), and warnings."""
    sheets, hidden = _xlsx_sheets(data)
    left_out = [f"the sheet '{name}'" for name in hidden] + [sheet.hidden() for sheet in sheets if sheet.hidden()]
    cells = [f"{sheet.name}!{cell}" for sheet in sheets for cell in sheet.uncounted]
    warnings = []
    if left_out:
        more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
        warnings.append(f"hidden, and left out: {', '.join(left_out[:NAMED])}{more}; show them to have them read")
    if cells:
        named = ", ".join(cells[:NAMED]) + (" …" if len(cells) > NAMED else "")
        has = f"{counted(len(cells), 'cell', 'has')} {'a formula' if len(cells) == 1 else 'formulas'}"
        warnings.append(f"{has} without a stored value, kept as written: {named}; open and save it in a spreadsheet")
    return [sheet.markdown() for sheet in sheets], warnings


def xlsx_table(data: bytes) -> tuple[dict[int, dict[int, str]], str]:
    """Return the first sheet of an Excel workbook that shows a cell: cells by row and column; and what it hides."""
    sheet = next((each for each in _xlsx_sheets(data)[0] if each.rows), _Sheet(""))
    return sheet.rows, sheet.hidden()


def _xlsx_sheets(data: bytes) -> tuple[list[_Sheet], list[str]]:
    """Return the sheets of an Excel workbook that are shown, and the names of the others."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        root = "xl/workbook.xml"
        parts = relations(archive, root)
        by_kind = {kind.rpartition("/")[2]: target for kind, target in parts.values()}
        strings = list(_strings(archive, by_kind.get("sharedStrings", "")))
        codes = _codes(archive, by_kind.get("styles", ""))
        sheets, hidden = [], list[str]()
        book = xml(archive, root)
        is_1904 = any(attributes(n).get("date1904") in ("1", "true") for n in book if local(n) == "workbookPr")
        for node in (each for each in book.iter() if local(each) == "sheet"):
            known = attributes(node)
            if known.get("state", "visible") != "visible":
                hidden.append(known.get("name", ""))
            else:
                sheet = _Sheet(known.get("name", ""))
                _read_sheet(archive, parts[known["id"]][1], sheet, strings, codes, since_1904=is_1904)
                sheets.append(sheet)
    return sheets, hidden


def _strings(archive: zipfile.ZipFile, part: str) -> Iterator[str]:
    if part not in archive.namelist():
        return
    with archive.open(part) as file:
        for _, node in ET.iterparse(file):  # noqa: S314
            if local(node) == "si":
                yield _rich(node)
                node.clear()


def _rich(node: ET.Element) -> str:
    """Join the runs of a text, without the readings that are shown above Japanese."""
    runs = (child for child in node if local(child) in ("t", "r"))
    return "".join(n.text or "" for run in runs for n in run.iter() if local(n) == "t")


def _codes(archive: zipfile.ZipFile, part: str) -> list[str]:
    if part not in archive.namelist():
        return []
    styles = xml(archive, part)
    own = {n.get("numFmtId"): n.get("formatCode", "") for n in styles.iter() if local(n) == "numFmt"}
    formats = [n for group in styles if local(group) == "cellXfs" for n in group if local(n) == "xf"]
    numbers = [n.get("numFmtId", "0") for n in formats]
    return [own.get(number) or BUILT_IN.get(int(number), "General") for number in numbers]


def _read_sheet(
    archive: zipfile.ZipFile,
    part: str,
    sheet: _Sheet,
    strings: Sequence[str],
    codes: Sequence[str],
    *,
    since_1904: bool,
) -> None:
    hidden: list[tuple[int, int]] = []
    rows: ET.Element | None = None
    number = 0
    with archive.open(part) as file:
        for event, node in ET.iterparse(file, ("start", "end")):  # noqa: S314
            tag = local(node)
            if event == "start":
                rows = node if tag == "sheetData" else rows
            elif tag == "col" and node.get("hidden") in ("1", "true"):
                hidden.append((int(node.get("min", 0)), int(node.get("max", 0))))
            elif tag == "row" and rows is not None:
                number = int(node.get("r", number + 1))
                cells, uncounted = dict[int, str](), []
                for cell in node:
                    column = _column(cell.get("r", "")) or max(cells, default=0) + 1
                    cells[column] = _cell(cell, strings, codes, since_1904=since_1904)
                    if cells[column][:1] == "=" and _has_no_value(cell):
                        uncounted.append(cell.get("r", f"row {number}"))
                is_hidden = node.get("hidden") in ("1", "true")
                sheet.uncounted += [] if is_hidden else uncounted
                sheet.add(number, cells, lambda c: any(low <= c <= high for low, high in hidden), hidden=is_hidden)
                rows.clear()


def _column(reference: str) -> int:
    """Return the number of the column of a cell: 1 for "A7", 28 for "AB7", 0 for ""."""
    number = 0
    for letter in re.match("[A-Z]*", reference)[0]:  # type: ignore[index]
        number = 26 * number + ord(letter) - 64
    return number


def _child(cell: ET.Element, tag: str) -> str:
    return next((child.text or "" for child in cell if local(child) == tag), "")


def _has_no_value(cell: ET.Element) -> bool:
    return not _child(cell, "v") and any(local(child) == "f" for child in cell)


def _cell(cell: ET.Element, strings: Sequence[str], codes: Sequence[str], *, since_1904: bool) -> str:
    """Return a cell as it is shown; a formula without a stored value as it is written."""
    kind, value = cell.get("t", "n"), _child(cell, "v")
    if kind == "inlineStr":
        return "".join(_rich(child) for child in cell if local(child) == "is")
    if not value:
        return f"={_child(cell, 'f') or '…'}" if kind != "str" and _has_no_value(cell) else ""
    if kind == "s":
        return strings[int(value)]
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind != "n":  # text, an error, an ISO date
        return value
    style = int(cell.get("s", 0))
    return shown(float(value), codes[style] if style < len(codes) else "General", since_1904=since_1904)
