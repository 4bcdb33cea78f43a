"""Import and export of questions as CSV and JSONL.

A question's row names its evidence in any of these ways, tried in this order:

    evidence                        JSON list of members; all are needed. A list inside the list is a group, any
                                    member of which suffices. A member is an object with any of the columns below.
    references, spans               the same; `content` or `text`, `start_index`, `end_index`, `document_id` stand for
                                    quote, start, end, document
    chunk_id                        one id or more: separated by blanks, commas or semicolons, or a JSON list
    document + quote                the text, which must occur there once
    document + start + end          characters of the parsed text, end exclusive
    quote                           the text, looked up word for word in all documents; any of its places suffices

`split` is the side of the set's split that a question is on, in one of the words of `SIDE_WORDS`.

Beside the place, `grade` (or `relevance`) is its graded relevance, above 0; 1 without one.

`corpus_id` stands for document; `content`, `context` or `passage` for quote, the first of `PASSAGES` that a row has.
So (question, answer, passage) is a row that is complete. A `context` or `passage` beside another place is not read, and
that of a question without an answer is what it was made from, not its evidence. One that stands in no document leaves
its row as one without evidence, told.

A row with none of them, or with a document only, and with an answer, is "reference
only": where its answer stands is not known. One with neither evidence nor answer is refused, unless it says that it is
unanswerable: in a column of `MARKS`, as its `kind`, or by an answer that is one of `NO_ANSWERS` or abstains.

The reference answer is in one of the columns `ANSWERS`; a row with two that differ is refused. Beside one of
`REFERENCES`, `answer` is a system's answer; beside one of `LOGGED` alone it may be one, and the file is refused.
Columns of other names are reported, and not kept.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Document, Evidence, Span
from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID, Question, QuestionKind, QuestionStatus, QuestionStyle, QuestionType, Side
from ragviz.core.stopping import Progress, silent
from ragviz.documents import tables_in
from ragviz.questions.formats.input_file import Problem
from ragviz.questions.formats.known import Names
from ragviz.questions.formats.located import PLACES, located
from ragviz.questions.formats.set_formats import Read
from ragviz.text import language, quotes
from ragviz.text.counts import counted
from ragviz.text.denial import abstains
from ragviz.text.former_documents import UNKNOWN
from ragviz.text.markup import shortened
from ragviz.text.untrusted import NESTED, first_fault, is_deep, parsed

Row = Mapping[str, Any]
COLUMNS = (
    *("question", "answer", "status", "kind", "type", "style", "document", "evidence", "parts", "history"),
    *("reason", "generator", "verified_by", "language", "source_chunks", "split", "id"),
)
"""Columns of an export; `document` and `kind` are for readers, the evidence says them again."""
REFERENCES = ("ground_truth_answer", "ground_truth", "expected_answer", "reference_answer")
ANSWERS = (*REFERENCES, "answer", "reference")
"""Columns that hold the reference answer, and those of them that can hold nothing else."""
LOGGED = ("contexts", "retrieved_contexts", "retrieval_context", "retrieved_context")
"""Columns that hold what a system retrieved: `answer` beside one of them may be what it answered."""
PASSAGES = ("quote", "content", "context", "passage")
"""Columns that hold the text of the evidence; the first of them that a row has is read."""
QUOTED = "passages"
"""Key of the rows of other programs' formats that holds groups of texts: of each group any suffices, all are needed."""
_SURROUNDINGS = ("context", "passage")  # beside another place they are not evidence, but what is around it
MARKS = {"unanswerable": True, "is_unanswerable": True, "is_impossible": True, "answerable": False}
MARKS |= {"is_answerable": False, "has_answer": False}
"""Columns that say whether the documents answer the question, and the value of each that says they do not."""
NO_ANSWERS = ("unanswerable", "not answerable", "no answer", "n/a", "无法推断", "无法回答", "不可回答", "无答案")
"""Reference answers that say that there is none, in any case, with any punctuation around them."""
SIDE_WORDS: Mapping[str, Side | Literal[""]] = {
    "": "", "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation", "test": "test",
}  # fmt: skip
"""What a column `split` says → the side; of other words, as "train", there is none."""
_KINDS = ("kind", "question_type", "type")
_YES, _NO = ("true", "yes", "y", "1", "是"), ("false", "no", "n", "0", "否")
_OFFSETS = ("start", "start_index", "end", "end_index")
_LISTS = ("evidence", "references", "spans")
_DOCUMENTS = ("document", "corpus_id", "document_id", "chunk_id")
_KNOWN = {
    *COLUMNS, *PASSAGES, *ANSWERS, *MARKS, *_OFFSETS, *_LISTS, *_DOCUMENTS, "grade", "relevance", "question_type",
    QUOTED,
}  # fmt: skip
_DOCUMENT_ID = re.compile("[0-9a-f]{16}")
_LISTED = 20  # names of columns in one sentence
_REPORTED = 500  # rows between two reports of progress
_AROUND = " \t\r\n<>《》[]()（）.。!！\"'“”"
_AGAIN = "add the documents that it is from, and import again"


