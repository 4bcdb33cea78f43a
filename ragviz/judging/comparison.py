"""The step that compares answer and reference: which claims of each the other holds, and how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from pydantic import BaseModel, Field

from ragviz.core import verdict as verdicts
from ragviz.core.verdict import Equivalence, EvaluatedAnswer
from ragviz.judging.claims import answer_claims, most_claim_numbers, reference_claims
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step, ask_judge, require_complete
from ragviz.judging.texts import (
    MOST_CLAIMS,
    THOUGHT,
    bounded,
    by_number,
    judge_request,
    numbered,
    portions,
    sentence_place,
    sentences_of,
)
from ragviz.models.requests import Request

VERSION = "2"
"""Version of the prompt: part of every score that rests on it."""


class ClaimVerdict(BaseModel):
    """Whether the other text holds one claim."""

    claim: int = Field(description="Number of the claim.")
    verdict: Literal["supported", "contradicted", "absent"] = Field(description="How the other text bears on it.")
    sentence: int = Field(description="Number of the sentence of the other text that does; 0 when absent.")


class ComparisonReply(BaseModel):
    """A verdict on every claim of both texts, and then on the texts as wholes."""

    answer_claims: list[ClaimVerdict] = bounded(MOST_CLAIMS, "One entry for every claim of the answer.")
    reference_claims: list[ClaimVerdict] = bounded(MOST_CLAIMS, "One entry for every claim of the reference.")
    reason: str = bounded(600, "One sentence: what the answer leaves out, adds or gets wrong.")
    equivalence: Literal["equivalent", "partial", "different"] = Field(description="The verdict on the whole.")
    completeness: float = Field(ge=0, le=1, description="How much of the reference the answer tells.")
    conciseness: float = Field(ge=0, le=1, description="How much of the answer the reference tells.")


COMPARISON = {
    "en": """You compare an answer with a reference answer to the same question. {data}
Both are given sentence by sentence, each sentence under its number, and their claims under numbers.
- answer_claims: for every claim of the answer, whether "reference" supports it, contradicts it, or it is absent there.
- reference_claims: for every claim of the reference, whether "answer" supports it, contradicts it, or it is absent
  there. sentence is the number of the sentence of that other text, 0 when absent. Meaning counts, not wording.
- reason: one sentence on what the answer leaves out, adds or gets wrong.
- equivalence: "equivalent" when somebody who asked would learn the same from both, "partial" when the answer is right
  but lacks something that was asked for, "different" when it is wrong or about something else.
- completeness: from 0 to 1, how much of what the reference tells the answer tells too.
- conciseness: from 0 to 1, how much of the answer is needed, that is: tells what the reference tells.
Write in the language of the texts.""",
    "zh": """你的任务是把一个回答与同一问题的参考答案作比较。{data}
两个文本都按句列出，每句前有编号；它们的论断也有编号。
- answer_claims：对回答的每条论断，判断“reference”支持它（supported）、与它矛盾（contradicted），
  还是没有提到（absent）。
- reference_claims：对参考答案的每条论断，判断“answer”支持它、与它矛盾，还是没有提到。
  sentence 是另一文本中相应句子的编号，没有提到时为 0。比较意思，不比较措辞。
- reason：用一句话说明回答遗漏、多出或说错了什么。
- equivalence：提问者从两者得知的内容相同为 "equivalent"；回答正确但缺少所问的部分内容为 "partial"；回答错误或答非所问为
  "different"。
