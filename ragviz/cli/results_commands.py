"""`ragviz results`, `inspect`, `compare`, `export`, `report`: what runs measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.analysis import abstention, comparison_words, diagnose, evaluate, outcomes, pooled, run_verdict, slices
from ragviz.analysis import compare as comparing
from ragviz.cli import comparison_tables, console
from ragviz.cli.console import Json
from ragviz.core.configuration import Run
from ragviz.core.errors import InputError, UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import Bank, EvaluatedAnswer, Matrix
from ragviz.health import synthetic
from ragviz.metrics import questeval, registry
from ragviz.questions import without_model
from ragviz.report import reports
from ragviz.retrieval import search
from ragviz.runs import comparisons, exports, judgements, measurements, moved_questions, overviews, tables
from ragviz.text import counts, former_documents

UNANSWERED = "<Unanswerable>"
BAR = 40
"""Characters of the longest bar."""
LOOK_AT = 10
"""Doubtful questions that are shown; --json holds all."""


def results(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    k: Annotated[int | None, typer.Option("-k", help="Measure the rankings at this k; default: the run's.")] = None,
    by: Annotated[str, typer.Option(help="kind, type, style or document: a row for each.")] = "",
    metrics: Annotated[
        list[str],
        typer.Option("--metric", metavar="NAME", help="With --by: show it, as recall@3; may be repeated."),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Show what a run measured.

    --json adds every mean per kind, type and style of question and per document.
    """
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    if by:
        console.one_of("way to group", by, ("kind", "type", "style", "document"))
    summary, judgement = measurements.summary_of(workspace, run, k), judgements.judgement_of(workspace, run, k)
    if run.status != "done":
        console.warn(f"Run '{run.name}' is not finished: this is what it has so far.")
    parts = exports.breakdown_of(workspace, run, k) if as_json or by else []
    pairs = measurements.pairs_of(workspace, run)
    questions, retrieved = [question for question, _ in pairs], [result for _, result in pairs]
    causes = judgements.causes_at(run, judgement.causes, questions, retrieved, summary.k)
    judged = measurements.pooled_of(workspace, run, summary.k, retrieved=pairs)
    body = _results_body(run, summary, judgement, causes) | {"pooled": pooled.to_json(judged)}
    if limits := without_model.words([question.generator for question in questions]):
        body["made_without_model"] = limits
    body |= evaluate.breakdown_to_json(parts)

    def draw() -> None:
        if by:
            _draw_slices([part for part in parts if part.by in ("all", by)], by, metrics, summary.depth)
        else:
            kinds = {question.id: question.kind for question in questions}
            lost = judgements.losses_at(run, causes, kinds, set(summary.question_ids), summary.k)
            console.say(run_verdict.verdict(judgements.measured(run, summary, judgement, lost), run.config).sentence)
            console.say(overviews.took_words(run, overviews.overview(workspace, run)))
            _draw_results(run, summary, judgement)
            console.say(limits)
            if behind := list(causes.values()).count("not_indexed"):
                told, missing = diagnose.CAUSES["not_indexed"], counts.counted(behind, "question")
                console.warn(f"{told.title}: {missing}. {told.explanation} {told.next_step}")
            if judged is not None:
                _draw_pooled(judged)
            if judgement.statuses:
                _draw_losses(run, summary, judgement, causes, kinds)

    console.show(body, as_json, draw)