class _Member(BaseModel):
    """One place of evidence as a file names it."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=False)

    document: str = Field("", validation_alias=AliasChoices("document", "corpus_id", "document_id"))
    start: int | None = Field(None, validation_alias=AliasChoices("start", "start_index"))
    end: int | None = Field(None, validation_alias=AliasChoices("end", "end_index"))
    quote: str = Field("", validation_alias=AliasChoices("quote", "content", "text"))
    chunk_id: str = ""
    stale: bool = False
    grade: float = Field(1.0, gt=0, allow_inf_nan=False, validation_alias=AliasChoices("grade", "relevance"))


def read_questions(data: bytes, name: str, documents: Mapping[str, Document], progress: Progress = silent) -> Read:
    """Read questions about `documents` (by name) from the CSV, TSV or JSONL file `name`.

    Read questions are "accepted" unless the file says otherwise: a person made or chose them. Rows are numbered as in
    an editor or a spreadsheet: the header of a CSV file is row 1, a JSONL row its line.

    Raises:
        InputError: the file as a whole cannot be read, or it has no column "question".

    """
    rows = list(tables_in.rows(data, name))
    columns = dict.fromkeys(column for _, row in rows for column in row if column not in tables_in.TOLD)
    logged = next((each for each in LOGGED if each in columns), "")
    if logged and "kind" not in columns and [each for each in ANSWERS if each in columns] == ["answer"]:
        raise InputError(
            f"'{name}' has 'answer' beside '{logged}', as a log of what a system answered has: call the column "
            "'reference_answer' where it holds the right answers, and leave it out otherwise."
        )
    return read_rows(name, rows, documents, columns, progress)


def read_rows(
    file: str,
    rows: Sequence[tuple[int, Row]],
    documents: Mapping[str, Document],
    columns: Collection[str] = (),
    progress: Progress = silent,
) -> Read:
    """Read questions from the numbered rows of a file; of `columns`, those that are not kept are told."""
    reader = _Reader(documents, [row for _, row in rows], progress)
    read: list[tuple[Row, Question]] = []
    problems: list[Problem] = []
    rows_of: dict[str, int] = {}
    for number, row in rows:
        if number % _REPORTED == 0:
            progress(number, None, "rows", "Reading questions")
        try:
            question = reader.question(row)
            if question.id in rows_of:
                raise ValueError(f"the same question as row {rows_of[question.id]}: give it another id, or remove one")
        except ValueError as refusal:
            problems.append(Problem(file, number, str(refusal)))
            continue
        rows_of[question.id] = number
        read.append((row, question))
        if reason := "; ".join(reader.otherwise(row, question)):
            problems.append(Problem(file, number, reason, kept=True))
    notes = (*_notes_on_questions(read), *_notes_on_columns(columns, [row for row, _ in read]))
    return Read(tuple(question for _, question in read), (), tuple(problems), notes)


def _notes_on_questions(read: Sequence[tuple[Row, Question]]) -> Iterator[str]:
    """Yield what the questions of several rows are, or were read otherwise than they may be meant."""
    total = counted(len(read), "question")
    if bare := sum(question.kind == "reference" for _, question in read):
        said = f"{bare:,} of {total} {'names' if bare == 1 else 'name'} no evidence"
        yield f"{said}: reference only, not unanswerable. Answers can be judged, rankings cannot be measured."
    if none := sum(question.kind == "unanswerable" for _, question in read):
        yield f"{none:,} of {total} {'is' if none == 1 else 'are'} unanswerable: marked so, or by the answer."
    if several := sum("kind" not in row and len(references_in(row.get(_answer_column(row)))) > 1 for row, _ in read):
        yield f"{counted(several, 'question', 'has')} several reference answers: the first was kept."
    if places := sum(any(len(g) > 1 for g in question.evidence) and bool(_looked_up(row)) for row, question in read):
        stand = counted(places, "passage", "stands")
        yield f"{stand} more than once in the documents: any of these places is evidence."
    if no_sides := dict.fromkeys(word for row, _ in read if (word := _side_word(row)) not in SIDE_WORDS):
        words = ", ".join(f"'{word[:60]}'" for word in list(no_sides)[:_LISTED])
        yield f"Column 'split' says {words}: these are on neither side of a split, validation or test."


def _notes_on_columns(columns: Collection[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yield which columns were read as the answer, where that is not called so, and which were not kept."""
    answers = {column for row in rows if (column := _answer_column(row)) in row}
    passages = {_passage(row) for row in rows}
    if others := [column for column in columns if column in answers and column != "answer"]:
        yield f"{_named(others)} read as the answer."
    unread = [
        column
        for column in columns
        if column not in _KNOWN
        or (column in ANSWERS and column not in answers)
        or (column in _SURROUNDINGS and column not in passages)
    ]
    if unread:
        yield f"{_named(unread)} not kept."