- completeness：0 到 1，参考答案所说的内容有多少在回答中。
- conciseness：0 到 1，回答的内容有多少是需要的，即参考答案也说到的。
用文本的语言书写。""",
}


@dataclass(frozen=True, slots=True)
class ComparisonVerdicts:
    """Verdicts of the replies to "comparison" so far, claims by 0-based number; the first verdict on each counts."""

    answer: Mapping[int, verdicts.ClaimVerdict] = field(default_factory=dict)
    reference: Mapping[int, verdicts.ClaimVerdict] = field(default_factory=dict)
    equivalence: Equivalence | None = None
    reason: str = ""
    completeness: float | None = None
    conciseness: float | None = None

    def missing(self, answer: int, reference: int) -> tuple[list[int], list[int]]:
        """Return which claims of the answer and of the reference, of so many, have no verdict yet."""
        return (
            [number for number in range(answer) if number not in self.answer],
            [number for number in range(reference) if number not in self.reference],
        )


def comparison_request(
    question: str,
    texts: tuple[str, str],
    answer_claims: Mapping[int, str],
    reference_claims: Mapping[int, str],
) -> Request[ComparisonReply]:
    """Build the request to compare `texts`, answer and reference, and their claims (by 0-based number)."""
    answer, reference = texts
    data = {
        "question": question,
        "answer": numbered(answer),
        "reference": numbered(reference),
        "answer_claims": {str(number + 1): text for number, text in answer_claims.items()},
        "reference_claims": {str(number + 1): text for number, text in reference_claims.items()},
    }

    def check(reply: ComparisonReply) -> str:
        has_verdicts = bool(reply.answer_claims or reply.reference_claims)
        has_claims = bool(answer_claims or reference_claims)
        return "a reply without a verdict on any claim" if has_claims and not has_verdicts else ""

    most = THOUGHT + 40 * (len(answer_claims) + len(reference_claims)) + 400
    return replace(judge_request(COMPARISON, data, ComparisonReply, reference), check=check, max_tokens=most)


def read_comparison(
    reply: ComparisonReply, texts: tuple[str, str], claims: tuple[int, int], before: ComparisonVerdicts
) -> ComparisonVerdicts:
    """Return the verdicts of `before` and of a reply; `claims` are the numbers of claims of answer and reference."""
    answer, reference = (len(sentences_of(text)) for text in texts)
    verdicts = replace(
        before,
        answer={**_verdicts(reply.answer_claims, claims[0], reference), **before.answer},
        reference={**_verdicts(reply.reference_claims, claims[1], answer), **before.reference},
    )
    if before.equivalence is not None:
        return verdicts
    return replace(
        verdicts,
        equivalence=reply.equivalence,
        reason=" ".join(reply.reason.split()),
        completeness=reply.completeness,
        conciseness=reply.conciseness,
    )


def _verdicts(replies: Sequence[ClaimVerdict], claims: int, sentences: int) -> dict[int, verdicts.ClaimVerdict]:
    return {
        r.claim - 1: verdicts.ClaimVerdict(
            r.verdict, sentence_place(r.sentence, sentences) if r.verdict != "absent" else None
        )
        for r in reversed(replies)
        if 0 < r.claim <= claims
    }


def _ask(state: State, plan: Plan, ask: Asks) -> ComparisonVerdicts | None:
    if not state.answer_text or not state.reference.strip():
        return None
    texts = (state.answer_text, state.reference)
    answer, reference = answer_claims(state), reference_claims(state)
    counts = (len(answer), len(reference))
    verdicts = ComparisonVerdicts()
    for attempt in range(2):
        missing = verdicts.missing(*counts)
        if verdicts.equivalence is not None and not any(missing):
            break
        for of_answer, of_reference in zip_longest(portions(missing[0]), portions(missing[1]), fillvalue=()):
            claims = (by_number(answer, of_answer), by_number(reference, of_reference))
            request = comparison_request(state.item.question.query, texts, *claims)
            reply = ask_judge(state, plan, ask, ("comparison", VERSION), request, attempt)
            verdicts = read_comparison(reply, texts, counts, verdicts)
    require_complete(verdicts.missing(*counts), "the judge left out {} of the claims")
    return verdicts


def _enter(evaluated: EvaluatedAnswer, state: State) -> EvaluatedAnswer:
    verdicts: ComparisonVerdicts = state.results["comparison"]
    of_answer, of_reference = (
        tuple(each[n] for n in range(len(each))) for each in (verdicts.answer, verdicts.reference)
    )
    return replace(
        evaluated,
        matrix=replace(evaluated.matrix, answer_by_reference=of_answer, reference_by_answer=of_reference),
        equivalence=verdicts.equivalence,
        equivalence_reason=verdicts.reason,
        completeness=verdicts.completeness,
        conciseness=verdicts.conciseness,
    )


def _placeholder(item: Item) -> ComparisonReply:
    rows = [ClaimVerdict(claim=n, verdict="supported", sentence=1) for n in most_claim_numbers(item)]
    return ComparisonReply(
        answer_claims=rows,
        reference_claims=rows,
        reason=item.question.answer[:120],
        equivalence="partial",
        completeness=0.5,
        conciseness=0.5,
    )


STEP = Step(
    "Answer against reference",
    _ask,
    _enter,
    placeholders={ComparisonReply: _placeholder},
    needs=("claims", "reference"),
    version=VERSION,
)
