"""Documents and corpora. Offsets are characters of `Document.text`, end exclusive."""

from __future__ import annotations

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
