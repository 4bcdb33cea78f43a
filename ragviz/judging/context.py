"""The step that checks claims against passages: which support or contradict which, and which passages are useful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, Field

from ragviz.core.digests import digest
from ragviz.core.verdict import ClaimVerdict, EvaluatedAnswer, Verdict
from ragviz.judging import pool
from ragviz.judging.claims import answer_claims, most_claim_numbers, reference_claims
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step, ask_judge, require_complete
from ragviz.judging.texts import (
    MOST_CLAIMS,
    MOST_PASSAGES,
    THOUGHT,
    bounded,
    by_number,
    judge_request,
    numbered,
    portions,
    prompt_language,
    sentence_place,
    sentences_of,
)
from ragviz.models.requests import Request

VERSION = "2"
"""Version of the prompt: part of every score that rests on it."""


class Source(BaseModel):
    """One passage, and the sentence of it that counts."""

    passage: int = Field(description="Number of the passage.")
    sentence: int = Field(description="Number of the sentence in that passage.")


class ClaimSources(BaseModel):
    """The passages that bear on one claim."""

    claim: int = Field(description="Number of the claim.")
    supported_by: list[Source] = bounded(MOST_PASSAGES, "Passages from each of which alone the claim follows.")
    supported_together: list[Source] = bounded(
        MOST_PASSAGES, "Passages that together make the claim follow, where none does alone; else empty."
    )
    contradicted_by: list[Source] = bounded(MOST_PASSAGES, "Passages that say otherwise.")


class PassageReply(BaseModel):
    """Whether one passage helps to answer the question."""

    passage: int = Field(description="Number of the passage.")
    useful: bool = Field(description="Whether it holds something that the question asks for.")


class ContextReply(BaseModel):
    """An entry for every claim, and one for every passage."""

    claims: list[ClaimSources] = bounded(2 * MOST_CLAIMS, "One entry for every claim.")
    passages: list[PassageReply] = bounded(MOST_PASSAGES, "One entry for every passage.")


CONTEXT = {
    "en": """You check claims against passages, and passages against a question. {data}
"passages" holds passages under their numbers, each sentence by sentence under its number; "claims" holds claims under
their numbers.
- claims: one row for every claim. supported_by: each passage from which alone the claim follows, with the sentence that
  says it. supported_together: where no passage does alone, the passages from which it follows taken together, each with
  the sentence that is needed. contradicted_by: each passage that says otherwise, with the sentence. Judge by the
  passages alone, not by what you know; every part of the claim counts, names and numbers too. A claim that no passage
  speaks of has three empty lists.
- passages: one row for every passage. useful is true when it holds something that "question" asks for{by}.""",
    "zh": """你的任务是用段落核对论断，并判断段落对问题是否有用。{data}
“passages”是带编号的段落，每段按句列出，每句前有编号；“claims”是带编号的论断。
- claims：每条论断一行。supported_by：单凭该段落就能推出该论断的每个段落，以及说明它的句子。
  supported_together：没有任何一个段落能单独推出该论断、但几个段落合起来可以推出时，列出这些段落及各自所需的句子；否则为空。
  contradicted_by：与该论断矛盾的每个段落，以及相应的句子。只依据段落本身判断，不要依据你的知识；论断的每个部分都要符合，
  包括名称和数字。没有段落提到的论断，三个列表都为空。
- passages：每个段落一行。段落中含有“question”所问的内容{by}时，useful 为 true。""",
}
_BY = {"en": ', as "reference" answers it', "zh": "（以“reference”的回答为准）"}


@dataclass(frozen=True, slots=True)
class ContextVerdicts:
    """Verdicts of the replies to "context" so far, by 0-based number of the claim and of the passage.

    Where verdicts were there before, `replies` are the digests of those that they were read off; `asked` is what was
    asked then, None where it was everything.
    """

    claims: Mapping[int, tuple[ClaimVerdict, ...]] = field(default_factory=dict)
    useful: Mapping[int, bool] = field(default_factory=dict)
    asked: pool.Asked | None = None
    replies: tuple[str, ...] = ()

    def missing(self, claims: Sequence[int], passages: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return which of these claims and passages have no verdict yet."""
        return (
            [number for number in claims if number not in self.claims],
            [number for number in passages if number not in self.useful],
        )


def context_request(
    question: str, reference: str, claims: Mapping[int, str], passages: Sequence[str]
) -> Request[ContextReply]:
    """Build the request which `passages` support or contradict `claims` (by 0-based number), and which are useful."""
    numbered_passages = {str(number): numbered(text) for number, text in enumerate(passages, start=1)}
    numbered_claims = {str(number + 1): text for number, text in claims.items()}
    texts = {
        "question": question,
        "reference": reference,
        "claims": numbered_claims,
        "passages": numbered_passages,
    }
    by = _BY[prompt_language(reference, question)] if reference else ""

    def check(reply: ContextReply) -> str:
        return "a reply without a verdict" if not (reply.claims if claims else reply.passages) else ""

    request = judge_request(CONTEXT, {k: v for k, v in texts.items() if v}, ContextReply, reference or question, by=by)
    most = THOUGHT + (60 + 20 * len(passages)) * len(claims) + 20 * len(passages)
    return replace(request, check=check, max_tokens=most)


def read_context(reply: ContextReply, claims: int, passages: Sequence[str], before: ContextVerdicts) -> ContextVerdicts:
    """Return the verdicts of `before` and of a reply; the first on a claim or passage counts."""
    counts = [len(sentences_of(text)) for text in passages]
    rows = {r.claim - 1: _claim_verdicts(r, counts) for r in reversed(reply.claims) if 0 < r.claim <= claims}
    useful = {r.passage - 1: r.useful for r in reversed(reply.passages) if 0 < r.passage <= len(passages)}
    return ContextVerdicts({**rows, **before.claims}, {**useful, **before.useful})


