"""Bridges: questions that need two to five passages, joined over a rare entity that they share.

Where one claim answers with an entity, or defines it, and others are about it, these describe it by the first claim:
"When does the guild that runs the fair meet?". Else one question asks for several facts about the entity, or for what
several passages say about it. Facts that share only the topic of their document come last.

Some are doubtful: those whose parts no word joins, those for what is said about a general term, and those that lead on
to a second entity.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ragviz.backends.terms import HAN_RUN
from ragviz.claims import phrasing
from ragviz.claims.candidate import Candidate, word_set
from ragviz.claims.english_clauses import Tree
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import joined_draft
from ragviz.generation.entities import Claims, holds, kind, normal
from ragviz.generation.joined_draft import JoinedDraft, are_separate, best, can_join, is_usable, lead
from ragviz.generation.mentions import Mention, mentions, said_about
from ragviz.generation.noun_phrases import NounPhrase, noun_phrases
from ragviz.text.stems import content_words, stem
from ragviz.text.words import parse

LOOKED_AT = 24
"""Claims about one entity that are joined with each other at most, the best ones."""
ROUNDS = 4
"""Times that the claims of a topic are grouped, each time those first that are in the fewest questions."""
_CHAINED = 3.0
"""How much better a chain is than a joint question."""
_LISTED = 2.0
"""How much worse each cell or value of a list makes a joint question beyond the first: they have little in common."""
_ONLY_TOPIC = 2.0
"""How much worse a joint question is that names the entity only as the topic of its parts."""
_OF_ONE_PAGE = 8.0
"""How much worse a question is whose parts share only the topic of their document: all others come before it."""
_DOCUMENTS = 0.5
"""How much better each further document makes a joint question."""
ONE_PAGE = "its parts share only their page"
"""The doubt about a question whose parts are about several things of one page."""
TWO_THINGS = "its parts are about two things"
GENERAL_TERM = "it is about a general term of the documents"
LINKED = 2
"""Questions that lead on to a second entity, of one passage at most."""
SAID = 12
"""Passages about one entity of which nothing is asked but what they say, at most."""

_NAMED = re.compile(r"(?:What|Who|Which|Where) (?:is|are|was|were) (the [^?]+)\?")
_CHINESE_NAMED = re.compile(r"(.+的[^的，。？]{1,10})(?:是|为)(?:什么|谁|哪个|哪里|多少)？")
_CHINESE_WHO = re.compile(r"谁(?!的)([^？，]+)？")
_VALUE = re.compile(
    r"(?:what|who|which) (?:is|are) the [^?]*\?$|[^，？]*的[^，？]*是(?:什么|多少|谁)？$", re.IGNORECASE
)
_COMPARES = re.compile(
    r"\b(?:different|another|other|same|similar|(?:one|kind|type|sort|part) of|example|way|ones?|several|some)\b"
    r"|之一|一种|一类|其他|另"
)
"""What says that something else is meant too: no description of one thing."""
_RESTRICTED = re.compile(r"\b(?:that|which|who|where|for|of|to|used|by|with|in)\b")
_DEFINING = 3  # words of a definition at least
_PREPOSITION = r"\b(?:of|for|in|to|at|from|under|on|by)\b"
_VAGUE = re.compile(
    rf"^what (?:is|are) (?:the|an?) (?:(?!{_PREPOSITION})[^?])*\?|\bwhat (?:is|are) (?:listed|given)\b"
    r"|\bwhat (?:has|have|had)\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\b(?:as follows|the following|above|below)\b|如下|以下|下列|上述", re.IGNORECASE)
_QUOTED = re.compile(r"[“《]([^”》]+)[”》]")
_THIRD = {"have": "has", "do": "does", "be": "is", "go": "goes"}
_HELPERS = word_set("can could will would should must may might is are was were has have had")


def bridges(corpus: Claims, passages: int, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield bridges of so many passages, entity by entity; no claim is used twice for one entity."""
    said = mentions(corpus)
    for entity in sorted({*corpus.rare(), *said}):
        about = [corpus.all[number] for number in corpus.about.get(entity, ())]
        answering = [corpus.all[number] for number in corpus.answering.get(entity, ())]
        for language in sorted({claim.language for claim in (*about, *(each.claim for each in said.get(entity, ())))}):
            facts = best(_joinable(about, language), LOOKED_AT, seed)
            told = _told((each for each in said.get(entity, ()) if passages > 2 or not each.is_general), language, seed)
            first = best((c for c in (*answering, *about) if c.language == language), LOOKED_AT, seed)
            name = corpus.names.get(entity) or said[entity][0].claim.subject
            yield from _unused(
                chain(
                    _chains(corpus, name, first, facts, told, passages),
                    _joint(corpus, name, _own(facts, name), told, passages),
                )
            )
    yield from _linked(corpus, said, passages, seed)
    for topic, claims in _topics(corpus).items():
        yield from filter(_go_together, _of_one_page(corpus, topic[1], claims, passages, seed))
    by_document: dict[str, list[SourceClaim]] = defaultdict(list)
    for claim in filter(_is_telling, chain(corpus.all, corpus.doubtful)):
        by_document[claim.document_id].append(claim)
    for claims in by_document.values():
        for draft in _of_one_page(corpus, "", claims, passages, seed):
            yield replace(draft, doubt=ONE_PAGE)


