"""The steps of answering and judging one question: what each asks, and what it makes of the reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from ragviz.answers import answering, contexts
from ragviz.errors import ModelError
from ragviz.judging import banks, claims, comparison, context, quest_prompts, versions
from ragviz.judging.texts import by_number, spoken
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.records import Answer, Bank, BankItem, Call, Claim
from ragviz.scheduler.planning import Item, Plan

REPLIES = 9
"""Replies that are paid for one step of a question, at most: those that cannot be used, of all rounds, included."""


class Asks(Protocol):
    """Asks a model for a step: the real one, or the one of a dry run, which makes replies up."""

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError."""
        ...


@dataclass(slots=True)
class State:
    """What is known of one question so far; a step is done by one thread, and writes only what it makes."""

    item: Item
    place: int
    answer: Answer | None = None
    given: contexts.Fitted | None = None
    reference_claims: tuple[Claim, ...] = ()
    told: claims.ClaimsReply | None = None
    read: context.ContextRead | None = None
    compared: comparison.Compared | None = None
    bank: Bank | None = None
    bank_answers: tuple[str | None, ...] | None = None
    done: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)  # by step, of all rounds
    usable: Counter[str] = field(default_factory=Counter)  # by step, of all rounds
    vain: Counter[str] = field(default_factory=Counter)  # calls that gave nothing, by step
    useless: dict[str, int] = field(default_factory=dict)  # by the words that were asked
    reasons: dict[str, str] = field(default_factory=dict)  # why a step failed last

    def once_more(self) -> State:
        """Forget what failed, to try that again."""
        self.reasons |= self.failures
        self.failures.clear()
        self.item = replace(self.item, seed=self.item.seed + 2)
        return self

    @property
    def answer_text(self) -> str:
        """What is judged as the answer: "" when there is none, or it was refused."""
        return self.answer.text if self.answer and self.answer.status == "answered" else ""

    @property
    def reference(self) -> str:
        """The reference answer, "" when there is none."""
        return self.item.question.answer

    @property
    def context(self) -> dict[str, str]:
        """Texts of the passages that are judged, by chunk: as the answerer got them, without one the first k."""
        if self.given is None:
            return {chunk.id: chunk.text for chunk in self.item.chunks}
        return {passage.chunk_id: passage.text for passage in self.given.passages}


def _answer(state: State, plan: Plan, ask: Asks) -> None:
    question, config = state.item.question, plan.config
    state.given = contexts.fitted(state.item.chunks, config.context_tokens)
    asking = partial(ask, plan.answerer) if plan.answerer else None
    for again in range(2):  # an empty answer is asked again, in other words and with another seed, or it came back
        answer = answering.answer(
            question,
            state.given,
            config.answerer,
            ask=asking
            if not (asking and again)
            else partial(_once_more, asking, config.seed + state.item.seed + again),
            temperature=config.temperature,
            kind=config.context,
            seed=config.seed,
        )
        if answer.status != "failed":
            state.answer = answer
            return
    raise ModelError(answer.reason)


def _once_more(ask: Callable[[Request[Any]], Completion[Any]], number: int, request: Request[Any]) -> Completion[Any]:
    return ask(request.once_more(number, "The last answer was empty: answer, or say that it is not answerable."))


def _reference(state: State, plan: Plan, ask: Asks) -> None:
    if not state.reference.strip():
        return
    request = claims.reference_request(state.item.question.text, state.reference)
    reply = _judged(state, plan, ask, "reference", request)
    state.reference_claims = claims.read_claims(reply.claims, state.reference)


def _claims(state: State, plan: Plan, ask: Asks) -> None:
    if not state.answer_text:
        state.told = claims.ClaimsReply(claims=[], questions=[], noncommittal=False)
        return
    state.told = _judged(state, plan, ask, "claims", claims.claims_request(state.item.question.text, state.answer_text))


def _context(state: State, plan: Plan, ask: Asks) -> None:
    answer, reference = answer_claims(state), state.reference_claims
    claims, passages = by_number((*answer, *reference)), list(state.context.values())
    read = context.ContextRead()
    if not passages:
        state.read = context.ContextRead(dict.fromkeys(claims, ()), {})
        return
    for number in range(2):
        missing, unread = read.missed(len(claims), len(passages))
        if not missing and not unread:
            break
        asked = {number: claims[number] for number in missing}
        request = context.context_request(state.item.question.text, state.reference, asked, passages)
        reply = _judged(state, plan, ask, "context", request, number)
        read = context.read_context(reply, len(claims), passages, read)
    _complete(read.missed(len(claims), len(passages)), "the judge left out {} of the claims and passages")
    state.read = read


def _comparison(state: State, plan: Plan, ask: Asks) -> None:
    if not state.answer_text or not state.reference.strip():
        return
    texts = (state.answer_text, state.reference)
    answer, reference = answer_claims(state), state.reference_claims
    counts = (len(answer), len(reference))
    read = comparison.Compared()
    for number in range(2):
        missing = read.missed(*counts)
        if read.equivalence is not None and not any(missing):
            break
        asked = (by_number(answer, missing[0]), by_number(reference, missing[1]))
        request = comparison.comparison_request(state.item.question.text, texts, *asked)
        reply = _judged(state, plan, ask, "comparison", request, number)
        read = comparison.read_comparison(reply, texts, counts, read)
    _complete(read.missed(*counts), "the judge left out {} of the claims")
    state.compared = read


