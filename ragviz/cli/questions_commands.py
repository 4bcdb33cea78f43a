"""`ragviz questions`: question sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ragviz.analysis import evaluate
from ragviz.cli import asked_commands, console, exchange_commands, generate_commands, options
from ragviz.cli.console import Json
from ragviz.core.document import Evidence
from ragviz.core.errors import UsageError
from ragviz.core.question import SIDES, Question, QuestionStatus, QuestionStyle, QuestionType, Split
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.questions import authoring, interchange, occurrences, question_types, sets, splits
from ragviz.service import question_verbs
from ragviz.store import schema
from ragviz.text import counts, former_documents

questions_app = console.group("Question sets: generate, import, export, review.")
questions_app.command("import")(exchange_commands.questions_import)
questions_app.command("export")(exchange_commands.questions_export)
questions_app.command("asked")(asked_commands.questions_asked)
questions_app.command("generate", cls=options.DeclaredCommand)(generate_commands.questions_generate)
questions_app.command("plan")(generate_commands.questions_plan)


@questions_app.command("banks")
def questions_banks(set_name: str, file: Path, as_json: Json = False) -> None:
    """Import RAGQuestEval banks, {question id: {key_info, question, answers}}, for the questions of a set."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    imported = sets.import_banks(workspace, question_set, console.read(file))
    console.warn(*imported.problems)
    body = {"questions": question_set.name, "banks": len(imported.banks), "problems": list(imported.problems)}
    console.show(body, as_json, lambda: console.say(counts.counted(len(imported.banks), "bank")))


@questions_app.command("list")
def questions_list(as_json: Json = False) -> None:
    """List the question sets."""
    store = console.open_workspace().store
    names = {c.id: c.name for c in store.corpora.all()}
    question_sets, states = store.sets.all(), get_args(QuestionStatus)
    rows = [
        {"questions": s.name, "corpus": names[s.corpus_id], "total": s.total, **s.counts}
        | {"split": s.split and asdict(s.split), **({"sides": s.sides} if s.split else {})}
        | {"paid_calls": (paid := store.payments.of(s.id)).calls, "paid_dollars": paid.dollars}
        for s in question_sets
    ]
    drawn = [
        (s.name, names[s.corpus_id], s.total, *(s.counts.get(state, 0) for state in states), splits.set_words(s))
        for s in question_sets
    ]
    console.show(rows, as_json, lambda: console.table(("question set", "corpus", "total", *states, "split"), drawn))


