"""`ragviz questions`: versions of a set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.questions_commands import questions_app
from ragviz.questions import versions
from ragviz.runs import measurements
from ragviz.text import counts

By = Annotated[str, typer.Option("--by", help="Your name. Default: RAGVIZ_PERSON, else the login's name.")]


@questions_app.command("versions")
def questions_versions(set_name: str, as_json: Json = False) -> None:
    """List the versions of a set, the newest first: who changed what, and when, and which runs asked each."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    runs = measurements.runs_by_version(workspace, question_set)
    listed = workspace.store.versions.all(question_set.id)
    rows = [versions.version_row(each) | {"asked_by": runs.get(each.number, [])} for each in listed]
    drawn = [
        (r["version"], console.when(r["created"]), r["author"], r["action"], r["questions"], asked_by)
        for r in rows
        for asked_by in [measurements.names_words(r["asked_by"])]
    ]
    columns = ("version", "when", "who", "what", "questions", "asked by")
    console.show(rows, as_json, lambda: console.table(columns, drawn))


@questions_app.command("diff")
def questions_diff(
    set_name: str,
    older: Annotated[int, typer.Argument(min=0, help="0 is the set before its first edit.")],
    newer: Annotated[int | None, typer.Argument(help="Default: the present version.")] = None,
    as_json: Json = False,
) -> None:
    """Show what differs between two versions of a set: each changed field before and after."""
    store = console.open_workspace().store
    question_set = store.sets.get(set_name)
    names = store.documents.names(question_set.corpus_id)
    rows: list[dict[str, Any]] = [
        {
            "id": each.question.id,
            "what": list(each.what),
            "before": each.change.before and each.change.before.text,
            "after": each.change.after and each.change.after.text,
            "changes": versions.changes_of(each, names),
        }
        for each in versions.differences(store, question_set, older, newer)
    ]
    drawn = [cells for row in rows for cells in _change_cells(row)]

    def draw() -> None:
        if drawn:
            console.table(("id", "question", "what", "before", "after"), drawn)
        else:
            console.say("No question differs.")

    console.show(rows, as_json, draw)


def _change_cells(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the lines of a question in the table: one a changed field, or one for a question added or removed."""
    text = console.line(row["after"] if row["after"] is not None else row["before"])
    if not row["changes"]:
        return [(row["id"], text, ", ".join(row["what"]), "", "")]
    return [
        (
            row["id"],
            text,
            c["field"],
            *(console.line(versions.value_words(c["field"], c[k])) for k in ("before", "after")),
        )
        for c in row["changes"]
    ]


@questions_app.command("undo")
def questions_undo(set_name: str, by: By = "", as_json: Json = False) -> None:
    """Take back the newest edit of a set that was not taken back yet."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    version = versions.undo(workspace.store, question_set, by or workspace.settings.person)
    line = f"Took back version {version.number} of '{question_set.name}': {version.action}."
    console.show(versions.version_row(version), as_json, lambda: console.say(line))


@questions_app.command("restore")
def questions_restore(set_name: str, version: int, by: By = "", as_json: Json = False) -> None:
    """Make all questions of a set as they were in a version; that is a new version, and can be undone."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    count = versions.restore(workspace.store, question_set, version, by or workspace.settings.person)
    changed, again = counts.counted(count, "question"), "is as it was" if count == 1 else "are as they were"
    line = f"{changed} of '{question_set.name}' {again} in version {version}."
    body = {"questions": question_set.name, "restored": version, "changed": count}
    console.show(body, as_json, lambda: console.say(line))
