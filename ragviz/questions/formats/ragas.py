"""Ragas: rows of `user_input`, `reference` and `reference_contexts`, as JSONL, JSON or CSV."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.errors import InputError
from ragviz.core.progress import Progress
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.span import Span
from ragviz.questions import interchange
from ragviz.questions.formats.input_file import InputFile, Problem, objects
from ragviz.questions.formats.located import PLACES, located
from ragviz.questions.formats.set_formats import Choices, Known, Outgoing, Read, Written
from ragviz.text import language
from ragviz.text.counts import counted
from ragviz.text.denial import abstains
from ragviz.text.markup import shortened
from ragviz.text.untrusted import is_deep, parsed, storable

COLUMNS = ("user_input", "reference", "reference_contexts", "synthesizer_name", "query_style", "evolution_type")
"""Columns of a test set of Ragas that are read."""
_OLD = {"question": "user_input", "ground_truth": "reference", "contexts": "reference_contexts"}
"""Columns of test sets of Ragas 0.1, which have an `evolution_type`."""
_REPORTED = 500
_HOP = re.compile(r"\s*<\d+-hop>\s*")
_STYLES: Mapping[str, QuestionStyle] = {"misspelled": "misspelt", "web_search_like": "keywords"}


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read a Ragas test set; each reference context is one piece of evidence, found in the documents by its words.

    A row one of whose contexts stands in no document is reference only, and told; one without a reference then, too,
    is left out.

    Raises:
        InputError: the file cannot be read, or has no `user_input`.

    """
    [file] = files[:1]
    problems: list[Problem] = []
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in _rows(file, problems):
        if number % _REPORTED == 0:
            progress(number, None, "rows", "Reading rows")
        is_old = "evolution_type" in row
        rows.append((number, {_OLD.get(column, column) if is_old else column: value for column, value in row.items()}))
    if not any("user_input" in row for _, row in rows) and not problems:
        raise InputError(f"'{file.name}' has no column `user_input`: it is no test set of Ragas.")
    contexts = {number: _contexts(row, file.name, number, problems) for number, row in rows}
    there = located({text for listed in contexts.values() for text in listed or ()}, known.texts(), progress)
    documents = {span.document_id for spans in there.values() for span in spans}
    codes = {info.id: info.language for info in map(known.called, documents) if info}
    questions: dict[str, Question] = {}
    for count, (number, row) in enumerate(rows):
        if count % _REPORTED == 0:
            progress(count, len(rows), "rows", "Reading questions")
        listed = contexts[number]
        if listed is None:
            continue
        told: list[Problem] = []
        try:
            question = _question(row, [(text, there[text]) for text in listed], codes, file.name, number, told)
            if question.id in questions:
                raise ValueError("is the same question as one before it")
        except ValueError as error:
            problems.append(Problem(file.name, number, str(error)))
            continue
        problems += told
        questions[question.id] = question
    return Read(tuple(questions.values()), (), tuple(sorted(problems, key=lambda p: p.row)), tuple(_notes(rows)))


