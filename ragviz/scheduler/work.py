"""Answers a run's questions and has the answers judged: many questions at once, each model call paid once.

A question's steps depend on each other ("claims" needs the answer, "context" needs the claims); whatever is ready is
asked, the earliest question first, so that questions get finished one after another and a stopped run has whole ones.
A call that fails is asked again after all others; a whole endpoint that fails is waited for.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ragviz import stopping
from ragviz.answers import answering
from ragviz.errors import ModelError, RagvizError
from ragviz.judging import checks, context, quest_prompts
from ragviz.metrics import answers as metrics
from ragviz.models.breaker import Breaker
from ragviz.models.chat import Completion, ModelClient, Request
from ragviz.models.embedding import Embedder
from ragviz.models.spending import Spending
from ragviz.records import (
    Answer,
    Bank,
    BankItem,
    Cache,
    Call,
    Chunk,
    Claim,
    Judged,
    Matrix,
    Progress,
    Question,
    RunConfig,
    Score,
    digest,
    silent,
)
from ragviz.scheduler.crew import Crew
from ragviz.stopping import Stopping, current
from ragviz.text import language

NEEDS: dict[str, tuple[str, ...]] = {
    "answer": (),
    "bank": (),
    "reference": (),
    "claims": ("answer",),
    "context": ("claims", "reference"),
    "comparison": ("claims", "reference"),
    "questeval": ("answer", "bank"),
}
"""The steps of a question, and what each of them needs done before."""

WORKING = "Answering and judging"
ROUNDS = 3
"""How often a step that failed is asked, in all."""
REPLIES = 9
"""Replies that are paid for one step of a question, at most: those that cannot be used, of all rounds, included."""
WINDOW = 16
"""Questions that are embedded and written down together, at most."""
TOGETHER = 0.25
"""Seconds to wait for more of them."""
LONGEST = 2.0
"""Seconds after which those that are through are written down, however many they are."""
PATIENCE = 600.0
"""Seconds that an endpoint may be down before the run stops (to be resumed) instead of waiting."""
PAUSES = (2.0, 5.0, 10.0, 30.0)
"""Seconds between two looks at an endpoint that is down."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question of a run with its context: the first k chunks, best first.

    `seed` goes with what is asked again because a reply lacked something: another one gets another reply. `paid` are
    the calls that an earlier try at it paid, `failed` the steps that failed then.
    """

    question: Question
    chunks: tuple[Chunk, ...]
    seed: int = 0
    paid: tuple[Call, ...] = ()
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with every question, and with what.

    `answerer` and `judge` are clients, None where no model is asked; `names` are metrics of answers. Every call is
    written into `spending` before it is sent, those of `embedder` too, where it was opened with that; models need a
    price where it has a budget. `patience` is in seconds. `finished` questions of the run are through already.
    `edition` is that of the judge's replies: those of another were worth nothing. `breaker` stops the work of a useless
    model.
    """

    config: RunConfig
    names: tuple[str, ...]
    banks: Cache
    answerer: ModelClient | None = None
    judge: ModelClient | None = None
    embedder: Embedder | None = None
    spending: Spending = field(default_factory=Spending)
    patience: float = PATIENCE
    finished: int = 0
    edition: int = 0
    breaker: Breaker = field(default_factory=Breaker)

    @property
    def steps(self) -> frozenset[str]:
        """The steps that each question needs."""
        asked = set(metrics.steps_of(self.names))
        if self.config.answerer != "none":
            asked.add("answer")
        if "questeval" in asked:
            asked.add("bank")
        if asked & {"context", "comparison"}:
            asked |= {"reference", "claims"}
        return frozenset(asked)

    @property
    def concurrency(self) -> int:
        """How many steps are done at once."""
        return max([client.concurrency for client in (self.answerer, self.judge) if client] or [2])


Keep = Callable[[Sequence[tuple[Judged, Sequence[Score]]]], None]
"""Told of questions that are through, with their scores; a question that failed comes again."""


