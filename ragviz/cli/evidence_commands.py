"""`ragviz questions mend` and `find-evidence`: evidence that was lost, or was never known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.options import Json
from ragviz.cli.questions_commands import questions_app, show_saved
from ragviz.core.errors import UsageError
from ragviz.core.question_set import QuestionSet
from ragviz.questions import authoring, occurrences
from ragviz.service import question_verbs
from ragviz.store import schema
from ragviz.text import counts, former_documents


@questions_app.command("mend")
def questions_mend(
    set_name: str,
    question_id: Annotated[str, typer.Argument(help="Default: list stale evidence with proposals.")] = "",
    place: Annotated[str, typer.Option(help="Piece of evidence: its PASSAGE.MEMBER as listed.")] = "1.1",
    proposal: Annotated[int, typer.Option(min=1, help="Number of the listed proposal to use.")] = 1,
    as_json: Json = False,
) -> None:
    """List stale evidence with proposals of where its text is now; or repair one piece by a proposal."""
    workspace = console.open_workspace()
    store, question_set = workspace.store, workspace.store.sets.get(set_name)
    if not question_id:
        _list_stale(workspace, question_set, as_json)
        return
    question = authoring.question_of(store, question_set, question_id)
    piece = next((s for s in authoring.stale([question]) if _numbered(s) == place), None)
    if piece is None:
        raise UsageError(f"Question '{question_id}' has no stale evidence {place}: `ragviz questions mend` lists it.")
    [proposals] = _proposals(workspace, question_set, [piece])
    if proposal > len(proposals):
        raise UsageError(
            f"{counts.counted(len(proposals), 'proposal', 'is')} made for this piece, so there is no number "
            f"{proposal}: `ragviz questions mend` lists them, and `ragviz questions edit --quote` takes other text."
        )
    span = proposals[proposal - 1].span
    after = authoring.changed(question, evidence=authoring.mended(question.evidence, piece.group, piece.member, span))
    question_verbs.save(workspace, question_set, after, schema.version_of(question), "mended evidence")
    if span.text != piece.span.text:
        console.warn(f"The passage has other words now: check that “{question.answer}” is still the answer.")
    show_saved(authoring.question_of(store, question_set, question_id), as_json)


def _numbered(stale: authoring.Stale) -> str:
    return f"{stale.group + 1}.{stale.member + 1}"


def _proposals(
    workspace: console.Workspace, question_set: QuestionSet, pieces: Sequence[authoring.Stale]
) -> list[list[occurrences.Place]]:
    """Return the proposals for each piece: in its own document, in all where that is deleted."""
    store, corpus_id = workspace.store, question_set.corpus_id
    known = {info.id for info in store.documents.all(corpus_id)}
    deleted = {each.span.text for each in pieces if each.span.document_id not in known}
    anywhere = occurrences.proposals_anywhere(store, corpus_id, deleted)

    def of(piece: authoring.Stale) -> list[occurrences.Place]:
        if piece.span.document_id not in known:
            return anywhere[piece.span.text]
        texts = store.documents.texts(corpus_id, [piece.span.document_id])
        return [proposal for document in texts for proposal in occurrences.proposals(document, piece.span.text)]

    return [of(piece) for piece in pieces]


def _list_stale(workspace: console.Workspace, question_set: QuestionSet, as_json: bool) -> None:
    store = workspace.store
    names = store.documents.names(question_set.corpus_id)
    pieces = authoring.stale(store.questions.all(question_set.id))
    records: list[dict[str, Any]] = [
        {
            "question": s.question.id,
            "place": _numbered(s),
            "text": s.span.text,
            "document": names.get(s.span.document_id),
            "proposals": [asdict(proposal) for proposal in proposals],
        }
        for s, proposals in zip(pieces, _proposals(workspace, question_set, pieces), strict=True)
    ]

    def draw() -> None:
        if not records:
            console.say("No evidence is stale.")
        rows: list[tuple[object, ...]] = []
        for record in records:
            document = record["document"] or former_documents.UNKNOWN
            rows.append((record["question"], record["place"], document, "", record["text"]))
            for number, each in enumerate(record["proposals"], start=1):
                span = each["span"]
                document = names.get(span["document_id"], "")
                rows.append(("", f"proposal {number}", document, f"{each['alike']:.2f}", span["text"]))
        if rows:
            console.table(("question", "place", "document", "alike", "text"), rows)
        if any(not record["proposals"] for record in records):
            console.say("Where no passage is proposed, quote it: ragviz questions edit --quote.")

    console.show(records, as_json, draw)


@questions_app.command("find-evidence")
def questions_find_evidence(
    set_name: str,
    question_id: Annotated[str, typer.Argument(help="Decide on this question only.")] = "",
    accept: Annotated[str, typer.Option(help="exact: save what stands at one place word for word; all.")] = "",
    places: Annotated[list[int], typer.Option("--place", min=1, help="Listed place that is its evidence.")] = [],
    as_json: Json = False,
) -> None:
    """List where the answers of questions without evidence stand in the documents; or save places as their evidence."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    console.one_of("accept", accept, ("exact", "all"))
    if (accept and places) or bool(question_id) != bool(places):
        raise UsageError("Give --accept for the whole set, or a question with --place, once or more.")
    proposals = occurrences.search(workspace, question_set, question_id)
    if question_id:
        _decide(workspace, question_set, proposals, question_id, places)
        console.show({"question": question_id, "places": places}, as_json, lambda: console.say("Saved."))
        return
    certain = occurrences.certain(proposals, accept) if accept else []  # type: ignore[arg-type]  # checked above
    best = [(p.question, p.places[:1]) for p in certain]
    refused = question_verbs.accept_evidence(workspace, question_set, best)
    names = workspace.store.documents.names(question_set.corpus_id)
    records: list[dict[str, Any]] = [
        {"id": each.question.id, "question": each.question.text, "answer": each.question.answer}
        | {"found": each.outcome, "doubt": each.doubt}
        | {"places": [asdict(place) | {"document": names.get(place.span.document_id)} for place in each.places]}
        for each in proposals
    ]
    body = {"accepted": len(certain) - refused, "changed_meanwhile": refused, "questions": records}
    console.show(body, as_json, lambda: _draw_proposals(records))
    if accept and not as_json:
        console.say(f"{len(certain) - refused:,} accepted as evidence.")
    if refused:
        console.warn(f"{refused:,} changed by somebody else meanwhile: not saved.")


def _decide(
    workspace: console.Workspace,
    question_set: QuestionSet,
    proposals: Sequence[occurrences.Proposal],
    question_id: str,
    numbers: Sequence[int],
) -> None:
    proposal = next((p for p in proposals if p.question.id == question_id), None)
    if proposal is None:
        raise UsageError(f"Question '{question_id}' of '{question_set.name}' has evidence, or does not exist.")
    if max(numbers, default=0) > len(proposal.places):
        listed = counts.counted(len(proposal.places), "place", "is")
        raise UsageError(f"{listed} listed for this question: there is no number {max(numbers)}.")
    best = [(proposal.question, [proposal.places[number - 1] for number in dict.fromkeys(numbers)])]
    if question_verbs.accept_evidence(workspace, question_set, best):
        raise UsageError(f"Question '{question_id}' was changed by somebody else meanwhile: nothing was saved.")


def _draw_proposals(records: Sequence[Mapping[str, Any]]) -> None:
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
