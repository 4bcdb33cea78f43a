"""The passages that an answerer gets: the retrieved chunks that fit into a budget of tokens."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ragviz.core.answer import ContextKind
from ragviz.core.chunk import Chunk
from ragviz.text import language, segmentation

USEFUL = 40
"""Tokens: a smaller part of a chunk is not passed to the answerer, unless there would be nothing else."""

CONTEXTS: dict[ContextKind, str] = {
    "retrieved": "the retrieved chunks",
    "none": "nothing (closed book)",
    "oracle": "the gold chunks",
}
"""What answers are based on, in words."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the answerer gets it; `text` is only the beginning of the chunk's when not all of it fits."""

    rank: int
    chunk_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """The context of an answer in rank order; `cut` are the ids left out by the budget (that of a shortened chunk too).

    `tokens` are those of the passages; `estimated` when the number of some chunk's tokens is not known.
    """

    passages: tuple[Passage, ...] = ()
    cut: tuple[str, ...] = ()
    tokens: int = 0
    estimated: bool = False

    @property
    def context(self) -> tuple[str, ...]:
        """Ids of the passages' chunks, in rank order."""
        return tuple(passage.chunk_id for passage in self.passages)


def fitted(chunks: Sequence[Chunk], budget: int) -> Fitted:
    """Take `chunks`, best first, while they fit in `budget` tokens; the first that does not is shortened or left out.

    It is shortened when it is the best chunk or `USEFUL` tokens are left, at the end of a sentence, else of a word. No
    chunk after it is taken: the passages are always the head of the ranking. The tokens of a chunk that says 0 are not
    known: they are estimated, as those of a part are, in proportion to `estimate`.
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
            # The part takes its share of the chunk's tokens, by weight.
            used += min(left, math.ceil(size * _weight(part) / (_weight(chunk.text) or 1.0)))
    cut = tuple(chunk.id for chunk in chunks[whole:])
    return Fitted(tuple(passages), cut, used, any(not chunk.tokens for chunk in chunks[: whole + 1]))


def estimate(text: str) -> int:
    """Estimate the tokens of a text: one for an ideograph or another wide character, a quarter for others, blanks none.

    >>> estimate("four words of text"), estimate("连接池")
    (4, 3)
    """
    return math.ceil(_weight(text))


def _weight(text: str) -> float:
    return sum(map(_character_weight, text))


def _character_weight(character: str) -> float:
    if character.isspace():
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.25


def _shortened(text: str, size: int, room: int) -> str:
    """Return the beginning of `text` that takes `room` of its `size` tokens, ending with a whole sentence or word."""
    weights = list(accumulate(map(_character_weight, text)))
    end = bisect_right(weights, weights[-1] * room / size) if weights and room > 0 else 0
    sentences = [stop for _, stop in segmentation.sentences(text, language.detect(text)) if stop <= end]
    words = [blank.start() for blank in re.finditer(r"\s+", text[: end + 1])]
    border = next((ends[-1] for ends in (sentences, words) if ends and 2 * ends[-1] >= end), end)
    return text[:border].rstrip()
