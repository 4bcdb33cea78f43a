"""Documents, their corpora and chunks, and spans of them as evidence.

Offsets are characters of `Document.text`, end exclusive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ragviz.core.digests import digest


@dataclass(frozen=True, slots=True)
class Page:
    """One page (or slide, or sheet) of a document: `document.text[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `id` is made of name and text, so other bytes with the same text are the same document.

    `language` is "en", "zh", another ISO 639-1 code or "und"; `pages` is empty when the format has none.
    """

    id: str
    name: str
    text: str
    pages: tuple[Page, ...]
    language: str
    media_type: str
    content_hash: str
    size: int
    warnings: tuple[str, ...] = ()

    @staticmethod
    def make_id(name: str, text: str) -> str:
        """Return the id of this text under this name: 16 hex characters."""
        return digest(name, text)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a parsed sentence: `text` is [start, end) of it; punctuation is a word too.

    `tag` is the part of speech (English: Penn Treebank; Chinese: jieba's). English words also have `lemma`, `entity`
    (spaCy's label, or "") and a place in the dependency tree: `head` is the index of the word they depend on, by `dep`;
    the root is its own head. Chinese words have neither: "" and -1.
    """

    start: int
    end: int
    text: str
    tag: str
    lemma: str = ""
    entity: str = ""
    dep: str = ""
    head: int = -1


@dataclass(frozen=True, slots=True)
class Corpus:
    """A named set of documents; `created` is seconds since 1970, as are all times here."""

    id: str
    name: str
    created: float


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A row of the table of documents: a document without its text. `error` says why it could not be read.

    A "passage" belongs to an imported run, is in no list of documents, and is deleted with its run.
    """

    id: str
    corpus_id: str
    name: str
    status: Literal["ok", "error", "replaced", "passage"]
    pages: int
    characters: int
    language: str
    media_type: str
    content_hash: str
    size: int
    warnings: tuple[str, ...]
    error: str
    added: float


_CHUNK_ID = re.compile(r"(.+)-([0-9]{8,18})-([0-9]{8,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A cut of a document: `document.text[start:end] == chunk.text`, always.

    `tokens` counts the embedder's tokens without its special ones; of an index without an embedder, the packaged
    model's. `page` is the page of `start`, or None.
    """

    id: str
    document_id: str
    start: int
    end: int
    text: str
    tokens: int
    page: int | None = None

    @staticmethod
    def make_id(document_id: str, start: int, end: int) -> str:
        """Return 34 characters, the same for the same cut in every index, which sort in document order.

        >>> Chunk.make_id("0123456789abcdef", 5, 120)
        '0123456789abcdef-00000005-00000120'
        """
        return f"{document_id}-{start:08d}-{end:08d}"

    @staticmethod
    def parse_id(chunk_id: str) -> tuple[str, int, int] | None:
        """Return document id, start and end from a chunk's id; None for an id that `make_id` did not make.

        >>> Chunk.parse_id("0123456789abcdef-00000005-00000120"), Chunk.parse_id("passage 7")
        (('0123456789abcdef', 5, 120), None)
        """
        parts = _CHUNK_ID.fullmatch(chunk_id)
        return (parts[1], int(parts[2]), int(parts[3])) if parts else None


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of evidence: a range of a document, and its text when it was chosen.

    By its `text` the span is found again when the document is replaced; it is `stale` when it was not. `grade` is its
    graded relevance, above 0: the gain of its chunks in nDCG.
    """

    document_id: str
    start: int
    end: int
    text: str = ""
    stale: bool = False
    grade: float = 1.0

    def overlaps(self, place: tuple[str, int, int] | None) -> bool:
        """Return whether the span shares a character with a place: document id, start, end, as `Chunk.parse_id` gives.

        >>> span = Span("d", 5, 9)
        >>> span.overlaps(("d", 8, 20)), span.overlaps(("d", 9, 20)), span.overlaps(("e", 5, 9)), span.overlaps(None)
        (True, False, False, False)
        """
        if place is None:
            return False
        document_id, start, end = place
        return document_id == self.document_id and start < self.end and self.start < end


Evidence = tuple[tuple[Span, ...], ...]
"""Groups of spans: every group is needed, any member of a group suffices."""
