"""What an answerer reads: the contexts that fit into a budget of tokens."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from ragviz.core.recording import Context
from ragviz.text import language, segmentation

USEFUL = 40
"""Tokens: a smaller part of a chunk is not passed to the answerer, unless there would be nothing else."""


def fitted(contexts: Sequence[Context], budget: int) -> tuple[tuple[Context, ...], tuple[str, ...]]:
    """Return the contexts that fit in `budget` tokens, and the ids that the budget left out or shortened.

    They are taken in their order, the first that does not fit is shortened or left out. It is shortened when it is the
    first of all or `USEFUL` tokens are left, at the end of a sentence, else of a word. None after it is taken: what is
    read is always the head. The tokens of a context that says 0 are not known: they are estimated, as those of a part
    are, in proportion to `estimate`.
    """
    sizes = [context.tokens or estimate(context.text) for context in contexts]
    whole = bisect_right(list(accumulate(sizes)), budget)
    read = list(contexts[:whole])
    left = budget - sum(sizes[:whole])
    if whole < len(contexts) and (left >= USEFUL or whole == 0):
        text = contexts[whole].text
        weights = list(accumulate(map(_character_weight, text)))
        end = bisect_right(weights, weights[-1] * left / sizes[whole]) if weights and left > 0 else 0
        sentences = [stop for _, stop in segmentation.sentences(text, language.detect(text)) if stop <= end]
        words = [blank.start() for blank in re.finditer(r"\s+", text[: end + 1])]
        border = next((ends[-1] for ends in (sentences, words) if ends and 2 * ends[-1] >= end), end)
        if part := text[:border].rstrip():
            read.append(replace(contexts[whole], text=part))
    return tuple(read), tuple(context.chunk_id for context in contexts[whole:])


def estimate(text: str) -> int:
    """Estimate the tokens of a text: one for an ideograph or another wide character, a quarter for others, blanks none.

    >>> estimate("four words of text"), estimate("连接池")
    (4, 3)
    """
    return math.ceil(sum(map(_character_weight, text)))


def _character_weight(character: str) -> float:
    if character.isspace():
        return 0.0
    return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.25
