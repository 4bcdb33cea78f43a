"""Questions of Ragas, DeepEval, LlamaIndex and AutoRAG: their evidence is texts, which are looked up in documents."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.question import Question, QuestionStyle
from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions import interchange
from ragviz.questions.formats.entries import question_id
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Outgoing, Read, Written
from ragviz.questions.interchange import Row
from ragviz.text.counts import counted
from ragviz.text.untrusted import has_keys, parsed

QUESTIONS = ("user_input", "input", "query")
REFERENCES = ("reference", "expected_output", "expectedoutput", "reference_answer", "generation_gt")
PASSAGES = ("reference_contexts", "context", "retrieval_gt_contents")
"""Columns that hold a question, its reference answer and its passages; the first of each that a row has is read."""
_IDS = ("id", "qid")
_ABOUT = ("synthesizer_name", "query_style", "evolution_type", "query_by", "reference_answer_by")
_OLD = {"question": "user_input", "ground_truth": "reference", "contexts": "reference_contexts"}
"""Columns of test sets of Ragas 0.1, which have an `evolution_type`."""
_HOP = re.compile(r"\s*<\d+-hop>\s*")
_STYLES: Mapping[str, QuestionStyle] = {"misspelled": "misspelt", "web_search_like": "keywords"}


def read(files: Sequence[InputFile], known: Known, _split: str, progress: Progress) -> Read:
    """Read a file; all passages of a row are needed, of those in a list inside the list any suffices.

    A row with a passage that stands in no document is reference only, and told; one without a reference then, too, is
    left out.

    Raises:
        InputError: the file cannot be read, or no row has a question.

    """
    [file] = files[:1]
    needed = (*QUESTIONS, "evolution_type")
    rows = list(_rows(file, needed))
    columns = dict.fromkeys(column for _, row in rows for column in row if column not in tables_in.TOLD)
    if columns.keys().isdisjoint(needed) and not any(tables_in.REFUSED in row for _, row in rows):
        raise tables_in.without(file.name, needed, columns)
    found: list[tuple[int, Row]] = []
    for number, row in rows:
        told = {column: row[column] for column in tables_in.TOLD if column in row}
        try:
            found.append((number, told if tables_in.REFUSED in told else {**_of_row(row), **told}))
        except ValueError as error:
            found.append((number, {tables_in.REFUSED: str(error)}))
    documents = {document.name: document for document in known.texts()}
    result = interchange.read_rows(file.name, found, documents, progress=progress)
    kept = {*QUESTIONS, *REFERENCES, *PASSAGES, *_IDS, *_ABOUT, *(_OLD if "evolution_type" in columns else ())}
    if others := [f"'{column[:60]}'" for column in columns if column not in kept]:
        why = "questions have no such columns; what a system retrieved and answered belongs to a run"
        return replace(result, notes=(f"Not kept: {', '.join(others[:20])}: {why}.", *result.notes))
    return result


def _rows(file: InputFile, needed: Collection[str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table; of a data set of LlamaIndex its examples, or its queries with their documents."""
    head = file.head()
    if not has_keys(head, ("examples", "query")) and not has_keys(head, ("queries",)):
        return tables_in.rows(file.data(), file.name, needed)
    try:
        whole = parsed(file.text())
    except ValueError as error:
        raise InputError(f"'{file.name}' is not JSON that can be read: {error}.") from None
    rows = whole.get("examples") if isinstance(whole, dict) else None
    if not isinstance(rows, list):
        queries, corpus, relevant = (
            found if isinstance(whole, dict) and isinstance(found := whole.get(key), dict) else {}
            for key in ("queries", "corpus", "relevant_docs")
        )
        lists = {key: ids for key, ids in relevant.items() if isinstance(ids, list)}
        passages = {key: [corpus[i] for i in map(str, lists.get(key, ())) if i in corpus] for key in queries}
        rows = [{"id": key, "query": text, PASSAGES[0]: [passages[key]]} for key, text in queries.items()]
    if not rows:
        raise InputError(f"'{file.name}' holds no question: LlamaIndex has `examples`, or `queries` and `corpus`.")
    return enumerate(map(tables_in.as_row, rows), start=1)


