"""`ragviz runs again`: what documents that were added did to the questions about the earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.runs_commands import runs_app
from ragviz.health import competition, health_sentences
from ragviz.index import chunking
from ragviz.service import run_verbs
from ragviz.text import counts


@runs_app.command("again")
def runs_again(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    name: Annotated[str, typer.Option("--name", help="Name of the new run; default: RUN, again.")] = "",
    k: Annotated[int | None, typer.Option("-k", min=1, help="Chunks that count; default: the run's.")] = None,
    as_json: Json = False,
) -> None:
    """Update the index of RUN, rank its questions again, and show what new documents did to earlier ones' questions.

    By document: recall before, after, and after without the chunks of the documents that were added since. What is
    found again without them was lost to their competition. A finished run called NAME is not made a second time.
    """
    workspace = console.open_workspace()
    earlier = workspace.store.runs.get(run_name)
    name = name or f"{earlier.name}, again"
    later = workspace.store.runs.find(name)
    if later is None or later.status != "done":
        console.perform(workspace, run_verbs.rank_again(earlier, name))
        later = workspace.store.runs.get(name)
    found = competition.competition(workspace, earlier, later, k)
    made = [run.provenance.get("index_config") or {} for run in (earlier, later)]
    before, after = (
        f"{chunking.in_words(cut)}, overlap {cut['overlap']}, {cut['embedder'] or 'no embedder'}" if cut else ""
        for cut in made
    )
    words = health_sentences.competition(found)
    if before and before != after:  # then it is not the new documents alone
        other = (
            f"The index was built with other choices since: '{earlier.name}' was made on {before}, '{later.name}' on "
            f"{after}. What was lost or gained may be due to that, not to new documents."
        )
        words = [other, *words]
    lost = [asdict(each) | {"to_competition": each.to_competition} for each in found.lost]
    body = {"words": words, **asdict(found), "lost": lost}
    console.show(body, as_json, lambda: _draw(found, words))


def _draw(found: competition.Competition, words: Sequence[str]) -> None:
    columns = ("document", "n", "before", "after", "without new", "lost", "to competition", "gained")
    changed = [row for row in found.rows if row.lost or row.gained or not row.before == row.after == row.without]
    rows = [
        (
            row.document or "all", row.n, f"{row.before:.3f}", f"{row.after:.3f}", f"{row.without:.3f}", row.lost,
            row.to_competition, row.gained,
        )
        for row in (found.total, *changed)
    ]  # fmt: skip
    console.table(columns, rows, f"Recall@{found.k}: {found.earlier} → {found.later}")
    if unchanged := len(found.rows) - len(changed):
        console.say(f"Unchanged: {counts.counted(unchanged, 'document')}, which --json lists too.")
    console.say(*words)
    if found.lost:
        lost = [
            (each.question_id, console.line(each.text), each.rank_before or "–", each.rank_after or "–", each.above,
             "competition" if each.to_competition else "other")
            for each in found.lost
        ]  # fmt: skip
        console.table(("question", "text", "rank before", "rank now", "new chunks above", "lost to"), lost)
