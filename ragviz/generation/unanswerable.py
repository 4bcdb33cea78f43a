"""Unanswerable questions: the entity, the attribute or the year of a true one is swapped for another of its kind.

Each is checked by exact search: the documents must not say anything of the kind of what stands in the question now.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

from ragviz.backends.terms import HAN_RUN
from ragviz.claims.candidate import word_set
from ragviz.claims.chinese_claims import is_proper
from ragviz.claims.source_claim import SourceClaim
from ragviz.core.digests import digest
from ragviz.generation import dated_claims
from ragviz.generation.comparisons import quantity
from ragviz.generation.entities import Claims, bare, holds, is_entity, kind, normal
from ragviz.generation.exact_search import ExactSearch
from ragviz.generation.joined_draft import JoinedDraft, is_direct, lead
from ragviz.generation.listed_names import listed_names
from ragviz.generation.noun_phrases import NounPhrase, chinese_label, modified_nouns, noun_phrases
from ragviz.generation.sections_beside import SectionsBeside, is_of_heading, place_of
from ragviz.text.stems import content_words, singular
from ragviz.text.words import parse

T = TypeVar("T")

TRIED = 24
"""Replacements of one claim's entity, attribute or year that are checked at most."""

SWAPPED = 3
"""Questions at most that are made of one claim by swapping its names, one in each, and by its year."""
EACH = 2
"""Replacements of one name that are used at most."""
ALONE = 2
"""Words, besides the name, that say what is asked where the question loses its topic at least."""
COUNTED = 2
"""Questions about one document that are made by swapping a year or a number, at most; further ones are doubtful."""
ONLY_A_NUMBER = "it swaps a number, as others do about its document or claim"
_LAST, _FURTHER = 20.0, 10.0
"""How much worse is a question with another year or number, and each further question of a claim: others come first."""
NAMES = 4
"""Names of one question that are tried."""

_YEAR = re.compile(r"(?<![\d.,-])(?:1[5-9]|20)\d{2}(?![\d.,-]\d|\d)")
_FRAMES = ("{} wrote this.", "{} is blue.", "Please press {} twice.")
_NAMED_KINDS = {"PERSON": "a person", "GPE": "a place", "ORG": "an organisation"}
_NO_PLAIN_NAME = re.compile(r"\d(?![\w-]*[A-Z])|\b(?:[a-z]{3,}ing|and|or|who|that|which|is|are|to)\b|[/:;,]")
_ADJECTIVE = re.compile(r"[a-z]+(?:al|ive|ous|ful|ic|able|ible|less|ary|ed)\b")
_QUOTES = ("“", '"', "《", "「")
_LOCAL = ("a person", "a place")
_LOCAL_KINDS = frozenset(_LOCAL)
"""Kinds of things whose replacement must be named in the same document: else it has nothing to do with it. So must
all others where the question begins with its topic."""
_SUPERLATIVE = re.compile(
    r"\b(?:first|last|latest|newest|current|currently|most|least|only|best)\b|最|首|唯一|目前|当前"
)


_GENERAL = word_set(
    "aim purpose goal objective function role use used usage meaning definition content contents description detail"
    " details note notes comment comments information item example list listed include includes contain contains do"
    " does provide provides offer offers mean means thing kind type name"
    " 目的 作用 用途 功能 含义 意思 意义 定义 内容 说明 描述 介绍 简介 备注 注释 操作 效果 示例 例子 名称 类型 用于"
    " 包括 包含 提供 列出 目标 职责"
)
"""What nearly every sentence about a thing says of it."""
_OPEN = re.compile(
    r"what (?:do|does|did|can|could|should|must|will|would|may|has|have|had|is|are|was|were)\b", re.IGNORECASE
)
_STEP = re.compile(
    r"^(?:if|when|where|while|once|after|before|as soon as|in case|unless|to)\b[^?]*,\s"
    r"|\b(?:steps?|you|your|we|our|us|I|my)\b|^(?:如果|若|假如|当|要|在[^，]*[时后前]，|为了|想)|步骤|怎么办|怎么做|哪些操作|您|你|我们"
)
"""What belongs to a procedure: a name in it is not told from another's."""

