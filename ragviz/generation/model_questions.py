"""Questions by a model, the claim first: it takes claims with their quotes from passages, then asks about them.

A prompt is put together of instructions for the type of the question and for its style.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from ragviz.core.digests import digest, json_line
from ragviz.core.document import Chunk, Document, Evidence, Span
from ragviz.core.errors import ModelError
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.generation import evidence_passages, question_prompts, rejection
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.text import language, numerals
from ragviz.text.quotes import places

Ask = Callable[[ModelClient, Request[Any]], Completion[Any]]
"""Sends a request by a client; raises BudgetReached when no more may be paid."""
FAILED = "model failed"
"""How the reason of a rejection begins when the call failed: the model is asked about these passages again."""

SHOWN = 60
"""Characters of a reply's words in a reason."""


_COUNTED = re.compile(
    r"\b(?:hundred|thousand|million|billion|dozen|half|quarter|once|twice|first|second|third|fourth|fifth|last day|noon"
    r"|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b|[万亿半]|周[日末]|星期[日天]",
    re.IGNORECASE,
)
"""Numbers, dates and times in words that `numerals` does not read."""
_EASTERN = re.compile(f"[{language.IDEOGRAPH}\u3041-\u30ff]")


class ClaimReply(BaseModel):
    """A claim that a passage makes."""

    passage: int = Field(description="Number of the passage.")
    quote: str = Field(description="The words of that passage that make the claim, copied character by character.")
    statement: str = Field(description="The claim in one sentence that is understood alone.")


class QuestionReply(BaseModel):
    """Claims of the passages, and a question that they answer."""

    claims: list[ClaimReply]
    question: str
    answer: str


class Turn(BaseModel):
    """An earlier turn of a conversation."""

    question: str
    answer: str


class FollowUpReply(QuestionReply):
    """A question that is understood only after the earlier turns of its conversation."""

    earlier: list[Turn] = Field(description="The earlier turns, the oldest first.")


class Swap(BaseModel):
    """What makes a true question unanswerable."""

    what: Literal["entity", "attribute", "time"]
    original: str = Field(description="The words of the true question.")
    replacement: str = Field(description="The words that stand in their place.")


class UnanswerableReply(QuestionReply):
    """A claim, a true question that it answers, and the question with one thing swapped, which has no answer."""

    true_question: str
    swap: Swap


@dataclass(frozen=True, slots=True)
class Task:
    """A question to be written about `passages`, as many as its type needs.

    `asked` are texts of questions that exist about these passages, not to be written again. `number` counts those of
    the same type and passages, from 0. `titles` say where each passage stands: the title of its document and the
    headings above it. `own` is the language of the documents, "" where it is to be read off the passages. `drawn`, a
    number, decides whose question it is.
    """

    type: QuestionType
    style: QuestionStyle
    passages: Sequence[Chunk]
    asked: tuple[str, ...] = ()
    number: int = 0
    titles: tuple[str, ...] = ()
    own: str = ""
    drawn: int = 0

    @property
    def passage_language(self) -> str:
        """The code of the language of the passages, which the answer is in."""
        return self.own or language.detect("\n".join(chunk.text for chunk in self.passages))

    @property
    def question_language(self) -> str:
        """The code of the language of the question: another one than that of the passages is Chinese or English."""
        own = self.passage_language
        return own if self.style != "other-language" else "zh" if own == "en" else "en"


TEMPERATURE = 0.7
"""Of the calls that write questions: greedy ones are alike. The seed makes them repeatable where a server obeys it."""
_REPLIES: Mapping[str, type[QuestionReply]] = {"follow-up": FollowUpReply, "unanswerable": UnanswerableReply}

THOUGHT = 2000
"""Tokens that a reply may take beside its quotes: statements, question, answer, and a reasoning model's thoughts."""


def question_id(task: Task, maker: str, seed: int = 0) -> str:
    """Return the id of the question that a model called `maker` writes for a task."""
    chunk_ids = [chunk.id for chunk in task.passages]
    number = [str(task.number)] if task.number else []
    return digest("claimed question", maker, str(seed), task.type, task.style, *chunk_ids, *number)


