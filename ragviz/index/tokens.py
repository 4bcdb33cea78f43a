"""Tokens of a text with their places, tokenized window by window: what is held does not grow with the text."""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

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
