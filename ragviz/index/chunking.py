"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, none inside another; none has more than `chunk_size` tokens, and neighbours share at most
`overlap`. A cut falls inside a word, or inside what a reader sees as one character, only where that alone is longer
than `chunk_size`; a character that the tokenizer makes several tokens of is never cut.

A document is tokenized window by window while it is cut, so that memory beside its text does not grow with it.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Protocol

from ragviz.errors import UsageError
from ragviz.records import Chunk, Chunker, Document, IndexConfig
from ragviz.text.untrusted import without_surrogates

Range = tuple[int, int]

Sentences = Callable[[str, str], Iterable[Range]]
"""(text, language) → offsets of the sentences, in order: `segmentation.each_sentence`."""

WINDOW = 2**16
"""Characters that are tokenized together: a tokenizer needs a hundred bytes and more for each."""
CONTEXT = 512
"""Characters before and after a window that are tokenized with it, so that its first and last tokens are those of the
whole text: this holds for all tokenizers that split at blanks or punctuation, or decide within this distance."""
PART = 2**18
"""Characters whose structure is parsed together; up to four times as many where the next part has no good beginning."""
RUN = 4000
"""Characters without a blank or punctuation that are split together."""


class Tokenizer(Protocol):
    """Splits text into tokens as the embedder does."""

    def offsets(self, text: str) -> list[Range]:
        """Return the character range of every token of `text`, in order, without special tokens."""
        ...


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
    tokens = _Tokens(document.text, tokenizer)
    ranges = CHUNKERS[config.chunker](document, config, tokens, sentences)
    return ((start, end, tokens.between(start, end)) for start, end in _trimmed(document.text, ranges))


def cut_out(document: Document, start: int, end: int, tokens: int) -> Chunk:
    """Return the chunk of `document` between two characters, with its number of tokens."""
    identity, page = Chunk.make_id(document.id, start, end), page_at(document, start)
    return Chunk(identity, document.id, start, end, document.text[start:end], tokens, page)


def check(config: IndexConfig) -> None:
    """Raise UsageError for a chunking configuration that cannot be used.

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
    """Return the ranges that neighbouring chunks of one document share, in order; empty without overlap."""
    return [(right.start, left.end) for left, right in pairwise(chunks) if right.start < left.end]


def longer_than(chunks: Sequence[Chunk], limit: int) -> list[Chunk]:
    """Return the chunks of more than `limit` tokens; with `tokenizer.text_tokens_of`, those that are truncated."""
    return [chunk for chunk in chunks if chunk.tokens > limit]


class _Tokens:
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


def _by_tokens(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into ranges of as many whole words as fit into `chunk_size` tokens."""
    whole = _refined([0, len(document.text)], tokens, config.chunk_size)
    return _packed(whole, tokens, config.chunk_size, config.overlap)


def _by_sentences(
    document: Document, config: IndexConfig, tokens: _Tokens, sentences: Sentences | None
) -> Iterator[Range]:
    """Cut into ranges of as many whole sentences as fit; longer ones by words. The overlap is whole sentences too."""
    if sentences is None:
        raise UsageError("The chunker 'sentences' needs a function that finds sentences: pass it to split().")
    ends = _sentence_cuts(sentences(document.text, document.language), len(document.text))
    return _packed(_refined(ends, tokens, config.chunk_size), tokens, config.chunk_size, config.overlap)


def _sentence_cuts(sentences: Iterable[Range], length: int) -> Iterator[int]:
    """Yield a cut after every sentence but the last: the characters between two sentences go with the second."""
    yield 0
    for (_, end), _ in pairwise(sentences):
        yield end
    yield length