def _named(columns: Collection[str]) -> str:
    names = ", ".join(f"'{column[:60]}'" for column in list(columns)[:_LISTED])
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return f"Columns {names}{more} were" if len(columns) > 1 else f"Column {names} was"


# From a row to a question


class _Reader:
    """Reads questions about documents, by name; the passages of all rows are looked up at once."""

    def __init__(self, documents: Mapping[str, Document], rows: Iterable[Row], progress: Progress) -> None:
        self._names = Names(documents.values())
        self._languages = {document.id: document.language for document in documents.values()}
        texts = {text for row in rows for group in _looked_up(row) for text in group}
        self._there = located(texts, documents.values(), progress)

    def question(self, row: Row) -> Question:
        """Return the question of a row; ValueError says why there is none."""
        if tables_in.REFUSED in row:
            raise ValueError(row[tables_in.REFUSED])
        text, answer = _string(row, "question"), _answer(row)
        status = _string(row, "status").strip().lower() or "accepted"
        if not text.strip() and status != "rejected":
            raise ValueError("has no question")
        if status not in get_args(QuestionStatus):
            raise ValueError(f"has the status '{status}': give {', '.join(get_args(QuestionStatus))}, or none")
        is_unanswerable, made_from = _is_unanswerable(row, answer), _chunk_ids(row)
        if is_unanswerable and (QUOTED in row or _passage(row) in _SURROUNDINGS):
            evidence: Evidence = ()
            spans = [span for group in self._found(row) for span in group[:1]]
            made_from = [Chunk.make_id(span.document_id, span.start, span.end) for span in spans]
        else:
            evidence = self._evidence(row, needs_place=not is_unanswerable and not answer.strip())
        if is_unanswerable and evidence:
            raise ValueError("is marked unanswerable and names evidence: remove the one or the other")
        inside = [span.document_id for group in evidence for span in group]
        codes = [self._languages[document_id] for document_id in inside if document_id in self._languages]
        history = _history(row)
        made_id = _string(row, "id").strip() or _made_id(row, text, answer, evidence, history)
        if len(made_id) > LONGEST_ID:
            raise ValueError(f"has an id of {len(made_id)} characters: at most {LONGEST_ID} can be kept")
        question = Question(
            id=made_id,
            text=text,
            answer=answer,
            evidence=evidence,
            generator=_string(row, "generator") or "import",
            status=status,  # type: ignore[arg-type]  # checked above
            reason=_string(row, "reason"),
            language=language.code(_string(row, "language")) or language.of_short(text, *codes),
            source_chunks=tuple(_string(row, "source_chunks").split() if "source_chunks" in row else made_from),
            unanswerable=is_unanswerable and bool(answer.strip()),  # without an answer it needs no mark
            split=SIDE_WORDS.get(_side_word(row), ""),
            type=_word(row, get_args(QuestionType), "type", "question_type"),
            style=_word(row, get_args(QuestionStyle), "style"),
            parts=_parts(row, len(evidence)),
            history=history,
            verified_by=_string(row, "verified_by").strip(),
        )
        if question.kind == "unanswerable" and not is_unanswerable and status != "rejected":
            raise ValueError(
                "has neither a reference answer nor evidence: give one of them, or mark it in a column 'unanswerable'"
            )
        return question

    def otherwise(self, row: Row, question: Question) -> Iterator[str]:
        """Yield in what a question differs from what its row says: what was not read, and a kind that is another."""
        if short := row.get(tables_in.SHORT):
            yield short
        groups, found = _looked_up(row), self._found(row)
        if question.kind != "unanswerable" and len(found) < len(groups):
            yield f"{self._lost(row)}: imported without it; {_AGAIN}"
        for column in _SURROUNDINGS:
            if row.get(column) and not isinstance(row[column], str):
                yield f"was imported without its {column}, which is no text"
        for column, words in (("type", get_args(QuestionType)), ("style", get_args(QuestionStyle))):
            said = _string(row, column).strip()
            if said.lower() not in words and not (column == "type" and said.lower() in get_args(QuestionKind)):
                listed = ", ".join(filter(None, words))
                yield f"was imported without its {column} '{said[:60]}', which is none of {listed}"

    def _found(self, row: Row) -> list[list[Span]]:
        """Return the places of the passages of a row that were looked up, of those groups that stand anywhere."""
        groups = [list(dict.fromkeys(s for t in group for s in self._there[t])) for group in _looked_up(row)]
        if any(len(spans) >= PLACES for spans in groups):
            what = "context" if QUOTED in row else _passage(row)
            raise ValueError(f"has a {what} that stands {PLACES} times or more in the documents: it tells no place")
        return [spans for spans in groups if spans]

    def _lost(self, row: Row) -> str:
        """Return what a row has whose passage was looked up, and stands nowhere."""
        lost = next(group[0] for group in _looked_up(row) if not any(self._there[text] for text in group))
        what = "context" if QUOTED in row else _passage(row)
        return f"has a {what} that stands in no document (“{shortened(lost, 60)}”)"

    def _evidence(self, row: Row, *, needs_place: bool) -> Evidence:
        """Return the evidence that a row names; a document alone is none, unless `needs_place`: then it is refused."""
        if listed := next(filter(None, map(row.get, _LISTS)), None):
            return self._listed(listed, row)
        if chunk_ids := _chunk_ids(row):
            return tuple((self._span({"chunk_id": chunk_id}),) for chunk_id in chunk_ids)
        if groups := _looked_up(row):
            found = self._found(row)
            if len(found) == len(groups):
                return tuple(map(tuple, found))
            if needs_place:
                raise ValueError(f"{self._lost(row)}, and no answer: {_AGAIN}")
            return ()
        values = {**row, "quote": row[column]} if (column := _passage(row)) else row
        naming = (*_OFFSETS, "quote", "content", *(_DOCUMENTS[:2] if needs_place else ()))
        return ((self._span(values),),) if any(values.get(column) not in (None, "") for column in naming) else ()

    def _listed(self, listed: Any, row: Row) -> Evidence:
        if isinstance(listed, str):
            try:
                listed = tables_in.listed(listed) or parsed(listed)
            except ValueError as error:
                raise ValueError(f"has evidence that is not JSON that can be read: {error}") from None
        groups = [
            each if isinstance(each, list) else [each] for each in (listed if isinstance(listed, list) else [listed])
        ]
        if is_deep(groups):
            raise ValueError(f"has evidence nested more than {NESTED} deep")
        if not all(group and all(isinstance(member, dict) for member in group) for group in groups):
            raise ValueError("has evidence that is not a list of objects, or of lists of objects")
        document = {"document": row.get("document") or row.get("corpus_id")}
        return tuple(
            tuple(self._span(member if member.keys() & {*_DOCUMENTS} else member | document) for member in group)
            for group in groups
        )

    def _span(self, values: Row) -> Span:
        """Return the place in a document that `values` name; ValueError where there is none."""
        try:
            member = _Member.model_validate({key: value for key, value in values.items() if value not in (None, "")})
        except ValidationError as error:
            raise ValueError(f"names a place that cannot be used: {first_fault(error)}") from None
        if member.chunk_id and not member.quote:
            parts = Chunk.parse_id(member.chunk_id)
            if parts is None or not _DOCUMENT_ID.fullmatch(parts[0]):
                raise ValueError(
                    f"names the chunk '{member.chunk_id}', which is not an id of ragviz: give document and quote"
                )
            member = member.model_copy(update=dict(zip(("document", "start", "end"), parts, strict=True)))
        if member.stale:
            start, end = member.start or 0, member.end or 0
            return Span(member.document, start, end, member.quote, stale=True, grade=member.grade)
        document = self._document(member.document)
        quote, length = member.quote.replace("\r\n", "\n"), len(document.text)
        if member.start is None or member.end is None:
            start, end = only_place(quote, document)
        elif not 0 <= member.start < member.end <= length:
            raise ValueError(f"names {member.start} to {member.end}: '{document.name}' has characters 0 to {length}")
        elif quote and document.text[member.start : member.end] != quote:
            start, end = only_place(quote, document)  # offsets of another parse: the quote decides
        else:
            start, end = member.start, member.end
        return Span(document.id, start, end, document.text[start:end], grade=member.grade)

    def _document(self, name: str) -> Document:
        """Return the document of that name or id, else the only one of that file name, with or without suffix."""
        if not name:
            raise ValueError("names a place but no document")
        matches = self._names.called(name)
        if len(matches) > 1:
            names = ", ".join(f"'{document.name[:60]}'" for document in matches[:_LISTED])
            raise ValueError(f"names the document '{name}', which may be {names}: give its full name")
        if not matches:
            raise ValueError(f"names the document '{name}', which is not in the corpus")
        return matches[0]


