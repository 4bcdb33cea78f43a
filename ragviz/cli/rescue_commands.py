"""`ragviz rescue`: which change would rescue the questions that a run lost, and what it would break."""

from __future__ import annotations

from typing import Annotated

import typer

from ragviz.analysis import rescue as rescuing
from ragviz.cli import console
from ragviz.cli.options import Json, RunName
from ragviz.runs import alternatives, replays, rescue_words
from ragviz.service import run_verbs


def rescue(
    run_name: RunName,
    k: Annotated[int | None, typer.Option("-k", help="Lost is what ranks below k; default: the run's.")] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Search nothing: stored runs and replays only.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Other chunkings, prefixes, rerankers, too.")] = False,
    as_json: Json = False,
) -> None:
    """Show which change would rescue the lost questions of a run, and what it would break.

    A larger k or context budget, the other retrievers on the same index, the other indexes of the corpus with the same
    retriever, and the runs that asked the same questions; with --build half and twice the chunk size, the other
    chunkers, a title or headings before each chunk, and the reranker maxsim. What is neither a run nor replayed yet is
    searched first, once; indexes that are built for it are not kept.
    """
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    alternatives.check(run, k)
    failed: dict[str, str] = {}
    if not stored:
        failed = dict(console.perform(workspace, run_verbs.replay(workspace, run, build=build)).result["failed"])
    columns = replays.columns_of(workspace, run)
    rescued = replays.rescue(columns, run.config.k if k is None else k)
    body = rescue_words.to_json(columns, rescued) | {"failed": failed}
    console.show(body, as_json, lambda: _draw(columns, rescued, failed))


def _draw(columns: replays.Columns, rescued: rescuing.Rescue, failed: dict[str, str]) -> None:
    console.say(rescue_words.sentence(columns, rescued))
    now = columns.tokens_now(rescued.k)
    rows = []
    for row in rescued.rows:
        replay = row.replay
        net = rescue_words.net_words(row)
        tokens = rescue_words.tokens_words(replay.tokens, now)
        milliseconds = "" if replay.milliseconds is None else f"{replay.milliseconds:,.1f}"
        rows.append((rescue_words.title(columns, replay.key), row.rescues, row.breaks, net, tokens, milliseconds))
    console.table(("change", "rescues", "breaks", "net [95 %]", "tokens read", "reranking, mean ms"), rows)
    console.say(*rescue_words.notes(columns, rescued.k))
    not_done: dict[alternatives.Effort, str] = {"search": "Not replayed", "compute": "Not built yet (--build)"}
    for effort, words in not_done.items():
        left = [change for change in columns.missing(effort) if change.key not in failed]
        names = ", ".join(rescue_words.title(columns, change.key) for change in left)
        console.say(f"{words}: {names}." if left else "")
    console.say(*(f"{rescue_words.title(columns, key)} could not be replayed: {why}" for key, why in failed.items()))
