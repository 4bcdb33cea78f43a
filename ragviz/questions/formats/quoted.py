"""Questions of other programs that give their evidence as texts: these are looked up in the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.document import Span
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions import interchange
from ragviz.questions.formats.entries import question_id
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.located import PLACES, located
from ragviz.questions.formats.set_formats import Known, Read
from ragviz.text import language
from ragviz.text.counts import counted
from ragviz.text.denial import abstains
from ragviz.text.markup import shortened

Row = Mapping[str, Any]
_REPORTED = 500


@dataclass(frozen=True, slots=True)
class Quoted:
    """What a row asks, and its evidence: all of `passages` are needed, of each any text suffices.

    `asked` is a text, or a list of messages with `content` and `type` or `role`. Of a `reference` that is a list the
    first is kept. Without an `id` one is made of question and reference.
    """

    asked: Any
    reference: Any = None
    passages: Sequence[Sequence[str]] = ()
    id: str = ""
    type: QuestionType = ""
    style: QuestionStyle = ""


def read(
    file: str,
    rows: Iterable[tuple[int, Row]],
    of_row: Callable[[Row], Quoted],
    kept: Sequence[str],
    known: Known,
    progress: Progress,
) -> Read:
    """Read the rows of a file; `of_row` raises ValueError for one that it cannot read, `kept` are the columns it reads.

    A row with a passage that stands in no document is reference only, and told; one without a reference then, too, is
    left out.
    """
    problems: list[Problem] = []
    asked: list[tuple[int, Quoted, list[str]]] = []
    columns: dict[str, None] = {}
    for number, row in rows:
        columns |= dict.fromkeys(row)
        try:
            if refused := row.get(tables_in.REFUSED):
                raise ValueError(refused)
            asked.append((number, of_row(row), [short] if (short := row.get(tables_in.SHORT)) else []))
        except ValueError as error:
            problems.append(Problem(file, number, str(error)))
    texts = {text for _, each, _ in asked for group in each.passages for text in group}
    there = located(texts, known.texts(), progress)
    documents = {span.document_id for spans in there.values() for span in spans}
    codes = {info.id: info.language for info in map(known.called, documents) if info}
    questions: dict[str, Question] = {}
    several = 0
    for count, (number, each, told) in enumerate(asked):
        if count % _REPORTED == 0:
            progress(count, len(asked), "rows", "Reading questions")
        try:
            question = _question(each, there, codes, told)
            if question.id in questions:
                raise ValueError("is the same question as one before it")
        except ValueError as error:
            problems.append(Problem(file, number, str(error)))
            continue
        problems += [Problem(file, number, reason, kept=True) for reason in told]
        questions[question.id] = question
        several += len(interchange.references_in(each.reference)) > 1
    notes = [interchange.several_references(several)] if several else []
    if others := [f"'{column[:60]}'" for column in columns if column not in (*kept, *tables_in.TOLD)]:
        why = "questions have no such columns; what a system retrieved and answered belongs to a run"
        notes.append(f"Not kept: {', '.join(others[:20])}: {why}.")
    return Read(tuple(questions.values()), (), tuple(sorted(problems, key=lambda p: p.row)), tuple(notes))


def rows_of(file: InputFile, needed: Sequence[str]) -> list[tuple[int, Row]]:
    """Return the rows of a table by column.

    Raises:
        InputError: it cannot be read, or no row has any of the columns `needed`.

    """
    rows = list(tables_in.rows(file.data(), file.name, needed))
    if not any(row.keys() & {*needed, tables_in.REFUSED} for _, row in rows):
        raise tables_in.without(file.name, needed, dict.fromkeys(column for _, row in rows for column in row))
    return rows


def _question(
    quoted: Quoted, there: Mapping[str, Sequence[Span]], codes: Mapping[str, str], told: list[str]
) -> Question:
    """Return the question of a row; ValueError says why there is none, `told` what of it was not kept."""
    text, history = _asked(quoted.asked)
    answer = next(iter(interchange.references_in(quoted.reference)), "").strip()
    groups, is_abstention = list(quoted.passages), abstains(answer)
    if not answer:
        told.append("has no reference: its answers cannot be compared with one")
    elif is_abstention:
        told.append(f"has an abstention as its reference (“{shortened(answer, 60)}”)")
        groups = []
    found = [list(dict.fromkeys(span for each in group for span in there[each])) for group in groups]
    missing = [group[0] for group, spans in zip(groups, found, strict=True) if not spans]
    if missing:
        where = f"{len(missing)} of its {counted(len(found), 'context')} in no document (“{shortened(missing[0], 60)}”)"
        if not answer:
            raise ValueError(f"has {where}, and no reference: add the documents it was made from, and import again")
        told.append(f"has {where}: imported as reference only; add the documents it was made from, and import again")
    if any(len(spans) >= PLACES for spans in found):
        raise ValueError(f"has a context that stands {PLACES} times or more in the documents: it tells no place")
    evidence = () if missing else tuple(map(tuple, found))
    if not evidence and not answer:
        raise ValueError("has neither a reference nor contexts: give one of them")
    languages = [codes.get(span.document_id, "") for group in evidence for span in group[:1]]
    return Question(
        id=question_id(quoted.id) or digest("import", text, answer, *(turn for pair in history for turn in pair)),
        text=text,
        answer=answer,
        evidence=evidence,
        unanswerable=is_abstention,
        generator="import",
        status="accepted",
        language=language.of_short(text, *languages),
        type=quoted.type,
        style=quoted.style,
        history=history,
    )


def _asked(value: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the question, and the earlier turns where the input is a conversation of messages."""
    if isinstance(value, str) and value.strip():
        return value.strip(), ()
    if not isinstance(value, list) or not value:
        raise ValueError("has no question")
    turns: list[tuple[str, str]] = []
    for message in value:
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str):
            raise ValueError("has a question whose messages are not objects with `content` and `type`")
        if str(message.get("type") or message.get("role")).lower() in ("human", "user"):
            turns.append((said.strip(), ""))
        elif turns:
            turns[-1] = (turns[-1][0], said.strip())
    if not turns or not turns[-1][0]:
        raise ValueError("has a question without a message of the user")
    return turns[-1][0], tuple(turns[:-1])
