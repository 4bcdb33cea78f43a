"""`ragviz questions`: question sets, written, exchanged, reviewed, and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ragviz.analysis import evaluate
from ragviz.cli import console
from ragviz.cli.options import Json, Kind, QuoteDocuments, Quotes, Style, Type, WithEvidence, Yes
from ragviz.core.document import Evidence
from ragviz.core.errors import UsageError
from ragviz.core.question import SIDES, Question, QuestionStatus, Split
from ragviz.questions import authoring, exchange, interchange, occurrences, question_types, splits, versions
from ragviz.questions.formats import input_file as input_files
from ragviz.questions.formats import set_formats
from ragviz.runs import measurements
from ragviz.service import question_verbs
from ragviz.store import schema
from ragviz.text import counts, former_documents

questions_app = console.group("Question sets: generate, import, export, review.")
STATES = get_args(QuestionStatus)


@questions_app.command("list")
def questions_list(as_json: Json = False) -> None:
    """List the question sets."""
    store = console.open_workspace().store
    names = {c.id: c.name for c in store.corpora.all()}
    records, drawn = [], []
    for each in store.sets.all():
        paid, corpus = store.payments.of(each.id), names[each.corpus_id]
        records.append(
            {"questions": each.name, "corpus": corpus, "total": each.total, **each.counts}
            | {"split": each.split and asdict(each.split), **({"sides": each.sides} if each.split else {})}
            | {"paid_calls": paid.calls, "paid_dollars": paid.dollars}
        )
        drawn.append(
            (each.name, corpus, each.total, *(each.counts.get(state, 0) for state in STATES), splits.set_words(each))
        )
    columns = ("question set", "corpus", "total", *STATES, "split")
    console.show(records, as_json, lambda: console.table(columns, drawn))


@questions_app.command("show")
def questions_show(
    set_name: str,
    status: Annotated[str, typer.Option(help="proposed, accepted, rejected or quarantined.")] = "",
    kind: Kind = "",
    document: WithEvidence = "",
    find: Annotated[str, typer.Option(help="Words in question or answer.")] = "",
    split: Annotated[str, typer.Option(help="validation, test, or neither side of the split.")] = "",
    question_type: Type = "",
    style: Style = "",
    as_json: Json = False,
) -> None:
    """Show the questions of a set, all or those that pass the filters."""
    store = console.open_workspace().store
    question_set = store.sets.get(set_name)
    console.one_of("type", question_type, question_types.TYPES)
    console.one_of("style", style, question_types.STYLES)
    console.one_of("status", status, STATES)
    console.one_of("kind", kind, evaluate.KINDS)
    console.one_of("side", split, (*SIDES, "neither"))
    names, words = store.documents.names(question_set.corpus_id), find.casefold()
    console.known_document(document, names)
    questions = [
        q
        for q in store.questions.all(question_set.id)
        if status in ("", q.status)
        and kind in ("", q.kind)
        and split in ("", q.split or "neither")
        and question_type in ("", q.type)
        and style in ("", q.style)
        and (not document or former_documents.is_among(document, interchange.documents_of(q, names)))
        and (words in q.text.casefold() or words in q.answer.casefold())
    ]
    divided = {"split": "split"} if question_set.split else {}
    columns = {name: name for name in ("id", "status", "kind", "type", "style")} | divided
    columns |= {"question": "text", "answer": "answer", "reason": "reason"}
    console.show_records([_record(q) for q in questions], as_json, columns)
    console.warn(splits.neither_words(question_set))


def _record(question: Question) -> dict[str, Any]:
    return asdict(question) | {"kind": question.kind, "version": schema.version_of(question)}


@questions_app.command("split")
def questions_split(
    set_name: str,
    kind: Annotated[str, typer.Option(help="stratified: kind by kind in each document; grouped: whole documents.")],
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
    if not dry_run:
        question_set = question_verbs.split(workspace, question_set, kind, share, seed, remake=remake)
    questions, made = workspace.store.questions.all(question_set.id), question_set.split
    if dry_run:
        sides = splits.sides_of(questions, kind, share, seed)
        questions = [replace(question, split=sides.get(question.id, "")) for question in questions]
        made = Split(kind, share, seed)  # type: ignore[arg-type]  # `sides_of` has checked it
    assert made is not None  # it was just split
    parts, shared = splits.parts(questions), splits.shared_words(made, questions)
    body = {"questions": question_set.name, "split": asdict(made), "stored": not dry_run}
    body |= {"sides": [asdict(part) for part in parts], "documents_on_both": len(splits.on_both(questions))}

    def draw() -> None:
        rows = [(p.side, p.documents, p.questions, *(p.kinds.get(k, 0) for k in evaluate.KINDS)) for p in parts]
        console.table(("side", "documents", "questions", *evaluate.KINDS), rows, f"{question_set.name}, {kind}")
        console.say(splits.KINDS[kind], shared, "Nothing was stored." if dry_run else "")

    console.show(body, as_json, draw)


@questions_app.command("banks")
def questions_banks(set_name: str, file: Path, as_json: Json = False) -> None:
    """Import RAGQuestEval banks, {question id: {key_info, question, answers}}, for the questions of a set."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    imported = question_verbs.import_banks(workspace, question_set, console.read(file))
    console.warn(*imported.problems)
    body = {"questions": question_set.name, "banks": len(imported.banks), "problems": list(imported.problems)}
    console.show(body, as_json, lambda: console.say(counts.counted(len(imported.banks), "bank")))
    if not imported.banks:
        raise typer.Exit(1)


