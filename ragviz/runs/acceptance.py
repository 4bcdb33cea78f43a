"""Whether a run is accepted: its numbers are reliable, its requirements are met, it is not worse than a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragviz.analysis import requirements
from ragviz.analysis.requirements import Outcome, Requirement
from ragviz.analysis.rules import MINIMUM_EFFECT
from ragviz.core.call import Estimate
from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.judging import controls
from ragviz.metrics.registry import k_of, label
from ragviz.runs import comparisons, judgements, measurements, overviews
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What was checked of a run, in order, and what makes its comparison with the baseline hard to read."""

    run: str
    reliability: judgements.Checked
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything passed."""
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if len(self.outcomes) == 1:
            return self.reliability.sentence
        passed = sum(outcome.passed for outcome in self.outcomes)
        verb = "passed" if self.passed else "did not pass"
        return f"Run '{self.run}' {verb}: {passed} of {len(self.outcomes)} checks."


def check(
    workspace: Workspace,
    current: Run,
    required: Sequence[str] = (),
    *,
    baseline: Run | None = None,
    no_worse_than: float | None = None,
) -> Acceptance:
    """Check a run: first that its numbers are reliable, then each requirement, then each metric against the baseline.

    Requirements are `required` as "recall@3>=0.8"; the metrics compared with the baseline are those, else recall@k.
    `no_worse_than` is the loss that is allowed, a share of a metric's range. Where a limit lies within an interval, the
    estimate decides of a requirement; against the baseline only a shown loss fails.

    Raises:
        UsageError: a requirement cannot be read, or the options contradict each other.
        NotFoundError: a metric does not exist, or is not measured.

    """
    if baseline is None and no_worse_than is not None:
        raise UsageError("Nothing can be worse without a baseline: name the run with --baseline.")
    if baseline is not None and baseline.id == current.id:
        raise UsageError(f"Run '{current.name}' is compared with itself: name another run as the baseline.")
    k = current.config.k
    read = [requirements.parsed(written, k) for written in required]
    reliability = judgements.check(workspace, current)
    means = _means(workspace, current, read)
    reliable = reliability.passed
    outcomes = [Outcome("its numbers are reliable", "met" if reliable else "not met", reliable, reliability.sentence)]
    for requirement in read:
        estimate = requirements.measured(requirement, means, current.name)
        outcomes.append(requirements.checked(requirement, estimate))
    chosen = measurements.chosen_words(current)
    notes = [f"{current.name}: {chosen}"] if chosen else []
    if baseline is not None:
        compared = list(dict.fromkeys([each.metric for each in read] or [label("recall", k)]))
        share = MINIMUM_EFFECT if no_worse_than is None else no_worse_than
        against, more = _against(workspace, current, baseline, compared, share)
        outcomes, notes = outcomes + against, notes + more
    return Acceptance(current.name, reliability, tuple(outcomes), tuple(dict.fromkeys(notes)))


def lines(acceptance: Acceptance) -> list[str]:
    """Return what was checked as people read it: the outcome, each check, notes."""
    several = acceptance.outcomes if len(acceptance.outcomes) > 1 else ()
    checks = (f"{'passed' if each.passed else 'FAILED'}  {each.name}. {each.message}" for each in several)
    return [acceptance.sentence, *checks, *acceptance.notes]


def to_json(acceptance: Acceptance) -> dict[str, Any]:
    """Return what was checked as the command line prints it."""
    reliability = acceptance.reliability
    return {
        "run": acceptance.run,
        "passed": acceptance.passed,
        "sentence": acceptance.sentence,
        "problems": list(reliability.problems),
        "controls": controls.to_json(reliability.controls) if reliability.controls else None,
        "checks": [asdict(outcome) for outcome in acceptance.outcomes],
        "notes": list(acceptance.notes),
    }


def _means(workspace: Workspace, current: Run, required: Sequence[Requirement]) -> dict[str, Estimate]:
    whole = overviews.overview(workspace, current)
    means = dict(whole.summary.metrics) | {name: each.estimate for name, each in whole.judgement.metrics.items()}
    for k in {k_of(each.metric, current.config.k) for each in required} - {current.config.k}:
        means |= overviews.summary_at(workspace, current, k).metrics
    return means


def _against(
    workspace: Workspace, current: Run, baseline: Run, metrics: Sequence[str], share: float
) -> tuple[list[Outcome], list[str]]:
    """Check metrics against the baseline, compared once for every k; return the outcomes and what is to be noted."""
    by_k: dict[int, list[str]] = {}
    for metric in metrics:
        requirements.margin_of(metric, share)
        by_k.setdefault(k_of(metric, current.config.k), []).append(metric)
    outcomes, notes = dict[str, Outcome](), list[str]()
    for k, of_k in by_k.items():
        comparison = comparisons.compare_runs(workspace, [baseline, current], k, primary=of_k[0])
        notes += comparison.notes
        for metric in of_k:
            comparison.paired(metric)
            (delta,) = comparison.rows[metric].deltas
            outcomes[metric] = requirements.no_worse(metric, delta.difference, baseline.name, share)
    return [outcomes[metric] for metric in metrics], notes
