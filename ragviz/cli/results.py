"""`ragviz results`, `inspect`, `compare`, `export`: what runs measured, shown and written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.rooms import compare as comparing
from ragviz.cli.rooms import (
    controls,
    diagnose,
    evaluate,
    exports,
    judgements,
    measurements,
    questeval,
    registry,
    search,
)
from ragviz.errors import InputError, UsageError
from ragviz.records import Bank, EvaluatedAnswer, Matrix, Question, Run, Score

LOOK_AT = 10
"""Questions whose scores are contradicted that are shown; --json holds all."""


def results(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    k: Annotated[int | None, typer.Option("-k", help="Measure the rankings at this k; default: the run's.")] = None,
    by: Annotated[str, typer.Option(help="kind or document: a row for each.")] = "",
    metrics: Annotated[
        list[str],
        typer.Option("--metric", metavar="NAME", help="With --by: show it, as recall@3; may be repeated."),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Show what a run measured.

    With --json it holds every mean per kind of question and per document too.
    """
    workspace = console.open_workspace()
    run = workspace.store.run(run_name)
    if by:
        console.one_of("way to group", by, ("kind", "document"))
    summary, judgement = measurements.summary_of(workspace, run, k), judgements.judgement_of(workspace, run, k)
    if run.status != "done":
        console.err.print(
            console.said(f"Run '{run.name}' is not finished: this is what it has so far."), highlight=False
        )
    body: dict[str, Any] = {"run": run.name, "fingerprint": run.fingerprint, "status": run.status, "k": summary.k}
    body |= evaluate.to_json(summary)
    unranked = measurements.unranked_words(run)
    body |= {"not_ranked": unranked} if unranked else {}
    body["metrics"] |= evaluate.scored_to_json(judgement.metrics)
    steps = diagnose.waterfall(list(judgement.causes.values()), run.config.context)
    body |= {"lost": {step.cause: step.count for step in steps[1:]}}
    if judgement.evaluated or judgement.paid[0]:
        body |= {"paid": dict(zip(("calls", "cost"), judgement.paid, strict=True))}
    if judgement.evaluated:
        body |= {"usage": asdict(judgement.usage)}
        body |= {"abstention": asdict(judgement.abstention), "failed": len(judgement.failed)}
        body |= judgements.judge_to_json(run) | {
            "coverage": judgements.coverage_words(judgement, len(judgement.causes))
        }
        body["look_at_these"] = judgement.doubts
    slices = exports.breakdown_of(workspace, run, k) if as_json or by else []
    body |= evaluate.breakdown_to_json(slices)

    def draw() -> None:
        if by:
            _draw_slices([part for part in slices if part.by in ("all", by)], by, metrics)
            return
        if unranked:
            console.err.print(unranked, highlight=False)
        else:
            console.table(
                ("metric", "mean [95 %]"),
                [(name, console.interval(e)) for name, e in summary.metrics.items()],
                run.name,
            )
            console.out.print(f"misses to depth {run.config.depth}: {summary.misses} of {summary.n}")
        if judgement.evaluated:
            _draw_judgement(run, judgement, steps)
        elif judgement.paid[0]:
            console.out.print(judgements.cost_words(judgement))

    console.show(body, as_json, draw)


def _draw_slices(slices: Sequence[evaluate.Slice], by: str, metrics: Sequence[str]) -> None:
    known = slices[0].metrics
    for name in metrics:
        console.one_of("metric of this run", name, known)
    shown = registry.shown_in("row")
    ranking = [name for name in known if name.split("@")[0] in shown and name.split("@")[0] in registry.METRICS]
    names = metrics or [*ranking, *[name for name in shown if name in known and name not in ranking][:3]]
    rows = []
    for part in slices:
        means = [console.interval(part.metrics[name].estimate) for name in names]
        rows.append((part.name or "all", part.questions, part.misses, *means))
    console.table((by, "questions", "misses", *names), rows)


def check(run_name: Annotated[str, typer.Argument(metavar="RUN")], as_json: Json = False) -> None:
    """Tell whether a run's numbers can be taken as they stand: exit 1 when a step failed or its judge is unreliable."""
    workspace = console.open_workspace()
    told = judgements.check(workspace, workspace.store.run(run_name))
    body = {"run": told.run, "passed": told.passed, "sentence": told.sentence, "problems": list(told.problems)}
    body |= {"controls": controls.to_json(told.controls) if told.controls else None}
    console.show(body, as_json, lambda: console.out.print(console.said(told.sentence), highlight=False))
    if not told.passed:
        raise typer.Exit(1)


