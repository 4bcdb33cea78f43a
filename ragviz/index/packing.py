"""The tokens of a text, where it may be cut, and its pieces joined to ranges of at most so many tokens."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Protocol

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


Range = tuple[int, int]
"""First character, and the one after the last."""

WINDOW = 2**16
"""Characters that are tokenized together: a tokenizer needs a hundred bytes and more for each."""
CONTEXT = 512
"""Characters before and after a window that are tokenized with it, so that its first and last tokens are those of the
whole text: this holds for all tokenizers that split at blanks or punctuation, or decide within this distance."""


class Tokenizer(Protocol):
    """Splits text into tokens as the embedder does."""

    def offsets(self, text: str) -> list[Range]:
        """Return the character range of every token of `text`, in order, without special tokens."""
        ...


class Tokens:
    """The tokens of a text, tokenized window by window as far as needed; the last few windows are cached.

    A token counts where it ends, or where an earlier one ends if that is later: so ends never decrease.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
        self.tokenizer = tokenizer
        self._bounds = [0]  # window n holds the tokens that end after bound n, up to bound n + 1
        self._totals = [0]  # tokens before window n
        self._window = lru_cache(maxsize=4)(self._tokenized)

    def before(self, at: int) -> int:
        """Count the tokens that end at or before the character `at`."""
        while self._bounds[-1] < at or len(self._bounds) == 1:
            self._extend()
        number = min(bisect_right(self._bounds, at), len(self._totals) - 1) - 1
        return self._totals[number] + bisect_right(self._window(number)[1], at)

    def between(self, start: int, end: int) -> int:
        """Count the tokens that end inside [start, end)."""
        return self.before(end) - self.before(start)

    def exceed(self, start: int, end: int, size: int) -> bool:
        """Return whether more than `size` tokens end inside [start, end); tokenizes no further than that needs."""
        most = self.before(start) + size
        while self._bounds[-1] < end and self._totals[-1] <= most:
            self._extend()
        return self._totals[-1] > most if self._bounds[-1] < end else self.before(end) > most

    def begins(self, start: int, end: int) -> Iterator[int]:
        """Yield where the tokens that end inside [start, end) begin, but the first and those that overlap another."""
        self.before(start)
        number = min(bisect_right(self._bounds, start), len(self._totals) - 1) - 1
        previous: int | None = None
        while self._bounds[number] < end:
            starts, ends = self._window(number)
            for index in range(bisect_right(ends, start), bisect_right(ends, end)):
                if previous is not None and previous <= starts[index]:
                    yield starts[index]
                previous = ends[index]
            number += 1
            if number + 1 == len(self._bounds) and self._bounds[number] < end:
                self._extend()

    def _extend(self) -> None:
        """Add the next window, and count its tokens."""
        number = len(self._bounds) - 1
        self._bounds.append(_window_end(self.text, self._bounds[-1]))
        self._totals.append(self._totals[-1] + len(self._window(number)[1]))

    def _tokenized(self, number: int) -> tuple[array[int], array[int]]:
        """Return starts and ends of the tokens of a window."""
        start, end = self._bounds[number : number + 2]
        origin = max(0, start - CONTEXT)
        spans = self.tokenizer.offsets(self.text[origin : end + CONTEXT])
        ends = list(accumulate((right for _, right in spans), max))
        first = bisect_right(ends, start - origin) if number else 0
        final = bisect_right(ends, end - origin)
        starts = array("i", (origin + left for left, _ in spans[first:final]))
        return starts, array("i", (origin + right for right in ends[first:final]))


def _window_end(text: str, start: int) -> int:
    """Return where the window from `start` ends: best between a word and a blank, else before punctuation."""
    end = start + WINDOW
    if end >= len(text):
        return len(text)
    punctuation = 0
    for at in range(end, start + WINDOW // 2, -1):
        if text[at - 1].isalnum():
            if text[at].isspace():
                return at
            punctuation = punctuation or at * (unicodedata.category(text[at])[0] in "PS")
    return punctuation or end