def _of_row(row: Row) -> Row:
    """Return a row as `interchange.read_rows` takes it; ValueError where there is no question."""
    if "evolution_type" in row:
        row = {_OLD.get(name, name): value for name, value in row.items()}
    asked, reference, column, given = (
        next((name for name in names if name in row), names[0]) for names in (QUESTIONS, REFERENCES, PASSAGES, _IDS)
    )
    value = tables_in.structured(row.get(column))
    groups = value if isinstance(value, list) and value and all(isinstance(each, list) for each in value) else None
    texts = (
        [[text] for text in tables_in.texts_in(value, column, "|" if column == "context" else "")]
        if groups is None
        else [tables_in.texts_in(group, column) for group in groups]
    )
    passages = list(dict.fromkeys(tuple(_HOP.sub("", text, count=1).strip() for text in group) for group in texts))
    text, history = _turns(_text_in(row.get(asked)))
    maker, style = (str(row.get(name) or "").lower().strip() for name in ("synthesizer_name", "query_style"))
    is_bridge = maker.startswith("multi_hop") and len(passages) > 1
    read = {"question": text, "history": history, "answer": _text_in(row.get(reference))}
    read |= {interchange.QUOTED: list(filter(None, passages)), "style": _STYLES.get(style, "")}
    read |= {"type": "bridge" if is_bridge else "fact" if maker.startswith("single_hop_spec") else ""}
    return read | ({"id": question_id(str(row[given]))} if row.get(given) else {})


def _text_in(value: Any) -> Any:
    """Return the only text of an object, or of one that a cell holds as JSON, as Langfuse writes it; else the value."""
    found = tables_in.structured(value)
    texts = [each for each in found.values() if isinstance(each, str)] if isinstance(found, dict) else []
    return texts[0] if len(texts) == 1 else value


def _turns(value: Any) -> tuple[str, list[list[str]]]:
    """Return a question with the earlier turns of its conversation, of messages with `content` and `type` or `role`."""
    if isinstance(value, str) and value.strip():
        return value.strip(), []
    if not isinstance(value, list) or not value:
        raise ValueError("has no question")
    turns: list[list[str]] = []
    for message in value:
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str):
            raise ValueError("has a question whose messages are not objects with `content` and `type`")
        if str(message.get("type") or message.get("role")).lower() in ("human", "user"):
            turns.append([said.strip(), ""])
        elif turns:
            turns[-1][1] = said.strip()
    if not turns or not turns[-1][0]:
        raise ValueError("has a question without a message of the user")
    return turns[-1][0], turns[:-1]


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write Ragas' `user_input`, `reference`, `reference_contexts`: of alternatives the first, stale ones as kept.

    The reference of a question that the documents do not answer is "unanswerable", as in a QA table.
    """
    more = sum(any(len(group) > 1 for group in question.evidence) for question in outgoing.asked)
    rows = [json.dumps(_row(question), ensure_ascii=False) + "\n" for question in outgoing.asked]
    notes = [f"{counted(more, 'question', 'has')} alternative evidence: the first is written."] * (more > 0)
    return Written("".join(rows).encode("utf-8", "replace"), "jsonl", (*notes, *outgoing.left_out))


def _row(question: Question) -> dict[str, Any]:
    asked: Any = question.text
    if question.history:
        turns = [*question.history, (question.text, "")]
        kinds = [(said, kind) for pair in turns for said, kind in zip(pair, ("human", "ai"), strict=True)]
        asked = [{"content": said, "type": kind} for said, kind in kinds if said]
    contexts = [group[0].text for group in question.evidence]
    reference = question.answer if question.kind != "unanswerable" else "unanswerable"
    return {"user_input": asked, "reference": reference, "reference_contexts": contexts}
