"""The answers and verdicts that were written by hand for the sample: nothing is asked of a model.

`sample/answers.toml` says what was written and in which form. Everything else is the ordinary way: chunks are
retrieved and fitted into the context, and all metrics are computed from the verdicts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Literal

from pydantic import BaseModel, Field

from ragviz import sample
from ragviz.core.question import Question
from ragviz.core.recording import Recording
from ragviz.core.verdict import Bank, BankItem, Claim, ClaimVerdict, Equivalence, EvaluatedAnswer, Matrix, Verdict
from ragviz.targets import answering, citations
from ragviz.targets.target import Ask, Target
from ragviz.text import language, segmentation
from ragviz.text.quotes import locate

NAME = "hand-made"
"""What stands in place of a model's name."""
STEPS = ("bank", "reference", "claims", "context", "comparison", "questeval")
"""The judge's steps whose verdicts were written."""

_MARKERS = re.compile(r" ?((?:\{\d+\})+)")


class Statement(BaseModel, extra="forbid"):
    """A claim, and the sentences of the documents that speak of it; `sentence` is that of the reference, from 1."""

    claim: str
    quotes: list[str] = []
    together: list[str] = []
    contradicted_by: list[str] = []
    sentence: int = 1


class AnswerStatement(Statement):
    """A claim of an answer, and what the reference says of it; `like` is the number of the same claim there, or 0."""

    like: int = 0
    reference: Literal["supported", "contradicted", "absent"] = "absent"


class WrittenAnswer(BaseModel, extra="forbid"):
    """An answer and the verdicts on it, see `sample/answers.toml`."""

    text: str
    needs: list[str] = []
    claims: list[AnswerStatement] = []
    holds: list[str] = []
    bank: list[str] = []
    equivalence: Equivalence | None = None
    reason: str = ""


class WrittenBankItem(BaseModel, extra="forbid"):
    """A RAGQuestEval question about the reference, with the reference's answer."""

    key: str
    question: str
    answer: str | None = None


class WrittenQuestion(BaseModel, extra="forbid"):
    """What was written for one question of the sample."""

    question: str
    reference: list[Statement] = []
    bank: list[WrittenBankItem] = []
    useful: list[str] = []
    answers: list[WrittenAnswer] = []


class _File(BaseModel, extra="forbid"):
    questions: list[WrittenQuestion] = Field(min_length=1)


@cache
def written() -> Mapping[str, WrittenQuestion]:
    """Return what was written for each question, by the question's text; `like` and `holds` are filled in."""
    read = _File.model_validate(tomllib.loads(sample.answers().decode()))
    return {each.question: _filled_in(each) for each in read.questions}


def _filled_in(question: WrittenQuestion) -> WrittenQuestion:
    for answer in question.answers:
        for claim in answer.claims:
            if claim.like:
                same = question.reference[claim.like - 1]
                claim.reference, claim.sentence = "supported", same.sentence
                claim.quotes, claim.together = same.quotes, same.together
        if not answer.holds:  # what it says of each claim of the reference was not written
            same_claims = {claim.like: place for place, claim in reversed(list(enumerate(answer.claims, start=1)))}
            plain = _MARKERS.sub("", answer.text)
            for number in range(1, len(question.reference) + 1):
                before = _MARKERS.sub("", answer.text.partition(f"{{{same_claims.get(number)}}}")[0])
                said = f"supported {_sentence_at(plain, len(before) - 1) + 1}"
                answer.holds.append(said if number in same_claims else "absent")
    return question


# Quotes in passages


@lru_cache(maxsize=1024)
def _ends(text: str) -> tuple[int, ...]:
    return tuple(end for _, end in segmentation.sentences(text, language.detect(text)))


def _sentence_at(text: str, place: int) -> int:
    """Return the 0-based number of the sentence at `place`, the last one when it is behind all."""
    ends = _ends(text)
    return next((number for number, end in enumerate(ends) if place < end), max(0, len(ends) - 1))


def _said_in(text: str, quotes: Iterable[str], verdict: Verdict) -> ClaimVerdict | None:
    """Return the verdict with the sentence that holds the first of the quotes that is in `text`."""
    place = next(filter(None, (locate(quote, text) for quote in quotes)), None)
    return None if place is None else ClaimVerdict(verdict, _sentence_at(text, place[0]))


def _in_any(quote: str, passages: Sequence[str]) -> bool:
    return any(locate(quote, text) is not None for text in passages)


def on_claim(statement: Statement, passages: Sequence[str]) -> tuple[ClaimVerdict, ...]:
    """Return what each passage says of a claim, by whether it holds the quotes."""
    all_there = bool(statement.together) and all(_in_any(quote, passages) for quote in statement.together)
    row = [
        _said_in(text, statement.quotes, "supported")
        or _said_in(text, statement.contradicted_by, "contradicted")
        or (_said_in(text, statement.together, "together") if all_there else None)
        or ClaimVerdict("absent")
        for text in passages
    ]
    together = [place for place, each in enumerate(row) if each.verdict == "together"]
    if len(together) == 1:  # one passage holds all of it
        row[together[0]] = replace(row[together[0]], verdict="supported")
    return tuple(row)


# One question


