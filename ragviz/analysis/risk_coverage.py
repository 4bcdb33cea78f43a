"""Answer only above a score: the share that is answered (coverage) against the wrong among the answered (risk)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragviz.core.call import Estimate
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.stats import intervals
from ragviz.stats.clusters import Clusters, independent_clusters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Confidence = Literal["top", "margin"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
TITLES: dict[str, str] = {"top": "Score of the first chunk", "margin": "First score − second score"}

POINTS = 200
"""Thresholds at most at which the curve has an interval."""
_CELLS = 2_000_000  # numbers held at once while resampling: bounds memory, whatever n is


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

    def take(self, rows: Sequence[int]) -> Cases:
        """Return some of the questions, by their places."""
        places = np.asarray(rows, dtype=np.int64)
        return Cases(
            self.confidence[places], self.answered[places], self.wrong[places], self.clusters.take(places.tolist())
        )


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Risk at falling thresholds, each the score of some question: arrays of the same shape, (points,).

    `thresholds` fall, `coverage` rises with them. `low` and `high` bound the risk at a threshold (95 %). `aurc` is the
    mean, over the answered questions, of the risk at the threshold that just admits each; `whole` the risk when all are
    answered, which is the AURC of scores that tell nothing, and `best` the AURC of scores that put all wrong answers
    last. `n` counts all questions, `answered` those that the run answers.
    """

    thresholds: Floats
    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    aurc: Estimate
    whole: float
    best: float
    n: int
    answered: int


def confidence_of(rankings: Sequence[Ranking], by: Confidence) -> Floats:
    """Return how sure each ranking is, (n,): its first score, or by how much that is above the second.

    A ranking of one chunk has no second score: its margin is unbounded. An empty one is -inf.

    >>> rankings = [Ranking(("a", "b"), (0.75, 0.5)), Ranking(("a",), (0.9,)), Ranking((), ())]
    >>> confidence_of(rankings, "top").tolist(), confidence_of(rankings, "margin").tolist()
    ([0.75, 0.9, -inf], [0.25, inf, -inf])
    """
    if by == "top":
        return np.array([each.scores[0] if each.scores else -np.inf for each in rankings], dtype=np.float64)
    pairs = [(*each.scores, -np.inf, -np.inf)[:2] for each in rankings]
    return np.array([first - second if first > -np.inf else first for first, second in pairs], dtype=np.float64)


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


def curve(cases: Cases, *, seed: int = 0, samples: int = intervals.SAMPLES) -> Curve:
    """Draw the curve; intervals by resampling whole clusters of questions.

    Percentiles are widened as Student's t is against the normal distribution (Hesterberg 2015). With too few clusters
    to speak of other documents, questions are resampled: further questions on these documents.

    Raises:
        UsageError: no question is answered.

    """
    if not cases.answered.any():
        raise UsageError("None of the questions is answered: there is no risk to be measured.")
    thresholds, coverage, risk = steps(cases)
    shown = np.unique(np.linspace(0, len(thresholds) - 1, POINTS).round().astype(int))
    thresholds, coverage, risk = thresholds[shown], coverage[shown], risk[shown]
    clusters = cases.clusters if cases.clusters.generalise else independent_clusters(len(cases.confidence))
    tail = _tail(clusters)
    low, high, areas = _resampled(cases, clusters, thresholds, tail, seed, samples)
    own = aurc(cases.confidence[cases.answered], cases.wrong[cases.answered])
    wrong = cases.wrong[cases.answered]
    ends = np.quantile(areas[np.isfinite(areas)], [tail, 1 - tail])
    area = Estimate(own, float(min(ends[0], own)), float(max(ends[1], own)), len(cases.confidence), clusters.count)
    best = aurc(-np.arange(len(wrong)), np.sort(wrong))
    return Curve(
        thresholds,
        coverage,
        risk,
        np.minimum(low, risk),
        np.maximum(high, risk),
        area,
        float(wrong.mean()),
        best,
        len(cases.confidence),
        len(wrong),
    )


def _tail(clusters: Clusters) -> float:
    from scipy.special import ndtr

    freedom = np.array([max(clusters.count - 1.0, 1.0)])
    widening = np.sqrt(clusters.count / freedom)
    return float(ndtr(-intervals.quantiles(freedom) * widening)[0])


def _resampled(
    cases: Cases, clusters: Clusters, thresholds: Floats, tail: float, seed: int, samples: int
) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the risk at each threshold, and the AURC of every resample."""
    admitted = (cases.confidence[:, np.newaxis] >= thresholds) & cases.answered[:, np.newaxis]
    answered = clusters.parts(admitted.astype(np.float64)).astype(np.float32)
    wrong = clusters.parts((admitted & cases.wrong[:, np.newaxis]).astype(np.float64)).astype(np.float32)
    places = np.flatnonzero(cases.answered)
    places = places[np.argsort(-cases.confidence[places], kind="stable")]
    errors = cases.wrong[places].astype(np.float32)
    ordered = cases.confidence[places]
    ends = np.searchsorted(-ordered, -ordered, side="right") - 1
    tied = bool((ends != np.arange(len(ends))).any())
    risks, areas = [], []
    block = max(1, _CELLS // max(len(places), 1))
    for drawn in intervals.resamples(clusters.count, seed, samples):
        for start in range(0, len(drawn), block):
            counts = drawn[start : start + block]
            below = counts @ answered
            risks.append(
                np.divide(counts @ wrong, below, out=np.full(below.shape, np.nan, np.float32), where=below > 0)
            )
            weights = clusters.weights(counts)[:, places]
            so_far = weights.cumsum(axis=1, dtype=np.float32)
            at_each = (weights * errors).cumsum(axis=1, dtype=np.float32) / np.maximum(so_far, 1)
            if tied:
                at_each = at_each[:, ends]
            total = so_far[:, -1]
            areas.append((weights * at_each).sum(axis=1) / np.where(total > 0, total, np.nan))
    with np.errstate(all="ignore"):
        low, high = np.nanquantile(np.concatenate(risks), [tail, 1 - tail], axis=0)
    return low.astype(np.float64), high.astype(np.float64), np.concatenate(areas).astype(np.float64)


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


def chosen(cases: Cases, most: float) -> float | None:
    """Return the lowest threshold whose risk is at most `most`: the most coverage; None where none is so low.

    It is chosen on these questions: on others the risk will be greater, the more so the fewer they are.
    """
    thresholds, _, risk = steps(cases)
    enough = np.flatnonzero(risk <= most + 1e-12)
    return float(thresholds[enough[-1]]) if len(enough) else None
