"""The prose in a text that carries markup: what a person reads of Markdown and HTML, with its offsets."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

# What is passed over, what only its middle is read of (links, emphasis), and marks around what is read.
_MARKUP = re.compile(
    r"(?P<gone>\A---\n.*?\n---(?:\n|\Z)|```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)"
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
    """What is read of a text: character i of `text` stands at `offsets[i]` of the source."""

    text: str
    offsets: tuple[int, ...]

    def within(self, start: int, end: int) -> tuple[int, int]:
        """What is read of `source[start:end]`, as a range of `text`; empty when it is all markup."""
        return bisect_left(self.offsets, start), bisect_left(self.offsets, end)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, not empty, stands in the source; markup inside it included."""
        return self.offsets[start], self.offsets[end - 1] + 1


def read(source: str) -> Prose:
    """Take the markup out: tags, code blocks, front matter, addresses of links, marks of emphasis.

    Marks at the beginning of lines (headings, lists, tables) stay: they tell what kind of line it is.

    >>> read("See **the [price list](prices.md)**.").text
    'See the price list.'
    """
    offsets: list[int] = []
    _read(source, 0, len(source), offsets)
    # -1 - i stands for a line break that markup at i makes.
    text = "".join(source[at] if at >= 0 else "\n" for at in offsets)
    return Prose(text, tuple(at if at >= 0 else -1 - at for at in offsets))


def _read(source: str, start: int, end: int, offsets: list[int]) -> None:
    for match in _MARKUP.finditer(source, start, end):
        offsets.extend(range(start, match.start()))
        start = match.end()
        inner = "link" if match["link"] is not None else "stressed" if match["stressed"] is not None else ""
        if inner:
            _read(source, *match.span(inner), offsets)
        elif match["gone"] and _BREAKS.match(match["gone"]):
            offsets.append(-1 - match.start())
    offsets.extend(range(start, end))
