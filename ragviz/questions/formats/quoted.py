"""Questions of other programs that give their evidence as texts: these are looked up in the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions import interchange
from ragviz.questions.formats.entries import question_id
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Read
from ragviz.questions.interchange import Row


def read(
    file: str,
    rows: Iterable[tuple[int, Row]],
    of_row: Callable[[Row], Row],
    kept: Sequence[str],
    known: Known,
    progress: Progress,
) -> Read:
    """Read the rows of a file; `of_row` returns what `asked` does, or raises ValueError; `kept` are columns it reads.

    A row with a passage that stands in no document is reference only, and told; one without a reference then, too, is
    left out.
    """
    columns: dict[str, None] = {}
    found: list[tuple[int, Row]] = []
    for number, row in rows:
        columns |= dict.fromkeys(row)
        told = {column: row[column] for column in tables_in.TOLD if column in row}
        try:
            found.append((number, told if tables_in.REFUSED in told else {**of_row(row), **told}))
        except ValueError as error:
            found.append((number, {tables_in.REFUSED: str(error)}))
    documents = {document.name: document for document in known.texts()}
    result = interchange.read_rows(file, found, documents, progress=progress)
    others = [f"'{column[:60]}'" for column in columns if column not in (*kept, *tables_in.TOLD)]
    why = "questions have no such columns; what a system retrieved and answered belongs to a run"
    note = f"Not kept: {', '.join(others[:20])}: {why}."
    return replace(result, notes=(note, *result.notes)) if others else result


def asked(said: Any, reference: Any, passages: Sequence[Sequence[str]], given: str = "", **more: str) -> Row:
    """Return a row as `interchange.read_rows` takes it.

    `said` is the question, or a list of messages with `content` and `type` or `role`. All `passages` are needed, of
    each any text suffices. Without an id that is `given` one is made of question and reference.

    Raises:
        ValueError: there is no question.

    """
    text, history = _turns(said)
    row = {"question": text, "history": history, "answer": reference, interchange.QUOTED: passages, **more}
    return row | ({"id": question_id(given)} if given else {})


def rows_of(file: InputFile, needed: Sequence[str]) -> list[tuple[int, Row]]:
    """Return the rows of a table by column.

    Raises:
        InputError: it cannot be read, or no row has any of the columns `needed`.

    """
    rows = list(tables_in.rows(file.data(), file.name, needed))
    if not any(row.keys() & {*needed, tables_in.REFUSED} for _, row in rows):
        raise tables_in.without(file.name, needed, dict.fromkeys(column for _, row in rows for column in row))
    return rows


def _turns(value: Any) -> tuple[str, list[list[str]]]:
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
