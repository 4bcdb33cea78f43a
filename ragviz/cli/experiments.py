"""`ragviz sweep`, `ragviz experiments …`, `ragviz confirm`: configurations tried on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ragviz.cli import console
from ragviz.cli.console import DryRun, Json
from ragviz.cli.lazy import comparison_words, confirming, declaring, estimating, findings, grid
from ragviz.core.errors import UsageError
from ragviz.core.recording import AnswererName, ContextKind
from ragviz.index.chunking import CHUNKERS
from ragviz.retrieval import rerankers
from ragviz.retrieval.retrievers import RETRIEVERS

if TYPE_CHECKING:
    from ragviz.experiments.conclusion import Conclusion
    from ragviz.experiments.findings import Outcome

experiments_app = console.group("Experiments: configurations tried on the same questions, by a rule declared before.")

MANY = "Several with commas"


def sweep(
    corpus: str,
    questions: Annotated[str, typer.Option("--questions")],
    name: Annotated[str, typer.Option("--name", help="Name of the experiment.")],
    chunker: Annotated[str, typer.Option(help=f"{MANY}: {', '.join(CHUNKERS)}.")] = "",
    chunk_size: Annotated[str, typer.Option(help="Tokens, as 100,200,400.")] = "",
    overlap: Annotated[str, typer.Option(help="Tokens that neighbouring chunks share, as 0,20.")] = "",
    prefix: Annotated[str, typer.Option(help="What is put before each chunk, as none,title,headings.")] = "",
    embedder: Annotated[str, typer.Option(help="Names, folders, openai:MODEL, none.")] = "",
    backend: Annotated[
        str, typer.Option(help="As local,elasticsearch:hnsw,elasticsearch:int8_hnsw,elasticsearch:flat.")
    ] = "",
    similarity: Annotated[str, typer.Option(help="cosine, dot_product, l2_norm.")] = "",
    retriever: Annotated[str, typer.Option(help=f"{MANY}: {', '.join(RETRIEVERS)}.")] = "",
    rrf_constant: Annotated[str, typer.Option(help="Constants of reciprocal rank fusion, as 10,60.")] = "",
    reranker: Annotated[str, typer.Option(help=f"{MANY}: {', '.join(rerankers.written())}.")] = "",
    rerank_depth: Annotated[str, typer.Option(help="Chunks that the reranker reads, as 20,50.")] = "",
    depth: Annotated[str, typer.Option(help="Chunks that are ranked.")] = "",
    k: Annotated[str, typer.Option("-k", help="Chunks that are read, as 3,5.")] = "",
    answerer: Annotated[str, typer.Option(help=f"{MANY}: {', '.join(get_args(AnswererName))}.")] = "",
    model: Annotated[str, typer.Option(help="Models that answer.")] = "",
    temperature: Annotated[str, typer.Option(help="As 0,0.7.")] = "",
    instructions: Annotated[
        list[str],
        typer.Option(
            help="Added to the prompt of the model that answers: a text, @FILE, or none; may be repeated, for several."
        ),
    ] = [],  # noqa: B006
    context: Annotated[str, typer.Option(help=f"{MANY}: {', '.join(get_args(ContextKind))}.")] = "",
    context_tokens: Annotated[str, typer.Option(help="Most tokens of chunks that are handed over.")] = "",
    cells: Annotated[
        Path | None,
        typer.Option(help='A JSON list of cells in place of all combinations, as [{"chunk_size": 100}, …].'),
    ] = None,
    metrics: Annotated[str, typer.Option(help="Metrics of the answers: all, none, or names with commas.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges; default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    primary: Annotated[str, typer.Option(help="The metric that decides, as recall@3; default: recall at k.")] = "",
    minimum_effect: Annotated[
        float | None, typer.Option(help="The smallest difference that matters, as a share; default: 0.02.")
    ] = None,
    baseline: Annotated[str, typer.Option(help="Name of the cell to compare with; default: the first.")] = "",
    guardrail: Annotated[
        list[str],
        typer.Option(
            help="tokens, dollars, seconds (for a question) or refusals (a share), at most: tokens=1500, or "
            "tokens=1.5x for a multiple of the baseline's; may be repeated."
        ),
    ] = [],  # noqa: B006
    split: Annotated[
        str, typer.Option(help="validation (default where the set is split), or all: nothing is left to confirm on.")
    ] = "",
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars that all runs may cost.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Try configurations on the questions of a set: the product of the values given, or a list.

    The rule (--primary, --minimum-effect, --baseline, --guardrail, --split) is declared before the first result. What
    several configurations need is made once. Repeat the command to resume, and to try failed ones again.
    """
    workspace = console.open_workspace()
    target, question_set = workspace.store.corpora.get(corpus), workspace.store.sets.get(questions)
    if question_set.corpus_id != target.id:
        raise UsageError(f"Question set '{question_set.name}' is not about corpus '{target.name}'.")
    given = {
        "chunker": chunker, "chunk_size": chunk_size, "overlap": overlap, "prefix": prefix, "embedder": embedder,
        "backend": backend, "similarity": similarity, "retriever": retriever, "rrf_constant": rrf_constant,
        "reranker": reranker, "rerank_depth": rerank_depth, "depth": depth, "k": k, "answerer": answerer,
        "model": model, "temperature": temperature, "context": context, "context_tokens": context_tokens,
    }  # fmt: skip
    values = {axis: _listed(text) for axis, text in given.items()}
    values["instructions"] = [console.text_or_file(each) for each in instructions]
    if cells is not None and any(values.values()):
        named = ", ".join(f"--{axis.replace('_', '-')}" for axis, each in values.items() if each)
        raise UsageError(f"Give either --cells or values of choices ({named}).")
    side = _side(split, is_split=question_set.split is not None)
    planned = grid.planned(
        workspace,
        question_set,
        grid.read_picks(console.read(cells)) if cells is not None else grid.crossed(values),
        split=side,
        metrics=_listed(metrics),
        judge=judge,
        seed=seed,
    )
    rule = declaring.rule_of(
        planned,
        primary=primary,
        minimum_effect=minimum_effect,
        baseline=baseline,
        guardrails=[declaring.read_guardrail(text) for text in guardrail],
    )
    if dry_run:
        earlier = workspace.store.experiments.find(name)
        known = declaring.known_cells(planned, earlier) if earlier is not None else planned.cells
        estimate = estimating.takes(workspace, target, question_set, known)
        body = estimating.to_json(estimate) | {"left_out": dict(planned.left_out)}
        console.show(body, as_json, lambda: _draw_estimate(estimating.words(estimate), planned.left_out))
        return
    experiment = declaring.declare(workspace, name, question_set, planned, rule, side)
    job = console.perform(
        workspace, "sweep", f"Sweep {experiment.name}", target, {"experiment": experiment.id, "budget": budget}
    )
    show(experiment.name, as_json=as_json)
    if failed := job.result["failed"]:
        console.fail(f"{failed} cells failed: give the command again to try them again.", 1)


