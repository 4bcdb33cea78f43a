"""A question made of several claims, before it is one of a set; and the rules that all of them keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.digests import digest
from ragviz.core.question import QuestionType
from ragviz.generation.entities import Claims, holds
from ragviz.text.stems import content_words

LONGEST = {"en": 55, "zh": 110}
"""Words of a question at most (Chinese: characters)."""
APART = 80
"""Words between the claims of two passages of one document at least, some 120 tokens."""
LONGEST_ANSWER = {"en": 25, "zh": 50}
"""Words of the answer of one claim that is joined with others at most (Chinese: characters)."""

_YES_OR_NO = re.compile(r"(?:yes|no|true|false)\b.*|(?:是|否|不是|可以|不可以|有|没有|不)(?:[，,].*)?", re.IGNORECASE)
_DIRECT = re.compile(
    r"(?:[^?;]{1,80},\s)?(?:\w+\s)?(?:who|whom|whose|what|when|where|which|why|how)\b(?!.*\?.)", re.IGNORECASE
)
_LEAD = re.compile(
    r"(?:In “[^”]+”|Regarding [^?“”,]{0,60}(?:“[^”]+”[^?“”,]{0,20}){0,2}), (?=\w)"
    r"|关于[^，。？；]{2,60}，|在?[“《][^”》]+[”》](?:一[节章文])?[中里]?，"
)


@dataclass(frozen=True, slots=True)
class JoinedDraft:
    """A question with its answer, and the claims that are its evidence, in the order of its parts; none: unanswerable.

    `parts` say what each claim's passage says. `entity` is what the claims share. `history` are the earlier turns.
    `origin` is the claim whose place in a plan it takes: the first of its evidence, of an unanswerable one the claim
    that was true, in which `swapped`, the old words and the new, stood. A higher `score` is better. `doubt` is as of a
    claim.
    """

    type: QuestionType
    origin: SourceClaim
    claims: tuple[SourceClaim, ...]
    question: str
    answer: str
    parts: tuple[str, ...]
    language: str
    entity: str = ""
    history: tuple[tuple[str, str], ...] = ()
    swapped: tuple[str, str] = ("", "")
    score: float = 0.0
    doubt: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """The document and the section in whose cell of a plan it counts."""
        return self.origin.document_id, self.origin.section


def of_claims(
    kind: QuestionType,
    claims: Sequence[SourceClaim],
    question: str,
    answer: str,
    *,
    entity: str = "",
    history: tuple[tuple[str, str], ...] = (),
    bonus: float = 0.0,
) -> JoinedDraft:
    """Return a draft of which these claims are the evidence; the weakest of them decides how good it is."""
    score = min(claim.score for claim in claims) + bonus
    parts = tuple(claim.statement for claim in claims)
    language = claims[0].language
    doubt = next((claim.doubt for claim in claims if claim.doubt), "")
    return JoinedDraft(
        kind, claims[0], tuple(claims), question, answer, parts, language, entity, history, score=score, doubt=doubt
    )


def are_separate(claims: Sequence[SourceClaim], corpus: Claims, *, chained: bool = False) -> bool:
    """Return whether leaving out the passage of any of the claims leaves out a part of the answer.

    No two are so close that one chunk may hold both, no paragraph holds the answer of another's claim, and no quote
    stands anywhere else. In a chain, the first claim says what the others are about: they must not hold most of the
    words of what it says instead.
    """
    if any(_are_close(one, other, corpus) for one, other in combinations(claims, 2)):
        return False
    places = [corpus.search.paragraphs(claim.document_id, claim.start, claim.end) for claim in claims]
    if any(one.start < other.stop and other.start < one.stop for one, other in combinations(places, 2)):
        return False
    if chained and any(_tells(place, claims[0], corpus) for place in places[1:]):
        return False
    pairs = permutations(range(len(claims)), 2)
    if any(corpus.search.holds(places[i], claims[j].answer) for i, j in pairs if j or not chained):
        return False
    return all(corpus.search.count(claim.quote) == 1 for claim in claims)


def _tells(paragraphs: range, claim: SourceClaim, corpus: Claims) -> bool:
    """Return whether paragraphs hold half of the words, or more, by which a claim describes an entity.

    They are those of its question; those of its answer where it defines the entity.
    """
    told = claim.answer if claim.type == "definition" else lead(claim.question)[1]
    words = content_words(told, claim.language)
    return 2 * sum(corpus.search.holds(paragraphs, word) for word in words) >= len(words)


def _are_close(one: SourceClaim, other: SourceClaim, corpus: Claims) -> bool:
    """Return whether two claims are within `APART` words of each other in one document."""
    if one.document_id != other.document_id:
        return False
    first, second = sorted((one, other), key=lambda claim: claim.start)
    return corpus.search.distance(one.document_id, first.end, second.start) < APART


def can_join(claim: SourceClaim) -> bool:
    """Return whether the claim's question can be a part of a longer one, and its answer is short and on one line.

    An English question must begin with its question word, or after a phrase and a comma; yes is no part of an answer.
    """
    answer = claim.answer.strip()
    if (
        not is_direct(claim)
        or "\n" in answer
        or not answer
        or _YES_OR_NO.fullmatch(answer)
        or not claim.question.endswith(("?", "？"))
    ):
        return False
    return size(answer, claim.language) <= LONGEST_ANSWER.get(claim.language, 25)


def is_usable(draft: JoinedDraft) -> bool:
    """Return whether the question is no longer than a person would ask, and does not give its answer away."""
    if size(draft.question, draft.language) > LONGEST.get(draft.language, 55):
        return False
    asked_for = [claim.answer for claim in draft.claims if holds(draft.answer, claim.answer)]
    answers = asked_for if draft.type == "bridge" else [draft.answer]  # of a chain, the first one describes
    return not any(holds(draft.question, answer) for answer in answers)


def lead(question: str) -> tuple[str, str]:
    """Return what names a question's topic before it, "" for nothing, and the rest.

    >>> lead("In “Travel guide”, what is paid first?"), lead("什么时候开放？")
    (('In “Travel guide”, ', 'what is paid first?'), ('', '什么时候开放？'))
    """
    match = _LEAD.match(question)
    return (match.group(), question[match.end() :]) if match else ("", question)


def is_direct(claim: SourceClaim) -> bool:
    """Return whether a question begins with its question word, after a phrase and a comma perhaps; Chinese ones do."""
    return claim.language == "zh" or bool(_DIRECT.match(claim.question))


def size(text: str, language: str) -> int:
    """Return how many words a text has; of Chinese how many characters."""
    return len(text) if language == "zh" else len(text.split())


def best(claims: Iterable[SourceClaim], most: int, seed: int) -> list[SourceClaim]:
    """Return the best `most` claims; equally good ones in an order that the seed decides."""
    return sorted(claims, key=lambda claim: (-claim.score, order(claim, seed)))[:most]


def order(claim: SourceClaim, seed: int) -> str:
    """Return what puts claims in an order that only they and the seed decide."""
    return digest(str(seed), claim.document_id, str(claim.start), claim.question)


def lowered(question: str) -> str:
    """Return a question as inside a sentence: its question word in lower case.

    >>> lowered("Who pays?"), lowered("TTS pays whom?")
    ('who pays?', 'TTS pays whom?')
    """
    first = question.split(" ", 1)[0]
    return question[:1].lower() + question[1:] if first[1:].islower() or len(first) == 1 else question
