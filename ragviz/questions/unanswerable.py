"""Unanswerable questions: the entity, the attribute or the year of a true one is swapped for another of its kind.

Each is checked by exact search: the documents must not say anything of the kind of what stands in the question now.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ragviz.questions import comparisons, dated_claims
from ragviz.questions.entities import Claims, bare, kind, normal
from ragviz.questions.exact_search import ExactSearch
from ragviz.questions.joined_draft import JoinedDraft
from ragviz.questions.noun_phrases import NounPhrase, noun_phrases
from ragviz.questions.source_claim import SourceClaim
from ragviz.records import digest
from ragviz.text.stems import content_words

T = TypeVar("T")

TRIED = 4
"""Replacements of one claim's entity, attribute or year that are checked at most."""

_YEAR = re.compile(r"(?<![\d.,-])(?:1[5-9]|20)\d{2}(?![\d.,-]\d|\d)")
_NAMED_KINDS = {"PERSON": "a person", "GPE": "a place"}
_SUPERLATIVE = re.compile(
    r"\b(?:first|last|latest|newest|current|currently|most|least|only|best)\b|最|首|唯一|目前|当前"
)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject as a whole noun phrase of its claim's question, and what kind of thing it is."""

    claim: SourceClaim
    phrase: NounPhrase
    kind: str


