"""`ragviz rescue`: which change would rescue the questions that a run lost, and what it would break."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from ragviz.analysis import rescue as rescuing
from ragviz.cli import console
from ragviz.cli.options import Budget, Json, RunName
from ragviz.core.configuration import Run
from ragviz.experiments import grid
from ragviz.runs import alternatives, replays, rescue_words
from ragviz.service import run_verbs
from ragviz.text import counts


def rescue(
    run_name: RunName,
    k: Annotated[int | None, typer.Option("-k", help="Lost is what ranks below k; default: the run's.")] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Search nothing: stored runs and replays only.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Other chunkings, prefixes, rerankers, too.")] = False,
    combine: Annotated[bool, typer.Option("--combine", help="Put together what gains alone.")] = False,
    reranker: Annotated[
        list[str],
        typer.Option(help="cross-encoder:NAME-OR-FOLDER, or model (paid); may be repeated."),
    ] = [],
    budget: Budget = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what it would take, and do nothing.")] = False,
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
    shown_k = run.config.k if k is None else k
    failed: dict[str, str] = {}
    reranker = [alternatives.whole_name(workspace, name) for name in reranker]
    changes = alternatives.changes_of(workspace, run, named=reranker)
    if dry_run:
        body = _foreseen(workspace, run, changes, reranker, build=build)
        searched, search = counts.counted(body["questions"], "question"), ", ".join(body["search"]) or "nothing new"
        lines = [f"{searched} would be searched by: {search}."]
        lines += [f"Built first: {', '.join(body['build'])}: {body['cost']}."] if body["build"] else []
        lines += [f"{key}: {words}." for key, words in body["paid"].items()]
        console.show(body, as_json, lambda: console.say(*lines))
        return
    cheap = changes.missing(replays.stored_replays(workspace, changes))
    if not stored and (cheap or build or combine or reranker):
        at = shown_k if combine else None
        most = budget if reranker else None
        new = run_verbs.replay(workspace, run, build=build, combine=at, rerankers=reranker, budget=most)
        job = console.perform(workspace, new)
        failed = dict(job.result["failed"])
    together = replays.combination(workspace, replays.columns_of(workspace, run), shown_k)
    columns = together.columns
    rescued = replays.rescue(columns, shown_k)
    body = rescue_words.to_json(columns, rescued, together) | {"failed": failed}
    console.show(body, as_json, lambda: _draw(columns, rescued, together, failed))


def _foreseen(
    workspace: console.Workspace, run: Run, changes: alternatives.Changes, named: list[str], *, build: bool
) -> dict[str, Any]:  # fmt: skip
    """Return what is to be done: searches, what is built with its cost, and the calls of models."""
    held = replays.stored_replays(workspace, changes)
    computed = changes.missing(held, "compute") if build else []
    body: dict[str, Any] = {
        "run": run.name,
        "questions": len(changes.questions),
        "search": [change.key for change in changes.missing(held)],
        "build": [change.key for change in computed],
        "cost": alternatives.foreseen_words(workspace, changes, computed) if computed else "",
        "paid": {},
    }
    for change in changes.missing(held, "paid"):
        if change.config.reranker in named:
            body["paid"][change.key] = replays.price_of(workspace, changes, change)
    return body


def _draw(
    columns: replays.Columns, rescued: rescuing.Rescue, together: replays.Combination, failed: dict[str, str]
) -> None:
    console.say(rescue_words.sentence(columns, rescued))
    now = columns.tokens_now(rescued.k)
    rows = []
    for row in rescued.rows:
        replay = row.replay
        net = rescue_words.net_words(row)
        tokens = rescue_words.tokens_words(replay.tokens, now)
        milliseconds = "" if replay.milliseconds is None else f"{replay.milliseconds:,.1f}"
        rows.append((rescue_words.title(columns, replay.key), row.rescues, row.breaks, net, tokens, milliseconds))
    columns_shown = ("change", "rescues", "breaks", "net [95 %]", "tokens read", "reranking, mean ms")
    console.table(columns_shown, rows)
    lines = rescue_words.steps(columns, together)
    told = [f"Together, step by step: {'; '.join(lines)}."] if len(lines) > 1 else []
    told += [f"Sweep these, to be confirmed on test: {_sweep(columns, together)}"] if together.steps else []
    told += [
        f"Not replayed: {rescue_words.title(columns, change.key)}."
        for change in columns.missing("search")
        if change.key not in failed
    ]
    if computed := [change for change in columns.missing("compute") if change.key not in failed]:
        names = ", ".join(rescue_words.title(columns, change.key) for change in computed)
        told.append(f"Not built yet (--build): {names}.")
    told += [f"{rescue_words.title(columns, key)} could not be replayed: {reason}" for key, reason in failed.items()]
    console.say(*rescue_words.notes(columns, rescued.k), *told)


def _sweep(columns: replays.Columns, together: replays.Combination) -> str:
    """Return the command that sweeps all that the steps of a combination choose, without what is the default."""
    workspace, run = console.open_workspace(), columns.run
    defaults = grid.defaults(workspace)
    parts = [
        "ragviz",
        "sweep",
        workspace.store.corpora.get(run.corpus_id).name,
        "--questions",
        run.provenance["questions"],
    ]
    parts += ["--name", f"{run.name}-rescued"]
    for axis, values in replays.grid_of(together).items():
        if values != [defaults[axis]]:
            parts += ["-k" if axis == "k" else f"--{axis.replace('_', '-')}", ",".join(values)]
    return f"`{shlex.join(parts)}`."
