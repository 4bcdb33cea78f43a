"""The run of the sample whose answers and verdicts were written by hand: it is made without asking a model.

`sample/answers.toml` says what was written and in which form. Everything else is the ordinary way: chunks are
retrieved and fitted into the context, and all metrics are computed from the verdicts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, Field

from ragviz import sample
from ragviz.answers import citations, contexts, wording
from ragviz.core.answer import Answer
from ragviz.core.configuration import HAND_MADE, RunConfig
from ragviz.core.digests import digest
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.run_info import Run
from ragviz.core.score import Score
from ragviz.core.verdict import Bank, BankItem, Claim, ClaimVerdict, Equivalence, EvaluatedAnswer, Verdict
from ragviz.judging import claims as claims_step
from ragviz.judging import pool, similarities, work
from ragviz.judging.comparison import ComparisonVerdicts
from ragviz.judging.context import ContextVerdicts
from ragviz.judging.planning import Item
from ragviz.judging.step import State
from ragviz.judging.texts import prompt_language, sentences_of
from ragviz.metrics import answers as answer_metrics
from ragviz.models.spending import Spending
from ragviz.retrieval import search
from ragviz.runs import choices, provenance, running, summaries
from ragviz.runs import contexts as run_contexts
from ragviz.text.quotes import locate
from ragviz.workspace import Workspace

NOT_WRITTEN = frozenset(("answer_relevancy", "completeness_direct", "conciseness_direct", "embedding_faithfulness"))
"""Metrics that the run lacks: three need what nobody wrote (questions made of the answer, ratings from 0 to 1), and the
last needs all sentences of the contexts embedded, which takes longer than the rest of the sample."""
METRICS = tuple(name for name in answer_metrics.ANSWER_METRICS if name not in NOT_WRITTEN)
K = 5
JUDGED = 10
"""Chunks of a ranking on which verdicts are kept for all runs."""
CONTEXT_TOKENS = 800
"""Less than five chunks of 200 tokens, so that some evidence is truncated from the context."""

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


def written() -> dict[str, WrittenQuestion]:
    """Return what was written for each question, by the question's text; `like` and `holds` are filled in."""
    read = _File.model_validate(tomllib.loads(sample.answers().decode()))
    return {each.question: _filled_in(each) for each in read.questions}


def _filled_in(question: WrittenQuestion) -> WrittenQuestion:
    answers = []
    for answer in question.answers:
        claims = [_like(claim, question.reference) for claim in answer.claims]
        holds = answer.holds or [_default_hold(answer, number) for number in range(1, len(question.reference) + 1)]
        answers.append(answer.model_copy(update={"claims": claims, "holds": holds}))
    return question.model_copy(update={"answers": answers})


def _like(claim: AnswerStatement, reference: Sequence[Statement]) -> AnswerStatement:
    """Return the claim with the quotes of the reference's claim that it is like."""
    if not claim.like:
        return claim
    same = reference[claim.like - 1]
    rests_on = {name: getattr(same, name) for name in ("quotes", "together", "sentence")}
    return claim.model_copy(update={"reference": "supported"} | rests_on)


def _default_hold(answer: WrittenAnswer, number: int) -> str:
    """Return what an answer says of claim `number` of the reference, where that was not written."""
    place = next((place for place, claim in enumerate(answer.claims) if claim.like == number), None)
    if place is None:
        return "absent"
    before = _MARKERS.sub("", answer.text.partition(f"{{{place + 1}}}")[0])
    return f"supported {_sentence_at(_MARKERS.sub('', answer.text), len(before) - 1) + 1}"


# Quotes in passages


def _sentence_at(text: str, place: int) -> int:
    """Return the 0-based number of the sentence at `place`, the last one when it is behind all."""
    ends = [end for _, end in sentences_of(text)]
    return next((number for number, end in enumerate(ends) if place < end), max(0, len(ends) - 1))


def _said_in(text: str, quotes: Iterable[str], verdict: Verdict) -> ClaimVerdict | None:
    """Return the verdict with the sentence that holds the first of the quotes that is in `text`."""
    place = next(filter(None, (locate(quote, text) for quote in quotes)), None)
    return None if place is None else ClaimVerdict(verdict, _sentence_at(text, place[0]))


def _in_any(quote: str, passages: Sequence[str]) -> bool:
    return any(locate(quote, text) is not None for text in passages)


def verdicts(statement: Statement, passages: Sequence[str]) -> tuple[ClaimVerdict, ...]:
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


