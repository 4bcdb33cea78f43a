"""The prose in Markdown and HTML: what a person reads of it, with its offsets."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

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
