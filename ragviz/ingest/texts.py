"""Text files and web pages: bytes to text and warnings, in time that grows with their length."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ragviz.errors import UnreadableFile
from ragviz.ingest import html
from ragviz.ingest.encoding import clean, decode
from ragviz.ingest.kinds import damaged, extension_of, promised_kind


def plain(name: str, data: bytes) -> tuple[str, list[str]]:
    """Return a text file as it is, and warnings."""
    try:
        text, warnings = decode(data)
    except UnreadableFile:
        if promised := promised_kind(name):
            raise damaged(promised.title, "its first bytes are not those of one") from None
        raise
    text, lost = clean(text)
    return text, [*warnings, *lost, *_uneven_rows(name, text)]


def web_page(_name: str, data: bytes) -> tuple[str, list[str]]:
    """Return the text of a web page as Markdown, and warnings."""
    page, warnings = decode(data, html.charset(data))
    return clean(html.markdown(page))[0], warnings


def counted(n: int, one: str, many: str) -> str:
    """Return "1 page has", "3 pages have"."""
    return f"{n} {one if n == 1 else many}"


def listed(numbers: Sequence[int]) -> str:
    """Return the first few of some numbers."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (" …" if len(numbers) > 8 else "")


def _uneven_rows(name: str, text: str) -> list[str]:
    """Say which rows of a CSV or TSV have more or fewer cells than its first."""
    if extension_of(name) not in (".csv", ".tsv"):
        return []
    counts = Counter(text.partition("\n")[0])
    delimiter = "\t" if extension_of(name) == ".tsv" else max(",;\t|", key=lambda sign: counts[sign])
    try:
        rows = [
            (number, len(row)) for number, row in enumerate(csv.reader(text.split("\n"), delimiter=delimiter), 1) if row
        ]
    except csv.Error:
        return []
    uneven = [number for number, cells in rows if cells != rows[0][1]]
    if not uneven:
        return []
    what = counted(len(uneven), "row has", "rows have")
    return [f"{what} more or fewer cells than the {rows[0][1]} of the first: {listed(uneven)}"]


READERS: Mapping[str, Callable[[str, bytes], tuple[str, list[str]]]] = {"text": plain, "html": web_page}
