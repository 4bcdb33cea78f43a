"""What can be done to targets: running systems that are asked over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz.core.endpoint_choices import PRESETS, Endpoint
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.targets import endpoint
from ragviz.text import language
from ragviz.workspace import Workspace

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


def add(workspace: Workspace, name: str, given: Mapping[str, Any], preset: str = "") -> Endpoint:
    """Store a target that is `described`; UsageError where its name is blank or taken."""
    return workspace.store.targets.add(described(name, given, preset))


def try_out(workspace: Workspace, target: Endpoint, text: str = "") -> endpoint.Tested:
    """Ask a target one question, once. Raises as `endpoint.test`."""
    text = text.strip() or TRIAL
    question = Question("trial", text, "", (), "hand", language=language.detect(text))
    return endpoint.test(target, question, workspace.settings.ca_file)


def delete(workspace: Workspace, name: str) -> None:
    """Delete a target; the runs that were recorded of it stay. NotFoundError where there is none."""
    workspace.store.targets.delete(workspace.store.targets.get(name).name)
