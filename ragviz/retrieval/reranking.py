"""Rankings put in a new order by a scorer that reads the texts of the chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragviz.errors import ModelError, UsageError
from ragviz.records import Ranking
from ragviz.retrieval.retriever import Retriever, Texts


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that a question's ranking begins with: their ids, scores and texts have the same length and order."""

    question: str
    ranking: Ranking
    texts: tuple[str, ...]


Scorer = Callable[[Sequence[Candidates]], Sequence[Sequence[float]]]
"""Candidates of several questions → one finite score for each chunk of each question; higher is better."""


def reranked(retriever: Retriever, scorer: Scorer, texts: Texts, depth: int) -> Retriever:
    """Rank by the scores that `scorer` gives the first `depth` chunks of another retriever's ranking.

    The scores of the rankings are the scorer's, ties by chunk id. Chunks behind `depth` are not scored and are left
    out, so a ranking is at most `depth` long, and its head does not change with the depth asked for. Questions for
    which the retriever finds nothing keep their empty ranking and are not handed to the scorer.

    The retriever raises ModelError when the scorer gives another number of scores than there are chunks, or one that
    is not finite.

    Raises:
        UsageError: `depth` is below 1.

    """
    if depth < 1:
        raise UsageError(f"The depth to rerank is {depth}; use at least 1.")

    def ranked(questions: Sequence[str], wanted_depth: int) -> list[Ranking]:
        rankings = retriever(questions, depth)
        ids = list(dict.fromkeys(chunk_id for ranking in rankings for chunk_id in ranking.ids))
        text_of = dict(zip(ids, texts(ids), strict=True))
        candidates = [
            Candidates(question, ranking, tuple(text_of[chunk_id] for chunk_id in ranking.ids))
            for question, ranking in zip(questions, rankings, strict=True)
            if ranking.ids
        ]
        orders = iter(_reordered(candidates, scorer(candidates) if candidates else [], wanted_depth))
        return [next(orders) if ranking.ids else ranking for ranking in rankings]

    return ranked


def _reordered(candidates: Sequence[Candidates], scores: Sequence[Sequence[float]], depth: int) -> list[Ranking]:
    if len(scores) != len(candidates):
        raise ModelError(f"The reranker scored {len(scores)} of {len(candidates)} questions: choose another one.")
    return [_by_score(each, numbers, depth) for each, numbers in zip(candidates, scores, strict=True)]


def _by_score(candidates: Candidates, scores: Sequence[float], depth: int) -> Ranking:
    ids, question = candidates.ranking.ids, candidates.question[:80]
    if len(scores) != len(ids):
        raise ModelError(
            f"The reranker gave {len(scores)} scores for {len(ids)} chunks of '{question}': choose another one."
        )
    for chunk_id, score in zip(ids, scores, strict=True):
        if not math.isfinite(score):
            raise ModelError(f"The reranker gave chunk {chunk_id} the score {score} for '{question}': choose another.")
    best = sorted(zip(ids, map(float, scores), strict=True), key=lambda pair: (-pair[1], pair[0]))[:depth]
    return Ranking(tuple(chunk_id for chunk_id, _ in best), tuple(score for _, score in best))
