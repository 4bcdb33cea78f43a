"""Text files and web pages: bytes to text and warnings, in time that grows with their length."""

from __future__ import annotations

import csv
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

from ragviz.core.errors import UnreadableFile
from ragviz.documents import html
from ragviz.documents.encoding import clean, decode
from ragviz.documents.kinds import damaged, extension_of, promised_kind


def plain(name: str, data: bytes) -> tuple[str, list[str]]:
    """Return the text of a text file, unchanged, and warnings."""
    try:
        text, warnings = decode(data)
    except UnreadableFile:
        if promised := promised_kind(name):
            raise damaged(promised.title, "its first bytes are not those of one") from None
        raise
    text, lost = clean(text)
    return text, [*warnings, *lost, *_uneven_rows(name, text)]


def web_page(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a web page as Markdown, and warnings."""
    page, warnings = decode(data, html.charset(data))
    text, more = html.read(page)
    return clean(text)[0], [*warnings, *more]


def counted(n: int, one: str, many: str) -> str:
    """Return "1 page has", "3 pages have"."""
    return f"{n} {one if n == 1 else many}"


def listed(numbers: Sequence[int]) -> str:
    """Return the first eight numbers as text."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (" …" if len(numbers) > 8 else "")


def _uneven_rows(name: str, text: str) -> list[str]:
    """Return a warning about rows of a CSV or TSV with more or fewer cells than its first."""
    if extension_of(name) not in (".csv", ".tsv"):
        return []
    counts = Counter(text.partition("\n")[0])
    delimiter = "\t" if extension_of(name) == ".tsv" else max(",;\t|", key=lambda sign: counts[sign])
    first, uneven = 0, array("q")
    try:
        for number, row in enumerate(csv.reader(_lines(text), delimiter=delimiter), 1):
            first = first or len(row)
            if row and len(row) != first:
                uneven.append(number)
    except csv.Error:
        return []
    if not uneven:
        return []
    what = counted(len(uneven), "row has", "rows have")
    return [f"{what} more or fewer cells than the {first} of the first: {listed(uneven)}"]


def _lines(text: str) -> Iterator[str]:
    """Yield lines one by one: a list of short ones takes twenty times the memory of the text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]
