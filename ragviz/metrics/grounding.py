"""Claim-based metrics: pure functions of the claim × chunk × reference matrix, None when there is nothing to count.

Sources: faithfulness, context precision and recall, answer correctness and factual correctness as the RAGAS paper
(arXiv 2309.15217) and its documentation define them; completeness is the share of a reference's claims
that an answer holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.verdict import ClaimVerdict
from ragviz.judging import context


def supported_by_any(rows: Sequence[Sequence[ClaimVerdict]]) -> float | None:
    """Share of claims (rows) that a text (column) supports, or several together: faithfulness, context recall.

    >>> yes, no, part = ClaimVerdict("supported"), ClaimVerdict("absent"), ClaimVerdict("together")
    >>> supported_by_any([[no, yes], [part, part], [no, no], [no, part]]), supported_by_any([])
    (0.5, None)
    """
    return share([context.follows(row) for row in rows])


def supported(row: Sequence[ClaimVerdict]) -> float | None:
    """Share of claims that one text supports: completeness, of the reference's."""
    return share([claim_verdict.verdict == "supported" for claim_verdict in row])


def context_precision(useful: Sequence[bool]) -> float | None:
    """Mean of precision@k at each useful chunk's rank k: Σ v_k·P@k ÷ Σ v_k; 0 when none is useful.

    >>> round(context_precision([True, False, True]), 4), context_precision([False]), context_precision([])
    (0.8333, 0.0, None)
    """
    if not useful:
        return None
    ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
    return sum(useful_so_far / rank for useful_so_far, rank in enumerate(ranks, start=1)) / len(ranks) if ranks else 0.0


def factual(
    by_reference: Sequence[ClaimVerdict], by_answer: Sequence[ClaimVerdict]
) -> tuple[float | None, float | None, float]:
    """Precision, recall and F1 of an answer's facts: TP and FP are its claims, FN the reference's claims that it lacks.

    Precision is None without claims of the answer, recall where TP + FN is 0; F1 = TP ÷ (TP + (FP + FN) ÷ 2), 0 when
    nothing is right.

    >>> yes, no = ClaimVerdict("supported"), ClaimVerdict("absent")
    >>> factual([yes, yes, no], [yes, no])
    (0.6666666666666666, 0.6666666666666666, 0.6666666666666666)
    """
    true = sum(claim_verdict.verdict == "supported" for claim_verdict in by_reference)
    false = len(by_reference) - true
    lacking = sum(claim_verdict.verdict != "supported" for claim_verdict in by_answer)
    precision = true / len(by_reference) if by_reference else None
    recall = true / (true + lacking) if true + lacking else None
    return precision, recall, true / (true + (false + lacking) / 2) if true else 0.0


def answer_correctness(f1: float, similarity: float) -> float:
    """0.75 · F1 of the facts + 0.25 · cosine of answer and reference, which counts as 0 when negative."""
    return 0.75 * f1 + 0.25 * max(0.0, similarity)


def answer_relevancy(similarities: Sequence[float], *, noncommittal: bool) -> float | None:
    """Mean cosine of the question to the questions that the answer would answer; 0 for an answer that evades."""
    if noncommittal:
        return 0.0
    return max(0.0, sum(similarities) / len(similarities)) if similarities else None


def share(values: Sequence[bool]) -> float | None:
    """Share of `values` that are true."""
    return sum(values) / len(values) if values else None
