"""The steps that split a reference and an answer into claims, the answer with the questions that it would answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from ragviz.core.verdict import Claim, EvaluatedAnswer, Matrix
from ragviz.judging import checks
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step, ask_judge
from ragviz.judging.texts import (
    MOST_CLAIMS,
    THOUGHT,
    bounded,
    judge_request,
    numbered,
    prompt_language,
    sentence_place,
    sentences_of,
)
from ragviz.models.requests import Request

VERSION = "2"
"""Version of the prompts: part of every score that rests on them."""

ASKED_BACK = 3
"""Questions that the answer would answer: answer relevancy is the mean over them."""


class ClaimReply(BaseModel):
    """One fact of the text as a full sentence of its own."""

    text: str = bounded(600, "The full sentence, in the language of the text.")
    sentence: int = Field(description="Number of the sentence of the text that says it.")


class ReferenceReply(BaseModel):
    """Every fact of the text, in its order."""

    claims: list[ClaimReply] = bounded(MOST_CLAIMS, "One entry for each fact.")


class ClaimsReply(BaseModel):
    """Every fact of the text, in its order, and the questions that the text would answer."""

    claims: list[ClaimReply] = bounded(MOST_CLAIMS, "One entry for each fact.")
    questions: list[str] = bounded(2 * ASKED_BACK, "Full questions that the text would be the answer to.")
    noncommittal: bool = Field(description="Only true for a text that evades, or says that it does not know.")


CLAIMS = {
    "en": """You take a text apart into claims. {data}
"text" is an answer to "question", sentence by sentence, each sentence under its number.
- claims: every statement of the text that can be true or false by itself, one fact each, in the order of the text.
  Names instead of pronouns, nothing added, no statement about the text itself. sentence is the number of the sentence
  that says it. A text of a word or a phrase makes one claim: the question answered with it. A text that only asks, or
  says that it does not know, has none.{more}
Write in the language of the text.""",
    "zh": """你的任务是把文本拆成论断。{data}
“text”是对“question”的回答，按句列出，每句前有编号。
- claims：文本中每一条可以单独判断真假的陈述，每条只含一个事实，按原文顺序排列。用名称代替代词，不添加内容，
  不要写关于文本本身的陈述。sentence 是说出它的句子的编号。文本只是一个词或短语时，写一条论断：用它回答“question”。
  只有当文本只是提问，或表示不知道时，列表才为空。{more}
用文本的语言书写。""",
}
_ASK_BACK = {
    "en": """
- questions: {count} different questions that "text" would be a full answer to; do not look at "question".
- noncommittal: true when the text evades the question or says that it does not know.""",
    "zh": """
