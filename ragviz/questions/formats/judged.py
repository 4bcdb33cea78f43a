"""Judgements of relevance (qrels): which documents are relevant to a query, and how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragviz.core.document import Evidence, Span
from ragviz.core.question import Question
from ragviz.core.stopping import Progress
from ragviz.questions.formats.input_file import InputFile, Problem, readable
from ragviz.text.counts import counted

EVERY = 5_000
"""Rows between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """That a document is relevant to a query by a grade above 0; `row` is its line in the file."""

    query: str
    document: str
    grade: float
    row: int


@dataclass(slots=True)
class Judged:
    """The judgements of one file: those of relevant documents by query, and how many say "not relevant".

    `queries` are all that are judged, those without a relevant document too.
    """

    name: str
    by_query: dict[str, list[Judgement]]
    queries: set[str]
    irrelevant: int = 0


def read(file: InputFile, problems: list[Problem], progress: Progress) -> Judged:
    """Read judgements: query, document, grade; or query, iteration, document, grade; separated by tabs or blanks.

    A first line of titles is skipped. A repeated judgement counts once, with the first grade.
    """
    judged, seen = Judged(file.name, {}, set()), dict[tuple[str, str], float]()
    for count, (row, line) in enumerate(file.lines()):
        if count % EVERY == 0:
            progress(count, None, "rows", "Reading judgements")
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        reason, grade = _grade(cells) if readable(line) else ("is not UTF-8: save the file in UTF-8", 0.0)
        if reason:
            if count or not readable(line) or _is_number(cells[-1]):
                problems.append(Problem(file.name, row, reason))
            continue
        query, document = cells[0], cells[-2]
        before = seen.get((query, document))
        if before is not None:
            if before != grade:
                again = f"judges '{document[:60]}' for '{query[:60]}' again, with {grade:g} instead of {before:g}"
                problems.append(Problem(file.name, row, f"{again}: the first judgement is kept"))
            continue
        seen[query, document] = grade
        judged.queries.add(query)
        if grade <= 0:
            judged.irrelevant += 1
        else:
            judged.by_query.setdefault(query, []).append(Judgement(query, document, grade, row))
    return judged


def _grade(cells: Sequence[str]) -> tuple[str, float]:
    """Return why a row cannot be read, "" when it can, and its grade."""
    if len(cells) not in (3, 4) or not all(cells):
        return f"has {len(cells)} columns: give query, document and grade, or query, iteration, document and grade", 0.0
    if not _is_number(cells[-1]):
        return f"has the grade '{cells[-1][:60]}': give a number, 0 for not relevant", 0.0
    return "", float(cells[-1])


def _is_number(cell: str) -> bool:
    try:
        return abs(float(cell)) < float("inf")
    except ValueError:
        return False


def evidence_of(
    judgements: Sequence[Judgement], whole: Callable[[str], Span | None], *, all_needed: bool
) -> tuple[Evidence, list[Judgement]]:
    """Return the evidence that judgements make, and those whose document is not known.

    `whole` returns a document's whole text as a place. Any relevant document suffices, unless `all_needed`: then there
    is no evidence where one of them is not known, because the rest of them is not what the question needs.
    """
    spans: dict[str, Span] = {}
    unknown = []
    for each in judgements:
        span = whole(each.document)
        if span is None:
            unknown.append(each)
        elif span.document_id not in spans:
            spans[span.document_id] = replace(span, grade=each.grade) if each.grade != span.grade else span
    if all_needed:
        return () if unknown else tuple((span,) for span in spans.values()), unknown
    return ((tuple(spans.values()),) if spans else ()), unknown


def unknown_document(file: str, judgement: Judgement, where: str, *, all_needed: bool) -> Problem:
    """Return the problem of a judgement on a document that is not known."""
    query = judgement.query[:60]
    reason = f"judges the document '{judgement.document[:60]}' for '{query}', which is not in {where}"
    left_out = f": '{query}' is left out, because all of its documents are needed" if all_needed else ""
    return Problem(file, judgement.row, reason + left_out)


def irrelevant_words(count: int) -> str:
    """Say how many judgements of irrelevance were read, and what becomes of them."""
    return f"{counted(count, 'judgement')} of “not relevant” (0 or below) read, and no evidence made of it."


def grades_of(question: Question) -> dict[str, float]:
    """Return the grade of each document that holds evidence of a question, by id: the highest of its spans."""
    grades: dict[str, float] = {}
    for span in (span for group in question.evidence for span in group if not span.stale):
        grades[span.document_id] = max(grades.get(span.document_id, 0.0), span.grade)
    return grades


def lost_words(questions: Iterable[Question]) -> list[str]:
    """Say what judgements of whole documents do not hold of these questions' evidence."""
    listed = list(questions)
    fractions = sum(any(span.grade % 1 for group in q.evidence for span in group) for q in listed)
    several = sum(q.kind == "multi" for q in listed)
    stale = sum(any(span.stale for group in q.evidence for span in group) for q in listed)
    notes = []
    if several:
        notes.append(
            f"{counted(several, 'question', 'has')} several pieces of evidence: qrels do not say that all are needed."
        )
    if fractions:
        notes.append(f"{counted(fractions, 'question', 'has')} grades that are no whole numbers: they are rounded up.")
    if stale:
        notes.append(f"{counted(stale, 'question', 'has')} evidence whose text is gone: it is left out.")
    return notes