def _bank(state: State, plan: Plan, ask: Asks) -> None:
    reference = state.reference
    if not reference.strip() or state.item.question.kind == "unanswerable":
        return
    assert plan.judge is not None
    tongue = spoken(reference, state.item.question.text)
    maker = f"{plan.judge.model} {plan.judge.base_url}"  # servers of one's own often call what they run alike
    maker += f" {plan.edition}" if plan.edition else ""
    imported, own = banks.imported_bank_key(state.item.question), banks.bank_key(maker, reference)
    kept = plan.banks.get_many([imported, own])
    if body := kept.get(imported) or kept.get(own):
        state.bank = banks.read_bank(body)
        return
    # When the answers to its questions could not be used before, other questions are asked for.
    request, again = quest_prompts.bank_request(reference, tongue), min(1, state.item.seed)
    reply = _judged(state, plan, ask, "bank", request, again, UNANSWERABLE)
    asked = quest_prompts.bank_questions(reply)
    answers = _answers(
        state, plan, ask, "bank", reference, dict(enumerate(question for _, question in asked)), own=True
    )
    items = tuple(BankItem(key, question, answers[number]) for number, (key, question) in enumerate(asked))
    state.bank = Bank(items, tongue, plan.judge.model, versions.PROMPTS["bank"], _calls_for(state, "bank"))
    plan.banks.put_many({own: banks.bank_bytes(state.bank)})


def _calls_for(state: State, step: str) -> tuple[Call, ...]:
    return tuple(call for call in list(state.calls) if call.step == step)


def _questeval(state: State, plan: Plan, ask: Asks) -> None:
    if state.bank is None or not state.answer_text:
        return
    asked = {number: item.question for number, item in enumerate(state.bank.items)}
    answers = _answers(state, plan, ask, "questeval", state.answer_text, asked)
    state.bank_answers = tuple(answers[number] for number in asked)


def _answers(
    state: State, plan: Plan, ask: Asks, step: str, text: str, asked: Mapping[int, str], *, own: bool = False
) -> dict[int, str | None]:
    """Answers to the questions of a bank from one text; those that a reply misses are asked again."""
    answers: dict[int, str | None] = {}
    for number in range(2):
        missing = {number: question for number, question in asked.items() if number not in answers}
        if not missing:
            break
        tongue = spoken(text, " ".join(missing.values()))
        request = quest_prompts.answers_request(text, missing, tongue, own=own and len(missing) == len(asked))
        reply = _judged(state, plan, ask, step, request, number)
        answers |= quest_prompts.read_answers(reply, missing)[0]
    _complete(([n for n in asked if n not in answers], []), "the judge left out {} of the questions")
    return answers


STEPS: dict[str, Callable[[State, Plan, Asks], None]] = {
    "answer": _answer,
    "bank": _bank,
    "reference": _reference,
    "claims": _claims,
    "context": _context,
    "comparison": _comparison,
    "questeval": _questeval,
}


def answer_claims(state: State) -> tuple[Claim, ...]:
    """Claims of the answer as far as they are known."""
    return claims.read_claims(state.told.claims, state.answer_text) if state.told else ()


def _complete(missing: tuple[Sequence[int], Sequence[int]], sentence: str) -> None:
    if left_out := sum(map(len, missing)):
        raise ModelError(f"{sentence.format(left_out)}, asked twice. Judge again, or choose another judge.")


LACKING = "The last reply left out some of what was asked for: give every row."
UNANSWERABLE = "The questions of the last reply could not be answered from the reference: ask others."


def _judged(
    state: State, plan: Plan, ask: Asks, step: str, request: Request[Any], again: int = 0, why: str = LACKING
) -> Any:
    """Ask the judge; what is asked `again` is asked in other words, or the reply that lacked something came back."""
    assert plan.judge is not None
    if again:
        request = request.once_more(state.item.seed + again, why)
    completion = ask(plan.judge, replace(request, edition=plan.edition))
    state.calls.append(call_of(step, versions.PROMPTS[step], completion))
    return completion.parsed


def call_of(step: str, version: str, completion: Completion[Any]) -> Call:
    """What is kept of a completion."""
    counts = (completion.prompt_tokens, completion.completion_tokens, completion.seconds)
    return Call(step, completion.model, version, *counts, completion.cost, completion.cached, completion.text)


def bounded(state: State, step: str, ask: Asks) -> Asks:
    """Ask for a step, for at most `REPLIES` replies over all rounds; what came in vain is asked in other words."""

    def asking(client: ModelClient, request: Request[Any]) -> Completion[Any]:
        if state.replies[step] >= REPLIES:
            raise ModelError(state.reasons.get(step, f"{REPLIES} replies were not enough; choose another model."))
        words = request.messages[-1]["content"]
        before = state.useless.get(words, state.item.seed if step in state.item.failed else 0)
        try:
            completion = ask(client, replace(request, number=before))
        except ModelError as error:
            state.replies[step] += error.replies
            state.vain[step] += max(error.replies, error.calls)
            state.useless[words] = before + error.replies
            state.reasons[step] = str(error)
            raise
        state.replies[step] += completion.useless + (not completion.cached)
        state.vain[step] += completion.useless
        state.usable[step] += not completion.cached
        return completion

    return asking
