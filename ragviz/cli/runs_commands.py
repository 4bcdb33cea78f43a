"""`ragviz run`, `judge` and `rejudge`; `ragviz runs`: import, record, make again, list, label and delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.analysis import diagnose, evaluate, outcomes
from ragviz.cli import console, options, results_commands
from ragviz.cli.options import Budget, DryRun, Json, K, Kind, RunName, WithEvidence, Yes
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.job import Job
from ragviz.health import competition, health_sentences
from ragviz.index import indexing
from ragviz.jobs import queue
from ragviz.judging import forecast
from ragviz.models import requests
from ragviz.runs import cases, exports, history, overviews, running
from ragviz.service import run_verbs, target_verbs
from ragviz.targets import logged_file, logged_item, targets
from ragviz.text import counts, markup

runs_app = console.group("Runs: list, questions, import, record, edit, delete.")


@runs_app.command("list")
def runs_list(
    corpus: Annotated[str, typer.Option(help="Only runs of this corpus.")] = "",
    tag: Annotated[str, typer.Option(help="Only runs with this tag.")] = "",
    metrics: Annotated[bool, typer.Option("--metrics", help="Recall@k and MRR at each run's k too.")] = False,
    as_json: Json = False,
) -> None:
    """List the runs, the newest first.

    --json with --metrics has every metric, the questions that were not found, and the cost.
    """
    workspace = console.open_workspace()
    corpus_id = workspace.store.corpora.get(corpus).id if corpus else None
    runs = [run for run in workspace.store.runs.all(corpus_id) if not tag or tag in run.tags]
    status = queue.run_statuses(workspace, runs)
    measured = overviews.summaries(workspace, runs) if metrics else {}
    records = [
        {"run": r.name, "status": status[r.id], "fingerprint": r.fingerprint, "provenance": r.provenance}
        | {"tags": r.tags, "note": r.note, "created": r.created, "finished": r.finished}
        | ({"k": r.config.k, "summary": measured.get(r.id)} if metrics else {})
        for r in runs
    ]
    means = ("recall", "mrr") if metrics else ()

    def cells(run: Run) -> tuple[object, ...]:
        answers = f"{run.answered_by}, from {targets.target_of(run).basis}" if run.knows.answers else "none"
        made = (run.name, status[run.id], run.index_name, run.set_name, run.ranked_by, answers)
        summary = measured.get(run.id)
        estimates = [summary.at_k(name, run.config.k) if summary else None for name in means]
        cells = [console.interval(each) if each else "" for each in estimates]
        return (*made, ", ".join(run.tags), console.line(run.note), *cells)

    columns = ("run", "status", "index", "questions", "retriever", "answers", "tags", "note")
    headers = (*columns, *(("recall at its k", "mrr") if metrics else ()))
    console.show(records, as_json, lambda: console.table(headers, [cells(run) for run in runs]))


@runs_app.command("questions")
def runs_questions(
    run_name: RunName,
    k: K = None,
    outcome: Annotated[
        str, typer.Option(help="found, below k, missed, reference only, unanswerable or not ranked.")
    ] = "",
    cause: Annotated[str, typer.Option(help="Cause of the loss, as in `ragviz results --json`: not_retrieved …")] = "",
    kind: Kind = "",
    document: WithEvidence = "",
    find: Annotated[str, typer.Option(help="Words in question, reference or answer.")] = "",
    as_json: Json = False,
) -> None:
    """List a run's questions: rank, cause and answer.

    --json adds hits, and scores with their reasons.
    """
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    for option, value, known in (
        ("outcome", outcome, outcomes.OUTCOMES),
        ("cause", cause, diagnose.CAUSES),
        ("kind", kind, evaluate.KINDS),
    ):
        console.one_of(option, value, known)
    names = workspace.store.documents.names(run.corpus_id)
    console.known_document(document, names)
    run_cases = exports.cases_of(workspace, run, k)
    selected = cases.chosen(run_cases, outcome=outcome, cause=cause, kind=kind, document=document, find=find)

    def draw() -> None:
        rows = [
            {"id": case.question.id, "rank": case.rank, "outcome": case.outcome, "cause": case.cause}
            | {"document": case.documents, "question": console.line(case.question.text)}
            | {"answer": console.line(case.answer[0])}
            for case in selected
        ]
        columns = ["id", "rank", "outcome", "cause", "document", "question", "answer"]
        if not run.knows.ranking:
            columns = [name for name in columns if name not in ("rank", "outcome", "document")]
        console.table(columns, console.cells(rows, columns))
        console.say(f"{len(selected)} of {counts.counted(len(run_cases), 'question')}")

    console.show([cases.to_json(case, names) for case in selected] if as_json else [], as_json, draw)


@runs_app.command("import")
def runs_import(
    file: Path,
    run_name: Annotated[str, typer.Option("--name", help="Name of the run; default: the file's.")] = "",
    corpus: Annotated[str, typer.Option(help="Corpus of the run, without documents too; default: the name.")] = "",
    questions: Annotated[str, typer.Option(help="Question set that the items are of, by id or text.")] = "",
    mapped: Annotated[
        list[str],
        typer.Option("--map", metavar="ROLE=COLUMN", help=f"What a column is: {', '.join(logged_file.ROLES)}."),
    ] = [],
    system: Annotated[str, typer.Option(help="Only this of several systems.")] = "",
    file_format: Annotated[
        str, typer.Option("--format", help=", ".join([logged_file.AUTO, *logged_file.FORMATS]))
    ] = logged_file.AUTO,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be read, and store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Import what a RAG system said, from its log or from another program's results; several systems are several runs.

    CSV, TSV, Excel, JSON, JSON Lines or Parquet, a row a question or a row a context, and traces. What a column is, is
    recognised, and can be said by --map answer=response.
    """
    workspace = console.open_workspace()
    console.one_of("format", file_format, (logged_file.AUTO, *logged_file.FORMATS))
    if wrong := [each for each in mapped if "=" not in each]:
        raise UsageError(f"--map is ROLE=COLUMN, as --map answer=response: '{wrong[0]}' is not.")
    roles = {role.strip(): column.strip() for role, _, column in (each.partition("=") for each in mapped)}
    if dry_run:
        _show_reading(workspace, logged_file.read(console.read(file), file.name, file_format, roles), as_json)
        return
    console.read(file)
    chosen: dict[str, Any] = {"corpus": corpus, "questions": questions, "file_format": file_format, "roles": roles}
    given = (file.name, str(file.absolute()))
    job = run_verbs.import_run(workspace, given, run_name or file.stem, system=system, **chosen)
    result = console.perform(workspace, job).result
    console.warn(*result["problems"])
    if len(result["runs"]) == 1:
        results_commands.results(result["runs"][0], as_json=as_json)
        return
    names = ", ".join(f"'{name}'" for name in result["runs"])
    console.show(dict(result), as_json, lambda: console.say(f"{result['items']:,} items imported as {names}."))


