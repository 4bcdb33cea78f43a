"""Answer only above a score: the share that is answered (coverage) against the wrong among the answered (risk)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

POINTS = 200
"""Thresholds at most at which the curve is drawn, each with its interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Questions: how sure the ranking is of each, `confidence` (n,), whether it is answered, and wrongly.

    A question that the run itself does not answer (`answered` is false) is answered at no threshold. `wrong` is looked
    at for answered ones only. `confidence` is -inf where nothing was retrieved.
    """

    confidence: Floats
    answered: Bools
    wrong: Bools
    clusters: Clusters


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Risk at falling thresholds, each the score of some question: arrays of the same shape, (points,).

    `thresholds` fall, `coverage` rises with them. `low` and `high` bound the risk at a threshold as `point` does.
    `aurc` is the mean, over the answered questions, of the risk at the threshold that just admits each; `whole` the
    risk when all are answered, which is the AURC of scores that tell nothing, and `best` the AURC of scores that put
    all wrong answers last. `n` counts all questions, `answered` those that the run answers.
    """

    thresholds: Floats
    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    aurc: float
    whole: float
    best: float
    n: int
    answered: int


def confidence_of(rankings: Sequence[Ranking]) -> Floats:
    """Return how sure each ranking is, (n,): the score of its first chunk, -inf of an empty one.

    >>> confidence_of([Ranking(("a", "b"), (0.75, 0.5)), Ranking((), ())]).tolist()
    [0.75, -inf]
    """
    return np.array([each.scores[0] if each.scores else -np.inf for each in rankings], dtype=np.float64)


def steps(cases: Cases) -> tuple[Floats, Floats, Floats]:
    """Return thresholds, coverage and risk at every score that an answered question has, thresholds falling.

    Coverage is answered ÷ all questions; risk is wrong ÷ answered. Questions with equal scores come together: no
    threshold can part them.
    """
    confidence, wrong = cases.confidence[cases.answered], cases.wrong[cases.answered].astype(np.float64)
    order = np.argsort(-confidence, kind="stable")  # the surest first
    confidence, wrong = confidence[order], wrong[order]
    ends = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)) if len(confidence) else np.array([], int)
    admitted = ends + 1.0
    risk = wrong.cumsum()[ends] / admitted
    return confidence[ends], admitted / max(len(cases.confidence), 1), risk


def aurc(confidence: ArrayLike, wrong: ArrayLike) -> float:
    """Area under the risk–coverage curve (Geifman and El-Yaniv 2017): mean risk at each question's own threshold.

    >>> aurc([0.9, 0.8, 0.7, 0.6], [False, True, False, True])  # (0 + 1/2 + 1/3 + 2/4) / 4
    0.3333333333333333
    >>> aurc([0.5, 0.5], [False, True]), aurc([], [])
    (0.5, nan)
    """
    scores, errors = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if not len(scores):
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    ends = np.searchsorted(-ordered, -ordered, side="right")  # how many are admitted with each
    return float((errors[order].cumsum()[ends - 1] / ends).mean())


def curve(cases: Cases, *, seed: int = 0) -> Curve:
    """Draw the curve, at `POINTS` thresholds at most.

    Raises:
        UsageError: no question is answered.

    """
    if not cases.answered.any():
        raise UsageError("None of the questions is answered: there is no risk to be measured.")
    thresholds, coverage, risk = steps(cases)
    shown = np.unique(np.linspace(0, len(thresholds) - 1, POINTS).round().astype(int))
    intervals_of = [point(cases, threshold, seed=seed).risk for threshold in thresholds[shown].tolist()]
    wrong = cases.wrong[cases.answered]
    return Curve(
        thresholds[shown],
        coverage[shown],
        risk[shown],
        np.array([each.low for each in intervals_of]),
        np.array([each.high for each in intervals_of]),
        aurc(cases.confidence[cases.answered], wrong),
        float(wrong.mean()),
        aurc(-np.arange(len(wrong)), np.sort(wrong)),
        len(cases.confidence),
        len(wrong),
    )


@dataclass(frozen=True, slots=True)
class Point:
    """What answering only above `threshold` does: shares, counts and the interval of the risk; None where unknown."""

    threshold: float
    coverage: float
    answered: int
    wrong: int
    n: int
    risk: Estimate


def point(cases: Cases, threshold: float, *, seed: int = 0) -> Point:
    """Return coverage and risk at a threshold, the risk with its interval over the questions answered there."""
    admitted = (cases.confidence >= threshold) & cases.answered
    rows = np.flatnonzero(admitted)
    wrong = cases.wrong[rows].astype(np.float64)
    risk = intervals.estimate(wrong, cases.clusters.take(rows.tolist()), seed=seed)
    n = len(cases.confidence)
    return Point(threshold, len(rows) / max(n, 1), len(rows), int(wrong.sum()), n, risk)


def chosen(cases: Cases, most: float, *, seed: int = 0) -> Point | None:
    """Return what the lowest threshold with a risk of at most `most` does: the most coverage; None without one.

    It is chosen on these questions: on others the risk will be greater, the more so the fewer they are.
    """
    thresholds, _, risk = steps(cases)
    enough = np.flatnonzero(risk <= most + 1e-12)
    return point(cases, float(thresholds[enough[-1]]), seed=seed) if len(enough) else None
