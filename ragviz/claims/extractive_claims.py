"""Claims of a document that questions can be made of, without a model: the claim first, then its question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ragviz.claims.sections import Section, section_at, sections
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import Statement
from ragviz.core.document import Document
from ragviz.text.language import IDEOGRAPH

CHARACTERS_BEFORE = 400
"""A quote that stands in its document more than once is widened to its heading, at most so far."""

_TOKEN = re.compile(rf"[{IDEOGRAPH}]|[^\W{IDEOGRAPH}]+")
_KEY = 4
"""Words that places of a quote are looked up by."""
_TRIED = 100
"""Places that begin like a quote and are compared with it; where there are more, the quote counts as repeated."""


def claims_of(document: Document) -> list[SourceClaim]:
    """Return the claims of a document in order, each with one question; the quote of each stands in it once only.

    "zh": templates over structure and parts of speech; every other language: English, by structure and parse tree, so
    that another language yields hardly any. A quote that is repeated is widened to begin at the heading above it; where
    that is too far or does not help, the claim is left out. Of claims with the same question but another answer all are
    left out, of those with the same answer all but the best; those with a doubt are `doubtful_of`. Time is linear in
    the length of the text; the claims of the documents read last are kept.
    """
    return list(_claims(document)[0])


def statements_of(document: Document) -> list[Statement]:
    """Return what the sentences of a document that is not Chinese say something about, in order.

    They are read together with its claims: of a document whose claims were read last, this costs nothing.
    """
    return list(_claims(document)[1])


def doubtful_of(document: Document) -> list[SourceClaim]:
    """Return the claims of a document with a doubt, in order: those whose question may not be a good one."""
    return list(_claims(document)[3])


def variants_of(document: Document) -> list[SourceClaim]:
    """Return the claims of a document that are left out because others answer their question in another way, in order.

    Under the headings of a change log they say what held when.
    """
    return list(_claims(document)[2])


@lru_cache(maxsize=256)
def _claims(
    document: Document,
) -> tuple[tuple[SourceClaim, ...], tuple[Statement, ...], tuple[SourceClaim, ...], tuple[SourceClaim, ...]]:
    statements: Iterable[Statement] = ()
    if document.language == "zh":
        from ragviz.claims import chinese_claims

        made: Iterable[SourceClaim] = chinese_claims.claims(document)
    else:
        from ragviz.claims import english_claims

        made = list(english_claims.claims(document))
        statements = english_claims.statements(document)
    parts = sections(document)
    clear, variants = _unambiguous(made)
    placed = _ordered(document, parts, clear)
    certain = tuple(claim for claim in placed if not claim.doubt)
    doubtful = tuple(claim for claim in placed if claim.doubt)
    return certain, tuple(statements), _ordered(document, parts, variants), doubtful


def _ordered(document: Document, parts: Sequence[Section], claims: Iterable[SourceClaim]) -> tuple[SourceClaim, ...]:
    placed = _placed(document, parts, claims)
    return tuple(sorted(placed, key=lambda claim: (claim.start, claim.end, claim.question)))


def _unambiguous(claims: Iterable[SourceClaim]) -> tuple[list[SourceClaim], list[SourceClaim]]:
    """Return the best claim of each question that has one answer, and all claims of the other questions."""
    clear, variants = list[SourceClaim](), list[SourceClaim]()
    by_question: dict[str, list[SourceClaim]] = {}
    for claim in claims:
        by_question.setdefault(" ".join(_TOKEN.findall(claim.question.casefold())), []).append(claim)
    for same in by_question.values():
        if len({claim.answer.casefold() for claim in same}) == 1:
            clear.append(max(same, key=lambda claim: (not claim.doubt, claim.score)))
        else:
            variants += same
    return clear, variants


def _placed(document: Document, parts: Sequence[Section], claims: Iterable[SourceClaim]) -> Iterator[SourceClaim]:
    """Yield the claims whose quote stands in the document once, as it is or with what is above it."""
    text, words = document.text, Occurrences(document.text)
    for claim in claims:
        start, end = claim.start, claim.end
        if words.is_repeated(start, end):
            start = section_at(parts, start).start
            if claim.start - start > CHARACTERS_BEFORE or words.is_repeated(start, end):
                continue
        path = claim.section or section_at(parts, claim.start).path
        yield replace(claim, start=start, quote=text[start:end], section=path)


class Occurrences:
    """Where pieces of a text stand in it: an index by words, made in one pass."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: dict[tuple[str, ...], list[int]] = {}
        tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
        for number, (_, start) in enumerate(tokens):
            key = tuple(token for token, _ in tokens[number : number + _KEY])
            self._starts.setdefault(key, []).append(start)

    def is_repeated(self, start: int, end: int) -> bool:
        """Return whether `text[start:end]` stands in the text again; so does what begins like a hundred others.

        The first and the last word may be parts of longer ones elsewhere, so those between are looked up.
        """
        text, quote = self._text, self._text[start:end]
        found = _TOKEN.finditer(quote)
        others = [match for _, match in zip(range(_KEY + 2), found, strict=False)][1:]
        if len(others) <= _KEY:
            return text.find(quote) != start or text.find(quote, start + 1) >= 0
        key = tuple(match.group() for match in others[:_KEY])
        places = self._starts.get(key, [])
        if len(places) > _TRIED:
            return True
        before = others[0].start()
        return any(place - before != start and text.startswith(quote, place - before) for place in places)