def _can_be_given(answer: WrittenAnswer, passages: Sequence[str]) -> bool:
    """Return whether the passages hold what the answer was written from."""
    return (not answer.needs or any(_in_any(quote, passages) for quote in answer.needs)) and all(
        (not claim.quotes or any(_in_any(quote, passages) for quote in claim.quotes))
        and (not claim.contradicted_by or any(_in_any(quote, passages) for quote in claim.contradicted_by))
        and all(_in_any(quote, passages) for quote in claim.together)
        for claim in answer.claims
    )


# One question


@dataclass(frozen=True, slots=True)
class _Given:
    """The answer that is given: its text with citations, and the sentence that states each of its claims, from 0."""

    text: str
    sentences: tuple[int, ...]


def _given(answer: WrittenAnswer, rows: Sequence[Sequence[ClaimVerdict]]) -> _Given:
    """Put the numbers of the passages behind the claims that rest on them."""
    text, at = "", 0
    stated: dict[int, int] = {}
    for marker in _MARKERS.finditer(answer.text):
        numbers = [int(number) - 1 for number in re.findall(r"\d+", marker[1])]
        text += answer.text[at : marker.start()]
        stated |= dict.fromkeys(numbers, len(text) - 1)
        ranks = sorted({rank for number in numbers for rank in _cited(rows[number])})
        blank = " " if marker[0].startswith(" ") else ""
        text += f"{blank}[{', '.join(map(str, ranks))}]" if ranks else ""
        at = marker.end()
    text += answer.text[at:]
    return _Given(text, tuple(_sentence_at(text, stated[number]) for number in range(len(answer.claims))))


def _cited(row: Sequence[ClaimVerdict]) -> list[int]:
    """Return the ranks to cite for a claim: the first passage on it, or all that support it together."""
    on_it = [(rank, each.verdict) for rank, each in enumerate(row, start=1) if each.verdict != "absent"]
    together = [rank for rank, verdict in on_it if verdict == "together"]
    return together or [rank for rank, _ in on_it[:1]]


def state_of(question: Question, writing: WrittenQuestion, item: Item, place: int, context_tokens: int) -> State:
    """Return a question as it is after all of its steps, their results read from what was written."""
    state = State(item, place, fitted=contexts.fitted(item.chunks, context_tokens))
    assert state.fitted is not None
    passages = list(state.context.values())
    answer = next((each for each in writing.answers if _can_be_given(each, passages)), None)
    rows = [verdicts(claim, passages) for claim in answer.claims] if answer else []
    given = _given(answer, rows) if answer else _Given(wording.REFUSALS[wording.refusal_language(question)], ())
    cited = citations.checked(citations.cited(given.text), state.fitted.passages)
    blank = (state.fitted.context, state.fitted.cut)
    state.answer = Answer(question.id, given.text, "answered" if answer else "refused", HAND_MADE, *blank, *cited)
    claims = [
        claims_step.ClaimReply(text=claim.claim, sentence=sentence + 1)
        for claim, sentence in zip(answer.claims if answer else (), given.sentences, strict=True)
    ]
    rows += [verdicts(claim, passages) for claim in writing.reference]
    useful = {number: _is_useful(writing, text) for number, text in enumerate(passages)}
    state.results = {
        "reference": tuple(Claim(claim.claim, claim.sentence - 1) for claim in writing.reference),
        "claims": claims_step.ClaimsReply(claims=claims, questions=[], noncommittal=False),
        "context": ContextVerdicts(dict(enumerate(rows)), useful),
        "bank": _bank(question, writing),
    }
    if answer and writing.reference:
        state.results["comparison"] = _comparison(answer)
        state.results["questeval"] = tuple(text or None for text in answer.bank)
    return state


def _is_useful(writing: WrittenQuestion, text: str) -> bool:
    quotes = [quote for claim in writing.reference for quote in (*claim.quotes, *claim.together)]
    return any(locate(quote, text) is not None for quote in (*quotes, *writing.useful))


def _bank(question: Question, writing: WrittenQuestion) -> Bank | None:
    items = tuple(BankItem(item.key, item.question, item.answer) for item in writing.bank)
    return Bank(items, prompt_language(question.answer, question.text), HAND_MADE) if items else None


def _comparison(answer: WrittenAnswer) -> ComparisonVerdicts:
    by_reference = [
        ClaimVerdict(claim.reference, None if claim.reference == "absent" else claim.sentence - 1)
        for claim in answer.claims
    ]
    by_answer = [_hold(each) for each in answer.holds]
    verdicts_on_claims = (dict(enumerate(by_reference)), dict(enumerate(by_answer)))
    return ComparisonVerdicts(*verdicts_on_claims, equivalence=answer.equivalence, reason=answer.reason)


