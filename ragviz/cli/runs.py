"""`ragviz runs`: list, open, import and delete runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragviz.cli import console, results
from ragviz.cli.console import Json
from ragviz.cli.lazy import cases, contexts, diagnose, evaluate, exports, foreign, jobs, measurements
from ragviz.records import Run
from ragviz.runs.formats import FORMATS, reader

runs_app = console.group("Runs: list, questions, import, delete.")


@runs_app.command("list")
def runs_list(as_json: Json = False) -> None:
    """List the runs, the newest first."""
    workspace = console.open_workspace()
    runs, active = workspace.store.runs(), jobs.active_runs(workspace)
    status = {r.id: "interrupted" if r.status == "running" and r.name not in active else r.status for r in runs}
    rows = [
        {"run": r.name, "status": status[r.id], "fingerprint": r.fingerprint, "provenance": r.provenance} for r in runs
    ]
    cells = [
        (r.name, status[r.id], r.provenance["index"], r.provenance["questions"], r.config.retriever, _answers_of(r))
        for r in runs
    ]
    console.show(
        rows, as_json, lambda: console.table(("run", "status", "index", "questions", "retriever", "answers"), cells)
    )


def _answers_of(run: Run) -> str:
    """Say who answers in a run, and from what."""
    if run.config.answerer == "none":
        return "none"
    return f"{run.config.model or run.config.answerer}, from {contexts.CONTEXTS[run.config.context]}"


@runs_app.command("questions")
def runs_questions(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    k: Annotated[int | None, typer.Option("-k", help="Hits and ranks at this k; default: the run's.")] = None,
    outcome: Annotated[str, typer.Option(help="found, below k, missed or unanswerable.")] = "",
    cause: Annotated[str, typer.Option(help="Cause of the loss, as in `ragviz results --json`: not_retrieved …")] = "",
    kind: Annotated[str, typer.Option(help="single, multi or unanswerable.")] = "",
    document: Annotated[str, typer.Option(help="Only questions with evidence in this document.")] = "",
    find: Annotated[str, typer.Option(help="Words in question, reference or answer.")] = "",
    as_json: Json = False,
) -> None:
    """List a run's questions: rank, cause and answer.

    --json adds hits, and scores with their reasons.
    """
    workspace = console.open_workspace()
    run = workspace.store.run(run_name)
    for option, value, choices in (
        ("outcome", outcome, cases.OUTCOMES),
        ("cause", cause, diagnose.CAUSES),
        ("kind", kind, evaluate.KINDS),
    ):
        if value:
            console.one_of(option, value, choices)
    run_cases = exports.cases_of(workspace, run, k)
    selected = cases.chosen(run_cases, outcome=outcome, cause=cause, kind=kind, document=document, find=find)
    names = measurements.document_names(workspace, run)
    rows = []
    for case in selected:
        place = (case.question.id, case.rank or "", case.outcome, case.cause, ", ".join(case.documents))
        rows.append((*place, console.line(case.question.text), console.line(case.answer[0])))

    def draw() -> None:
        console.table(("id", "rank", "outcome", "cause", "document", "question", "answer"), rows)
        console.out.print(f"{len(selected)} of {len(run_cases)} questions")

    console.show([cases.to_json(case, names) for case in selected] if as_json else [], as_json, draw)


@runs_app.command("import")
def runs_import(
    corpus: str,
    file: Path,
    run_name: Annotated[str, typer.Option("--name")],
    file_format: Annotated[str, typer.Option("--format", help=", ".join(FORMATS))] = "ragchecker",
    as_json: Json = False,
) -> None:
    """Import answers that another program judged, with its claims and verdicts; a new corpus is made when needed."""
    workspace = console.open_workspace()
    read = reader(console.one_of("format", file_format, FORMATS))
    foreign_run = read(console.read(file), file.name)
    target = workspace.store.corpus_called(corpus)
    run = foreign.import_run(workspace, target, run_name, foreign_run)
    for problem in foreign_run.problems:
        console.err.print(console.printable(problem), highlight=False)
    results.results(run.name, as_json=as_json)


@runs_app.command("delete")
def runs_delete(run_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete a run with its results."""
    store = console.open_workspace().store
    run = store.run(run_name)
    console.confirm(f"Delete run '{run.name}'?", yes)
    store.delete_run(run.id)
