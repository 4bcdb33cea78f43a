"""`ragviz questions`: question sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.markup import escape

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.rooms import llm, pipeline
from ragviz.cli.run import show_forecast
from ragviz.errors import UsageError
from ragviz.records import Corpus, GeneratorName

if TYPE_CHECKING:
    from ragviz.workspace import Workspace

questions_app = console.group("Question sets: generate, import, export, review.")


@questions_app.command("generate")
def questions_generate(
    index_name: Annotated[str, typer.Option("--index")],
    set_name: Annotated[str, typer.Option("--name")],
    limit: Annotated[int, typer.Option(min=1)] = 50,
    generator: Annotated[str, typer.Option(help=", ".join(get_args(GeneratorName)))] = "extractive",
    passages: Annotated[int, typer.Option(help="Chunks that a question needs: 1 or 3.")] = 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    budget: Annotated[float | None, typer.Option(help="Most dollars that the set's questions may ever cost.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what it would take, and ask no model.")] = False,
    as_json: Json = False,
) -> None:
    """Make questions with answers and evidence from the chunks of an index."""
    workspace = console.open_workspace()
    console.one_of("generator", generator, get_args(GeneratorName))
    arguments: dict[str, Any] = {"index": index_name, "name": set_name, "limit": limit, "generator": generator}
    arguments |= {"passages": passages, "seed": seed}
    if dry_run:
        show_forecast(pipeline.foresee_questions(workspace, **arguments), as_json)
        return
    corpus = workspace.store.corpus(workspace.store.index(index_name).corpus_id)
    arguments |= {"budget": budget}
    try:
        made = console.perform(workspace, "questions", f"Generate {set_name}", corpus, arguments).result
    finally:
        if paid := _paid_for(workspace, corpus, set_name):
            console.err.print(console.said(paid), highlight=False)
    line = "{total} questions in the set; this time {proposed} proposed, {rejected} rejected"
    console.show(made, as_json, lambda: console.out.print(f"'{escape(set_name)}': " + line.format(**made)))


def _paid_for(workspace: Workspace, corpus: Corpus, set_name: str) -> str:
    """What was ever paid for the questions of a set, in words; "" when nothing was."""
    asked = next((s for s in workspace.store.question_sets(corpus.id) if s.name == set_name), None)
    calls, paid = workspace.store.paid(asked.id) if asked else (0, 0.0)
    return (
        f"Paid for the questions of '{set_name}' so far: {calls:,} model calls, {llm.dollars(paid)}." if calls else ""
    )


@questions_app.command("import")
def questions_import(
    corpus: str, file: Path, set_name: Annotated[str, typer.Option("--name")], as_json: Json = False
) -> None:
    """Import questions with evidence from CSV or JSONL; rows that cannot be read, and columns not kept, are told."""
    workspace = console.open_workspace()
    wanted = workspace.store.corpus(corpus)
    imported = pipeline.import_questions(workspace, wanted, console.read(file), file.name, set_name)
    result = {"questions": set_name, "imported": len(imported.questions), "problems": imported.problems}
    result |= {"notes": imported.notes}
    console.show(
        result,
        as_json,
        lambda: console.out.print(f"{len(imported.questions)} questions imported into '{escape(set_name)}'."),
    )
    for note in imported.notes:
        console.err.print(console.said(note), highlight=False)
    for row, reason in imported.problems.items():
        console.err.print(console.said(f"row {row}: {reason}"))
    if imported.problems:
        raise typer.Exit(1 if imported.questions else 2)


@questions_app.command("export")
def questions_export(set_name: str, file: Path, as_json: Json = False) -> None:
    """Write a question set to FILE: .csv or .jsonl."""
    workspace = console.open_workspace()
    data = pipeline.export_questions(workspace, workspace.store.question_set(set_name), file.suffix.lstrip("."))
    console.write(file, data)
    console.show(
        {"file": str(file), "bytes": len(data)}, as_json, lambda: console.out.print(console.said(f"Wrote {file}."))
    )


@questions_app.command("banks")
def questions_banks(set_name: str, file: Path, as_json: Json = False) -> None:
    """Import RAGQuestEval banks, {question id: {key_info, question, answers}}, for the questions of a set."""
    workspace = console.open_workspace()
    asked = workspace.store.question_set(set_name)
    done = pipeline.import_banks(workspace, asked, console.read(file))
    for problem in done.problems:
        console.err.print(console.said(problem), highlight=False)
    body = {"questions": asked.name, "banks": len(done.banks), "problems": list(done.problems)}
    console.show(body, as_json, lambda: console.out.print(f"{len(done.banks)} banks"))


@questions_app.command("list")
def questions_list(as_json: Json = False) -> None:
    """List the question sets."""
    store = console.open_workspace().store
    names = {c.id: c.name for c in store.corpora()}
    rows = [
        {"questions": s.name, "corpus": names[s.corpus_id], "total": s.total, **s.counts}
        | dict(zip(("paid_calls", "paid_dollars"), store.paid(s.id), strict=True))
        for s in store.question_sets()
    ]
    states = ("proposed", "accepted", "rejected")
    drawn = [[r["questions"], r["corpus"], r["total"], *(r.get(state, 0) for state in states)] for r in rows]
    console.show(rows, as_json, lambda: console.table(("question set", "corpus", "total", *states), drawn))


@questions_app.command("show")
def questions_show(set_name: str, as_json: Json = False) -> None:
    """Show the questions of a set."""
    store = console.open_workspace().store
    questions = store.questions(store.question_set(set_name).id)
    drawn = [(q.id, q.status, q.kind, q.text, q.answer, q.reason) for q in questions]
    console.show(
        questions, as_json, lambda: console.table(("id", "status", "kind", "question", "answer", "reason"), drawn)
    )


@questions_app.command("review")
def questions_review(
    set_name: str,
    ids: list[str],
    accept: Annotated[bool, typer.Option("--accept/--reject")] = True,
    reason: Annotated[str, typer.Option(help="Why they are rejected.")] = "",
) -> None:
    """Accept or reject questions by id."""
    store = console.open_workspace().store
    asked = store.question_set(set_name)
    chosen = [q for q in store.questions(asked.id) if q.id in ids]
    if len(chosen) < len(set(ids)):
        raise UsageError(f"Set '{asked.name}' has only {len(chosen)} of these {len(set(ids))} questions.")
    status = "accepted" if accept else "rejected"
    why = "" if accept else reason or "rejected by hand"
    store.put_questions(asked.id, [replace(q, status=cast(Any, status), reason=why) for q in chosen])


@questions_app.command("delete")
def questions_delete(set_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete a question set; its runs stay readable."""
    store = console.open_workspace().store
    asked = store.question_set(set_name)
    console.confirm(f"Delete question set '{asked.name}' with {asked.total} questions?", yes)
    store.delete_question_set(asked.id)