_ONCE = re.compile(
    r"\b(?:born|died|founded|established|built|erected|completed|launched)\b|出生|逝世|去世|病逝|病故|牺牲|考入|毕业(?!生)|成立|创办|创建|建成|落成|[动开竣]工|通车|开通|出版|首次"
)
"""What happens once: in another year it did not, which the documents say."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A name as a whole noun phrase of its claim's question, behind the question's lead, and what kinds it is of.

    `beside` are the names that stand beside it in a list or a table. `is_shared`: the same is asked of another thing.
    """

    claim: SourceClaim
    name: str
    phrase: NounPhrase
    kinds: tuple[str, ...]
    beside: tuple[str, ...] = ()
    is_shared: bool = False


def unanswerables(corpus: Claims, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield questions that no document answers, each made of a true one."""
    asked = {normal(claim.question) for claim in corpus.all}
    named = chain(_swapped_attributes(corpus, seed), _swapped_entities(corpus, list(_named(corpus)), seed))
    first = [draft for draft in named if normal(draft.question) not in asked]
    counted = chain(_swapped_years(corpus, seed), _swapped_numbers(corpus))
    others = [draft for draft in counted if normal(draft.question) not in asked]
    yield from first
    yield from _few(others, {draft.origin for draft in first}, seed)


def _few(drafts: Iterable[JoinedDraft], used: set[SourceClaim], seed: int) -> Iterator[JoinedDraft]:
    """Yield a few drafts of each document, one of each word that was swapped, of claims that are not `used`."""
    of_document, swapped = Counter[str](), set[tuple[str, str]]()
    for draft in sorted(drafts, key=lambda draft: _order(seed, draft.question)):
        document_id = draft.origin.document_id
        word = document_id, normal(draft.swapped[0])
        is_first = of_document[document_id] < COUNTED and word not in swapped and draft.origin not in used
        if is_first:
            of_document[document_id] += 1
            swapped.add(word)
        yield replace(draft, score=draft.score - _LAST, doubt="" if is_first else ONLY_A_NUMBER)


def absent(search: ExactSearch, name: str, words: Sequence[str]) -> bool:
    """Return whether no document says these words of what is called `name`: fewer than half stand near any mention.

    Of one or two words none may. A name that is mentioned everywhere is refused, as is an empty list of words.
    """
    found = search.near(name, words) if words else None
    return found is not None and (found == 0 or (len(words) > 2 and 2 * found < len(words)))


def _named(corpus: Claims) -> Iterator[_Named]:
    """Yield the names in the questions that can be swapped: subjects first, then the other names."""
    by_language: dict[str, list[tuple[SourceClaim, str]]] = defaultdict(list)
    subjects = _subjects(corpus)
    usable = [claim for claim in corpus.all if is_direct(claim) and _says_what_is_asked(claim)]
    lists = listed_names(corpus.documents.values(), corpus.all)
    rests = ["" if claim.language == "zh" else lead(claim.question)[1] for claim in usable]
    for claim, nouns in zip(usable, modified_nouns(rests), strict=True):
        rest = lead(claim.question)[1]
        given = (name for name in (claim.subject, *claim.entities, *nouns) if is_entity(name, claim.language))
        names = [name for name in dict.fromkeys(map(bare, given)) if _stands_in(name, rest)]
        names = [name for name in names if normal(name) != normal(claim.attribute)]  # attributes are swapped for others
        by_language[claim.language] += [(claim, name) for name in names[:NAMES]]
    for language, pairs in by_language.items():
        found = noun_phrases([(claim.question, name) for claim, name in pairs], language)
        whole = [(*pair, phrase) for pair, phrase in zip(pairs, found, strict=True) if phrase is not None]
        labels = _labels({name for _, name, phrase in whole if phrase.label in _NAMED_KINDS}, language)
        for claim, name, phrase in whole:
            if _is_inside_quotes(phrase) or _is_one_of_several(phrase):
                continue
            if claim.type == "table" and normal(name) != normal(claim.subject):  # a part of the row's name
                continue
            is_row = phrase.text[:1] in _QUOTES or claim.type == "table"
            beside = lists.get(normal(name), ()) if _is_swapped(name, language) and not is_row else ()
            kinds = tuple(_kinds(name, phrase, labels, language))
            yield _Named(claim, name, phrase, kinds, tuple(beside), _is_shared(subjects, claim, name))


def _subjects(corpus: Claims) -> dict[str, set[str]]:
    """Return the subjects of which questions say each word, behind their lead."""
    found: dict[str, set[str]] = defaultdict(set)
    for claim in corpus.all:
        for word in _telling(claim, [claim.subject]):
            found[word].add(normal(claim.subject))
    return found


def _is_shared(subjects: Mapping[str, set[str]], claim: SourceClaim, name: str) -> bool:
    """Return whether all words that say what a question asks are said of two subjects at least."""
    words = _telling(claim, [name])
    return bool(words) and len(set.intersection(*(subjects.get(word, set()) for word in words))) > 1


def _says_what_is_asked(claim: SourceClaim) -> bool:
    """Return whether a question asks for something of its own, which not every sentence about its subject says.

    Left out are those for a purpose, a description, the items of a list, for all that a thing does; and those of a step
    or of what is done in a case: with another name they are about nothing.
    """
    rest = lead(claim.question)[1]
    if _SUPERLATIVE.search(claim.question) or claim.type in ("definition", "list") or _STEP.search(rest):
        return False
    own = set(content_words(bare(claim.subject), claim.language))
    words = [word for word in content_words(rest, claim.language) if word not in own and word not in _GENERAL]
    return len(words) >= (2 if _OPEN.match(rest) and not claim.attribute else 1)


def _is_inside_quotes(phrase: NounPhrase) -> bool:
    """Return whether a phrase is a part of what quotation marks hold: of a row's name, of a title."""
    before = phrase.question[: phrase.start]
    return before.count("“") > before.count("”") or before.count("《") > before.count("》")


def _is_one_of_several(phrase: NounPhrase) -> bool:
    """Return whether a name is joined with others: "A and B", “A、B”."""
    before, after = phrase.question[: phrase.start], phrase.question[phrase.end :]
    return bool(
        re.search(r"(?:\b(?:and|or)\s|[、和或与及])$", before) or re.match(r"\s(?:and|or)\b|[、和或与及]", after)
    )


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
    named = _NAMED_KINDS.get(labels.get(name, ""), "") if language != "zh" else ""  # jieba's names are words, too
    if phrase.text[:1] in _QUOTES:  # a row of a table, a title
        form = kind(name, language)
        yield from [f"quoted {form}"] if form else []
    elif named and named == _NAMED_KINDS.get(phrase.label):
        yield from [named] if phrase.subject or named in _LOCAL else []
    elif (form := _form(name, language)) and _can_stand_for_another(name) and _is_swapped(name, language):
        yield _form_kind(name, form, plural=phrase.plural)


def _form(name: str, language: str) -> str:
    """Return the kind that a name's form says; of a Chinese one not by one character: what ends in "器" is anything."""
    form = kind(name, language)
    return "" if language == "zh" and len(form) < 2 else form


def _is_swapped(name: str, language: str) -> bool:
    """Return whether a name that no quotation marks hold is one: an English common noun makes no sense elsewhere."""
    return language == "zh" or any(c.isupper() for c in name)


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
        form = _form(name, language) if _can_stand_for_another(name) else ""
        if language == "zh" and not is_proper(name):
            continue  # "丝绸博物馆" may be what a named one is
        if form and _is_swapped(name, language):
            groups[language, _form_kind(name, form, plural=_is_plural(name))].setdefault(entity, name)
    ordered = {key: sorted(group.items(), key=lambda item: _order(seed, item[0])) for key, group in groups.items()}
    made: Counter[SourceClaim] = Counter()
    for each in named:
        alike = (ordered[each.claim.language, own] for own in each.kinds)
        others = chain(each.beside, chain.from_iterable(_some(group, each.claim, seed) for group in alike))
        drafts = (_with_entity(corpus, each, other) for other in dict.fromkeys(others))
        for draft in islice(filter(None, drafts), min(EACH, SWAPPED - made[each.claim])):
            yield replace(draft, score=draft.score - _FURTHER * made[each.claim])
            made[each.claim] += 1


def _with_entity(corpus: Claims, named: _Named, new: str) -> JoinedDraft | None:
    """Return the question about another thing of the kind; None where a document may say it."""
    claim, old = named.claim, named.name
    quoted = named.phrase.text[:1] in _QUOTES
    if not _can_be_swapped(named, new) or not _makes_sense_there(corpus, named, new):
        return None
    if not quoted and not (_fits(named, new) and _is_whole_name(corpus, new, claim)):
        return None
    elsewhere = claim.document_id not in corpus.search.documents(new)
    if elsewhere and _LOCAL_KINDS.intersection(named.kinds):
        return None
    telling = _telling(claim, [old, new])
    if not telling or not absent(corpus.search, new, telling):
        return None
    if claim.attribute and _may_tell(corpus, claim, new):
        return None
    if corpus.search.near(new, [claim.answer]) != 0:
        return None
    question = named.phrase.renamed(old, new)
    topic = lead(claim.question)[0]
    if elsewhere and topic:  # nothing of that topic is said about it
        special = [word for word in telling if word not in _GENERAL]
        if normal(old) != normal(claim.subject) or len(special) < ALONE - bool(claim.attribute):
            return None
        question = question.removeprefix(topic)
    return _draft(claim, question, (old, new))


def _can_be_swapped(named: _Named, new: str) -> bool:
    """Return whether another name differs enough from the one that stands in the question, and fits its article."""
    one, two = set(normal(named.name).split()), set(normal(new).split())
    alike = one <= two or two <= one
    return not (alike or _stands_in(new, named.claim.question) or _clashes(named.phrase.text, new))


def _makes_sense_there(corpus: Claims, named: _Named, new: str) -> bool:
    """Return whether what is asked may be asked of another thing.

    Of the things that one section describes each has its own parts: the same has to be asked of two as its subject. So
    has what an English question asks with a bare "what", of no attribute: "What is hung on the Tide Gate?".
    """
    claim = named.claim
    is_open = claim.language != "zh" and not claim.attribute and bool(_OPEN.match(lead(claim.question)[1]))
    if claim.type != "table" and is_open and not named.is_shared:
        return False
    if claim.type == "table" or not corpus.search.share_a_section(claim.quote, new):
        return True
    return normal(named.name) == normal(claim.subject) and named.is_shared


def _may_tell(corpus: Claims, claim: SourceClaim, name: str) -> bool:
    """Return whether the documents may say what the attribute of a claim is of another thing.

    That is near it, in a row of its section, or, in English, in words of the attribute in a section that names the
    thing without its common noun: "What is the default size of the Ferry log?" where a section on "Ferry" has defaults.
    """
    attribute = claim.attribute
    if claim.type == "table" and corpus.search.share_a_section(name, attribute):
        return True
    if not absent(corpus.search, name, [attribute]):
        return True
    if claim.language == "zh":
        return False
    proper = " ".join(word for word in name.split() if not word.islower()) or name
    words = [word for word in content_words(attribute, "en") if word not in _GENERAL]
    return any(corpus.search.share_a_section(proper, word) for word in words)


def _fits(named: _Named, new: str) -> bool:
    """Return whether a name can stand for another in a sentence: in English one in capitals, of the same number."""
    return named.claim.language == "zh" or (named.phrase.plural == _is_plural(new) and _is_swapped(new, "en"))


_CHINESE_NAME = re.compile(r"[A-Za-z][\w.+-]*(?: [A-Z\d][\w.+-]*)*")


def _is_whole_name(corpus: Claims, name: str, claim: SourceClaim) -> bool:
    """Return whether the documents write a name, as it stands, where it is no part of a longer one.

    English: somewhere behind a word in lower case or an article, and mostly without a capitalised word beside it. A
    Chinese one is a Latin name, a name of a person, a place or a body, or where an attribute is asked for what a claim
    is about; no verb begins it.
    """
    if claim.language == "zh":
        words = parse([name], "zh")[0]
        if _CHINESE_NAME.fullmatch(name) or all(word.tag[:2] in ("nr", "ns", "nt") for word in words):
            return True
        subject = bool(claim.attribute) and any(
            normal(corpus.all[place].subject) == normal(name) for place in corpus.about.get(normal(name), ())
        )
        return subject and bool(words) and words[0].tag[0] in "njsb" and words[-1].tag[0] == "n"
    written = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    free = joined = 0
    for document_id, start in corpus.search.starts(name)[:_LOOKED_AT]:
        text = corpus.documents[document_id].text
        if not written.match(text, start):
            continue
        before, after = text[max(start - 30, 0) : start], text[start + len(name) : start + len(name) + 30]
        longer = re.search(
            r"(?<![.?!:] )(?<![.?!\n])\b(?!(?:The|A|An)\b)[A-Z][\w.-]* $|[\w][-/@.]$", before
        ) or re.match(r" (?:of |for )?[A-Z]|[-/@]\w|\.\w", after)
        joined += bool(longer)
        free += not longer and bool(re.search(r"(?:\b[a-z]+|,|\b(?:The|A|An)) [\"“(*_`\[]*$", before))
    return free > 0 and free >= joined


_LOOKED_AT = 100
"""Places of a name at most whose surroundings are read."""


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
    sections = SectionsBeside(corpus.all)
    for claim in fitting:
        old = bare(claim.attribute)
        for other in _some(ordered[_attribute_kind(claim)], claim, seed):
            new = bare(other.attribute)
            words = content_words(new, claim.language)
            shared = set(words) & set(content_words(old, claim.language))
            if shared or not words or _stands_in(new, claim.question):
                continue
            is_beside = claim.type == "table" or is_of_heading(claim)
            if is_beside and not (sections.share(claim, other) and _lacks(corpus, claim, words)):
                continue
            if absent(corpus.search, bare(claim.subject), words) and _is_nowhere(corpus, claim, words[-1]):
                yield _draft(claim, _replaced(claim.question, old, new), (old, new))
                break


def _lacks(corpus: Claims, claim: SourceClaim, words: Sequence[str]) -> bool:
    """Return whether no section with the claim or its subject has one of these words, or the end of a Chinese one."""
    name = claim.subject.rpartition("的")[2]
    heads = {word[-2:] if HAN_RUN.match(word[-2:]) else word for word in words}
    return not any(corpus.search.share_a_section(part, word) for part in (name, claim.quote) for word in heads)


def _is_nowhere(corpus: Claims, claim: SourceClaim, word: str) -> bool:
    """Return whether a word stands at no mention of the claim's subject."""
    return corpus.search.near(bare(claim.subject), [word]) == 0


def _asks_for_attribute(claim: SourceClaim) -> bool:
    """Return whether a question names its subject, and once its attribute."""
    text = bare(claim.attribute)
    once = bool(text) and len(re.findall(re.escape(text), claim.question, re.IGNORECASE)) == 1
    special = any(word not in _GENERAL for word in content_words(text, claim.language))
    return once and special and is_direct(claim) and _stands_in(claim.subject, claim.question)


def _attribute_kind(claim: SourceClaim) -> tuple[str, ...]:
    """Return what questions must share for their attributes to be swapped: their words, and the kind of their subject.

    What kind it is is said by its form or by the words before it ("the tool “Tock”"), else it is the same document.
    """
    name, attribute = bare(claim.subject), bare(claim.attribute)
    text = re.sub(r" in “[^”]+”(?=\?$)", "", lead(claim.question)[1])
    around = normal(_replaced(_replaced(text, name, " 0 "), attribute, " 1 "))
    form = kind(name, claim.language)
    told = bool(re.search(r"\b1 of(?: \w+)+ 0\b", around))
    if claim.type == "table" or is_of_heading(claim):  # what it is, sections beside it say
        return claim.language, around, *place_of(claim)
    return claim.language, around, form or ("" if told else claim.document_id)


# The year


def _swapped_years(corpus: Claims, seed: int) -> Iterator[JoinedDraft]:
    counted = {year for claim in corpus.all for year in _YEAR.findall(f"{claim.question} {claim.statement}")}
    years = sorted(counted, key=lambda year: _order(seed, year))
    for claim in corpus.all:
        own = _YEAR.findall(claim.question)
        if len(own) != 1 or not claim.subject or not is_direct(claim) or _SUPERLATIVE.search(claim.question):
            continue
        if own[0] in lead(claim.question)[0]:
            yield from _with_titles_year(corpus, claim, own[0])
            continue
        if not _is_of_the_question(claim):
            continue
        if _ONCE.search(claim.question) or not _is_of_each_year(claim):
            continue
        tried = _by_distance(years, own[0])[:TRIED]
        names = _names_of(claim)
        free = (year for year in tried if all(absent(corpus.search, name, [year]) for name in names))
        for year in islice((year for year in free if _is_absent_in(corpus, claim, year)), 1):
            yield _draft(claim, claim.question.replace(own[0], year), (own[0], year))


def _is_of_each_year(claim: SourceClaim) -> bool:
    """Return whether a question asks for an amount, of which there is one in every year.

    What else is asked of a year, when, who or why, supposes what was in that year alone.
    """
    text = lead(claim.question)[1]
    found = dated_claims.dated(text, claim.language)[0]
    rest = f"{text[: found.start]}{text[found.end :]}".strip(" ,，")
    return bool(_AMOUNT.search(rest)) or (bool(claim.attribute) and quantity(claim.answer) is not None)


def _with_titles_year(corpus: Claims, claim: SourceClaim, own: str) -> Iterator[JoinedDraft]:
    """Yield the question of the report, rules, prices … of another year, of which there is no document."""
    topic, rest = lead(claim.question)
    quoted = next((title for title in re.findall(r"[“《]([^”》]+)[”》]", topic) if own in title), "")
    if not quoted or len(re.findall(r"\d+", quoted)) > 1 or dated_claims.titled(quoted) is None:
        return
    if not _AMOUNT.search(rest) or _STEP.search(rest) or _ONCE.search(rest) or re.search("[,，]", rest):
        return
    for year in (str(int(own) - 2), str(int(own) + 2)):
        other = quoted.replace(own, year)
        if not corpus.search.count(other) and _is_absent_in(corpus, claim, year):
            yield _draft(claim, f"{topic.replace(own, year)}{rest}", (own, year))
            return


_AMOUNT = re.compile(r"^how (?:many|much|often)\b|多少(?!年)|(?<![哪第])几(?!年)", re.IGNORECASE)
"""What has another value in another year's document; who or what did something is told once."""


def _names_of(claim: SourceClaim) -> list[str]:
    """Return the names that a question holds behind its lead, the subject first, else the subject alone."""
    rest = lead(claim.question)[1]
    found = [bare(name) for name in (claim.subject, *claim.entities) if _stands_in(bare(name), rest)]
    return [name for name in dict.fromkeys(found) if not _YEAR.search(name)] or [bare(claim.subject)]


def _is_of_the_question(claim: SourceClaim) -> bool:
    """Return whether a date opens or closes the question: elsewhere it may belong to an aside."""
    text = lead(claim.question)[1]
    found = dated_claims.dated(text, claim.language)
    if len(found) != 1 or not _AT_A_TIME.match(text[found[0].start : found[0].end]):
        return False
    if re.search("[,，]", text[found[0].end :].lstrip(" ,，")):
        return False
    return found[0].start == 0 or not text[found[0].end :].strip(" ?？,，")


_AT_A_TIME = re.compile(
    r"(?:in|on|during)\b|(?:于|在)?\s*\d{4}\s*年(?:\s*\d+\s*月)?(?:\s*\d+\s*[日号])?[底初中]?[，,]?$", re.IGNORECASE
)
"""A date at which something was, and not from which or until which it was: of another year the same may be true."""


def _by_distance(years: Sequence[str], own: str) -> list[str]:
    """Return the years of the corpus, those nearest to one first: a year of another age would be noticed."""
    return sorted((year for year in years if year != own), key=lambda year: abs(int(year) - int(own)))


def _is_absent_in(corpus: Claims, claim: SourceClaim, year: str) -> bool:
    """Return whether no place that names a year says most of what is asked: a word or two not even once."""
    words = [word for word in _telling(claim, [year]) if not _YEAR.search(word)]
    found = corpus.search.near(year, words, most=5_000) if words else None
    return found is not None and (2 * found < len(words) if len(words) > 2 else found == 0)


# The number in a row's name


_NUMBER = re.compile(r"(?<![\w.,+-])\d{1,4}(?:\.\d{1,2})?(?![\w,+-]|\.\d)|(?<=F)\d{1,2}(?!\w)")
"""A number that is a word of its own, or that of a function key: one of a product's name names no other product."""
_DAY = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.? (?P<day>\d{1,2})\b"
    r"|\d{1,2}\s*月\s*(?P<other>\d{1,2})\s*[日号]"
)
_RANGE = re.compile(
    r"\b(?:up to|more than|less than|at least|at most|under|over|above|below|from|to|until|after|before|since|and|or)\b"
    r"|[<>≤≥~–+/]|\d-\d|或|、|以[上下内外]|超过|不足|不满|至|到|起|及|之?[前后]"
)
"""What makes a number one end of a range: another number may be in it."""


