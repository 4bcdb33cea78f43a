"""The passages that an answerer is given: fitted into a budget of tokens."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ragviz.records import Chunk, ContextKind
from ragviz.text import language, segmentation

USEFUL = 40
"""Tokens: a part of a chunk that is smaller is not handed over, unless there would be nothing else."""

CONTEXTS: dict[ContextKind, str] = {
    "retrieved": "the retrieved chunks",
    "none": "nothing (closed book)",
    "oracle": "the gold chunks",
}
"""What answers are given from, in words."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it is handed over; `text` is the beginning of the chunk's when not all of it fits."""

    rank: int
    chunk_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """The context of an answer in rank order, and the ids that the budget left out (that of a shortened chunk too).

    `tokens` is what the passages take; `estimated` when some chunk did not know its own number of them.
    """

    passages: tuple[Passage, ...] = ()
    cut: tuple[str, ...] = ()
    tokens: int = 0
    estimated: bool = False

    @property
    def context(self) -> tuple[str, ...]:
        """Ids of the chunks that are handed over, in rank order."""
        return tuple(passage.chunk_id for passage in self.passages)


def fitted(chunks: Sequence[Chunk], budget: int) -> Fitted:
    """Take `chunks`, best first, while they fit in `budget` tokens; the first that does not is shortened or left out.

    It is shortened when it is the best chunk or `USEFUL` tokens are left, at the end of a sentence, else of a word. No
    chunk after it is taken: what is handed over is always the head of the ranking. A chunk with 0 tokens does not know
    how many it has; they are estimated, as those of a part are, in proportion to `estimate`.
    """
    sizes = [chunk.tokens or estimate(chunk.text) for chunk in chunks]
    whole = bisect_right(list(accumulate(sizes)), budget)
    passages = [Passage(rank, chunk.id, chunk.text) for rank, chunk in enumerate(chunks[:whole], start=1)]
    used = sum(sizes[:whole])
    left = budget - used
    if whole < len(chunks) and (left >= USEFUL or whole == 0):
        chunk, size = chunks[whole], sizes[whole]
        if part := _shortened(chunk.text, size, left):
            passages.append(Passage(whole + 1, chunk.id, part))
            used += min(left, _share(part, chunk.text, size))
    cut = tuple(chunk.id for chunk in chunks[whole:])
    return Fitted(tuple(passages), cut, used, any(not chunk.tokens for chunk in chunks[: whole + 1]))


def estimate(text: str) -> int:
    """About how many tokens: one for an ideograph or another wide character, a quarter for every other but blanks.

    >>> estimate("four words of text"), estimate("连接池")
    (4, 3)
    """
    return math.ceil(sum(map(_weight, text)))


def _weight(character: str) -> float:
    if character.isspace():
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.25


def _share(part: str, text: str, size: int) -> int:
    """Tokens of a part of `text`, which has `size`."""
    return math.ceil(size * sum(map(_weight, part)) / (sum(map(_weight, text)) or 1.0))


def _shortened(text: str, size: int, room: int) -> str:
    """The beginning of `text` that takes `room` of its `size` tokens, with a sentence or a word whole at its end."""
    weights = list(accumulate(map(_weight, text)))
    end = bisect_right(weights, weights[-1] * room / size) if weights and room > 0 else 0
    sentences = [stop for _, stop in segmentation.sentences(text, language.detect(text)) if stop <= end]
    words = [blank.start() for blank in re.finditer(r"\s+", text[: end + 1])]
    border = next((ends[-1] for ends in (sentences, words) if ends and 2 * ends[-1] >= end), end)
    return text[:border].rstrip()
