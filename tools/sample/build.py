"""Make the binary documents of the sample corpus from the Markdown beside this file.

    pip install reportlab python-docx openpyxl
    python tools/sample/build.py

These three packages are needed here only: the files this makes are committed under ragviz/sample/documents, and the
program reads those. The same sources give the same bytes: no clock, no random ids.

The sources use a small part of Markdown: headings, paragraphs and tables whose first row is the header. The line after
a first-level heading is its subtitle. In a workbook each first-level heading is a sheet.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import docx
from docx.oxml.ns import qn
from docx.shared import Pt
from openpyxl import Workbook
from openpyxl.styles import Font, PatternFill
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

HERE = Path(__file__).parent
OUTPUT = HERE.parents[1] / "ragviz" / "sample" / "documents"
AUTHOR = "Tarrow Ridge Observatory"
DATE = datetime(2024, 3, 1, 9, 0, 0)  # written into every file instead of the time of the build
BLUE = colors.HexColor("#1f3a5f")


@dataclass(frozen=True)
class Block:
    """A piece of a source: kind is "h1", "h2", "h3", "subtitle", "paragraph" or "table" (then `rows` holds it)."""

    kind: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def blocks(source: str) -> list[Block]:
    """Cut a source into its headings, paragraphs and tables, in order."""
    found: list[Block] = []
    for piece in re.split(r"\n{2,}", source.strip()):
        lines = piece.splitlines()
        heading = re.match(r"(#{1,3}) (.+)", lines[0])
        if lines[0].startswith("|"):
            found.append(Block("table", rows=tuple(cells(line) for line in lines)))
        elif heading:
            found.append(Block(f"h{len(heading[1])}", heading[2]))
            found.extend(Block("subtitle", line) for line in lines[1:])
        else:
            found.append(Block("paragraph", " ".join(lines)))
    return found


def cells(line: str) -> tuple[str, ...]:
    """The cells of one table row.

    >>> cells("| Salaries | 2,601 | |")
    ('Salaries', '2,601', '')
    """
    return tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))


def is_number(cell: str) -> bool:
    """True for what is set flush right: 2,601 or 9.50."""
    return re.fullmatch(r"[\d.,]+", cell) is not None


@dataclass(frozen=True)
class Style:
    """How a kind of text is set: font, size in points, and the space before and after it."""

    font: str
    size: float
    before: float = 0
    after: float = 8
    colour: colors.Color = colors.black


STYLES = {
    "h1": Style("Helvetica-Bold", 22, 0, 4, BLUE),
    "subtitle": Style("Helvetica", 11, 0, 14, colors.grey),
    "h2": Style("Helvetica-Bold", 14, 12, 6, BLUE),
    "h3": Style("Helvetica-Bold", 12, 6, 4, BLUE),
    "paragraph": Style("Times-Roman", 11.5),
}
WIDTH, HEIGHT = A4
LEFT, RIGHT, TOP, BOTTOM = 24 * mm, WIDTH - 24 * mm, HEIGHT - 24 * mm, 26 * mm
ROW = 22  # points from one table row to the next


class Pages:
    """A PDF that grows downwards and turns the page when it is full.

    Lines are drawn at absolute positions, one by one: reportlab's own paragraphs move the origin instead, and some
    readers of PDFs then run headings and paragraphs together.
    """

    def __init__(self, title: str) -> None:
        """Open the first page."""
        self.buffer, self.title, self.y = io.BytesIO(), title, TOP
        self.canvas = Canvas(self.buffer, pagesize=A4, invariant=1)
        self.canvas.setTitle(title)
        self.canvas.setAuthor(AUTHOR)

    def room(self, points: float) -> None:
        """Turn the page unless that much fits on this one."""
        if self.y - points < BOTTOM:
            self.turn()

    def turn(self) -> None:
        """Number this page and begin the next."""
        self.canvas.setFont("Helvetica", 8)
        self.canvas.setFillColor(colors.grey)
        self.canvas.drawRightString(RIGHT, 12 * mm, str(self.canvas.getPageNumber()))
        self.canvas.showPage()
        self.y = TOP

    def text(self, text: str, style: Style) -> None:
        """Set a heading or a paragraph; a heading keeps the first lines of what follows it on its page."""
        lines = simpleSplit(text, style.font, style.size, RIGHT - LEFT)
        self.y -= style.before if self.y < TOP else 0
        self.room(len(lines) * style.size * 1.35 + (110 if style.font == "Helvetica-Bold" else 0))
        for line in lines:
            self.y -= style.size * 1.35
            self.canvas.setFont(style.font, style.size)
            self.canvas.setFillColor(style.colour)
            self.canvas.drawString(LEFT, self.y, line)
        self.y -= style.after

    def table(self, rows: tuple[tuple[str, ...], ...]) -> None:
        """Set a ruled table on one page, as wide as its cells need, columns of numbers flush right."""
        self.y -= 4
        self.room(ROW * len(rows))
        columns = list(zip(*rows, strict=True))
        widths = [max(stringWidth(cell, "Helvetica-Bold", 9) for cell in column) + 16 for column in columns]
        top, bottom = self.y, self.y - ROW * len(rows)
        edges = [LEFT + sum(widths[:n]) for n in range(len(widths) + 1)]
        self.canvas.setFillColor(colors.HexColor("#e3e9f1"))
        self.canvas.rect(LEFT, top - ROW, edges[-1] - LEFT, ROW, stroke=0, fill=1)
        self.canvas.setStrokeColor(colors.lightgrey)
        self.canvas.grid(edges, [top - ROW * n for n in range(len(rows) + 1)])
        self.canvas.setFillColor(colors.black)
        for number_, row in enumerate(rows):
            self.canvas.setFont("Helvetica-Bold" if number_ == 0 else "Helvetica", 9)
            for column, cell, left, right in zip(columns, row, edges, edges[1:], strict=False):
                y = top - ROW * number_ - 14
                if all(map(is_number, column[1:])):
                    self.canvas.drawRightString(right - 8, y, cell)
                else:
                    self.canvas.drawString(left + 8, y, cell)
        self.y = bottom - 10

    def close(self) -> bytes:
        """The whole file."""
        self.turn()
        self.canvas.save()
        return self.buffer.getvalue()


def pdf(source: str) -> bytes:
    """The source as an A4 PDF with page numbers."""
    found = blocks(source)
    pages = Pages(found[0].text)
    for block in found:
        if block.kind == "table":
            pages.table(block.rows)
        else:
            pages.text(block.text, STYLES[block.kind])
    return pages.close()


def word(source: str) -> bytes:
    """The source as a DOCX file, with a font for Chinese characters."""
    document = docx.Document()
    normal = document.styles["Normal"]
    normal.font.name, normal.font.size = "Calibri", Pt(11)
    normal.element.rPr.rFonts.set(qn("w:eastAsia"), "SimSun")
    for block in blocks(source):
        if block.kind.startswith("h"):
            document.add_heading(block.text, level=int(block.kind[1]))
        else:
            document.add_paragraph(block.text)
    properties = document.core_properties
    properties.author, properties.title, properties.comments = AUTHOR, blocks(source)[0].text, ""
    properties.created = properties.modified = DATE
    buffer = io.BytesIO()
    document.save(buffer)
    return dated(buffer.getvalue())


def workbook(source: str) -> bytes:
    """The source as an XLSX file: a sheet for every first-level heading, numbers as numbers."""
    book = Workbook()
    book.remove(book.active)
    for heading, table in zip(*[iter(blocks(source))] * 2, strict=True):
        sheet = book.create_sheet(heading.text)
        for row in table.rows:
            sheet.append([number(cell) for cell in row])
        for cell in sheet[1]:
            cell.font, cell.fill = Font(bold=True), PatternFill("solid", start_color="E3E9F1")
        for column in sheet.columns:
            sheet.column_dimensions[column[0].column_letter].width = 2 + max(len(str(c.value or "")) for c in column)
        sheet.freeze_panes = "A2"
    book.properties.creator, book.properties.title, book.properties.created = AUTHOR, "Prices and equipment", DATE
    buffer = io.BytesIO()
    book.save(buffer)
    return dated(buffer.getvalue())


def number(cell: str) -> str | int | float | None:
    """What a cell of a sheet holds: an amount with cents, a count, text, or nothing.

    >>> [number("9.50"), number("1999"), number("2 weeks"), number("")]
    [9.5, 1999, '2 weeks', None]
    """
    if not is_number(cell):
        return cell or None
    return float(cell) if "." in cell else int(cell)


def dated(package: bytes) -> bytes:
    """The same Office file with `DATE` for every time that the libraries took from the clock."""
    buffer = io.BytesIO()
    stamp = f"{DATE:%Y-%m-%dT%H:%M:%SZ}".encode()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp, data)
            new.writestr(zipfile.ZipInfo(name, DATE.timetuple()[:6]), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


MADE: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "annual-report-2023.pdf": ("annual-report-2023.md", pdf),
    "engineering-procedures.docx": ("engineering-procedures.md", word),
    "incident-report-2023-07.pdf": ("incident-report-2023-07.md", pdf),
    "prices-and-equipment.xlsx": ("prices-and-equipment.md", workbook),
    "visiting-observers-zh.docx": ("visiting-observers-zh.md", word),
}


def main() -> None:
    """Write every document of `MADE`."""
    for name, (source, make) in MADE.items():
        data = make((HERE / source).read_text(encoding="utf-8"))
        (OUTPUT / name).write_bytes(data)
        print(f"{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