def _show_reading(workspace: console.Workspace, reading: logged_item.Reading, as_json: bool) -> None:
    judging, known = run_verbs.foresee_log(workspace, reading.logs), reading.counts
    of_logs = [(log, log.counts) for log in reading.logs]
    first = [item for log in reading.logs for item in log.items[:5]][:5]
    body: dict[str, Any] = {"format": reading.format, "columns": reading.columns, "roles": reading.roles}
    body["systems"] = [{"system": log.system, "problems": log.told, **own} for log, own in of_logs]
    body |= {"judging": asdict(judging), "first": [asdict(item) for item in first]}

    def draw() -> None:
        rows = []
        for item in first:
            contexts = " | ".join(each.text or each.id for each in item.contexts)
            scores = ", ".join(f"{name} {value:g}" for name, value in item.scores.items())
            texts = (item.id, item.question, item.answer or item.error, contexts, item.reference, scores)
            rows.append([markup.shortened(console.line(text), 80) for text in texts])
        console.table(("id", "question", "answer", "contexts", "reference", "scores"), rows)
        roles = [(logged_file.ROLES[role].label, each) for role, each in reading.roles.items()]
        console.table(("role", "column"), roles)
        has = [name for name, count in known.items() if count]
        console.table(("system", *has), [(log.system, *(own[name] for name in has)) for log, own in of_logs])
        console.say(f"Not known: {', '.join(name for name in known if name not in (*has, 'errors'))}.")
        cost = "" if judging.cost is None else f", {requests.dollars(judging.cost)}"
        console.say(
            f"A judge would take at most {counts.counted(judging.calls, 'call')}, about {judging.prompt_tokens:,} "
            f"tokens read and {judging.completion_tokens:,} written{cost}. Nothing was stored."
        )

    console.show(body, as_json, draw)
    console.warn(*dict.fromkeys(problem for log in reading.logs for problem in log.told))