def _of_one_page(
    corpus: Claims, topic: str, claims: Sequence[SourceClaim], passages: int, seed: int
) -> Iterator[JoinedDraft]:
    """Yield questions for facts that share the topic of their document."""
    usable = best(claims, LOOKED_AT, seed)
    used: Counter[SourceClaim] = Counter()
    for _ in range(ROUNDS):
        fresh = sorted(usable, key=lambda claim: used[claim])  # those used least come first
        drafts = list(_unused(_joint(corpus, topic, fresh, (), passages)))
        used.update(claim for draft in drafts for claim in draft.claims)
        yield from (replace(draft, score=draft.score - _OF_ONE_PAGE) for draft in drafts)


def _go_together(draft: JoinedDraft) -> bool:
    """Return whether the parts of a question that share a page are about one thing: a word stands in all subjects."""
    named = [{stem(word) for word in content_words(_subject(claim), claim.language)} for claim in draft.claims]
    return bool(set.intersection(*named))


def _subject(claim: SourceClaim) -> str:
    """Return what a question is about by its words, "" where it names only the section that it is of."""
    return claim.subject if _mentions(claim.subject, lead(claim.question)[1]) else ""


def _own(facts: Sequence[SourceClaim], name: str) -> list[SourceClaim]:
    """Return the claims about an entity: their subject, or in English what they say of something, names it.

    A Chinese common noun is another thing under another topic: "the rate" of two functions.
    """
    own = [
        claim
        for claim in facts
        if _mentions(name, _subject(claim) if claim.language == "zh" else f"{_subject(claim)} | {claim.attribute}")
    ]
    topics = {lead(claim.question)[0] for claim in own}
    is_name = not HAN_RUN.search(name) or any(re.search(f"[“「《]{re.escape(name)}[”」》]", c.question) for c in own)
    return own if is_name or len(topics) == 1 else []


def _told(said: Iterable[Mention], language: str, seed: int) -> list[Mention]:
    """Return the best mentions of a language, one of each document before the others."""
    ordered = sorted(
        (each for each in said if each.claim.language == language),
        key=lambda each: (-each.claim.score, joined_draft.order(each.claim, seed)),
    )
    firsts = {each.claim.document_id: each for each in reversed(ordered)}
    return sorted(ordered, key=lambda each: firsts[each.claim.document_id] is not each)[:SAID]


def _joinable(claims: Iterable[SourceClaim], language: str) -> list[SourceClaim]:
    return [claim for claim in claims if claim.language == language and _is_telling(claim)]


def _is_telling(claim: SourceClaim) -> bool:
    """Return whether a claim's question says enough beside others: more than a key, and not what something "has"."""
    rest = lead(claim.question)[1]
    short = claim.type == "definition" and joined_draft.size(claim.answer, claim.language) < _DEFINING
    return can_join(claim) and not short and not _VAGUE.search(rest) and not _ELSEWHERE.search(rest)


