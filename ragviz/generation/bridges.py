"""Bridges: questions that need two to five passages, joined over a rare entity that they share.

Where one claim answers with an entity and another asks about it, the second question describes the entity by the first
claim: "When does the guild that runs the fair meet?". Else one question asks for several facts about the entity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ragviz.claims import phrasing
from ragviz.claims.candidate import Candidate, word_set
from ragviz.claims.english_clauses import Tree
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import joined_draft
from ragviz.generation.entities import Claims, holds, kind, normal
from ragviz.generation.joined_draft import JoinedDraft, are_separate, best, can_join, is_usable, lead
from ragviz.generation.noun_phrases import NounPhrase, noun_phrases
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

_NAMED = re.compile(r"(?:What|Who|Which|Where) (?:is|are|was|were) (the [^?]+)\?")
_CHINESE_NAMED = re.compile(r"(.+的[^的，。？]{1,10})(?:是|为)(?:什么|谁|哪个|哪里|多少)？")
_CHINESE_WHO = re.compile(r"谁(?!的)([^？，]+)？")
_VALUE = re.compile(
    r"(?:what|who|which) (?:is|are) the [^?]*\?$|[^，？]*的[^，？]*是(?:什么|多少|谁)？$", re.IGNORECASE
)
_DEFINING = 3  # words of a definition at least
_PREPOSITION = r"\b(?:of|for|in|to|at|from|under|on|by)\b"
_VAGUE = re.compile(
    rf"^what (?:is|are) (?:the|an?) (?:(?!{_PREPOSITION})[^?])*\?|\bwhat (?:is|are) (?:listed|given)\b"
    r"|\bwhat (?:has|have|had)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[“《]([^”》]+)[”》]")
_THIRD = {"have": "has", "do": "does", "be": "is", "go": "goes"}
_HELPERS = word_set("can could will would should must may might is are was were has have had")


def bridges(corpus: Claims, passages: int, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield bridges of so many passages, entity by entity; no claim is used twice for one entity."""
    for entity in corpus.rare():
        about = [corpus.all[number] for number in corpus.about.get(entity, ())]
        answering = [corpus.all[number] for number in corpus.answering.get(entity, ())]
        for language in sorted({claim.language for claim in about}):
            usable = best(_joinable(about, language), LOOKED_AT, seed)
            answers = best([claim for claim in answering if claim.language == language], 3, seed)
            chains = _chains(corpus, entity, answers, usable, passages)
            yield from _unused(chain(chains, _joint(corpus, corpus.names[entity], usable, passages)))
    for topic, claims in _topics(corpus).items():
        usable = best(claims, LOOKED_AT, seed)
        used: Counter[SourceClaim] = Counter()
        for _ in range(ROUNDS):
            fresh = sorted(usable, key=lambda claim: used[claim])  # those used least come first
            drafts = list(_unused(_joint(corpus, topic[1], fresh, passages)))
            used.update(claim for draft in drafts for claim in draft.claims)
            yield from drafts


def _joinable(claims: Iterable[SourceClaim], language: str) -> list[SourceClaim]:
    return [claim for claim in claims if claim.language == language and _is_telling(claim)]


def _is_telling(claim: SourceClaim) -> bool:
    """Return whether a claim's question says enough beside others: more than a key, and not what something "has"."""
    rest = lead(claim.question)[1]
    short = claim.type == "definition" and joined_draft.size(claim.answer, claim.language) < _DEFINING
    return can_join(claim) and not short and not _VAGUE.search(rest)


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


def _joint(corpus: Claims, name: str, claims: Sequence[SourceClaim], passages: int) -> Iterator[JoinedDraft]:
    """Yield questions for several facts about an entity, of passages apart from each other, the best first."""
    left, entity = list(claims), normal(name)
    while len(left) >= passages:
        group = [left.pop(0)]
        for claim in [each for each in left if _is_about(each, entity)] + left:
            if len(group) == passages:
                break
            if _differ(claim, group) and are_separate([*group, claim], corpus):
                group.append(claim)
        if len(group) == passages:
            left = [claim for claim in left if claim not in group]
            yield _asked_together(name, group)


def _is_listed(claim: SourceClaim) -> bool:
    """Return whether a question asks for a value by its name alone: a cell of a table, a key of a list."""
    rest = lead(claim.question)[1]
    return claim.type == "table" or (bool(claim.attribute) and bool(_VALUE.match(rest)))


