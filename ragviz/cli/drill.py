"""`ragviz questions drill`: what a question set notices of faults that are planted into a copy of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json, RetrieverOption
from ragviz.cli.lazy import drill, drill_words, faults
from ragviz.cli.questions import questions_app


@questions_app.command("drill")
def questions_drill(
    set_name: Annotated[str, typer.Argument(metavar="SET")],
    index_name: Annotated[str, typer.Option("--index")],
    retriever: RetrieverOption = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Chunks among which the evidence has to be.")] = 3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    repetitions: Annotated[int, typer.Option(min=1, help="Plantings of each fault in each strength.")] = 20,
    no_worse_than: Annotated[
        float, typer.Option(help="The loss that `check --baseline` allows, as a share of the range.")
    ] = 0.02,
    answerer: Annotated[
        str, typer.Option(help="none, extractive or model: whose answers are looked at.")
    ] = "extractive",
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars that the set's calls may cost.")] = None,
    as_json: Json = False,
) -> None:
    """Plant known faults into a copy of an index, and count what SET and `check --baseline` notice.

    Evidence removed, numbers swapped, near copies of another year, chunks shuffled between documents, the context cut,
    an injected instruction: each in several strengths and often, in memory. Index, documents and runs stay as they are.
    """
    workspace = console.open_workspace()
    question_set, info = workspace.store.sets.get(set_name), workspace.store.indexes.get(index_name)
    arguments: dict[str, Any] = {"questions": question_set.name, "index": info.name, "retriever": retriever, "k": k}
    arguments |= {"seed": seed, "repetitions": repetitions, "no_worse_than": no_worse_than, "answerer": answerer}
    arguments |= {"budget": budget}
    corpus = workspace.store.corpora.get(question_set.corpus_id)
    console.perform(workspace, "drill", f"Drill {question_set.name}", corpus, arguments)
    fact = drill.stored(workspace, question_set)
    assert fact is not None
    console.show(fact | {"words": drill_words.drill_words(fact)}, as_json, lambda: _draw(fact))


def _draw(fact: Mapping[str, Any]) -> None:
    alarms, of = fact["false_alarms"], fact["false_alarms"]["repetitions"]
    rows: list[Sequence[object]] = [_row(found) for found in fact["faults"]]
    noise = f"{alarms['worse']}/{of} (stopped {alarms['stopped']})"
    rows.append(("not altered", "", "", "", f"0/{of}", f"0/{of}", noise, ""))
    columns = (
        "fault",
        "strength",
        "evidence altered",
        "change",
        "called worse",
        "gate stops",
        "with noise",
        "answers worse",
    )
    console.table(columns, rows, f"{fact['metric']} by {fact['retriever']} on {fact['index']}")
    for line in drill_words.drill_words(fact):
        console.out.print(console.printable(line), highlight=False)


def _row(found: Mapping[str, Any]) -> Sequence[object]:
    fault = faults.FAULTS[found["fault"]]
    strength = f"{100 * found['strength']:g} %" if fault.cuts else drill_words.points(found["strength"])
    if found["reason"]:
        return (fault.title, strength, f"not planted: {found['reason']}", "", "", "", "", "")
    of, noisy, answers = found["repetitions"], found["noisy"], found["answers"]
    counts = ["–"] * 3 if fault.cuts else [
        f"{found['worse']}/{of}", f"{found['stopped']}/{of}", f"{noisy['worse']}/{of} (stopped {noisy['stopped']})"
    ]  # fmt: skip
    altered = "" if fault.cuts else f"{100 * found['points']:.1f} points"
    change = "" if fault.cuts else f"{100 * found['change']:+.1f} points"
    told = f"{answers['worse']}/{of} (stopped {answers['stopped']})" if answers else ""
    return (fault.title, strength, altered, change, *counts, told)
