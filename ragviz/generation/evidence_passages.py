"""What a piece of evidence tells: the sentences it stands in, under the titles and headers that say what about.

A chunk holds more than what a question rests on: an answer that stands beside the evidence is no support for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from ragviz.core.document import Document, Span
from ragviz.core.question import Question
from ragviz.generation.sections import SEPARATOR, name_of, section_at, title_of
from ragviz.generation.structure import ListPlace, Table, structure
from ragviz.text import segmentation

REACH = 1000
"""Characters around a piece of evidence within which its sentences begin and end."""
MOST_BACK = 3
"""Sentences before a piece of evidence at most that it refers to."""
_REFERS_BACK = re.compile(
    r"\W*(?:(?:it|they|he|she|this|that|these|those|such|its|their|his|her|there|then|here|so|but|and|or|however|also)\b"
    r"|其(?!他|它|余)|[它他她该此这那]|上述|同时|但|因此|所以|并且?|则|否则)",
    re.IGNORECASE,
)
"""How a sentence begins that goes on from the one before it."""


_Held = TypeVar("_Held", Table, ListPlace)


def members(question: Question) -> dict[int, Span]:
    """Return the span that each group of a question's evidence is read from, its first that is not stale, by number."""
    found = {n: [span for span in group if not span.stale] for n, group in enumerate(question.evidence)}
    return {number: some[0] for number, some in found.items() if some}


def told(document: Document, span: Span, others: Sequence[Span] = ()) -> str:
    r"""Return what a span tells: its sentences or rows under titles, an introduction or a header.

    Sentences that hold `others`, evidence of its own, are not added to what it refers to.

    >>> text = "# Pumps\n\nThe Heron runs at 9 bar. The Kestrel is new. It was designed by Orla Brandt."
    >>> document = Document("d", "d.md", text, (), "en", "text/markdown", "", len(text))
    >>> told(document, Span("d", text.index("designed"), text.index(" by Orla")))
    'Pumps\n\nThe Kestrel is new. It was designed by Orla Brandt.'
    """
    found = structure(document)
    table = _holding(found.tables, span.start)
    start, end = _rows(table, span) if table else _sentences(document, span, others)
    titles = [_title(document)]
    if found.sections:
        titles += section_at(found.sections, span.start).path.split(SEPARATOR)
    above = [SEPARATOR.join(dict.fromkeys(filter(None, titles)))]
    listed = _holding(found.lists, span.start)
    if table and start > table.start:  # else the passage begins with them
        above += [table.caption, " | ".join(table.header) if any(table.header) else ""]
    elif not table and listed and listed.items and span.start >= listed.items[0].start:
        above.append(listed.introduction)
    above = list(filter(None, above))
    return ("\n".join(above) + "\n\n" if above else "") + document.text[start:end]


def is_in_table(document: Document, span: Span) -> bool:
    """Return whether a span begins in a table, of Markdown, CSV or HTML."""
    text, at = document.text, span.start + 1
    in_html = text.rfind("<table", 0, at) > text.rfind("</table", 0, at)
    return in_html or _holding(structure(document).tables, span.start) is not None


@lru_cache(maxsize=8)
def _title(document: Document) -> str:
    """Return the title of a document; those of the documents read last are kept, as their structure is."""
    return title_of(document) or name_of(document)


def _holding(places: Sequence[_Held], at: int) -> _Held | None:
    """Return which of some places, in order, holds a character."""
    number = bisect_right(places, at, key=lambda place: place.start) - 1
    return places[number] if number >= 0 and at < places[number].end else None


def _rows(table: Table, span: Span) -> tuple[int, int]:
    inside = [row for row in table.rows if row.start < span.end and span.start < row.end]
    return min([span.start, *(row.start for row in inside)]), max([span.end, *(row.end for row in inside)])


def _sentences(document: Document, span: Span, others: Sequence[Span]) -> tuple[int, int]:
    """Return the sentences that a span stands in, and those before it that it goes on from; with all of it."""
    left, right = max(0, span.start - REACH), min(len(document.text), span.end + REACH)
    places = [(left + s, left + e) for s, e in segmentation.sentences(document.text[left:right], document.language)]
    inside = [n for n, (start, end) in enumerate(places) if start < span.end and span.start < end]
    if not inside:
        return span.start, span.end
    first, end = inside[0], max(span.end, places[inside[-1]][1])
    while first > max(0, inside[0] - MOST_BACK):
        start, stop = places[first - 1]
        is_other = any(other.start < stop and start < other.end for other in others)
        is_apart = re.search(r"\n\s*\n", document.text[stop : places[first][0]]) is not None
        if is_other or is_apart or not _REFERS_BACK.match(document.text, *places[first]):
            break
        first -= 1
    return min(span.start, places[first][0]), end
