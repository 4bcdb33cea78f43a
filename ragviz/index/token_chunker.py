"""Chunks as windows of tokens: every one about equally long, borders between any two words."""

from __future__ import annotations

from collections.abc import Iterator

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.index import packing
from ragviz.index.chunker import Chunker, Sentences
from ragviz.index.headings import Sections
from ragviz.index.tokens import Range, Tokens


def cut(document: Document, config: IndexConfig, tokens: Tokens, _: Sentences | None) -> Iterator[Range]:
    """Cut into ranges of as many whole words as fit into `chunk_size` tokens; a heading goes with what follows it."""
    levels = Sections(document).levels
    words = packing.refined([0, len(document.text)], tokens, config.chunk_size, levels)
    return packing.packed(words, tokens, config.chunk_size, config.overlap)


CHUNKER = Chunker(
    "Windows of tokens, all about equally long; borders fall between any two words but not after a heading.", cut
)
