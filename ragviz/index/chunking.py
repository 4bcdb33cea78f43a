"""A document cut into chunks with exact offsets: by tokens, along its structure, or by whole sentences.

However it is cut: `document.text[start:end] == chunk.text`; every non-blank character is in some chunk; chunks are in
document order, none blank, none inside another; none has more than `chunk_size` tokens, and neighbours share at most
`overlap`. A cut falls inside a word, or inside what a reader sees as one character, only where that alone is longer
than `chunk_size`; a character that the tokenizer makes several tokens of is never cut.

A document is read window by window and cut as it is read, so that what is held beside its text does not grow with it.
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
"""(text, language) -> offsets of the sentences, in order: `segmentation.each_sentence`."""

WINDOW = 2**16
"""Characters that are tokenized together: a tokenizer holds a hundred bytes and more for each."""
CONTEXT = 512
"""Characters before and after a window that are tokenized with it, so that its first and last tokens are those that the
whole text has there: all tokenizers that cut text at blanks or signs, or decide within this distance, make the same."""
PART = 2**18
"""Characters in which structure is looked for together, four times as many where there is no good place to go on at."""
RUN = 4000
"""Characters without a blank or a sign that are looked at together."""


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
    return [cut_out(document, *cut) for cut in cuts(document, config, tokenizer, sentences)]


def cuts(
    document: Document, config: IndexConfig, tokenizer: Tokenizer, sentences: Sentences | None = None
) -> Iterator[tuple[int, int, int]]:
    """Give start, end and tokens of every chunk that `split` makes, one after the other.

    Raises:
        UsageError: as `split`.

    """
    check(config)
    tokens = _Tokens(document.text, tokenizer)
    ranges = CHUNKERS[config.chunker](document, config, tokens, sentences)
    return ((start, end, tokens.between(start, end)) for start, end in _trimmed(document.text, ranges))


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
    """Chunks of more than `limit` tokens; with `tokenizer.text_tokens_of` these are not read to their end."""
    return [chunk for chunk in chunks if chunk.tokens > limit]


class _Tokens:
    """The tokens of a text, tokenized window by window as far as it is asked for; a few windows are held.

    A token counts where it ends, or where one before it does if that is later: so ends never fall.
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
            self._go_on()
        number = min(bisect_right(self._bounds, at), len(self._totals) - 1) - 1
        return self._totals[number] + bisect_right(self._window(number)[1], at)

    def between(self, start: int, end: int) -> int:
        """Count the tokens that end inside [start, end)."""
        return self.before(end) - self.before(start)

    def exceed(self, start: int, end: int, size: int) -> bool:
        """Tell whether more than `size` tokens end inside [start, end), and tokenize no further than it takes."""
        most = self.before(start) + size
        while self._bounds[-1] < end and self._totals[-1] <= most:
            self._go_on()
        return self._totals[-1] > most if self._bounds[-1] < end else self.before(end) > most

    def begins(self, start: int, end: int) -> Iterator[int]:
        """Where tokens begin that end inside [start, end), but for the first and those that another reaches into."""
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
                self._go_on()

    def _go_on(self) -> None:
        """Find where the next window ends, and count its tokens."""
        number = len(self._bounds) - 1
        self._bounds.append(_resting_place(self.text, self._bounds[-1]))
        self._totals.append(self._totals[-1] + len(self._window(number)[1]))

    def _tokenized(self, number: int) -> tuple[array[int], array[int]]:
        """Starts and ends of the tokens of a window."""
        start, end = self._bounds[number : number + 2]
        origin = max(0, start - CONTEXT)
        spans = self.tokenizer.offsets(self.text[origin : end + CONTEXT])
        ends = list(accumulate((right for _, right in spans), max))
        first = bisect_right(ends, start - origin) if number else 0
        final = bisect_right(ends, end - origin)
        starts = array("i", (origin + left for left, _ in spans[first:final]))
        return starts, array("i", (origin + right for right in ends[first:final]))


