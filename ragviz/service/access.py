"""Who may do what: each verb declares the role that it takes, here and nowhere else it is checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ragviz.core.person import Role
from ragviz.workspace import Workspace

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
Verb = Callable[Concatenate[Workspace, Arguments], Made]

TAKES: dict[str, Role] = {}
"""Verb, as "run_verbs.make" → the role that it takes."""


def verb(role: Role, what: str) -> Callable[[Verb[Arguments, Made]], Verb[Arguments, Made]]:
    """Declare a verb: the role that it takes, and `what` is done ("delete a corpus"), for the sentence of a refusal.

    Raises Refused when the person of the workspace has not that role.
    """

    def declared(do: Verb[Arguments, Made]) -> Verb[Arguments, Made]:
        @wraps(do)
        def done(workspace: Workspace, /, *args: Arguments.args, **options: Arguments.kwargs) -> Made:
            workspace.person.need(role, what)
            return do(workspace, *args, **options)

        TAKES[f"{do.__module__.rpartition('.')[2]}.{do.__name__}"] = role
        return done

    return declared