@questions_app.command("import")
def questions_import(
    corpus: str,
    file: Annotated[list[Path], typer.Argument(help="A file, a folder or .zip of BEIR, files that belong together.")],
    set_name: Annotated[str, typer.Option("--name")],
    file_format: Annotated[
        str, typer.Option("--format", help=", ".join((set_formats.AUTO, *set_formats.FORMATS)))
    ] = set_formats.AUTO,
    split: Annotated[str, typer.Option(help="Of BEIR: test, dev, train … or all; default: test and dev.")] = "",
    as_json: Json = False,
) -> None:
    """Import questions with evidence, from BEIR and SQuAD with their documents; what cannot be read is reported.

    Nothing is stored until everything is read. BEIR and SQuAD create a corpus that does not exist.
    """
    workspace = console.open_workspace()
    console.one_of("format", file_format, (set_formats.AUTO, *set_formats.FORMATS))
    files = [(each.name, str(each.absolute())) for each in file]
    chosen: dict[str, Any] = {"format": file_format, "split": split}
    read = input_files.from_paths([(each.name, each) for each in file])
    with question_verbs.corpus_for(workspace, corpus, read, file_format) as target:
        job = console.perform(workspace, question_verbs.import_files(workspace, target, set_name, files, chosen))
    result: dict[str, Any] = dict(job.result)
    problems = exchange.problems_of(workspace, result.pop("key"))
    documents = f" {counts.counted(result['documents'], 'document')} added." if result["documents"] else ""
    line = f"{counts.counted(result['imported'], 'question')} imported into '{result['questions']}'.{documents}"
    console.show(result | {"problems": problems}, as_json, lambda: console.say(line))
    hint = f"Find it: ragviz questions find-evidence {result['questions']}" if result["reference_only"] else ""
    console.warn(*result["notes"], hint, *(problem.words for problem in problems))
    if problems:
        raise typer.Exit(1 if result["imported"] else 2)


@questions_app.command("export")
def questions_export(
    set_name: str,
    file: Path,
    file_format: Annotated[str, typer.Option("--format", help=", ".join(set_formats.WRITTEN))] = "",
    as_json: Json = False,
) -> None:
    """Write a question set to FILE, and say what of it the format cannot carry."""
    workspace = console.open_workspace()
    chosen = file_format or set_formats.format_named(file.name)
    written = exchange.export_set(workspace, workspace.store.sets.get(set_name), chosen)
    console.write(file, written.data)
    lacks = set_formats.FORMATS[chosen].lacks
    body = {"file": str(file), "bytes": len(written.data), "format": chosen, "lacks": lacks, "notes": written.notes}
    console.show(body, as_json, lambda: console.say(f"Wrote {file}."))
    console.warn(*written.notes, "" if lacks.startswith("nothing") else f"{chosen} cannot carry {lacks}")


@questions_app.command("review")
def questions_review(
    set_name: str,
    ids: list[str],
    accept: Annotated[bool, typer.Option("--accept/--reject")] = True,
    reason: Annotated[str, typer.Option(help="Why they are rejected.")] = "",
) -> None:
    """Accept or reject questions by id."""
    workspace = console.open_workspace()
    store, question_set = workspace.store, workspace.store.sets.get(set_name)
    chosen, named = [q for q in store.questions.all(question_set.id) if q.id in ids], len(set(ids))
    if len(chosen) < named:
        raise UsageError(
            f"Set '{question_set.name}' has only {len(chosen)} of these {counts.counted(named, 'question')}."
        )
    status: QuestionStatus = "accepted" if accept else "rejected"
    for question in chosen:
        after = authoring.with_status(question, status, "" if accept else reason or "rejected by hand")
        question_verbs.save(workspace, question_set, after, schema.version_of(question), f"{status} a question")


