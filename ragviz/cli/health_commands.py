"""`ragviz questions health`, `drill`, `asked`: what a question set is worth, notices, and does not ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.cli import console, options
from ragviz.cli.options import Json
from ragviz.cli.questions_commands import questions_app
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.health import (
    contents,
    demand,
    drill,
    effects,
    examination,
    health_sentences,
    material,
    quarantine,
    set_checks,
    synthetic,
)
from ragviz.runs import overviews
from ragviz.service import question_verbs
from ragviz.text import counts

LISTED = 20
"""Clusters of a log that are printed."""
MOST_MEASURED = 3
"""Runs whose headline scores are measured with and without what a check found, the newest of each way of ranking."""


@questions_app.command("health")
def questions_health(
    set_name: Annotated[str, typer.Argument(metavar="SET")],
    index_name: Annotated[str, typer.Option("--index", help="Whose chunks are read; default: the newest run's.")] = "",
    check: Annotated[str, typer.Option(help="List the questions that this check found.")] = "",
    put: Annotated[str, typer.Option("--quarantine", metavar="CHECK", help="Keep what it found out of runs.")] = "",
    release: Annotated[str, typer.Option(metavar="CHECK", help="Undo the quarantine of a check.")] = "",
    as_json: Json = False,
) -> None:
    """Check the questions of a set for faults, and say what it can and cannot notice.

    With recall at k, and a metric of answers, of the newest runs with the questions that a check found, and without.
    """
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    for name in (check, put, release):
        console.one_of("check", name, set_checks.CHECKS)
    index = examination.index_of(workspace, question_set, index_name or None)
    if index is not None and index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    if release:
        _say(question_verbs.release(workspace, question_set, release), "released from", release)
        question_set = workspace.store.sets.get(question_set.id)
    made = examination.kept(workspace, question_set)
    if made is None or not examination.is_current(workspace, question_set, index, made):
        with console.bar() as watch:
            made = examination.examine(workspace, question_set, index, watch)
    questions = workspace.store.questions.all(question_set.id)
    runs = material.runs_of(workspace, question_set)
    measured = _measured(workspace, questions, material.ways(runs)[:MOST_MEASURED], made)
    body = _body(made, question_set.name, questions, measured)
    body["warning"] = synthetic.banner([run.config for run in runs], [q.generator for q in questions if q.asked])
    if put:
        found = [finding.question_id for finding in made.found[put].findings]
        _say(question_verbs.quarantine(workspace, question_set, put, found), "put into quarantine by", put)
    console.show(body, as_json, lambda: _draw(body, measured, check))


def _say(count: int, done: str, check: str) -> None:
    console.warn(f"{counts.counted(count, 'question', 'was')} {done} “{set_checks.CHECKS[check].title}”.")


def _measured(
    workspace: console.Workspace, questions: Sequence[Question], runs: Sequence[Run], made: examination.Examination
) -> dict[str, list[effects.Effect]]:
    headlines = [effects.headline(workspace, r, overviews.summary_at(workspace, r)) for r in runs]
    concerned = {key: quarantine.concerned(questions, key, made.found[key]) for key in set_checks.CHECKS}
    return {
        key: [effects.effect(headline, ids) for headline in headlines if headline] for key, ids in concerned.items()
    }


def _body(
    made: examination.Examination,
    name: str,
    questions: Sequence[Question],
    measured: Mapping[str, list[effects.Effect]],
) -> dict[str, Any]:
    texts = {question.id: question.text for question in questions}
    rows = []
    for key, check in set_checks.CHECKS.items():
        found = made.found[key]
        rows.append(
            {"check": key, "title": check.title, "what": check.what, "how": check.how, "found": len(found.findings)}
            | {"unknown": found.unknown, "note": found.note}
            | {"effects": [asdict(effect) for effect in measured[key]]}
            | {"quarantined": [question.id for question in quarantine.held_by(questions, key)]}
            | {"questions": [asdict(f) | {"question": texts.get(f.question_id, "")} for f in found.findings]}
        )
    head = {"questions": name, "version": made.version, "index": made.index}
    said = {"verdict": contents.verdict(made.contents), "contents": asdict(made.contents)}
    return head | said | {"checks": rows}


def _draw(body: Mapping[str, Any], measured: Mapping[str, list[effects.Effect]], check: str) -> None:
    warning = f"Warning: {body['warning']}" if body["warning"] else ""
    console.say(warning, *body["verdict"])
    if check:
        row = next(each for each in body["checks"] if each["check"] == check)
        listed = [(f["question_id"], console.line(f["question"]), f["words"]) for f in row["questions"]]
        console.table(("id", "question", "why"), listed, row["title"])
        console.say(row["unknown"] or row["note"] or row["how"])
        return
    rows = []
    for row in body["checks"]:
        newest = next(iter(measured[row["check"]]), None)
        count, changed = f"{row['found']:,}", effects.words(newest) if newest else "no run has asked them"
        if row["unknown"]:
            count, changed = "?", "not known"
        elif set_checks.CHECKS[row["check"]].of_outcomes:
            changed = "–"
        rows.append((row["check"], row["title"], count, changed, len(row["quarantined"]) or ""))
    whole = next((each[0] for each in measured.values() if each), None)
    title = f"{effects.head(whole)}; without them" if whole else "headline score"
    console.table(("check", "what", "found", title, "in quarantine"), rows)
    for row in body["checks"]:
        if row["unknown"]:
            console.say(f"{row['title']}: {row['unknown']}")


@questions_app.command("drill", cls=options.DeclaredCommand)
@options.declared(RunConfig, only=("retriever",))
def questions_drill(
    set_name: Annotated[str, typer.Argument(metavar="SET")],
    index_name: Annotated[str, typer.Option("--index")],
    choices: Mapping[str, Any],
    k: Annotated[int, typer.Option("-k", min=1, help="Chunks among which the evidence has to be.")] = 3,
    repetitions: Annotated[int, typer.Option(min=1, help="Plantings of each size.")] = 20,
    as_json: Json = False,
) -> None:
    """Leave evidence out of the rankings of an index, and count what SET notices.

    In several sizes and often, in other places each time. Index, documents and runs stay as they are.
    """
    workspace = console.open_workspace()
    question_set, info = workspace.store.sets.get(set_name), workspace.store.indexes.get(index_name)
    chosen: dict[str, Any] = {**choices, "k": k, "repetitions": repetitions}
    console.perform(workspace, question_verbs.drill(workspace, question_set, info, chosen))
    fact = drill.stored(workspace, question_set)
    assert fact is not None
    words = health_sentences.drill(fact)

    def draw() -> None:
        rows: list[Sequence[object]] = [_row("nothing", fact["false_alarms"])]
        rows += [_row(health_sentences.points(found["loss"]), found) for found in fact["losses"]]
        title = f"{fact['metric']} by {fact['retriever']} on {fact['index']}"
        console.table(("left out", "planted", "called worse"), rows, title)
        console.say(words)

    console.show(fact | {"words": words}, as_json, draw)


def _row(size: str, found: Mapping[str, Any]) -> Sequence[object]:
    if found.get("reason"):
        return (size, f"not planted: {found['reason']}", "")
    planted = f"{100 * found['planted']:.1f} points" if "planted" in found else ""
    return (size, planted, f"{found['worse']}/{found['repetitions']}")


@questions_app.command("asked")
def questions_asked(
    set_name: str,
    file: Annotated[Path | None, typer.Argument(help="CSV, TSV, JSONL or text; default: what was read before.")] = None,
    index_name: Annotated[str, typer.Option("--index", help="Index whose embedder compares meanings.")] = "",
    as_json: Json = False,
) -> None:
    """Read a log of what people asked: what the set does not ask, the most asked first.

    Nothing but texts and counts is kept of it; keys, addresses of mail and long numbers are taken out.
    """
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    if file is not None:
        console.read(file)
        if index_name:
            workspace.store.indexes.get(index_name)
        given = (file.name, str(file.absolute()))
        console.perform(workspace, question_verbs.read_log(workspace, question_set, given, index=index_name))
    read = demand.stored(workspace, question_set)
    if read is None:
        raise UsageError(f"Nothing is known of what people ask of '{question_set.name}': give a log.")
    unasked = read.unasked

    def draw() -> None:
        console.say(*demand.sentences(read))
        if unasked:
            more = f" (the first {LISTED} of {len(unasked):,})" if len(unasked) > LISTED else ""
            rows = [(each.count, each.texts, f"{each.alike:.2f}", each.text) for each in unasked[:LISTED]]
            console.table(("asked", "texts", "nearest question", "text"), rows, f"Asked, and not by the set{more}")
        console.warn(*read.notes)

    console.show({"questions": question_set.name, **asdict(read), "share": read.share}, as_json, draw)
