"""Claims of English documents with their questions: from structure, and from sentences by the parse tree.

Precision before yield: a sentence whose question would need the sentences around it is not asked about.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragviz.claims import (
    candidate,
    english,
    english_clauses,
    english_coordination,
    english_gate,
    english_phrases,
    english_quantities,
    english_standalone,
    english_structure,
)
from ragviz.claims.candidate import Indices
from ragviz.claims.english import Asked
from ragviz.claims.english_clauses import Clause, Tree
from ragviz.claims.english_topics import Topic, topics
from ragviz.claims.sections import section_at
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import Statement, named_in
from ragviz.claims.structure import CSV_TYPES, Structure, structure
from ragviz.core.document import Document
from ragviz.core.question import QuestionType
from ragviz.text import prose, segmentation
from ragviz.text.words import parse

ENOUGH = 4.0
"""Claims with a lower score are not used."""

SHORTEST, LONGEST = 5, 34
"""Words of a sentence that is asked about."""

_ODD = re.compile(
    r"[\"“”‘\[\]{}<>|=\\@…*~^#?!]|https?:|(?<!\d):|:(?!\d)|\s[-–—]+\s|--|\b(?:i\.e|e\.g|etc)\b|(?<!\w)_|_(?!\w)|\w/\w+/"
    r"|[\u2190-\u2bff\U0001f000-\U0001faff]|\S{40,}|(?<!\w)['’](?=\w)(?!s\b)",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\[[^\]\d]+\]|<[^<>]+>|_{3,}")
"""What stands in the title of a form where a name is to be filled in."""
_PLACEHOLDER = re.compile(r"`[^`\n]*<[^`\n]*`")
_JOINED = re.compile(r"(?<=[a-z0-9)] )(?:The|An?|This|These|It|We|You|If|When|In|For|To|All|Each|Our|Your) (?=[a-z])")
"""A line that was joined to the one before it."""
_CLAUSE_NUMBER = re.compile(r"^(?:§ ?)?\d{1,2}(?:\.\d{1,2})+\.? (?=[A-Z])")
"""The number of a paragraph, as of a contract."""
_ASIDE = re.compile(r"\s\([^()]{1,120}\)(?!\w)")
_ASIDE_HERE = r"(?:\s\([^()]{1,120}\)(?!\w))?\s"
_REMARK = r"\s\((?!see\b|cf\b)[^()\s]+(?:\s[^()\s]+){0,7}\)"

# Words that refer to what was said before, by closed classes: pronouns, demonstratives, adverbs that connect.
_UNKNOWN = candidate.word_set("he she him i me my mine us ours aforementioned latter former let")
_REFERRING = candidate.word_set(
    "it they them this these those such another both either neither following above below previous previously earlier"
    " here there now then today too instead again yet else otherwise similarly likewise meanwhile one ones same other"
    " others itself themselves himself herself"
    " so also however therefore thus hence still already first second third next finally lastly but nor"
)
_QUANTIFIERS = candidate.word_set("some several many most few more any each every all no other various certain")
_MAYBE = candidate.word_set("can could may might would")
_VAGUE = _QUANTIFIERS - candidate.word_set("all each every no")
_ORDERING = candidate.word_set(
    "main primary key first second third last next new old final initial other same general specific whole entire only"
    " current previous early late original important common usual typical major minor following different certain"
)
_UNTOLD = _ORDERING | candidate.word_set(
    "necessary required needed appropriate suitable relevant corresponding respective proper right correct desired"
    " available possible good great big small large simple real certain specified given selected"
    " basic additional further multiple default existing"
)
"""Adjectives that do not say which of its kind a thing is."""
_POINTING = candidate.word_set("current previous resulting corresponding respective aforesaid")
"""Adjectives of what was spoken of."""
_NO_KIND = candidate.word_set("at since until during before after to")
"""Prepositions that say when or for what something is so, not what kind it is."""
_JUDGING = candidate.word_set(
    "good great nice fine excellent perfect best better interesting useful helpful handy convenient popular powerful"
    " important essential valuable attractive difficult easy hard simple tricky common typical ideal wonderful bad poor"
)
"""Adjectives that say what somebody thinks of a thing."""
_NO_BAN = candidate.word_set("be forget hesitate worry feel let fear mind")
"""Commands by which nothing is forbidden: "don't forget", "don't be afraid"."""
_LIGHT = candidate.word_set("keep take make have get give do put set pay")
_CAUSING = candidate.word_set("enable allow permit cause force require encourage ask help lead get invite tell order")
"""Verbs whose object is the subject of the infinitive after it."""
_ALLOWING = candidate.word_set("allow enable permit")
"""Verbs whose object is one of many: what a thing makes possible."""
_LONGEST_SUBJECT = 9
"""Words of a subject that is asked for at most."""
_ROLES = candidate.word_set(
    "case location place position spot point role function purpose goal aim reason cause result consequence outcome"
    " advantage disadvantage benefit drawback problem issue matter idea solution answer need exception fact fit basis"
    " key start beginning end candidate choice sign"
)
"""Nouns of what something is for somebody, somewhere or beside others: they tell no kind of thing."""
_OFTEN = candidate.word_set("once twice thrice times hourly daily nightly weekly monthly quarterly yearly annually")
"""Adverbs of frequency, which "how often" asks for."""
_SPEAKING = candidate.word_set(
    "summarize summarise sum conclude recap repeat reiterate clarify illustrate be begin put say stress mention note"
)
"""Verbs of an infinitive that opens a sentence and is about the sentence: "to summarize, …"."""
OTHERS = "other answers may be right too"
"""The doubt about a question for an object, of which the sentence names one: "what can you borrow at the desk?"."""
_HEDGED = candidate.word_set("sometimes often usually typically generally probably perhaps maybe likely possibly")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence in plain words, without asides in brackets, and its place in the document."""

    text: str
    start: int
    end: int
    path: str
    whole: str
    """The sentence with its asides."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A question before it is told where it belongs; `known` are the lemmas of its words, `doubt` as of a claim."""

    question: str
    answer: str
    type: QuestionType
    subject: str
    attribute: str
    known: frozenset[str]
    score: float
    doubt: str = ""


def claims(document: Document) -> Iterator[SourceClaim]:
    """Yield the claims of a document: those of its structure, then those of its sentences."""
    found = structure(document)
    about = topics(document, found.sections)
    if any(topic.document and _BLANK.search(topic.document.text) for topic in about.values()):
        return  # a form to be filled in
    yield from english_structure.claims(document, found, about)
    usage = _usage(document.text)
    for sentence, _, tree in _sentence_trees(document):
        for draft in _of_sentence(document, sentence, tree, about, usage):
            yield _claim(document, sentence, tree, draft, about[sentence.path])


