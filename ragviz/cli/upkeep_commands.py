"""`ragviz doctor`: what keeps an installation."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ragviz.cli import console
from ragviz.cli.options import Json
from ragviz.upkeep import doctor as examination

_WORDS = {"works": "ok", "optional": "could be better", "broken": "wrong"}


def doctor(as_json: Json = False) -> None:
    """Examine versions, connections, disk, database, indexes and jobs; exit 1 when something is wrong."""
    found = examination.examined(console.open_workspace())
    columns: console.Columns = {
        "part": "name",
        "": lambda record: _WORDS[record["status"]],
        "found": "detail",
        "what to do": lambda record: record["fix"] if record["status"] != "works" else "",
    }
    console.show_records([asdict(check) for check in found], as_json, columns)
    if any(check.status == "broken" for check in found):
        raise typer.Exit(1)
