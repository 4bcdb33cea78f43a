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
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress
from ragviz.questions import interchange
from ragviz.questions.formats import judged
from ragviz.questions.formats.entries import Entries
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.judged import EVERY, SIDES, Judged, Query
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Outgoing, Read, Written

_ANSWERS = ("answers", *interchange.ANSWERS)


def read(files: Sequence[InputFile], known: Known, split: str, progress: Progress) -> Read:
    """Read a BEIR folder; `split` names the judgements to be read ("train" …; "" for those of test and dev, or "all").

    Whether a query is answerable (`answerable`, `is_impossible` …) and its answers stand in it or in its `metadata`.

    Raises:
        InputError: a file is missing, or there are no judgements of the split that was chosen.

    """
    by_name = {file.name.lower().rpartition("/")[2]: file for file in files}
    for needed in ("corpus.jsonl", "queries.jsonl"):
        if needed not in by_name:
            raise InputError(
                f"This is no BEIR folder: it has no {needed}. It needs corpus.jsonl, queries.jsonl, qrels/."
            )
    problems: list[Problem] = []
    named = [file for file in files if file.name.lower().endswith((".tsv", ".qrels"))]
    qrels = [judged.read(file, problems, progress) for file in named]
    chosen = _chosen(qrels, split)
    others = [file for file in qrels if file not in chosen]
    skipped = {file.name for file in others}
    problems = [problem for problem in problems if problem.file not in skipped]
    entries = Entries(known)
    for count, (row, value) in enumerate(by_name["corpus.jsonl"].objects(problems)):
        if count % EVERY == 0:
            progress(count, None, "documents", "Reading documents")
        title, text = _text(value, "title").strip(), _text(value, "text")
        if reason := entries.add(_text(value, "_id").strip(), f"{title}\n\n{text}" if title else text):
            problems.append(Problem(by_name["corpus.jsonl"].name, row, reason))
    queries = _queries(by_name["queries.jsonl"], problems, progress)
    questions, notes = judged.questions_of(queries, chosen, others, entries.whole.get, problems)
    return Read(tuple(questions.values()), tuple(entries.documents), tuple(problems), tuple(notes))


def _chosen(qrels: Sequence[Judged], split: str) -> list[Judged]:
    """Return the files of judgements of a split, "" for those of test and dev where there are some, else all."""
    names = [file.split for file in qrels]
    if not qrels:
        raise InputError("This BEIR folder has no judgements: it needs qrels/test.tsv, or another qrels/*.tsv.")
    wanted: Collection[str] = {split.lower()} if split else ({*names} & SIDES.keys() or {*names})
    chosen = [file for file in qrels if split == "all" or file.split in wanted]
    if not chosen:
        raise InputError(f"This BEIR folder has no judgements called '{split}': choose {', '.join(names)} or all.")
    return chosen


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return str(found) if isinstance(found, (str, int, float)) and not isinstance(found, bool) else ""


def _queries(file: InputFile, problems: list[Problem], progress: Progress) -> Iterator[Query]:
    for count, (row, value) in enumerate(file.objects(problems)):
        if count % EVERY == 0:
            progress(count, None, "queries", "Reading queries")
        given, text = _text(value, "_id").strip(), _text(value, "text").strip()
        if not given or not text:
            problems.append(Problem(file.name, row, f"has no {'text' if given else 'id: give one in `_id`'}"))
            continue
        metadata = value.get("metadata")
        both = [value, metadata] if isinstance(metadata, dict) else [value]
        try:
            found = (interchange.references_in(each.get(name)) for each in both for name in _ANSWERS)
            answers = [answer.strip() for answer in next(filter(None, found), [])]
            yield Query(file.name, row, given, text, answers, any(map(interchange.is_marked, both)))
        except ValueError as error:
            problems.append(Problem(file.name, row, str(error)))


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write a .zip of a BEIR folder: every document of the corpus, the questions that are asked, their judgements.

    Earlier turns of a conversation stand before the text of its question, as they are searched.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        names = {}
        with archive.open("corpus.jsonl", "w", force_zip64=True) as file:
            for document in outgoing.known.texts():
                names[document.id] = document.name
                file.write(_line({"_id": document.name, "title": "", "text": document.text}))
        queries, rows = list[bytes](), dict[str, list[str]](test=[])
        for question in outgoing.asked:
            answers = [question.answer] if question.answer.strip() else []
            metadata = {"answerable": question.kind != "unanswerable", "answers": answers}
            queries.append(_line({"_id": question.id, "text": question.query, "metadata": metadata}))
            of_split = rows.setdefault("dev" if question.split == "validation" else "test", [])
            grades: dict[str, float] = {}  # of a document the highest of its spans
            for span in question.spans:
                if not span.stale and span.document_id in names:
                    grades[span.document_id] = max(grades.get(span.document_id, 0.0), span.grade)
            of_split += [f"{question.id}\t{names[i]}\t{math.ceil(grade)}\n" for i, grade in grades.items()]
        archive.writestr("queries.jsonl", b"".join(queries))
        for split, lines in rows.items():
            body = "query-id\tcorpus-id\tscore\n" + "".join(lines)
            archive.writestr(f"qrels/{split}.tsv", body.encode("utf-8", "replace"))
    return Written(out.getvalue(), "zip", judged.lost_words(outgoing))


def _line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")