def only_place(quote: str, document: Document) -> tuple[int, int]:
    """Return the only place of `quote` in the document; what does not count is in `quotes.places`.

    Raises:
        ValueError: there is none, or more than one.

    """
    if not quote.strip():
        raise ValueError(f"names '{document.name}' but no place in it: give start and end, or quote")
    spots = quotes.places(quote, document.text)
    if len(spots) == 1:
        return spots[0]
    if spots:
        where = f"{len(spots)} times in '{document.name}' (at {', '.join(str(start) for start, _ in spots[:3])})"
        raise ValueError(f"has a quote that occurs {where}: make it longer, or give start and end")
    raise ValueError(
        f"has a quote that is not in '{document.name}' (“{shortened(quote, 60)}”): copy its words; only line breaks, "
        "widths and kinds of quotation marks and dashes may differ"
    )


# The columns of a row


def _string(row: Row, column: str) -> str:
    value = row.get(column)
    if isinstance(value, dict | list):
        raise ValueError(f"has {'an' if column[0] in 'aeiou' else 'a'} {column} that is not text")
    return "" if value is None else str(value)


def _word(row: Row, words: Sequence[str], *columns: str) -> Any:
    """Return which of `words` a row says in one of these columns; "" where it says none of them."""
    said = {_string(row, column).strip().lower() for column in columns if row.get(column)}
    return next((each for each in words if each and each in said), "")


