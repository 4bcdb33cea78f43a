"""Unanswerable questions: the entity, the attribute or the year of a true one is swapped for another of its kind.

Each is checked by exact search: the documents must not say anything of the kind of what stands in the question now.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from ragviz.backends.terms import HAN_RUN
from ragviz.claims.chinese_claims import is_proper
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import dated_claims
from ragviz.generation.entities import Claims, bare, holds, is_entity, kind, normal
from ragviz.generation.exact_search import ExactSearch
from ragviz.generation.joined_draft import JoinedDraft, is_direct, lead
from ragviz.generation.noun_phrases import NounPhrase, chinese_label, modified_nouns, noun_phrases
from ragviz.records import digest
from ragviz.text.stems import content_words, singular
from ragviz.text.words import parse

T = TypeVar("T")

TRIED = 24
"""Replacements of one claim's entity, attribute or year that are checked at most."""

SWAPPED = 3
"""Questions at most that are made of one claim by swapping its names, one in each, and by its year."""
EACH = 2
"""Replacements of one name that are used at most."""
NAMES = 4
"""Names of one question that are tried."""

_YEAR = re.compile(r"(?<![\d.,-])(?:1[5-9]|20)\d{2}(?![\d.,-]\d|\d)")
_FRAMES = ("{} wrote this.", "{} is blue.", "Please press {} twice.")
_NAMED_KINDS = {"PERSON": "a person", "GPE": "a place", "ORG": "an organisation"}
_NO_PLAIN_NAME = re.compile(r"\d(?![\w-]*[A-Z])|\b(?:[a-z]{3,}ing|and|or|who|that|which|is|are|to)\b|[/:;,]")
_ADJECTIVE = re.compile(r"[a-z]+(?:al|ive|ous|ful|ic|able|ible|less|ary|ed)\b")
_QUOTES = ("“", '"', "《", "「")
_LOCAL = ("a person", "a place")
"""Kinds of things whose replacement must be named in the same document: else it has nothing to do with it. So must
common nouns where the question begins with its topic."""
_SUPERLATIVE = re.compile(
    r"\b(?:first|last|latest|newest|current|currently|most|least|only|best)\b|最|首|唯一|目前|当前"
)


_ONCE = re.compile(
    "出生|逝世|去世|病逝|病故|牺牲|考入|毕业(?!生)|成立|创办|创建|建成|落成|[动开竣]工|通车|开通|出版|首次"
)
"""What happens once: in another year it did not, which the documents say."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A name as a whole noun phrase of its claim's question, behind the question's lead, and what kinds it is of."""

    claim: SourceClaim
    name: str
    phrase: NounPhrase
    kinds: tuple[str, ...]


