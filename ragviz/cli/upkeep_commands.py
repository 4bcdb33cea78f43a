"""`ragviz doctor`, `backup`, `restore`, `audit`: what keeps an installation, and who did what in it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.options import Json
from ragviz.core.digests import json_line
from ragviz.core.event import Wanted
from ragviz.service import audit_verbs, upkeep_verbs
from ragviz.upkeep import doctor as examination

_WORDS = {"works": "ok", "optional": "could be better", "broken": "wrong"}


def doctor(
    adopt: Annotated[bool, typer.Option("--adopt", help="Keep a home that was copied while it was used.")] = False,
    as_json: Json = False,
) -> None:
    """Examine versions, connections, disk, database, indexes and jobs; exit 1 when something is wrong."""
    workspace = console.open_workspace()
    if adopt:
        upkeep_verbs.adopt(workspace)
    found = examination.examined(workspace)
    columns: console.Columns = {
        "part": "name",
        "": lambda record: _WORDS[record["status"]],
        "found": "detail",
        "what to do": lambda record: record["fix"] if record["status"] != "works" else "",
    }
    console.show_records([asdict(check) for check in found], as_json, columns)
    if any(check.status == "broken" for check in found):
        raise typer.Exit(1)


def backup(file: Annotated[Path, typer.Argument(help="A new zip file.")], as_json: Json = False) -> None:
    """Write FILE: the database and the local indexes as they are now, also while they are used; no keys."""
    workspace = console.open_workspace()
    with console.bar() as watch:
        contents = upkeep_verbs.back_up(workspace, file, watch)
    size = file.stat().st_size
    told = f"Wrote {file}: {len(contents.files):,} files, {contents.size / 1e6:,.1f} MB in {size / 1e6:,.1f} MB."
    record = {"file": str(file), "bytes": size, "kept": contents.kept, "rebuilt": contents.rebuilt}
    console.show(record, as_json, lambda: console.say(told, *_to_be_built(contents.rebuilt)))


def restore(
    file: Annotated[Path, typer.Argument(help="What `ragviz backup` wrote.")],
    replace: Annotated[bool, typer.Option("--replace", help="Move what is there aside.")] = False,
    as_json: Json = False,
) -> None:
    """Bring FILE back into RAGVIZ_HOME, and the database that is configured; both have to be empty."""
    workspace = console.open_workspace()
    with console.bar() as watch:
        restored = upkeep_verbs.bring_back(workspace, file, watch, replace=replace)
    contents = restored.contents
    lines = [
        f"Restored the backup of {console.when(contents.created)} into {workspace.settings.home}.",
        f"What was there is in {restored.replaced}: delete it when you need it no more." if restored.replaced else "",
        *_to_be_built(contents.rebuilt),
        *(f"The embedder {name} is not on this machine: copy it to that folder." for name in restored.missing),
    ]
    record = {"created": contents.created, "replaced": restored.replaced, "kept": contents.kept}
    record |= {"rebuilt": contents.rebuilt, "missing": restored.missing}
    console.show(record, as_json, lambda: console.say(*lines))


def _to_be_built(rebuilt: dict[str, str]) -> list[str]:
    return [f"Index '{name}' is not in the backup: {reason}." for name, reason in rebuilt.items()]


def audit(
    since: Annotated[str, typer.Option(help="First day or moment in UTC, as 2026-11-27T21:58.")] = "",
    person: Annotated[str, typer.Option(help="Only what this person did.")] = "",
    verb: Annotated[str, typer.Option(help="Only this verb: delete, make, change, end …")] = "",
) -> None:
    """Print who did what, when, as JSON Lines, the oldest first."""
    wanted = Wanted(audit_verbs.since(since), person, verb)
    for event in audit_verbs.events(console.open_workspace(), wanted):
        sys.stdout.write(json_line(event.plain()) + "\n")