def work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress = silent) -> None:
    """Answer and judge `items`; everything that is finished has been given to `keep` when this returns or raises.

    Raises:
        ModelError: an endpoint refuses, or is down for longer than the plan's patience; UselessModel, see `breaker`.
        BudgetReached: the budget is used up.
        Cancelled: `progress` raised it.

    """
    _load(items, plan)
    asker = Asker(plan)
    try:
        _work(items, plan, keep, progress, asker)
    finally:
        asker.settle()


def _load(items: Sequence[Item], plan: Plan) -> None:
    """Load what the work needs before its first thread starts: threads that import at once can trip each other.

    A person who stops the work does not wait for it.
    """
    for client in (plan.answerer, plan.judge):
        if client is not None:
            client.open()
    texts = dict.fromkeys(text for item in items for text in (item.question.text, item.question.answer))
    languages, phrases = {*map(language.detect, texts)}, any(map(_wants_phrases, plan.names))
    stopping.apart(lambda: language.load(languages, phrases=phrases))
    if plan.embedder is not None and items and any(metrics.ANSWER_METRICS[name].vectors for name in plan.names):
        plan.embedder.load()


def _wants_phrases(name: str) -> bool:
    return name.startswith("extractive_questeval")


def _work(items: Sequence[Item], plan: Plan, keep: Keep, progress: Progress, asker: Asker) -> None:
    """Tell the progress in steps, each of which is about a call: with a slow model no question is through for long."""
    states = [State(item, place) for place, item in enumerate(items)]
    through, count = plan.finished, plan.finished + len(items)
    before, total = through * len(plan.steps), count * len(plan.steps)

    def tell(done: int) -> None:
        progress(done, total, "steps", asker.trouble or f"{WORKING}: {through:,} of {count:,} questions are through")

    tell(before)
    for number in range(ROUNDS):
        failed: list[State] = []
        for batch in _finished(states, plan, asker):
            if batch:
                known = with_similarities([_known(state, plan) for state in batch], batch, plan)
                keep([(judged, metrics.scores(judged, plan.names)) for judged in known])
            failed += [state for state in batch if state.failures]
            through += sum(not state.failures or number == ROUNDS - 1 for state in batch)
            asker.settle()
            tell(before + asker.steps)
        states = [state.once_more() for state in sorted(failed, key=lambda state: state.place)]
        if not states:
            break
    tell(total)


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
    given: answering.Fitted | None = None
    reference_claims: tuple[Claim, ...] = ()
    told: context.ClaimsReply | None = None
    read: context.ContextRead | None = None
    compared: context.Compared | None = None
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


# Steps: each raises ModelError when its call fails


def _answer(state: State, plan: Plan, ask: Asks) -> None:
    question, config = state.item.question, plan.config
    state.given = answering.fitted(state.item.chunks, config.context_tokens)
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
    request = context.reference_request(state.item.question.text, state.reference)
    reply = _judged(state, plan, ask, "reference", request)
    state.reference_claims = context.read_claims(reply.claims, state.reference)


def _claims(state: State, plan: Plan, ask: Asks) -> None:
    if not state.answer_text:
        state.told = context.ClaimsReply(claims=[], questions=[], noncommittal=False)
        return
    state.told = _judged(
        state, plan, ask, "claims", context.claims_request(state.item.question.text, state.answer_text)
    )


def _context(state: State, plan: Plan, ask: Asks) -> None:
    answer, reference = _answer_claims(state), state.reference_claims
    claims, passages = context.by_number((*answer, *reference)), list(state.context.values())
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
    answer, reference = _answer_claims(state), state.reference_claims
    counts = (len(answer), len(reference))
    read = context.Compared()
    for number in range(2):
        missing = read.missed(*counts)
        if read.equivalence is not None and not any(missing):
            break
        asked = (context.by_number(answer, missing[0]), context.by_number(reference, missing[1]))
        request = context.comparison_request(state.item.question.text, texts, *asked)
        reply = _judged(state, plan, ask, "comparison", request, number)
        read = context.read_comparison(reply, texts, counts, read)
    _complete(read.missed(*counts), "the judge left out {} of the claims")
    state.compared = read


