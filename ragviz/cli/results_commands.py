"""`ragviz results`, `check`, `export`, `report`: what runs measured, and whether it is good enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.analysis import diagnose, evaluate, outcomes, pooled
from ragviz.cli import console
from ragviz.cli.options import Json, MinimumEffect, Primary, RunName
from ragviz.core.configuration import Run
from ragviz.core.errors import InputError
from ragviz.questions import without_model
from ragviz.report import junit, reports
from ragviz.runs import acceptance, comparisons, exports, judgements, measurements, moved_questions, overviews, tables

BAR = 40
"""Characters of the longest bar."""
LOOK_AT = 10
"""Doubtful questions that are shown; --json holds all."""


def results(
    run_name: RunName,
    k: Annotated[int | None, typer.Option("-k", help="Measure the rankings at this k; default: the run's.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a run measured.

    --json adds every mean per kind, type and style of question and per document.
    """
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    whole = overviews.overview(workspace, run)
    summary = overviews.summary_at(workspace, run, k, whole=whole)
    if run.status != "done":
        console.warn(f"Run '{run.name}' is not finished: this is what it has so far.")
    parts = exports.breakdown_of(workspace, run, k) if as_json else []
    causes = moved_questions.causes_of(run, summary.k, comparisons.stored(workspace))
    at = judgements.AtK(run, summary, whole.judgement, causes, whole.asked.kind_of)
    told = measurements.pooled_of(workspace, run, summary.k), without_model.words(whole.asked.generators)

    def draw() -> None:
        console.say(at.verdict, overviews.took_words(run, whole))
        _draw(at, *told)

    console.show(_body(at, *told) | evaluate.breakdown_to_json(parts), as_json, draw)


def _body(at: judgements.AtK, judged: pooled.Pooled | None, limits: str) -> dict[str, Any]:
    run, summary, judgement, made = at.run, at.summary, at.judgement, at.run.provenance
    body: dict[str, Any] = {"run": run.name, "fingerprint": run.fingerprint, "status": run.status, "k": summary.k}
    if run.config.reranker != "none":
        chosen = {"reranker": run.config.reranker, "depth": run.config.rerank_depth}
        body["reranking"] = chosen | dict(made.get("reranking", {}))
    body |= evaluate.to_json(summary)
    body |= {"split": made.get("split"), "asked": measurements.asked_words(run)}
    body |= {"questions": made["questions"], "questions_version": measurements.version_of(run)}
    body |= {"chosen_by": made.get("chosen_by")}
    body |= {name: made[name] for name in ("agreement", "contexts") if name in made}
    if unranked := measurements.unranked_words(run):
        body["not_ranked"] = unranked
    body["metrics"] |= evaluate.scored_to_json(judgement.metrics)
    if judgement.of_maker:
        body["imported_scores"] = evaluate.scored_to_json(judgement.of_maker)
    steps = diagnose.waterfall(list(at.causes.values()), run.knows)[1:]
    body["lost"] = {step.cause: step.count for step in steps}
    if judgement.statuses or judgement.paid.calls:
        paid = asdict(judgement.paid)
        body["paid"] = paid | {"cost": paid.pop("dollars")}
    if judgement.statuses:
        body |= {"usage": asdict(judgement.usage)}
        body |= {"abstention": asdict(judgement.abstention), "failed": len(judgement.failed)}
        body |= judgements.judge_to_json(run)
        body["look_at_these"] = judgement.doubts
    body["pooled"] = judged
    return body | ({"made_without_model": limits} if limits else {})


def _draw(at: judgements.AtK, judged: pooled.Pooled | None, limits: str) -> None:
    run, summary, judgement = at.run, at.summary, at.judgement
    split = f", whose split is {run.provenance['split']['kind']}" if run.config.split else ""
    version = f", version {number} of the set" if (number := measurements.version_of(run)) else ""
    console.say(f"{measurements.asked_words(run)} of '{run.provenance['questions']}'{split}{version}")
    console.say(measurements.read_words(run), measurements.agreement_words(run))
    if unranked := measurements.unranked_words(run):
        console.warn(unranked)
    else:
        _draw_rankings(run, summary)
    if judgement.statuses:
        _draw_judgement(at)
    elif judgement.paid.calls:
        console.say(judgements.cost_words(judgement))
    console.say(limits)
    if judged is not None:
        _draw_pooled(judged)


def _draw_rankings(run: Run, summary: evaluate.Summary) -> None:
    means = [(name, console.interval(estimate)) for name, estimate in summary.metrics.items()]
    console.table(("metric", "mean [95 %]"), means, run.name)
    console.say(
        outcomes.sum_words(outcomes.count(summary.ranks, summary.k), summary.k, summary.depth),
        outcomes.not_ranked_words(summary.unanswerable, summary.reference_only),
    )
    if summary.n:
        console.table(("rank of the evidence", "questions", ""), [*_histogram(summary)])
    if reranking := measurements.reranking_words(run):
        console.say(f"{run.config.ranked_by}: {reranking}")
    console.say(measurements.chosen_words(run), evaluate.doubt_words(summary))


def _histogram(summary: evaluate.Summary) -> Iterator[tuple[str, int, str]]:
    """Yield how many questions find their evidence at each rank, those far down together, with a bar."""
    first, bars = 1, []
    for last in (1, 2, 3, 4, 5, 10, 20, summary.depth):
        last = min(last, summary.depth)
        if last >= first:
            name = f"{first}" if first == last else f"{first} to {last}"
            bars.append((name, int(((summary.ranks >= first) & (summary.ranks <= last)).sum())))
        first = max(first, last + 1)
    bars.append((f"not in top {summary.depth}", summary.misses))
    most = max(count for _, count in bars) or 1
    yield from ((name, count, "█" * round(BAR * count / most)) for name, count in bars)