def _unused(drafts: Iterable[JoinedDraft]) -> Iterator[JoinedDraft]:
    """Yield the usable drafts of one entity, each claim in one of them only."""
    used: set[SourceClaim] = set()
    for draft in drafts:
        if used.isdisjoint(draft.claims) and is_usable(draft):
            used.update(draft.claims)
            yield draft


def _topics(corpus: Claims) -> dict[tuple[str, str], list[SourceClaim]]:
    """Return the claims that name the same topic, one of this document alone, by document and topic."""
    found: dict[tuple[str, str], list[SourceClaim]] = {}
    rest: dict[str, list[SourceClaim]] = {}
    for claim in filter(_is_telling, corpus.all):
        if quoted := _QUOTED.search(lead(claim.question)[0]):
            found.setdefault((claim.document_id, quoted[1]), []).append(claim)
        else:
            rest.setdefault(claim.document_id, []).append(claim)
    documents = Counter(topic for _, topic in found)
    own = {key: claims for key, claims in found.items() if documents[key[1]] == 1}
    for (document_id, topic), claims in own.items():
        claims += [claim for claim in rest.get(document_id, ()) if holds(claim.question, topic)]
    return own


def _joint(
    corpus: Claims, name: str, facts: Sequence[SourceClaim], told: Sequence[Mention], passages: int
) -> Iterator[JoinedDraft]:
    """Yield questions for several facts about an entity, of passages apart from each other, the best first.

    Where facts are too few, the question asks what other passages say about it.
    """
    left, more, entity = list(facts), list(told), normal(name)
    if passages == 2:  # what is only an object in two passages joins them by chance
        more = [each for each in more if each.is_subject or each.claim.language == "zh"]
    while len(left) + len(more) >= passages:
        ordered = [*(each for each in left[1:] if _is_about(each, entity)), *left[1:]]
        group = _apart(corpus, left[:1], ordered, passages)
        whole = _apart(corpus, group, [each.claim for each in more], passages)
        if len(whole) == passages:
            yield _asked_together(name, group, [each for each in more if each.claim in whole])
            left = [claim for claim in left if claim not in whole]
            more = [each for each in more if each.claim not in whole]
        elif left:
            left = left[1:]
        else:
            return


def _apart(
    corpus: Claims, group: Sequence[SourceClaim], claims: Iterable[SourceClaim], most: int, *, chained: bool = False
) -> list[SourceClaim]:
    """Return a group with those of the claims added, up to `most`, that differ from it and are apart from it."""
    found = list(group)
    for claim in claims:
        if len(found) == most:
            break
        if _differ(claim, found) and are_separate([*found, claim], corpus, chained=chained):
            found.append(claim)
    return found


def _linked(corpus: Claims, said: Mapping[str, Sequence[Mention]], passages: int, seed: int) -> Iterator[JoinedDraft]:
    """Yield questions for what passages say about an entity, and another about a second one.

    The second one is named by one of these passages, too, else by its document; what is said about it stands elsewhere.
    """
    named: dict[tuple[str, int], list[str]] = defaultdict(list)
    beside: dict[str, list[str]] = defaultdict(list)
    for entity, own in said.items():
        for each in own:
            named[each.claim.document_id, each.claim.start].append(entity)
            beside[each.claim.document_id].append(entity)
    used: Counter[tuple[str, int]] = Counter()
    for entity in sorted(said, key=lambda entity: joined_draft.order(said[entity][0].claim, seed)):
        told = _told(said[entity], said[entity][0].claim.language, seed)
        group = _apart(corpus, (), [each.claim for each in told], passages - 1)
        if len(group) < max(passages - 1, 2):
            continue
        places = [(claim.document_id, claim.start) for claim in group]
        linked = [*(other for place in places for other in named[place]), *(o for i, _ in places for o in beside[i])]
        others = [each for other in dict.fromkeys(linked) for each in _others(said, entity, other)]
        elsewhere = [each for each in others if each.claim.document_id not in {i for i, _ in places}]
        for last in elsewhere:
            if any(used[place] == LINKED for place in (*places, (last.claim.document_id, last.claim.start))):
                continue
            if len(_apart(corpus, group, [last.claim], passages)) < passages:
                continue
            draft = _asked_in_turn([each for each in told if each.claim in group], last)
            if is_usable(draft):
                used.update([*places, (last.claim.document_id, last.claim.start)])
                yield draft


