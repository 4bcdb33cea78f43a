"""A cross-encoder reads question and chunk together: the usual second stage, slow, because nothing can be prepared."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.retrieval.reranking import Candidates, Parts, Scorer

VERSION = "1"


def identity(parts: Parts) -> str:
    """Return version and model, which the scores depend on; UsageError or ModelError without the model."""
    from ragviz.models import cross_encoders

    return f"cross-encoder {VERSION} by {cross_encoders.card(parts.argument).identity}"


def build(parts: Parts) -> Scorer:
    """Return the scorer by the model that the argument names; loads it."""
    from ragviz.models import cross_encoders

    parts.progress(0, None, "", "Loading the cross-encoder")
    card = cross_encoders.card(parts.argument)
    cross_encoders.loaded(card)

    def scored(candidates: Sequence[Candidates]) -> list[list[float]]:
        pairs = list(dict.fromkeys((each.question, text) for each in candidates for text in each.texts))
        scores: list[float] = []
        for some in cross_encoders.scores(card, pairs):
            scores += some
            parts.progress(len(scores), len(pairs), "chunks", "Reranking")
        score_of = dict(zip(pairs, scores, strict=True))
        return [[score_of[each.question, text] for text in each.texts] for each in candidates]

    return scored