- questions：{count} 个以“text”为完整答案的不同问题；不要参考“question”。
- noncommittal：文本回避问题或表示不知道时为 true。""",
}


def reference_request(question: str, reference: str, first: int = 1) -> Request[ReferenceReply]:
    """Build the request for the claims of a reference: the same for every answer, so paid once for all runs.

    With `first`, a 1-based number, it is about the sentences from there on, of an answer's too.
    """
    text = numbered(reference, first)

    def check(reply: ReferenceReply) -> str:
        left = reference if first == 1 else " ".join(text.values())
        return checks.claims_problem([claim.text for claim in reply.claims], left, question, ReferenceReply)

    request = judge_request(CLAIMS, {"question": question, "text": text}, ReferenceReply, reference, more="")
    return replace(request, check=check, max_tokens=_claim_tokens(reference))


def claims_request(question: str, answer: str) -> Request[ClaimsReply]:
    """Build the request for the claims of an answer, and for the questions that it would answer."""
    more = _ASK_BACK[prompt_language(answer, question)].format(count=ASKED_BACK)

    def check(reply: ClaimsReply) -> str:  # an evasive answer need have neither claims nor questions
        if reply.noncommittal and not checks.evades(answer):
            return "a reply that calls the text noncommittal, though it commits itself"
        claims = [claim.text for claim in reply.claims]
        if reply.noncommittal:
            return checks.claims_problem(claims, answer, question, ClaimsReply) if claims else ""
        return checks.claims_problem(claims, answer, question, ClaimsReply) or checks.asked_back_problem(
            reply.questions, answer, question, ClaimsReply
        )

    request = judge_request(CLAIMS, {"question": question, "text": numbered(answer)}, ClaimsReply, answer, more=more)
    return replace(request, check=check, max_tokens=_claim_tokens(answer) + 200 * ASKED_BACK)


def _claim_tokens(text: str) -> int:
    """Return the most tokens that the claims of a text take: it is repeated with names for pronouns, fact by fact."""
    return THOUGHT + 3 * len(text) + 40 * MOST_CLAIMS


def read_claims(replies: Sequence[ClaimReply], text: str) -> tuple[Claim, ...]:
    """Return the claims of a text without repetitions and empty ones; the number of a missing sentence becomes None."""
    count = len(sentences_of(text))
    replies = [reply for reply in replies if reply.text.strip()] if count else []
    distinct = [replies[place] for place in checks.distinct(reply.text for reply in replies)]
    return tuple(Claim(" ".join(reply.text.split()), sentence_place(reply.sentence, count)) for reply in distinct)


def _ask_reference(state: State, plan: Plan, ask: Asks) -> tuple[Claim, ...]:
    if not state.reference.strip():
        return ()
    request = reference_request(state.item.question.query, state.reference)
    reply: ReferenceReply = ask_judge(state, plan, ask, ("reference", VERSION), request)
    return read_claims(_with_later(reply.claims, state.reference, "reference", state, plan, ask), state.reference)


def _with_later(
    claims: list[ClaimReply], text: str, step: str, state: State, plan: Plan, ask: Asks
) -> list[ClaimReply]:
    """Return the `claims` of a first reply, and where it was full, those of further ones: of the sentences after it.

    The last sentence is asked about again, as the reply may have ended within it; of one sentence at most `MOST_CLAIMS`
    claims are asked for.
    """
    count, first, last = len(sentences_of(text)), 1, claims
    while len(last) >= MOST_CLAIMS:
        first = max(first + 1, *(claim.sentence for claim in last if claim.sentence <= count), 0)
        if first > count:
            break
        request = reference_request(state.item.question.query, text, first)
        reply: ReferenceReply = ask_judge(state, plan, ask, (step, VERSION), request)
        last = reply.claims
        claims = claims + last
    return claims


def _ask_claims(state: State, plan: Plan, ask: Asks) -> ClaimsReply:
    if not state.answer_text:
        return ClaimsReply(claims=[], questions=[], noncommittal=False)
    request = claims_request(state.item.question.query, state.answer_text)
    reply: ClaimsReply = ask_judge(state, plan, ask, ("claims", VERSION), request)
    claims = _with_later(reply.claims, state.answer_text, "claims", state, plan, ask)
    return reply.model_copy(update={"claims": claims})


def answer_claims(state: State) -> tuple[Claim, ...]:
    """Return the claims of the answer, those that came with it first; empty before its step is done."""
    if state.given and state.given.matrix.answer_claims is not None:
        return state.given.matrix.answer_claims
    reply: ClaimsReply | None = state.results.get("claims")
    return read_claims(reply.claims, state.answer_text) if reply else ()


def reference_claims(state: State) -> tuple[Claim, ...]:
    """Return the claims of the reference, those that came with the recording first; empty before its step is done."""
    if state.given and state.given.matrix.reference_claims is not None:
        return state.given.matrix.reference_claims
    claims: tuple[Claim, ...] = state.results.get("reference") or ()
    return claims


def _enter(evaluated: EvaluatedAnswer, state: State) -> EvaluatedAnswer:
    reply: ClaimsReply = state.results["claims"]
    matrix = Matrix(tuple(state.context), answer_claims(state), reference_claims(state))
    asked_back = tuple(q.strip() for q in reply.questions if q.strip())[:ASKED_BACK]
    return replace(evaluated, matrix=matrix, asked_back=asked_back, noncommittal=reply.noncommittal)


def _claim_for_each_sentence(item: Item) -> list[ClaimReply]:
    """Return a claim for every sentence of the reference: an answer is assumed to be as long."""
    sentences = numbered(item.question.answer)
    return [ClaimReply(text=text, sentence=int(number)) for number, text in sentences.items()]


def most_claim_numbers(item: Item) -> range:
    """Return at least as many numbers as there are claims, for a dry run: verdicts on missing claims are ignored."""
    answer = item.question.answer
    return range(1, 2 * (len(numbered(answer)) if answer else MOST_CLAIMS) + 1)


REFERENCE = Step(
    "Claims of the reference",
    _ask_reference,
    enter=lambda evaluated, _: evaluated,  # entered with the answer's claims
    placeholders={ReferenceReply: lambda item: ReferenceReply(claims=_claim_for_each_sentence(item))},
    version=VERSION,
)
STEP = Step(
    "Claims of the answer",
    _ask_claims,
    _enter,
    placeholders={
        ClaimsReply: lambda item: ClaimsReply(
            claims=_claim_for_each_sentence(item), questions=[item.question.query] * ASKED_BACK, noncommittal=False
        )
    },
    needs=("answer",),
    version=VERSION,
)
