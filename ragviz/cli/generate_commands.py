"""`ragviz questions generate`, `plan` and `verify`: questions made by a plan, planned against made, verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, get_args

import typer

from ragviz.cli import console, options
from ragviz.cli.options import Budget, DryRun, Json
from ragviz.cli.questions_commands import questions_app
from ragviz.cli.runs_commands import show_forecast
from ragviz.core.errors import UsageError
from ragviz.core.question import GeneratorName
from ragviz.generation import pipeline, plan, plan_record, verifying
from ragviz.models import requests
from ragviz.questions import question_types
from ragviz.service import question_verbs
from ragviz.text import counts

LISTED = 40
"""Documents that are printed at most; `--json` holds all."""


@questions_app.command("generate", cls=options.DeclaredCommand)
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
    limit: Annotated[int | None, typer.Option(min=1, help="Questions; else those of the kinds, or 50.")] = None,
    kinds: Annotated[str, typer.Option("--kinds", "--types")] = "",
    styles: Annotated[str, typer.Option()] = "",
    generator: Annotated[str, typer.Option(help=", ".join(get_args(GeneratorName)))] = "extractive",
    passages: Annotated[int, typer.Option(min=2, max=5, help="Passages that a bridge needs.")] = 2,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    budget: Budget = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Verify by other calls.")] = True,
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
        preview = pipeline.foresee_questions(workspace, **arguments)
        assumed = pipeline.ASSUMED if preview.forecast.calls else ""
        if as_json:
            body = asdict(preview.forecast) | {"total": preview.forecast.total, "assumed": assumed}
            console.show(body | {"plan": preview.shown.cells}, as_json, lambda: None)
        else:
            _draw_by_document(preview.shown.documents, "planned", lambda planned, _: str(planned))
            show_forecast(preview.forecast, as_json, assumed)
        return
    try:
        result = console.perform(workspace, question_verbs.generate(workspace, arguments, budget)).result
    finally:
        made_into = workspace.store.sets.find(set_name)
        if made_into and (paid := workspace.store.payments.of(made_into.id)).calls:
            words = requests.paid_words(paid, priced=paid.dollars > 0)
            console.warn(f"Paid for the questions of '{set_name}' so far: {words}.")

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
    return " ".join(f"By {generator}: {', '.join(names)}." for generator, names in made.items())


@questions_app.command("plan")
def questions_plan(set_name: str, as_json: Json = False) -> None:
    """Show planned against made by document and kind, and why the rest was not made."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    made = plan_record.shown(workspace.store, question_set)
    if not made.cells:
        raise UsageError(f"Nothing was generated into '{question_set.name}': see ragviz questions generate --help.")

    def draw() -> None:
        title = f"{question_set.name}: made/planned"
        _draw_by_document(made.documents, title, lambda planned, done: f"{done}/{planned}")
        _draw_types(made)
        console.say(*pipeline.unasked_words(made.nothing))

    body = {"questions": question_set.name, "cells": made.cells, "kinds": made.types, "nothing": made.nothing}
    console.show(body, as_json, draw)


def _draw_by_document(
    table: Mapping[str, Mapping[str, tuple[int, int]]], title: str, words: Callable[[int, int], str]
) -> None:
    kinds = [name for name in question_types.TYPES if any(name in row for row in table.values())]
    rows = [(name, *(words(*row[kind]) if kind in row else "" for kind in kinds)) for name, row in table.items()]
    console.table(("document", *kinds), rows[:LISTED], title)
    if len(rows) > LISTED:
        console.say(f"and {len(rows) - LISTED:,} more documents: --json lists all")


def _draw_types(made: plan_record.Shown) -> None:
    columns = {name: name for name in ("type", "planned", "missing", "kept", "rejected", "unverified")}
    columns |= {"written": "made", "rejected because": "reasons"}
    console.say(made.words)
    console.table([*columns], console.cells(made.types, columns))


@questions_app.command("verify")
def questions_verify(
    set_name: str,
    index_name: Annotated[str, typer.Option("--index", help="Index whose chunks are read.")],
    model: Annotated[str, typer.Option(help="Model that verifies; default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    budget: Budget = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Verify the questions of a set that nothing has verified yet; those with a fault are rejected, with the reason.

    A question has to be understood without the passage, answered from its evidence and not without any document; of
    several passages none may be left out; the best chunks of the retrievers must not answer an unanswerable one. What a
    person accepted stays accepted, with the fault as its reason; calls that were made before are not paid again.
    """
    workspace = console.open_workspace()
    arguments: dict[str, Any] = {"questions": set_name, "index": index_name, "model": model}
    if dry_run:
        estimate = verifying.foresee_verification(workspace, **arguments)
        show_forecast(estimate, as_json, verifying.NOT_COUNTED if estimate.calls else "")
        return
    result = console.perform(workspace, question_verbs.verify(workspace, arguments, budget)).result
    console.show(result, as_json, lambda: console.say(verifying.summary(result, most=10)))
