"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, none inside another; none has more than `chunk_size` tokens, and neighbours share at most
`overlap`. A cut falls inside a word (an address, a number with its unit sign, too), or inside what a reader sees as one
character, only where that alone is longer than `chunk_size`; a character that the tokenizer makes several tokens of is
never cut. Where ideographs have no blanks between them, each is a word. No chunk ends with a heading that text follows,
unless heading and first word together are longer than `chunk_size`.

A document is tokenized once; of its tokens two numbers each are kept while it is cut.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Chunk, Document
from ragviz.core.errors import UsageError
from ragviz.core.fields import fields_of
from ragviz.index import packing
from ragviz.index.headings import Sections, verbatim
from ragviz.index.packing import Range, Tokens
from ragviz.text.untrusted import without_surrogates

if TYPE_CHECKING:
    from ragviz.models.tokenizer import Tokenizer

Sentences = Callable[[str, str], Iterable[Range]]
"""(text, language) → offsets of the sentences, in order: `segmentation.each_sentence`."""


@dataclass(frozen=True, slots=True)
class Chunker:
    """One way to cut documents.

    `cut` yields ranges of the document, not yet trimmed, in order, that together hold every character.
    """

    explanation: str
    cut: Callable[[Document, IndexConfig, Tokens, Sentences | None], Iterator[Range]]


PART = 2**18
"""Characters whose structure is parsed together; up to four times as many where the next part has no good beginning."""
RUN = 4000
"""Characters without a blank or punctuation that are split together."""


def cut_structure(document: Document, config: IndexConfig, tokens: Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into the largest parts of the document's structure that fit: sections, paragraphs, sentences, words.

    A piece that would end after a heading or inside a word ends before it, and the next one begins there.
    """
    text, size, sections = document.text, config.chunk_size, Sections(document)
    latest_start = latest_end = 0
    for piece_start, piece_end in _structured(document, config, tokens):
        heading = sections.whole.holding(piece_end)
        end = _word_start(text, latest_end, piece_end) if heading is None else heading
        if heading is None and end == latest_end < piece_end and tokens.between(latest_end, piece_end) > size:
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
            or tokens.between(start, end) > size
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
    if tokens.between(start, end) <= size:
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

    # As it was added, or as parsed from a format with structure.
    kind = document.media_type
    markdown = not kind.startswith("text/") or kind in ("text/markdown", "text/x-markdown", "text/html")
    counts = _counts(tokens.tokenizer)
    # Untrimmed pieces hold every character; blanks have no tokens, and are trimmed afterwards.
    splitter: Any = (MarkdownSplitter if markdown else TextSplitter).from_callback(
        partial(counts.of, config.chunk_size), config.chunk_size, config.overlap, trim=False
    )
    text, start, length = document.text, 0, PART
    while True:
        end = start + length
        # To split a run without blanks or punctuation takes time with the square of its length.
        if run := re.compile(_UNBROKEN % (RUN * length // PART)).search(text, start, end):
            end = run.end()
        part = without_surrogates(text[start:end])
        pieces = [(start + at, start + at + len(piece)) for at, piece in splitter.chunk_indices(part)]
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


class _Counts(dict[str, int]):
    """Tokens of a text as the sum over its words, each tokenized once, also when it stands in many documents.

    The splitter measures every text many times: this is ten times faster than tokenizing it each time, and gives the
    same number for tokenizers that ignore blanks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __missing__(self, word: str) -> int:
        if len(self) == WORDS:
            self.clear()
        self[word] = count = len(self.tokenizer.offsets(word))
        return count

    def of(self, limit: int, text: str) -> int:
        """Count the tokens of a text; counting stops above `limit`."""
        if len(text) <= 1000:
            return sum(map(self.__getitem__, text.split()))
        count = 0
        for stretch in _STRETCH.finditer(text):
            words = stretch.group().split() if len(stretch.group()) <= 1000 else _LONG.findall(stretch.group())
            count += sum(map(self.__getitem__, words))
            if count > limit:
                break
        return count


WORDS = 2**15
"""Words whose tokens are remembered."""


_counts = lru_cache(maxsize=1)(_Counts)


_STRETCH = re.compile(r".{1,1000}(?!\S)|\S{1,20000}", re.DOTALL)


# Pieces of a word of more than a thousand characters: up to punctuation after letters, else any sign or ideograph.
_LONG = re.compile(
    rf"\S{{1,1000}}(?!\S)|\S{{0,999}}[^\W_](?=[^\w\s])|\S{{0,999}}(?:[\W_]|[{packing.IDEOGRAPHIC}])|\S{{1,4000}}"
)


def cut_sentences(
    document: Document, config: IndexConfig, tokens: Tokens, sentences: Sentences | None
) -> Iterator[Range]:
    """Cut into ranges of as many whole sentences as fit; longer ones by words. The overlap is whole sentences too.

    A heading goes with the sentence after it.
    """
    if sentences is None:
        raise UsageError("The chunker 'sentences' needs a function that finds sentences: pass it to split().")
    text, sections = document.text, Sections(document)
    # After every sentence but the last: the characters between two sentences go with the second.
    ends = (end for (_, end), _ in pairwise(sentences(text, document.language)))
    cuts = filter(sections.whole.free, chain([0], ends, [len(text)]))
    pieces = packing.refined(cuts, tokens, config.chunk_size, sections.levels)
    return packing.packed(pieces, tokens, config.chunk_size, config.overlap)


def cut_tokens(document: Document, config: IndexConfig, tokens: Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into ranges of as many whole words as fit into `chunk_size` tokens; a heading goes with what follows it."""
    levels = Sections(document).levels
    words = packing.refined([0, len(document.text)], tokens, config.chunk_size, levels)
    return packing.packed(words, tokens, config.chunk_size, config.overlap)


CHUNKERS = {
    "tokens": Chunker(
        "Windows of tokens, all about equally long; borders fall between any two words but not after a heading.",
        cut_tokens,
    ),
    "recursive": Chunker(
        "Borders before headings, at paragraphs, then sentences; knows Markdown. Chunks differ in length.",
        cut_structure,
    ),
    "sentences": Chunker(
        "Whole sentences packed up to the size; a longer sentence is cut, a heading goes with what follows it.",
        cut_sentences,
    ),
}
"""Chunker by name."""


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
        UsageError: an unknown chunker or prefix, a size below 1, an overlap below 0 or not below the size.

    """
    for name in ("chunker", "chunk_size", "overlap", "prefix"):
        fields_of(IndexConfig)[name].checked(getattr(config, name))
    if config.overlap >= config.chunk_size:
        most = config.chunk_size - 1
        wrong = f"An overlap of {config.overlap} tokens does not fit a chunk size of {config.chunk_size}"
        raise UsageError(f"{wrong}: give 0 to {most}, or larger chunks.")


def in_words(config: Mapping[str, Any]) -> str:
    """Return the chunker of an index's configuration in words, with its size.

    >>> in_words({"chunker": "tokens", "chunk_size": 200})
    'tokens 200'
    >>> in_words({"chunker": "tokens", "chunk_size": 200, "prefix": "title"})
    'tokens 200, title before'
    """
    prefix = config.get("prefix", "none")
    before = "" if prefix == "none" else f", {prefix} before"
    return f"{config['chunker']} {config['chunk_size']}{before}"


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
