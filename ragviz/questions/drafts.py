"""A question about chunks before it has words, and with its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.questions import rejection
from ragviz.questions.chosen_chunks import Group
from ragviz.records import Chunk, Question, Span, digest
from ragviz.text import language

Ask = Callable[[ModelClient, Request[Any]], Completion[Any]]
"""Asks a client for a request; raises BudgetReached when no more may be paid."""


def question_id(chunk_ids: Iterable[str], maker: str, seed: int = 0) -> str:
    """The id of the question that `maker` ("extractive", or a model's name) makes of these chunks: always the same."""
    return digest("question", maker, str(seed), *chunk_ids)


def blank(group: Group, maker: str, seed: int) -> Question:
    """A question about these chunks that has no words yet."""
    return Question(
        id=question_id([chunk.id for chunk in group], maker, seed),
        text="",
        answer="",
        evidence=(),
        generator=maker,
        language=spoken(group),
        source_chunks=tuple(chunk.id for chunk in group),
    )


def spoken(group: Group) -> str:
    """Language of the chunks."""
    return language.detect("\n".join(chunk.text for chunk in group))


def span(chunk: Chunk, start: int, end: int) -> Span:
    """Characters `start` to `end` of a chunk as a span of its document."""
    return Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end])


def judged(question: Question, group: Group, seen: set[str]) -> Question:
    """Reject the question when it must be; else it counts as seen."""
    reason = rejection.reject(question, "\n\n".join(chunk.text for chunk in group), seen)
    if reason:
        return replace(question, status="rejected", reason=reason)
    seen.add(rejection.normal(question.text))
    return question
