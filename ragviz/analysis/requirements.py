"""What a run has to reach, and how much worse than a baseline it may be: decided by intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragviz.analysis.rules import direction
from ragviz.core.call import Estimate
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.metrics.registry import METRICS, REGISTRY, labelled, range_of, title_of
from ragviz.stats.clusters import FEW
from ragviz.stats.differences import ALPHA, Difference
from ragviz.text.counts import counted

Standing = Literal["met", "undecided", "not met"]
"""What an interval says of a limit: all of it is within, it holds the limit, all of it is beyond."""

_WRITTEN = re.compile(r"\s*([A-Za-z_]\w*)(?:@(\d+))?\s*(>=|<=|>|<)\s*(\S+)\s*")
_SMALL = 1e-9  # means differ in their last bits
_PASSES = "It passes, as what is undecided does."


@dataclass(frozen=True, slots=True)
class Requirement:
    """A limit on the mean of a metric ("recall@3"): at least, at most, above or below `limit`."""

    metric: str
    sign: str
    limit: float

    @property
    def words(self) -> str:
        """The requirement as it is written: "recall@3 >= 0.8"."""
        return f"{self.metric} {self.sign} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that was checked: its name, what the interval says of it, whether it passed, and a sentence why.

    `mean`, `low` and `high` are the metric's, or those of its difference to the baseline, `n` the questions; None and 0
    where nothing is measured. `limit` is what `mean` is held against.
    """

    name: str
    standing: Standing
    passed: bool
    message: str
    metric: str = ""
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    limit: float | None = None


def parsed(written: str, k: int) -> Requirement:
    """Read "recall@3>=0.8"; a metric of rankings without its k is that at `k`.

    >>> parsed("recall@5 >= 0.8", 3), parsed("recall>0.5", 3).words
    (Requirement(metric='recall@5', sign='>=', limit=0.8), 'recall@3 > 0.5')

    Raises:
        UsageError: it is not written so, or can never be decided: the limit is outside the metric's range.
        NotFoundError: there is no such metric.

    """
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise UsageError(f"'{written}' is no requirement: write a metric, >=, <=, > or <, and a number: recall@3>=0.8.")
    name, at, sign, number = match.groups()
    metric = labelled(f"{name}@{at}" if at else name, k)
    try:
        limit = float(number)
    except ValueError:
        raise UsageError(f"'{number}' in '{written}' is no number: write it as 0.8.") from None
    low, high = REGISTRY[name].range
    if not (math.isfinite(limit) and low <= limit <= high):
        raise UsageError(
            f"'{written}' says nothing: {metric} is always from {low:g} to {high:g}; give a limit in this range."
        )
    return Requirement(metric, sign, limit)


def measured(requirement: Requirement, means: Mapping[str, Estimate], run: str) -> Estimate:
    """Return the estimate of what is required.

    Raises:
        NotFoundError: no question of the run has a score of it.

    """
    estimate = means.get(requirement.metric)
    if estimate is not None and estimate.mean is not None:
        return estimate
    known = [name for name, each in means.items() if each.mean is not None]
    answers = requirement.metric.partition("@")[0] not in METRICS
    hint = " Its answers have to be judged first: `ragviz run … --metrics`." if answers else ""
    raise NotFoundError(
        f"Run '{run}' has no score of '{requirement.metric}'; it has {', '.join(known) or 'no scores'}.{hint}"
    )


def checked(requirement: Requirement, estimate: Estimate) -> Outcome:
    """Check a measured mean: met when its whole 95 % interval is within the limit, not met when all of it is beyond.

    In between the estimate decides.
    """
    mean, low, high = (number or 0.0 for number in (estimate.mean, estimate.low, estimate.high))
    worst, best = (low, high) if requirement.sign.startswith(">") else (high, low)
    standing: Standing = (
        "met" if _keeps(requirement, worst) else "undecided" if _keeps(requirement, best) else "not met"
    )
    passed = _keeps(requirement, mean)
    message = (
        f"{title_of(requirement.metric)} is {mean:.3f} [{low:.3f}, {high:.3f}], "
        f"n = {estimate.n:,}{_clustered(estimate)}; required: {requirement.sign} {requirement.limit:g}. "
    )
    message += {
        "met": "Met: so is the whole interval.",
        "not met": "Not met: nor is any of the interval.",
        "undecided": f"Undecided: the interval is on both sides of it. It {'passes' if passed else 'fails'}, by the "
        "estimate.",
    }[standing]
    return Outcome(
        requirement.words, standing, passed, message, requirement.metric, mean, low, high, estimate.n, requirement.limit
    )


def no_worse(metric: str, difference: Difference, baseline: str, share: float) -> Outcome:
    """Check that a run is not worse than its baseline by more than `share` of the metric's range.

    Met when the whole 95 % interval of the paired difference is above that loss (non-inferiority), not met when all of
    it is below; what is undecided passes. An interval of no width counts only where every question is equal, or the
    test agrees.
    """
    margin, sign = margin_of(metric, share), direction(metric)
    name, limit = f"{metric} no worse than {baseline} by more than {margin:g}", -margin * sign
    d = difference
    if d.mean is None or d.low is None or d.high is None:
        told = f"{title_of(metric)}: no question has a score in both runs. {_PASSES}"
        return Outcome(name, "undecided", True, told, metric, limit=limit)
    worst, best = sorted((sign * d.low, sign * d.high))
    shaky = d.error <= 0 and d.ties < d.n and (d.p_value or 0.0) > ALPHA
    standing: Standing = "undecided"
    if not shaky:
        standing = "met" if worst >= -margin - _SMALL else "not met" if best < -margin - _SMALL else "undecided"
    message = (
        f"{title_of(metric)} against {baseline}: {d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}], n = {d.n:,}"
        f"{_clustered(d)}; allowed: worse by {margin:g}. "
    )
    message += {
        "met": "Met: the whole interval is within it.",
        "not met": "Not met: the whole interval is worse.",
        "undecided": f"Undecided: {'too few questions' if shaky else 'the interval is on both sides of it'}. {_PASSES}",
    }[standing]
    return Outcome(name, standing, standing != "not met", message, metric, d.mean, d.low, d.high, d.n, limit)


def margin_of(metric: str, share: float) -> float:
    """Return a share of a metric's range in its own unit.

    Raises:
        UsageError: it is not from 0 to below 1.

    """
    if not 0 <= share < 1:
        raise UsageError(f"A loss of {share:g} is no share of a metric's range: give 0 or more and below 1, as 0.02.")
    low, high = range_of(metric)
    return share * (high - low)


def _keeps(requirement: Requirement, value: float) -> bool:
    above = value - requirement.limit
    return {">=": above >= -_SMALL, ">": above > _SMALL, "<=": above <= _SMALL, "<": above < -_SMALL}[requirement.sign]


def _clustered(of: Estimate | Difference) -> str:
    """Say in how many clusters the questions are, unless each is one of its own."""
    if not 0 < of.clusters < of.n:
        return ""
    scope = "" if of.clusters >= FEW else ", for further questions on these documents only"
    return f" in {counted(of.clusters, 'cluster')} of documents{scope}"