def _side_word(row: Row) -> str:
    return _string(row, "split").strip().casefold()


def _answer(row: Row) -> str:
    """Return the reference answer of a row; ValueError where it has two that differ."""
    column = _answer_column(row)
    if "kind" in row:  # our own export writes what it means
        return _string(row, column)
    answers = references_in(row.get(column))
    for other in _references_of(row):
        if (said := references_in(row[other])) and said != answers:
            pair = f"{column} “{shortened(answers[0], 40)}” and {other} “{shortened(said[0], 40)}”"
            raise ValueError(f"has two reference answers, {pair}: keep one of these columns")
    return next(iter(answers), "")


def _answer_column(row: Row) -> str:
    """Return the column that holds the reference answer, the first that is filled."""
    columns, nothing = _references_of(row), ("", *tables_in.NOTHING)
    filled = (each for each in columns if str(row[each] or "").strip().casefold() not in nothing)
    return next(filled, next(iter(columns), "answer"))


def _references_of(row: Row) -> list[str]:
    """Return the columns of a row that hold the reference answer: beside one of `REFERENCES`, `answer` does not."""
    return [each for each in REFERENCES if each in row] or [each for each in ("answer", "reference") if each in row]


def references_in(said: Any) -> list[str]:
    """Return the reference answers in a value, the first of which is kept; what programs write for nothing is none.

    >>> references_in("nan"), references_in("At seven."), references_in(2.4), references_in("['Ada', 'A. Kern']")
    ([], ['At seven.'], ['2.4'], ['Ada', 'A. Kern'])

    Raises:
        ValueError: it is no text, number or list of them.

    """
    cell = tables_in.listed(said) if isinstance(said, str) else None
    listed = cell if cell and all(isinstance(each, str) for each in cell) else said  # "[1, 2]" is an answer
    texts = listed if isinstance(listed, list) else [listed]
    if any(isinstance(each, dict | list) for each in texts):
        raise ValueError("has an answer that is not text")
    nothing = ("", *tables_in.NOTHING)
    return [str(each) for each in texts if each is not None and str(each).strip().casefold() not in nothing]


