"""Drafts of questions about chunks: from a blank one to one that is accepted or rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ragviz.core.chunk import Chunk
from ragviz.core.digests import digest
from ragviz.core.question import Question
from ragviz.core.span import Span
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Completion, Request
from ragviz.text import language

Group = Sequence[Chunk]
"""The chunks that one question is made from."""
Ask = Callable[[ModelClient, Request[Any]], Completion[Any]]
"""Sends a request by a client; raises BudgetReached when no more may be paid."""


def question_id(chunk_ids: Iterable[str], maker: str, seed: int = 0) -> str:
    """Return the id of the question that `maker` ("extractive", or a model's name) makes of these chunks."""
    return digest("question", maker, str(seed), *chunk_ids)


def blank(group: Group, maker: str, seed: int) -> Question:
    """Return a question about these chunks without text yet."""
    return Question(
        id=question_id([chunk.id for chunk in group], maker, seed),
        text="",
        answer="",
        evidence=(),
        generator=maker,
        language=language_of(group),
        source_chunks=tuple(chunk.id for chunk in group),
    )


def language_of(group: Group) -> str:
    """Return the language of the chunks."""
    return language.detect("\n".join(chunk.text for chunk in group))


def span(chunk: Chunk, start: int, end: int) -> Span:
    """Return characters `start` to `end` of a chunk as a span of its document."""
    return Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end])
