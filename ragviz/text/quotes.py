"""Where a quote stands in a text."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

SIGNS = {'"': "“”„‟〝〞〟″«»「」﹁﹂", "'": "‘’‚‛′ʼ`´‹›『』﹃﹄", "-": "‐‑‒–—―−﹘﹣－"}
_SAME = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | {sign: plain for plain, signs in SIGNS.items() for sign in signs}
)
"""Marks and full-width signs, and the sign that each is read as: characters for characters, so that offsets stay."""


def places(quote: str, text: str, most: int | None = None) -> list[tuple[int, int]]:
    r"""Return where `quote` stands in `text`, each as start and end in `text` as it is; at most `most` of them.

    Exact places; where there is none, those in other white space; where there is none, those with other apostrophes,
    quotation marks, dashes or widths. A quote of blanks has none.

    >>> places("the “old” desk — 3", 'At the\n"old"  desk - ３'), places("don't", "I don’t, I don't")
    ([(3, 22)], [(11, 16)])
    >>> places("他说“好”,走了", "他说「好」，走了。")
    [(0, 8)]
    """
    quote = quote.strip()
    if not quote:
        return []
    spaced = r"\s+".join(map(re.escape, quote.split()))
    return (
        _spans(re.escape(quote), text, most)
        or _spans(spaced, text, most)
        or _spans(r"\s+".join(map(_pattern, quote.translate(_SAME).split())), _folded(text), most)
    )


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return the first of the places of `quote` in `text`, None without one.

    >>> locate("b", "a b b"), locate("c", "a b b")
    ((2, 3), None)
    """
    return next(iter(places(quote, text, 1)), None)


def _spans(pattern: str, text: str, most: int | None) -> list[tuple[int, int]]:
    return [match.span() for match in islice(re.finditer(pattern, text), most)]


def _pattern(word: str) -> str:
    """Return what finds a word of a quote: a dash may be written as several."""
    return re.sub(r"(?:\\-)+", "-+", re.escape(word))


@lru_cache(maxsize=2)
def _folded(text: str) -> str:
    """Return a text with each mark written in one way, of as many characters; kept for the next quote of the text."""
    return text.translate(_SAME)