def _others(said: Mapping[str, Sequence[Mention]], entity: str, other: str) -> Sequence[Mention]:
    """Return what is said about another entity, none where one's words are a part of the other's."""
    one, two = set(entity.split()), set(other.split())
    return () if one <= two or two <= one else said[other]


def _asked_in_turn(told: Sequence[Mention], last: Mention) -> JoinedDraft:
    parts = [*_asked_of(told), *_asked_of([last])]
    together = phrasing.joined(parts, last.claim.language)
    claims = [*(each.claim for each in told), last.claim]
    name = told[0].claim.subject
    draft = joined_draft.of_claims("bridge", claims, together.question, together.answer, entity=name, bonus=-_LISTED)
    return replace(draft, doubt=TWO_THINGS)


def _is_listed(claim: SourceClaim) -> bool:
    """Return whether a question asks for a value by its name alone: a cell of a table, a key of a list."""
    rest = lead(claim.question)[1]
    return claim.type == "table" or (bool(claim.attribute) and bool(_VALUE.match(rest)))


def _is_about(claim: SourceClaim, entity: str) -> bool:
    return normal(claim.subject) == entity


def _differ(claim: SourceClaim, group: Sequence[SourceClaim]) -> bool:
    """Return whether a claim asks for something else, with another answer, than all of a group; one cell is enough.

    What is asked of two topics in the same words is not: "what is it?" in two sections.
    """
    if claim.type == "table" and any(other.type == "table" for other in group):
        return False
    return all(
        normal(lead(claim.question)[1]) != normal(lead(other.question)[1])
        and normal(claim.answer) != normal(other.answer)
        for other in group
    )


def _asked_together(name: str, group: Sequence[SourceClaim], said: Sequence[Mention]) -> JoinedDraft:
    ordered = _spread(group)
    claims = [*ordered, *(each.claim for each in said)]
    together = phrasing.joined([*_parts(ordered), *_asked_of(said)], claims[0].language)
    about = sum(_is_about(claim, normal(name)) for claim in ordered)
    only_topic = bool(ordered) and not any(_mentions(name, lead(claim.question)[1]) for claim in ordered)
    listed = sum(map(_is_listed, ordered))
    bonus = 0.5 * about - (_ONLY_TOPIC if only_topic else 0.0) - _LISTED * max(0, listed - 1)
    bonus += _DOCUMENTS * (len({claim.document_id for claim in claims}) - 1)
    draft = joined_draft.of_claims("bridge", claims, together.question, together.answer, entity=name, bonus=bonus)
    return replace(draft, doubt=GENERAL_TERM if any(each.is_general for each in said) else "")


def _parts(ordered: Sequence[SourceClaim]) -> list[Candidate]:
    """Return the questions of claims as parts of one, in which a topic is named once."""
    parts, before = list[Candidate](), ""
    for claim in ordered:
        topic, rest = lead(claim.question)
        question = rest if topic and topic == before else claim.question
        parts.append(Candidate(question, claim.answer, claim.score))
        before = topic
    return parts


def _asked_of(said: Sequence[Mention], phrase: str = "") -> list[Candidate]:
    """Return the one question for what passages say about an entity, called by `phrase` instead where that is given."""
    if not said:
        return []
    places = [(each.title, each.section) for each in said]
    claims = [each.claim for each in said]
    phrases = Counter(each.phrase for each in said)
    asked = said_about(phrase or _most_frequent(phrases), places, claims[0].language)
    answer = ("；" if claims[0].language == "zh" else "; ").join(claim.answer.rstrip(".。") for claim in claims)
    return [Candidate(asked, answer, min(claim.score for claim in claims))]