def _draw_pooled(judged: pooled.Pooled) -> None:
    k = judged.k
    rows = [
        (name, f"{each.raw.mean:.3f}", console.interval(each.corrected), f"{each.most.mean:.3f}")
        for name, each in ((f"recall@{k}", judged.recall), ("mrr", judged.mrr))
        if each.raw.mean is not None
    ]
    if rows:
        title = "a chunk that supports the whole reference counts as evidence"
        console.table(("metric", "by evidence alone", "corrected [95 %]", "at most"), rows, title)
        console.say(judged.sentence)


def _draw_judgement(at: judgements.AtK) -> None:
    run, judgement = at.run, at.judgement
    console.say(judgements.judge_words(run), judgement.controls.sentence if judgement.controls else "")
    if judgement.doubts:
        doubts = [(doubt.question_id, doubt.question, doubt.words) for doubt in judgement.doubts[:LOOK_AT]]
        console.table(("question", "", "scores and what contradicts them"), doubts, "contradicted scores")
    rows = [
        (name, console.interval(each.estimate), f"{each.statuses.get('ok', 0)} of {each.total}", each.without)
        for name, each in (*judgement.metrics.items(), *judgement.of_maker.items())
    ]
    k, made = at.summary.k, judgements.made_at(run, at.summary.k)
    console.table(("metric", "mean [95 %]", "scored", ""), rows, made.lower() or "answers")
    there = "" if run.knows.opaque else f" at k = {k}{', retrieval only' if made else ''}"
    steps = [(step.title, step.count) for step in at.steps[1:]]
    console.table(("cause", "questions"), steps, f"failure attribution{there}")
    console.say(at.losses.without_evidence, f"{judgement.abstention.words}.")
    if decided := judgements.decided_words(judgement):
        console.say(f"{decided[0].upper()}{decided[1:]}.")
    console.say(judgements.cost_words(judgement))


def check(
    run_name: RunName,
    require: Annotated[
        list[str], typer.Option(metavar="'METRIC>=X'", help='As "recall@3>=0.8"; may be repeated.')
    ] = [],
    baseline: Annotated[str, typer.Option(metavar="RUN", help="The run that this one must not be worse than.")] = "",
    no_worse_than: Annotated[float | None, typer.Option(help="Loss against it that is allowed; default: 0.02.")] = None,
    junit_file: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = None,
    as_json: Json = False,
) -> None:
    """Check a run: exit 1 when its numbers are not reliable, a requirement is not met, or it is worse than a baseline.

    Its numbers are reliable when it is finished, no step failed and its judge passed its control items. A requirement
    is met when the whole 95 % interval is within the limit, not met when all of it is beyond, and otherwise undecided:
    the estimate decides. Against the baseline, the interval of the paired difference of each metric required (else
    recall), clustered by document, must not be beyond the loss that is allowed: what is undecided passes.
    """
    workspace = console.open_workspace()
    before = workspace.store.runs.get(baseline) if baseline else None
    run = workspace.store.runs.get(run_name)
    checked = acceptance.check(workspace, run, require, baseline=before, no_worse_than=no_worse_than)
    if junit_file is not None:
        console.write(junit_file, junit.junit(checked))
    console.show(acceptance.to_json(checked), as_json, lambda: console.say(*acceptance.lines(checked)))
    if not checked.passed:
        raise typer.Exit(1)


def export(
    run_name: RunName,
    folder: Path,
    names: Annotated[
        list[str],
        typer.Option(
            "--tables",
            metavar="NAME",
            help="Also scores, claims, rankings, questeval, calls, means, or all; may be repeated.",
        ),
    ] = [],
    file_format: Annotated[str, typer.Option("--format", help="csv, jsonl or parquet; alone: all tables.")] = "",
    as_json: Json = False,
) -> None:
    """Write a run's files into FOLDER.

    results.csv holds every question with its answer, rank, hits, scores and reasons, results.jsonl the hits' texts too.
    qa_dataset.csv can be imported again, metrics.csv has the means per kind and per document. --tables and --format add
    flat tables of everything else.
    """
    chosen = list(tables.TABLES) if "all" in names or (file_format and not names) else names
    exports.check_tables(chosen, file_format or "csv")
    workspace = console.open_workspace()
    files = exports.export_run(workspace, workspace.store.runs.get(run_name), chosen, file_format or "csv")
    try:
        with console.for_user():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be created: {error.strerror}.") from None
    for name, data in files.items():
        console.write(folder / name, data)
    written = [str(folder / name) for name in files]
    console.show({"run": run_name, "files": written}, as_json, lambda: console.say(f"Wrote {', '.join(written)}."))


def report(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="A run, an experiment, or runs.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    k: Annotated[int | None, typer.Option("-k", help="Of several runs: default: the first's.")] = None,
    primary: Primary = "",
    minimum_effect: MinimumEffect = None,
    as_json: Json = False,
) -> None:
    """Write a report as one HTML file: it opens offline, its plots can be hovered, and it prints to a clean PDF.

    First the change card (ship, do not ship, undecided), or the state of a run; then a summary in plain words, three
    telling questions, pictures, every number, and the configuration.
    """
    workspace = console.open_workspace()
    data = reports.made(workspace, names, k, primary=primary, minimum_effect=minimum_effect)
    console.write(out, data)
    body = {"names": names, "file": str(out), "bytes": len(data)}
    console.show(body, as_json, lambda: console.say(f"Wrote {out}, {len(data) / 1e6:.1f} MB."))