@runs_app.command("history")
def runs_history(
    tag: Annotated[str, typer.Argument(help="Of the runs, as a nightly job gives them.")],
    metric: Annotated[str, typer.Option(help="Default: recall at each run's k, else of their answers.")] = "",
    as_json: Json = False,
) -> None:
    """Show a metric of the runs with a tag over time, and with which run it changed."""
    workspace = console.open_workspace()
    found = history.history(workspace, [run for run in workspace.store.runs.all() if tag in run.tags], metric)
    changed = found.runs[found.changed].name if found.changed is not None else None
    runs = [{"run": run.name, "mean": mean} for run, mean in zip(found.runs, found.means, strict=True)]
    body = {"metric": found.metric, "questions": found.n, "changed": changed, "difference": found.difference}
    columns: console.Columns = {
        "run": "run",
        f"{found.metric} [95 %]": lambda record: console.interval(record["mean"]),
        "": lambda record: "changed" if record["run"] == changed else "",
    }

    def draw() -> None:
        console.say(found.sentence)
        console.table([*columns], console.cells(runs, columns))

    console.show(body | {"runs": runs}, as_json, draw)


@runs_app.command("record", cls=options.DeclaredCommand)
@options.declared(RunConfig, only=("split", "limit", "seed", "metrics", "judge"))
def runs_record(
    questions: Annotated[str, typer.Argument(metavar="SET")],
    choices: Mapping[str, Any],
    target: Annotated[str, typer.Option(help="A name of `ragviz targets list`, or module:function.")],
    run_name: Annotated[str, typer.Option("--name")],
    repeats: Annotated[int, typer.Option(min=1, help="Ask so often, to see how far it disagrees with itself.")] = 1,
    budget: Budget = None,
    as_json: Json = False,
) -> None:
    """Ask a running system the questions of SET, and store what it reads and answers as a run.

    Given again, it asks what is missing or failed, and nothing else. --metrics judges the answers then.
    """
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(questions)
    new = target_verbs.record(workspace, target, question_set, run_name, choices, repeats, budget)
    job = console.perform(workspace, new)
    results_commands.results(job.result["run"], as_json=as_json)
    if failed := job.result["unanswered"]:
        console.warn(*(f"{question_id}: {reason}" for question_id, reason in list(failed.items())[:3]))
        console.fail(f"{counts.counted(len(failed), 'question')} got no answer: the same command asks them again.", 1)


@runs_app.command("again")
def runs_again(
    run_name: RunName,
    name: Annotated[str, typer.Option("--name", help="Name of the new run; default: RUN, again.")] = "",
    k: K = None,
    as_json: Json = False,
) -> None:
    """Update the index of RUN, rank its questions again, and show what new documents did to earlier ones' questions.

    By document: recall before, after, and after without the chunks of the documents that were added since. What is
    found again without them was lost to their competition. A finished run called NAME is not made a second time.
    """
    workspace = console.open_workspace()
    earlier = workspace.store.runs.get(run_name)
    name = name or f"{earlier.name}, again"
    later = workspace.store.runs.find(name)
    if later is None or later.status != "done":
        console.perform(workspace, run_verbs.rank_again(workspace, earlier, name))
        later = workspace.store.runs.get(name)
    found = competition.competition(workspace, earlier, later, k)
    words = health_sentences.competition(found)
    before, after = (run.provenance["index_config"] for run in (earlier, later))
    if before != after:
        other = f"The index was built with other choices than when '{earlier.name}' was made: "
        words = [f"{other}what was lost or gained may be due to that, not to new documents.", *words]
    console.show({"words": words, **asdict(found)}, as_json, lambda: _draw_again(found, words))