def _most_frequent(phrases: Counter[str]) -> str:
    """Return the phrase that is given most often; of those with and without an article the one that has it."""
    return max(sorted(phrases), key=lambda text: (phrases[text], text.startswith("the ")))


def _spread(group: Sequence[SourceClaim]) -> list[SourceClaim]:
    """Return the claims with those of one topic together, a definition first."""
    topics = [lead(claim.question)[0] for claim in group]
    return sorted(group, key=lambda c: (topics.index(lead(c.question)[0]), c.type != "definition"))


def _chains(
    corpus: Claims,
    name: str,
    first: Sequence[SourceClaim],
    facts: Sequence[SourceClaim],
    told: Sequence[Mention],
    passages: int,
) -> Iterator[JoinedDraft]:
    """Yield questions about what a first claim answers with or defines, which describes it; "it" for further facts."""
    described = [(claim, text) for claim in first if (text := description(claim, name)) and _tells_one(corpus, text)]
    if not described:
        yield from _answered_first(corpus, name, first, told, passages)
        return
    language = described[0][0].language
    found = noun_phrases([(claim.question, name) for claim in facts], language) if facts else ()
    asked = zip(facts, found, strict=True)
    phrases = {claim: phrase for claim, phrase in asked if phrase and phrase.pronoun and not _leads(name, claim)}
    for claim, text in described:
        rest = [each for each in phrases if each != claim and normal(each.answer) != normal(text)]
        named = [each for each in told if not _mentions(name, f"{each.title} {each.section}")]
        linked = [*rest, *(each.claim for each in named)]
        group = _apart(corpus, [claim], linked, passages, chained=True)
        if len(group) == passages and not any(_mentions(each.answer, text) for each in group[1:]):
            said = [each for each in named if each.claim in group]
            draft = _chained(name, group, [phrases[each] for each in group[1:] if each in phrases], said, text)
            if not _mentions(name, draft.question):
                yield draft


def _tells_one(corpus: Claims, text: str) -> bool:
    """Return whether a description is of one thing: the documents do not give it word for word of two."""
    return corpus.search.count(text.removeprefix("the ")) < 2


def _leads(name: str, claim: SourceClaim) -> bool:
    return _mentions(name, lead(claim.question)[0])


def _answered_first(
    corpus: Claims, name: str, first: Sequence[SourceClaim], told: Sequence[Mention], passages: int
) -> Iterator[JoinedDraft]:
    """Yield questions for what a claim answers with, and for what passages say about that: "it"."""
    for claim in (each for each in first if normal(each.answer) == normal(name) and can_join(each)):
        if _is_backwards(claim):
            continue
        named = [each for each in told if not _mentions(name, f"{each.title} {each.section}")]
        group = _apart(corpus, [claim], [each.claim for each in named], passages, chained=True)
        if len(group) == passages and not _mentions(name, claim.question):
            said = [each for each in named if each.claim in group]
            parts = [*_parts([claim]), *_asked_of(said, "它" if claim.language == "zh" else "it")]
            together = phrasing.joined(parts, claim.language)
            yield joined_draft.of_claims(
                "bridge", group, together.question, together.answer, entity=name, bonus=_CHAINED
            )


def _is_backwards(claim: SourceClaim) -> bool:
    """Return whether an English question asks "what" for the subject of its statement: "What is cut by the saw?"."""
    opens = re.match(r"(?:[^?]+, )?what (?!(?:is|are|was|were) (?:the|an?)\b)", lead(claim.question)[1], re.IGNORECASE)
    return claim.language != "zh" and bool(opens) and normal(claim.statement).startswith(normal(claim.answer))


def _mentions(name: str, text: str) -> bool:
    return holds(text, name)


def _chained(
    name: str, group: Sequence[SourceClaim], facts: Sequence[NounPhrase], said: Sequence[Mention], text: str
) -> JoinedDraft:
    language = group[0].language
    questions = list[str]()
    if facts:
        ending = "’s" if facts[0].possessive and language != "zh" else ""
        questions = [facts[0].replaced(text + ending)]
        questions += [phrase.replaced("它" if language == "zh" else phrase.pronoun) for phrase in facts[1:]]
    parts = [
        Candidate(question, claim.answer, claim.score)
        for question, claim in zip(questions, group[1 : 1 + len(questions)], strict=True)
    ]
    parts += _asked_of(said, ("它" if language == "zh" else "it") if facts else text)
    together = phrasing.joined(parts, language) if len(parts) > 1 else parts[0]
    return joined_draft.of_claims("bridge", group, together.question, together.answer, entity=name, bonus=_CHAINED)


