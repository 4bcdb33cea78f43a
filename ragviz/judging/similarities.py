"""What needs no model: extractive banks, and cosines, all texts of many questions embedded together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ragviz.answers import citations
from ragviz.judging import extractive_questeval, texts
from ragviz.judging.banks import extractive_banks
from ragviz.judging.planning import Input, Plan
from ragviz.judging.step import State
from ragviz.records import Bank, EvaluatedAnswer

COSINES: frozenset[Input] = frozenset(("cosines", "sentence cosines"))
"""What is read off vectors."""


def with_similarities(known: Sequence[EvaluatedAnswer], states: Sequence[State], plan: Plan) -> list[EvaluatedAnswer]:
    """Add what needs no model: the extractive bank, and what the embedder tells, all texts embedded together."""
    result = list(known)
    if "key phrases" in plan.inputs:
        banks = extractive_banks([j.question.answer for j in known if j.question.kind != "unanswerable"], plan.banks)
        result = [_with_extractive(judged, banks.get(judged.question.answer)) for judged in result]
    if plan.embedder is None or not COSINES & plan.inputs:
        return result
    sentences = "sentence cosines" in plan.inputs
    contexts = [list(state.context.values()) if sentences else [] for state in states]
    texts = dict.fromkeys(
        text for judged, context in zip(result, contexts, strict=True) for text in _embedded(judged, context)
    )
    vectors = dict(zip(texts, plan.embedder.embed(list(texts), "passage"), strict=True)) if texts else {}
    return [_compared(judged, context, vectors) for judged, context in zip(result, contexts, strict=True)]


def _with_extractive(judged: EvaluatedAnswer, bank: Bank | None) -> EvaluatedAnswer:
    if bank is None or judged.answer.status != "answered":
        return judged
    answers = extractive_questeval.extractive_answers(bank, judged.answer.text)
    return replace(judged, extractive_bank=bank, extractive_bank_answers=answers)


def _embedded(judged: EvaluatedAnswer, context: Sequence[str]) -> Iterator[str]:
    """The texts whose vectors one question needs."""
    if judged.answer.status != "answered" or not judged.answer.text.strip():
        return
    yield from (text for text in (judged.question.text, judged.answer.text, judged.question.answer) if text.strip())
    yield from judged.asked_back or ()
    if context:
        yield from _sentences(judged.answer.text)
        for text in context:
            yield from _sentences(text)


def _compared(judged: EvaluatedAnswer, context: Sequence[str], vectors: Mapping[str, Any]) -> EvaluatedAnswer:
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
    plain = citations.without_citations(text)
    sentences = (plain[start:end] for start, end in texts.sentences_of(plain))
    return [sentence for sentence in sentences if any(character.isalnum() for character in sentence)]
