"""`ragviz rescue`: which change would rescue the questions that a run lost, and what it would break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.lazy import replays

if TYPE_CHECKING:
    from ragviz.analysis.rescue import Rescue
    from ragviz.runs.replays import Columns


def rescue(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    k: Annotated[int | None, typer.Option("-k", help="Lost is what ranks below k; default: the run's.")] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Search nothing: stored runs and replays only.")] = False,
    as_json: Json = False,
) -> None:
    """Show which change would rescue the lost questions of a run, and what it would break.

    A larger k, the other retrievers on the same index, the other indexes of the corpus with the same retriever, and
    the runs that asked the same questions. What is neither a run nor replayed yet is searched first, once.
    """
    workspace = console.open_workspace()
    run = workspace.store.run(run_name)
    replays.check(run, k)
    failed: dict[str, str] = {}
    changes = replays.changes_of(workspace, run)
    if not stored and changes.missing(replays.held(workspace, changes)):
        corpus = workspace.store.corpus(run.corpus_id)
        job = console.perform(workspace, "replay", f"Replay {run.name}", corpus, {"run": run.id})
        failed = dict(job.result["failed"])
    columns = replays.columns_of(workspace, run)
    rescued = replays.rescue(columns, run.config.k if k is None else k)
    body = replays.to_json(columns, rescued) | {"failed": failed}
    console.show(body, as_json, lambda: _draw(columns, rescued, failed))


def _draw(columns: Columns, rescued: Rescue, failed: dict[str, str]) -> None:
    console.out.print(console.printable(replays.sentence(columns, rescued)), highlight=False)
    now = replays.tokens_at(columns.own, rescued.k)
    rows = []
    for row in rescued.rows:
        share, replay = row.share, row.replay
        net = f"{row.net:+,}"
        if share.mean is not None:
            net += f" = {share.mean:+.1%} [{share.low:+.1%}, {share.high:+.1%}]"
        tokens = replays.tokens_words(replay.tokens, now)
        milliseconds = "" if replay.milliseconds is None else f"{replay.milliseconds:,.1f}"
        rows.append((replays.title(columns, replay.key), row.rescues, row.breaks, net, tokens, milliseconds))
    columns_shown = ("change", "rescues", "breaks", "net [95 %]", "tokens read", "search, ms")
    console.table(columns_shown, rows)
    told = [
        f"Not replayed: {replays.title(columns, change.key)}." for change in columns.missing if change.key not in failed
    ]
    told += [f"{replays.title(columns, key)} could not be replayed: {reason}" for key, reason in failed.items()]
    for words in (*replays.notes(columns, rescued.k), *told):
        console.out.print(console.printable(words), highlight=False)