def _chosen(question: Question, recording: Recording) -> tuple[WrittenQuestion, WrittenAnswer | None]:
    """Return what was written for a question, and the first of its answers that the contexts allow."""
    writing, passages = written()[question.text], [context.text for context in recording.contexts]
    for answer in writing.answers:
        any_of = [answer.needs, *(quotes for each in answer.claims for quotes in (each.quotes, each.contradicted_by))]
        any_of += [[quote] for claim in answer.claims for quote in claim.together]
        if all(any(_in_any(quote, passages) for quote in quotes) for quotes in any_of if quotes):
            return writing, answer
    return writing, None


def _text(answer: WrittenAnswer, rows: Sequence[Sequence[ClaimVerdict]]) -> tuple[str, tuple[int, ...]]:
    """Return the text with the numbers of the passages behind its claims, and the sentence of each claim, from 0."""
    text, at = "", 0
    stated: dict[int, int] = {}
    for marker in _MARKERS.finditer(answer.text):
        numbers = [int(number) - 1 for number in re.findall(r"\d+", marker[1])]
        text += answer.text[at : marker.start()]
        stated |= dict.fromkeys(numbers, len(text) - 1)
        ranks = set[int]()
        for row in (rows[number] for number in numbers):  # the first passage on a claim, or all that support it
            on_it = [(rank, each.verdict) for rank, each in enumerate(row, start=1) if each.verdict != "absent"]
            ranks.update([rank for rank, verdict in on_it if verdict == "together"] or [r for r, _ in on_it[:1]])
        blank = " " if marker[0].startswith(" ") else ""
        text += f"{blank}[{', '.join(map(str, sorted(ranks)))}]" if ranks else ""
        at = marker.end()
    text += answer.text[at:]
    return text, tuple(_sentence_at(text, stated[number]) for number in range(len(answer.claims)))


def _answer(question: Question, recording: Recording, _: Ask | None) -> Recording:
    passages = [context.text for context in recording.contexts]
    answer = _chosen(question, recording)[1]
    if answer is None:
        text = answering.REFUSALS[answering.refusal_language(question)]
    else:
        text = _text(answer, [on_claim(claim, passages) for claim in answer.claims])[0]
    right, wrong = citations.checked(citations.cited(text), len(passages))
    status: Literal["answered", "refused"] = "answered" if answer else "refused"
    return replace(recording, answer=text, status=status, citations=right, wrong_citations=wrong, origin=NAME)


_HOLDS: Mapping[str, Verdict] = {"supported": "supported", "contradicted": "contradicted", "absent": "absent"}


def _verdicts(question: Question, recording: Recording) -> EvaluatedAnswer:
    passages = [context.text for context in recording.contexts]
    writing, answer = _chosen(question, recording)
    claims = answer.claims if answer else []
    rows = tuple(on_claim(claim, passages) for claim in claims)
    sentences = _text(answer, rows)[1] if answer else ()
    matrix = Matrix(
        chunks=recording.read,
        answer_claims=tuple(Claim(each.claim, sentence) for each, sentence in zip(claims, sentences, strict=True)),
        reference_claims=tuple(Claim(claim.claim, claim.sentence - 1) for claim in writing.reference),
        answer_by_chunk=rows,
        reference_by_chunk=tuple(on_claim(claim, passages) for claim in writing.reference),
        useful=tuple(is_useful(writing, text) for text in passages),
    )
    items = tuple(BankItem(item.key, item.question, item.answer) for item in writing.bank)
    lang = language.of_short(question.answer, language.detect(question.text))
    bank = Bank(items, "zh" if lang == "zh" else "en", NAME) if items else None
    judged = EvaluatedAnswer(question, recording, matrix, asked_back=(), noncommittal=False, bank=bank, given=STEPS)
    if not answer or not writing.reference:
        return judged
    holds = [(verdict, int(number or 1)) for verdict, _, number in (each.partition(" ") for each in answer.holds)]
    compared: list[tuple[str, int]] = [(claim.reference, claim.sentence) for claim in answer.claims]
    by_reference, by_answer = (
        tuple(ClaimVerdict(_HOLDS[said], None if said == "absent" else number - 1) for said, number in each)
        for each in (compared, holds)
    )
    matrix = replace(matrix, answer_by_reference=by_reference, reference_by_answer=by_answer)
    judged = replace(judged, matrix=matrix, equivalence=answer.equivalence, equivalence_reason=answer.reason)
    return replace(judged, bank_answers=tuple(text or None for text in answer.bank))


def is_useful(writing: WrittenQuestion, text: str) -> bool:
    """Whether a passage helps to answer a question."""
    quotes = [quote for claim in writing.reference for quote in (*claim.quotes, *claim.together)]
    return any(locate(quote, text) is not None for quote in (*quotes, *writing.useful))


@cache
def _originals() -> frozenset[tuple[str, str]]:
    rows = map(json.loads, sample.questions().decode().splitlines())
    return frozenset((row["question"], row["answer"]) for row in rows)


def is_written(question: Question) -> bool:
    """Whether something was written for a question: not for one that was added to the sample's, or changed."""
    return (question.text, question.answer) in _originals()


TARGET = Target(
    "the retrieved chunks",
    answers=lambda config: _answer,
    verdicts=_verdicts,
    asks=is_written,
    live=False,
)
