"""`ragviz audit`: who did what, when."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.core.digests import json_line
from ragviz.core.event import Wanted
from ragviz.service import audit_verbs


def audit(
    since: Annotated[str, typer.Option(help="First day or moment in UTC, as 2026-11-27T21:58.")] = "",
    person: Annotated[str, typer.Option(help="Only what this person did.")] = "",
    verb: Annotated[str, typer.Option(help="Only this verb: delete, make, change, end …")] = "",
) -> None:
    """Print who did what, when, as JSON Lines, the oldest first."""
    wanted = Wanted(audit_verbs.since(since), person, verb)
    for event in audit_verbs.events(console.open_workspace(), wanted):
        sys.stdout.write(json_line(event.plain()) + "\n")