def question_request(task: Task, seed: int = 0) -> Request[Any]:
    """Build the request to the model for a task; its reply has the type of its question's."""
    lang: Literal["en", "zh"] = "zh" if task.passage_language == "zh" else "en"
    texts = [json_line(chunk.text) for chunk in task.passages]
    titles = [f" {json_line(title)}" if title else "" for title in task.titles] or [""] * len(texts)
    asked = json_line(list(task.asked)) if task.asked else ""
    # The fence is made of the texts' own digest, so that no text can hold it.
    fence = f"passages-{digest(*titles, *texts, asked)}"
    lines = [line for number, text in enumerate(texts) for line in (f"[{number + 1}]{titles[number]}", text)]
    user = "\n".join([f"<{fence}>", *lines, *([asked] if asked else []), f"</{fence}>"])
    system = question_prompts.system(
        lang, fence, task.type, task.style, len(texts), task.question_language, asked=bool(asked), drawn=task.drawn
    )
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    most = THOUGHT + 2 * sum(len(chunk.text) for chunk in task.passages)  # the claims are quoted from them
    reply = _REPLIES.get(task.type, QuestionReply)
    return Request(messages, reply, temperature=TEMPERATURE, seed=seed + task.number, max_tokens=most)


def blank(task: Task, maker: str, seed: int = 0) -> Question:
    """Return a task's question without text yet."""
    return Question(
        id=question_id(task, maker, seed),
        text="",
        answer="",
        evidence=(),
        generator=maker,
        language=task.passage_language,
        source_chunks=tuple(chunk.id for chunk in task.passages),
        unanswerable=task.type == "unanswerable",
        type=task.type,
        style=task.style,
    )


def written(
    tasks: Iterable[Task],
    documents: Mapping[str, Document],
    existing: set[str],
    client: ModelClient,
    seed: int = 0,
    ask: Ask | None = None,
) -> Iterator[Question]:
    """Yield the model's question for each task, in order; the calls are concurrent, a little ahead of the consumer.

    `documents` are those of the passages, by id. `existing` holds `rejection.normal` of the texts of existing
    questions; those of usable ones are added. A question that is not usable is rejected with the reason, one whose call
    failed with "model failed: …".

    Raises:
        ModelError: the whole endpoint fails.
        BudgetReached: `ask` raised it.

    """
    waiting = list[Task]()

    def requests() -> Iterator[Request[Any]]:
        for task in tasks:
            waiting.append(task)
            yield question_request(task, seed)

    for number, completion in enumerate(client.complete_many(requests(), partial(ask, client) if ask else None)):
        task = waiting[number]
        if not isinstance(completion, ModelError):
            assert completion.parsed is not None
            yield read(completion.parsed, task, documents, client.model, seed, existing)
        elif completion.outage:
            raise completion
        else:
            yield replace(blank(task, client.model, seed), status="rejected", reason=f"{FAILED}: {completion}")


def read(
    reply: QuestionReply,
    task: Task,
    documents: Mapping[str, Document],
    maker: str,
    seed: int = 0,
    existing: set[str] | None = None,
) -> Question:
    """Return the question of a reply: its quotes are the evidence, its statements the parts; rejected where unusable.

    The first claim of each passage that has one is taken whose quote can be placed. An unanswerable question has no
    evidence; its reason says what was swapped.
    """
    question = replace(blank(task, maker, seed), text=reply.question.strip(), answer=reply.answer.strip())
    question = replace(question, language=language.of_short(question.text, task.question_language))
    if isinstance(reply, FollowUpReply):
        turns = [(turn.question.strip(), turn.answer.strip()) for turn in reply.earlier if turn.question.strip()]
        question = replace(question, history=tuple(turns))
    if not question.text:
        return _rejected(question, "the question is empty")
    groups, parts, refused = _evidence(reply.claims, task, documents)
    if refused:
        return _rejected(question, refused)
    question = replace(question, evidence=groups, parts=parts)
    reason = _fault(question, reply, task, existing or frozenset()) or _unlike(question, task, documents)
    if reason:
        return _rejected(question, reason)
    if existing is not None:
        existing.add(rejection.normal(question.query))
    if isinstance(reply, UnanswerableReply):
        swap = reply.swap
        swapped = f"swapped: {_quoted(swap.original)} → {_quoted(swap.replacement)} ({swap.what})"
        return replace(question, answer="", evidence=(), parts=(), reason=swapped)
    return question


