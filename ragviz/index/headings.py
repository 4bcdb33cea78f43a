"""Headings of a document, and where a cut would part one from what it heads.

Structure is read as it stands in the text: the Markdown that Word, Office, web and book files are parsed to, and
Markdown, AsciiDoc, Org and reStructuredText as added; of plain text, titles that are underlined to their length. A
PDF's text layer marks no headings.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ragviz.core.document import Document
from ragviz.index.packing import IDEOGRAPHIC, Places, Range
from ragviz.text import segmentation

LEAD = 40
"""Characters of the line after a heading that stay with it, where they fit a chunk together."""

# A line after an empty one, or the first; no item, quote or row.
_TITLE = r"(?<![^\n]\n)(?![ \t]*[-*+>|#])[ \t]*\S[^\n]*\n"
_MARKDOWN = re.compile(
    rf"^(?:(?:> ?){{0,8}} {{0,3}}#{{1,6}}(?:[ \t][^\n]*)?$|{_TITLE}(?:={{2,}}|-{{2,}})[ \t]*$)", re.MULTILINE
)
_PLAIN = re.compile(r"^(?<![^\n]\n)(\S[^\n]*)\n(={3,}|-{3,})[ \t]*$", re.MULTILINE)
_PATTERNS = {
    "text/plain": _PLAIN,
    "text/markdown": _MARKDOWN,
    "text/x-markdown": _MARKDOWN,
    "text/asciidoc": re.compile(r"^={1,6}[ \t]+\S[^\n]*$", re.MULTILINE),
    "text/org": re.compile(r"^\*+[ \t]+\S[^\n]*$", re.MULTILINE),
    "text/x-rst": re.compile(
        rf"^(?:([=`:.~^_*+#-])\1{{2,}}[ \t]*\n[ \t]*\S[^\n]*\n\1{{3,}}|{_TITLE}([=`:.~^_*+#-])\2{{2,}})[ \t]*$",
        re.MULTILINE,
    ),
}
"""Headings by media type, of texts that are kept as they were added."""
_MARKS = re.compile(r"(?:[ \t]|>)*(?:#{1,6}|={1,6}|\*+)[ \t]+")
_ATTRIBUTES = re.compile(r"[ \t]*(?:\{[#.:][^{}\n]*\}|[ \t]#+|[ \t]=+)[ \t]*$")
_FIRST_WORD = re.compile(rf"(?:[^\w\s]{{1,8}}[ \t]+)?\S[^\s{IDEOGRAPHIC}]*")
_BLANK = re.compile(r"\s*")

_OPENING = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|<(?P<html>\?|!--|!\[CDATA\[|![a-z]|(?:script|pre|style|textarea)\b))",
    re.MULTILINE | re.IGNORECASE,
)
_HTML_END = {"?": "?>", "!--": "-->", "![cdata[": "]]>", "script": "</script>", "pre": "</pre>", "style": "</style>"}
_HTML_END |= {"textarea": "</textarea>"}


def verbatim(text: str) -> Iterator[Range]:
    """Yield the ranges of fenced code and of verbatim HTML; one that is never closed goes on to the end."""
    place = 0
    while opening := _OPENING.search(text, place):
        fence, tag = opening["fence"], (opening["html"] or "").lower()
        end = rf"^ {{0,3}}{fence}+[ \t]*$" if fence else re.escape(_HTML_END.get(tag, ">"))
        closing = re.compile(end, re.MULTILINE | re.IGNORECASE).search(text, opening.end())
        place = closing.end() if closing else len(text)
        yield opening.start(), place


def headings(document: Document) -> Iterator[Range]:
    r"""Yield the ranges of the headings of a document, each without the end of its line.

    >>> text = "# Leave\n\nFive days.\n\n```\n# no heading\n```\n\nTravel\n------\nBook early."
    >>> [text[start:end] for start, end in headings(Document("", "", text, (), "en", "text/markdown", "", 0))]
    ['# Leave', 'Travel\n------']
    >>> text = "Leave\n=====\nFive days.\n\nThat is all.\n----------------------"
    >>> [text[start:end] for start, end in headings(Document("", "", text, (), "en", "text/plain", "", 0))]
    ['Leave\n=====']
    """
    pattern, text = _pattern(document.media_type), document.text
    if pattern is None:
        return
    place = 0
    for start, end in chain(verbatim(text) if pattern is _MARKDOWN else (), ((len(text), len(text)),)):
        found = pattern.finditer(text, place, start)
        for match in found:
            if pattern is _PLAIN:  # the line below a title is about as long as it, ideographs counting twice
                title, line = match[1].rstrip(), match[2]
                width = len(title) + len(re.findall(f"[{IDEOGRAPHIC}]", title))
                if abs(width - len(line)) > 2 and len(title) != len(line):
                    continue
            yield match.span()
        place = end


def leveled(document: Document) -> Iterator[tuple[int, int, str]]:
    r"""Yield start, level (a smaller number is further out) and plain words, "" for none, of every heading.

    >>> text = "# Leave\n\n## For `bake_all`\n\nFive days.\n\nTravel\n------\nBook **early**."
    >>> [each[1:] for each in leveled(Document("", "", text, (), "en", "text/markdown", "", 0))]
    [(1, 'Leave'), (2, 'For bake_all'), (2, 'Travel')]
    """
    styles: list[str] = []  # reStructuredText: the first style of underlining is the outermost heading's
    for start, end in headings(document):
        lines = document.text[start:end].split("\n")
        if len(lines) == 1:
            marks = _MARKS.match(lines[0])
            level = sum(c in "#=*" for c in marks.group()) if marks else 1
            title = lines[0][marks.end() :] if marks else ""
        else:
            style = ("over" if len(lines) == 3 else "") + lines[-1].strip()[:1]
            if document.media_type == "text/x-rst":
                styles += [] if style in styles else [style]
                level = styles.index(style) + 1
            else:
                level = 1 if style == "=" else 2
            title = lines[-2]
        yield start, level, " ".join(segmentation.read(_ATTRIBUTES.sub("", title)).text.split())


@cache
def _pattern(media_type: str) -> re.Pattern[str] | None:
    from ragviz.documents.kinds import KINDS  # what is only listed needs no formats

    parsed = {kind.media_type for kind in KINDS.values() if kind.key not in ("pdf", "encrypted")}
    return _MARKDOWN if media_type in parsed else _PATTERNS.get(media_type)


class Ranges:
    """Ranges in order, none overlapping, that no cut should fall into; both ends of each are free."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")

    def add(self, start: int, end: int) -> None:
        """Add a range after the others."""
        self._starts.append(start)
        self._ends.append(end)

    def __len__(self) -> int:
        return len(self._starts)

    def holding(self, at: int) -> int | None:
        """Return the start of the range that a cut before the character `at` would fall into, None without one."""
        number = bisect_left(self._starts, at) - 1
        return self._starts[number] if number >= 0 and at < self._ends[number] else None

    def free(self, at: int) -> bool:
        """Return whether a cut before the character `at` falls into no range."""
        return self.holding(at) is None

    def free_each(self, places: Places) -> NDArray[np.bool_]:
        """Return the same for each of these characters."""
        if not self._starts:
            return np.ones(len(places), np.bool_)
        numbers = np.searchsorted(np.array(self._starts), places) - 1
        return (numbers < 0) | (places >= np.array(self._ends)[numbers])


class Sections:
    """Where the headings of a document stand with what they head; empty of those that nothing follows.

    `whole` are the ranges from a heading to the first word after it, from the first of several headings that follow
    each other. `levels` say what to keep together, from the most to the least: `whole` with the `LEAD` of the text,
    `whole`, and each single heading, the last with the first word.
    """

    def __init__(self, document: Document) -> None:
        text = document.text
        self.whole, leads, singles = Ranges(), Ranges(), Ranges()
        first: int | None = None
        for (start, end), (following, _) in pairwise(chain(headings(document), ((len(text), len(text)),))):
            first = start if first is None else first
            body = _after_blanks(text, end)
            if body == len(text):
                break
            if body == following or _after_blanks(text, following) == body:
                singles.add(start, end)
                continue
            word = _FIRST_WORD.match(text, body)
            last = word.end() if word else body + 1
            line = text.find("\n", body, body + LEAD)
            self.whole.add(first, last)
            leads.add(first, max(last, body + LEAD if line < 0 else line))
            singles.add(start, last)
            first = None
        self.levels = (leads.free_each, self.whole.free_each, singles.free_each) if singles else ()


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