def _claim_verdicts(row: ClaimSources, counts: Sequence[int]) -> tuple[ClaimVerdict, ...]:
    """Return the verdict of each passage on a claim; the only passage of "supported_together" supports it alone."""
    verdicts = [ClaimVerdict("absent")] * len(counts)
    together = {source.passage for source in row.supported_together if 0 < source.passage <= len(counts)}
    sources: list[tuple[Verdict, list[Source]]] = [
        ("contradicted", row.contradicted_by),
        ("together" if len(together) > 1 else "supported", row.supported_together),
        ("supported", row.supported_by),
    ]
    for verdict, places in sources:
        for source in reversed(places):
            if 0 < source.passage <= len(counts):
                place = sentence_place(source.sentence, counts[source.passage - 1])
                verdicts[source.passage - 1] = ClaimVerdict(verdict, place)
    return tuple(verdicts)


def follows(row: Sequence[ClaimVerdict]) -> bool:
    """Return whether a claim follows from the texts of its row: from one alone, or from two or more together."""
    verdicts = [claim_verdict.verdict for claim_verdict in row]
    return "supported" in verdicts or verdicts.count("together") > 1


def _ask(state: State, plan: Plan, ask: Asks) -> ContextVerdicts:
    answer, reference = ([claim.text for claim in claims] for claims in (answer_claims(state), reference_claims(state)))
    if not state.context:
        return ContextVerdicts(dict.fromkeys(range(len(answer) + len(reference)), ()), {})
    # another edition, or version of the prompt, is another judge
    judge = (digest("context", plan.maker, VERSION, length=32), plan.judge.model if plan.judge else "")
    texts = (state.item.question.query, state.reference)
    whole = frozenset(state.recording.read) - frozenset(state.recording.cut)
    known = pool.known(plan.pool, judge, texts, (answer, reference), state.context, whole)
    asked, behind = state.asked or known.wanted(), known.behind()
    state.calls += behind
    if asked is not None:
        before = len(state.calls)
        claims, useful = _asked(state, plan, ask, known, asked)
        if state.asked:  # only what was asked is wanted
            return ContextVerdicts(claims, useful)
        own = [call for call in state.calls[before:] if call.step == "context"]  # other steps are done meanwhile
        plan.pool.add(judge[0], known.learn(asked, claims, useful, own))
    if not behind:
        return ContextVerdicts(known.rows(), known.useful)
    replies = tuple(digest(call.raw) for call in behind)
    return ContextVerdicts(known.rows(), known.useful, asked or pool.Asked((), ()), replies)


def _asked(
    state: State, plan: Plan, ask: Asks, known: pool.Known, asked: pool.Asked
) -> tuple[dict[int, tuple[ClaimVerdict, ...]], dict[int, bool]]:
    """Ask about some claims and passages; return the verdicts by number of the claim, and usefulness by place.

    Raises:
        ModelError: some are left out in both attempts.

    """
    claims = by_number((*answer_claims(state), *reference_claims(state)))
    every = list(state.context.values())
    passages = [every[place] for place in asked.places]
    columns = [column for column, place in enumerate(asked.places) if place in known.unjudged(asked.places)]
    verdicts = ContextVerdicts()
    for attempt in range(2):
        missing_claims, missing_passages = verdicts.missing(asked.claims, columns)
        if not missing_claims and not missing_passages:
            break
        for portion in portions(missing_claims, 2 * MOST_CLAIMS):
            asked_claims = {number: claims[number] for number in portion}
            request = context_request(state.item.question.query, state.reference, asked_claims, passages)
            reply = ask_judge(state, plan, ask, ("context", VERSION), request, attempt)
            verdicts = read_context(reply, len(claims), passages, verdicts)
    require_complete(verdicts.missing(asked.claims, columns), "the judge left out {} of the claims and passages")
    return dict(verdicts.claims), {asked.places[column]: useful for column, useful in verdicts.useful.items()}


def _enter(evaluated: EvaluatedAnswer, state: State) -> EvaluatedAnswer:
    verdicts: ContextVerdicts = state.results["context"]
    matrix, answer = evaluated.matrix, len(evaluated.matrix.answer_claims or ())
    rows = tuple(verdicts.claims[number] for number in range(len(verdicts.claims)))
    useful = tuple(verdicts.useful[number] for number in range(len(matrix.chunks)))
    matrix = replace(matrix, answer_by_chunk=rows[:answer], reference_by_chunk=rows[answer:], useful=useful)
    evaluated = replace(evaluated, matrix=matrix)
    if verdicts.asked is None:
        return evaluated
    asked: dict[str, Any] = {"claims": list(verdicts.asked.claims), "places": list(verdicts.asked.places)}
    asked["replies"] = list(verdicts.replies)
    return replace(evaluated, verdicts={**evaluated.verdicts, "context": asked})


def _placeholder(item: Item) -> ContextReply:
    source = [Source(passage=1, sentence=1)]
    rows = [
        ClaimSources(claim=n, supported_by=source, supported_together=[], contradicted_by=[])
        for n in most_claim_numbers(item)
    ]
    passages = [PassageReply(passage=n, useful=True) for n in range(1, len(item.recording.contexts) + 1)]
    return ContextReply(claims=rows, passages=passages)


STEP = Step(
    "Claims and passages",
    _ask,
    _enter,
    placeholders={ContextReply: _placeholder},
    needs=("claims", "reference"),
    version=VERSION,
)
