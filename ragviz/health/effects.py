"""What the questions that a check found do to the headline scores of a run: each score with them and without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis import evaluate
from ragviz.analysis.evaluate import Summary
from ragviz.core.call import Estimate
from ragviz.core.configuration import Run
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import label, shown_in, title_of
from ragviz.runs import measurements
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters
from ragviz.workspace import Workspace

DIGITS = 3
"""Decimals of scores: one question of several hundred has to be seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Headline:
    """A headline score of a run: its value for each question that has one, (n,), and the documents they are about."""

    run: str
    metric: str
    question_ids: tuple[str, ...]
    values: NDArray[np.float64]
    clusters: Clusters
    whole: Estimate


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean of a headline score with all questions and without some: `removed` of those that have the score."""

    run: str
    metric: str
    before: Estimate
    after: Estimate
    removed: int


def headline(workspace: Workspace, run: Run, summary: Summary) -> Headline | None:
    """Return what sums a run up: recall at its k where it ranked, else the first metric of answers that it has."""
    if summary.n:
        name, ids = label("recall", summary.k), summary.question_ids
        return Headline(run.name, name, ids, summary.scores[name], summary.clusters, summary.metrics[name])
    names = [name for name in shown_in("row") if name in ANSWER_METRICS]
    scores = measurements.scores_of(workspace, run, metrics=names)
    for name in names:
        values = {i: each.value for i, each in scores.get(name, {}).items() if each.value is not None}
        if values:
            questions = [question for question in workspace.store.rankings.questions(run.id) if question.id in values]
            ids, clusters = tuple(question.id for question in questions), evaluate.document_clusters(questions)
            ordered = np.array([values[i] for i in ids])
            whole = intervals.estimate(ordered, clusters, seed=run.config.seed)
            return Headline(run.name, name, ids, ordered, clusters, whole)
    return None


def effect(headline: Headline, without: Collection[str]) -> Effect:
    """Measure a headline score with all its questions, and without those with these ids."""
    rows = [row for row, question_id in enumerate(headline.question_ids) if question_id not in without]
    removed = len(headline.question_ids) - len(rows)
    if not removed:
        return Effect(headline.run, headline.metric, headline.whole, headline.whole, 0)
    clusters = headline.clusters.take(rows) if rows else None
    after = intervals.estimate(headline.values[rows], clusters)
    return Effect(headline.run, headline.metric, headline.whole, after, removed)


def words(found: Effect) -> str:
    """Say the score without the questions, and how far it is from that with them.

    >>> words(Effect("r", "recall@3", Estimate(0.8, 0.7, 0.9, 10), Estimate(0.75, 0.6, 0.9, 8), 2))
    '0.750 [0.600, 0.900] n = 8 (−0.050)'
    """
    if found.before.mean is None:
        return "not measured"
    if not found.removed:
        return "unchanged"
    if found.after.mean is None:
        return "no question is left"
    change = round(found.after.mean - found.before.mean, DIGITS)
    moved = f"{change:+.{DIGITS}f}".replace("-", "−") if change else "no change"
    return f"{score_words(found.after)} ({moved})"


def head(found: Effect) -> str:
    """Say the headline score of a run with all questions.

    >>> head(Effect("first", "recall@3", Estimate(0.8, 0.7, 0.9, 10), Estimate(0.8, 0.7, 0.9, 10), 0))
    'Recall@3 of first 0.800 [0.700, 0.900] n = 10'
    """
    return f"{title_of(found.metric)} of {found.run} {score_words(found.before)}"


def score_words(score: Estimate) -> str:
    """Write a mean with its interval and n.

    >>> score_words(Estimate(0.8, 0.7, 0.9, 10))
    '0.800 [0.700, 0.900] n = 10'
    >>> score_words(Estimate(1.0, 0.2, 1.0, 1))
    '1.000 no interval n = 1'
    """
    if score.mean is None:
        return "not measured"
    return f"{score.mean:.{DIGITS}f} {score.interval_words(DIGITS)} n = {score.n:,}"
