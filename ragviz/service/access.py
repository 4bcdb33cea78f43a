"""Who may do what, and who did what: each verb declares the role that it takes, and is noted when it changes anything.

Both are done here and nowhere else.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from ragviz.core.digests import new_id
from ragviz.core.event import Event
from ragviz.core.person import Role
from ragviz.workspace import Workspace

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
Verb = Callable[Concatenate[Workspace, Arguments], Made]

Noted = Literal["with it", "after", "never"]

TAKES: dict[str, Role] = {}
"""Verb, as "run_verbs.make" → the role that it takes."""
NAMES = frozenset(
    (
        *("action", "check", "corpus", "generator", "index", "judge", "model", "name", "part", "preset", "questions"),
        *("replaces", "reranker", "retriever", "split", "system", "target"),
    )
)
"""Arguments whose texts are names, and are told in an event; other texts may be of documents, or secret."""


def verb(
    role: Role, what: str, *, noted: Noted = "with it", told: Callable[..., Mapping[str, Any]] = lambda *_, **__: {}
) -> Callable[[Verb[Arguments, Made]], Verb[Arguments, Made]]:
    """Declare a verb: the role that it takes, and `what` is done ("delete a corpus"), for refusals and the audit.

    A verb that takes more than a viewer leaves one event, in the transaction of what is done; `after` it where that
    comes before the store can be opened, or changes it as a whole. One that returns a job leaves it when that is
    created. `told` returns from its arguments what the event tells beside names and numbers.

    Raises Refused when the person of the workspace has not that role.
    """

    def declared(do: Verb[Arguments, Made]) -> Verb[Arguments, Made]:
        signature, makes_job = inspect.signature(do), do.__annotations__.get("return") == "NewJob"

        @wraps(do)
        def done(workspace: Workspace, /, *args: Arguments.args, **options: Arguments.kwargs) -> Made:
            workspace.person.need(role, what)
            if role == "viewer" or noted == "never":
                return do(workspace, *args, **options)
            values = [*signature.bind(workspace, *args, **options).arguments.items()][1:]
            event = _event(workspace, what, dict(values), told(*args, **options))
            if makes_job:
                return replace(do(workspace, *args, **options), event=event)  # type: ignore[type-var]
            if noted == "after":
                made = do(workspace, *args, **options)
                with workspace.store.noting(event):
                    return made
            with workspace.store.noting(event):
                return do(workspace, *args, **options)

        TAKES[f"{do.__module__.rpartition('.')[2]}.{do.__name__}"] = role
        return done

    return declared


def _event(workspace: Workspace, what: str, values: Mapping[str, Any], told: Mapping[str, Any]) -> Event:
    """Return the event that `what` was done with these arguments: to their `name`, else to the first record of them."""
    action, *noun = what.split()
    words = " ".join(word for word in noun if word not in ("a", "an", "the", "to"))
    details = _told(values) | dict(told)
    subject, name = str(values.get("job_id", "")), str(details.pop("name", ""))
    of = next((key for key, value in values.items() if _name(value)), "")
    if of and not name:
        subject, name = str(getattr(values[of], "id", "")), details.pop(of)
    person = workspace.person
    return Event(new_id(), time.time(), person.name, person.role, action, words, subject, name, details)


def _told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an event tells of arguments: names, numbers, and how many there are of what it does not tell."""
    told = dict[str, Any]()
    for key, value in values.items():
        if isinstance(value, Mapping):  # choices by name
            told |= _told({each: one for each, one in value.items() if not isinstance(one, Mapping)})
        elif isinstance(value, bool | int | float) or (isinstance(value, str) and value and key in NAMES):
            told[key] = value
        elif isinstance(value, list | set | frozenset):
            told[key] = len(value)
        elif name := _name(value):
            told[key] = name
    return told


def _name(value: Any) -> str:
    return str(getattr(value, "name", "") or getattr(value, "title", "")) if is_dataclass(value) else ""