def _bank(state: State, plan: Plan, ask: Asks) -> None:
    reference = state.reference
    if not reference.strip() or state.item.question.kind == "unanswerable":
        return
    assert plan.judge is not None
    tongue = context.spoken(reference, state.item.question.text)
    maker = f"{plan.judge.model} {plan.judge.base_url}"  # servers of one's own often call what they run alike
    maker += f" {plan.edition}" if plan.edition else ""
    imported, own = imported_bank_key(state.item.question), bank_key(maker, reference)
    kept = plan.banks.get_many([imported, own])
    if body := kept.get(imported) or kept.get(own):
        state.bank = read_bank(body)
        return
    # When the answers to its questions could not be used before, other questions are asked for.
    request, again = quest_prompts.bank_request(reference, tongue), min(1, state.item.seed)
    reply = _judged(state, plan, ask, "bank", request, again, UNANSWERABLE)
    asked = quest_prompts.bank_questions(reply)
    answers = _answers(
        state, plan, ask, "bank", reference, dict(enumerate(question for _, question in asked)), own=True
    )
    items = tuple(BankItem(key, question, answers[number]) for number, (key, question) in enumerate(asked))
    state.bank = Bank(items, tongue, plan.judge.model, metrics.PROMPTS["bank"], _calls_for(state, "bank"))
    plan.banks.put_many({own: bank_bytes(state.bank)})


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
        tongue = context.spoken(text, " ".join(missing.values()))
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


def _answer_claims(state: State) -> tuple[Claim, ...]:
    return context.read_claims(state.told.claims, state.answer_text) if state.told else ()


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
    state.calls.append(call_of(step, metrics.PROMPTS[step], completion))
    return completion.parsed


def call_of(step: str, version: str, completion: Completion[Any]) -> Call:
    """What is kept of a completion."""
    counts = (completion.prompt_tokens, completion.completion_tokens, completion.seconds)
    return Call(step, completion.model, version, *counts, completion.cost, completion.cached, completion.text)


# Banks


def bank_key(maker: str, reference: str) -> str:
    """Key of the bank that `maker` made of a reference."""
    return digest("bank", maker, metrics.PROMPTS["bank"], reference, length=32)


def imported_bank_key(question: Question) -> str:
    """Key of the bank that was imported for a question; ids alone can be the same in two sets."""
    return digest("bank", "import", question.id, question.text, question.answer, length=32)


def bank_bytes(bank: Bank) -> bytes:
    """A bank as it is kept."""
    items = [[item.key, item.question, item.answer] for item in bank.items]
    calls = [[getattr(call, name) for name in Call.__slots__] for call in bank.calls]
    return json.dumps([items, bank.language, bank.maker, bank.version, calls], ensure_ascii=False).encode()


def read_bank(body: bytes) -> Bank:
    """Read what `bank_bytes` wrote."""
    items, tongue, maker, version, calls = json.loads(body)
    return Bank(tuple(BankItem(*item) for item in items), tongue, maker, version, tuple(Call(*call) for call in calls))


def extractive_banks(references: Sequence[str], banks: Cache) -> dict[str, Bank]:
    """The extractive bank of each reference, made once."""
    keys = {reference: bank_key("extractive", reference) for reference in references if reference.strip()}
    kept = banks.get_many(list(keys.values()))
    found = {reference: read_bank(kept[key]) for reference, key in keys.items() if key in kept}
    new = {r: quest_prompts.extractive_bank(r, language.detect(r)) for r in keys if r not in found}
    if new:
        banks.put_many({keys[reference]: bank_bytes(bank) for reference, bank in new.items()})
    return found | new


# What is known of a question when its steps are done