def is_marked(row: Row) -> bool:
    """Return whether a column of `MARKS` says that the documents do not answer a row's question.

    Raises:
        ValueError: one says neither yes nor no.

    """
    for column, value in MARKS.items():
        said = _string(row, column).strip().lower().removesuffix(".0")
        if said not in ("", *_YES, *_NO):
            raise ValueError(f"has '{said[:60]}' as {column}: write true or false")
        if said and (said in _YES) is value:
            return True
    return False


def _is_unanswerable(row: Row, answer: str) -> bool:
    """Return whether a row says in any way that the documents do not answer its question; raises as `is_marked`."""
    kinds = [_string(row, column).strip().lower() for column in _KINDS if isinstance(row.get(column), str)]
    is_named = "unanswerable" in kinds or answer.strip(_AROUND).casefold() in NO_ANSWERS or abstains(answer)
    if kinds and kinds[0] in get_args(QuestionKind):  # our own export, whose answer may be "none"
        is_named = kinds[0] == "unanswerable"
    return is_named or is_marked(row)


def _listed_value(row: Row, column: str) -> list[Any]:
    """Return a list, or the list that a cell holds as JSON; empty without one."""
    value = row.get(column) or []
    if isinstance(value, str):
        try:
            value = parsed(value)
        except ValueError as error:
            raise ValueError(f"has something as its {column} that is not JSON that can be read: {error}") from None
    if not isinstance(value, list):
        raise ValueError(f"has something as its {column} that is not a list")
    return value


def _parts(row: Row, groups: int) -> tuple[str, ...]:
    parts = _listed_value(row, "parts")
    if not all(isinstance(part, str) for part in parts) or len(parts) not in (0, groups):
        raise ValueError(f"has parts that are not a list of {counted(groups, 'text')}, one for each piece of evidence")
    return tuple(parts)