def unanswerables(corpus: Claims, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield questions that no document answers, each made of a true one; a claim gives one of each swap at most."""
    subjects = list(_subjects(corpus))
    yield from _swapped_entities(corpus, subjects, seed)
    yield from _swapped_attributes(corpus, subjects, seed)
    yield from _swapped_years(corpus, subjects, seed)


def absent(search: ExactSearch, name: str, words: Sequence[str]) -> bool:
    """Return whether no document says these words of what is called `name`: fewer than half stand near any mention.

    Of one or two words none may. A name that is mentioned everywhere is refused, as is an empty list of words.
    """
    found = search.near(name, words) if words else None
    return found is not None and (found == 0 or (len(words) > 2 and 2 * found < len(words)))


def _subjects(corpus: Claims) -> Iterator[_Subject]:
    by_language: dict[str, list[SourceClaim]] = defaultdict(list)
    for claim in corpus.all:
        if claim.subject and not _SUPERLATIVE.search(claim.question):
            by_language[claim.language].append(claim)
    for language, claims in by_language.items():
        found = noun_phrases([(claim.question, claim.subject) for claim in claims], language)
        for claim, phrase in zip(claims, found, strict=True):
            if phrase is not None:
                yield _Subject(claim, phrase, _kind(claim, phrase))


def _kind(claim: SourceClaim, phrase: NounPhrase) -> str:
    """Return the kind of a subject by its form, a person or a place by the parser; "" where neither shows it."""
    named = _NAMED_KINDS.get(phrase.label, "")
    if named:
        return named
    form = kind(claim.subject, claim.language)
    number = "many" if phrase.plural else "one"
    case = "name" if bare(claim.subject)[:1].isupper() else "noun"
    return f"{form} {number} {case}" if form else ""


# The entity


def _swapped_entities(corpus: Claims, subjects: Sequence[_Subject], seed: int) -> Iterator[JoinedDraft]:
    names: dict[tuple[str, str], dict[str, _Subject]] = defaultdict(dict)
    for subject in subjects:
        if subject.kind:
            names[subject.claim.language, subject.kind].setdefault(normal(subject.claim.subject), subject)
    ordered = {key: sorted(group.items(), key=lambda item: _order(seed, item[0])) for key, group in names.items()}
    for subject in subjects:
        group = ordered.get((subject.claim.language, subject.kind), [])
        for other in _some(group, subject.claim, seed):
            if draft := _with_entity(corpus, subject, other):
                yield draft
                break


def _with_entity(corpus: Claims, subject: _Subject, other: _Subject) -> JoinedDraft | None:
    """Return the question of `subject` about the other thing; None where a document may say it."""
    claim, new = subject.claim, bare(other.claim.subject)
    old = bare(claim.subject)
    one, two = set(normal(old).split()), set(normal(new).split())
    if one <= two or two <= one or _stands_in(new, claim.question):
        return None
    telling = _telling(claim, [old, new])
    if not telling or not absent(corpus.search, new, telling):
        return None
    if claim.attribute and not absent(corpus.search, new, [claim.attribute]):
        return None
    if corpus.search.near(new, [claim.answer]) != 0:
        return None
    written = comparisons.subject(other.claim)
    ending = "’s" if subject.phrase.possessive and claim.language != "zh" else ""
    question = subject.phrase.replaced(written + ending)
    return _draft(claim, question, (comparisons.subject(claim), written))


def _telling(claim: SourceClaim, names: Sequence[str]) -> list[str]:
    """Return the words of a question that say what is asked, without those of these names."""
    own = {word for name in names for word in content_words(name, claim.language)}
    return [word for word in content_words(claim.question, claim.language) if word not in own]


# The attribute


def _swapped_attributes(corpus: Claims, subjects: Sequence[_Subject], seed: int) -> Iterator[JoinedDraft]:
    attributes: dict[tuple[str, ...], dict[str, SourceClaim]] = defaultdict(dict)
    fitting = [subject for subject in subjects if _asks_for_attribute(subject.claim)]
    for subject in fitting:
        key = _attribute_kind(subject)
        attributes[key].setdefault(normal(subject.claim.attribute), subject.claim)
    ordered = {key: sorted(group.items(), key=lambda item: _order(seed, item[0])) for key, group in attributes.items()}
    for subject in fitting:
        claim = subject.claim
        for other in _some(ordered[_attribute_kind(subject)], claim, seed):
            new = bare(other.attribute)
            words = content_words(new, claim.language)
            shared = set(words) & set(content_words(claim.attribute, claim.language))
            if shared or _stands_in(new, claim.question) or not absent(corpus.search, bare(claim.subject), words):
                continue
            if any(corpus.search.near(bare(claim.subject), [word]) != 0 for word in words[-1:]):
                continue
            yield _draft(claim, _replaced(claim.question, bare(claim.attribute), new), (bare(claim.attribute), new))
            break


def _asks_for_attribute(claim: SourceClaim) -> bool:
    text = bare(claim.attribute)
    return bool(text) and len(re.findall(re.escape(text), claim.question, re.IGNORECASE)) == 1


def _attribute_kind(subject: _Subject) -> tuple[str, ...]:
    """Return what attributes must share to be swapped: the kind of their subject, and the question around them."""
    claim = subject.claim
    name, attribute = bare(claim.subject), bare(claim.attribute)
    around = _replaced(_replaced(claim.question, name, "_"), attribute, "…")
    return claim.language, subject.kind or claim.section, around


# The year


def _swapped_years(corpus: Claims, subjects: Sequence[_Subject], seed: int) -> Iterator[JoinedDraft]:
    counted = {year for claim in corpus.all for year in _YEAR.findall(f"{claim.question} {claim.statement}")}
    years = sorted(counted, key=lambda year: _order(seed, year))
    for subject in subjects:
        claim = subject.claim
        own = _YEAR.findall(claim.question)
        if len(own) != 1 or not _is_of_the_question(claim):
            continue
        for year in _by_distance(years, own[0])[:TRIED]:
            if year != own[0] and absent(corpus.search, bare(claim.subject), [year]):
                yield _draft(claim, claim.question.replace(own[0], year), (own[0], year))
                break


def _is_of_the_question(claim: SourceClaim) -> bool:
    """Return whether a date opens or closes the question: elsewhere it may belong to an aside."""
    found = dated_claims.dated(claim.question, claim.language)
    text = claim.question
    return len(found) == 1 and (found[0].start == 0 or not text[found[0].end :].strip(" ?？,，"))


def _by_distance(years: Sequence[str], own: str) -> list[str]:
    """Return the years of the corpus, those nearest to one first: a year of another age would be noticed."""
    return sorted((year for year in years if year != own), key=lambda year: abs(int(year) - int(own)))


# All


def _draft(claim: SourceClaim, question: str, swapped: tuple[str, str]) -> JoinedDraft:
    question = question[:1].upper() + question[1:]
    return JoinedDraft(
        "unanswerable", claim, (), question, "", (), claim.language, swapped[1], swapped=swapped, score=claim.score
    )


def _some(group: Sequence[tuple[str, T]], claim: SourceClaim, seed: int) -> Iterator[T]:
    """Yield a few members of an ordered group, from a place on that the claim decides."""
    start = int(_order(seed, claim.question, claim.document_id)[:8], 16) % max(len(group), 1)
    for step in range(min(TRIED, len(group))):
        yield group[(start + step) % len(group)][1]


def _order(seed: int, *texts: str) -> str:
    return digest("swap", str(seed), *texts)


def _stands_in(name: str, text: str) -> bool:
    return f" {normal(name)} " in f" {normal(text)} "


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(re.escape(old), lambda _: new, text, count=1, flags=re.IGNORECASE)