def description(claim: SourceClaim, name: str) -> str:
    """Return what the claim says of the entity that it answers with, as a noun phrase; "" where grammar has none.

    A definition gives its meaning; a claim that answers with something else nothing.
    "What is the capital of France?" gives "the capital of France", "Who approves leave?" "whoever approves leave",
    "Which guild runs the fair?" "the guild that runs the fair".
    """
    question = claim.question
    if claim.type == "definition":
        return _defining(claim, name)
    if normal(claim.answer) != normal(name):
        return ""
    if claim.language == "zh":
        if named := _CHINESE_NAMED.fullmatch(question):
            return named[1]
        who = _CHINESE_WHO.fullmatch(question)
        return f"{who[1]}的人" if who else ""
    if named := _NAMED.fullmatch(question):
        return named[1]
    return _relative(question, kind(name, "en"))


def _defining(claim: SourceClaim, name: str) -> str:
    """Return the meaning of a term as what describes it: "a tool that counts hours" → "the tool that counts hours"."""
    meaning = claim.answer.rstrip(".。；;")
    if normal(claim.subject) != normal(name) or _mentions(name, meaning) or _COMPARES.search(meaning):
        return ""
    if claim.language == "zh":
        return meaning if "的" in meaning[:-1] and 6 <= len(meaning) <= 30 else ""
    if len(meaning.split()) > 16 or len(content_words(meaning, "en")) < 4 or not _RESTRICTED.search(meaning):
        return ""
    article = re.match(r"(?:an?|the) ", meaning)
    return f"the {meaning[article.end() :]}" if article else ""


def _relative(question: str, noun: str) -> str:
    """Return a question as a relative clause: "Which tool do teams use?" → "the tool that teams use"."""
    tree = Tree(question, parse([question], "en")[0])
    words = tree.words
    opening = tree.low(0) if words else ""
    if opening in ("what", "which") and len(words) > 1 and words[1].tag in ("NN", "NNS"):
        noun, rest = words[1].text, 2
    elif opening in ("what", "who"):
        rest = 1
    else:
        return ""
    body = [place for place in range(rest, len(words)) if words[place].text not in "?？"]
    if not body or "," in question:
        return ""
    subject = tree.child(tree.root, "nsubj", "nsubjpass")
    inverted = len(body) > 1 and words[body[0]].dep[:3] == "aux" and words[body[1]].tag in ("DT", "PRP", "PRP$")
    if subject is not None and subject < rest and not inverted:
        if opening == "who":
            return f"whoever {tree.joined(body)}"
        return f"the {noun} that {tree.joined(body)}" if noun else ""
    return _with_gap(tree, subject, body, noun) if noun and (subject is None or subject >= rest) else ""


def _with_gap(tree: Tree, subject: int | None, body: Sequence[int], noun: str) -> str:
    """Return "the tool that teams use" of "do teams use", the words that follow the question word."""
    words, helper = tree.words, body[0]
    own = tree.below(subject) if subject is not None else []
    if not own or own[0] != helper + 1 or words[helper].head != tree.root:
        return ""
    after = [place for place in body if place > own[-1]]
    if tree.low(helper) in _HELPERS:
        return f"the {noun} that {tree.joined(own, [helper], after)}"
    if tree.low(helper) not in ("do", "does") or not after or after[0] != tree.root:
        return ""
    verb = words[tree.root].lemma
    return f"the {noun} that {tree.joined(own, _third(verb) if tree.low(helper) == 'does' else verb, after[1:])}"


def _third(verb: str) -> str:
    if verb in _THIRD:
        return _THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if re.search("[^aeiou]y$", verb) else verb + "s"
