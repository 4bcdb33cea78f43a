"""Follow-ups: a question that is understood only after the earlier turn of its conversation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from ragviz.claims import chinese_sentence, chinese_words
from ragviz.claims.chinese_claims import TELLING, information, is_proper
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import comparisons, joined_draft
from ragviz.generation.entities import Claims, bare, holds, normal
from ragviz.generation.joined_draft import JoinedDraft, can_join, is_usable, lead, lowered
from ragviz.generation.noun_phrases import NounPhrase, noun_phrases

_NAME = re.compile(r"\b\d*[A-Z]|[“”《》_]|\w\.\w")
Pair = tuple[SourceClaim, SourceClaim]


def follow_ups(corpus: Claims, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield follow-ups about the same thing by a pronoun, then those about another thing by an ellipsis."""
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for one, other in _about_the_same(corpus):
        pairs[other.language].append((one, other))
    for language, own in pairs.items():
        found = noun_phrases([(other.question, other.subject) for _, other in own], language)
        for (one, other), phrase in zip(own, found, strict=True):
            inside = phrase is not None and phrase.start >= len(lead(phrase.question)[0])
            same_lead = lead(one.question)[0] == lead(other.question)[0]
            text = _next(phrase, language, same_lead=same_lead) if phrase is not None and inside else ""
            if text and language == "zh" and (topic := lead(other.question)[0]):
                text = f"那{text.removeprefix('那').removeprefix(topic)}" if lead(one.question)[0] == topic else ""
            if text:
                yield from _usable(one, other, text)
    yield from _of_one_topic(corpus)
    for one, other in comparisons.comparable(corpus, seed):
        yield from _usable(one, other, _what_about(one, other))


def _about_the_same(corpus: Claims) -> Iterator[Pair]:
    """Yield neighbouring claims of a document about one subject, which both questions name; a definition is first."""
    groups: dict[tuple[str, str, str], list[SourceClaim]] = defaultdict(list)
    for claim in corpus.all:
        if can_join(claim) and len(bare(claim.subject)) > 1 and _names(claim.question, claim.subject):
            groups[claim.document_id, normal(claim.subject), claim.language].append(claim)
    for claims in groups.values():
        ordered = sorted(claims, key=lambda claim: (claim.type != "definition", claim.start))
        yield from pairwise(ordered)


def _of_one_topic(corpus: Claims) -> Iterator[JoinedDraft]:
    """Yield follow-ups in a section that leave out the topic of both questions, where nothing else names it.

    They are about one subject: two of a section may have nothing else in common. Both English questions name it; of
    Chinese ones the topic does, so that with it the subject is left out, and an attribute of it is all that is left.
    """
    groups: dict[tuple[str, str, str, str], list[SourceClaim]] = defaultdict(list)
    for claim in corpus.all:
        topic, rest = lead(claim.question)
        is_chinese = claim.language == "zh"
        about = bool(claim.subject) and _names(topic if is_chinese else rest, claim.subject)
        alone = is_chinese and not (claim.attribute and rest.startswith(claim.attribute) and is_elliptical(rest))
        if topic and about and not alone and can_join(claim) and not _NAME.search(rest):
            groups[claim.document_id, claim.section, topic, normal(claim.subject)].append(claim)
    for (_, _, topic, _), claims in groups.items():
        for one, other in pairwise(claims):
            rest = other.question.removeprefix(topic)
            yield from _usable(one, other, f"那么，{rest}" if other.language == "zh" else f"And {lowered(rest)}")


def is_elliptical(question: str) -> bool:
    """Return whether a Chinese question names nothing, and tells too little to be asked without an earlier turn.

    >>> is_elliptical("办理时间是多久？"), is_elliptical("“朵拉”的风速是多少？")
    (True, False)
    """
    return not is_proper(question) and information(question) < TELLING


def _names(question: str, name: str) -> bool:
    return holds(question, name)


def _next(phrase: NounPhrase, language: str, *, same_lead: bool) -> str:
    """Return the question with a pronoun for the phrase: "And who approves it?", “那由谁批准？”.

    A title, of a row or a column, stays where the lead of both questions is left out: without it, any would do.
    """
    if language != "zh":
        if phrase.text[:1] in '“"':  # a title
            if not phrase.question.endswith(f" of {phrase.text}?"):
                return ""
            topic, rest = lead(phrase.question)
            return f"And {lowered(rest if topic and same_lead else phrase.replaced('it'))}"
        return f"And {lowered(phrase.replaced(phrase.pronoun))}" if phrase.pronoun else ""
    rest = phrase.question[phrase.end :]
    if any(word.start == phrase.end and word.tag[0] == "n" for word in chinese_words.read(phrase.question)):
        return ""  # "青屿" of "青屿轮渡"
    if phrase.start == 0 and not phrase.possessive:
        return f"那{rest}"
    if chinese_sentence.is_person(phrase.text) or phrase.text.endswith("方"):  # "员工": many; "乙方": a person
        return ""
    pronoun = "此人" if phrase.person else "它"
    return f"那{phrase.question[: phrase.start]}{pronoun}{rest}"


def _what_about(one: SourceClaim, other: SourceClaim) -> str:
    subject = comparisons.without_owner(comparisons.subject(other), comparisons.subject(one))
    return f"那{subject}呢？" if other.language == "zh" else f"And what about {subject}?"


def _usable(one: SourceClaim, other: SourceClaim, text: str) -> Iterator[JoinedDraft]:
    """Yield the follow-up unless the first turn gives its answer away, or asks the same."""
    first_turn = f"{one.question} {one.answer}"
    same = normal(one.question) == normal(other.question) or normal(one.answer) == normal(other.answer)
    if one.document_id == other.document_id and one.start < other.end and other.start < one.end:
        return
    if same or _names(first_turn, other.answer) or len(text) < 3:
        return
    draft = joined_draft.of_claims(
        "follow-up", (other,), text, other.answer, entity=bare(one.subject), history=((one.question, one.answer),)
    )
    if is_usable(draft):
        yield draft