def _known(state: State, plan: Plan) -> Judged:
    question = state.item.question
    answer = state.answer or Answer(question.id, "", "failed" if "answer" in state.failures else "answered", "none")
    if "answer" in state.failures:
        answer = replace(answer, reason=state.failures["answer"], answerer=plan.config.answerer)
        if state.given is not None:
            answer = replace(answer, context=state.given.context, cut=state.given.cut)
    calls = {(call.step, call.raw): call for call in reversed([*state.item.paid, *state.calls])}
    judged = Judged(question, answer, failures=dict(state.failures), calls=tuple(reversed(calls.values())))
    if state.told is not None:
        chunks = tuple(state.context)
        matrix = Matrix(chunks, _answer_claims(state), state.reference_claims)
        matrix = context.with_context(matrix, state.read) if state.read else matrix
        matrix = context.with_comparison(matrix, state.compared) if state.compared else matrix
        asked_back = tuple(q.strip() for q in state.told.questions if q.strip())[: context.ASKED_BACK]
        judged = replace(judged, matrix=matrix, asked_back=asked_back, noncommittal=state.told.noncommittal)
    if (told := state.compared) is not None:
        judged = replace(
            judged,
            equivalence=told.equivalence,
            equivalence_reason=told.reason,
            completeness=told.completeness,
            conciseness=told.conciseness,
        )
    return replace(judged, bank=state.bank, bank_answers=state.bank_answers, shared_words=_shared_words(state))


def _shared_words(state: State) -> float | None:
    """Share of the answer's words that stand in its context; None without an answer, a context or words."""
    said = checks.units(answering.without_citations(state.answer_text))
    if not said or not state.context:
        return None
    held = frozenset[str]().union(*map(checks.units, state.context.values()))
    return len(said & held) / len(said)


def with_similarities(known: Sequence[Judged], states: Sequence[State], plan: Plan) -> list[Judged]:
    """Add what needs no model: the extractive bank, and what the embedder tells, all texts embedded together."""
    result = list(known)
    if "extractive_questeval_recall" in plan.names:
        banks = extractive_banks([j.question.answer for j in known if j.question.kind != "unanswerable"], plan.banks)
        result = [_with_extractive(judged, banks.get(judged.question.answer)) for judged in result]
    if plan.embedder is None or not any(metrics.ANSWER_METRICS[name].vectors for name in plan.names):
        return result
    sentences = "embedding_faithfulness" in plan.names
    contexts = [list(state.context.values()) if sentences else [] for state in states]
    texts = dict.fromkeys(
        text for judged, context in zip(result, contexts, strict=True) for text in _embedded(judged, context)
    )
    vectors = dict(zip(texts, plan.embedder.embed(list(texts), "passage"), strict=True)) if texts else {}
    return [_compared(judged, context, vectors) for judged, context in zip(result, contexts, strict=True)]


def _with_extractive(judged: Judged, bank: Bank | None) -> Judged:
    if bank is None or judged.answer.status != "answered":
        return judged
    answers = quest_prompts.extractive_answers(bank, judged.answer.text)
    return replace(judged, extractive_bank=bank, extractive_bank_answers=answers)


def _embedded(judged: Judged, context: Sequence[str]) -> Iterator[str]:
    """The texts whose vectors one question needs."""
    if judged.answer.status != "answered" or not judged.answer.text.strip():
        return
    yield from (text for text in (judged.question.text, judged.answer.text, judged.question.answer) if text.strip())
    yield from judged.asked_back or ()
    if context:
        yield from _sentences(judged.answer.text)
        for text in context:
            yield from _sentences(text)


def _compared(judged: Judged, context: Sequence[str], vectors: Mapping[str, Any]) -> Judged:
    answer = judged.answer.text
    if answer not in vectors or judged.answer.status != "answered":
        return judged
    reference, question = vectors.get(judged.question.answer), vectors.get(judged.question.text)
    back = [float(vectors[text] @ question) for text in judged.asked_back or () if question is not None]
    said = [vectors[text] for text in _sentences(answer)] if context else []
    given = [vectors[text] for chunk in context for text in _sentences(chunk)]
    best = (np.array(said) @ np.array(given).T).max(axis=1).tolist() if said and given else None
    return replace(
        judged,
        similarity=float(vectors[answer] @ reference) if reference is not None else None,
        asked_back_similarity=tuple(back) if judged.asked_back is not None else None,
        sentence_similarity=tuple(map(float, best)) if best is not None else None,
    )


