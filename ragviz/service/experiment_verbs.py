"""What can be done to experiments."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.errors import UsageError
from ragviz.core.experiment import Experiment, ExperimentRule
from ragviz.core.job import NewJob
from ragviz.core.question_set import QuestionSet
from ragviz.experiments import confirming, declaring
from ragviz.experiments.grid import Planned
from ragviz.workspace import Workspace


def side_asked(question_set: QuestionSet, split: str | None) -> str:
    """Return the side of a set's split that a sweep asks, "" for all questions; by default validation where it is.

    Raises:
        UsageError: it is neither "validation", nor "all" or "".

    """
    if split in ("all", ""):
        return ""
    if split in (None, "validation"):
        return "validation" if split or question_set.split is not None else ""
    raise UsageError(f"A sweep asks validation or all questions, not '{split}': `ragviz confirm` asks test, once.")


def rule_of(
    planned: Planned, *, primary: str, minimum_effect: float | None, baseline: str, guardrails: Sequence[str]
) -> ExperimentRule:
    """Return the rule of an experiment; `guardrails` are as "tokens=1.5x". Raises as `declaring.rule_of`."""
    read = [declaring.read_guardrail(text) for text in guardrails]
    return declaring.rule_of(
        planned, primary=primary, minimum_effect=minimum_effect, baseline=baseline, guardrails=read
    )


def sweep(
    workspace: Workspace,
    name: str,
    question_set: QuestionSet,
    planned: Planned,
    rule: ExperimentRule,
    split: str,
    budget: float | None = None,
) -> NewJob:
    """Declare an experiment, and run its cells for at most `budget` dollars. Raises as `declaring.declare`."""
    return go_on(declaring.declare(workspace, name, question_set, planned, rule, split), budget)


def go_on(experiment: Experiment, budget: float | None = None) -> NewJob:
    """Run the cells of a declared experiment that are not done."""
    arguments = {"experiment": experiment.id, "budget": budget}
    return NewJob("sweep", f"Sweep {experiment.name}", experiment.corpus_id, arguments)


def confirm(workspace: Workspace, experiment: Experiment, budget: float | None = None) -> NewJob:
    """Run baseline and chosen configuration on the test side, once. Raises as `confirming.check`."""
    confirming.check(workspace, experiment)
    arguments = {"experiment": experiment.id, "budget": budget}
    return NewJob("confirm", f"Confirm {experiment.name} on test", experiment.corpus_id, arguments)