@questions_app.command("add")
def questions_add(
    set_name: str,
    text: Annotated[str, typer.Option("--question")],
    answer: Annotated[str, typer.Option(help="The reference answer.")] = "",
    quotes: Quotes = [],
    documents: QuoteDocuments = [],
    unanswerable: Annotated[bool, typer.Option("--unanswerable", help="The documents do not answer it.")] = False,
    question_type: Type = "",
    style: Style = "",
    corpus_name: Annotated[str, typer.Option("--corpus", help="Corpus of a new set.")] = "",
    as_json: Json = False,
) -> None:
    """Add a question; without a quote it is reference only, without an answer too, one that nothing answers."""
    workspace = console.open_workspace()
    existing = {s.name: s.corpus_id for s in workspace.store.sets.all()}
    if set_name not in existing and not corpus_name:
        raise UsageError(f"There is no question set '{set_name}': name the --corpus of the new set.")
    corpus = workspace.store.corpora.get(corpus_name or existing[set_name])
    new_evidence = evidence_given(workspace, corpus.id, quotes, documents)
    if unanswerable and new_evidence:
        raise UsageError("A question with evidence is answerable: give quotes or --unanswerable, not both.")
    question = authoring.written(
        text, answer, new_evidence or (), unanswerable=unanswerable, **_type_and_style(question_type, style)
    )
    question_verbs.add(workspace, question_verbs.open_set(workspace, corpus, set_name), question)
    show_saved(question, as_json)


@questions_app.command("edit")
def questions_edit(
    set_name: str,
    question_id: str,
    text: Annotated[str | None, typer.Option("--question")] = None,
    answer: Annotated[str | None, typer.Option()] = None,
    quotes: Quotes = [],
    documents: QuoteDocuments = [],
    unanswerable: Annotated[bool, typer.Option("--unanswerable", help="Not answered: removes its evidence.")] = False,
    question_type: Type = "",
    style: Style = "",
    version: Annotated[str, typer.Option(help="Save only while this is its version.")] = "",
    as_json: Json = False,
) -> None:
    """Change a question, its answer or its evidence; options that are not given change nothing."""
    workspace = console.open_workspace()
    store, question_set = workspace.store, workspace.store.sets.get(set_name)
    question = authoring.question_of(store, question_set, question_id)
    after = authoring.changed(
        question,
        text=text,
        answer=answer,
        evidence=() if unanswerable else evidence_given(workspace, question_set.corpus_id, quotes, documents),
        unanswerable=True if unanswerable else None,
        **{name: value for name, value in _type_and_style(question_type, style).items() if value},
    )
    shown = version or schema.version_of(question)
    question_verbs.save(workspace, question_set, after, shown, "edited a question")
    show_saved(after, as_json)


def _type_and_style(question_type: str, style: str) -> dict[str, Any]:
    console.one_of("type", question_type, question_types.TYPES)
    console.one_of("style", style, question_types.STYLES)
    return {"question_type": question_type, "style": style}


def evidence_given(
    workspace: console.Workspace, corpus_id: str, quotes: Sequence[str], documents: Sequence[str]
) -> Evidence | None:
    """Return the evidence that options name, None for none; UsageError when quotes and documents do not fit."""
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


def show_saved(question: Question, as_json: bool) -> None:
    """Print a question that was saved."""
    console.show(_record(question), as_json, lambda: console.say(f"Saved question {question.id}."))


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


@questions_app.command("delete")
def questions_delete(set_name: str, yes: Yes = False) -> None:
    """Delete a question set; its runs stay readable."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    what = f"question set '{question_set.name}' with {counts.counted(question_set.total, 'question')}"
    console.confirm(f"Delete {what}?", yes)
    question_verbs.delete(workspace, question_set)


# Versions


@questions_app.command("versions")
def questions_versions(set_name: str, as_json: Json = False) -> None:
    """List the versions of a set, the newest first: who changed what, and when, and which runs asked each."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    runs = measurements.runs_by_version(workspace, question_set)
    listed = workspace.store.versions.all(question_set.id)
    records = [versions.version_row(each) | {"asked_by": runs.get(each.number, [])} for each in listed]
    columns: console.Columns = {
        "version": "version",
        "when": lambda record: console.when(record["created"]),
        "who": "author",
        "what": "action",
        "questions": "questions",
        "asked by": lambda record: measurements.names_words(record["asked_by"]),
    }
    console.show_records(records, as_json, columns)


@questions_app.command("undo")
def questions_undo(set_name: str, as_json: Json = False) -> None:
    """Take back the newest edit of a set that was not taken back yet."""
    workspace = console.open_workspace()
    question_set = workspace.store.sets.get(set_name)
    version = question_verbs.undo(workspace, question_set)
    line = f"Took back version {version.number} of '{question_set.name}': {version.action}."
    console.show(versions.version_row(version), as_json, lambda: console.say(line))