def _draw_judgement(run: Run, judgement: judgements.Judgement, steps: Sequence[diagnose.Step]) -> None:
    for line in (judgements.judge_words(run), judgement.controls.sentence if judgement.controls else ""):
        if line:
            console.out.print(console.said(line), highlight=False)
    if judgement.doubts:
        found = [(doubt.question_id, doubt.question, doubt.words) for doubt in judgement.doubts]
        console.table(("question", "", "what contradicts its scores"), found[:LOOK_AT], "look at these")
    rows = [
        (name, console.interval(scored.estimate), f"{scored.statuses.get('ok', 0)} of {scored.total}", _without(scored))
        for name, scored in judgement.metrics.items()
    ]
    console.table(("metric", "mean [95 %]", "scored", ""), rows, "answers")
    titles = [(step.title, step.count) for step in steps[1:]]
    console.table(("where it was lost", "questions"), titles)
    refused = judgement.abstention
    console.out.print(
        f"refused: {refused.refused}, rightly {refused.both} of {refused.unanswerable} unanswerable questions"
    )
    console.out.print(judgements.cost_words(judgement))


def _without(scored: evaluate.Scored) -> str:
    """Why questions have no score, in words."""
    return ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in scored.statuses.items() if status != "ok")


def inspect(run_name: Annotated[str, typer.Argument(metavar="RUN")], question_id: str, as_json: Json = False) -> None:
    """Show all there is about one question of a run.

    Answer, chunks, claims and their verdicts, scores with reasons.
    """
    workspace = console.open_workspace()
    run = workspace.store.run(run_name)
    question = next((q for q in workspace.store.asked(run.id) if q.id == question_id), None)
    if question is None:
        raise UsageError(f"Run '{run.name}' has no question '{question_id}': see `ragviz questions show`.")
    judgement = judgements.judgement_of(workspace, run)
    if question.id not in judgement.causes:
        raise UsageError(f"Run '{run.name}' was stopped before this question: give its command again.")
    judged = judgement.evaluated.get(question.id)
    scores = [by_question[question.id] for by_question in judgement.scores.values() if question.id in by_question]
    retrieved = next(r for r in workspace.store.results(run.id) if r.question_id == question.id)
    hits = search.with_chunks(workspace, run.corpus_id, retrieved.ranking.hits()[: run.config.k])
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    body = {
        "run": run.name,
        "cause": judgement.causes[question.id],
        "question": question,
        "ranking": [
            {"rank": f.hit.rank, "score": f.hit.score, "document": f.document_name, "gold": f.hit.chunk_id in gold}
            | {"chunk_id": f.hit.chunk_id, "text": f.chunk.text if f.chunk else None}
            for f in hits
        ],
        "judged": asdict(judged) | {"question": question.id} if judged else None,
        "questeval": _questeval(judged.bank, judged.bank_answers) if judged else None,
        "extractive_questeval": _questeval(judged.extractive_bank, judged.extractive_bank_answers) if judged else None,
        "scores": scores,
    }
    cause = diagnose.about(judgement.causes[question.id], run.config.context)
    controlled = judgement.controls if judged else None
    body["judge_reliable"] = controlled.reliable if controlled else None
    doubt = controlled.sentence if controlled and not controlled.reliable else ""
    console.show(body, as_json, lambda: _draw_inspected(question, judged, hits, gold, scores, cause, doubt))


def _questeval(bank: Bank | None, answers: Sequence[str | None] | None) -> dict[str, Any] | None:
    """RAGQuestEval by both readings of its denominators, and as the public code counts it (`crud`)."""
    if bank is None or answers is None:
        return None
    precision, recall = questeval.crud([item.answer for item in bank.items], answers)
    return asdict(questeval.measure(bank, answers)) | {"crud": {"precision": precision, "recall": recall}}