def _parsed(sentences: Iterable[_Sentence]) -> Iterator[tuple[_Sentence, Tree, Tree]]:
    """Yield sentences with their trees: as they stand, and without appositions between commas."""
    read = list(sentences)
    parses = parse([each.text for each in read], "en")
    trees = [Tree(sentence.text, words) for sentence, words in zip(read, parses, strict=True)]
    short = [english_coordination.without_asides(tree) for tree in trees]
    changed = [text for tree, text in zip(trees, short, strict=True) if text != tree.sentence]
    again = iter(parse(changed, "en"))
    for sentence, tree, text in zip(read, trees, short, strict=True):
        yield sentence, tree, tree if text == tree.sentence else Tree(text, next(again))


def statements(document: Document) -> Iterator[Statement]:
    """Yield what sentences of a document say something about; at no cost right after its claims were made."""
    for sentence, whole, _ in _sentence_trees(document):
        if names := named_in(whole):
            yield Statement(sentence.start, sentence.end, names)


@lru_cache(maxsize=1)
def _sentence_trees(document: Document) -> list[tuple[_Sentence, Tree, Tree]]:
    return list(_parsed(_sentences(document)))


@dataclass(frozen=True, slots=True)
class _Usage:
    """The words that a document has in lower case, and those that it capitalises inside a sentence."""

    common: frozenset[str]
    names: frozenset[str]