def _is_about(claim: SourceClaim, entity: str) -> bool:
    return normal(claim.subject) == entity


def _differ(claim: SourceClaim, group: Sequence[SourceClaim]) -> bool:
    """Return whether a claim has another question and answer than all of a group; one cell of a table is enough."""
    if claim.type == "table" and any(other.type == "table" for other in group):
        return False
    return all(
        normal(claim.question) != normal(other.question) and normal(claim.answer) != normal(other.answer)
        for other in group
    )


def _asked_together(name: str, group: Sequence[SourceClaim]) -> JoinedDraft:
    ordered = _spread(group)
    parts, before = list[Candidate](), ""
    for claim in ordered:
        topic, rest = lead(claim.question)
        question = rest if topic and topic == before else claim.question  # a topic is named once
        parts.append(Candidate(question, claim.answer, claim.score))
        before = topic
    together = phrasing.joined(parts, group[0].language)
    about = sum(_is_about(claim, normal(name)) for claim in group)
    only_topic = not any(_mentions(name, lead(claim.question)[1]) for claim in ordered)
    listed = sum(map(_is_listed, ordered))
    bonus = 0.5 * about - (_ONLY_TOPIC if only_topic else 0.0) - _LISTED * max(0, listed - 1)
    return joined_draft.of_claims("bridge", ordered, together.question, together.answer, entity=name, bonus=bonus)


def _spread(group: Sequence[SourceClaim]) -> list[SourceClaim]:
    """Return the claims with those of one topic together, a definition first."""
    topics = [lead(claim.question)[0] for claim in group]
    return sorted(group, key=lambda c: (topics.index(lead(c.question)[0]), c.type != "definition"))


def _chains(
    corpus: Claims, entity: str, answering: Sequence[SourceClaim], about: Sequence[SourceClaim], passages: int
) -> Iterator[JoinedDraft]:
    """Yield questions about what another claim answers, which describes it; more facts are asked for by "it"."""
    described = [(claim, text) for claim in answering if (text := description(claim, corpus.names[entity]))]
    if not described:
        return
    name = corpus.names[entity]
    found = noun_phrases([(claim.question, name) for claim in about], about[0].language) if about else ()
    phrases = [(claim, phrase) for claim, phrase in zip(about, found, strict=True) if phrase and phrase.pronoun]
    for first, text in described:
        rest = [(claim, phrase) for claim, phrase in phrases if claim != first and normal(claim.answer) != normal(text)]
        group, said = [first], list[NounPhrase]()
        for claim, phrase in rest:
            if len(group) < passages and _differ(claim, group) and are_separate([*group, claim], corpus, chained=True):
                group.append(claim)
                said.append(phrase)
        if len(group) == passages and not any(_mentions(claim.answer, text) for claim in group[1:]):
            draft = _chained(name, group, said, text)
            if _mentions(name, draft.question):
                continue
            yield draft


def _mentions(name: str, text: str) -> bool:
    return holds(text, name)


def _chained(name: str, group: Sequence[SourceClaim], said: Sequence[NounPhrase], text: str) -> JoinedDraft:
    language = group[0].language
    ending = "’s" if said[0].possessive and language != "zh" else ""
    questions = [said[0].replaced(text + ending)]
    questions += [phrase.replaced("它" if language == "zh" else phrase.pronoun) for phrase in said[1:]]
    parts = [
        Candidate(question, claim.answer, claim.score) for question, claim in zip(questions, group[1:], strict=True)
    ]
    together = phrasing.joined(parts, language) if len(parts) > 1 else parts[0]
    return joined_draft.of_claims("bridge", group, together.question, together.answer, entity=name, bonus=_CHAINED)


def description(claim: SourceClaim, name: str) -> str:
    """Return what the claim says of the entity that it answers with, as a noun phrase; "" where grammar has none.

    "What is the capital of France?" gives "the capital of France", "Who approves leave?" "whoever approves leave",
    "Which guild runs the fair?" "the guild that runs the fair".
    """
    question = claim.question
    if claim.language == "zh":
        if named := _CHINESE_NAMED.fullmatch(question):
            return named[1]
        who = _CHINESE_WHO.fullmatch(question)
        return f"{who[1]}的人" if who else ""
    if named := _NAMED.fullmatch(question):
        return named[1]
    return _relative(question, kind(name, "en"))


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
