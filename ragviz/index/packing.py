"""The tokens of a text, where it may be cut, and its pieces joined to ranges of at most so many tokens."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, count, islice, takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ragviz.models.tokenizer import Tokenizer

Places = NDArray[np.int64]
"""Characters of a text before which it is cut, or may be, in order."""
Allowed = Callable[[Places], NDArray[np.bool_]]
"""Says of each place whether a cut there is allowed."""

BLOCK = 2**14
"""Places that are looked at together."""
IDEOGRAPHIC = (
    "\u2e80-\u303f\u3220-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with punctuation
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # full-width punctuation
)
"""Ranges of the characters that are words by themselves, as in the brackets of a regular expression."""
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHIC}]")


def packed(cuts: Iterable[Places], tokens: Tokens, size: int, overlap: int) -> Iterator[Range]:
    """Join as many neighbouring pieces as fit into `size` tokens; the next range begins `overlap` tokens earlier."""
    source = iter(cuts)
    # The cuts from the start of a range on, at least to the first that is too far, or the next; the tokens before each.
    near, before = array("q"), array("q")
    while True:
        while len(near) < 3 or before[-1] <= before[0] + size:
            if (block := next(source, None)) is None:
                break
            near.extend(block.tolist())
            before.extend(tokens.before_each(block).tolist())
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


def refined(cuts: Iterable[int], tokens: Tokens, size: int, kept: Sequence[Allowed] = ()) -> Iterator[Places]:
    """Cut pieces of more than `size` tokens at words, where needed at graphemes, where needed at tokens.

    `kept` say where between words, from the most to the least particular: each is used where those before it leave
    pieces too long.
    """
    words, source = partial(_between_words, tokens.text), iter(cuts)
    blocks: Iterator[Places] = takewhile(len, (np.fromiter(islice(source, BLOCK), np.int64) for _ in count()))
    for free in kept:
        blocks = _finer(blocks, tokens, size, partial(_both, words, free))
    for allowed in (words, partial(_each, _between_graphemes, tokens.text), lambda places: places > 0):
        blocks = _finer(blocks, tokens, size, allowed)
    return blocks


def _both(one: Allowed, other: Allowed, places: Places) -> NDArray[np.bool_]:
    return one(places) & other(places)


def _each(allowed: Callable[[str, int], bool], text: str, places: Places) -> NDArray[np.bool_]:
    return np.fromiter((allowed(text, at) for at in places.tolist()), np.bool_, len(places))


def _finer(blocks: Iterable[Places], tokens: Tokens, size: int, allowed: Allowed) -> Iterator[Places]:
    latest = np.empty(0, np.int64)
    for block in blocks:
        cuts = np.concatenate([latest, block])
        done = len(latest)
        for number in np.flatnonzero(np.diff(tokens.before_each(cuts)) > size).tolist():
            yield cuts[done : number + 1]
            for begins in tokens.begins(*cuts[number : number + 2].tolist()):
                yield begins[allowed(begins)]
            done = number + 1
        yield cuts[done:]
        latest = cuts[-1:]


_BESIDE, _JOINS_NOTHING = 1, 2


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return by code point: may a cut beside the character leave words whole; does nothing combine with it."""
    kinds = np.zeros(0x110000, np.uint8)
    kinds[[code for code in range(0x3001) if chr(code).isspace()]] = _BESIDE
    for first, last in zip(IDEOGRAPHIC[::3], IDEOGRAPHIC[2::3], strict=True):
        kinds[ord(first) : ord(last) + 1] = _BESIDE | _JOINS_NOTHING
    kinds[0x302A:0x3030] = _BESIDE  # tone marks
    kinds[:0x300] |= _JOINS_NOTHING
    return kinds


def _between_words(text: str, places: Places) -> NDArray[np.bool_]:
    if not len(places):
        return np.empty(0, np.bool_)
    first = int(places[0]) - 1
    codes = np.frombuffer(text[first : int(places[-1]) + 1].encode("utf-32-le", "surrogatepass"), "<u4")
    left, right = codes[places - first - 1], codes[places - first]
    kinds = _kinds()
    free: NDArray[np.bool_] = (kinds[left] | kinds[right]) & _BESIDE > 0
    sure = (kinds[left] & kinds[right] & _JOINS_NOTHING > 0) & ((left != ord("\r")) | (right != ord("\n")))
    unsure = np.flatnonzero(free & ~sure)
    free[unsure] = _each(_between_graphemes, text, places[unsure])
    return free


def between_words(text: str, at: int) -> bool:
    """Return whether a cut before the character `at` leaves every word whole; each ideograph is a word."""
    left, right = text[at - 1], text[at]
    free = left.isspace() or right.isspace() or _IDEOGRAPH.match(left) or _IDEOGRAPH.match(right)
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


Range = tuple[int, int]
"""First character, and the one after the last."""

WINDOW = 2**16
"""Characters that are tokenized together: a tokenizer needs a hundred bytes and more for each."""
CONTEXT = 512
"""Characters before and after a window that are tokenized with it, so that its first and last tokens are those of the
whole text: this holds for all tokenizers that split at blanks or punctuation, or decide within this distance."""


class Tokens:
    """The tokens of a text, tokenized once, window by window.

    A token counts where it ends, or where an earlier one ends if that is later: so ends never decrease.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text, self.tokenizer = text, tokenizer
        starts, ends = list[NDArray[np.int32]](), list[NDArray[np.int32]]()
        start = 0
        while not ends or start < len(text):
            end = _window_end(text, start)
            origin = max(0, start - CONTEXT)
            spans = tokenizer.offsets(text[origin : end + CONTEXT])
            lefts, rights = np.fromiter(chain.from_iterable(spans), np.int32).reshape(-1, 2).T + np.int32(origin)
            rights = np.maximum.accumulate(rights)
            mine = slice(np.searchsorted(rights, start, "right") if start else 0, np.searchsorted(rights, end, "right"))
            starts.append(lefts[mine])
            ends.append(rights[mine])
            start = end
        self._starts, self._ends = np.concatenate(starts), np.concatenate(ends)
        self._places = self._ends.data  # bisected in a tenth of the array's time

    def before(self, at: int) -> int:
        """Count the tokens that end at or before the character `at`."""
        return bisect_right(self._places, at)

    def before_each(self, places: Places) -> Places:
        """Count the tokens that end at or before each of these characters."""
        return np.searchsorted(self._ends, places.astype(np.int32), "right")

    def between(self, start: int, end: int) -> int:
        """Count the tokens that end inside [start, end)."""
        return self.before(end) - self.before(start)

    def begins(self, start: int, end: int) -> Iterator[Places]:
        """Yield where the tokens that end inside [start, end) begin, but the first and those that overlap another."""
        latest, final = start, self.before(end)
        for first in range(self.before(start) + 1, final, BLOCK):
            block = slice(first, min(first + BLOCK, final))
            apart = self._starts[block] >= self._ends[first - 1 : block.stop - 1]
            begins = self._starts[block][apart].astype(np.int64)
            begins = begins[np.diff(begins, prepend=latest) > 0]
            yield begins
            latest = int(begins[-1]) if len(begins) else latest


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