def _draw_inspected(
    question: Question,
    judged: EvaluatedAnswer | None,
    hits: Sequence[search.ChunkHit],
    gold: Collection[str],
    scores: Sequence[Score],
    cause: diagnose.Cause,
    doubt: str,
) -> None:
    if doubt:
        console.out.print(console.said(doubt))
    console.out.print(console.said(f"{cause.title}. {cause.explanation}"))
    told = [("question", question.text), ("reference", question.answer)]
    console.table(("", ""), [*told, ("answer", f"{judged.answer.text} ({judged.answer.status})")] if judged else told)
    rows = [(f.hit.rank, "gold" if f.hit.chunk_id in gold else "", f.document_name, _first_line(f)) for f in hits]
    console.table(("rank", "", "document", "chunk"), rows)
    if judged:
        console.table(("claim of", "claim", "passages", "other text"), [*_claim_rows(judged.matrix)])
    drawn = [(s.metric, "" if s.value is None else f"{s.value:.3f}", s.status, s.reason, s.version) for s in scores]
    console.table(("metric", "value", "status", "reason", "version"), drawn)


def _first_line(found: search.ChunkHit) -> str:
    return " ".join(found.chunk.text.split())[:100] if found.chunk else "(its document was deleted)"


def _claim_rows(matrix: Matrix) -> Iterator[tuple[str, str, str, str]]:
    sides = (
        ("answer", matrix.answer_claims, matrix.answer_by_chunk, matrix.answer_by_reference),
        ("reference", matrix.reference_claims, matrix.reference_by_chunk, matrix.reference_by_answer),
    )
    for side, claims, by_chunk, by_text in sides:
        for place, claim in enumerate(claims or ()):
            row = by_chunk[place] if by_chunk else ()
            supporting = ("supported", "together")
            ranks = [
                str(rank) for rank, claim_verdict in enumerate(row, start=1) if claim_verdict.verdict in supporting
            ]
            yield side, claim.text, ", ".join(ranks) or "none", by_text[place].verdict if by_text else ""


def compare(
    run_names: Annotated[list[str], typer.Argument(metavar="RUN RUN...")],
    k: Annotated[int | None, typer.Option("-k", help="Default: the first run's.")] = None,
    as_json: Json = False,
) -> None:
    """Compare runs with the first of them, question by question.

    Rankings over the questions with evidence that all of them have, answers over those that all have a score for.
    """
    workspace = console.open_workspace()
    comparison = measurements.compare_runs(workspace, [workspace.store.run(name) for name in run_names], k)

    def draw() -> None:
        console.out.print(console.said(comparing.sentence(comparison)))
        console.table(("setting", *comparison.runs), [(s.key, *s.values) for s in comparison.settings])
        for note in comparison.notes:
            console.out.print(console.said(note))
        rows = [(r.label, *map(console.interval, r.estimates)) for r in comparison.metrics.values()]
        columns = ("difference", "run", "mean [95 %]", "p (Holm)", "won, tied, lost")
        console.table(("metric", *comparison.runs), rows)
        console.table(columns, [*_deltas(comparison.metrics)])
        if comparison.answers:
            rows = [(r.label, *map(console.interval, r.estimates)) for r in comparison.answers.values()]
            console.table(("metric", *comparison.runs), rows, "answers, over the questions that all have a score for")
            console.table(columns, [*_deltas(comparison.answers)])

    console.show(comparing.to_json(comparison), as_json, draw)


def _deltas(rows: Mapping[str, comparing.MetricRow]) -> Iterator[tuple[str, ...]]:
    for row in rows.values():
        for delta in row.deltas:
            d = delta.difference
            interval = "none" if d.mean is None else f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
            yield row.label, delta.run, interval, f"{delta.p_adjusted:.3f}", f"{d.wins}, {d.ties}, {d.losses}"


def export(run_name: Annotated[str, typer.Argument(metavar="RUN")], folder: Path, as_json: Json = False) -> None:
    """Write a run's files into FOLDER.

    results.csv holds every question with its answer, rank, hits, scores and reasons, results.jsonl the hits' texts too.
    dataset.csv can be imported again, answers.csv has a row for each hit, evaluation.csv one for each question,
    metrics.csv the means per kind and per document.
    """
    workspace = console.open_workspace()
    files = exports.export_run(workspace, workspace.store.run(run_name))
    try:
        with console.for_others():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    for name, data in files.items():
        console.write(folder / name, data)
    written = [str(folder / name) for name in files]
    console.show(
        {"run": run_name, "files": written},
        as_json,
        lambda: console.out.print(console.said(f"Wrote {', '.join(written)}.")),
    )
