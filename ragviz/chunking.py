"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, their ends ever greater; none has more than `chunk_size` tokens, and neighbours share at
most `overlap` of them. (A single character that the tokenizer makes several tokens of is never cut.) A cut falls
inside a word, or inside what a reader sees as one character, only where that alone is longer than `chunk_size`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from ragviz.errors import UsageError
from ragviz.records import Chunk, Chunker, Document, IndexConfig

Range = tuple[int, int]
Sentences = Callable[[str, str], list[Range]]
"""(text, language) -> offsets of its sentences, in order; `language.sentences`."""


class Tokenizer(Protocol):
    """Counts as the embedder reads."""

    def offsets(self, text: str) -> list[Range]:
        """Character span of every token of `text` without special ones, in order; characters may be in none or many."""
        ...


def split(
    document: Document, config: IndexConfig, tokenizer: Tokenizer, sentences: Sentences | None = None
) -> list[Chunk]:
    """Cut `document` as `config.chunker`, `chunk_size` and `overlap` (tokens) say; no chunks for a blank document.

    `chunk.tokens` is the number of the document's tokens that end inside the chunk. Cut out and tokenized on its own, a
    chunk may have a few more or fewer only where a cut falls inside a word. `sentences` is needed by the chunker
    "sentences" alone.

    Raises:
        UsageError: a size, overlap or chunker that cannot be used.

    """
    check(config)
    tokens = tokenizer.offsets(document.text)
    ends = _rising([end for _, end in tokens])
    ranges = CHUNKERS[config.chunker](document, config, _Tokens(tokens, ends, tokenizer), sentences)
    return [_chunk(document, start, end, ends) for start, end in _trimmed(document.text, ranges)]


def check(config: IndexConfig) -> None:
    """Raise UsageError when the chunker, its size or its overlap cannot be used."""
    if config.chunker not in CHUNKERS:
        raise UsageError(f"There is no chunker '{config.chunker}': choose one of {', '.join(CHUNKERS)}.")
    if config.chunk_size < 1:
        raise UsageError(f"A chunk size of {config.chunk_size} tokens is too small: give at least 1.")
    if not 0 <= config.overlap < config.chunk_size:
        raise UsageError(
            f"An overlap of {config.overlap} tokens does not go with chunks of {config.chunk_size}:"
            f" give 0 to {config.chunk_size - 1}."
        )


class _Tokens:
    """The tokens of one document: their spans, and their ends made non-decreasing so that they can be bisected."""

    def __init__(self, spans: Sequence[Range], ends: Sequence[int], tokenizer: Tokenizer) -> None:
        self.spans, self.ends, self.tokenizer = spans, ends, tokenizer

    def before(self, at: int) -> int:
        """How many tokens end at or before the character `at`."""
        return bisect_right(self.ends, at)
