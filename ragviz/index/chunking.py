"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, none inside another; none has more than `chunk_size` tokens, and neighbours share at most
`overlap`. A cut falls inside a word (an address, a number with its unit sign, too), or inside what a reader sees as one
character, only where that alone is longer than `chunk_size`; a character that the tokenizer makes several tokens of is
never cut. Where ideographs have no blanks between them, each is a word. No chunk ends with a heading that text follows,
unless heading and first word together are longer than `chunk_size`.

A document is tokenized window by window while it is cut, so that memory beside its text does not grow with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ragviz.core.chunk import Chunk
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.core.fields import fields_of
from ragviz.index import recursive_chunker, sentence_chunker, token_chunker
from ragviz.index.chunker import Chunker, Sentences
from ragviz.index.tokens import Range, Tokenizer, Tokens

CHUNKERS: dict[str, Chunker] = {
    "tokens": token_chunker.CHUNKER,
    "recursive": recursive_chunker.CHUNKER,
    "sentences": sentence_chunker.CHUNKER,
}
"""Chunker by name: a new one is a file, and its line here."""


def split(
    document: Document, config: IndexConfig, tokenizer: Tokenizer, sentences: Sentences | None = None
) -> list[Chunk]:
    """Cut `document` as `config.chunker`, `chunk_size` and `overlap` (tokens) say; a blank document has no chunks.

    `chunk.tokens` is the number of the document's tokens that end inside the chunk. Tokenized alone, a chunk that was
    cut inside a word can have a few more or fewer. `sentences` is needed by the chunker "sentences".

    Raises:
        UsageError: a chunker, size or overlap that cannot be used.

    """
    return [cut_out(document, *cut) for cut in cuts(document, config, tokenizer, sentences)]


def cuts(
    document: Document, config: IndexConfig, tokenizer: Tokenizer, sentences: Sentences | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and tokens of every chunk that `split` makes, in order.

    Raises:
        UsageError: as `split`.

    """
    check(config)
    tokens = Tokens(document.text, tokenizer)
    ranges = CHUNKERS[config.chunker].cut(document, config, tokens, sentences)
    return ((start, end, tokens.between(start, end)) for start, end in _trimmed(document.text, ranges))


def cut_out(document: Document, start: int, end: int, tokens: int) -> Chunk:
    """Return the chunk of `document` between two characters, with its number of tokens."""
    identity, page = Chunk.make_id(document.id, start, end), page_at(document, start)
    return Chunk(identity, document.id, start, end, document.text[start:end], tokens, page)


def check(config: IndexConfig) -> None:
    """Raise UsageError for a chunking configuration that cannot be used.

    Raises:
        UsageError: an unknown chunker or parameter of it, a size below 1, an overlap below 0 or not below the size, an
            unknown prefix.

    """
    for name in ("chunker", "chunk_size", "overlap", "prefix"):
        fields_of(IndexConfig)[name].checked(getattr(config, name))
    if config.overlap >= config.chunk_size:
        most = config.chunk_size - 1
        wrong = f"An overlap of {config.overlap} tokens does not fit a chunk size of {config.chunk_size}"
        raise UsageError(f"{wrong}: give 0 to {most}, or larger chunks.")
    CHUNKERS[config.chunker].check(config)


def in_words(config: Mapping[str, Any]) -> str:
    """Return the chunker of an index's configuration in words, with its size and the parameters of its own.

    >>> in_words({"chunker": "tokens", "chunk_size": 200})
    'tokens 200'
    >>> in_words({"chunker": "paragraphs", "chunk_size": 200, "chunker_options": {"most": 5}})
    'paragraphs 200, most 5'
    >>> in_words({"chunker": "tokens", "chunk_size": 200, "prefix": "title"})
    'tokens 200, title before'
    """
    own = "".join(f", {name} {value}" for name, value in config.get("chunker_options", {}).items())
    prefix = config.get("prefix", "none")
    before = "" if prefix == "none" else f", {prefix} before"
    return f"{config['chunker']} {config['chunk_size']}{own}{before}"


def page_at(document: Document, at: int) -> int | None:
    """Return the number of the page that holds the character `at`; None when the document has no pages there."""
    index = bisect_right(document.pages, at, key=lambda page: page.start)
    return document.pages[index - 1].number if index else None


def overlaps(chunks: Sequence[Chunk]) -> list[Range]:
    """Return the ranges that neighbouring chunks of one document share, in order; empty without overlap."""
    return [(right.start, left.end) for left, right in pairwise(chunks) if right.start < left.end]


def _trimmed(text: str, ranges: Iterator[Range]) -> Iterator[Range]:
    """Trim blanks off both ends; drop blank ranges, and those that lie inside a neighbour."""
    pending = (0, 0)
    for start, end in ranges:
        piece = text[start:end]
        first, last = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        if last <= max(first, pending[1]):
            continue
        if pending[0] < pending[1] and pending[0] < first:
            yield pending
        pending = (first, last)
    if pending[0] < pending[1]:
        yield pending