def _resting_place(text: str, start: int) -> int:
    """Where a window that begins at `start` ends: best after a word before a blank, else before a sign."""
    end = start + WINDOW
    if end >= len(text):
        return len(text)
    sign = 0
    for at in range(end, start + WINDOW // 2, -1):
        if text[at - 1].isalnum():
            if text[at].isspace():
                return at
            sign = sign or at * (unicodedata.category(text[at])[0] in "PS")
    return sign or end


def _by_tokens(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Windows of as many whole words as fit into `chunk_size` tokens."""
    whole = _refined([0, len(document.text)], tokens, config.chunk_size)
    return _packed(whole, tokens, config.chunk_size, config.overlap)


def _by_sentences(
    document: Document, config: IndexConfig, tokens: _Tokens, sentences: Sentences | None
) -> Iterator[Range]:
    """As many whole sentences as fit; a longer one is cut by words. The overlap is whole sentences too."""
    if sentences is None:
        raise UsageError("The chunker 'sentences' needs a function that finds sentences: hand it to split().")
    ends = _ends(sentences(document.text, document.language), len(document.text))
    return _packed(_refined(ends, tokens, config.chunk_size), tokens, config.chunk_size, config.overlap)


def _ends(sentences: Iterable[Range], length: int) -> Iterator[int]:
    """Cuts after every sentence but the last: what stands between two sentences goes with the second."""
    yield 0
    for (_, end), _ in pairwise(sentences):
        yield end
    yield length


def _recursive(document: Document, config: IndexConfig, tokens: _Tokens, _: Sentences | None) -> Iterator[Range]:
    """Largest pieces of the document's structure that fit: sections, paragraphs, sentences, words."""
    begun = reached = 0
    for start, end in _structured(document, config, tokens):
        if end <= reached:
            continue
        # Words counted one by one can come to less than the text: then pieces are too long, and overlaps.
        if start < begun or tokens.between(start, reached) > config.overlap:
            start = reached
        for begun, reached in _packed(_refined([start, end], tokens, config.chunk_size), tokens, config.chunk_size, 0):
            yield begun, reached


def _structured(document: Document, config: IndexConfig, tokens: _Tokens) -> Iterator[Range]:
    """Pieces as the splitter makes them, part by part of a long document.

    A part is cut again from the start of one of its last pieces: a piece depends on nothing before its start, but for
    the Markdown around it. So a part of Markdown begins with a block of its own wherever four times `PART` hold one; in
    a list, table or code without an end, the first pieces of a part may be others than in the whole.
    """
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    markdown = _is_markdown(document)
    counts = _Counts(tokens.tokenizer, config.chunk_size)
    # Untrimmed pieces hold every character; blanks have no tokens, and are taken off afterwards.
    splitter: Any = (MarkdownSplitter if markdown else TextSplitter).from_callback(
        counts.of, config.chunk_size, config.overlap, trim=False
    )
    text, start, length = document.text, 0, PART
    while True:
        end = start + length
        # To cut within what has no blank or sign takes the square of its length.
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
    """Which piece the next part may begin with, the later the better; None when none may.

    Not the last two, which may end where they do because the part does.
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
    """Ranges of fenced code and of what HTML keeps as it is; one that is never closed goes on to the end."""
    fences, place = [], 0
    while opening := _OPENING.search(text, place):
        fence, tag = opening["fence"], (opening["html"] or "").lower()
        end = rf"^ {{0,3}}{fence}+[ \t]*$" if fence else re.escape(_HTML_END.get(tag, ">"))
        closing = re.compile(end, re.MULTILINE | re.IGNORECASE).search(text, opening.end())
        place = closing.end() if closing else len(text)
        fences.append((opening.start(), place))
    return fences


def _begins_block(text: str, at: int, fences: Sequence[Range]) -> bool:
    """Tell whether a heading or paragraph begins at the character `at`, or after blanks there, in no other block."""
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
"""Cutters by name: ranges of the document, not yet trimmed, in order, together holding every character."""


def _is_markdown(document: Document) -> bool:
    """Tell whether the text is Markdown: its own, or what parsers made of a format with structure."""
    kind = document.media_type
    return not kind.startswith("text/") or kind in ("text/markdown", "text/x-markdown", "text/html")


class _Counts(dict[str, int]):
    """Tokens of a text as the sum over its words, each tokenized once; counted no further than to more than `limit`.

    The splitter measures every text many times over: this is ten times faster than tokenizing it each time, and the
    same number for tokenizers that see no blanks.
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
    """Join neighbouring pieces, as many as have `size` tokens together; begin the next `overlap` tokens earlier."""
    source = iter(cuts)
    # The cuts from where a range begins to the first that is too far, or the next; and the tokens before each.
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
        # Not so early that the next range would end where this one does.
        shared = min(overlap, size - (before[last + 1] - before[last]))
        first = bisect_left(before, before[last] - shared, 1, last) if shared > 0 else last
        del near[:first], before[:first]


def _refined(cuts: Iterable[int], tokens: _Tokens, size: int) -> Iterator[int]:
    """Cut pieces of more than `size` tokens at words, if need be at graphemes, if need be at characters."""
    for may_cut in (_between_words, _between_graphemes, _between_tokens):
        cuts = _finer(cuts, tokens, size, may_cut)
    return iter(cuts)


def _finer(cuts: Iterable[int], tokens: _Tokens, size: int, may_cut: Callable[[str, int], bool]) -> Iterator[int]:
    """Cut pieces of more than `size` tokens wherever tokens let `may_cut`."""
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

# Pieces of a word of more than a thousand characters: up to a sign after letters, else any sign or ideograph.
_LONG = re.compile(
    rf"\S{{1,1000}}(?!\S)|\S{{0,999}}[^\W_](?=[^\w\s])|\S{{0,999}}(?:[\W_]|{_IDEOGRAPHIC.pattern})|\S{{1,4000}}"
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
