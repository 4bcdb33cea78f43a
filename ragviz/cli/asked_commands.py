"""`ragviz questions asked`: what people asked, set against a question set and its documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.core.errors import InputError, UsageError
from ragviz.core.question_set import QuestionSet
from ragviz.core.run_info import Run
from ragviz.health import demand, material
from ragviz.service import question_verbs
from ragviz.text import counts

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
        bool,
        typer.Option(
            "--apply-weights",
            help="Weigh the questions of the set by how often they are asked: weight = 1 + times asked, scaled to a "
            "mean of 1. Where the log asks none of them, nothing changes.",
        ),
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
    question_set, author = workspace.store.sets.get(set_name), author or workspace.settings.person
    before = {question.id: question.weight for question in workspace.store.questions.all(question_set.id)}
    if file is not None:
        if not file.is_file():
            raise InputError(f"The file {file} cannot be opened: No such file.")
        if index_name:
            workspace.store.indexes.get(index_name)
        given = (file.name, str(file.absolute()))
        log = question_verbs.read_log(question_set, given, index=index_name, alike=alike, apply=apply, author=author)
        console.perform(workspace, log)
    read = demand.stored(workspace, question_set)
    if read is None:
        raise UsageError(f"Nothing is known of what people ask of '{question_set.name}': give a log.")
    if file is None and apply:
        demand.apply_weights(workspace, question_set, read, author)
    run = (
        workspace.store.runs.get(run_name) if run_name else next(iter(material.runs_of(workspace, question_set)), None)
    )
    if run is not None and run.config.questions != question_set.id:
        raise UsageError(f"Run '{run.name}' asked another set than '{question_set.name}': choose another run.")
    questions = workspace.store.questions.all(question_set.id)
    changed = sum(question.weight != before.get(question.id) for question in questions) if apply else None
    weights = demand.weights_of(read, questions)
    means = demand.weighted_means(workspace, run, weights) if run else []
    said = ""
    if changed is not None:
        weights_of = f"{changed:,} of {counts.counted(len(questions), 'question')} {counts.agreed(changed, 'has')}"
        said = f"{weights_of} another weight now: {demand.WEIGHT}."
    if changed == 0:
        said = f"Nothing changed. {demand.unchanged_words(read, questions)}"
    _show(question_set, read, run, means, as_json, said, {} if changed is None else {"weights_changed": changed})


def _show(
    question_set: QuestionSet,
    read: demand.Demand,
    run: Run | None,
    means: list[demand.WeightedMean],
    as_json: bool,
    said: str,
    more: Mapping[str, Any],
) -> None:
    """Show what a log says; `said` is what became of the weights, in words, and `more` in the JSON."""
    shares = demand.shares(read)
    body: dict[str, Any] = {"questions": question_set.name, **asdict(read), "shares": shares}
    body |= {"run": run.name if run else None, "metrics": [asdict(mean) for mean in means], **more}

    def draw() -> None:
        console.say(*demand.sentences(read))
        _table("Asked, and not by the set", read.unasked)
        _table("Asked, and answered by no document", read.unanswered)
        if means and run is not None:
            rows = [(m.metric, console.interval(m.plain), console.interval(m.weighted)) for m in means]
            console.table(("metric", "each question once", "weighted by what is asked"), rows, f"Run {run.name}")
            console.say(f"Weighted by what is asked: {demand.WEIGHT}.")
        console.say(said)
        console.warn(*read.notes)

    console.show(body, as_json, draw)


def _table(title: str, clusters: tuple[demand.Cluster, ...]) -> None:
    if not clusters:
        return
    more = f" (the first {LISTED} of {len(clusters):,})" if len(clusters) > LISTED else ""
    rows = [
        (each.count, each.texts, "" if each.score is None else f"{each.score:.2f}", f"{each.alike:.2f}", each.text)
        for each in clusters[:LISTED]
    ]
    console.table(("asked", "texts", "best chunk", "nearest question", "text"), rows, title + more)
