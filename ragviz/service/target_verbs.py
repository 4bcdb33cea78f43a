"""What can be done to targets: running systems that are asked over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ragviz.core.configuration import RunConfig
from ragviz.core.endpoint_choices import PRESETS, Endpoint
from ragviz.core.errors import UsageError
from ragviz.core.fields import checked
from ragviz.core.job import NewJob
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.recording import Knows
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import recorded
from ragviz.service.access import verb
from ragviz.targets import endpoint
from ragviz.text import language
from ragviz.workspace import Workspace

MOST_REPEATS = 20
"""How often a question is asked at most."""
TRIAL = "What is this about?"
"""What a target is asked for trial, where nothing else is said."""


def described(name: str, given: Mapping[str, Any], preset: str = "") -> Endpoint:
    """Return a target of which `given` is said; what is not is as in the preset, headers beside its own.

    Raises:
        UsageError: there is no such preset or choice, or the target cannot be asked.

    """
    if preset and preset not in PRESETS:
        raise UsageError(f"There is no preset '{preset}': choose one of {', '.join(PRESETS)}.")
    known = PRESETS[preset].choices if preset else {}
    headers = {**known.get("headers", {}), **given.get("headers", {})}
    return endpoint.of_choices(name, {**known, **given, "headers": headers})


@verb("editor", "change a target")
def add(workspace: Workspace, name: str, given: Mapping[str, Any], preset: str = "", *, replaces: str = "") -> Endpoint:
    """Store a target that is `described`, in place of the one called `replaces`.

    Raises:
        UsageError: its name is blank or taken, or as `described`.

    """
    made = described(name, given, preset)
    [replaced_id] = workspace.store.ids_of([("target", replaces)])
    if replaces:
        workspace.store.targets.delete(replaces)
    return workspace.store.targets.add(made, replaced_id or "")


@verb("editor", "try a target")
def try_out(workspace: Workspace, target: Endpoint, text: str = "") -> endpoint.Tested:
    """Ask a target one question, once. Raises as `endpoint.tried`."""
    text = text.strip() or TRIAL
    question = Question("trial", text, "", (), "hand", language=language.detect(text))
    return endpoint.tried(target, question, workspace.settings.ca_file)


@verb("viewer", "read a reply")
def read_again(workspace: Workspace, target: Endpoint, tested: endpoint.Tested) -> endpoint.Tested:
    """Read the reply of a call for trial by the choices of a target, without asking again."""
    return endpoint.read_again(target, tested, workspace.settings.ca_file)


@verb("viewer", "configure a run")
def asking(workspace: Workspace, question_set: QuestionSet, given: Mapping[str, Any]) -> RunConfig:
    """Return the choices of a run of a running system of which `given` is said: some of `recorded.CHOICES`.

    Raises:
        UsageError: there is no such choice, or a metric that needs a model and none is configured.

    """
    if unknown := sorted(given.keys() - {*recorded.CHOICES}):
        raise UsageError(f"{', '.join(unknown)} is no choice here: there are {', '.join(recorded.CHOICES)}.")
    config = RunConfig("", question_set.id, "imported", **checked(RunConfig, given))
    if config.metrics:
        judged = bool(config.judge) or workspace.settings.model_configured
        answer_metrics.chosen(config.metrics, judge=judged, knows=Knows(ranking=False, answers=True))
    return config


@verb("editor", "record a run")
def record(
    workspace: Workspace,
    target: str,
    question_set: QuestionSet,
    name: str,
    given: Mapping[str, Any],
    repeats: int = 1,
    budget: float | None = None,
) -> NewJob:
    """Ask a target the questions of a set as the run `name`, or those of them that failed or are missing there.

    `given` are the choices of `asking`; `target` is a stored one, or `module:function` in a person's own process.

    Raises:
        UsageError: as `asking`; there is no such target; the run has no name.

    """
    config = asking(workspace, question_set, given)
    if not name.strip():
        raise UsageError("Give the run a name: --name NAME.")
    if not 1 <= repeats <= MOST_REPEATS:
        raise UsageError(f"Repeats are from 1 to {MOST_REPEATS}: {repeats} is not.")
    recorded.system_of(workspace, target)
    [target_id] = workspace.store.ids_of([("target", target)])
    arguments: dict[str, Any] = {"target": target_id or target, "questions": question_set.name, "name": name}
    arguments |= {"config": asdict(config), "repeats": repeats, "budget": budget}
    return NewJob("record", f"Ask {target}", question_set.corpus_id, arguments)


@verb("editor", "delete a target")
def delete(workspace: Workspace, name: str) -> None:
    """Delete a target; the runs that were recorded of it stay. NotFoundError where there is none."""
    workspace.store.targets.delete(workspace.store.targets.get(name).name)
