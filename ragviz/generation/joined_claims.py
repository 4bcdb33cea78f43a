"""Questions of several claims, follow-ups and unanswerable ones, without a model: all candidates of one type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question, QuestionType
from ragviz.core.span import Span
from ragviz.generation import rejection
from ragviz.generation.bridges import bridges
from ragviz.generation.comparisons import comparisons
from ragviz.generation.dated_claims import versions
from ragviz.generation.entities import Claims
from ragviz.generation.follow_ups import follow_ups
from ragviz.generation.joined_draft import JoinedDraft
from ragviz.generation.unanswerable import unanswerables
from ragviz.questions.question_types import TYPES

_MAKERS: Mapping[QuestionType, Callable[[Claims, int, int], Iterator[JoinedDraft]]] = {
    "comparison": lambda corpus, passages, seed: comparisons(corpus, seed),
    "bridge": bridges,
    "version": lambda corpus, passages, seed: versions(corpus),
    "follow-up": lambda corpus, passages, seed: follow_ups(corpus, seed),
    "unanswerable": lambda corpus, passages, seed: unanswerables(corpus, seed),
}
JOINED: tuple[QuestionType, ...] = tuple(_MAKERS)
"""Types of questions that are made of several claims, or of one that is changed."""
LACKING: Mapping[QuestionType, str] = {
    "comparison": "no two more passages say the same kind of thing about two things",
    "bridge": "no more passages apart from each other share an entity of two to five documents or sections",
    "version": "no two more passages say different things about one thing, each with its own date or version",
}
"""Type → what the documents do not hold where no more questions of it can be made."""
USED = 4
"""Questions of one type that a claim is used for at most: more would depend on one passage."""


def candidates(
    corpus: Claims, kind: QuestionType, passages: int = 0, seed: int = 0
) -> dict[tuple[str, str], list[JoinedDraft]]:
    """Return what `drafts` yields by (document, section) of the first claim, the best first."""
    found: dict[tuple[str, str], list[JoinedDraft]] = defaultdict(list)
    for draft in drafts(corpus, kind, passages, seed):
        found[draft.place].append(draft)
    return dict(found)


def drafts(corpus: Claims, kind: QuestionType, passages: int = 0, seed: int = 0) -> Iterator[JoinedDraft]:
    """Yield all questions of a type that can be made, the best first; the same ones for one seed.

    `passages` is how many a bridge needs, 0 for two or three; comparisons and versions need two. No question is asked
    twice. Raises UsageError for a type that one claim is enough for, and for too few or many passages.
    """
    if kind not in _MAKERS:
        raise UsageError(f"Questions of the type “{kind}” need one claim: choose one of {', '.join(JOINED)}.")
    if kind == "bridge" and passages and not TYPES[kind].fewest <= passages <= TYPES[kind].most:
        raise UsageError(f"A bridge of {passages} passages: choose {TYPES[kind].fewest} to {TYPES[kind].most}.")
    counts = [passages] if passages or kind != "bridge" else [3, 2]
    yield from _chosen(chain.from_iterable(_MAKERS[kind](corpus, count, seed) for count in counts), seed)


def _chosen(drafts: Iterable[JoinedDraft], seed: int) -> Iterator[JoinedDraft]:
    """Yield the drafts, the best first, without repetitions and those of claims that were used often enough."""
    asked: set[str] = set()
    used: dict[SourceClaim, int] = defaultdict(int)
    for draft in sorted(drafts, key=partial(_rank, seed=seed)):
        text = rejection.normal(" ".join([*(turn for turn, _ in draft.history), draft.question]))
        claims = {draft.origin, *draft.claims}
        if text not in asked and all(used[claim] < USED for claim in claims):
            asked.add(text)
            for claim in claims:
                used[claim] += 1
            yield draft


def _rank(draft: JoinedDraft, seed: int) -> tuple[bool, float, str]:
    return bool(draft.doubt), -draft.score, digest(str(seed), draft.origin.document_id, draft.question)


def to_question(draft: JoinedDraft, maker: str = "extractive", seed: int = 0) -> Question:
    """Return the draft as a question of a set: each claim's span is a group of its evidence.

    Its id depends on the maker, the seed, the places of its claims and its text. An unanswerable one has no evidence
    and no answer; its reason says what was swapped.
    """
    spans = [Span(claim.document_id, claim.start, claim.end, claim.quote) for claim in draft.claims]
    places = [f"{claim.document_id}-{claim.start}-{claim.end}" for claim in (draft.origin, *draft.claims)]
    old, new = draft.swapped
    return Question(
        id=digest("question", maker, str(seed), draft.type, *places, draft.question),
        text=draft.question,
        answer=draft.answer,
        evidence=tuple((span,) for span in spans),
        generator=maker,
        reason=f"“{old}” was swapped for “{new}”" if new else "",
        language=draft.language,
        unanswerable=draft.type == "unanswerable",
        type=draft.type,
        style="colleague",
        parts=draft.parts,
        history=draft.history,
    )
