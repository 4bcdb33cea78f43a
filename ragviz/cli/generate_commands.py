"""`ragviz questions generate` and `questions plan`: questions made by a plan, and planned against made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, get_args

import typer

from ragviz.cli import console, options
from ragviz.cli.console import DryRun, Json
from ragviz.cli.runs_commands import show_forecast
from ragviz.core.document import Corpus
from ragviz.core.errors import UsageError
from ragviz.core.question import GeneratorName
from ragviz.generation import pipeline, plan, plan_record
from ragviz.models import requests
from ragviz.questions import question_types
from ragviz.service import question_verbs
from ragviz.text import counts

LISTED = 40
"""Documents that are printed at most; `--json` holds all."""


@options.explained(
    kinds=lambda: f"What is asked for, and how often, as fact=20,list=10. {_by_generator(question_types.TYPES_OF)}",
    styles=lambda: (
        "How questions are put, as counts or shares: keywords=30,colleague=70; default: colleague. "
        + _by_generator(question_types.STYLES_OF)
    ),
)
def questions_generate(
    index_name: Annotated[str, typer.Option("--index")],
    set_name: Annotated[str, typer.Option("--name")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Questions in all; without it the sum of the kinds, or 50.")
    ] = None,
    kinds: Annotated[str, typer.Option("--kinds", "--types")] = "",
    styles: Annotated[str, typer.Option()] = "",
    generator: Annotated[str, typer.Option(help=", ".join(get_args(GeneratorName)))] = "extractive",
    passages: Annotated[int, typer.Option(min=2, max=5, help="Passages that a bridge needs.")] = 2,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Most dollars that the set's questions may cost in all.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Have questions verified by other calls than wrote them.")
    ] = True,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Make questions with answers and evidence about the documents of an index, by a plan that is drawn first.

    Repeated, it continues what was interrupted, and adds what a higher limit asks for.
    """
    workspace = console.open_workspace()
    console.one_of("generator", generator, get_args(GeneratorName))
    arguments: dict[str, Any] = {"index": index_name, "name": set_name, "limit": limit, "generator": generator}
    arguments |= {"kinds": plan.read_quotas(kinds, "kinds"), "styles": plan.read_quotas(styles, "styles")}
    arguments |= {"passages": passages, "seed": seed, "verify": verify}
    if dry_run:
        _show_preview(pipeline.foresee_questions(workspace, **arguments), as_json)
        return
    corpus = workspace.store.corpora.get(workspace.store.indexes.get(index_name).corpus_id)
    try:
        result = console.perform(workspace, question_verbs.generate(workspace, arguments, budget)).result
    finally:
        console.warn(_paid_words(workspace, corpus, set_name))

    def draw() -> None:
        shown = plan_record.shown(workspace.store, workspace.store.sets.get(set_name))
        made = f"this time {result['proposed']:,} proposed, {result['rejected']:,} rejected"
        total = f"{counts.counted(result['total'], 'question')} in the set, {shown.asked:,} of them asked"
        console.say(f"'{set_name}': {total}; {made}")
        _draw_types(shown)

    console.show(result, as_json, draw)
    console.warn(*pipeline.notes(result))
    if result["usable"] < result["limit"]:
        console.warn(f"By document: ragviz questions plan {set_name}")


def _by_generator(made: Mapping[str, Sequence[str]]) -> str:
    """Say what each generator can make."""
    return " ".join(f"By {generator}: {', '.join(names)}." for generator, names in made.items())


def _paid_words(workspace: console.Workspace, corpus: Corpus, set_name: str) -> str:
    """Say what was paid so far for the questions of a set; "" when nothing was."""
    question_set = next((s for s in workspace.store.sets.all(corpus.id) if s.name == set_name), None)
    paid = workspace.store.payments.of(question_set.id) if question_set else None
    if paid is None or not paid.calls:
        return ""
    return f"Paid for the questions of '{set_name}' so far: {requests.paid_words(paid, priced=paid.dollars > 0)}."


def questions_plan(set_name: str, as_json: Json = False) -> None:
    """Show planned against made by document and kind, and why the rest was not made."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    made = plan_record.shown(workspace.store, question_set)
    if not made.cells:
        raise UsageError(f"Nothing was generated into '{question_set.name}': ragviz questions generate --name it.")

    def draw() -> None:
        _draw_by_document(
            made.documents, f"{question_set.name}: made/planned", lambda planned, done: f"{done}/{planned}"
        )
        _draw_types(made)
        console.say(*pipeline.unasked_words(made.nothing))

    body = {"questions": question_set.name, "cells": made.cells, "kinds": made.types, "nothing": made.nothing}
    console.show(body, as_json, draw)


def _show_preview(preview: pipeline.Preview, as_json: bool) -> None:
    assumed = pipeline.ASSUMED if preview.forecast.calls else ""
    if as_json:
        body = asdict(preview.forecast) | {"total": preview.forecast.total, "assumed": assumed}
        console.show(body | {"plan": preview.shown.cells}, as_json, lambda: None)
        return
    _draw_by_document(preview.shown.documents, "planned", lambda planned, _: str(planned))
    show_forecast(preview.forecast, as_json, assumed)


def _draw_by_document(
    table: Mapping[str, Mapping[str, tuple[int, int]]], title: str, words: Callable[[int, int], str]
) -> None:
    """Print documents × kinds, those documents first of which most is planned."""
    kinds = [name for name in question_types.TYPES if any(name in row for row in table.values())]
    rows = [(name, *(words(*row[kind]) if kind in row else "" for kind in kinds)) for name, row in table.items()]
    console.table(("document", *kinds), rows[:LISTED], title)
    if len(rows) > LISTED:
        console.say(f"and {len(rows) - LISTED:,} more documents: --json lists all")


def _draw_types(made: plan_record.Shown) -> None:
    """Print what came of all plans, and of each kind."""
    console.say(made.words)
    names = ("type", "planned", "missing", "made", "kept", "rejected", "unverified", "reasons")
    drawn = [tuple(row[name] for name in names) for row in made.types]
    console.table((*names[:3], "written", *names[4:-1], "rejected because"), drawn)