def _swapped_numbers(corpus: Claims) -> Iterator[JoinedDraft]:
    """Yield questions about a row that no table has: its name with another number, day or version in it."""
    rows = {(claim.document_id, claim.section, bare(claim.subject)) for claim in corpus.all if claim.type == "table"}
    ranges = {(document_id, section) for document_id, section, name in rows if _is_range(name)}
    for claim in corpus.all:
        name, rest = bare(claim.subject), lead(claim.question)[1]
        place = claim.document_id, claim.section
        if claim.type != "table" or rest.count(name) != 1 or place in ranges:
            continue
        if (
            not _is_fluent(claim)
            or normal(name) == normal(claim.attribute)
            or not content_words(claim.attribute, claim.language)
        ):
            continue
        new = next((each for each in _with_other_numbers(name) if _is_new(corpus, each)), "")
        if new:
            yield _draft(claim, f"{lead(claim.question)[0]}{rest.replace(name, new)}", (name, new))


_CODE = re.compile(r"[|\\\"'=@{}\[\]$<>&;*→`]|\w\(\d|(?:^|\s)-|\.\w+/")
"""What makes a name a command, a path of menus or a page of a manual: what another number does there is no secret."""


def _is_range(name: str) -> bool:
    """Return whether a row is of a range of days or numbers, which may hold those of a name made from another row."""
    return bool(re.search(r"\d", name) and (_RANGE.search(name) or re.search(r"\s[-–—]\s", name)))


