"""`ragviz run`, `ragviz rejudge`: make a run, and judge again what failed in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.cli import console, options, results_commands
from ragviz.cli.console import DryRun, Json
from ragviz.core.configuration import RunConfig
from ragviz.core.job import Job
from ragviz.index import indexing
from ragviz.judging import forecast
from ragviz.models import requests
from ragviz.runs import running
from ragviz.service import run_verbs
from ragviz.text import counts


@options.declared(RunConfig)
def run_questions(
    index_name: Annotated[str, typer.Option("--index")],
    questions: Annotated[str, typer.Option("--questions")],
    choices: Mapping[str, Any],
    run_name: Annotated[str, typer.Option("--name")] = "",
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars that the run may cost.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Retrieve for the questions of a set, answer, judge, measure."""
    workspace = console.open_workspace()
    index, question_set = workspace.store.indexes.get(index_name), workspace.store.sets.get(questions)
    config = run_verbs.configured(workspace, index, question_set, choices)
    retriever, why = run_verbs.proposed(workspace, index)
    if why and config.retriever != retriever:
        console.warn(f"{why}: --retriever {retriever} may find more.")
    elif why and "retriever" not in choices:
        console.warn(f"Ranked by {retriever}: {why}.")
    if dry_run:
        show_forecast(running.foresee(workspace, config), as_json)
        return
    new = run_verbs.make(workspace, run_name, config, budget)
    if behind := indexing.behind_words(workspace, index):
        told = f"Index '{index.name}' is behind its documents ({behind}): update it first, or evidence is not found."
        console.warn(told)
    job = console.perform(workspace, new)
    results_commands.results(run_name, as_json=as_json)
    _end_with(job)


def _end_with(job: Job) -> None:
    """Exit 1 when questions of a run could not be answered or judged."""
    if failed := job.result["failed"]:
        words = f"{counts.counted(failed, 'question')} could not be answered or judged completely"
        console.fail(f"{words}: `ragviz rejudge {job.result['run']}` tries again.", 1)


def show_forecast(estimate: forecast.Forecast, as_json: bool, not_counted: str = "") -> None:
    """Print a dry run, and which calls it leaves out."""
    body = asdict(estimate) | {"total": estimate.total} | ({"not_counted": not_counted} if not_counted else {})

    def draw() -> None:
        console.table(("step", "calls"), list(estimate.calls.items()), counts.counted(estimate.questions, "question"))
        words = requests.paid_words(estimate.to_pay, priced=estimate.cost is not None)
        console.say(f"To pay: {words} ({estimate.cached:,} more calls are already paid)")
        console.say(not_counted, estimate.pooled_words, estimate.paid_words)
        if estimate.seconds:
            minutes = f"about {estimate.seconds / 60:.1f} minutes" if estimate.seconds >= 6 else "a few seconds"
            console.say(f"{minutes}, estimated from this endpoint's own calls")
        elif estimate.seconds is None:
            console.say("the endpoint does not answer: the duration is not known")

    console.show(body, as_json, draw)


def rejudge(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars, including what the run has cost.")] = None,
    as_json: Json = False,
) -> None:
    """Answer and judge again what failed in a run, and nothing else."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    job = console.perform(workspace, run_verbs.judge_again(workspace, run, budget))
    if not job.result["asked"]:
        console.warn(f"Nothing in run '{run.name}' had failed: nothing was judged again.")
    results_commands.results(run.name, as_json=as_json)
    _end_with(job)


def judge(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    metrics: Annotated[str, typer.Option(help="Metrics of the answers: all, or names with commas.")] = "all",
    judge_model: Annotated[str, typer.Option("--judge", help="Default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars, including what the run has cost.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Judge what another program read and answered, by metrics that its run has not; verdicts of its file stay."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    if dry_run:
        show_forecast(running.foresee_judging(workspace, run, names, judge_model), as_json)
        return
    job = console.perform(workspace, run_verbs.judge(workspace, run, names, judge_model, budget))
    results_commands.results(run.name, as_json=as_json)
    _end_with(job)