_HOLDS: Mapping[str, Verdict] = {"supported": "supported", "contradicted": "contradicted", "absent": "absent"}


def _hold(text: str) -> ClaimVerdict:
    """Read "supported 2": the verdict, and the sentence of the answer, from 1 (the first when none is given)."""
    verdict, _, sentence = text.partition(" ")
    return ClaimVerdict(_HOLDS[verdict], None if verdict == "absent" else int(sentence or 1) - 1)


# The run


def make(
    workspace: Workspace, name: str, index: IndexInfo, question_set: QuestionSet, progress: Progress = silent
) -> Run:
    """Retrieve for the sample's questions, answer and judge them as was written, and store it as run `name`.

    Questions that were added to the set, or changed, are left out: nothing was written about them.
    """
    writings, originals = written(), _originals()
    questions = [q for q in workspace.store.questions.all(question_set.id) if (q.text, q.answer) in originals]
    config = RunConfig(
        index.id,
        question_set.id,
        "hybrid",
        k=K,
        answerer="model",
        model=HAND_MADE,
        context_tokens=CONTEXT_TOKENS,
        metrics=METRICS,
        judge=HAND_MADE,
    )
    plan = choices.plan_of(
        config, METRICS, workspace.store.cache("bank"), embedder=workspace.embedder(index.config.embedder)
    )
    current = provenance.run_row(workspace, name, plan, index, question_set, questions)
    running.retrieve(workspace, current, index, questions, Spending(), progress)
    results = workspace.store.rankings.all(current.id)
    items = run_contexts.items(workspace, index.id, index.corpus_id, config, questions, results)
    states = [
        state_of(item.question, writings[item.question.text], item, place, CONTEXT_TOKENS)
        for place, item in enumerate(items)
    ]
    progress(0, len(states), "questions", "Computing metrics of the hand-made answers")
    answers = similarities.with_similarities([work.evaluated(state, plan) for state in states], states, plan)
    workspace.store.judgements.put(current.id, [(evaluated, _scores(evaluated)) for evaluated in answers])
    provenance.note_models(workspace, current, plan)
    summaries.finish(workspace, current)
    return workspace.store.runs.get(current.id)


def judge_chunks(workspace: Workspace, current: Run) -> None:
    """Keep what was written of the first chunks of a run's rankings, as a judge's verdicts on them are kept."""
    store, writings, originals = workspace.store, written(), _originals()
    pairs = zip(store.rankings.questions(current.id), store.rankings.all(current.id), strict=True)
    asked = [(q, result.ranking.hits()[:JUDGED]) for q, result in pairs if (q.text, q.answer) in originals and q.answer]
    hits = {hit.chunk_id: hit for _, first in asked for hit in first}
    found = search.with_chunks(workspace, current.corpus_id, [*hits.values()])
    texts = {each.chunk.id: each.chunk.text for each in found if each.chunk}
    new: dict[tuple[str, str], str] = {}
    for question, first in asked:
        passages = {hit.chunk_id: texts[hit.chunk_id] for hit in first if hit.chunk_id in texts}
        new |= _judged(writings[question.text], question, passages)
    store.pool.add(digest("context", HAND_MADE, length=32), new)


def _judged(writing: WrittenQuestion, question: Question, passages: Mapping[str, str]) -> dict[tuple[str, str], str]:
    claims, texts = [claim.claim for claim in writing.reference], list(passages.values())
    words = (question.text, question.answer)
    known = pool.known(pool.Memory(), ("", HAND_MADE), words, ((), claims), passages, frozenset(passages))
    useful = {place: _is_useful(writing, text) for place, text in enumerate(texts)}
    new: dict[tuple[str, str], str] = {}
    for k in range(1, len(texts) + 1):  # each set of the first k, for what follows from several chunks together
        rows = {number: verdicts(claim, texts[:k]) for number, claim in enumerate(writing.reference)}
        new |= known.learn(pool.Asked(tuple(range(len(claims))), tuple(range(k))), rows, useful, ())
    return new


def _originals() -> set[tuple[str, str]]:
    """Return question and reference answer of each question of the sample."""
    rows = map(json.loads, sample.questions().decode().splitlines())
    return {(row["question"], row["answer"]) for row in rows}


def _scores(evaluated: EvaluatedAnswer) -> list[Score]:
    """Return the scores of an answer; those that rest on verdicts say that they were written, not by which prompt."""
    metrics = answer_metrics.ANSWER_METRICS
    return [
        replace(score, version=f"{metrics[score.metric].formula}+{HAND_MADE}")
        if metrics[score.metric].judged
        else score
        for score in answer_metrics.scores(evaluated, METRICS)
    ]