def _quoted(text: str) -> str:
    """Return words of a reply as a reason shows them: on one line, not too many."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= SHOWN else f'{line[: SHOWN - 1]}…'}”"


def _rejected(question: Question, reason: str) -> Question:
    return replace(question, status="rejected", reason=reason)


def _evidence(
    claims: Sequence[ClaimReply], task: Task, documents: Mapping[str, Document]
) -> tuple[Evidence, tuple[str, ...], str]:
    """Return a group of evidence for each passage, what it says, and why there is none."""
    groups, parts, optional = [], [], task.type in ("follow-up", "unanswerable")
    refused = ""
    for number, chunk in enumerate(task.passages, start=1):
        where = f"passage {number}" if len(task.passages) > 1 else "the chunk"
        mine = [claim for claim in claims if claim.passage == number]
        tried = [(claim, _placed(claim, chunk, documents[chunk.document_id], where)) for claim in mine]
        found = next(((claim, span) for claim, span in tried if isinstance(span, Span)), None)
        if found is not None:
            groups.append((found[1],))
            parts.append(" ".join(found[0].statement.split()))
            continue
        refused = next((str(why) for _, why in tried), "") or refused or f"no evidence is quoted from {where}"
        if not optional:
            return (), (), refused
    return tuple(groups), tuple(parts), "" if groups else refused


def _span(chunk: Chunk, start: int, end: int) -> Span:
    return Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end])


def _placed(claim: ClaimReply, chunk: Chunk, document: Document, where: str) -> Span | str:
    """Return the only place of a claim's quote in its document, or why there is none; `where` names its passage."""
    inside = places(claim.quote, chunk.text)
    if not inside:
        return f"no evidence stands word for word in {where}"
    times = len(places(claim.quote, document.text))
    if times > 1:
        return f"its quote {_quoted(claim.quote)} stands {times} times in the document: which one is meant is not clear"
    return _span(chunk, *inside[0])


def _fault(question: Question, reply: QuestionReply, task: Task, existing: Container[str]) -> str:
    """Return why a question with its evidence is not usable, "" when it is."""
    context = "\n\n".join(chunk.text for chunk in task.passages)
    checked = question
    if isinstance(reply, UnanswerableReply):
        if why := _swap_fault(question, reply, context):
            return why
        checked = replace(question, answer=question.evidence[0][0].text)  # it is about a true claim
    if isinstance(reply, FollowUpReply) and not question.history:
        return "it has no earlier turn"
    short = question.style == "keywords" or bool(question.history)
    if short and len(rejection.words(question.text)) < 2:
        return "the question is too short"
    if rejection.normal(question.query) in existing:
        return "asked already"
    reason = rejection.reject(checked, context)
    return "" if short and reason == "the question is too short" else reason


def _unlike(question: Question, task: Task, documents: Mapping[str, Document]) -> str:
    """Return why a question is not of the type or style that was asked for, as far as words show it; "" when it is."""
    if question.type == "number" and not (numerals.stated_numbers(question.answer) or _COUNTED.search(question.answer)):
        return "its answer has no number, date or time"
    if question.type == "table":
        spans = question.spans
        if not any(evidence_passages.is_in_table(documents[span.document_id], span) for span in spans):
            return "no quote of it stands in a table"
    if question.style == "other-language":
        own, wanted = task.passage_language, task.question_language
        lacks_script = wanted == "zh" and not _EASTERN.search(question.text)
        if lacks_script or language.of_short(question.text, wanted) == own:
            return f"it is not in another language than its passages: {language.NAMES.get(own, own)}"
    if question.style == "other-words" and (share := rejection.copied(question)) >= rejection.COPIED:
        return f"it is not in other words: {share:.0%} of its own stand in its quotes"
    return ""


def _swap_fault(question: Question, reply: UnanswerableReply, context: str) -> str:
    """Return why a question does not ask for what the passage does not tell, "" when it does."""
    asked, true = (f" {rejection.normal(text)} " for text in (question.text, reply.true_question))
    original, replacement = (rejection.normal(text) for text in (reply.swap.original, reply.swap.replacement))
    if not original or not replacement or original == replacement:
        return "nothing is swapped in it"
    if asked.strip() == true.strip() or f" {original} " not in true:
        return f"{_quoted(reply.swap.original)} was not swapped: it does not stand in the true question"
    if question.style in ("misspelt", "other-language", "other-words"):  # then the words differ, and are judged later
        return ""
    if f" {replacement} " not in asked:
        return f"{_quoted(reply.swap.replacement)}, which was swapped in, does not stand in the question"
    if f" {replacement} " in f" {rejection.normal(context)} ":
        return f"{_quoted(reply.swap.replacement)}, which was swapped in, stands in the passage"
    return ""


def placeholder(task: Task, maker: str) -> Question:
    """Return a question about as long as the model's, for an estimate of what its verification takes."""
    spans = tuple((_span(chunk, 0, min(200, len(chunk.text))),) for chunk in task.passages)
    question = replace(blank(task, maker), text=spans[0][0].text[:100], answer=spans[0][0].text[:60])
    if question.unanswerable:
        return replace(question, answer="")
    turns = ((question.text, question.answer),) if task.type == "follow-up" else ()
    return replace(question, evidence=spans, history=turns)


REPLY, CLAIM = 60, 70
"""Tokens of a question with its answer, and of each claim with its quote, in an estimate."""
