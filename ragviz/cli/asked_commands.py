"""`ragviz questions asked`: what people asked, set against a question set."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.core.errors import InputError, UsageError
from ragviz.health import demand
from ragviz.service import question_verbs

LISTED = 20
"""Clusters in the table."""


def questions_asked(
    set_name: str,
    file: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, JSONL or text; without it, what was read before is shown.")
    ] = None,
    index_name: Annotated[str, typer.Option("--index", help="Index whose embedder compares meanings.")] = "",
    as_json: Json = False,
) -> None:
    """Read a log of what people asked: what the set does not ask, the most asked first.

    Nothing but texts and counts is kept of it; keys, addresses of mail and long numbers are taken out.
    """
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    if file is not None:
        if not file.is_file():
            raise InputError(f"The file {file} cannot be opened: No such file.")
        if index_name:
            workspace.store.indexes.get(index_name)
        given = (file.name, str(file.absolute()))
        console.perform(workspace, question_verbs.read_log(question_set, given, index=index_name))
    read = demand.stored(workspace, question_set)
    if read is None:
        raise UsageError(f"Nothing is known of what people ask of '{question_set.name}': give a log.")
    unasked = read.unasked

    def draw() -> None:
        console.say(*demand.sentences(read))
        if unasked:
            more = f" (the first {LISTED} of {len(unasked):,})" if len(unasked) > LISTED else ""
            rows = [(each.count, each.texts, f"{each.alike:.2f}", each.text) for each in unasked[:LISTED]]
            console.table(("asked", "texts", "nearest question", "text"), rows, f"Asked, and not by the set{more}")
        console.warn(*read.notes)

    console.show({"questions": question_set.name, **asdict(read), "share": read.share}, as_json, draw)
