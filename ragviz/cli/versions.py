"""`ragviz questions`: versions of a set, reviewers and comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.lazy import authoring, counts, measurements, reviewing, versions
from ragviz.cli.questions import questions_app
from ragviz.core.errors import UsageError

By = Annotated[str, typer.Option("--by", help="Your name. Default: RAGVIZ_PERSON, else the login's name.")]


@questions_app.command("versions")
def questions_versions(set_name: str, as_json: Json = False) -> None:
    """List the versions of a set, the newest first: who changed what, and when, and which runs asked each."""
    workspace = console.open_workspace()
    question_set = workspace.store.question_set(set_name)
    runs = measurements.runs_by_version(workspace, question_set)
    listed = workspace.store.history.versions(question_set.id)
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
    question_set = store.question_set(set_name)
    names = store.document_names(question_set.corpus_id)
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
            console.out.print("No question differs.")

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
    question_set = workspace.store.question_set(set_name)
    version = versions.undo(workspace.store, question_set, by or workspace.settings.person)
    line = f"Took back version {version.number} of '{question_set.name}': {version.action}."
    console.show(versions.version_row(version), as_json, lambda: console.out.print(console.printable(line)))


@questions_app.command("restore")
def questions_restore(set_name: str, version: int, by: By = "", as_json: Json = False) -> None:
    """Make all questions of a set as they were in a version; that is a new version, and can be undone."""
    workspace = console.open_workspace()
    question_set = workspace.store.question_set(set_name)
    count = versions.restore(workspace.store, question_set, version, by or workspace.settings.person)
    changed, again = counts.counted(count, "question"), "is as it was" if count == 1 else "are as they were"
    line = f"{changed} of '{question_set.name}' {again} in version {version}."
    body = {"questions": question_set.name, "restored": version, "changed": count}
    console.show(body, as_json, lambda: console.out.print(console.printable(line)))


@questions_app.command("assign")
def questions_assign(
    set_name: str,
    reviewer: Annotated[str, typer.Argument(help="Name of who is to review the questions.")],
    count: Annotated[int, typer.Option(min=1)] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives two reviewers the same questions.")] = 0,
    as_json: Json = False,
) -> None:
    """Assign questions drawn by chance to a reviewer."""
    store = console.open_workspace().store
    question_set = store.question_set(set_name)
    drawn = reviewing.assign(store, question_set, reviewer, count, seed)
    line = f"{counts.counted(len(drawn), 'question')} of '{question_set.name}' assigned to {reviewer.strip()}."
    body = {"questions": question_set.name, "reviewer": reviewer.strip(), "ids": drawn}
    console.show(body, as_json, lambda: console.out.print(console.printable(line)))


@questions_app.command("judge", cls=console.TakesIds)
def questions_judge(
    set_name: str,
    question_id: str,
    verdict: Annotated[str, typer.Argument(help="accept, reject or unsure.")],
    by: By = "",
    as_json: Json = False,
) -> None:
    """Record a reviewer's verdict on a question; its status is what all its reviewers agree on."""
    workspace = console.open_workspace()
    console.one_of("verdict", verdict, tuple(reviewing.VERDICTS))
    question_set = workspace.store.question_set(set_name)
    question = authoring.question_of(workspace.store, question_set, question_id)
    said: Any = verdict
    after = reviewing.decide(workspace.store, question_set, question, by or workspace.settings.person, said)
    body = {"id": after.id, "status": after.status}
    console.show(body, as_json, lambda: console.out.print(f"Question {after.id} is {after.status}."))


@questions_app.command("reviewers")
def questions_reviewers(set_name: str, as_json: Json = False) -> None:
    """Show what reviewers were assigned and said, and how far every two of them agree."""
    store = console.open_workspace().store
    reviews = store.reviews.all(store.question_set(set_name).id)
    loads, pairs = reviewing.workloads(reviews), reviewing.agreements(reviews)
    disagreed = reviewing.disagreed(reviews)
    told: list[dict[str, Any]] = [
        {"reviewer": load.reviewer, "assigned": load.assigned, "waiting": load.waiting, "newest": load.newest}
        | dict(load.verdicts)
        for load in loads
    ]
    body = {
        "reviewers": told,
        "agreement": [
            {"reviewers": [pair.one, pair.other], "n": pair.agreement.n, "agreed": pair.agreement.agreed}
            | {"kappa": pair.agreement.kappa}
            for pair in pairs
        ],
        "disagreed": disagreed,
        "verdicts": [
            {"id": r.question_id, "reviewer": r.reviewer, "verdict": r.verdict, "decided": r.decided}
            for r in reviews
            if r.verdict is not None
        ],
    }

    def draw() -> None:
        counts = [
            (p.reviewer, p.assigned, *(p.verdicts.get(v, 0) for v in reviewing.VERDICTS), p.waiting, when)
            for p, when in zip(loads, ["" if p.newest is None else console.when(p.newest) for p in loads], strict=True)
        ]
        console.table(("reviewer", "assigned", *reviewing.VERDICTS, "waiting", "newest verdict"), counts)
        kappas = ["–" if p.agreement.kappa is None else f"{p.agreement.kappa:.2f}" for p in pairs]
        rows = [
            (f"{p.one}, {p.other}", p.agreement.n, p.agreement.agreed, k) for p, k in zip(pairs, kappas, strict=True)
        ]
        if rows:
            console.table(("reviewers", "judged by both", "same verdict", "kappa"), rows, "Agreement")
        if disagreed:
            console.out.print(f"Disagreement: {', '.join(disagreed)}", highlight=False)

    console.show(body, as_json, draw)


@questions_app.command("comment", cls=console.TakesIds)
def questions_comment(
    set_name: str,
    question_id: str,
    text: Annotated[str, typer.Argument(help="Default: list the comments on the question.")] = "",
    by: By = "",
    as_json: Json = False,
) -> None:
    """Comment on a question, or list the comments on it."""
    workspace = console.open_workspace()
    store, question_set = workspace.store, workspace.store.question_set(set_name)
    question = authoring.question_of(store, question_set, question_id)
    if text.strip():
        store.reviews.comment(question_set.id, question.id, by or workspace.settings.person, text.strip())
    elif text:
        raise UsageError("A comment needs words.")
    said = store.reviews.comments(question_set.id, question.id)
    rows = [{"author": c.author, "created": c.created, "text": c.text} for c in said]
    drawn = [(c.author, console.when(c.created), c.text) for c in said]
    console.show(rows, as_json, lambda: console.table(("who", "when", "comment"), drawn))
