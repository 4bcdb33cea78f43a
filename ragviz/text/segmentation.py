"""The prose in Markdown and HTML, what a person reads of it, and its sentences in English and Chinese, with offsets."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ragviz.text.language import IDEOGRAPH

# A line, whatever ends it. Block markers at its beginning are no part of a sentence.
_LINE = re.compile("[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"[ \t]*(?:(?:#{1,6}|[-*+•·>]|\(?\d{1,3}[.)]|\[[ xX]\])[ \t]+|>)+")
_NOTHING = re.compile(r"[\s\-=*_|:`~#>+.•·]*")  # rules, fences, the second row of a table
_ENDS = re.compile(r"(?:[。！？｡．!?；…]+|\.+)(?:\[\d{1,3}\])*[\"'”’」』）)】》〉\]*_]*")
_OPENERS = "\"'“‘「『（([【《*_`"
_FULL_WIDTH = frozenset("。！？｡；")

_TITLES = (
    "mr mrs ms dr prof st mt gen col lt sgt capt rev hon gov sen rep messrs mme mlle sra dra e.g i.e eg ie cf vs viz"
    " resp al z.b d.h u.a bzw"
)
_MONTHS_AND_PARTS = (
    "no nos nr fig figs eq eqs vol p pp ch sec art tab ca approx jan feb mar apr jun jul aug sep sept oct nov dec"
)
_FIRST_WORDS = (
    "the a an in it he she they we you i this that these those there but and however if when for on at as to what who"
    " how why where our their its his her after before since while by from"
)
_NEVER_LAST = frozenset(_TITLES.split())
_BEFORE_NUMBERS = frozenset(_MONTHS_AND_PARTS.split())
_STARTERS = frozenset(_FIRST_WORDS.split())


def sentences(text: str, language: str) -> list[tuple[int, int]]:
    r"""Return the offsets of the sentences of `text`, in order, none blank, none overlapping; no model is loaded.

    A sentence ends at 。！？； and at . ! ? before a blank, but not after a title, an initial, an abbreviation or
    between digits; a closing quote, bracket or footnote mark stays with it. A blank line, a heading, a list item and a
    row of a table always end one; a line break inside a wrapped paragraph does not. Blanks and the marks of Markdown
    blocks (`#`, `-`, `1.`, `>`, rules and fences) are in no sentence.

    >>> text = "# Rates\nDr. Li paid 3.5 dollars. Why? See Fig. 2."
    >>> [text[start:end] for start, end in sentences(text, "en")]
    ['Rates', 'Dr. Li paid 3.5 dollars.', 'Why?', 'See Fig. 2.']
    """
    return list(each_sentence(text, language))


def each_sentence(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of `sentences` one by one: a list of them takes more memory than the text."""
    for start, end in _blocks(text):
        left = start
        ends = _ENDS.finditer(text, start, end)
        inside = (m.end() for m in ends if m.end() < end and _is_end(text, start, m, language))
        for right in chain(inside, (end,)):
            piece = text[left:right]
            first = left + len(piece) - len(piece.lstrip())
            last = left + len(piece.rstrip())
            if first < last and not _NOTHING.fullmatch(text, first, last):
                yield first, last
            left = right


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield runs of lines in which sentences continue from line to line, each without its marker."""
    block: tuple[int, int] | None = None
    previous = ""
    for match in _LINE.finditer(text):
        line = match.group()
        if not line.strip():
            previous = ""
            continue
        gap = text[block[1] : match.start()] if block else ""
        marker = _MARKER.match(line)
        if block and marker is None and gap in ("\n", "\r\n", "\r") and _continues(previous, line):
            block = (block[0], match.end())
        else:
            if block:
                yield block
            block = (match.start() + (marker.end() if marker else 0), match.end())
        previous = line
    if block:
        yield block


def _continues(line: str, following: str) -> bool:
    """Return whether a sentence continues from `line` on the next: a wrapped line does, a heading or a row does not."""
    line, following = line.strip(), following.strip()
    if line[0] in "#|" or following[0] in "|`~" or line.startswith(("```", "~~~")) or _NOTHING.fullmatch(following):
        return False
    if following[0].islower():
        return True
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide >= 50 and not _ENDS.fullmatch(line[-1])


def _is_end(text: str, start: int, match: re.Match[str], language: str) -> bool:
    mark = match.group()
    if any(c in _FULL_WIDTH for c in mark):
        return True
    rest = text[match.end() : match.end() + 40]
    following = rest.lstrip().lstrip(_OPENERS).lstrip()
    if rest[0].isspace():
        return not following[:1].islower() and not (mark[0] == "." and _abbreviated(text, start, match, following))
    # No blank: only in Chinese and Japanese does a sentence follow, and not after the full stop of a name or number.
    return mark[0] in "!?…" and bool(re.match(f"[{IDEOGRAPH}\u3041-\u30ff]", following)) and mark[0] != "…"


def _abbreviated(text: str, start: int, match: re.Match[str], following: str) -> bool:
    """Return whether the full stop of `match` only abbreviates the word before it."""
    before = re.search(r"[^\W_][\w.]*$", text[max(start, match.start() - 16) : match.start()])
    if before is None or match.group().startswith(".."):
        return False
    word = before.group()
    if word.lower() in _BEFORE_NUMBERS:
        return following[:1].isdigit()
    if len(word) == 1:
        return word.isupper() and word != "I"
    if re.fullmatch(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}", word) and word.lower() not in _NEVER_LAST:  # U.S, p.m, Ph.D
        opening = re.match(r"\w+", following)
        return opening is not None and opening.group().lower() not in _STARTERS
    return word.lower() in _NEVER_LAST


# Markup that is skipped, markup of which the inside is read (links, emphasis), and marks around prose.
_MARKUP = re.compile(
    r"(?P<skipped>\A---\n.*?\n---(?:\n|\Z)|```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)"
    r"|<(?P<element>style|script|pre)\b.*?(?:</(?P=element)>|\Z)"
    r"|</?[a-zA-Z][^<>]{0,300}>|<https?:[^>\s]*>|\{%.*?%\}|\{\{.*?\}\}|\{:[^}\n]*\}"
    r"|!\[[^\]\n]*\]\([^)\n]*\)|\[\^[^\]\s]+\]:?)"
    r"|\[(?P<link>[^\]\[]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\]\n]*\])"
    r"|(?<!\w)_(?P<stressed>(?:[^_\n]|\n(?!\s*\n))+)_(?!\w)"
    r"|(?P<mark>\*{2,3}|(?<![A-Za-z0-9\s])\*(?=\S)|(?<=\s)\*(?=\S)|(?<=\S)\*(?![A-Za-z0-9])|^\*(?=[^\s*])"
    r"|`+|\\(?=[!-/:-@\[-`{-~]))",
    re.DOTALL | re.MULTILINE,
)
_BREAKS = re.compile(r"</?(?:br|p|li|ul|ol|td|th|tr|table|div|h\d|pre)\b|```|---", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prose:
    """The prose of a source: character i of `text` is at `offsets[i]` of the source."""

    text: str
    offsets: tuple[int, ...]

    def within(self, start: int, end: int) -> tuple[int, int]:
        """Return the prose in `source[start:end]` as a range of `text`; empty when it is all markup."""
        return bisect_left(self.offsets, start), bisect_left(self.offsets, end)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the source that holds `text[start:end]`, not empty, with the markup inside it."""
        return self.offsets[start], self.offsets[end - 1] + 1


def read(source: str) -> Prose:
    """Remove the markup: tags, code blocks, front matter, addresses of links, marks of emphasis.

    Marks at the beginning of lines (headings, lists, tables) stay: they show what kind of line it is.

    >>> read("See **the [price list](prices.md)**.").text
    'See the price list.'
    """
    offsets: list[int] = []
    _read(source, 0, len(source), offsets)
    # -1 - i is a line break made by markup at i.
    text = "".join(source[at] if at >= 0 else "\n" for at in offsets)
    return Prose(text, tuple(at if at >= 0 else -1 - at for at in offsets))


def _read(source: str, start: int, end: int, offsets: list[int]) -> None:
    for match in _MARKUP.finditer(source, start, end):
        offsets.extend(range(start, match.start()))
        start = match.end()
        inner = "link" if match["link"] is not None else "stressed" if match["stressed"] is not None else ""
        if inner:
            _read(source, *match.span(inner), offsets)
        elif match["skipped"] and _BREAKS.match(match["skipped"]):
            offsets.append(-1 - match.start())
    offsets.extend(range(start, end))