def _results_body(
    run: Run, summary: evaluate.Summary, judgement: judgements.Judgement, causes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the results of a run as JSON, without the means over parts of its questions."""
    body: dict[str, Any] = {"run": run.name, "fingerprint": run.fingerprint, "status": run.status, "k": summary.k}
    if run.config.reranker != "none":
        chosen = {"reranker": run.config.reranker, "depth": run.config.rerank_depth}
        body["reranking"] = chosen | dict(run.provenance.get("reranking", {}))
    body |= evaluate.to_json(summary)
    body |= {"split": run.provenance.get("split"), "asked": measurements.asked_words(run)}
    body |= {"questions": run.provenance["questions"], "questions_version": measurements.version_of(run)}
    body |= {"chosen_by": run.provenance.get("chosen_by")}
    body |= {name: run.provenance[name] for name in ("agreement",) if name in run.provenance}
    if unranked := measurements.unranked_words(run):
        body["not_ranked"] = unranked
    body["metrics"] |= evaluate.scored_to_json(judgement.metrics)
    body |= {"imported_scores": evaluate.scored_to_json(judgement.of_maker)} if judgement.of_maker else {}
    body |= {"contexts": run.provenance["contexts"]} if "contexts" in run.provenance else {}
    body["lost"] = {step.cause: step.count for step in diagnose.waterfall(list(causes.values()), run.knows)[1:]}
    if judgement.statuses or judgement.paid.calls:
        paid = asdict(judgement.paid)
        body["paid"] = paid | {"cost": paid.pop("dollars")}
    if judgement.statuses:
        body |= {"usage": asdict(judgement.usage)}
        body |= {"abstention": asdict(judgement.abstention), "failed": len(judgement.failed)}
        body |= judgements.judge_to_json(run)
        body["coverage"] = judgements.coverage_words(judgement, len(judgement.causes))
        body["look_at_these"] = judgement.doubts
    return body


def _draw_results(run: Run, summary: evaluate.Summary, judgement: judgements.Judgement) -> None:
    console.say(_asked(run), measurements.read_words(run), measurements.agreement_words(run))
    if unranked := measurements.unranked_words(run):
        console.warn(unranked)
    else:
        means = [(name, console.interval(estimate)) for name, estimate in summary.metrics.items()]
        console.table(("metric", "mean [95 %]"), means, run.name)
        console.say(outcomes.sum_words(outcomes.count(summary.ranks, summary.k), summary.k, summary.depth))
        if summary.n:
            console.table(("rank of the evidence", "questions", ""), [*_histogram(summary)])
        if reranking := measurements.reranking_words(run):
            console.say(f"{run.config.ranked_by}: {reranking}")
        console.say(measurements.chosen_words(run))
        console.say(evaluate.doubt_words(summary))
        console.say(evaluate.reference_only_words(summary))
    if judgement.statuses:
        _draw_judgement(run, judgement, summary.k)
    elif judgement.paid.calls:
        console.say(judgements.cost_words(judgement))


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
    """Draw what pooled verdicts tell of the misses, and of the context."""
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
    for name, bounds in (("precision", judged.context_precision), ("recall", judged.context_recall)):
        if bounds.least is not None:
            words = f"context {name}@{k} by all runs' verdicts on whole chunks: {bounds.least:.3f} to {bounds.most:.3f}"
            console.say(f"{words}, n={bounds.n}; {bounds.known.n} of them judged completely")


def _asked(run: Run) -> str:
    split = f", whose split is {run.provenance['split']['kind']}" if run.config.split else ""
    version = f", version {number} of the set" if (number := measurements.version_of(run)) else ""
    return f"{measurements.asked_words(run)} of '{run.provenance['questions']}'{split}{version}"


def _draw_slices(parts: Sequence[evaluate.Slice], by: str, metrics: Sequence[str], depth: int) -> None:
    available = parts[0].metrics
    for name in metrics:
        console.one_of("metric of this run", name, available)
    by_default = registry.shown_in("row")
    ranking = [
        name for name in available if name.split("@")[0] in by_default and name.split("@")[0] in registry.METRICS
    ]
    names = metrics or [*ranking, *[name for name in by_default if name in available and name not in ranking][:3]]
    rows = []
    for part in parts:
        means = [console.interval(part.metrics[name].estimate) for name in names]
        rows.append((part.name or "all", part.questions, part.misses, *means))
    console.table((by, "questions", outcomes.title("missed", 0, depth).lower(), *names), rows)


def _draw_judgement(run: Run, judgement: judgements.Judgement, k: int) -> None:
    console.say(judgements.judge_words(run), judgement.controls.sentence if judgement.controls else "")
    if judgement.doubts:
        doubts = [(doubt.question_id, doubt.question, doubt.words) for doubt in judgement.doubts[:LOOK_AT]]
        console.table(("question", "", "scores and what contradicts them"), doubts, "contradicted scores")
    rows = [
        (
            name,
            console.interval(scored.estimate),
            f"{scored.statuses.get('ok', 0)} of {scored.total}",
            scored.without,
        )
        for name, scored in (*judgement.metrics.items(), *judgement.of_maker.items())
    ]
    made = judgements.made_at(run, k).lower()
    console.table(("metric", "mean [95 %]", "scored", ""), rows, made or "answers")


def _draw_losses(
    run: Run,
    summary: evaluate.Summary,
    judgement: judgements.Judgement,
    causes: Mapping[str, str],
    kinds: Mapping[str, str],
) -> None:
    """Draw where questions were lost at the k of the summary, which answers abstained, and what all cost."""
    ranked, k = set(summary.question_ids), summary.k
    steps = [(step.title, step.count) for step in judgements.lost_steps(run, causes, ranked, k)[1:]]
    only = ", retrieval only" if judgements.made_at(run, k) else ""
    at = "" if run.knows.opaque else f" at k = {k}{only}"
    console.table(("cause", "questions"), steps, f"failure attribution{at}")
    console.say(judgements.losses_at(run, causes, kinds, ranked, k).without_evidence)
    console.say(judgements.abstained_words(run, judgement, kinds))
    if decided := judgements.decided_words(judgement):
        console.say(f"{decided[0].upper()}{decided[1:]}.")
    console.say(judgements.cost_words(judgement))


def inspect(run_name: Annotated[str, typer.Argument(metavar="RUN")], question_id: str, as_json: Json = False) -> None:
    """Show everything about one question of a run.

    Answer, chunks, claims and their verdicts, scores with reasons.
    """
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    question = next((q for q in workspace.store.rankings.questions(run.id) if q.id == question_id), None)
    if question is None:
        raise UsageError(f"Run '{run.name}' has no question '{question_id}': see `ragviz questions show`.")
    judgement = judgements.judgement_of(workspace, run)
    if question.id not in judgement.causes:
        raise UsageError(f"Run '{run.name}' was interrupted before this question: give its command again.")
    evaluated = judgement.evaluated.get(question.id)
    scores = [by_question[question.id] for by_question in judgement.scores.values() if question.id in by_question]
    scores += [Score(n, value, version="") for n, value in (evaluated.scores_of_maker if evaluated else {}).items()]
    retrieved = next(r for r in workspace.store.rankings.all(run.id) if r.question_id == question.id)
    hits = search.with_chunks(workspace, run.corpus_id, retrieved.ranking.hits()[: run.config.k])
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    evidence = _evidence(question, retrieved, workspace.store.documents.names(run.corpus_id))
    body = {
        "run": run.name,
        "cause": judgement.causes[question.id],
        "question": question,
        "ranking": [
            {"rank": f.hit.rank, "score": f.hit.score, "document": f.document_name, "gold": f.hit.chunk_id in gold}
            | {"chunk_id": f.hit.chunk_id, "text": f.chunk.text if f.chunk else None}
            for f in hits
        ],
        "evidence": evidence,
        **_evaluated_body(evaluated),
        "scores": scores,
    }
    claims = evaluated is not None and evaluated.matrix.answer_claims is not None
    of = judgement.causes[question.id]
    cause = judgements.meaning_of(run, of, run.config.k, claims=claims, question=question, judgement=judgement)
    controlled = judgement.controls if evaluated else None
    body["judge_reliable"] = controlled.reliable if controlled else None
    doubt = controlled.sentence if controlled and not controlled.reliable else ""
    body["chosen_by"] = run.provenance.get("chosen_by")
    noted = [doubt, judgements.judge_words(run) if evaluated else "", measurements.chosen_words(run)]
    console.show(
        body, as_json, lambda: _draw_inspected(question, evaluated, hits, gold, evidence, scores, cause, noted)
    )


def _evidence(question: Question, retrieved: Retrieved, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return each piece of evidence, of alternatives the first, with the rank by which it is found, None for none."""
    ranks = {hit.chunk_id: hit.rank for hit in retrieved.ranking.hits()}
    return [
        {
            "rank": min((ranks[chunk_id] for chunk_id in chunk_ids if chunk_id in ranks), default=None),
            "document": names.get(group[0].document_id, former_documents.UNKNOWN),
            "text": group[0].text,
        }
        for group, chunk_ids in zip(question.evidence, retrieved.gold, strict=False)
    ]


def _evaluated_body(evaluated: EvaluatedAnswer | None) -> dict[str, Any]:
    if evaluated is None:
        return dict.fromkeys(("judged", "questeval", "extractive_questeval"))
    return {
        "judged": asdict(evaluated) | {"question": evaluated.question.id},
        "questeval": _questeval(evaluated.bank, evaluated.bank_answers),
        "extractive_questeval": _questeval(evaluated.extractive_bank, evaluated.extractive_bank_answers),
    }


def _questeval(bank: Bank | None, answers: Sequence[str | None] | None) -> dict[str, Any] | None:
    """Return RAGQuestEval over both denominators, and as the public code computes it (`crud`)."""
    if bank is None or answers is None:
        return None
    precision, recall = questeval.crud([item.answer for item in bank.items], answers)
    return asdict(questeval.measure(bank, answers)) | {"crud": {"precision": precision, "recall": recall}}


def _draw_inspected(
    question: Question,
    evaluated: EvaluatedAnswer | None,
    hits: Sequence[search.ChunkHit],
    gold: Collection[str],
    evidence: Sequence[Mapping[str, Any]],
    scores: Sequence[Score],
    cause: diagnose.Cause,
    noted: Sequence[str],
) -> None:
    console.say(*noted)
    console.say(f"{cause.title}. {cause.explanation}")
    texts = [("question", question.text), ("reference", question.answer)]
    if evaluated:
        texts.append(("answer", f"{evaluated.recording.answer} ({abstention.STATUSES[evaluated.recording.status]})"))
    console.table(("", ""), texts)
    rows = []
    for f in hits:
        beginning = " ".join(f.chunk.text.split())[:100] if f.chunk else "(its document was removed)"
        rows.append((f.hit.rank, "evidence" if f.hit.chunk_id in gold else "", f.document_name, beginning))
    console.table(("rank", "", "document", "chunk"), rows)
    found = [(each["rank"] or "not found", each["document"], console.line(each["text"])) for each in evidence]
    if found:
        console.table(("rank", "document", "evidence"), found)
    if evaluated:
        console.table(("claim of", "claim", "passages", "other text"), [*_claim_rows(evaluated.matrix)])
        if evaluated.bank and evaluated.bank_answers is not None:
            pairs = zip(evaluated.bank.items, evaluated.bank_answers, strict=True)
            asked = [(item.question, item.answer or UNANSWERED, said or UNANSWERED) for item, said in pairs]
            console.table(("RAGQuestEval question", "by the reference", "by the answer"), asked)
    score_rows = [
        (s.metric, "" if s.value is None else f"{s.value:.3f}", s.status, s.reason, s.version) for s in scores
    ]
    if score_rows:
        console.table(("metric", "value", "status", "reason", "version"), score_rows)


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
    metric: Annotated[
        str, typer.Option(help="All pairs, and questions won and lost, by this one, as mrr; default: the primary one.")
    ] = "",
    primary: Annotated[
        str, typer.Option(help="The metric that decides, as recall@3; recall (the default): at each run's own k.")
    ] = "",
    minimum_effect: Annotated[
        float | None, typer.Option(help="The smallest difference that matters, as a share; default: 0.02.")
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Also the difference in each part of the questions: by document, kind, type, style, language, length "
            "or evidence (its length)."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Compare two to twelve runs with the first, question by question, and each with each by one metric.

    Rankings over the common questions with evidence; of answers, means over the questions that all runs have a score
    for, differences over those that both have one for.
    Intervals and tests treat questions about the same documents as one cluster. The primary metric decides (Holm);
    all others are exploratory (Benjamini-Hochberg). --json adds where each question was lost before and after, and the
    differences by document, kind, type, style, language and length.
    """
    if by:
        console.one_of("way to group", by, slices.DIMENSIONS)
    workspace = console.open_workspace()
    runs = comparisons.not_too_many([workspace.store.runs.get(name) for name in run_names])
    comparison = comparisons.compare_runs(workspace, runs, k, primary=primary, minimum_effect=minimum_effect)
    by_name = {run.name: run for run in runs}
    decided_by = comparing.metric_of(comparison, metric)
    prices = comparisons.prices(workspace, by_name, comparison.k, decided_by)
    sources = comparisons.stored(workspace)
    generated = synthetic.banner([run.config for run in runs], workspace.store.rankings.questions(runs[0].id))
    body: dict[str, Any] = {}
    if as_json:
        body = comparison_words.to_json(comparison, metric, prices) | {"warning": generated}
        body |= moved_questions.to_json(workspace, runs, comparison, body["metric"], sources)

    def draw() -> None:
        if generated:
            console.say(f"Warning: {generated}")
        comparison_tables.draw(comparison, metric, prices)
        for other in runs[1:]:
            moved = moved_questions.sentence(moved_questions.streams(runs[0], other, comparison.k, sources))
            console.say(f"{runs[0].name} → {other.name}: {moved}")
        if by:
            name, places = comparing.metric_of(comparison, metric), range(1, len(runs))
            found = moved_questions.slices_of(workspace, runs[0], comparison, name, sources, places)
            for other, each in zip(runs[1:], found, strict=True):
                comparison_tables.draw_slices(each, by, (runs[0].name, other.name))

    console.show(body, as_json, draw)


def export(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    folder: Path,
    names: Annotated[
        list[str],
        typer.Option(
            "--tables",
            metavar="NAME",
            help="Also write this table: questions, generated_answers, scores, claims, passages, rankings, questeval, "
            "calls, means, or all; may be repeated.",
        ),
    ] = [],  # noqa: B006
    file_format: Annotated[
        str, typer.Option("--format", help="csv (default), jsonl or parquet: of the tables; alone, of all of them.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Write a run's files into FOLDER.

    results.csv holds every question with its answer, rank, hits, scores and reasons, results.jsonl the hits' texts too.
    qa_dataset.csv can be imported again, answers.csv has a row for each hit, evaluation.csv one for each question,
    metrics.csv the means per kind and per document. --tables and --format add flat tables of everything else.
    """
    chosen = list(tables.TABLES) if "all" in names or (file_format and not names) else names
    exports.check_tables(chosen, file_format or "csv")
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    files = exports.export_run(workspace, run, chosen, file_format or "csv")
    try:
        with console.for_user():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be created: {error.strerror}.") from None
    for name, data in files.items():
        console.write(folder / name, data)
    written = [str(folder / name) for name in files]
    console.show(
        {"run": run_name, "files": written},
        as_json,
        lambda: console.say(f"Wrote {', '.join(written)}."),
    )


def report(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="A run, an experiment, or several runs: the baseline first.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    k: Annotated[
        int | None, typer.Option("-k", help="Of several runs: compare at this k; default: the first's.")
    ] = None,
    primary: Annotated[
        str,
        typer.Option(help="Of several runs: the metric that decides, as in `compare`; default: recall."),
    ] = "",
    minimum_effect: Annotated[
        float | None, typer.Option(help="Of several runs: the smallest difference that matters; default: 0.02.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report as one HTML file: it opens offline, its plots can be hovered, and it prints to a clean PDF.

    First the change card (ship, do not ship, undecided), or the state of a run; then a summary in plain words, three
    telling questions, pictures, every number, and the configuration.
    """
    workspace = console.open_workspace()
    data = reports.made(workspace, names, k, primary=primary, minimum_effect=minimum_effect)
    console.write(out, data)
    console.show(
        {"names": names, "file": str(out), "bytes": len(data)},
        as_json,
        lambda: console.say(f"Wrote {out}, {len(data) / 1e6:.1f} MB."),
    )