def _recursive(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into the largest parts of the document's structure that fit: sections, paragraphs, sentences, words."""
    latest_start = latest_end = 0
    for start, end in _structured(document, config, tokens):
        if end <= latest_end:
            continue
        # The sum over words can be less than the text's tokens: then pieces and overlaps are too long.
        if start < latest_start or tokens.between(start, latest_end) > config.overlap:
            start = latest_end
        cuts = _refined([start, end], tokens, config.chunk_size)
        for latest_start, latest_end in _packed(cuts, tokens, config.chunk_size, 0):
            yield latest_start, latest_end


def _structured(document: Document, config: IndexConfig, tokens: _Tokens) -> Iterator[Range]:
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
    fences = [] if anywhere else _fenced(part)
    for number in range(latest, len(pieces) // 2, -1):
        if anywhere or _begins_block(part, pieces[number][0] - start, fences):
            return number
    return 1 if anywhere and latest > 0 else None


_UNBROKEN = r"[^\s!-/:-@\[-^`{-~\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]{%d}"
_OPENING = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|<(?P<html>\?|!--|!\[CDATA\[|![a-z]|(?:script|pre|style|textarea)\b))",
    re.MULTILINE | re.IGNORECASE,
)
_HTML_END = {"?": "?>", "!--": "-->", "![cdata[": "]]>", "script": "</script>", "pre": "</pre>", "style": "</style>"}
_HTML_END |= {"textarea": "</textarea>"}
_BLOCK = re.compile(r"\s*?^(?:#{1,6} |[^\W\d_])", re.MULTILINE)


def _fenced(text: str) -> list[Range]:
    """Return the ranges of fenced code and of verbatim HTML; one that is never closed goes on to the end."""
    fences, place = [], 0
    while opening := _OPENING.search(text, place):
        fence, tag = opening["fence"], (opening["html"] or "").lower()
        end = rf"^ {{0,3}}{fence}+[ \t]*$" if fence else re.escape(_HTML_END.get(tag, ">"))
        closing = re.compile(end, re.MULTILINE | re.IGNORECASE).search(text, opening.end())
        place = closing.end() if closing else len(text)
        fences.append((opening.start(), place))
    return fences


def _begins_block(text: str, at: int, fences: Sequence[Range]) -> bool:
    """Return whether a heading or paragraph begins at the character `at`, or after blanks there, outside of fences."""
    match = _BLOCK.match(text, at)
    if match is None:
        return False
    index = bisect_right(fences, (at, len(text))) - 1
    return text[: match.end()].rstrip(" #")[:-1].endswith("\n\n") and not (index >= 0 and at < fences[index][1])


CHUNKERS: dict[Chunker, Callable[[Document, IndexConfig, _Tokens, Sentences | None], Iterator[Range]]] = {
    "tokens": _by_tokens,
    "recursive": _recursive,
    "sentences": _by_sentences,
}
"""Chunker by name: it yields ranges of the document, not yet trimmed, in order, that together hold every character."""


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


def _packed(cuts: Iterable[int], tokens: _Tokens, size: int, overlap: int) -> Iterator[Range]:
    """Join as many neighbouring pieces as fit into `size` tokens; the next range begins `overlap` tokens earlier."""
    source = iter(cuts)
    # The cuts from the start of a range to the first that is too far, or the next; and the tokens before each.
    near, before = array("q"), array("q")
    while True:
        while len(near) < 3 or before[-1] <= before[0] + size:
            if (cut := next(source, None)) is None:
                break
            near.append(cut)
            before.append(tokens.before(cut))
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


def _refined(cuts: Iterable[int], tokens: _Tokens, size: int) -> Iterator[int]:
    """Cut pieces of more than `size` tokens at words, where needed at graphemes, where needed at tokens."""
    for may_cut in (_between_words, _between_graphemes, _between_tokens):
        cuts = _finer(cuts, tokens, size, may_cut)
    return iter(cuts)


def _finer(cuts: Iterable[int], tokens: _Tokens, size: int, may_cut: Callable[[str, int], bool]) -> Iterator[int]:
    """Cut pieces of more than `size` tokens at every token where `may_cut` allows it."""
    latest: int | None = None
    for right in cuts:
        if latest is not None and tokens.exceed(latest, right, size):
            for at in tokens.begins(latest, right):
                if latest < at and may_cut(tokens.text, at):
                    yield at
                    latest = at
        yield right
        latest = right


_IDEOGRAPHIC = re.compile(
    "[\u2e80-\u303f\u3220-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # characters, punctuation
    "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # full-width punctuation
)

# Pieces of a word of more than a thousand characters: up to punctuation after letters, else any sign or ideograph.
_LONG = re.compile(
    rf"\S{{1,1000}}(?!\S)|\S{{0,999}}[^\W_](?=[^\w\s])|\S{{0,999}}(?:[\W_]|{_IDEOGRAPHIC.pattern})|\S{{1,4000}}"
)


def _between_words(text: str, at: int) -> bool:
    """Return whether a cut before the character `at` leaves every word whole; each ideograph is a word."""
    left, right = text[at - 1], text[at]
    free = left.isspace() or right.isspace() or _IDEOGRAPHIC.match(left) or _IDEOGRAPHIC.match(right)
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


def _between_tokens(text: str, at: int) -> bool:
    """Allow every cut: the caller tries the beginnings of tokens only."""
    return 0 < at < len(text)


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