def _usage(text: str) -> _Usage:
    return _Usage(frozenset(re.findall(r"\b[a-z]+\b", text)), frozenset(re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", text)))


def _sentences(document: Document) -> Iterator[_Sentence]:
    """Yield the sentences that may be understood alone, before any parse."""
    places, text = structure(document), document.text
    if document.media_type in CSV_TYPES:
        return
    parts, plain = places.sections, prose.read(text)
    items = iter([*_introduced(places), (len(text), len(text))])
    item = next(items)
    for left, right in segmentation.each_sentence(text, "en"):
        while item[1] <= left:
            item = next(items)
        if item[0] <= left:
            continue
        if _PLACEHOLDER.search(text, left, right):
            continue
        line = text[text.rfind("\n", max(0, left - 200), left) + 1 : left].strip()
        start, end = plain.within(left, right)
        while start < end and plain.text[start].isspace():
            start += 1
        whole = _CLAUSE_NUMBER.sub("", " ".join(plain.text[start:end].split()), count=1)
        sentence = _ASIDE.sub("", whole)
        is_fit = not english_standalone.explains_a_sign(text, left)
        if is_fit and line[:1] not in ("#", "|") and _may_stand_alone(sentence):
            yield _Sentence(sentence, left, right, section_at(parts, left).path, whole)


def _introduced(places: Structure) -> Iterator[tuple[int, int]]:
    """Yield the places of items that continue an introduction, or answer the question that heads them."""
    for found in places.lists:
        if found.introduction or found.section.endswith("?"):
            yield from ((item.start, item.end) for item in found.items)


def _may_stand_alone(sentence: str) -> bool:
    words = sentence.split()
    if not SHORTEST <= len(words) <= LONGEST or sentence[-1] != "." or _ODD.search(sentence):
        return False
    if (
        re.search(r"[^.A-Z][a-z]\.\s", sentence)
        or _JOINED.search(sentence)
        or english_phrases.CONNECTIVE.match(sentence)
        or english_standalone.is_foreign(sentence)
    ):
        return False
    if not (sentence[0].isupper() or re.match(r"\w+[._]\w", sentence)):
        return False
    return _UNKNOWN.isdisjoint(re.findall(r"[a-z]+", sentence.lower()))


def _of_sentence(
    document: Document, sentence: _Sentence, tree: Tree, about: Mapping[str, Topic], usage: _Usage
) -> Iterator[_Draft]:
    """Yield what a parsed sentence that is understood with its topic can be asked."""
    clause = english_clauses.clause(tree) if tree.words else None
    topic = about[sentence.path]
    if clause is None or not english_gate.agrees(tree, clause) or _is_labelled(sentence.text, usage):
        return
    if _is_command_misread(tree, clause, usage):
        return
    if not _is_sound(tree, clause, topic):
        return
    if not clause.subject and english_structure.RELEASES.search(f"{document.name} {sentence.path}"):
        return  # "Fix the sidebar.": what was done, no command
    goes_on = _goes_on(document.text, sentence.start)
    if goes_on and _is_plain_plural(tree, clause, topic):
        return
    is_described = english_standalone.describes_an_option(document.text, sentence.start)
    for draft in [*_exceptions(tree, clause, topic, is_described=is_described)] or _facts(tree, clause, topic, usage):
        is_fit = english_gate.is_short(draft.question) and not english_gate.is_cut(f"{draft.question} {draft.answer}")
        is_fit = is_fit and not (draft.question.endswith("as well?") and " as well as " in sentence.text)
        question = topic.led(draft.question, draft.known)
        is_topical = bool(topic.section or topic.document) or english_standalone.has_name(question)
        is_fit = is_fit and is_topical
        if draft.type == "definition" and goes_on and not _is_introduced(document, sentence, draft, topic):
            continue
        if draft.score >= ENOUGH and is_fit and not english_phrases.gives(question, draft.answer):
            yield draft


def _is_command_misread(tree: Tree, clause: Clause, usage: _Usage) -> bool:
    """Return whether the first word of a sentence was taken for a name that the document knows as a common word only.

    "Discard received packets" and "Deny queries which …" are commands.
    """
    first = tree.words[0]
    is_name = bool(clause.subject) and clause.subject[0] == 0 and first.tag == "NNP" and first.text.istitle()
    return is_name and first.text.lower() in usage.common and first.text not in usage.names


def _is_introduced(document: Document, sentence: _Sentence, draft: _Draft, topic: Topic) -> bool:
    """Return whether a sentence is the first of its section about a term, or the term is in the title."""
    if draft.known and all(word in topic.words for word in draft.subject.lower().split()):
        return True
    section = section_at(structure(document).sections, sentence.start)
    return english_standalone.introduces(document.text, section.start, sentence.start, draft.subject)


def _goes_on(text: str, start: int) -> bool:
    """Return whether another sentence stands before this one in its paragraph or item."""
    before = text[text.rfind("\n\n", 0, start) + 1 : start]
    item = re.split(r"\n\s*(?:[-*+•]|\d{1,3}[.)])\s", f"\n{before}")[-1]
    return bool(re.search(r"\w[.:!?]", item))


def _is_plain_plural(tree: Tree, clause: Clause, topic: Topic) -> bool:
    """Return whether a subject is a plural of plain nouns that no title names: "lines of paragraphs", of what text?

    Persons, and what an adjective or another noun tells from others of its kind, are understood alone.
    """
    words, subject = tree.words, clause.subject
    if not subject or words[_head(tree, subject)].tag != "NNS":
        return False
    head = tree.low(_head(tree, subject))
    nouns = [p for p in subject if words[p].tag != "IN"]
    is_plain = all(words[p].tag in ("NN", "NNS") and not words[p].entity for p in nouns)
    is_plain = is_plain and not any(words[p].dep in ("compound", "nmod", "poss") for p in nouns)
    known = any(words[p].lemma.lower() in topic.words for p in nouns)
    return is_plain and not known and not english.may_act(head)


def _is_labelled(text: str, usage: _Usage) -> bool:
    """Return whether a sentence begins with a label in capitals that was joined to it: "CULTURE Traffic on …"."""
    match = re.match(r"[A-Z]{4,} ([A-Z][a-z]+)\b", text)
    return match is not None and match[1].lower() in usage.common


def _claim(document: Document, sentence: _Sentence, tree: Tree, draft: _Draft, topic: Topic) -> SourceClaim:
    """Return the claim of a draft; its answer has what stands in brackets inside of it, or right after it."""
    return SourceClaim(
        document.id,
        sentence.start,
        sentence.end,
        document.text[sentence.start : sentence.end],
        draft.type,
        topic.led(draft.question, draft.known),
        _with_asides(draft.answer, sentence.whole),
        sentence.whole,
        draft.subject,
        "en",
        draft.attribute,
        sentence.path,
        english_phrases.entities(tree),
        draft.score + _clearness(tree, draft),
        draft.doubt,
    )


def _with_asides(answer: str, sentence: str) -> str:
    """Return an answer as it stands in its sentence, with the brackets inside of it and short ones right after it.

    >>> _with_asides("the Packages file", "It gets the Packages (or Sources) file (twice) today.")
    'the Packages (or Sources) file (twice)'
    """
    line = _ASIDE_HERE.join(map(re.escape, answer.split()))
    match = re.search(rf"(?<!\w){line}(?:{_REMARK})?(?!\w)", sentence) if "(" in sentence else None
    return match.group() if match else answer


def _clearness(tree: Tree, draft: _Draft) -> float:
    """Return by how much a question is clearer than others of its score: about a name, short, with a certain answer."""
    names = {word.text for word in tree.words if word.tag[:3] == "NNP" or word.entity not in ("", "CARDINAL")}
    said = draft.question.split()
    is_named = any(word.strip(",?") in names for word in said)
    length = len(draft.answer.split())
    return is_named * 1.0 - max(0, len(said) - 14) * 0.2 - (length < 2) * 0.5 - max(0, length - 14) * 0.2


def _is_sound(tree: Tree, clause: Clause, topic: Topic) -> bool:
    """Return whether the sentence is one clause with a specific subject, and its parse looks right."""
    words = tree.words
    if any(word.dep in ("dep", "intj", "meta") for word in words) or any(
        words[c].dep in ("parataxis", "ccomp") for c in tree.children[clause.verb]
    ):
        return False
    if english_standalone.is_bound(tree, clause, topic.words) or not english_coordination.is_sound(tree, clause):
        return False
    if _speaks_of_itself(tree, clause) or _is_narrated(tree, clause):
        return False
    if clause.before and (words[clause.before[-1]].tag in ("CC", "IN") or tree.low(0) in ("like", "unlike")):
        return False
    if len(clause.before) == 1 or (words[0].text == "As" and words[1].tag == "VBN"):  # "As mentioned, …"
        return False
    if words[clause.verb].tag == "VBG" or english_coordination.is_subject_misread(tree, clause):
        return False
    lead = range(clause.subject[0] if clause.subject else clause.verb)
    if any(_refers(tree, p) for p in lead):
        return False
    if words[0].tag == "RB" and words[0].dep == "advmod" and words[0].head == clause.verb:  # "Alternatively, …"
        return False
    if clause.subject and [tree.low(p) for p in clause.subject] in (["you"], ["we"]):
        return True
    return not clause.subject or (_is_specific(tree, clause.subject) and not _is_known(tree, clause.subject, topic))


def _speaks_of_itself(tree: Tree, clause: Clause) -> bool:
    """Return whether an infinitive without an object, or a verb of saying, opens the sentence: "to summarize, …"."""
    opening = [p for p in clause.before if tree.words[p].text != ","]
    if len(opening) < 2 or tree.words[opening[0]].tag != "TO":
        return False
    return len(opening) == 2 or tree.words[opening[1]].lemma.lower() in _SPEAKING


def _is_narrated(tree: Tree, clause: Clause) -> bool:
    """Return whether a sentence tells a made-up case: what a person known by one name does with the reader, or he did.

    "Ann wants to borrow $20 from you", "You bought a boat for $300".
    """
    words = tree.words
    if not clause.subject:
        return False
    low = [tree.low(p) for p in range(len(words))]
    if [low[p] for p in clause.subject] == ["you"]:
        return words[clause.verb].tag == "VBD" or "had" in [low[p] for p in clause.between]
    head = _head(tree, clause.subject)
    names = [p for p in clause.subject if words[p].tag == "NNP"]
    is_person = names == [head] and words[head].entity == "PERSON" and words[head].text.istitle()
    return is_person and not {"you", "your", "yourself"}.isdisjoint(low)


def _refers(tree: Tree, place: int) -> bool:
    """Return whether a word needs what was said before; "that" before a clause does not, nor "so that"."""
    low = tree.low(place)
    if low == "one" and tree.words[place].dep not in ("nummod", "compound", "quantmod"):
        return tree.child(place, "prep") is None  # "one of the keys" says of what
    if low in ("so", "first", "second", "third", "next", "one", "but"):
        return tree.words[place].tag in ("RB", "CC") or (low == "one" and tree.words[place].tag != "CD")
    return english_clauses.points_that(tree, place) or low in _REFERRING


def _is_specific(tree: Tree, places: Indices) -> bool:
    """Return whether a subject says by itself what it is: a noun, no pronoun, not "the course" without more."""
    words = tree.words
    head = next((p for p in places if words[p].head not in places), places[0])
    if words[head].tag[:2] != "NN" or any(english.is_bare(tree, p) for p in places):
        return False
    if any(words[p].tag in ("PRP", "WP", "WDT", "EX") for p in places) and words[head].tag[:3] != "NNP":
        return False
    if any(words[p].dep == "appos" for p in places):
        return False
    before = {tree.low(p) for p in places if p < head}
    if before & _VAGUE or tree.low(places[0]) in ("its", "their", "his", "her"):
        return False
    if _is_compared(tree, places) or _is_any_of_its_kind(tree, head) or _is_one_of_several(tree, places, head):
        return False
    if tree.low(places[0]) == "the" and _is_only_ordered(tree, head):
        return False
    return words[head].lemma.lower() not in english.EMPTY or len(_content(tree, places)) > 2


def _is_known(tree: Tree, places: Indices, topic: Topic) -> bool:
    """Return whether a noun phrase is of what was spoken of: "the default order", "the extra disks", described only.

    What names it, says of what it is, or stands in the title that the question will name, tells which it is.
    """
    return _is_unnamed(tree, places) and tree.words[_head(tree, places)].lemma.lower() not in topic.words


def _is_unnamed(tree: Tree, places: Indices) -> bool:
    """Return whether a noun phrase begins with "the", and all that specifies its common noun describes it."""
    words, head = tree.words, _head(tree, places)
    is_common = words[head].tag in ("NN", "NNS") and not words[head].entity and words[head].text.islower()
    if tree.low(places[0]) != "the" or not is_common:
        return False
    others = tree.specifiers(head)
    described = ("amod", "advmod", "quantmod")
    return all(words[c].dep in described and words[c].text.islower() and words[c].tag != "VBG" for c in others)


def _is_any_of_its_kind(tree: Tree, head: int) -> bool:
    """Return whether a plural has nothing but its state or rank: "existing quotes", "new releases"; persons may."""
    words = tree.words
    others = [c for c in tree.children[head] if words[c].dep not in ("punct", "predet")]
    is_plain = words[head].tag == "NNS" and words[head].text.islower() and not english.may_act(tree.low(head))
    return is_plain and bool(others) and all(tree.low(c) in _UNTOLD for c in others)


def _is_one_of_several(tree: Tree, places: Indices, head: int) -> bool:
    """Return whether a noun phrase is of "one" of several things, whichever: "one popular berth"; "one boat" counts."""
    return tree.low(places[0]) == "one" and any(p < head and tree.words[p].tag[:2] == "JJ" for p in places)


def _is_compared(tree: Tree, places: Indices) -> bool:
    """Return whether a noun is compared with what was said before: "longer requests", with no "than"."""
    words = tree.words
    comparative = any(
        words[p].tag == "JJR" and words[p].dep == "amod" and not (p and tree.low(p - 1) in ("or", "and", "no", "any"))
        for p in places
    )
    return comparative and not any(tree.low(p) == "than" for p in places)


def _is_only_ordered(tree: Tree, head: int) -> bool:
    """Return whether all that specifies a noun is its rank among others: "the main exception"."""
    others = tree.specifiers(head)
    return all(tree.low(c) in _ORDERING or tree.words[c].tag in ("JJR", "JJS") for c in others)


def _content(tree: Tree, places: Sequence[int]) -> list[int]:
    words = tree.words
    return [
        p
        for p in places
        if words[p].tag[:2] in ("NN", "VB", "JJ", "CD", "FW") and words[p].lemma.lower() not in english.EMPTY
    ]


def _known(tree: Tree, places: Sequence[int]) -> frozenset[str]:
    return frozenset(tree.words[p].lemma.lower() for p in places)


def _told(tree: Tree, question: str) -> frozenset[str]:
    """Return the words of a question, and the lemmas of those that the sentence has too."""
    said = frozenset(re.findall(r"[\w.-]+", question.lower()))
    return said | {word.lemma.lower() for word in tree.words if word.text.lower() in said}


def _facts(tree: Tree, clause: Clause, topic: Topic, usage: _Usage) -> Iterator[_Draft]:
    """Yield definitions, numbers, times, places, persons and objects."""
    found = [*_definitions(tree, clause, topic), *_quantities(tree, clause, topic)]
    if any(draft.type == "number" for draft in found):
        yield from found
        return
    for asked in english.asked_of(tree):
        kind = _type(asked)
        if not kind or (found and tree.words[clause.verb].lemma == "be") or not _is_precise(tree, asked, kind):
            continue
        if any(tree.words[p].dep[:5] == "nsubj" and _is_unnamed(tree, tree.below(p)) for p in clause.before):
            continue  # "since the old value changed, …": of what?
        question = _begun(tree, asked)
        if asked.wh == "who" and not _is_person(tree, asked.answer, usage.common):
            is_thing = _asks_for_subject(tree, asked)
            question = _of_thing(tree, asked, question, usage.common) if is_thing else ""
        if question:
            subject, attribute = _about(tree, asked, topic)
            known = _told(tree, question)
            question = _without_capital(tree, question, usage)
            doubt = OTHERS if _may_have_others(tree, asked, kind) else ""
            found.append(_Draft(question, tree.text(asked.answer), kind, subject, attribute, known, asked.score, doubt))
    facts = [draft for draft in found if draft.type == "fact"]
    others = {draft.question: draft for draft in found if draft.type != "fact"}
    yield from others.values()
    if facts and not others:  # several facts of one sentence would stand and fall together
        yield max(facts, key=lambda draft: (not draft.doubt, draft.score))


def _quantities(tree: Tree, clause: Clause, topic: Topic) -> Iterator[_Draft]:
    """Ask for an attribute that is measured: "what is the length of the Oslo lock?"."""
    found = english_quantities.quantity_of(tree, clause)
    if found is None or not _is_specific(tree, found.thing) or _is_known(tree, found.thing, topic):
        return
    words = [*found.thing, *found.attribute]
    if any(_refers(tree, p) for p in words) or _is_compared(tree, words):
        return
    thing = english.inside(tree, found.thing, tree.joined(found.thing))
    attribute = tree.joined(found.attribute)
    yield _Draft(
        f"what is the {attribute} {found.joint} {thing}?", tree.text(found.amount), "number", _bare(tree, found.thing),
        attribute, _known(tree, words), 7.0,
    )  # fmt: skip


def _without_capital(tree: Tree, question: str, usage: _Usage) -> str:
    """Return the question with the sentence's first word in lower case, where it is a common word and no entity."""
    first = tree.words[0]
    if first.entity or not first.text[1:].islower() or first.text in usage.names:
        return question
    if first.text.lower() not in usage.common:
        return question
    return re.sub(rf"\b{re.escape(first.text)}\b(?! [A-Z])", first.text.lower(), question, count=1)


def _of_thing(tree: Tree, asked: Asked, question: str, common: Container[str]) -> str:
    """Return the question by "what" where what the parser took for a person is none; "" where it may be one."""
    names = [tree.low(p) for p in asked.answer if tree.words[p].tag[:2] == "NN"]
    head = tree.words[_head(tree, asked.answer)]
    if head.text.lower() in english.SOMEBODY:
        return ""
    is_known = len(names) > 1 and any(name in common for name in names)
    if asked.wh != "who" or asked.kind != "subject" or not is_known:
        return ""
    return re.sub(r"\bwho\b", "what", question, count=1)


def _begun(tree: Tree, asked: Asked) -> str:
    """Return the question as after a comma: only a name keeps its capital at the beginning."""
    before = asked.clause.before
    if before:
        return english.inside(tree, before, asked.question)
    return english.lowered(asked.question)


def _type(asked: Asked) -> QuestionType | None:
    """Return the type of a question, None for those that often fail."""
    if asked.kind == "number":
        return None
    return "number" if re.search(r"how (?:many|much|often)|when$", asked.wh) else "fact"


def _definitions(tree: Tree, clause: Clause, topic: Topic) -> Iterator[_Draft]:
    """Ask what the subject is, where the sentence says what kind of thing it is: "is a machine that …"."""
    words, verb = tree.words, clause.verb
    head = tree.child(verb, "attr")
    if head is None or head not in clause.rest or not clause.subject or clause.before or clause.between:
        return
    places = [*clause.subject, *clause.rest]
    vague = any(tree.low(p) == "only" or tree.low(p) in _QUANTIFIERS for p in tree.below(head) if p < head)
    vague = vague or any(tree.low(p) in ("different", "same", "other", "similar") for p in clause.rest if p < head)
    if vague or words[head].lemma.lower() in english.EMPTY | _ROLES or words[clause.rest[0]].tag in (",", ":", "RB"):
        return
    if not _is_term(tree, clause.subject) or _is_judged(tree, clause, head):
        return
    if not english_standalone.defines(tree, clause, head):
        return
    if any(_refers(tree, p) or tree.low(p) in _HEDGED or tree.low(p) in ("you", "we") for p in places):
        return
    if tree.low(clause.subject[0]) == "the" and len(clause.subject) <= 3 and not topic.is_titled:
        return  # "the return value": of what?
    if words[clause.subject[0]].tag == "PRP$" or english.may_act(tree.low(_head(tree, clause.subject))):
        return
    is_kind = words[verb].lemma == "be" and words[verb].tag in ("VBZ", "VBP") and _names_a_kind(tree, head)
    subject = english.inside(tree, clause.subject, tree.joined(clause.subject))
    if is_kind and 3 <= len(clause.rest) <= 30 and not english_phrases.holds(subject, tree.text(clause.rest)):
        known = _known(tree, clause.subject)
        score = 5.0 + any(words[p].tag[:3] == "NNP" for p in clause.subject)
        bare = _bare(tree, clause.subject)
        question = f"what {tree.low(verb)} {subject}?"
        yield _Draft(question, tree.text(clause.rest), "definition", bare, "", known, score)


def _is_term(tree: Tree, subject: Indices) -> bool:
    """Return whether a subject is a term or name, which can be defined, and no thing in its circumstances.

    "The continued existence of the section" and "script names that begin with a dash" are none; nor are two things.
    """
    words, head = tree.words, _head(tree, subject)
    if all(words[p].tag in ("NNP", "NNPS", "POS") or tree.low(p) in ("the", "of", "for", "and") for p in subject):
        return True
    below = [c for c in tree.children[head] if c in subject]
    return not any(words[c].dep in ("prep", "acl", "relcl", "cc", "conj", "appos", "punct") for c in below)


def _is_judged(tree: Tree, clause: Clause, head: int) -> bool:
    """Return whether a noun judges or points instead of telling a kind.

    So do "a difficult thing to do", "a very good fit", "the owner"; and "a nice feature is the …" says what it is of.
    """
    words = tree.words
    adjectives = [c for c in tree.children[head] if words[c].dep == "amod"]
    if any(tree.low(c) in _JUDGING or tree.child(c, "advmod") is not None for c in adjectives):
        return True
    is_described = any(words[c].dep == "amod" and c < head for c in tree.children[head])
    if is_described and any(
        words[c].dep in ("relcl", "acl") and words[tree.below(c)[0]].tag == "TO" for c in tree.children[head]
    ):
        return True
    determiner = tree.child(head, "det")
    is_one = determiner is not None and tree.low(determiner) == "the"
    if is_one and tree.low(clause.subject[0]) in ("a", "an"):
        return True
    return is_one and not any(c > head and words[c].dep in ("prep", "relcl", "acl") for c in tree.children[head])


def _names_a_kind(tree: Tree, head: int) -> bool:
    """Return whether a noun is told from others by what follows it or is compounded with it."""
    determiner = tree.child(head, "det")
    begins = tree.low(determiner) in ("a", "an", "the") if determiner is not None else tree.words[head].tag == "NNS"
    told = any(
        (c > head and tree.words[c].dep in ("prep", "relcl", "acl") and tree.low(c) not in _NO_KIND)
        or tree.words[c].dep in ("compound", "nmod")
        for c in tree.children[head]
    )
    return begins and told


def _is_precise(tree: Tree, asked: Asked, kind: QuestionType) -> bool:
    """Return whether the answer is a fact, and one answer fits, as far as `_may_have_others` does not tell."""
    words = tree.words
    low = {tree.low(p) for p in asked.remaining}
    if not _HEDGED.isdisjoint(low) or not _ends_well(tree, asked) or _has_a_remark(tree, asked):
        return False
    if any(_refers(tree, p) or _points_by_adjective(tree, p) for p in (*asked.remaining, *asked.answer)):
        return False
    if _is_compared(tree, [*asked.answer, *asked.remaining]) or not english_coordination.is_whole(tree, asked):
        return False
    if not {"nobody", "none", "nothing", "no", "neither", "only"}.isdisjoint(low | {tree.low(p) for p in asked.answer}):
        return False
    if kind == "number" or asked.wh in ("where", "why"):
        return _content_enough(tree, asked, 2) and _is_certain(tree, asked)
    if asked.wh == "who" or "whom" in asked.wh:
        is_told = asked.wh in ("who", "by whom") and bool(asked.clause.subject)
        return is_told and _content_enough(tree, asked, 3)
    if any(words[p].entity in ("DATE", "TIME", "MONEY", "PERCENT") for p in asked.answer):
        return False
    if any(tree.low(p) in _QUANTIFIERS for p in asked.answer if p < _head(tree, asked.answer)):
        return False
    if not _is_thing(tree, asked):
        return False
    return _asks_for_subject(tree, asked) if asked.kind == "subject" else _leaves_one_gap(tree, asked)


def _may_have_others(tree: Tree, asked: Asked, kind: QuestionType) -> bool:
    """Return whether a question by "what" for an object may have more answers than the one of its sentence."""
    is_by_what = kind == "fact" and asked.kind == "object" and asked.wh not in ("where", "why", "who", "by whom")
    return is_by_what and not _asks_for_object(tree, asked)


def _has_a_remark(tree: Tree, asked: Asked) -> bool:
    """Return whether a question has what compares, comments or stands for more, or is about numbers without a name."""
    if _is_between_numbers(tree, asked.clause.subject):
        return True
    if english_standalone.is_open(tree, asked.answer, asked.remaining):
        return True
    return _loose_relative(tree, asked.remaining) or _is_likened(tree, asked.remaining)


def _is_certain(tree: Tree, asked: Asked) -> bool:
    """Return whether one number, time, place or reason answers, and the question closes up over it."""
    if asked.wh == "where" and _tells_a_story(tree, asked.clause):
        return False
    direct = tree.words[_head(tree, asked.answer)].dep in ("dobj", "attr")
    return _is_only_one(tree, asked) and (not direct or _is_near(tree, asked))


def _tells_a_story(tree: Tree, clause: Clause) -> bool:
    """Return whether the reader does what is no duty, right or offer: "you decide to buy a boat in Oslo"."""
    addressed = any(tree.low(p) in ("you", "we") for p in clause.subject)
    return addressed and not any(tree.words[p].tag == "MD" for p in clause.between)


def _is_between_numbers(tree: Tree, subject: Indices) -> bool:
    """Return whether a subject is of bare numbers: "the difference between $5 and $3"."""
    words = tree.words
    return any(
        words[p].dep == "pobj" and words[p].tag == "CD" and tree.child(p, "cc") is not None
        for p in subject
        if tree.low(words[p].head) in ("between", "of", "from")
    )


def _is_likened(tree: Tree, places: Indices) -> bool:
    """Return whether a question would drag along a comparison: ", just like on a paper chart"."""
    return any(
        tree.low(p) in ("like", "as") and tree.words[p].tag == "IN" and p and tree.low(p - 1) in (",", "just", "much")
        for p in places
    )


def _is_thing(tree: Tree, asked: Asked) -> bool:
    """Return whether an answer by "what" is certain: of two words that say something, a name, or of a full question."""
    words, named = tree.words, tree.words[_head(tree, asked.answer)]
    is_one = asked.kind == "object" and words[asked.answer[0]].tag == "DT" and _content_enough(tree, asked, 5)
    is_one = is_one and words[asked.clause.verb].lemma not in _LIGHT  # "has a bug"
    is_one = is_one or (named.tag == "NNP" and named.dep != "nsubj" and named.entity not in ("", "PERSON"))
    if len(_content(tree, asked.answer)) < (1 if is_one else 2) or len(asked.answer) > 14:
        return False
    return not _is_empty(tree, asked.answer) and named.lemma.lower() not in english.EMPTY


def _points_by_adjective(tree: Tree, place: int) -> bool:
    """Return whether a word is the adjective of a noun that was spoken of: "the current class", "the given name"."""
    noun = tree.words[place].head
    return tree.low(place) in _POINTING and tree.words[place].dep == "amod" and _is_unnamed(tree, tree.below(noun))


def _is_empty(tree: Tree, places: Indices) -> bool:
    """Return whether an answer is a common noun that nothing tells from others of its kind: "the necessary tools"."""
    words, head = tree.words, _head(tree, places)
    if words[head].tag not in ("NN", "NNS") or words[head].entity or not words[head].text.islower():
        return False
    others = [p for p in places if p != head and words[p].tag not in ("DT", "PDT")]
    return all(words[p].dep == "amod" and tree.low(p) in _UNTOLD for p in others)


def _is_only_one(tree: Tree, asked: Asked) -> bool:
    """Return whether the question holds no other time or amount than the one it asks for."""
    words = tree.words
    when = asked.wh.endswith("when") or asked.wh == "how often"
    if when and not {"next", "last", "past", "coming", "today"}.isdisjoint(tree.low(p) for p in asked.answer):
        return False
    if asked.wh == "how often" and not _OFTEN.isdisjoint(tree.low(p) for p in asked.remaining):
        return False
    if when and any(words[p].entity in ("DATE", "TIME") or tree.low(p) in ("every", "each") for p in asked.remaining):
        return False
    if asked.wh == "how much" and any(words[p].entity == "MONEY" for p in asked.remaining):
        return False
    if asked.wh == "how often" and not _MAYBE.isdisjoint(tree.low(p) for p in asked.clause.between):
        return False
    named = any(words[p].tag in ("CD", "NNP", "NNPS") or tree.low(p) in ("every", "each", "noon") for p in asked.answer)
    return named or not when


def _asks_for_subject(tree: Tree, asked: Asked) -> bool:
    """Return whether "what …" has one answer: what happens is said in full, by no form of "be"."""
    verb, before = asked.clause.verb, asked.clause.before
    if any(tree.words[p].tag == "PRP$" and tree.low(p) in ("its", "their") for p in asked.remaining):
        return False
    opens = bool(before) and tree.words[before[0]].dep in ("mark", "advmod")
    if opens and not any(tree.words[p].dep[:5] == "nsubj" for p in before):  # "if enabled, …": what is?
        return False
    if not english_standalone.is_complete(tree, asked.clause, asked.answer):
        return False
    is_state = tree.words[verb].lemma in ("be", "have") or tree.words[verb].tag == "VBG"
    helpers = {tree.words[p].lemma.lower() for p in asked.clause.between}
    head = _head(tree, asked.answer)
    if is_state or not _MAYBE.isdisjoint(helpers) or ("will" in helpers and tree.words[head].dep == "nsubj"):
        return False
    others = [c for c in tree.children[head] if tree.words[c].dep not in ("det", "punct")]
    if others and all(tree.low(c) in _UNTOLD for c in others):  # "the default order"
        return False
    if tree.child(verb, "neg") is not None:  # "what is not bound to one desk?": many things are not
        return False
    if tree.child(head, "nummod") is not None or tree.low(head) in english.SOMEBODY:
        return False
    if english.may_act(tree.low(head)) or _may_be_a_person(tree, asked):
        return False  # who or what: grammar leaves it open
    told = [p for p in asked.remaining if p not in before]
    return len(_content(tree, told)) >= 4 and len(asked.answer) <= _LONGEST_SUBJECT and _is_specific(tree, asked.answer)


def _may_be_a_person(tree: Tree, asked: Asked) -> bool:
    """Return whether an answer by "what" is a name of two words or more that acts and is known as no other thing."""
    words = tree.words
    acts = asked.wh == "what" and words[_head(tree, asked.answer)].dep == "nsubj"
    is_name = len(asked.answer) > 1 and all(words[p].tag == "NNP" and words[p].text.istitle() for p in asked.answer)
    return acts and is_name and words[_head(tree, asked.answer)].entity in ("", "PERSON", "GPE", "NORP")


def _leaves_one_gap(tree: Tree, asked: Asked) -> bool:
    """Return whether a question for an object closes up over it, and does not ask for what the object does."""
    clause, following = asked.clause, asked.answer[-1] + 1
    if not _is_near(tree, asked) or not _content_enough(tree, asked, 3):
        return False
    if tree.child(clause.verb, "neg") is not None:  # "what do the boats not carry?": much
        return False
    is_followed = following in clause.rest and tree.low(following) == "to"
    if is_followed and (tree.words[clause.verb].lemma == "have" or tree.words[clause.verb].lemma in _CAUSING):
        return False  # "what does it have to help …?" asks for a duty; "what does it enable to travel?"
    is_doer = english.may_act(tree.low(_head(tree, asked.answer)))
    return not (is_doer and is_followed)  # "you need a pilot to steer": who steers


def _asks_for_object(tree: Tree, asked: Asked) -> bool:
    """Return whether "what does …" has one answer: of all that one can or will do, few things are the only ones."""
    clause = asked.clause
    helpers = {tree.words[p].lemma.lower() for p in clause.between}
    addressed = not clause.subject or any(tree.low(p) in ("you", "we") for p in clause.subject)
    if "will" in helpers and not clause.before:
        return False
    if addressed:
        ours = bool(clause.subject) and tree.low(clause.subject[0]) == "we" and tree.words[clause.verb].tag == "VBP"
        asks = (
            ours
            or bool(helpers & {"must", "should", "shall", "can"})
            or tree.words[clause.verb].lemma in ("need", "have")
        )
        asks = asks if clause.subject else bool(clause.before) or _is_conditioned(tree, clause)
        outside = [p for p in asked.remaining if p not in clause.before]
        return asks and _content_enough(tree, asked, 4) and len(_content(tree, outside)) >= 2
    subject_head = _head(tree, clause.subject)
    is_called = tree.words[clause.verb].lemma == "be" and tree.words[_head(tree, asked.answer)].dep == "attr"
    is_remark = tree.low(asked.answer[0]) in ("a", "an") or tree.words[clause.subject[0]].tag == "NNS"
    if tree.words[clause.verb].lemma in _ALLOWING:
        return False  # "what does the desk allow?": much
    if is_called and is_remark:  # "the loss of the boat is a cause of worry", "walks on quays are the key to health"
        return False
    if is_called and not any(tree.words[c].dep == "prep" for c in tree.children[subject_head]):
        return False  # "the logos are the only ones …": a remark; "the purpose of the visit is …" is asked about
    others = [p for p in asked.remaining if p not in clause.subject and p not in clause.before]
    if tree.words[clause.verb].lemma == "have" and "must" not in helpers:
        return False  # "what does the harbour have on its north side?": much
    names = sum(tree.words[p].tag[:3] == "NNP" for p in clause.subject)
    told = len(_content(tree, others)) >= 2 or len(_content(tree, clause.subject)) - max(names - 1, 0) >= 3
    told = told or (names > 0 and len(_content(tree, [p for p in others if p != clause.verb])) > 0)
    return _MAYBE.isdisjoint(helpers) and told and _content_enough(tree, asked, 3)


def _is_conditioned(tree: Tree, clause: Clause) -> bool:
    """Return whether a clause by "if", "when", "before" … says when the verb holds."""
    return any(
        tree.words[c].dep == "advcl" and tree.words[tree.below(c)[0]].tag in ("IN", "WRB") and c in clause.rest
        for c in tree.children[clause.verb]
    )


def _head(tree: Tree, places: Indices) -> int:
    """Return the word of a phrase that governs its others."""
    return next((p for p in places if tree.words[p].head not in places), places[0])


def _loose_relative(tree: Tree, places: Indices) -> bool:
    """Return whether a question would drag along an aside: ", which …"."""
    return any(tree.words[p].tag in ("WDT", "WP") and p and tree.low(p - 1) == "," for p in places)


def _is_near(tree: Tree, asked: Asked) -> bool:
    """Return whether the gap that an object leaves follows the verb, or the infinitive that completes it."""
    words, verb = tree.words, asked.clause.verb
    head = _head(tree, asked.answer)
    governor = words[head].head
    before = asked.answer[0] - 1
    if before != governor and not (words[before].head == governor and words[before].dep in ("prt", "advmod", "neg")):
        return False
    idiom = words[head].tag == "NN" and tree.child(head, "det", "poss", "amod", "compound") is None
    if any(words[c].dep in ("xcomp", "ccomp") and c > head for c in tree.children[governor]):
        return False  # "enables staff to travel": whom, to do what
    if words[governor].lemma == "play" and words[head].lemma in ("role", "part"):
        return False
    if idiom and words[governor].lemma in _LIGHT:  # "keeps track of it"
        return False
    if governor == verb:
        return True
    completes = words[governor].dep == "xcomp" and words[governor].head == verb and words[governor].tag == "VB"
    return completes and words[verb].tag != "VBN" and tree.child(verb, "dobj", "attr", "acomp") is None


def _content_enough(tree: Tree, asked: Asked, least: int) -> bool:
    counted = len(asked.wh.partition("how many ")[2].split())
    return len(_content(tree, asked.remaining)) + counted >= least


def _ends_well(tree: Tree, asked: Asked) -> bool:
    """Return whether what follows an object is an adverbial, so that the question closes up over the gap."""
    if asked.kind == "subject":
        return True
    after = [p for p in asked.clause.rest if p > asked.answer[-1] and p in asked.remaining]
    if not after:
        return True
    word = tree.words[after[0]]
    return word.tag in ("IN", "TO", "WRB", "RB", ",") and word.dep not in ("relcl", "acl", "cc", "conj")


def _is_person(tree: Tree, places: Indices, common: Container[str]) -> bool:
    """Return whether the answer is the full name of a person, alone: no word of it is `common` in lower case."""
    words = tree.words
    names = [p for p in places if words[p].entity == "PERSON" and words[p].tag == "NNP"]
    return (
        len(names) >= 2
        and len(names) >= len(places) - 1
        and all(words[p].text[1:].islower() and words[p].text.lower() not in common for p in names)
    )


def _about(tree: Tree, asked: Asked, topic: Topic) -> tuple[str, str]:
    """Return what the claim is about and what it says of it: of "the fee of the hall", the hall and its fee."""
    clause = asked.clause
    counted = "how many" in asked.wh
    attribute = tree.text([p for p in asked.answer if tree.words[p].tag[:2] == "NN"]) if counted else ""
    if asked.kind == "subject" or not clause.subject:
        title = topic.section or topic.document
        return (title.text if title else "", attribute)
    subject = clause.subject
    head = next((p for p in subject if tree.words[p].head == clause.verb), subject[0])
    of = next((c for c in tree.children[head] if tree.low(c) == "of" and c in subject), None)
    if of is not None and tree.child(of, "pobj") is not None and tree.words[clause.verb].lemma == "be":
        owner = [p for p in tree.below(of) if p != of]
        return _bare(tree, owner), attribute or _bare(tree, [p for p in subject if p < of])
    return _bare(tree, subject), attribute


def _bare(tree: Tree, places: Indices) -> str:
    """Return a noun phrase without its article."""
    kept = [p for p in places if not (p == places[0] and tree.words[p].tag in ("DT", "PRP$"))]
    return tree.text(kept) if kept else ""


def _exceptions(tree: Tree, clause: Clause, topic: Topic, *, is_described: bool) -> Iterator[_Draft]:
    """Yield what is not so: "unless …", "except …", and what a negated verb denies."""
    unless = next((c for c in tree.children[clause.verb] if _mark(tree, c) == "unless"), None)
    negated = tree.child(clause.verb, "neg")
    if unless is not None:
        yield from _unless(tree, clause, unless, negated)
    elif negated is not None and tree.low(negated) in ("not", "n't", "n’t", "never"):
        yield from _denied(tree, clause, negated, topic, is_described=is_described)


def _mark(tree: Tree, place: int) -> str:
    mark = tree.child(place, "mark")
    return tree.low(mark) if mark is not None and tree.words[place].dep == "advcl" else ""


_SCOPED = candidate.word_set(
    "until just only necessarily always all every each everyone because since but than as any either anymore"
    " some many most few several"
)


def _denied(tree: Tree, clause: Clause, negated: int, topic: Topic, *, is_described: bool) -> Iterator[_Draft]:
    """Ask whether what is denied is so; the answer is no, and the claim. What an option does is no advice."""
    places = [*clause.before, *clause.subject, *clause.between, clause.verb, *clause.rest]
    if any(word.text.lower() in _SCOPED or word.text.lower() in _HEDGED for word in tree.words):
        return
    if len(_content(tree, places)) < 2 or any(tree.low(p) in ("its", "their") for p in clause.subject):
        return
    if len(_content(tree, places)) < 3 and not any(tree.words[p].tag[:2] == "NN" for p in clause.subject):
        return
    modal = any(tree.words[p].tag == "MD" for p in clause.between) or tree.words[clause.verb].lemma in ("need", "have")
    if any(tree.low(p) == "you" for p in clause.subject) and not modal:  # what the reader is or does
        return
    if not clause.subject and (tree.words[clause.verb].lemma in _NO_BAN or is_described):
        return
    if clause.before and tree.low(clause.before[0]) in ("though", "although", "while", "whereas"):
        return
    if any(_refers(tree, p) for p in places) or _loose_relative(tree, places) or not clause.rest:
        return
    if any(tree.low(p) in ("would", "could", "might") for p in clause.between):  # what would be, if
        return
    line = _polar(tree, clause, negated)
    if line:
        subject = _bare(tree, clause.subject) if clause.subject else ""
        title = topic.section or topic.document
        statement = english.inside(tree, [0, 1], tree.text(list(range(max(places) + 1))))
        known = _known(tree, places)
        score = 3.0 + min(len(_content(tree, places)), 6) * 0.5
        yield _Draft(
            line,
            f"No, {statement}".rstrip("."),
            "exception",
            subject or (title.text if title else ""),
            "",
            known,
            score,
        )


def _polar(tree: Tree, clause: Clause, negated: int | None) -> str:
    """Return the clause as a question that is answered by yes or no, without its negation; "" where it has no form."""
    words, verb = tree.words, clause.verb
    helpers = [p for p in clause.between if words[p].dep in ("aux", "auxpass") and words[p].head == verb]
    between = [p for p in clause.between if p != negated]
    rest = [p for p in clause.rest if p != negated]
    if not clause.subject:
        middle = [p for p in between if words[p].lemma != "do" and tree.low(p) != "please"]
        pieces: tuple[str | Indices, ...] = ("should you", middle, words[verb].text.lower(), rest)
    else:
        subject = english.inside(tree, clause.subject, tree.joined(clause.subject))
        if words[verb].lemma == "be" and not helpers:
            pieces = (english.full(words[verb]), subject, between, rest)
        elif helpers:
            helper = english.full(words[helpers[0]])
            helper = "may" if negated is not None and helper in ("must", "shall") else helper
            pieces = (helper, subject, [p for p in between if p != helpers[0]], [verb], rest)
        elif words[verb].tag in english_clauses.DO:
            pieces = (english_clauses.DO[words[verb].tag], subject, between, words[verb].lemma, rest)
        else:
            return ""
    line = tree.joined(*pieces)
    if before := tree.joined(clause.before):
        line = f"{english.inside(tree, clause.before, before)}, {line}"
    return line.rstrip(" .,;:!") + "?"


def _unless(tree: Tree, clause: Clause, unless: int, negated: int | None) -> Iterator[_Draft]:
    """Ask in what case the main clause is otherwise; the answer is the condition."""
    condition = tree.below(unless)
    if condition[0] <= clause.verb or not english_clauses.unbroken(condition) or not clause.subject:
        return
    rest = [p for p in clause.rest if p < condition[0]]
    main = Clause(clause.before, clause.subject, clause.between, clause.verb, rest)
    line = _polar(tree, main, negated)
    answer = [p for p in condition if p != tree.child(unless, "mark") and p in clause.rest]
    kept = [*clause.before, *clause.subject, *clause.between, clause.verb, *rest]
    if any(_refers(tree, p) for p in (*kept, *answer)):
        return
    if not line or clause.before or len(answer) < 3 or len(_content(tree, kept)) < 3:
        return
    if negated is None:
        subject = english.inside(tree, clause.subject, tree.joined(clause.subject))
        head, found, tail = line.partition(f" {subject} ")
        line = f"{head}{found}not {tail}" if found else ""
    if line:
        yield _Draft(
            f"in what case {line}",
            tree.text(answer),
            "exception",
            _bare(tree, clause.subject),
            "",
            _known(tree, kept),
            7.0,
        )