@questions_app.command("split")
def questions_split(
    set_name: str,
    kind: Annotated[
        str,
        typer.Option(help="stratified: each document's questions, kind by kind; grouped: whole documents on one side."),
    ],
    share: Annotated[float, typer.Option(help="Share of validation, between 0 and 1.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    remake: Annotated[bool, typer.Option("--remake", help="Also when runs used the present split.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the sides, and store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Divide a set into validation, to choose configurations on, and test, to report the chosen one on.

    The split is kept with the set; `ragviz run --split validation` asks one side.
    """
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    if dry_run:
        questions = workspace.store.questions.all(question_set.id)
        sides = splits.sides_of(questions, kind, share, seed)
        questions = [replace(question, split=sides.get(question.id, "")) for question in questions]
        made: Any = Split(kind, share, seed)  # type: ignore[arg-type]  # `sides_of` has checked it
    else:
        question_set = sets.split(workspace, question_set, kind, share, seed, remake=remake)
        questions, made = workspace.store.questions.all(question_set.id), question_set.split
    counted, shared = splits.parts(questions), splits.shared_words(made, questions)
    body = {"questions": question_set.name, "split": asdict(made), "stored": not dry_run}
    body |= {"sides": [asdict(part) for part in counted], "documents_on_both": len(splits.on_both(questions))}

    def draw() -> None:
        rows = [(p.side, p.documents, p.questions, *(p.kinds.get(k, 0) for k in evaluate.KINDS)) for p in counted]
        console.table(("side", "documents", "questions", *evaluate.KINDS), rows, f"{question_set.name}, {kind}")
        console.say(splits.KINDS[kind], shared, "Nothing was stored." if dry_run else "")

    console.show(body, as_json, draw)


_NOT_SAID = "none"
"""What a filter calls the questions of which nobody said type or style."""


@questions_app.command("show")
def questions_show(
    set_name: str,
    status: Annotated[str, typer.Option(help="proposed, accepted or rejected.")] = "",
    kind: Annotated[
        str, typer.Option(help="single, multi, reference (its evidence is not known) or unanswerable.")
    ] = "",
    document: Annotated[str, typer.Option(help="Only questions with evidence in this document.")] = "",
    find: Annotated[str, typer.Option(help="Words in question or answer.")] = "",
    split: Annotated[str, typer.Option(help="validation, test, or neither side of the split.")] = "",
    question_type: Annotated[
        str, typer.Option("--type", help="What they ask for: fact, number, bridge …; none where nothing is said.")
    ] = "",
    style: Annotated[
        str, typer.Option(help="How they are put: colleague, keywords …; none where nothing is said.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Show the questions of a set, all or those that pass the filters."""
    store = console.open_workspace().store
    question_set = store.sets.get(set_name)
    for noun, value, known in (
        ("type", question_type, (*question_types.TYPES, _NOT_SAID)),
        ("style", style, (*question_types.STYLES, _NOT_SAID)),
        ("status", status, get_args(QuestionStatus)),
        ("kind", kind, evaluate.KINDS),
        ("side", split, (*SIDES, "neither")),
    ):
        if value:
            console.one_of(noun, value, known)
    names = store.documents.names(question_set.corpus_id) if document else {}
    words = find.casefold()
    questions = [
        q
        for q in store.questions.all(question_set.id)
        if status in ("", q.status)
        and kind in ("", q.kind)
        and split in ("", q.split or "neither")
        and question_type in ("", q.type or _NOT_SAID)
        and style in ("", q.style or _NOT_SAID)
        and (not document or former_documents.is_among(document, interchange.documents_of(q, names)))
        and (words in q.text.casefold() or words in q.answer.casefold())
    ]
    divided = ("split",) if question_set.split else ()
    drawn = [
        (q.id, q.status, q.kind, q.type, q.style, *(q.split for _ in divided), q.text, q.answer, q.reason)
        for q in questions
    ]
    rows = [asdict(q) | {"kind": q.kind, "version": schema.version_of(q)} for q in questions]
    columns = ("id", "status", "kind", "type", "style", *divided, "question", "answer", "reason")
    console.show(rows, as_json, lambda: console.table(columns, drawn))
    console.warn(splits.neither_words(question_set))


@questions_app.command("review")
def questions_review(
    set_name: str,
    ids: list[str],
    accept: Annotated[bool, typer.Option("--accept/--reject")] = True,
    reason: Annotated[str, typer.Option(help="Why they are rejected.")] = "",
) -> None:
    """Accept or reject questions by id."""
    workspace = console.open_workspace()
    store = workspace.store
    question_set = store.sets.get(set_name)
    chosen = [q for q in store.questions.all(question_set.id) if q.id in ids]
    if len(chosen) < len(set(ids)):
        raise UsageError(
            f"Set '{question_set.name}' has only {len(chosen)} of these {counts.counted(len(set(ids)), 'question')}."
        )
    status: Any = "accepted" if accept else "rejected"
    why = "" if accept else reason or "rejected by hand"
    edit = Edit(workspace.settings.person, f"{status} a question")
    for question in chosen:
        after = authoring.with_status(question, status, why)
        authoring.save(store, question_set, after, schema.version_of(question), edit)


Quotes = Annotated[list[str], typer.Option("--quote", help="Text that the answer rests on; each one is needed.")]
Documents = Annotated[list[str], typer.Option("--document", help="Document of the quotes: one for all, or one each.")]
Evidences = Annotated[
    str, typer.Option("--evidence", help="Instead of quotes: JSON as in an import's column evidence.")
]


Types = Annotated[str, typer.Option("--type", help="What it asks for: fact, number, list, bridge …")]
Styles = Annotated[str, typer.Option("--style", help="How it is put: colleague, keywords, long …")]


def _type_and_style(question_type: str, style: str) -> tuple[QuestionType, QuestionStyle]:
    """Return the type and the style that options name; "" where they name none."""
    if question_type:
        console.one_of("type", question_type, tuple(question_types.TYPES))
    if style:
        console.one_of("style", style, tuple(question_types.STYLES))
    return question_type, style  # type: ignore[return-value]  # checked above


@questions_app.command("add")
def questions_add(
    set_name: str,
    text: Annotated[str, typer.Option("--question")],
    answer: Annotated[str, typer.Option(help="The reference answer.")] = "",
    quotes: Quotes = [],  # noqa: B006
    documents: Documents = [],  # noqa: B006
    evidence: Evidences = "",
    unanswerable: Annotated[bool, typer.Option("--unanswerable", help="The documents do not answer it.")] = False,
    question_type: Types = "",
    style: Styles = "",
    corpus_name: Annotated[str, typer.Option("--corpus", help="Corpus of a new set.")] = "",
    as_json: Json = False,
) -> None:
    """Add a question; without a quote it is reference only, without an answer too, one that nothing answers."""
    workspace = console.open_workspace()
    existing = {s.name: s.corpus_id for s in workspace.store.sets.all()}
    if set_name not in existing and not corpus_name:
        raise UsageError(f"There is no question set '{set_name}': name the --corpus of the new set.")
    corpus = workspace.store.corpora.get(corpus_name or existing[set_name])
    new_evidence = _evidence(workspace, corpus.id, quotes, documents, evidence)
    if unanswerable and new_evidence:
        raise UsageError("A question with evidence is answerable: give quotes or --unanswerable, not both.")
    kind, put = _type_and_style(question_type, style)
    question = authoring.written(
        text, answer, new_evidence or (), unanswerable=unanswerable, question_type=kind, style=put
    )
    question_set = sets.question_set(workspace, corpus, set_name)
    authoring.add(workspace.store, question_set, question, workspace.settings.person)
    _show_saved(question, as_json)


@questions_app.command("edit")
def questions_edit(
    set_name: str,
    question_id: str,
    text: Annotated[str | None, typer.Option("--question")] = None,
    answer: Annotated[str | None, typer.Option()] = None,
    quotes: Quotes = [],  # noqa: B006
    documents: Documents = [],  # noqa: B006
    evidence: Evidences = "",
    unanswerable: Annotated[
        bool, typer.Option("--unanswerable", help="The documents do not answer it: remove all evidence.")
    ] = False,
    question_type: Types = "",
    style: Styles = "",
    version: Annotated[
        str, typer.Option(help="Save only if this is still its version (`questions show --json`).")
    ] = "",
    as_json: Json = False,
) -> None:
    """Change a question, its answer or its evidence; options that are not given change nothing."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    question = authoring.question_of(workspace.store, question_set, question_id)
    new_evidence = () if unanswerable else _evidence(workspace, question_set.corpus_id, quotes, documents, evidence)
    mark = True if unanswerable else None
    kind, put = _type_and_style(question_type, style)
    after = authoring.changed(
        question, text=text, answer=answer, evidence=new_evidence, unanswerable=mark, question_type=kind or None,
        style=put or None,
    )  # fmt: skip
    edit = Edit(workspace.settings.person, "edited a question")
    authoring.save(workspace.store, question_set, after, version or schema.version_of(question), edit)
    _show_saved(after, as_json)


@questions_app.command("mend")
def questions_mend(
    set_name: str,
    question_id: Annotated[str, typer.Argument(help="Default: list stale evidence with proposals.")] = "",
    place: Annotated[str, typer.Option(help="Piece of evidence: its PASSAGE.MEMBER as listed.")] = "1.1",
    proposal: Annotated[int, typer.Option(min=0, help="Number of the listed proposal to use.")] = 0,
    quotes: Quotes = [],  # noqa: B006
    documents: Documents = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """List stale evidence with proposals of where its text is now; or repair one piece."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    if not question_id:
        _list_stale(workspace, question_set, documents, as_json)
        return
    question = authoring.question_of(workspace.store, question_set, question_id)
    piece = next((s for s in authoring.stale([question]) if _numbered(s) == place), None)
    if piece is None:
        raise UsageError(f"Question '{question_id}' has no stale evidence {place}: `ragviz questions mend` lists it.")
    if bool(quotes) == bool(proposal):
        raise UsageError("Give its text now, by --quote and --document, or the number of a --proposal.")
    if proposal:
        [proposals] = _proposals(workspace, question_set, [piece], documents)
        if proposal > len(proposals):
            raise UsageError(
                f"{counts.counted(len(proposals), 'proposal', 'is')} made for this piece, so there is no number "
                f"{proposal}: `ragviz questions mend` lists them."
            )
        span = proposals[proposal - 1].span
    elif len(quoted := _evidence(workspace, question_set.corpus_id, quotes, documents, "") or ()) == 1:
        span = quoted[0][0]
    else:
        raise UsageError("One piece is repaired at a time: give one --quote.")
    after = authoring.changed(question, evidence=authoring.mended(question.evidence, piece.group, piece.member, span))
    edit = Edit(workspace.settings.person, "mended evidence")
    authoring.save(workspace.store, question_set, after, schema.version_of(question), edit)
    if span.text != piece.span.text:
        console.warn(f"The passage has other words now: check that “{question.answer}” is still the answer.")
    _show_saved(authoring.question_of(workspace.store, question_set, question_id), as_json)


@questions_app.command("find-evidence")
def questions_find_evidence(
    set_name: str,
    question_id: Annotated[str, typer.Argument(help="Decide on this question only.")] = "",
    accept: Annotated[
        str, typer.Option(help="exact: save what stands there word for word, at one place; all: near places too.")
    ] = "",
    places: Annotated[
        list[int], typer.Option("--place", min=1, help="Listed place of the question that is its evidence.")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """List where the answers of questions without evidence stand in the documents; or save places as their evidence."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    if accept:
        console.one_of("accept", accept, ("exact", "all"))
    if (accept and places) or bool(question_id) != bool(places):
        raise UsageError("Give --accept for the whole set, or a question with --place, once or more.")
    proposals = occurrences.search(workspace, question_set, question_id)
    if question_id:
        _decide(workspace, question_set, proposals, question_id, places)
        console.show({"question": question_id, "places": places}, as_json, lambda: console.say("Saved."))
        return
    how: Any = accept
    certain = occurrences.certain(proposals, how) if accept else []
    best, person = [(p.question, p.places[:1]) for p in certain], workspace.settings.person
    refused = question_verbs.accept_evidence(workspace, question_set, best, person)
    accepted = {"accepted": len(certain) - refused, "changed_meanwhile": refused}
    names = {d.id: d.name for d in workspace.store.documents.all(question_set.corpus_id)}
    rows = [_proposal_row(proposal, names) for proposal in proposals]
    console.show(accepted | {"questions": rows}, as_json, lambda: _draw_proposals(rows, accept, accepted))


def _decide(
    workspace: console.Workspace,
    question_set: QuestionSet,
    proposals: Sequence[occurrences.Proposal],
    question_id: str,
    numbers: Sequence[int],
) -> None:
    """Save the places of these numbers as the question's evidence."""
    proposal = next((p for p in proposals if p.question.id == question_id), None)
    if proposal is None:
        raise UsageError(f"Question '{question_id}' of '{question_set.name}' has evidence, or does not exist.")
    if max(numbers, default=0) > len(proposal.places):
        raise UsageError(
            f"{counts.counted(len(proposal.places), 'place', 'is')} listed for this question: there is no number "
            f"{max(numbers)}."
        )
    chosen = [proposal.places[number - 1] for number in dict.fromkeys(numbers)]
    best = [(proposal.question, chosen)]
    if question_verbs.accept_evidence(workspace, question_set, best, workspace.settings.person):
        raise UsageError(f"Question '{question_id}' was changed by somebody else meanwhile: nothing was saved.")


def _proposal_row(proposal: occurrences.Proposal, names: Mapping[str, str]) -> dict[str, Any]:
    question = proposal.question
    row: dict[str, Any] = {"id": question.id, "question": question.text, "answer": question.answer}
    row |= {"found": proposal.outcome, "doubt": proposal.doubt}
    return row | {
        "places": [asdict(place) | {"document": names.get(place.span.document_id)} for place in proposal.places]
    }


def _draw_proposals(rows: Sequence[Mapping[str, Any]], accept: str, accepted: Mapping[str, int]) -> None:
    found = ", ".join(f"{sum(r['found'] == name for r in rows):,} {name}" for name in occurrences.OUTCOMES)
    console.say(f"{counts.counted(len(rows), 'question')} without evidence: {found}")
    drawn = []
    for r in rows:
        places: list[tuple[object, ...]] = [
            (number, f"{place['alike']:.2f}", place["document"] or "", console.line(place["span"]["text"]))
            for number, place in enumerate(r["places"], start=1)
        ]
        rest = (r["found"], r["doubt"], console.line(r["question"]))
        drawn += [(r["id"], *cells, *rest) for cells in places or [("",) * 4]]
    header = ("id", "place", "similarity", "document", "text", "found", "doubt", "question")
    console.table(header, drawn)
    if accept:
        console.say(f"{accepted['accepted']:,} accepted as evidence.")
    if accepted["changed_meanwhile"]:
        console.warn(f"{accepted['changed_meanwhile']:,} changed by somebody else meanwhile: not saved.")


def _numbered(stale: authoring.Stale) -> str:
    return f"{stale.group + 1}.{stale.member + 1}"


def _evidence(
    workspace: console.Workspace, corpus_id: str, quotes: Sequence[str], documents: Sequence[str], listed: str
) -> Evidence | None:
    """Return the evidence that the options name, None when they name none."""
    if listed and quotes:
        raise UsageError("Give --quote or --evidence, not both.")
    if listed:
        return authoring.listed(workspace.store, corpus_id, listed)
    if not quotes:
        return None
    if len(documents) not in (1, len(quotes)):
        given = f"{counts.counted(len(quotes), 'quote')} with {counts.counted(len(documents), 'document')}"
        raise UsageError(f"{given}: give one --document, or one each.")
    names = list(documents) * len(quotes) if len(documents) == 1 else documents
    return tuple(
        (authoring.quoted(authoring.document_of(workspace.store, corpus_id, name), quote),)
        for name, quote in zip(names, quotes, strict=True)
    )


def _proposals(
    workspace: console.Workspace, question_set: QuestionSet, pieces: Sequence[authoring.Stale], documents: Sequence[str]
) -> list[list[occurrences.Place]]:
    """Return the proposals for each piece: in its own document, in all where that is deleted, or in the named ones."""
    store, corpus_id = workspace.store, question_set.corpus_id
    named = [authoring.document_of(store, corpus_id, name).id for name in documents]
    known = {info.id for info in store.documents.all(corpus_id)}
    deleted = set() if named else {each.span.text for each in pieces if each.span.document_id not in known}
    anywhere = occurrences.proposals_anywhere(store, corpus_id, deleted)

    def of(piece: authoring.Stale) -> list[occurrences.Place]:
        if not named and piece.span.document_id not in known:
            return anywhere[piece.span.text]
        texts = store.documents.texts(corpus_id, named or [piece.span.document_id])
        return [proposal for document in texts for proposal in occurrences.proposals(document, piece.span.text)]

    return [of(piece) for piece in pieces]


def _list_stale(
    workspace: console.Workspace, question_set: QuestionSet, documents: Sequence[str], as_json: bool
) -> None:
    names = workspace.store.documents.names(question_set.corpus_id)
    questions = workspace.store.questions.all(question_set.id)
    pieces = authoring.stale(questions)
    rows: list[dict[str, Any]] = [
        {
            "question": s.question.id,
            "place": _numbered(s),
            "text": s.span.text,
            "document": names.get(s.span.document_id),
        }
        | {"proposals": [asdict(proposal) for proposal in proposals]}
        for s, proposals in zip(pieces, _proposals(workspace, question_set, pieces, documents), strict=True)
    ]

    def draw() -> None:
        if not rows:
            console.say("No evidence is stale.")
        drawn: list[tuple[object, ...]] = []
        for row in rows:
            drawn.append((row["question"], row["place"], row["document"] or former_documents.UNKNOWN, "", row["text"]))
            for number, each in enumerate(row["proposals"], start=1):
                document = names.get(each["span"]["document_id"], "")
                drawn.append(("", f"proposal {number}", document, f"{each['alike']:.2f}", each["span"]["text"]))
        if drawn:
            console.table(("question", "place", "document", "alike", "text"), drawn)
        if any(not row["proposals"] for row in rows):
            console.say("Where no passage is proposed, give its text now, by --quote and --document.")

    console.show(rows, as_json, draw)


def _show_saved(question: Question, as_json: bool) -> None:
    body = asdict(question) | {"kind": question.kind, "version": schema.version_of(question)}
    console.show(body, as_json, lambda: console.say(f"Saved question {question.id}."))


@questions_app.command("delete")
def questions_delete(set_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete a question set; its runs stay readable."""
    store = console.open_workspace().store
    question_set = store.sets.get(set_name)
    console.confirm(
        f"Delete question set '{question_set.name}' with {counts.counted(question_set.total, 'question')}?", yes
    )
    store.sets.delete(question_set.id)
