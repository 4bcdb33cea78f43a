"""`ragviz run`, `ragviz rejudge`: make a run, and judge again what failed in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, cast, get_args

import typer

from ragviz.cli import console, results
from ragviz.cli.console import DryRun, Json
from ragviz.cli.lazy import choices, counts, forecast, indexing, running, spending
from ragviz.core.configuration import RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.job import Job
from ragviz.core.recording import AnswererName, ContextKind
from ragviz.core.split import SIDES
from ragviz.retrieval import rerankers
from ragviz.retrieval.retrievers import chosen


def run_questions(
    index_name: Annotated[str, typer.Option("--index")],
    questions: Annotated[str, typer.Option("--questions")],
    run_name: Annotated[str, typer.Option("--name")] = "",
    retriever: console.RetrieverOption = None,
    rrf_constant: Annotated[int | None, typer.Option(help="Of the retriever hybrid; default: 60.")] = None,
    split: Annotated[str, typer.Option(help="Ask one side of the set's split only: validation or test.")] = "",
    reranker: console.RerankerOption = rerankers.NONE,
    rerank_depth: console.RerankDepthOption = None,
    k: Annotated[int, typer.Option("-k")] = 3,
    depth: int = 50,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    answerer: Annotated[str, typer.Option(help=", ".join(get_args(AnswererName)))] = "none",
    model: Annotated[str, typer.Option(help="Model that answers; default: RAGVIZ_MODEL.")] = "",
    temperature: float = 0.0,
    instructions: Annotated[
        str, typer.Option(help="Added to the prompt of the model that answers: a text, or @FILE.")
    ] = "",
    context_tokens: Annotated[int, typer.Option(help="Most tokens of chunks that are handed over.")] = 3000,
    context: Annotated[str, typer.Option(help="retrieved; none: closed book; oracle: the gold chunks.")] = "retrieved",
    metrics: Annotated[str, typer.Option(help="Metrics of the answers: all, none, or names with commas.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges; default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars that the run may cost.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Retrieve for the questions of a set, answer, judge, measure."""
    workspace = console.open_workspace()
    index, question_set = workspace.store.indexes.get(index_name), workspace.store.sets.get(questions)
    ranks_by = chosen(index, retriever)
    if rrf_constant is not None and ranks_by != "hybrid":
        raise UsageError(f"--rrf-constant is of the retriever hybrid: {ranks_by} has none.")
    config = RunConfig(
        index=index.id,
        questions=question_set.id,
        retriever=ranks_by,
        rrf_constant=RunConfig("", "").rrf_constant if rrf_constant is None else rrf_constant,
        k=k,
        depth=depth,
        seed=seed,
        answerer=cast(Any, console.one_of("answerer", answerer, get_args(AnswererName))),
        model=model,
        temperature=temperature,
        instructions=console.text_or_file(instructions),
        context_tokens=context_tokens,
        metrics=tuple(filter(None, (name.strip() for name in metrics.split(",")))),
        judge=judge,
        context=cast(Any, console.one_of("context", context, get_args(ContextKind))),
        split=cast(Any, console.one_of("side of a split", split, SIDES) if split else ""),
        reranker=reranker,
        rerank_depth=rerankers.default_depth(reranker) if rerank_depth is None else rerank_depth,
    )
    choices.check_run(config)
    if split:
        choices.check_split(question_set, split, question_set.sides.get(split, 0))
    config = choices.resolved(workspace, config)
    if dry_run:
        show_forecast(running.foresee(workspace, config), as_json)
        return
    if not run_name:
        raise UsageError("Give the run a name: --name NAME.")
    corpus = workspace.store.corpora.get(index.corpus_id)
    arguments = {"name": run_name, "config": asdict(config), "budget": budget}
    if behind := indexing.behind_words(workspace, index):
        told = f"Index '{index.name}' is behind its documents ({behind}): update it first, or evidence is not found."
        console.err.print(console.printable(told), highlight=False)
    job = console.perform(workspace, "run", f"Run {run_name}", corpus, arguments)
    results.results(run_name, as_json=as_json)
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
        cost = "no price known" if estimate.cost is None else spending.dollars(estimate.cost)
        tokens = f"{estimate.prompt_tokens:,} input + {estimate.completion_tokens:,} output tokens"
        console.out.print(
            f"{counts.counted(estimate.total, 'call')}, {estimate.cached:,} of them cached; to pay: {tokens}, {cost}"
        )
        for words in filter(None, (not_counted, estimate.pooled_words, estimate.paid_words)):
            console.out.print(words)
        if estimate.seconds:
            minutes = f"about {estimate.seconds / 60:.1f} minutes" if estimate.seconds >= 6 else "a few seconds"
            console.out.print(f"{minutes}, estimated from this endpoint's own calls")
        elif estimate.seconds is None:
            console.out.print("the endpoint does not answer: the duration is not known")

    console.show(body, as_json, draw)


def rejudge(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars, including what the run has cost.")] = None,
    as_json: Json = False,
) -> None:
    """Answer and judge again what failed in a run, and nothing else."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    corpus = workspace.store.corpora.get(run.corpus_id)
    job = console.perform(workspace, "rejudge", f"Judge {run.name} again", corpus, {"run": run.name, "budget": budget})
    if not job.result["asked"]:
        console.err.print(
            console.printable(f"Nothing in run '{run.name}' had failed: nothing was judged again."), highlight=False
        )
    results.results(run.name, as_json=as_json)
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
    running.judging_plan(workspace, run, names, judge_model)  # raises before a job is started
    arguments = {"run": run.name, "metrics": names, "judge": judge_model, "budget": budget}
    corpus = workspace.store.corpora.get(run.corpus_id)
    job = console.perform(workspace, "rejudge", f"Judge {run.name}", corpus, arguments)
    results.results(run.name, as_json=as_json)
    _end_with(job)