def _draw_again(found: competition.Competition, words: Sequence[str]) -> None:
    columns = ("document", "n", "before", "after", "without new", "lost", "to competition")
    changed = [row for row in found.rows if not row.before == row.after == row.without]
    rows = []
    for row in (found.total, *changed):
        recalls = (f"{recall:.3f}" for recall in (row.before, row.after, row.without))
        rows.append((row.document or "all", row.n, *recalls, row.lost, row.to_competition))
    console.table(columns, rows, f"Recall@{found.k}: {found.earlier} → {found.later}")
    if unchanged := len(found.rows) - len(changed):
        console.say(f"Unchanged: {counts.counted(unchanged, 'document')}, which --json lists too.")
    console.say(*words)
    if found.lost:
        lost = []
        for each in found.lost:
            to = "competition" if each.to_competition else "other"
            ranks = each.rank_before or "–", each.rank_after or "–"
            lost.append((each.question_id, console.line(each.text), *ranks, to))
        console.table(("question", "text", "rank before", "rank now", "lost to"), lost)


@runs_app.command("edit")
def runs_edit(
    run_name: RunName,
    name: Annotated[str, typer.Option(help="Another name; it is found by the old one too, until that is taken.")] = "",
    note: Annotated[str | None, typer.Option(help='In place of its note; "" removes it.')] = None,
    tags: Annotated[list[str], typer.Option("--tag", help="To be added; may be repeated.")] = [],
    removed: Annotated[list[str], typer.Option("--untag", help="To be removed; may be repeated.")] = [],
) -> None:
    """Rename a run, write a note on it, add or remove tags; prints what it has then."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    if name:
        run_verbs.rename(workspace, run, name)
    if note is not None or tags or removed:
        kept = [tag for tag in (*run.tags, *tags) if tag not in removed]
        run_verbs.label(workspace, run, note=note, tags=kept)
    now = workspace.store.runs.get(run.id)
    console.say(f"Run '{now.name}', {', '.join(now.tags) or 'no tags'}", now.note)


@runs_app.command("delete")
def runs_delete(run_name: str, yes: Yes = False) -> None:
    """Delete a run with its results."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    console.confirm(f"Delete run '{run.name}'?", yes)
    run_verbs.delete(workspace, run)


@options.declared(RunConfig)
def run_questions(
    index_name: Annotated[str, typer.Option("--index")],
    questions: Annotated[str, typer.Option("--questions")],
    choices: Mapping[str, Any],
    run_name: Annotated[str, typer.Option("--name")] = "",
    budget: Budget = None,
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
        console.say(not_counted, estimate.paid_words)
        if estimate.seconds:
            minutes = f"about {estimate.seconds / 60:.1f} minutes" if estimate.seconds >= 6 else "a few seconds"
            console.say(f"{minutes}, estimated from this endpoint's own calls")
        elif estimate.seconds is None:
            console.say("the endpoint does not answer: the duration is not known")

    console.show(body, as_json, draw)


def rejudge(run_name: RunName, budget: Budget = None, as_json: Json = False) -> None:
    """Answer and judge again what failed in a run, and nothing else."""
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    job = console.perform(workspace, run_verbs.judge_again(workspace, run, budget))
    if not job.result["asked"]:
        console.warn(f"Nothing in run '{run.name}' had failed: nothing was judged again.")
    results_commands.results(run.name, as_json=as_json)
    _end_with(job)


def judge(
    run_name: RunName,
    metrics: Annotated[str, typer.Option(help="Metrics of the answers: all, or names with commas.")] = "all",
    judge_model: Annotated[str, typer.Option("--judge", help="Default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    budget: Budget = None,
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
