"""`ragviz targets`: running systems that are asked over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.cli import console, options
from ragviz.cli.options import Json, Yes
from ragviz.core.endpoint_choices import PRESETS, Endpoint
from ragviz.core.errors import Cancelled
from ragviz.service import corpus_verbs, run_verbs, target_verbs
from ragviz.targets import traffic
from ragviz.text import counts

targets_app = console.group("Running systems to be asked: add, test, list, delete.")


@targets_app.command("add", cls=options.DeclaredCommand)
@options.declared(Endpoint)
def targets_add(
    name: str,
    choices: Mapping[str, Any],
    preset: Annotated[str, typer.Option(help=f"Choices of a known service: {', '.join(PRESETS)}.")] = "",
    as_json: Json = False,
) -> None:
    """Add a running system: where it is, what it is sent, and where in its replies the parts are.

    Secrets stay in the environment: --header 'Authorization: Bearer ${TARGET_TOKEN}' sends what TARGET_TOKEN holds.
    """
    made = target_verbs.add(console.open_workspace(), name, choices, preset)
    next_step = f"Target '{made.name}' is stored. Next: ragviz targets test '{made.name}' --question '…'"
    console.show(asdict(made), as_json, lambda: console.say(next_step))


@targets_app.command("test")
def targets_test(
    name: str, question: Annotated[str, typer.Option(help="What it is asked.")] = "", as_json: Json = False
) -> None:
    """Ask a target one question: prints the request, the reply, and what is read from it."""
    workspace = console.open_workspace()
    tested = target_verbs.try_out(workspace, workspace.store.targets.get(name), question)
    item, reply = tested.item, tested.reply

    def draw() -> None:
        said = reply if reply is None or isinstance(reply, str) else json.dumps(reply, ensure_ascii=False, indent=2)
        console.say(tested.request, said)
        if not item.error:
            console.say(f"Answer: {item.answer}", "It abstains." if item.abstained else "")
            rows = [(n, c.id, c.document, c.score, console.line(c.text)) for n, c in enumerate(item.contexts, 1)]
            console.table(("context", "id", "document", "score", "text"), rows)

    console.show(tested, as_json, draw)
    if item.error:
        console.fail(item.error, 1)


@targets_app.command("list")
def targets_list(as_json: Json = False) -> None:
    """List the targets."""
    records = [asdict(each) for each in console.open_workspace().store.targets.all()]
    columns = {"target": "name", "method": "method", "address": "url", "answer": "answer", "contexts": "contexts"}
    console.show_records(records, as_json, columns)


@targets_app.command("delete")
def targets_delete(name: str, yes: Yes = False) -> None:
    """Delete a target; the runs that were recorded of it stay."""
    workspace = console.open_workspace()
    console.confirm(f"Delete target '{workspace.store.targets.get(name).name}'?", yes)
    target_verbs.delete(workspace, name)


def listen(
    name: Annotated[str, typer.Argument(help="The run that they are kept as.")],
    port: Annotated[int, typer.Option(min=1, max=65_535, help="On this machine alone.")] = 4318,
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Of the traces that is kept.")] = 1.0,
    most: Annotated[int, typer.Option(min=1, help="Items after which listening ends.")] = 10_000,
    corpus: Annotated[str, typer.Option(help="The documents it answers from; default: none.")] = "",
    daily: Annotated[float | None, typer.Option(min=0.0, help="Judge what arrives: most dollars a day.")] = None,
) -> None:
    """Keep real traffic: takes traces over OTLP (HTTP) until Ctrl-C; what is asked, read and answered becomes a run.

    Point the exporter of your system's traces to http://127.0.0.1:PORT/v1/traces. Nothing else of the spans is kept.
    """
    workspace = console.open_workspace()
    known = workspace.store.corpora.get(corpus) if corpus else None
    gathered = traffic.Traces(share)
    with traffic.listening(port, gathered) as taken:
        console.say(f"Listening, until Ctrl-C, at http://127.0.0.1:{taken}{traffic.PATH}")
        ensured = corpus_verbs.ensured(workspace, known.name if known else name)
        with ensured as into, suppress(Cancelled), console.bar() as watch:
            run_verbs.listen(workspace, into, name, gathered, most=most, daily=daily, progress=watch)
    run = workspace.store.runs.find(name)
    if run is None:
        console.say("No trace with a question and an answer or contexts has arrived.")
        return
    lost = f" {counts.counted(gathered.dropped, 'span')} came too late, or were too many." if gathered.dropped else ""
    kept = counts.counted(run.provenance["n"], "item")
    console.say(f"Run '{name}' has {kept}.{lost} Next: ragviz results '{name}'")
