"""Sentences of a text with their offsets, in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
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
        for right in chain(_sentence_ends(text, start, end, language), (end,)):
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


def _sentence_ends(text: str, start: int, end: int, language: str) -> Iterator[int]:
    """Yield where sentences end inside text[start:end], after the closing marks."""
    for match in _ENDS.finditer(text, start, end):
        if match.end() < end and _is_end(text, start, match, language):
            yield match.end()


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
