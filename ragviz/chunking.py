"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, none inside another; none has more than `chunk_size` tokens, and neighbours share at most
`overlap`. A cut falls inside a word, or inside what a reader sees as one character, only where that alone is longer
than `chunk_size`; a character that the tokenizer makes several tokens of is never cut.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

from ragviz.errors import UsageError
from ragviz.records import Chunk, Chunker, Document, IndexConfig

Range = tuple[int, int]

Sentences = Callable[[str, str], list[Range]]
"""(text, language) -> offsets of the sentences, in order: `language.sentences`."""


class Tokenizer(Protocol):
    """Counts as the embedder reads."""

    def offsets(self, text: str) -> list[Range]:
        """Give the characters of every token of `text`, in order, special tokens left out."""
        ...


def split(
    document: Document, config: IndexConfig, tokenizer: Tokenizer, sentences: Sentences | None = None
) -> list[Chunk]:
    """Cut `document` as `config.chunker`, `chunk_size` and `overlap` (tokens) say; a blank document has no chunks.

    `chunk.tokens` is the number of the document's tokens that end inside the chunk. Tokenized on its own a chunk has as
    many, but for a few more or fewer where it was cut inside a word. `sentences` is needed by the chunker "sentences".

    Raises:
        UsageError: a chunker, size or overlap that cannot be used.

    """
    check(config)
    tokens = _Tokens.of(document.text, tokenizer)
    ranges = CHUNKERS[config.chunker](document, config, tokens, sentences)
    trimmed = _trimmed(document.text, ranges)
    return [cut_out(document, start, end, tokens.between(start, end)) for start, end in trimmed]


def cut_out(document: Document, start: int, end: int, tokens: int) -> Chunk:
    """Make the chunk of `document` that lies between two characters and has so many tokens."""
    identity, page = Chunk.make_id(document.id, start, end), page_at(document, start)
    return Chunk(identity, document.id, start, end, document.text[start:end], tokens, page)


def check(config: IndexConfig) -> None:
    """Refuse a configuration that cannot be cut with.

    Raises:
        UsageError: an unknown chunker, a size below 1, an overlap below 0 or not below the size.

    """
    if config.chunker not in CHUNKERS:
        raise UsageError(f"There is no chunker '{config.chunker}': choose one of {', '.join(CHUNKERS)}.")
    if config.chunk_size < 1:
        raise UsageError(f"A chunk size of {config.chunk_size} tokens cannot be used: give at least 1.")
    if not 0 <= config.overlap < config.chunk_size:
        most = config.chunk_size - 1
        wrong = f"An overlap of {config.overlap} tokens does not fit a chunk size of {config.chunk_size}"
        raise UsageError(f"{wrong}: give 0 to {most}, or larger chunks.")


def page_at(document: Document, at: int) -> int | None:
    """Return the number of the page that holds the character `at`; None when the document has no pages there."""
    index = bisect_right(document.pages, at, key=lambda page: page.start)
    return document.pages[index - 1].number if index else None


def overlaps(chunks: Sequence[Chunk]) -> list[Range]:
    """Characters that two neighbouring chunks of one document share, in order; without overlap there are none."""
    return [(right.start, left.end) for left, right in pairwise(chunks) if right.start < left.end]


def longer_than(chunks: Sequence[Chunk], limit: int) -> list[Chunk]:
    """Chunks of more than `limit` tokens; with `embedding.text_tokens_of` these are not read to their end."""
    return [chunk for chunk in chunks if chunk.tokens > limit]


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a document: their characters, and where they end (never falling, so that it can be bisected)."""

    text: str
    spans: list[Range]
    ends: list[int]
    tokenizer: Tokenizer

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> _Tokens:
        spans = tokenizer.offsets(text)
        return cls(text, spans, list(accumulate((end for _, end in spans), max)), tokenizer)

    def before(self, at: int) -> int:
        """Count the tokens that end at or before the character `at`."""
        return bisect_right(self.ends, at)

    def between(self, start: int, end: int) -> int:
        """Count the tokens that end inside [start, end)."""
        return self.before(end) - self.before(start)


def _by_tokens(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Windows of as many whole words as fit into `chunk_size` tokens."""
    cuts = _refined([0, len(document.text)], tokens, config.chunk_size)
    return _packed(cuts, tokens, config.chunk_size, config.overlap)


def _by_sentences(
    document: Document, config: IndexConfig, tokens: _Tokens, sentences: Sentences | None
) -> Iterator[Range]:
    """As many whole sentences as fit; a longer one is cut by words. The overlap is whole sentences too."""
    if sentences is None:
        raise UsageError("The chunker 'sentences' needs a function that finds sentences: hand it to split().")
    ends = [end for _, end in sentences(document.text, document.language)]
    cuts = [0, *ends[:-1], len(document.text)]  # what stands between two sentences goes with the second
    return _packed(_refined(cuts, tokens, config.chunk_size), tokens, config.chunk_size, config.overlap)


