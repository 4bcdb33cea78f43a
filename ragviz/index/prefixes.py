"""What is written before each chunk when it is embedded and indexed for BM25: the title, or the headings above it.

A chunk's own text, place and tokens stay as they are: it is shown, answered from and reranked without the prefix.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragviz.core.document import Chunk, Document
from ragviz.index import headings

if TYPE_CHECKING:
    from ragviz.models.tokenizer import Tokenizer

NONE = "none"
LONGEST = 200
"""Characters of a prefix at most: longer ones are cut at their end."""
BETWEEN = " > "
"""What stands between the title and the headings of a prefix."""

Headed = tuple[str, ...]


def title_of(document: Document) -> str:
    """Return the title of a document: its file's name, without ending, as words.

    >>> title_of(Document("", "hr/parental-leave_2024.md", "", (), "en", "", "", 0))
    'parental leave 2024'
    """
    return re.sub(r"[\W_]+", " ", Path(document.name).stem).strip()


def _headed(document: Document) -> Callable[[int], Headed]:
    """Return what gives the title and the headings that stand above a character, from the outermost to the nearest."""
    title = title_of(document)
    starts: list[int] = []
    paths: list[Headed] = [(title,)]
    open_: list[tuple[int, str]] = []
    for start, level, words in headings.leveled(document):
        above = [(each, text) for each, text in open_ if each < level]
        # A chunk that begins with the heading has the headings above it, one that begins behind has the heading too.
        starts += [start, start + 1]
        open_ = [*above, (level, words)]
        paths += [_without_repeats(title, above), _without_repeats(title, open_)]
    return lambda at: paths[bisect_right(starts, at)]


def _without_repeats(title: str, headed: Iterable[tuple[int, str]]) -> Headed:
    """Return title and headings, without those that say the same as the one before."""
    path = [title]
    for _, text in headed:
        if text and text.casefold() != path[-1].casefold():
            path.append(text)
    return tuple(path)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prefix does in words, and what makes it from a document: a function of where a chunk begins."""

    explanation: str
    make: Callable[[Document], Callable[[int], Headed]] | None


PREFIXES: Mapping[str, Prefix] = {
    NONE: Prefix("Each chunk is embedded and searched as it stands in its document.", None),
    "title": Prefix(
        "The document's title (its file's name, as words) is put before each chunk when it is indexed.",
        lambda document: lambda start: (title_of(document),),
    ),
    "headings": Prefix(
        "The title and the headings above it are put before each chunk when it is indexed; the title alone where a "
        "format marks no headings (a PDF's text).",
        _headed,
    ),
}


def before(document: Document, prefix: str) -> Callable[[int], str]:
    """Return what gives the prefix of a chunk by where it begins in its document; "" without one."""
    make = PREFIXES[prefix].make
    if make is None:
        return lambda _start: ""
    path = make(document)
    return lambda start: _shortened(path(start))


def indexed(document: Document, chunks: Iterable[Chunk], prefix: str) -> Iterator[Chunk]:
    """Yield chunks with the text by which they are embedded and searched: the prefix, an empty line, their own text."""
    if prefix == NONE:
        yield from chunks
        return
    words = before(document, prefix)
    for chunk in chunks:
        above = words(chunk.start)
        yield replace(chunk, text=f"{above}\n\n{chunk.text}") if above else chunk


def tokens_of(document: Document, starts: Sequence[int], prefix: str, tokenizer: Tokenizer) -> list[int]:
    """Return the tokens of the prefixes of chunks that begin at these characters of a document."""
    words = before(document, prefix)
    counted: dict[str, int] = {}
    for text in map(words, starts):
        if text not in counted:
            counted[text] = len(tokenizer.offsets(text))
    return [counted[words(start)] for start in starts]


def _shortened(path: Headed) -> str:
    """Join a path; of one that is too long the nearest heading is kept, and those farthest above it are left out."""
    *above, nearest = path
    while above and len(BETWEEN.join([*above, nearest])) > LONGEST:
        above.pop(1 if len(above) > 1 else 0)
    return BETWEEN.join([*above, nearest])[:LONGEST]
