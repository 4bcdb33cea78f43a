"""Queries with judgements of relevance (qrels): which documents are relevant to each, and how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragviz.core.document import Evidence, Span
from ragviz.core.question import Question, Side
from ragviz.core.stopping import Progress
from ragviz.questions.formats.entries import question_id
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.set_formats import Outgoing
from ragviz.text import language
from ragviz.text.counts import counted

EVERY = 5_000
"""Rows between two reports of progress."""
SIDES: Mapping[str, Side] = {"test": "test", "dev": "validation", "validation": "validation", "valid": "validation"}
"""Name of a file of judgements → the side of a split that its queries are on; those of "train" are on none."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """That a document is relevant to a query by a grade above 0; `row` is its line in the file."""

    document: str
    grade: float
    row: int


@dataclass(slots=True)
class Judged:
    """The judgements of one file: those of relevant documents by query, and how many say "not relevant".

    `by_query` has all that are judged, those without a relevant document too.
    """

    name: str
    by_query: dict[str, list[Judgement]]
    irrelevant: int = 0

    @property
    def split(self) -> str:
        """What the name says of the split: that of the file, up to its first point."""
        return self.name.lower().rpartition("/")[2].partition(".")[0]


def read(file: InputFile, problems: list[Problem], progress: Progress) -> Judged:
    """Read judgements: query, document, grade; or query, iteration, document, grade; separated by tabs or blanks.

    A first line of titles is skipped. A repeated judgement counts once, with the first grade.
    """
    judged, seen = Judged(file.name, {}), dict[tuple[str, str], float]()
    for count, (row, line) in enumerate(file.readable_lines(problems)):
        if count % EVERY == 0:
            progress(count, None, "rows", "Reading judgements")
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        grade = _number(cells[-1])
        reason = ""
        if len(cells) not in (3, 4) or not all(cells):
            reason = (
                f"has {len(cells)} columns: give query, document and grade, or query, iteration, document and grade"
            )
        elif grade is None:
            reason = f"has the grade '{cells[-1][:60]}': give a number, 0 for not relevant"
        if reason or grade is None:
            if count or grade is not None:
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
        judged.irrelevant += grade <= 0
        judged.by_query.setdefault(query, []).extend([Judgement(document, grade, row)] if grade > 0 else [])
    return judged


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a file, in its row; `marked`: the file says that no document answers it."""

    file: str
    row: int
    id: str
    text: str
    answers: Sequence[str] = ()
    marked: bool = False


Whole = Callable[[str], tuple[Span, str] | None]
"""Returns a document that is judged as a place, with its language; None for one that is not known."""


def questions_of(
    queries: Iterable[Query],
    qrels: Sequence[Judged],
    others: Sequence[Judged],
    whole: Whole,
    problems: list[Problem],
) -> tuple[dict[str, Question], list[str]]:
    """Return the questions that queries with their judgements are, by the queries' ids, and notes on all.

    A query without a relevant document is unanswerable where it is marked so, reference only where it has an answer,
    and left out otherwise; so is one that only `others` judge.
    """
    questions: dict[str, Question] = {}
    known: set[str] = set()
    elsewhere = {query for file in others for query in file.by_query}
    told, is_divided = Counter[str](), len({SIDES[file.split] for file in qrels if file.split in SIDES}) > 1
    for query in queries:
        if query.id in known:
            reason = f"has the id '{query.id[:60]}', as one before it: the first is kept"
            problems.append(Problem(query.file, query.row, reason))
            continue
        known.add(query.id)
        mine = next((each for each in qrels if query.id in each.by_query), None)
        found = mine.by_query[query.id] if mine else []
        evidence, codes = _evidence(query, mine, whole, problems)
        if query.marked and found:
            reason = "is marked unanswerable and has relevant documents: remove the one or the other"
            problems.append(Problem(query.file, query.row, reason))
            continue
        if not evidence and not query.marked and (not query.answers or query.id in elsewhere or found):
            told["elsewhere" if query.id in elsewhere else "unjudged"] += 1
            continue
        told["answers"] += len(query.answers) > 1
        questions[query.id] = Question(
            id=question_id(query.id),
            text=query.text,
            answer=query.answers[0] if query.answers else "",
            evidence=evidence,
            generator="import",
            status="accepted",
            language=language.of_short(query.text, *codes),
            unanswerable=query.marked and bool(query.answers),
            split=SIDES.get(mine.split, "") if mine and is_divided else "",
            type="unanswerable" if query.marked else "",
        )
    for file in qrels:
        for query_id, judgements in file.by_query.items():
            if query_id not in known and judgements:
                reason = f"judges documents for '{query_id[:60]}', which is not among the queries"
                problems.append(Problem(file.name, judgements[0].row, reason))
    return questions, [*_notes(qrels, others, told)]


def _notes(qrels: Sequence[Judged], others: Sequence[Judged], told: Mapping[str, int]) -> Iterator[str]:
    if count := sum(file.irrelevant for file in qrels):
        yield f"{counted(count, 'judgement')} of “not relevant” (0 or below) read, and no evidence made of it."
    if others:
        names, left = ", ".join(file.split for file in others), counted(told["elsewhere"], "query")
        yield f"Judgements not read: {names}. {left} judged only there left out: choose that split to import it."
    if count := told["unjudged"]:
        yield f"{counted(count, 'query', 'has')} no relevant document and no answer: left out."
    if count := told["answers"]:
        yield f"{counted(count, 'question', 'has')} several reference answers: the first was kept."


def _evidence(query: Query, judged: Judged | None, whole: Whole, problems: list[Problem]) -> tuple[Evidence, list[str]]:
    """Return the relevant documents of a query, any of which suffices, and its languages; unknown ones are problems."""
    spans: dict[str, Span] = {}
    codes = []
    for each in judged.by_query[query.id] if judged else ():
        if (found := whole(each.document)) is not None:
            codes.append(found[1])
            spans.setdefault(found[0].document_id, replace(found[0], grade=each.grade))
        else:
            where = f"'{each.document[:60]}' for '{query.id[:60]}', which is not there"
            problems.append(Problem(judged.name if judged else "", each.row, f"judges the document {where}"))
    return ((tuple(spans.values()),) if spans else ()), codes


# Out


def lost_words(outgoing: Outgoing) -> tuple[str, ...]:
    """Say what judgements of whole documents do not hold of the evidence of questions, and which of these stay out."""
    spans = [question.spans for question in outgoing.asked]
    lost = {
        "several pieces of evidence: qrels do not say that all are needed.": sum(
            question.kind == "multi" for question in outgoing.asked
        ),
        "grades that are no whole numbers: they are rounded up.": sum(any(s.grade % 1 for s in each) for each in spans),
        "evidence whose text is gone: it is left out.": sum(any(s.stale for s in each) for each in spans),
    }
    notes = [f"{counted(count, 'question', 'has')} {what}" for what, count in lost.items() if count]
    return (*notes, *outgoing.left_out)
