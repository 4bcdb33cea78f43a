"""Inputs of metrics that need no judge: extractive banks, and cosines, the texts of many questions embedded at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ragviz.core.verdict import Bank, EvaluatedAnswer
from ragviz.judging import extractive_questeval, texts
from ragviz.judging.banks import extractive_banks
from ragviz.judging.planning import Input, Plan
from ragviz.judging.step import State
from ragviz.targets.citations import without_marks

COSINES: frozenset[Input] = frozenset(("cosines", "sentence cosines"))
"""Inputs that are computed from vectors."""


def with_similarities(
    evaluated_answers: Sequence[EvaluatedAnswer], states: Sequence[State], plan: Plan
) -> list[EvaluatedAnswer]:
    """Return the evaluated answers with extractive banks and cosines, as far as the plan needs them."""
    result = list(evaluated_answers)
    if "key phrases" in plan.inputs:
        banks = extractive_banks(
            [j.question.answer for j in evaluated_answers if j.question.kind != "unanswerable"], plan.banks
        )
        result = [_with_extractive_bank(evaluated, banks.get(evaluated.question.answer)) for evaluated in result]
    if plan.embedder is None or not COSINES & plan.inputs:
        return result
    sentences = "sentence cosines" in plan.inputs
    contexts = [list(state.context.values()) if sentences else [] for state in states]
    unique_texts = dict.fromkeys(
        text
        for evaluated, context in zip(result, contexts, strict=True)
        for text in _texts_to_embed(evaluated, context)
    )
    vectors = (
        dict(zip(unique_texts, plan.embedder.embed(list(unique_texts), "passage"), strict=True)) if unique_texts else {}
    )
    return [_with_cosines(evaluated, context, vectors) for evaluated, context in zip(result, contexts, strict=True)]


def _with_extractive_bank(evaluated: EvaluatedAnswer, bank: Bank | None) -> EvaluatedAnswer:
    if bank is None or evaluated.recording.status != "answered":
        return evaluated
    answers = extractive_questeval.extractive_answers(bank, without_marks(evaluated.recording.answer))
    return replace(evaluated, extractive_bank=bank, extractive_bank_answers=answers)


def _texts_to_embed(evaluated: EvaluatedAnswer, context: Sequence[str]) -> Iterator[str]:
    """Yield the texts whose embeddings the similarity metrics of an evaluated answer need; none unless it is answered.

    They are the question, the answer, the reference, the questions asked back, and, where there is a `context`, the
    sentences of the answer and of the context.
    """
    answer = without_marks(evaluated.recording.answer)
    if evaluated.recording.status != "answered" or not answer.strip():
        return
    yield from (text for text in (evaluated.question.query, answer, evaluated.question.answer) if text.strip())
    yield from evaluated.asked_back or ()
    if context:
        yield from _sentences(answer)
        for text in context:
            yield from _sentences(text)


def _with_cosines(evaluated: EvaluatedAnswer, context: Sequence[str], vectors: Mapping[str, Any]) -> EvaluatedAnswer:
    answer = without_marks(evaluated.recording.answer)
    if answer not in vectors or evaluated.recording.status != "answered":
        return evaluated
    reference, question = vectors.get(evaluated.question.answer), vectors.get(evaluated.question.query)
    back = [float(vectors[text] @ question) for text in evaluated.asked_back or () if question is not None]
    answer_vectors = [vectors[text] for text in _sentences(answer)] if context else []
    context_vectors = [vectors[text] for chunk in context for text in _sentences(chunk)]
    best = None
    if answer_vectors and context_vectors:
        best = (np.array(answer_vectors) @ np.array(context_vectors).T).max(axis=1).tolist()
    return replace(
        evaluated,
        similarity=float(vectors[answer] @ reference) if reference is not None else None,
        asked_back_similarity=tuple(back) if evaluated.asked_back is not None else None,
        sentence_similarity=tuple(map(float, best)) if best is not None else None,
    )


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without its marks; those without a letter or digit are left out."""
    plain = without_marks(text)
    sentences = (plain[start:end] for start, end in texts.sentences_of(plain))
    return [sentence for sentence in sentences if any(character.isalnum() for character in sentence)]
