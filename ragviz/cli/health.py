"""`ragviz questions health`: what a question set is worth, and quarantine of what its checks find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.lazy import checks, contents, effects, examination, material, measurements, quarantine
from ragviz.cli.questions import questions_app
from ragviz.cli.versions import By
from ragviz.errors import UsageError

if TYPE_CHECKING:
    from ragviz.analysis.evaluate import Summary
    from ragviz.health.examination import Examination
    from ragviz.records import QuestionSet
    from ragviz.workspace import Workspace

MEASURED = 3
"""Runs whose headline score is measured with and without what a check found, the newest of each way of ranking."""


@questions_app.command("health")
def questions_health(
    set_name: Annotated[str, typer.Argument(metavar="SET")],
    index_name: Annotated[
        str, typer.Option("--index", help="Index whose chunks are read; default: that of the newest run.")
    ] = "",
    check: Annotated[str, typer.Option(help="List the questions that this check found.")] = "",
    put: Annotated[
        str, typer.Option("--quarantine", metavar="CHECK", help="Keep the questions that it found out of runs.")
    ] = "",
    release: Annotated[str, typer.Option(metavar="CHECK", help="Undo the quarantine of a check.")] = "",
    by: By = "",
    as_json: Json = False,
) -> None:
    """Check the questions of a set for faults, and say what it can and cannot notice.

    With recall at k of the newest runs with the questions that a check found, and without.
    """
    workspace = console.open_workspace()
    author = by or workspace.settings.person
    question_set = workspace.store.question_set(set_name)
    for name in filter(None, (check, put, release)):
        console.one_of("check", name, checks.CHECKS)
    index = examination.index_of(workspace, question_set, index_name or None)
    if index is not None and index.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{question_set.name}' are of different corpora.")
    if release:
        _say(quarantine.release(workspace, question_set, release, author), "released from", release)
        question_set = workspace.store.question_set(question_set.id)
    made = examination.kept(workspace, question_set)
    if made is None or not examination.is_current(workspace, question_set, index, made):
        with console.bar() as watch:
            made = examination.examine(workspace, question_set, index, watch)
    body = _body(workspace, question_set, made)
    if put:
        found = [finding.question_id for finding in made.found[put].findings]
        _say(quarantine.quarantine(workspace, question_set, put, found, author), "put into quarantine by", put)
        question_set = workspace.store.question_set(question_set.id)
    console.show(body, as_json, lambda: _draw(body, check))


def _say(count: int, done: str, check: str) -> None:
    title = checks.CHECKS[check].title
    questions = "1 question was" if count == 1 else f"{count:,} questions were"
    console.err.print(console.printable(f"{questions} {done} “{title}”."), highlight=False)


def _body(workspace: Workspace, question_set: QuestionSet, made: Examination) -> dict[str, Any]:
    """Return an examination with its effects and the questions in quarantine, as JSON."""
    runs = material.ways(material.runs_of(workspace, question_set))[:MEASURED]
    summaries = {run.name: measurements.summary_of(workspace, run, curves=False) for run in runs}
    questions = workspace.store.questions(question_set.id)
    texts = {question.id: question.text for question in questions}
    rows = []
    for key, check in checks.CHECKS.items():
        found = made.found[key]
        rows.append(
            {"check": key, "title": check.title, "what": check.what, "how": check.how, "found": len(found.findings)}
            | {"unknown": found.unknown, "note": found.note}
            | {"effects": _effects(summaries, [finding.question_id for finding in found.findings])}
            | {"quarantined": [question.id for question in quarantine.held_by(questions, key)]}
            | {"questions": [asdict(f) | {"question": texts.get(f.question_id, "")} for f in found.findings]}
        )
    head = {"questions": question_set.name, "version": made.version, "index": made.index}
    said = {"verdict": contents.verdict(made.contents), "asked_about": contents.places_words(made.contents)}
    return head | said | {"contents": asdict(made.contents), "checks": rows}


def _effects(summaries: Mapping[str, Summary], ids: list[str]) -> list[dict[str, Any]]:
    return [asdict(effects.effect(name, summary, ids)) for name, summary in summaries.items() if summary.n]


def _draw(body: Mapping[str, Any], check: str) -> None:
    for sentence in (*body["verdict"], body["asked_about"]):
        console.out.print(console.printable(sentence), highlight=False)
    if check:
        row = next(each for each in body["checks"] if each["check"] == check)
        listed = [(f["question_id"], console.line(f["question"]), f["words"]) for f in row["questions"]]
        console.table(("id", "question", "why"), listed, row["title"])
        console.out.print(console.printable(row["unknown"] or row["note"] or row["how"]), highlight=False)
        return
    rows = []
    for row in body["checks"]:
        first = row["effects"][0] if row["effects"] else None
        count = "?" if row["unknown"] else f"{row['found']:,}"
        rows.append((row["check"], row["title"], count, _effect_words(first), len(row["quarantined"]) or ""))
    newest = body["checks"][0]["effects"]
    title = f"{newest[0]['metric']} of {newest[0]['run']}" if newest else "headline score"
    console.table(("check", "what", "found", f"{title} → without them", "in quarantine"), rows)
    for row in body["checks"]:
        if row["unknown"]:
            console.out.print(console.printable(f"{row['title']}: {row['unknown']}"), highlight=False)


def _effect_words(effect: Mapping[str, Any] | None) -> str:
    if effect is None or effect["before"]["mean"] is None:
        return "no run has asked them"
    if not effect["removed"]:
        return f"{effect['before']['mean']:.3f}, unchanged"
    after = effect["after"]
    if after["mean"] is None:
        return f"{effect['before']['mean']:.3f} → none is left"
    return (
        f"{effect['before']['mean']:.3f} → {after['mean']:.3f} [{after['low']:.3f}, {after['high']:.3f}] n={after['n']}"
    )
