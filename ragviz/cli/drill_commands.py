"""`ragviz questions drill`: what a question set notices of evidence that is left out of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ragviz.cli import console, options
from ragviz.cli.console import Json
from ragviz.cli.questions_commands import questions_app
from ragviz.core.configuration import RunConfig
from ragviz.health import drill, health_sentences
from ragviz.service import question_verbs


@questions_app.command("drill", cls=options.DeclaredCommand)
@options.declared(RunConfig, only=("retriever",))
def questions_drill(
    set_name: Annotated[str, typer.Argument(metavar="SET")],
    index_name: Annotated[str, typer.Option("--index")],
    choices: Mapping[str, Any],
    k: Annotated[int, typer.Option("-k", min=1, help="Chunks among which the evidence has to be.")] = 3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    repetitions: Annotated[int, typer.Option(min=1, help="Plantings of each size.")] = 20,
    no_worse_than: Annotated[
        float, typer.Option(help="The loss that `check --baseline` allows, as a share of the range.")
    ] = 0.02,
    as_json: Json = False,
) -> None:
    """Leave evidence out of the rankings of an index, and count what SET and `check --baseline` notice.

    In several sizes and often, in other places each time. Index, documents and runs stay as they are.
    """
    workspace = console.open_workspace()
    question_set, info = workspace.store.sets.get(set_name), workspace.store.indexes.get(index_name)
    chosen: dict[str, Any] = {**choices, "k": k, "seed": seed, "repetitions": repetitions}
    chosen |= {"no_worse_than": no_worse_than}
    console.perform(workspace, question_verbs.drill(question_set, info, chosen))
    fact = drill.stored(workspace, question_set)
    assert fact is not None
    console.show(fact | {"words": health_sentences.drill(fact)}, as_json, lambda: _draw(fact))


def _draw(fact: Mapping[str, Any]) -> None:
    rows: list[Sequence[object]] = [_row("nothing", fact["false_alarms"])]
    rows += [_row(health_sentences.points(found["loss"]), found) for found in fact["losses"]]
    title = f"{fact['metric']} by {fact['retriever']} on {fact['index']}"
    console.table(("left out", "planted", "called worse", "stopped"), rows, title)
    console.say(health_sentences.drill(fact))


def _row(size: str, found: Mapping[str, Any]) -> Sequence[object]:
    if found.get("reason"):
        return (size, f"not planted: {found['reason']}", "", "")
    of = found["repetitions"]
    planted = f"{100 * found['planted']:.1f} points" if "planted" in found else ""
    return (size, planted, f"{found['worse']}/{of}", f"{found['stopped']}/{of}")
