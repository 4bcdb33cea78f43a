"""`ragviz questions find-evidence`: evidence that was never known."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.options import Json
from ragviz.cli.questions_commands import questions_app
from ragviz.questions import occurrences
from ragviz.service import question_verbs
from ragviz.text import counts


@questions_app.command("find-evidence")
def questions_find_evidence(
    set_name: str,
    accept: Annotated[str, typer.Option(help="exact: save what stands at one place word for word; all.")] = "",
    as_json: Json = False,
) -> None:
    """List where the answers of questions without evidence stand in the documents; or accept those that are certain."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    console.one_of("accept", accept, ("exact", "all"))
    proposals = occurrences.search(workspace, question_set)
    certain = occurrences.certain(proposals, accept) if accept else []  # type: ignore[arg-type]  # checked above
    best = [(p.question, p.places[:1]) for p in certain]
    refused = question_verbs.accept_evidence(workspace, question_set, best)
    names = workspace.store.documents.names(question_set.corpus_id)
    if not workspace.store.documents.readable(question_set.corpus_id):
        console.warn("There are no documents to search: add those that hold the answers to the corpus of this set.")
    if not proposals:
        console.warn("No question has a reference answer and lacks its evidence: only reference answers are looked up.")
    records: list[dict[str, Any]] = [
        {"id": each.question.id, "question": each.question.text, "answer": each.question.answer}
        | {"found": each.outcome, "doubt": each.doubt}
        | {"places": [asdict(place) | {"document": names.get(place.span.document_id)} for place in each.places]}
        for each in proposals
    ]
    body = {"accepted": len(certain) - refused, "changed_meanwhile": refused, "questions": records}

    def draw() -> None:
        found = ", ".join(f"{sum(r['found'] == name for r in records):,} {name}" for name in occurrences.OUTCOMES)
        console.say(f"{counts.counted(len(records), 'question')} without evidence: {found}")
        rows = []
        for r in records:
            places: list[tuple[object, ...]] = [
                (number, f"{place['alike']:.2f}", place["document"] or "", console.line(place["span"]["text"]))
                for number, place in enumerate(r["places"], start=1)
            ]
            rest = (r["found"], r["doubt"], console.line(r["question"]))
            rows += [(r["id"], *cells, *rest) for cells in places or [("",) * 4]]
        console.table(("id", "place", "similarity", "document", "text", "found", "doubt", "question"), rows)

    console.show(body, as_json, draw)
    if accept and not as_json:
        console.say(f"{len(certain) - refused:,} accepted as evidence.")
    if refused:
        console.warn(f"{refused:,} changed by somebody else meanwhile: not saved.")