def unanswerables(corpus: Claims, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield questions that no document answers, each made of a true one."""
    asked = {normal(claim.question) for claim in corpus.all}
    swapped = (
        _swapped_years(corpus, seed),
        _swapped_attributes(corpus, seed),
        _swapped_entities(corpus, list(_named(corpus)), seed),
    )
    yield from (draft for draft in chain.from_iterable(swapped) if normal(draft.question) not in asked)


def absent(search: ExactSearch, name: str, words: Sequence[str]) -> bool:
    """Return whether no document says these words of what is called `name`: fewer than half stand near any mention.

    Of one or two words none may. A name that is mentioned everywhere is refused, as is an empty list of words.
    """
    found = search.near(name, words) if words else None
    return found is not None and (found == 0 or (len(words) > 2 and 2 * found < len(words)))


def _named(corpus: Claims) -> Iterator[_Named]:
    """Yield the names in the questions that can be swapped: subjects first, then the other names."""
    by_language: dict[str, list[tuple[SourceClaim, str]]] = defaultdict(list)
    usable = [claim for claim in corpus.all if is_direct(claim) and not _SUPERLATIVE.search(claim.question)]
    rests = ["" if claim.language == "zh" else lead(claim.question)[1] for claim in usable]
    for claim, nouns in zip(usable, modified_nouns(rests), strict=True):
        rest = lead(claim.question)[1]
        given = (name for name in (claim.subject, *claim.entities, *nouns) if is_entity(name, claim.language))
        names = [name for name in dict.fromkeys(map(bare, given)) if _stands_in(name, rest)]
        by_language[claim.language] += [(claim, name) for name in names[:NAMES]]
    for language, pairs in by_language.items():
        found = noun_phrases([(claim.question, name) for claim, name in pairs], language)
        whole = [(*pair, phrase) for pair, phrase in zip(pairs, found, strict=True) if phrase is not None]
        labels = _labels({name for _, name, phrase in whole if phrase.label in _NAMED_KINDS}, language)
        for claim, name, phrase in whole:
            if _is_inside_quotes(phrase):
                continue
            yield _Named(claim, name, phrase, tuple(_kinds(name, phrase, labels, language)))


def _is_inside_quotes(phrase: NounPhrase) -> bool:
    """Return whether a phrase is a part of what quotation marks hold: of a row's name, of a title."""
    before = phrase.question[: phrase.start]
    return before.count("“") > before.count("”") or before.count("《") > before.count("》")


def _labels(names: Iterable[str], language: str) -> dict[str, str]:
    """Return "PERSON" or "GPE" by name, where it is known by itself to be one.

    English: in any sentence, whether it fits or not; a person by two names or more, an organisation ("ORG") by its
    abbreviation. Chinese: as `chinese_label` has it.
    """
    ordered = sorted(names)
    if language == "zh":
        return {name: label for name in ordered if (label := chinese_label(name))}
    seen: dict[str, set[str]] = {name: set() for name in ordered}
    for frame in _FRAMES:
        at = frame.index("{")
        for name, words in zip(ordered, parse([frame.format(name) for name in ordered], "en"), strict=True):
            seen[name] |= {word.entity for word in words if at <= word.start < at + len(name)}
    fitting = {"GPE": set(ordered), "PERSON": {name for name in ordered if _is_full_name(name)}}
    fitting["ORG"] = {name for name in ordered if name.isalpha() and name.isupper()}
    alike = {name: labels.pop() for name, labels in seen.items() if len(labels) == 1}
    return {name: label for name, label in alike.items() if name in fitting.get(label, ())}


def _is_full_name(name: str) -> bool:
    return " " in name and name.replace(" ", "").isalpha()


def _kinds(name: str, phrase: NounPhrase, labels: Mapping[str, str], language: str) -> Iterator[str]:
    """Yield the kind of a name, if it shows: by the name itself (of an organisation where it acts), or by its form."""
    named = _NAMED_KINDS.get(labels.get(name, ""), "")
    if phrase.text[:1] in _QUOTES:  # a row of a table, a title
        form = kind(name, language)
        yield from [f"quoted {form}"] if form else []
    elif named and named == _NAMED_KINDS.get(phrase.label):
        yield from [named] if phrase.subject or named in _LOCAL else []
    elif (form := kind(name, language)) and _can_stand_for_another(name) and _is_swapped(name, language):
        yield _form_kind(name, form, plural=phrase.plural)


def _is_swapped(name: str, language: str) -> bool:
    """Return whether a name that no quotation marks hold is one: an English common noun makes no sense elsewhere."""
    return language == "zh" or name[:1].isupper()


def _can_stand_for_another(name: str) -> bool:
    """Return whether a name is a plain noun phrase: no number, no clause, no sign before it."""
    phrase = bool(HAN_RUN.search(name)) and ("的" in name or name.startswith("一"))  # "检查原始的信息", "一个系统"
    return name[:1].isalnum() and not phrase and not _NO_PLAIN_NAME.search(name) and not _ADJECTIVE.match(name)


def _is_plural(name: str) -> bool:
    """Return whether the last word of an English name is a plural, by its spelling."""
    last = name.split()[-1].lower()
    return not HAN_RUN.search(name) and singular(last) != last


def _form_kind(name: str, form: str, *, plural: bool) -> str:
    return f"{form} {'many' if plural else 'one'} {'name' if name[:1].isupper() else 'noun'}"


# The entity


def _swapped_entities(corpus: Claims, named: Sequence[_Named], seed: int) -> Iterator[JoinedDraft]:
    groups: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for each in named:
        for own in each.kinds:
            groups[each.claim.language, own].setdefault(normal(each.name), each.name)
    for entity, name in corpus.names.items():  # those that nothing is asked about
        language = "zh" if HAN_RUN.search(name) else "en"
        form = kind(name, language) if _can_stand_for_another(name) else ""
        if language == "zh" and not is_proper(name):
            continue  # "丝绸博物馆" may be what a named one is
        if form and _is_swapped(name, language):
            groups[language, _form_kind(name, form, plural=_is_plural(name))].setdefault(entity, name)
    ordered = {key: sorted(group.items(), key=lambda item: _order(seed, item[0])) for key, group in groups.items()}
    made: Counter[SourceClaim] = Counter()
    for each in named:
        others = (_some(ordered[each.claim.language, own], each.claim, seed) for own in each.kinds)
        drafts = (_with_entity(corpus, each, other) for other in chain.from_iterable(others))
        for draft in islice(filter(None, drafts), min(EACH, SWAPPED - made[each.claim])):
            made[each.claim] += 1
            yield draft


def _with_entity(corpus: Claims, named: _Named, new: str) -> JoinedDraft | None:
    """Return the question about another thing of the kind; None where a document may say it."""
    claim, old = named.claim, named.name
    one, two = set(normal(old).split()), set(normal(new).split())
    if named.phrase.plural != _is_plural(new) and claim.language != "zh":
        return None
    if one <= two or two <= one or _stands_in(new, claim.question) or _clashes(named.phrase.text, new):
        return None
    led = bool(lead(claim.question)[0]) and named.kinds[0].endswith(" noun")
    if (led or named.kinds[0] in _LOCAL) and claim.document_id not in corpus.search.documents(new):
        return None
    telling = _telling(claim, [old, new])
    if not telling or not absent(corpus.search, new, telling):
        return None
    if claim.type == "table" and _share_a_document(corpus, new, claim.attribute):
        return None
    if claim.attribute and not absent(corpus.search, new, [claim.attribute]):
        return None
    if corpus.search.near(new, [claim.answer]) != 0:
        return None
    return _draft(claim, named.phrase.renamed(old, new), (old, new))


def _share_a_document(corpus: Claims, name: str, attribute: str) -> bool:
    """Return whether one document holds both: the header of a table can be far from its rows."""
    return not set(corpus.search.documents(name)).isdisjoint(corpus.search.documents(attribute))


def _clashes(phrase: str, new: str) -> bool:
    """Return whether "a" would stand before a vowel or "an" before another letter."""
    article = re.match(r"(an?)\s", phrase, re.IGNORECASE)
    return article is not None and (article[1].lower() == "an") != (new[:1].lower() in "aeiou")


def _telling(claim: SourceClaim, names: Sequence[str]) -> list[str]:
    """Return the words of a question that say what is asked, without those of its lead and of these names."""
    own = {word for name in names for word in content_words(name, claim.language)}
    return [word for word in content_words(lead(claim.question)[1], claim.language) if word not in own]


# The attribute


def _swapped_attributes(corpus: Claims, seed: int) -> Iterator[JoinedDraft]:
    attributes: dict[tuple[str, ...], dict[str, SourceClaim]] = defaultdict(dict)
    fitting = [claim for claim in corpus.all if _asks_for_attribute(claim)]
    for claim in fitting:
        attributes[_attribute_kind(claim)].setdefault(normal(claim.attribute), claim)
    ordered = {key: sorted(group.items(), key=lambda item: _order(seed, item[0])) for key, group in attributes.items()}
    for claim in fitting:
        old = bare(claim.attribute)
        for other in _some(ordered[_attribute_kind(claim)], claim, seed):
            new = bare(other.attribute)
            words = content_words(new, claim.language)
            shared = set(words) & set(content_words(old, claim.language))
            if shared or not words or _stands_in(new, claim.question):
                continue
            if "table" in (claim.type, other.type) and _share_a_document(corpus, bare(claim.subject), new):
                continue
            if absent(corpus.search, bare(claim.subject), words) and _is_nowhere(corpus, claim, words[-1]):
                yield _draft(claim, _replaced(claim.question, old, new), (old, new))
                break


def _is_nowhere(corpus: Claims, claim: SourceClaim, word: str) -> bool:
    """Return whether a word stands at no mention of the claim's subject."""
    return corpus.search.near(bare(claim.subject), [word]) == 0


def _asks_for_attribute(claim: SourceClaim) -> bool:
    """Return whether a question names its subject, and once its attribute."""
    text = bare(claim.attribute)
    once = bool(text) and len(re.findall(re.escape(text), claim.question, re.IGNORECASE)) == 1
    return once and is_direct(claim) and _stands_in(claim.subject, claim.question)


def _attribute_kind(claim: SourceClaim) -> tuple[str, ...]:
    """Return what questions must share for their attributes to be swapped: their words, and the kind of their subject.

    What kind it is is said by its form or by the words before it ("the tool “Tock”"), else it is the same document.
    """
    name, attribute = bare(claim.subject), bare(claim.attribute)
    text = re.sub(r" in “[^”]+”(?=\?$)", "", lead(claim.question)[1])
    around = normal(_replaced(_replaced(text, name, " 0 "), attribute, " 1 "))
    form = kind(name, claim.language)
    told = bool(re.search(r"\b1 of(?: \w+)+ 0\b", around))
    return claim.language, around, form or ("" if told else claim.document_id)


# The year


def _swapped_years(corpus: Claims, seed: int) -> Iterator[JoinedDraft]:
    counted = {year for claim in corpus.all for year in _YEAR.findall(f"{claim.question} {claim.statement}")}
    years = sorted(counted, key=lambda year: _order(seed, year))
    for claim in corpus.all:
        own = _YEAR.findall(claim.question)
        if len(own) != 1 or not claim.subject or not is_direct(claim) or not _is_of_the_question(claim):
            continue
        if claim.language == "zh" and _ONCE.search(claim.question):
            continue
        tried = _by_distance(years, own[0])[:TRIED]
        free = (year for year in tried if absent(corpus.search, bare(claim.subject), [year]))
        for year in islice(free, SWAPPED):
            yield _draft(claim, claim.question.replace(own[0], year), (own[0], year))


def _is_of_the_question(claim: SourceClaim) -> bool:
    """Return whether a date opens or closes the question: elsewhere it may belong to an aside."""
    text = lead(claim.question)[1]
    found = dated_claims.dated(text, claim.language)
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
    return holds(text, name)


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(re.escape(old), lambda _: new, text, count=1, flags=re.IGNORECASE)
