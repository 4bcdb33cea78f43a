"""What the questions that a check found do to the headline score of a run: the score with them and without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ragviz.analysis.evaluate import Summary
from ragviz.metrics.registry import label
from ragviz.records import Estimate
from ragviz.stats import intervals


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean recall at a run's k with all its questions and without some: `removed` of those that it ranked."""

    run: str
    metric: str
    before: Estimate
    after: Estimate
    removed: int


def effect(run: str, summary: Summary, without: Collection[str]) -> Effect:
    """Measure a run with all its questions, and without those with these ids."""
    name = label("recall", summary.k)
    before = summary.metrics.get(name, Estimate(None, None, None, 0))
    rows = [row for row, question_id in enumerate(summary.question_ids) if question_id not in without]
    removed = summary.n - len(rows)
    if not removed:
        return Effect(run, name, before, before, 0)
    clusters = summary.clusters.take(rows) if rows else None
    return Effect(run, name, before, intervals.estimate(summary.scores[name][rows], clusters), removed)


def words(found: Effect) -> str:
    """Say the score without the questions, and how far it is from that with them.

    >>> words(Effect("r", "recall@3", Estimate(0.8, 0.7, 0.9, 10), Estimate(0.75, 0.6, 0.9, 8), 2))
    '0.75 [0.60, 0.90] n = 8 (−0.05)'
    """
    if found.before.mean is None:
        return "not measured"
    if not found.removed:
        return "unchanged"
    if found.after.mean is None:
        return "no question is left"
    change = round(found.after.mean - found.before.mean, 2)
    signed = f"{change:+.2f}".replace("-", "−") if change else "no change"
    return f"{score_words(found.after)} ({signed})"


def score_words(score: Estimate) -> str:
    """Write a mean with its interval and n.

    >>> score_words(Estimate(0.8, 0.7, 0.9, 10))
    '0.80 [0.70, 0.90] n = 10'
    >>> score_words(Estimate(1.0, 0.2, 1.0, 1))
    '1.00 no interval n = 1'
    """
    if score.mean is None:
        return "not measured"
    return f"{score.mean:.2f} {score.interval_words()} n = {score.n:,}"
