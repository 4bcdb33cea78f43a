"""What an English question is about beyond its sentence: its section and document, in words that it can begin with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragviz.claims import candidate
from ragviz.claims.sections import SEPARATOR, Section, name_of, title_of
from ragviz.core.document import Document, Word
from ragviz.text.words import parse

_LONGEST = 14
"""Words of a title in a question at most."""

# What parts of any document are called: they say nothing about its subject.
_PARTS = candidate.word_set(
    "introduction overview summary background contents content conclusion notes note example examples appendix about"
    " general details detail more faq faqs questions references reference resources links see also start home readme"
    " index welcome basics description purpose scope other miscellaneous further reading additional information table"
    " getting started next steps step related tl;dr tldr abstract preface glossary definitions prerequisites usage"
)
_POINTING = re.compile(
    r"\b(?:this|that|these|those|it|its|here|there|we|our|us|i|me|my|they|their|them|he|she)\b", re.IGNORECASE
)
_SITE = re.compile(r"\s+(?:[|·»]|[-–—])\s+.*$|:\s.*$")
_NUMBERING = re.compile(
    r"^(?:(?:part|chapter|section|article|appendix|annex)\s+)?"
    r"(?:\d{1,2}(?:\.\d{1,2})+|\d{1,2}(?=[.:)])|[IVX]+(?=[.:)])|[A-Z](?=[.:)]))[.:)]?\s+(?=\D)",
    re.IGNORECASE,
)
_VERBS = frozenset({"VB", "VBZ", "VBD", "VBP", "MD", "TO"})
_FUNCTION = frozenset({"IN", "DT", "CC", "TO"})
_NO_BEGINNING = frozenset({"WRB", "WP", "IN", "RB", "CC", "VBN", "VBG", "UH"})


@dataclass(frozen=True, slots=True)
class Title:
    """A title as it can stand in a question: `phrase` in a sentence, unquoted where it is a plural noun phrase.

    `words` are its content words by lemma, `is_plural` and `is_noun_phrase` what its parse says; `text` is the title.
    """

    text: str
    phrase: str
    words: frozenset[str]
    is_noun_phrase: bool
    is_plural: bool


@dataclass(frozen=True, slots=True)
class Topic:
    """The title of a document and of the nearest section that says what it is about; None where none does."""

    document: Title | None
    section: Title | None
    is_titled: bool = True
    """Whether the document or section has a title of its own, not the name of its file."""

    @property
    def words(self) -> frozenset[str]:
        """The content words of both titles, by lemma."""
        return frozenset().union(*(title.words for title in (self.section, self.document) if title))

    def missing(self, known: Iterable[str]) -> str:
        """Return what tells a question with these lemmas where it belongs, "" when it holds the titles' words."""
        have = set(known)
        section, document = self.section, self.document
        if section and section.words <= have:
            section = None
        if document and document.words <= have | (section.words if section else set()):
            document = None
        if section and document:
            return f"{section.phrase} in “{document.text}”"
        return section.phrase if section else f"“{document.text}”" if document else ""

    def led(self, question: str, known: Iterable[str]) -> str:
        """Return the question, begun in lower case, led by what it lacks: "Regarding fares in “Travel”, how …?"."""
        missing = self.missing(known)
        if not missing:
            return question[:1].upper() + question[1:]
        lead = "In" if missing[0] == "“" and " in “" not in missing else "Regarding"
        return f"{lead} {missing}, {question}"


def topics(document: Document, parts: Sequence[Section]) -> Mapping[str, Topic]:
    """Return the topic of every path of headings of a document.

    A section whose title other sections have too is named within the next one above it that is no such section.
    """
    paths = list(dict.fromkeys(part.path for part in parts))
    own = title_of(document)
    named = shortened(own) if own else shortened(name_of(document))
    texts = list(dict.fromkeys([named, *(shortened(title) for path in paths for title in path.split(SEPARATOR))]))
    read = {text: title(text, words) for text, words in zip(texts, parse(texts, "en"), strict=True) if text}
    whole = read.get(named)
    counts = Counter(shortened(part.title) for part in parts)
    found = {}
    for path in paths:
        nearest = [read.get(shortened(title)) for title in reversed(path.split(SEPARATOR))]
        above = [title for title in nearest if title and title.words]
        section = next(iter(above), None)
        if section and counts[section.text] > 1:
            outer = next((title for title in above if counts[title.text] < 2 and title != whole), None)
            section = _within(section, outer) if outer else section
        own_section = section if section != whole else None
        found[path] = Topic(whole if whole and whole.words else None, own_section, bool(own or own_section))
    return found


def _within(title: Title, outer: Title) -> Title:
    """Return a title that is told from others with the same words by the one above it."""
    return replace(title, phrase=f"{title.phrase} within “{outer.text}”", words=title.words | outer.words)


def shortened(title: str) -> str:
    """Return a title without its number, "" when it is too long; of a long one, the part before a colon or dash."""
    short = _NUMBERING.sub("", title).strip()
    if len(short.split()) > _LONGEST:
        short = _SITE.sub("", short)
    short = re.sub(r"[“”\"]", "", short).strip(" .:#*_-–—`$")
    is_usable = 0 < len(short.split()) <= _LONGEST and re.search(r"[^\W\d_]{2}", short)
    return short if is_usable else ""


def title(text: str, words: Sequence[Word]) -> Title:
    """Return a title, which `shortened` has made usable, by its parse."""
    content = frozenset(
        word.lemma.lower() for word in words if word.tag[:2] in ("NN", "VB", "JJ", "CD", "FW") or len(word.text) > 6
    )
    if all(word.text.lower() in _PARTS or not word.text[0].isalnum() or word.tag in _FUNCTION for word in words):
        content = frozenset()
    noun = _is_noun_phrase(words) and "?" not in text and not _POINTING.search(text)
    is_plural = noun and words[_head(words)].tag == "NNS"
    phrase = _inside(text, words) if is_plural else f"“{text}”"
    return Title(text, phrase, content, noun, is_plural)


def _head(words: Sequence[Word]) -> int:
    return next(place for place, word in enumerate(words) if word.head == place)


def _is_noun_phrase(words: Sequence[Word]) -> bool:
    """Return whether the words are one noun phrase, which no verb governs."""
    tags = [word.tag for word in words]
    roots = [place for place, word in enumerate(words) if word.head == place]
    if len(roots) != 1 or words[roots[0]].tag[:2] != "NN" or not _VERBS.isdisjoint(tags):
        return False
    return tags[0] not in _NO_BEGINNING and not any(tag in (":", ".", "-LRB-") for tag in tags)


def _inside(text: str, words: Sequence[Word]) -> str:
    """Return a title as inside a sentence: in lower case at its beginning, unless it begins with a name."""
    first = words[0]
    capital = len(words) > 1 and words[1].text[:1].isupper()
    is_name = first.entity or first.tag[:3] == "NNP" or re.search(r".[A-Z0-9_.]", first.text) or capital
    return text if is_name else text[:1].lower() + text[1:]