def _is_new(corpus: Claims, name: str) -> bool:
    """Return whether no document has a name, nor where it writes its words apart: "Alt F6" for "AltF6"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return not corpus.search.count(name) and not corpus.search.count(apart)


def _is_fluent(claim: SourceClaim) -> bool:
    return claim.language == "zh" or not HAN_RUN.search(claim.question)


def _with_other_numbers(name: str) -> Iterator[str]:
    """Yield a name with another day, or with another number where it holds one; nothing for the end of a range."""
    if _is_range(name) or _CODE.search(name) or not re.search(r"[^\W\d_]{2}", name):
        return
    day = _DAY.search(name)
    numbers = list(_NUMBER.finditer(name))
    if day:
        start, end = day.span("day") if day["day"] else day.span("other")
    elif len(numbers) == 1 and int(float(numbers[0].group())):
        start, end = numbers[0].span()
    else:
        return
    whole, dot, rest = name[start:end].partition(".")
    is_key = name[start - 1 : start] == "F"
    unit = 10 if whole.endswith("0") and len(whole) > 1 and not (day or is_key) else 1
    for step in (1, 2, 3, -1, -2):
        other = int(whole) + step * unit
        if (
            other > 0
            and len(str(other)) == len(str(int(whole)))
            and not (day and other > 28)
            and not (is_key and other > 12)
        ):
            yield f"{name[:start]}{other}{dot}{rest}{name[end:]}"


# All


def _draft(claim: SourceClaim, question: str, swapped: tuple[str, str]) -> JoinedDraft:
    if claim.language != "zh":
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