def _rows(file: InputFile, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    start = file.head().lstrip("\ufeff \t\r\n")[:1]
    if start == "{":
        yield from objects(file, problems)
        return
    if start == "[":
        try:
            listed = parsed(file.text())
        except ValueError as error:
            raise InputError(f"'{file.name}' is not JSON that can be read: {error}.") from None
        for number, row in enumerate(listed, start=1):
            if isinstance(row, dict) and not is_deep(row):
                yield number, storable(row)
            else:
                problems.append(Problem(file.name, number, "is not a JSON object that can be read"))
        return
    records = interchange.csv_records(file.text().removeprefix("\ufeff"))
    header = next(records, [])
    for number, cells in enumerate(records, start=2):
        if isinstance(cells, str):
            problems.append(Problem(file.name, number, cells))
        elif any(cell.strip() for cell in cells):
            yield number, storable({key: value for key, value in zip(header, cells, strict=False) if key})


def _contexts(row: Mapping[str, Any], file: str, number: int, problems: list[Problem]) -> list[str] | None:
    """Return the reference contexts of a row without the marks of their hop; None, told, when they are no list."""
    value = row.get("reference_contexts") or []
    if value != value or (isinstance(value, str) and not interchange.reference_in(value)):  # NaN
        value = []
    if isinstance(value, str):
        value = _list_in(value) or [value]  # a text in place of a list is one context
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        reason = "has reference_contexts that are no list of texts: write them as a JSON list"
        problems.append(Problem(file, number, reason))
        return None
    return list(dict.fromkeys(text for each in value if (text := _HOP.sub("", each, count=1).strip())))


def _list_in(cell: str) -> Any:
    """Return the list that a cell of a CSV file holds: as JSON, or as Python prints one, as pandas writes it."""
    for read_list in (parsed, ast.literal_eval):
        try:
            return read_list(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _question(
    row: Mapping[str, Any],
    found: Sequence[tuple[str, Sequence[Span]]],
    codes: Mapping[str, str],
    file: str,
    number: int,
    told: list[Problem],
) -> Question:
    text, history = _asked(row.get("user_input"))
    reference = row.get("reference")
    answer = interchange.reference_in(reference).strip() if isinstance(reference, str) else ""
    if not answer:
        told.append(Problem(file, number, "has no reference: its answers cannot be compared with one", kept=True))
    elif abstains(answer):
        told.append(Problem(file, number, f"has an abstention as its reference (“{shortened(answer, 60)}”)", kept=True))
        found = []
    missing = [context for context, spans in found if not spans]
    if missing:
        where = f"{len(missing)} of its {counted(len(found), 'context')} in no document (“{shortened(missing[0], 60)}”)"
        if not answer:
            raise ValueError(f"has {where}, and no reference: add the documents it was made from, and import again")
        reason = f"has {where}: imported as reference only; add the documents it was made from, and import again"
        told.append(Problem(file, number, reason, kept=True))
    if any(len(spans) >= PLACES for _, spans in found):
        raise ValueError(f"has a context that stands {PLACES} times or more in the documents: it tells no place")
    evidence = () if missing else tuple(tuple(spans) for _, spans in found)
    if not evidence and not answer:
        raise ValueError("has neither a reference nor contexts: give one of them")
    languages = [codes.get(span.document_id, "") for group in evidence for span in group[:1]]
    maker = str(row.get("synthesizer_name") or "").lower()
    return Question(
        id=digest("import", text, answer, *(turn for pair in history for turn in pair)),
        text=text,
        answer=answer,
        evidence=evidence,
        unanswerable=abstains(answer),
        generator="import",
        status="accepted",
        language=language.of_short(text, *languages),
        type=_type(maker, len(evidence)),
        style=_STYLES.get(str(row.get("query_style") or "").lower().strip(), ""),
        history=history,
    )


def _type(maker: str, groups: int) -> QuestionType:
    """Return the type of question that a synthesizer of Ragas makes, "" for another one."""
    if maker.startswith("multi_hop") and groups > 1:
        return "bridge"
    return "fact" if maker.startswith("single_hop_spec") else ""


def _asked(value: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the question, and the earlier turns where the input is a conversation of messages."""
    if isinstance(value, str) and value.strip():
        return value.strip(), ()
    if not isinstance(value, list) or not value:
        raise ValueError("has no user_input")
    turns: list[tuple[str, str]] = []
    for message in value:
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str):
            raise ValueError("has a user_input whose messages are not objects with `content` and `type`")
        if str(message.get("type") or message.get("role")).lower() in ("human", "user"):
            turns.append((said.strip(), ""))
        elif turns:
            turns[-1] = (turns[-1][0], said.strip())
    if not turns or not turns[-1][0]:
        raise ValueError("has a user_input without a message of the user")
    return turns[-1][0], tuple(turns[:-1])


def _notes(rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    others = dict.fromkeys(key for _, row in rows for key in row if key not in COLUMNS)
    if others:
        names = ", ".join(f"'{key[:60]}'" for key in list(others)[:20])
        yield f"Not kept: {names}. Answers and retrieved contexts belong to a run, not to a question set."


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write JSONL of `user_input`, `reference`, `reference_contexts`: of alternatives the first, stale ones as kept."""
    asked = [question for question in outgoing.questions if question.asked]
    more = sum(any(len(group) > 1 for group in question.evidence) for question in asked)
    rows = [json.dumps(_row(question), ensure_ascii=False) + "\n" for question in asked]
    notes = [f"{counted(more, 'question', 'has')} alternative evidence: the first is written."] * (more > 0)
    if left := len(outgoing.questions) - len(asked):
        notes.append(f"{counted(left, 'rejected or quarantined question', 'is')} left out.")
    return Written("".join(rows).encode("utf-8", "replace"), "jsonl", tuple(notes))


def _row(question: Question) -> dict[str, Any]:
    asked: Any = question.text
    if question.history:
        turns = [*question.history, (question.text, "")]
        kinds = [(said, kind) for pair in turns for said, kind in zip(pair, ("human", "ai"), strict=True)]
        asked = [{"content": said, "type": kind} for said, kind in kinds if said]
    contexts = [group[0].text for group in question.evidence]
    return {"user_input": asked, "reference": question.answer, "reference_contexts": contexts}
