"""Chunks along the structure of a document: the largest sections, paragraphs, sentences or words that fit."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.index import packing
from ragviz.index.chunker import Chunker, Sentences
from ragviz.index.headings import Sections, verbatim
from ragviz.index.tokens import Range, Tokenizer, Tokens
from ragviz.text.untrusted import without_surrogates

PART = 2**18
"""Characters whose structure is parsed together; up to four times as many where the next part has no good beginning."""
RUN = 4000
"""Characters without a blank or punctuation that are split together."""


def cut(document: Document, config: IndexConfig, tokens: Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into the largest parts of the document's structure that fit: sections, paragraphs, sentences, words.

    A piece that would end after a heading or inside a word ends before it, and the next one begins there.
    """
    text, size, sections = document.text, config.chunk_size, Sections(document)
    latest_start = latest_end = 0
    for piece_start, piece_end in _structured(document, config, tokens):
        heading = sections.whole.holding(piece_end)
        end = _word_start(text, latest_end, piece_end) if heading is None else heading
        if heading is None and end == latest_end < piece_end and tokens.exceed(latest_end, piece_end, size):
            end = piece_end  # inside a word that is longer than a chunk
        if end <= latest_end:
            continue
        start = min(piece_start, latest_end)
        # The sum over words can be less than the text's tokens: then pieces and overlaps are too long.
        if (
            start < latest_start
            or not sections.whole.free(start)
            or _word_start(text, latest_start, start) != start
            or tokens.between(start, latest_end) > config.overlap
            or tokens.exceed(start, end, size)
        ):
            start = latest_end
        for latest_start, latest_end in _fitting(document, sections, tokens, start, end, size):
            yield latest_start, latest_end


def _word_start(text: str, start: int, at: int) -> int:
    """Return `at`, or where the word begins that a cut there would be in; at least `start`."""
    if not 0 < at < len(text):
        return at
    first = at
    while start < first and not packing.between_words(text, first):
        first -= 1
    return first if any(map(str.isalnum, text[first:at])) else at


def _fitting(
    document: Document, sections: Sections, tokens: Tokens, start: int, end: int, size: int
) -> Iterator[Range]:
    """Yield a range as it is where it fits; else cut at sentences, where needed at words, into about equal parts."""
    if not tokens.exceed(start, end, size):
        yield start, end
        return
    from ragviz.text import segmentation  # needs the languages, as what is only listed does not

    text = document.text[start:end]
    ends = (start + last for _, last in segmentation.each_sentence(text, document.language))
    cuts = filter(sections.whole.free, (at for at in ends if at < end))
    total = tokens.between(start, end)
    share = total / -(-total // size)
    pieces = packing.refined(chain((start,), cuts, (end,)), tokens, size, sections.levels)
    yield from packing.packed(pieces, tokens, min(size, round(1.2 * share)), 0)


def _structured(document: Document, config: IndexConfig, tokens: Tokens) -> Iterator[Range]:
    """Yield the splitter's pieces, part by part of a long document.

    The next part begins with one of the last pieces of this one: a piece depends on nothing before its start, except
    the Markdown around it. So a part of Markdown begins with a new block wherever four times `PART` hold one; in a
    longer list, table or code block, the first pieces of a part may differ from those of the whole.
    """
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    markdown = _is_markdown(document)
    counts = _Counts(tokens.tokenizer, config.chunk_size)
    # Untrimmed pieces hold every character; blanks have no tokens, and are trimmed afterwards.
    splitter: Any = (MarkdownSplitter if markdown else TextSplitter).from_callback(
        counts.of, config.chunk_size, config.overlap, trim=False
    )
    text, start, length = document.text, 0, PART
    while True:
        end = start + length
        # To split a run without blanks or punctuation takes time with the square of its length.
        if run := re.compile(_UNBROKEN % (RUN * length // PART)).search(text, start, end):
            end = run.end()
        part = without_surrogates(text[start:end])
        pieces = [(start + at, start + at + len(piece)) for at, piece in splitter.chunk_indices(part)]
        counts.clear()
        if end >= len(text):
            yield from pieces
            return
        anywhere = not markdown or run is not None or length >= 4 * PART
        final = _next_part(part, start, pieces, anywhere=anywhere)
        if final is None:
            length *= 2
            continue
        yield from pieces[:final]
        start, length = pieces[final][0], PART


def _next_part(part: str, start: int, pieces: Sequence[Range], *, anywhere: bool) -> int | None:
    """Return the number of the piece that the next part begins with, as late as possible; None when none is suitable.

    The last two are not: they may end where they do because the part does.
    """
    latest = len(pieces) - 2
    fences = [] if anywhere else list(verbatim(part))
    for number in range(latest, len(pieces) // 2, -1):
        if anywhere or _begins_block(part, pieces[number][0] - start, fences):
            return number
    return 1 if anywhere and latest > 0 else None


_UNBROKEN = r"[^\s!-/:-@\[-^`{-~\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]{%d}"
_BLOCK = re.compile(r"\s*?^(?:#{1,6} |[^\W\d_])", re.MULTILINE)


def _begins_block(text: str, at: int, fences: Sequence[Range]) -> bool:
    """Return whether a heading or paragraph begins at the character `at`, or after blanks there, outside of fences."""
    match = _BLOCK.match(text, at)
    if match is None:
        return False
    index = bisect_right(fences, (at, len(text))) - 1
    return text[: match.end()].rstrip(" #")[:-1].endswith("\n\n") and not (index >= 0 and at < fences[index][1])


def _is_markdown(document: Document) -> bool:
    """Return whether the text is Markdown: as it was added, or as parsed from a format with structure."""
    kind = document.media_type
    return not kind.startswith("text/") or kind in ("text/markdown", "text/x-markdown", "text/html")


class _Counts(dict[str, int]):
    """Tokens of a text as the sum over its words, each tokenized once; counting stops above `limit`.

    The splitter measures every text many times: this is ten times faster than tokenizing it each time, and gives the
    same number for tokenizers that ignore blanks.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        self.tokenizer, self.limit = tokenizer, limit

    def __missing__(self, word: str) -> int:
        self[word] = count = len(self.tokenizer.offsets(word))
        return count

    def of(self, text: str) -> int:
        if len(text) <= 1000:
            return sum(map(self.__getitem__, text.split()))
        count = 0
        for stretch in _STRETCH.finditer(text):
            words = stretch.group().split() if len(stretch.group()) <= 1000 else _LONG.findall(stretch.group())
            count += sum(map(self.__getitem__, words))
            if count > self.limit:
                break
        return count


_STRETCH = re.compile(r".{1,1000}(?!\S)|\S{1,20000}", re.DOTALL)


# Pieces of a word of more than a thousand characters: up to punctuation after letters, else any sign or ideograph.
_LONG = re.compile(
    rf"\S{{1,1000}}(?!\S)|\S{{0,999}}[^\W_](?=[^\w\s])|\S{{0,999}}(?:[\W_]|{packing.IDEOGRAPHIC.pattern})|\S{{1,4000}}"
)

CHUNKER = Chunker(
    "Borders before headings, at paragraphs, then sentences; knows Markdown. Chunks differ in length.", cut
)