def _listed(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]


def _side(split: str, *, is_split: bool) -> str:
    """Return the side that a sweep asks: by default validation where there is one."""
    if split == "all":
        return ""
    if split in ("", "validation"):
        return "validation" if split or is_split else ""
    raise UsageError(f"A sweep asks validation or all questions, not '{split}': `ragviz confirm` asks test, once.")


@experiments_app.command("list")
def list_experiments(
    corpus: Annotated[str, typer.Option(help="Those of this corpus.")] = "", as_json: Json = False
) -> None:
    """List the experiments, the newest first."""
    workspace = console.open_workspace()
    corpus_id = workspace.store.corpora.get(corpus).id if corpus else None
    outcomes = [findings.outcome_of(workspace, e) for e in workspace.store.experiments.all(corpus_id)]
    rows = [
        (
            outcome.experiment.name,
            f"{len(outcome.experiment.finished)} of {len(outcome.experiment.cells)}",
            declaring.rule_words(outcome.experiment.rule),
            outcome.sentence,
        )
        for outcome in outcomes
    ]
    body = [findings.to_json(outcome) for outcome in outcomes]
    console.show(body, as_json, lambda: console.table(("experiment", "cells done", "rule", "says"), rows))


@experiments_app.command("show")
def show(name: str, as_json: Json = False) -> None:
    """Show the cells of an experiment, and what it says under its rule."""
    workspace = console.open_workspace()
    outcome = findings.outcome_of(workspace, workspace.store.experiments.get(name))
    console.show(findings.to_json(outcome), as_json, lambda: _draw(outcome))


