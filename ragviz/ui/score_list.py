"""The scores of one question, each with the reason for it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ragviz.analysis import evaluate
from ragviz.analysis.evaluate import Summary
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging.steps import STEPS
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS, SUPPORTED
from ragviz.text.markup import measure
from ragviz.ui import wording
from ragviz.ui.claims import by_passages, claims_of
from ragviz.ui.kit import heading

_OF_RANKINGS = ("recall", "precision", "ndcg", "mrr")


def scores(scores_of_question: Mapping[str, Score], evaluated: EvaluatedAnswer | None) -> None:
    """Draw the scores of an answer, by metric, those by a judge first."""
    for title, chosen in (
        ("Judged metrics", [name for name in scores_of_question if ANSWER_METRICS[name].judged]),
        ("Lexical and embedding metrics", [name for name in scores_of_question if not ANSWER_METRICS[name].judged]),
    ):
        if chosen:
            heading.section(title)
            st.html("".join(_score_row(scores_of_question[name], evaluated) for name in chosen))


def ranking_scores(summary: Summary, question_id: str) -> None:
    """Draw the ranking metrics of a question; nothing for one without evidence, which has none."""
    if question_id not in summary.question_ids:
        return
    row = summary.question_ids.index(question_id)
    heading.section(f"Ranking metrics at k = {summary.k}")
    rows = []
    for name in _OF_RANKINGS:
        column = registry.label(name, summary.k)
        if column in summary.scores:
            title, explained = registry.title(name, summary.k), registry.METRICS[name].explanation
            rows.append(measure(title, float(summary.scores[column][row]), "", "", [explained]))
    st.html("".join(rows))


def _score_row(score: Score, evaluated: EvaluatedAnswer | None) -> str:
    metric = ANSWER_METRICS[score.metric]
    more = [metric.explanation]
    if metric.steps:
        steps = ", ".join(STEPS[step].title.lower() for step in metric.steps)
        more.append(f"Computed from: {steps} (see the tab Judge calls).")
    more.append(f"Version {score.version}.")
    why = score.reason or (reason(score.metric, evaluated) if evaluated and score.value is not None else "")
    return measure(metric.title, score.value, evaluate.STATUSES[score.status], why, more)


def reason(name: str, evaluated: EvaluatedAnswer) -> str:
    """Return the counts that a score is computed from, in words; "" for metrics that count nothing."""
    matrix = evaluated.matrix
    if name == "equivalence":
        return f"{evaluated.equivalence}: {evaluated.equivalence_reason}" if evaluated.equivalence_reason else ""
    if name in ("faithfulness", "context_recall"):
        side = "a" if name == "faithfulness" else "r"
        verdicts = [by_passages(matrix, side, place) for place in range(len(claims_of(matrix, side)))]
        return f"{verdicts.count('supported')} of {wording.counted(len(verdicts), 'claim')} supported by a passage"
    if name in ("completeness", "factual_precision"):
        row = (matrix.reference_by_answer if name == "completeness" else matrix.answer_by_reference) or ()
        whose, other = ("reference's", "answer") if name == "completeness" else ("answer's", "reference")
        supported = sum(claim_verdict.verdict == "supported" for claim_verdict in row)
        return f"{supported} of the {whose} {wording.counted(len(row), 'claim')} in the {other}"
    if name.startswith("context_precision") and matrix.useful:
        ranks = ", ".join(str(n) for n, useful in enumerate(matrix.useful, start=1) if useful)
        return f"useful at rank {ranks}" if ranks else "none of them useful"
    if name == "embedding_faithfulness" and evaluated.sentence_similarity:
        supported_sentences = sum(cosine >= SUPPORTED for cosine in evaluated.sentence_similarity)
        of = wording.counted(len(evaluated.sentence_similarity), "sentence")
        return (
            f"{supported_sentences} of {of} at {SUPPORTED} or more, the lowest {min(evaluated.sentence_similarity):.2f}"
        )
    if name == "answer_relevancy":
        return "the answer is noncommittal" if evaluated.noncommittal else "; ".join(evaluated.asked_back or ())
    return ""
