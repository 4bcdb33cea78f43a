"""`ragviz questions asked`: what people asked, set against a question set and its documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.lazy import demand
from ragviz.errors import InputError, UsageError

if TYPE_CHECKING:
    from ragviz.health.demand import Cluster, Demand, WeightedMean
    from ragviz.records import QuestionSet, Run
    from ragviz.workspace import Workspace

LISTED = 20
"""Clusters in a table."""


def questions_asked(
    set_name: str,
    file: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, JSONL or text; without it, what was read before is shown.")
    ] = None,
    index_name: Annotated[
        str, typer.Option("--index", help="Index that is searched for answers, whose embedder compares meanings.")
    ] = "",
    alike: Annotated[float, typer.Option(min=0.0, max=1.0, help="Cosine from which two texts ask the same.")] = 0.8,
    apply: Annotated[
        bool, typer.Option("--apply-weights", help="Weigh the questions of the set by how often they are asked.")
    ] = False,
    run_name: Annotated[str, typer.Option("--run", help="Run whose scores are weighted (default: the newest).")] = "",
    author: Annotated[
        str, typer.Option("--by", "--author", help="Your name. Default: RAGVIZ_PERSON, else the login's name.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Read a log of what people asked: what the set does not ask, what no document answers, scores weighted by it.

    Nothing but texts and counts is kept of it; keys, addresses of mail and long numbers are taken out.
    """
    workspace = console.open_workspace()
    question_set, author = workspace.store.question_set(set_name), author or workspace.settings.person
    if file is not None:
        if not file.is_file():
            raise InputError(f"The file {file} cannot be opened: No such file.")
        if index_name:
            workspace.store.index(index_name)
        arguments: dict[str, Any] = {"questions": question_set.id, "index": index_name}
        arguments |= {"files": [(file.name, str(file.absolute()))]}
        arguments |= {"alike": alike, "apply": apply, "author": author}
        corpus = workspace.store.corpus(question_set.corpus_id)
        console.perform(workspace, "asked", f"Read {file.name}", corpus, arguments)
    read = demand.stored(workspace, question_set)
    if read is None:
        raise UsageError(f"Nothing is known of what people ask of '{question_set.name}': give a log.")
    if file is None and apply:
        demand.apply_weights(workspace, question_set, read, author)
    run = _run(workspace, question_set, run_name)
    weights = demand.weights_of(read, workspace.store.questions(question_set.id))
    means = demand.weighted_means(workspace, run, weights) if run else []
    _show(workspace, question_set, read, run, means, as_json)


def _run(workspace: Workspace, question_set: QuestionSet, name: str) -> Run | None:
    """Return the run that is named, or the newest finished one of the set."""
    if name:
        run = workspace.store.run(name)
        if run.config.questions != question_set.id:
            raise UsageError(f"Run '{run.name}' asked another set than '{question_set.name}': choose another run.")
        return run
    return demand.newest_run(workspace, question_set)


def _show(
    workspace: Workspace,
    question_set: QuestionSet,
    read: Demand,
    run: Run | None,
    means: list[WeightedMean],
    as_json: bool,
) -> None:
    shares = demand.shares(read)
    body: dict[str, Any] = {"questions": question_set.name, **asdict(read), "shares": shares}
    body |= {"run": run.name if run else None, "metrics": [asdict(mean) for mean in means]}

    def draw() -> None:
        for line in demand.sentences(read):
            console.out.print(console.printable(line), highlight=False)
        _table("Asked, and not by the set", read.unasked)
        _table("Asked, and answered by no document", read.unanswered)
        if means and run is not None:
            rows = [(m.metric, console.interval(m.plain), console.interval(m.weighted)) for m in means]
            console.table(("metric", "each question once", "weighted by what is asked"), rows, f"Run {run.name}")
        for note in read.notes:
            console.err.print(console.printable(note), highlight=False)

    console.show(body, as_json, draw)


def _table(title: str, clusters: tuple[Cluster, ...]) -> None:
    if not clusters:
        return
    more = f" (the first {LISTED} of {len(clusters):,})" if len(clusters) > LISTED else ""
    rows = [
        (each.count, each.texts, "" if each.score is None else f"{each.score:.2f}", f"{each.alike:.2f}", each.text)
        for each in clusters[:LISTED]
    ]
    console.table(("asked", "texts", "best chunk", "nearest question", "text"), rows, title + more)
