"""Where a quote stands in a text."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from ragviz.text.normal_form import FIXED_BLANKS, folding

_PIECES = re.compile(rf"(?P<number>\d{{1,3}}(?:[,'{FIXED_BLANKS} ]\d{{3}})+(?!\d)|\d+)|(?P<blank>\s+)|(?P<dash>-+)|.")


def places(quote: str, text: str, most: int | None = None) -> list[tuple[int, int]]:
    r"""Return where `quote` stands in `text`, each as start and end in `text` as it is; at most `most` of them.

    Exact places; where there is none, those in other white space; where there is none, those that only the normal form
    tells: other apostrophes, quotation marks, dashes, widths, accents, thousands separators; then in other case, too. A
    quote of blanks has none.

    >>> places("the “old” desk — 3", 'At the\n"old"  desk - ３'), places("don't", "I don’t, I don't")
    ([(3, 22)], [(11, 16)])
    >>> places("他说“好”,走了", "他说「好」，走了。"), places("3000 € for 5 km", "3 000€ for 5km")
    ([(0, 8)], [(0, 14)])
    """
    quote = quote.strip()
    if not quote:
        return []
    exact, folded = _patterns(quote)
    for pattern in exact:
        if found := _spans(pattern, text, most):
            return found
    whole = _last_folding(text)
    for pattern in folded:
        if found := _spans(pattern, whole.text, most):
            return [whole.source(*span) for span in found]
    return []


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return the first of the places of `quote` in `text`, None without one.

    >>> locate("b", "a b b"), locate("c", "a b b")
    ((2, 3), None)
    """
    return next(iter(places(quote, text, 1)), None)


def _spans(pattern: re.Pattern[str], text: str, most: int | None) -> list[tuple[int, int]]:
    return [match.span() for match in islice(pattern.finditer(text), most)]


@lru_cache(maxsize=1024)
def _patterns(quote: str) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """Return what finds a quote in a text, and in a folded text: nothing of what is not seen."""
    exact = [re.escape(quote), r"\s+".join(map(re.escape, quote.split()))]
    folded = _pattern(folding(quote).text.strip())
    return list(map(re.compile, exact)), [re.compile(folded), re.compile(folded, re.IGNORECASE)] if folded else []


def _pattern(quote: str) -> str:
    """Return what finds a folded quote: its dashes may be several, its numbers grouped and apart from their units."""
    pieces = list[str]()
    for match in _PIECES.finditer(quote):
        piece, before, after = match.group(), quote[: match.start()][-1:], quote[match.end() : match.end() + 1]
        if match["blank"]:
            pieces.append(r"\s*" if before.isdigit() and _is_unit(after) else r"\s+")
        elif match["number"]:
            digits = re.sub(r"\D", "", piece)
            groups = [digits[max(end - 3, 0) : end] for end in range(len(digits), 0, -3)][::-1]
            pieces.append(r"[,'\s]?".join(groups))
        else:
            apart = r"\s*" if before.isdigit() and _is_unit(piece) else ""
            pieces.append(apart + ("-+" if match["dash"] else re.escape(piece)))
    return "".join(pieces)


def _is_unit(sign: str) -> bool:
    return sign.isalpha() or sign in tuple("%‰€$£¥")


_last_folding = lru_cache(maxsize=2)(folding)  # of a text, for the next quote of it