def _history(row: Row) -> tuple[tuple[str, str], ...]:
    turns = _listed_value(row, "history")
    if not all(isinstance(turn, list) and len(turn) == 2 and all(isinstance(t, str) for t in turn) for turn in turns):
        raise ValueError("has a history that is not a list of [question, answer]")
    return tuple((asked, answered) for asked, answered in turns)


def _chunk_ids(row: Row) -> list[str]:
    value = row.get("chunk_id")
    listed = tables_in.listed(value) if isinstance(value, str) else value
    text = " ".join(map(str, listed)) if isinstance(listed, list) else _string(row, "chunk_id")
    return [each for each in re.split(r"[\s,;]+", text) if each]


def _passage(row: Row) -> str:
    """Return the column with the text of a row's evidence, "" for a row that names its evidence otherwise."""
    if any(str(row.get(column) or "").strip() for column in (*_LISTS, "chunk_id")):
        return ""
    column = next((each for each in PASSAGES if isinstance(row.get(each), str) and row[each].strip()), "")
    return "" if column in _SURROUNDINGS and any(row.get(each) not in (None, "") for each in _OFFSETS) else column


def _looked_up(row: Row) -> list[list[str]]:
    """Return the groups of texts that are looked up in all documents, none for a row that names a document."""
    if QUOTED in row:
        return [list(group) for group in row[QUOTED]]
    named = any(row.get(column) not in (None, "") for column in (*_DOCUMENTS[:2], *_OFFSETS))
    return [[row[column]]] if not named and (column := _passage(row)) else []


def _made_id(row: Row, text: str, answer: str, evidence: Evidence, history: Sequence[tuple[str, str]]) -> str:
    """Return an id by what a row says, the same before and after the document of its passage is added."""
    if QUOTED in row:
        return digest("import", text, answer, *(turn for pair in history for turn in pair))
    groups = _looked_up(row)
    places = [f"{s.document_id}:{s.start}:{s.end}" for group in evidence for s in group]
    return digest("import", text, answer, *(groups[0] if groups else places))


# From a question to a row


def write_questions(questions: Iterable[Question], names: Mapping[str, str], file_format: str) -> bytes:
    """Write `questions` as "csv" or "jsonl" so that `read_questions` gives them back; `names` are documents' by id."""
    rows = [question_row(question, names) for question in questions]
    if file_format == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")
    return csv_of(COLUMNS, [[row[column] for column in COLUMNS] for row in rows])


def question_row(question: Question, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a question as a row of an export, by column; `names` are documents' by id."""
    evidence = [[_member(span, names) for span in group] for group in question.evidence]
    return {column: getattr(question, column, None) for column in COLUMNS} | {
        "question": question.text,
        "document": ", ".join(documents_of(question, names)),
        "evidence": evidence,
        "parts": list(question.parts) or "",
        "history": [list(turn) for turn in question.history] or "",
        "source_chunks": " ".join(question.source_chunks),
    }


def _member(span: Span, names: Mapping[str, str]) -> dict[str, Any]:
    # A stale span's document is gone; another may bear its name.
    document = span.document_id if span.stale else names.get(span.document_id, span.document_id)
    member = {"document": document, "start": span.start, "end": span.end, "quote": span.text}
    return member | ({"stale": True} if span.stale else {}) | ({} if span.grade == 1 else {"grade": span.grade})


def documents_of(question: Question, names: Mapping[str, str]) -> list[str]:
    """Return the names of the documents of a question's evidence; `UNKNOWN` for those without one."""
    ids = dict.fromkeys(span.document_id for span in question.spans)
    return list(dict.fromkeys(names.get(document_id, UNKNOWN) for document_id in ids))


def csv_of(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Write a CSV file that spreadsheets open correctly: UTF-8 with its mark; text that would be a formula gets a '.

    A list becomes its JSON, None an empty cell.
    """

    def inert(cell: Any) -> Any:
        text = json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell
        return f"'{text}" if isinstance(text, str) and tables_in.DANGEROUS.match(text) else text

    out = io.StringIO(newline="")
    csv.writer(out).writerows([inert(cell) for cell in row] for row in (header, *rows))
    return out.getvalue().encode("utf-8-sig", "replace")
