"""BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv.

An entry of the corpus is a document, its title the first line; its whole text is the evidence of the queries to which
it was judged relevant, with the grade of that judgement.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.question import Question, Side
from ragviz.core.stopping import Progress
from ragviz.questions import interchange
from ragviz.questions.formats import judged
from ragviz.questions.formats.entries import Entries, question_id
from ragviz.questions.formats.input_file import InputFile, Problem, objects
from ragviz.questions.formats.judged import EVERY, Judged
from ragviz.questions.formats.set_formats import Choices, Known, Outgoing, Read, Written
from ragviz.text import language
from ragviz.text.counts import counted

SIDES: Mapping[str, Side] = {"test": "test", "dev": "validation", "validation": "validation", "valid": "validation"}
"""Name of a file of judgements → the side of a split that its queries are on; those of "train" are on none."""
_ANSWERS = ("answers", *interchange.ANSWERS)


@dataclass(slots=True)
class _Queries:
    """What is read of queries.jsonl, and what was left out of it."""

    questions: dict[str, Question] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    other_split: int = 0
    unjudged: int = 0
    more_answers: int = 0


def read(files: Sequence[InputFile], known: Known, choices: Choices, progress: Progress) -> Read:
    """Read a BEIR folder.

    A query without a relevant document is unanswerable where the folder says so (`answerable`, `is_impossible` …, in
    the query or its `metadata`), reference only where it has an answer, and left out otherwise.

    Raises:
        InputError: a file is missing, or there are no judgements of the split that was chosen.

    """
    by_name = {file.name.lower().rpartition("/")[2]: file for file in files}
    for needed in ("corpus.jsonl", "queries.jsonl"):
        if needed not in by_name:
            raise InputError(
                f"This is no BEIR folder: it has no {needed}. It needs corpus.jsonl, queries.jsonl, qrels/."
            )
    qrels, others = _chosen([file for file in files if file.name.lower().endswith((".tsv", ".qrels"))], choices.split)
    problems: list[Problem] = []
    entries = Entries(known)
    _read_corpus(by_name["corpus.jsonl"], entries, problems, progress)
    read_qrels = [judged.read(file, problems, progress) for file in qrels]
    elsewhere = {query for file in others for query in judged.read(file, [], progress).queries}
    queries = _read_queries(by_name["queries.jsonl"], entries, read_qrels, elsewhere, choices, problems, progress)
    for file in read_qrels:
        problems += _strangers(file, queries.known)
    sides = {side for file in qrels if (side := SIDES.get(_split_of(file)))}
    notes = [*_notes(queries, read_qrels, others)]
    has_sides = len(sides) > 1
    return Read(tuple(queries.questions.values()), tuple(entries.documents), tuple(problems), tuple(notes), has_sides)


def _split_of(file: InputFile | Judged) -> str:
    return file.name.lower().rpartition("/")[2].partition(".")[0]


def _chosen(qrels: Sequence[InputFile], split: str) -> tuple[list[InputFile], list[InputFile]]:
    """Return the files of judgements that are read, and the others.

    Raises:
        InputError: there is none, or none of this split.

    """
    names = [_split_of(file) for file in qrels]
    if not qrels:
        raise InputError("This BEIR folder has no judgements: it needs qrels/test.tsv, or another qrels/*.tsv.")
    wanted: Collection[str] = {split.lower()} if split else ({*names} & SIDES.keys() or {*names})
    if split == "all":
        wanted = {*names}
    chosen = [file for file, name in zip(qrels, names, strict=True) if name in wanted]
    if not chosen:
        raise InputError(f"This BEIR folder has no judgements called '{split}': choose {', '.join(names)} or all.")
    return chosen, [file for file in qrels if file not in chosen]


def _read_corpus(file: InputFile, entries: Entries, problems: list[Problem], progress: Progress) -> None:
    for count, (row, value) in enumerate(objects(file, problems)):
        if count % EVERY == 0:
            progress(count, None, "documents", "Reading documents")
        title, text = _text(value, "title").strip(), _text(value, "text")
        if reason := entries.add(_text(value, "_id").strip(), f"{title}\n\n{text}" if title else text):
            problems.append(Problem(file.name, row, reason))


def _text(value: Mapping[str, Any], key: str) -> str:
    """Return a text, or a number as one; "" for what is neither."""
    found = value.get(key)
    return str(found) if isinstance(found, (str, int, float)) and not isinstance(found, bool) else ""


def _read_queries(
    file: InputFile,
    entries: Entries,
    qrels: Sequence[Judged],
    elsewhere: Collection[str],
    choices: Choices,
    problems: list[Problem],
    progress: Progress,
) -> _Queries:
    read, many = _Queries(), len(qrels) > 1
    for count, (row, value) in enumerate(objects(file, problems)):
        if count % EVERY == 0:
            progress(count, None, "queries", "Reading queries")
        given, text = _text(value, "_id").strip(), _text(value, "text").strip()
        if not given or not text:
            problems.append(Problem(file.name, row, f"has no {'text' if given else 'id: give one in `_id`'}"))
            continue
        if given in read.known:
            problems.append(Problem(file.name, row, f"has the id '{given[:60]}', as one before it: the first is kept"))
            continue
        read.known.add(given)
        mine = next((each for each in qrels if given in each.queries), None)
        found = mine.by_query.get(given, []) if mine else []
        evidence, unknown = judged.evidence_of(found, entries.whole, all_needed=choices.all_needed)
        needed = choices.all_needed
        problems += [
            judged.unknown_document(mine.name, each, "corpus.jsonl", all_needed=needed) for each in unknown if mine
        ]
        try:
            answers, is_marked = _answers(value), any(map(interchange.is_marked, _both(value)))
            if is_marked and found:
                raise ValueError("is marked unanswerable and has relevant documents: remove the one or the other")
        except ValueError as error:
            problems.append(Problem(file.name, row, str(error)))
            continue
        if not evidence and not is_marked and (not answers or given in elsewhere or found):
            read.other_split += given in elsewhere
            read.unjudged += given not in elsewhere and not found
            continue
        read.more_answers += len(answers) > 1
        languages = [entries.language_of(each.document) for each in found[:1] if entries.whole(each.document)]
        read.questions[given] = Question(
            id=question_id(given),
            text=text,
            answer=answers[0] if answers else "",
            evidence=evidence,
            generator="import",
            status="accepted",
            language=language.of_short(text, *languages),
            unanswerable=is_marked and bool(answers),
            split=SIDES.get(_split_of(mine), "") if mine and many else "",
            type="unanswerable" if is_marked else "",
        )
    return read


def _both(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a query and its metadata, where fields beyond BEIR's stand."""
    yield value
    if isinstance(metadata := value.get("metadata"), dict):
        yield metadata