def _sentences(text: str) -> list[str]:
    """Sentences of a text that say something, without the citations."""
    plain = answering.without_citations(text)
    sentences = (plain[start:end] for start, end in context.sentences_of(plain))
    return [sentence for sentence in sentences if any(character.isalnum() for character in sentence)]


# Who asks


class Asker:
    """Asks the model within the budget, and waits while its endpoint is down."""

    def __init__(self, plan: Plan) -> None:
        """Count from now on; the plan's clients are to be open."""
        self._plan, self._changed = plan, threading.Lock()
        self._clients = [client for client in {plan.answerer, plan.judge} if client]
        self.steps = 0
        self._down_since: float | None = None
        self._answered = 0.0
        self._waiting, self.stopping = "", Stopping()

    def __call__(self, client: ModelClient, request: Request[Any]) -> Completion[Any]:
        """Return the completion, or raise ModelError, or BudgetReached before a call that could go over."""
        pauses, begun = 0, time.monotonic()
        while True:
            try:
                completion = client.ask(replace(request, spending=self._plan.spending))
            except ModelError as error:
                failed = error
            else:
                self._down_since, self._waiting, self._answered = None, "", time.monotonic()
                return completion
            # Where another call was answered meanwhile, or a tiny one is now, it is this call alone.
            if failed.passing and pauses and (self._answered > begun or _up(client, self._plan.spending)):
                self._down_since, self._waiting = None, ""
                raise ModelError(str(failed))
            self._wait(failed, pauses)
            pauses += 1

    def step_done(self) -> None:
        """Count a step of a question that is done."""
        with self._changed:
            self.steps += 1

    @property
    def trouble(self) -> str:
        """What an endpoint is being waited for, "" when it answers."""
        return self._waiting or next((client.trouble for client in self._clients if client.trouble), "")

    def settle(self) -> None:
        """Have what calls did cost written down, instead of the most that they could."""
        self._plan.spending.settle()

    def _wait(self, error: ModelError, pauses: int) -> None:
        """Wait before asking an endpoint again that is down; raise what no waiting mends."""
        if not error.passing:
            raise error
        now = time.monotonic()
        self._down_since = self._down_since or now
        if now - self._down_since > self._plan.patience:
            raise error
        self._waiting = f"Paused, and going on by itself: {error}"
        if current().wait(PAUSES[min(pauses, len(PAUSES) - 1)]):
            raise error


def _up(client: ModelClient, spending: Spending) -> bool:
    """Whether the endpoint answers something tiny."""
    try:
        client.test(spending)
    except ModelError:
        return False
    return True


def _bounded(state: State, step: str, ask: Asks) -> Asks:
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


def _finished(states: Sequence[State], plan: Plan, asker: Asker) -> Iterator[list[State]]:
    """Do the steps of `states`, and give those that are through, some at a time; an empty list while there are none."""

    def do(place: int, step: str) -> None:
        state = states[place]
        if step in state.done:
            return
        broken = next((need for need in NEEDS[step] if need in state.failures), None)
        if broken is not None:
            state.failures[step] = state.failures[broken]
            return
        usable, vain = state.usable[step], state.vain[step]
        try:
            STEPS[step](state, plan, _bounded(state, step, asker))
        except ModelError as error:
            if error.outage:
                raise
            state.failures[step] = str(error)
            plan.breaker.count(step, 0, state.usable[step] - usable + state.vain[step] - vain, str(error))
        else:
            state.done.add(step)
            asker.step_done()
            plan.breaker.count(step, state.usable[step] - usable, state.vain[step] - vain, state.reasons.get(step, ""))

    needs = {step: [need for need in NEEDS[step] if need in plan.steps] for step in NEEDS if step in plan.steps}
    asker.stopping.clear()
    with Crew(len(states), needs, do, workers=plan.concurrency, stopping=asker.stopping) as crew:
        batch: list[State] = []
        given = time.monotonic()
        try:
            for place in crew.finished(TOGETHER):
                batch += [states[place]] if place is not None else []
                if place is None or len(batch) >= WINDOW or time.monotonic() - given > LONGEST:
                    yield batch
                    batch, given = [], time.monotonic()
        except RagvizError:
            yield batch  # they are paid for
            raise
        yield batch