@experiments_app.command("delete")
def delete(name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete an experiment; its indexes and runs stay."""
    workspace = console.open_workspace()
    experiment = workspace.store.experiments.get(name)
    console.confirm(f"Delete experiment '{experiment.name}' with its rule? Its indexes and runs stay.", yes)
    workspace.store.experiments.delete(experiment.id)


def confirm(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT")],
    budget: Annotated[float | None, typer.Option(min=0, help="Most dollars that both runs may cost.")] = None,
    as_json: Json = False,
) -> None:
    """Run the baseline and the chosen configuration of an experiment on the test side, once.

    A second time is refused, and what was measured is shown.
    """
    workspace = console.open_workspace()
    experiment = workspace.store.experiments.get(name)
    if experiment.confirmation is not None:
        show(experiment.name, as_json=as_json)
    confirming.check(workspace, experiment)
    corpus = workspace.store.corpora.get(experiment.corpus_id)
    arguments = {"experiment": experiment.id, "budget": budget}
    console.perform(workspace, "confirm", f"Confirm {experiment.name} on test", corpus, arguments)
    show(experiment.name, as_json=as_json)


def _draw(outcome: Outcome) -> None:
    experiment = outcome.experiment
    _say(f"Rule, declared before the first result: {declaring.rule_words(experiment.rule)}.")
    _say(f"Asked: {experiment.split or 'all questions'}.")
    rows: list[tuple[Any, ...]] = []
    for row in outcome.rows:
        delta = row.delta
        taken = "" if row.price.tokens is None else f"{row.price.tokens:,.0f}"
        seconds = "" if row.price.seconds is None else f"{row.price.seconds:.2g}"
        dollars = "" if row.price.dollars is None else f"{row.price.dollars:.4g}"
        rows.append(
            (
                f"{row.cell.name} (baseline)" if row.cell.name == experiment.rule.baseline else row.cell.name,
                row.cell.state,
                console.interval(row.estimate) if row.estimate else "",
                comparison_words.difference_words(delta.difference) if delta else "",
                delta.verdict if delta else "",
                *(taken, dollars, seconds),
                row.cell.reason or row.run,
            )
        )
    columns = ("cell", "state", experiment.rule.primary, "difference", "verdict", "tokens", "dollars", "seconds", "")
    console.table(columns, rows)
    _draw_left_out(experiment.left_out)
    for words in filter(None, (outcome.scope, outcome.apart)):
        _say(words)
    _draw_conclusion(outcome.conclusion, f"On {experiment.split}: " if outcome.test else "")
    if outcome.test is not None:
        _draw_conclusion(outcome.test, "On test, once: ")
        _say(outcome.sentence)
    if outcome.lost:
        _say(outcome.lost)


def _draw_estimate(sentences: Sequence[str], left_out: Mapping[str, str]) -> None:
    for sentence in sentences:
        _say(sentence)
    _draw_left_out(left_out)


def _draw_left_out(left_out: Mapping[str, str]) -> None:
    for why in dict.fromkeys(left_out.values()):
        names = [name for name, reason in left_out.items() if reason == why]
        _say(f"Left out: {', '.join(names)}. {why}")


def _draw_conclusion(conclusion: Conclusion, where: str) -> None:
    _say(where + conclusion.sentence)
    for note in conclusion.notes:
        _say(note)
    if conclusion.same_questions and conclusion.decision == "ship":
        _say(CHOSEN_HERE)


CHOSEN_HERE = "This configuration was chosen on the questions that it is reported on: its numbers are too good."


def _say(words: str) -> None:
    console.out.print(console.printable(words), highlight=False)