def _answers(value: Mapping[str, Any]) -> list[str]:
    """Return the reference answers of a query, the first of which is kept; ValueError when they are no texts."""
    found = (interchange.references_in(each.get(name)) for each in _both(value) for name in _ANSWERS)
    return [answer.strip() for answer in next(filter(None, found), [])]


def _strangers(file: Judged, known: Collection[str]) -> Iterator[Problem]:
    for query, judgements in file.by_query.items():
        if query not in known:
            reason = f"judges documents for the query '{query[:60]}', which is not in queries.jsonl"
            yield Problem(file.name, judgements[0].row, reason)


def _notes(queries: _Queries, qrels: Sequence[Judged], others: Sequence[InputFile]) -> Iterator[str]:
    if irrelevant := sum(file.irrelevant for file in qrels):
        yield judged.irrelevant_words(irrelevant)
    if others:
        names = ", ".join(_split_of(file) for file in others)
        yield (
            f"Judgements not read: {names}. {counted(queries.other_split, 'query')} judged only there left out: choose "
            "that split to import what it judges."
        )
    if queries.unjudged:
        yield (
            f"{counted(queries.unjudged, 'query', 'has')} no relevant document and no answer, and no mark of being "
            "unanswerable: left out."
        )
    if queries.more_answers:
        yield interchange.several_references(queries.more_answers)


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write a .zip of a BEIR folder: every document of the corpus, the questions that are asked, their judgements."""
    asked, notes = outgoing.asked, (*judged.lost_words(outgoing.asked), *outgoing.left_out)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        names = {}
        with archive.open("corpus.jsonl", "w", force_zip64=True) as file:
            for document in outgoing.known.texts():
                names[document.id] = document.name
                file.write(_line({"_id": document.name, "title": "", "text": document.text}))
        with archive.open("queries.jsonl", "w", force_zip64=True) as file:
            for question in asked:
                file.write(_line(_query(question)))
        for split, rows in _qrels(asked, names).items():
            body = "query-id\tcorpus-id\tscore\n" + "".join(rows)
            archive.writestr(f"qrels/{split}.tsv", body.encode("utf-8", "replace"))
    return Written(out.getvalue(), "zip", notes)


def _line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _query(question: Question) -> dict[str, Any]:
    """Return a question as a query; earlier turns of its conversation stand before its text, as they are searched."""
    metadata: dict[str, Any] = {"answerable": question.kind != "unanswerable"}
    answers = [question.answer] if question.answer.strip() else []
    return {"_id": question.id, "text": question.query, "metadata": metadata | {"answers": answers}}


def _qrels(questions: Sequence[Question], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the rows of judgements by split; there is always one for "test"."""
    rows: dict[str, list[str]] = {"test": []}
    for question in questions:
        split = "dev" if question.split == "validation" else "test"
        for document_id, grade in judged.grades_of(question).items():
            if document_id in names:
                row = f"{question.id}\t{names[document_id]}\t{math.ceil(grade)}\n"
                rows.setdefault(split, []).append(row)
    return rows
