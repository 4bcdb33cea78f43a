"""Chunks as whole sentences, as many as fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.core.errors import UsageError
from ragviz.index import packing
from ragviz.index.chunker import Chunker, Sentences
from ragviz.index.headings import Sections
from ragviz.index.tokens import Range, Tokens


def cut(document: Document, config: IndexConfig, tokens: Tokens, sentences: Sentences | None) -> Iterator[Range]:
    """Cut into ranges of as many whole sentences as fit; longer ones by words. The overlap is whole sentences too.

    A heading goes with the sentence after it.
    """
    if sentences is None:
        raise UsageError("The chunker 'sentences' needs a function that finds sentences: pass it to split().")
    sections = Sections(document)
    ends = filter(sections.whole.free, _sentence_cuts(sentences(document.text, document.language), len(document.text)))
    pieces = packing.refined(ends, tokens, config.chunk_size, sections.levels)
    return packing.packed(pieces, tokens, config.chunk_size, config.overlap)


def _sentence_cuts(sentences: Iterable[Range], length: int) -> Iterator[int]:
    """Yield a cut after every sentence but the last: the characters between two sentences go with the second."""
    yield 0
    for (_, end), _ in pairwise(sentences):
        yield end
    yield length


CHUNKER = Chunker(
    "Whole sentences packed up to the size; a longer sentence is cut, a heading goes with what follows it.", cut
)
