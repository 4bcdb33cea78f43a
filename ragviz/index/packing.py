"""Where a text may be cut, and its pieces joined to ranges of at most so many tokens."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ragviz.index.tokens import Range, Tokens

IDEOGRAPHIC = re.compile(
    "[\u2e80-\u303f\u3220-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # characters, punctuation
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # full-width punctuation
)


def packed(cuts: Iterable[int], tokens: Tokens, size: int, overlap: int) -> Iterator[Range]:
    """Join as many neighbouring pieces as fit into `size` tokens; the next range begins `overlap` tokens earlier."""
    source = iter(cuts)
    # The cuts from the start of a range to the first that is too far, or the next; and the tokens before each.
    near, before = array("q"), array("q")
    while True:
        while len(near) < 3 or before[-1] <= before[0] + size:
            if (cut := next(source, None)) is None:
                break
            near.append(cut)
            before.append(tokens.before(cut))
        if len(near) < 2:
            return
        last = max(bisect_right(before, before[0] + size) - 1, 1)
        yield near[0], near[last]
        if last == len(near) - 1:
            return
        # The overlap is smaller where the next range would end where this one does.
        shared = min(overlap, size - (before[last + 1] - before[last]))
        first = bisect_left(before, before[last] - shared, 1, last) if shared > 0 else last
        del near[:first], before[:first]


def refined(
    cuts: Iterable[int], tokens: Tokens, size: int, kept: Sequence[Callable[[int], bool]] = ()
) -> Iterator[int]:
    """Cut pieces of more than `size` tokens at words, where needed at graphemes, where needed at tokens.

    `kept` say where between words, from the most to the least particular: each is used where those before it leave
    pieces too long.
    """
    for free in kept:
        cuts = _finer(cuts, tokens, size, partial(_free_between_words, free))
    for may_cut in (between_words, _between_graphemes, _between_tokens):
        cuts = _finer(cuts, tokens, size, may_cut)
    return iter(cuts)


def _free_between_words(free: Callable[[int], bool], text: str, at: int) -> bool:
    return between_words(text, at) and free(at)


def _finer(cuts: Iterable[int], tokens: Tokens, size: int, may_cut: Callable[[str, int], bool]) -> Iterator[int]:
    """Cut pieces of more than `size` tokens at every token where `may_cut` allows it."""
    latest: int | None = None
    for right in cuts:
        if latest is not None and tokens.exceed(latest, right, size):
            for at in tokens.begins(latest, right):
                if latest < at and may_cut(tokens.text, at):
                    yield at
                    latest = at
        yield right
        latest = right


def between_words(text: str, at: int) -> bool:
    """Return whether a cut before the character `at` leaves every word whole; each ideograph is a word."""
    left, right = text[at - 1], text[at]
    free = left.isspace() or right.isspace() or IDEOGRAPHIC.match(left) or IDEOGRAPHIC.match(right)
    return bool(free) and _between_graphemes(text, at)


def _between_graphemes(text: str, at: int) -> bool:
    """Return whether a cut before the character `at` leaves every grapheme whole (after UAX 29)."""
    left, right = text[at - 1], text[at]
    if left < "\u0300" and right < "\u0300":  # nothing combines before those
        return left + right != "\r\n"
    if left == "\u200d" or right in "\u200c\u200d\uff9e\uff9f":
        return False
    if (
        unicodedata.category(right)[0] == "M"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or "\U000e0020" <= right <= "\U000e007f"
    ):
        return False
    if _is_flag_letter(left) and _is_flag_letter(right):
        start = at - 1
        while start and _is_flag_letter(text[start - 1]):
            start -= 1
        return (at - start) % 2 == 0
    return not ("\u1100" <= left <= "\u11ff" and "\u1160" <= right <= "\u11ff")  # parts of a Korean syllable


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _between_tokens(text: str, at: int) -> bool:
    """Allow every cut: the caller tries the beginnings of tokens only."""
    return 0 < at < len(text)
