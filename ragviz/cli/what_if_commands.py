"""`ragviz what-if`, `ragviz rescue`: what other choices would have measured, and which would rescue what was lost."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.analysis import rescue as rescuing
from ragviz.analysis import risk_coverage
from ragviz.cli import console
from ragviz.cli.options import Json, RunName
from ragviz.core.errors import UsageError
from ragviz.runs import alternatives, overviews, replays, rescue_words
from ragviz.runs import what_if_of_run as what_ifs
from ragviz.service import run_verbs

TITLES = {"recall": "Recall", "precision": "Precision", "f1": "F1", "mrr": "MRR", "tokens": "tokens read"}


def what_if(
    run_name: RunName,
    k: Annotated[int | None, typer.Option("-k", help="Chunks kept; default: the run's.")] = None,
    constant: Annotated[int | None, typer.Option("--rrf-constant", min=0, help="Of a hybrid run's fusion.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep only chunks that score at least this.")] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens of the chunks handed over; default: the run's.")] = None,
    risk: Annotated[float, typer.Option(help="Share of wrong answers to choose a threshold for.")] = 0.1,
    as_json: Json = False,
) -> None:
    """Show what a run would have measured with another k, RRF constant, score threshold or budget of tokens.

    Also: wrong answers against refusals (risk–coverage). All is read off stored rankings; another RRF constant
    searches once, without answering or judging.
    """
    if not 0 <= risk <= 1:
        raise UsageError(f"A risk of {risk} is no share of answers: give 0 to 1.")
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    stored = what_ifs.stored_of(workspace, run)
    choices = what_ifs.chosen_from(stored, k, threshold, budget)
    if constant is not None and constant != run.config.rrf_constant and stored.fused is None:
        console.perform(workspace, run_verbs.search_again(workspace, run))
        stored = what_ifs.stored_of(workspace, run, stored.pairs)
    own, judgement = what_ifs.own_choices(run), overviews.overview(workspace, run).judgement
    effects, notes = what_ifs.effects(stored, choices, constant), dict[str, str]()
    cases, curve, picked = what_ifs.risk_of(stored, judgement, choices.k), None, None
    try:
        curve = what_ifs.curve_of(run, cases)
        picked = risk_coverage.chosen(cases.cases, risk, seed=run.config.seed)
    except UsageError as error:
        notes["risk_coverage"] = str(error)
    risked: dict[str, Any] | None = None
    if curve is not None:
        risked = asdict(curve) | {name: getattr(cases, name) for name in ("judged", "left_out", "unanswerable")}
        for name in ("thresholds", "coverage", "risk", "low", "high"):  # what is not finite is null
            risked[name] = [number if math.isfinite(number) else None for number in risked[name].tolist()]
        risked["chosen"] = picked
    fused = run.config.rrf_constant if run.config.retriever == "hybrid" else None
    body = {
        "run": run.name,
        "own": asdict(own) | {"rrf_constant": fused},
        "choices": asdict(choices) | {"rrf_constant": fused if constant is None else constant},
        "n": len(stored.rankings.results),
        "metrics": effects,
        "risk_coverage": risked,
        "notes": notes,
    }

    def draw() -> None:
        console.say(what_ifs.choices_words(stored, choices, constant))
        columns = ("metric", "the run", "what if", "difference [95 %]")
        console.table(columns, [(TITLES[name], *what_ifs.cells(name, each)) for name, each in effects.items()])
        if curve is not None:
            console.say(what_ifs.curve_words(cases, curve), what_ifs.chosen_words(risk, picked, curve))
        console.say(*notes.values())

    console.show(body, as_json, draw)


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