def _recursive(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Largest pieces of the document's structure that fit: sections, paragraphs, sentences, words."""
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    splitter = MarkdownSplitter if _is_markdown(document) else TextSplitter
    counts = _Counts(tokens.tokenizer)
    # Untrimmed pieces hold every character; blanks have no tokens, and are taken off afterwards.
    pieces = splitter.from_callback(counts.of, config.chunk_size, config.overlap, trim=False)
    begun = reached = 0
    for start, piece in pieces.chunk_indices(_SURROGATE.sub("\ufffd", document.text)):
        end = start + len(piece)
        if end <= reached:
            continue
        # Words counted one by one can come to less than the text: then pieces are too long, and overlaps.
        if start < begun or tokens.between(start, reached) > config.overlap:
            start = reached
        cuts = _refined([start, end], tokens, config.chunk_size)
        for begun, reached in _packed(cuts, tokens, config.chunk_size, 0):
            yield begun, reached


CHUNKERS: dict[Chunker, Callable[[Document, IndexConfig, _Tokens, Sentences | None], Iterator[Range]]] = {
    "tokens": _by_tokens,
    "recursive": _recursive,
    "sentences": _by_sentences,
}
"""Cutters by name: ranges of the document, not yet trimmed, in order, together holding every character."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def _is_markdown(document: Document) -> bool:
    """Tell whether the text is Markdown: its own, or what parsers made of a format with structure."""
    kind = document.media_type
    return not kind.startswith("text/") or kind in ("text/markdown", "text/x-markdown", "text/html")


class _Counts(dict[str, int]):
    """Tokens of a text as the sum over its words, each tokenized once.

    The splitter measures every text many times over: this is ten times faster than tokenizing it each time, and the
    same number for tokenizers that see no blanks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __missing__(self, word: str) -> int:
        self[word] = count = len(self.tokenizer.offsets(word))
        return count

    def of(self, text: str) -> int:
        return sum(map(self.__getitem__, text.split()))


def _packed(cuts: Sequence[int], tokens: _Tokens, size: int, overlap: int) -> Iterator[Range]:
    """Join neighbouring pieces, as many as have `size` tokens together; begin the next `overlap` tokens earlier."""
    before = [tokens.before(cut) for cut in cuts]
    first, final = 0, len(cuts) - 1
    while first < final:
        last = max(bisect_right(before, before[first] + size) - 1, first + 1)
        yield cuts[first], cuts[last]
        if last == final:
            return
        # Not so early that the next range would end where this one does.
        shared = min(overlap, size - (before[last + 1] - before[last]))
        first = bisect_left(before, before[last] - shared, first + 1, last) if shared > 0 else last


def _refined(cuts: list[int], tokens: _Tokens, size: int) -> list[int]:
    """Cut pieces of more than `size` tokens at words, if need be at graphemes, if need be at characters."""
    for may_cut in (_between_words, _between_graphemes, _between_tokens):
        before = [tokens.before(cut) for cut in cuts]
        if all(last - first <= size for first, last in pairwise(before)):
            break
        finer = cuts[:1]
        for right, (first, last) in zip(cuts[1:], pairwise(before), strict=True):
            if last - first > size:
                for number in range(first + 1, last):
                    at = tokens.spans[number][0]
                    if finer[-1] < at and tokens.ends[number - 1] <= at and may_cut(tokens.text, at):
                        finer.append(at)
            finer.append(right)
        cuts = finer
    return cuts


_IDEOGRAPHIC = re.compile(
    "[\u2e80-\u303f\u3220-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # characters, punctuation
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # full-width punctuation
)


def _between_words(text: str, at: int) -> bool:
    """Tell whether a cut before the character `at` leaves every word whole; each ideograph is a word."""
    left, right = text[at - 1], text[at]
    free = left.isspace() or right.isspace() or _IDEOGRAPHIC.match(left) or _IDEOGRAPHIC.match(right)
    return bool(free) and _between_graphemes(text, at)


def _between_graphemes(text: str, at: int) -> bool:
    """Tell whether a cut before the character `at` leaves whole what is read as one character (after UAX 29)."""
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
    """Allow every cut; the caller looks for tokens only."""
    return 0 < at < len(text)


def _trimmed(text: str, ranges: Iterator[Range]) -> Iterator[Range]:
    """Take blanks off both ends; drop a range of nothing but blanks, and one that lies inside a neighbour."""
    kept = (0, 0)
    for start, end in ranges:
        piece = text[start:end]
        first, last = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        if last <= max(first, kept[1]):
            continue
        if kept[0] < kept[1] and kept[0] < first:
            yield kept
        kept = (first, last)
    if kept[0] < kept[1]:
        yield kept
