"""SQuAD JSON, version 1.1 or 2, as CMRC and DRCD have it in Chinese: articles of paragraphs with questions on them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragviz.errors import InputError
from ragviz.questions.formats.entries import Entries, question_id
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.located import located
from ragviz.questions.formats.registry import Choices, Known, Outgoing, Read, Written
from ragviz.records import Chunk, Document, Evidence, Progress, Question, Span, digest
from ragviz.text import language
from ragviz.text.markup import shortened
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

_REPORTED = 500
_TITLES = 120  # characters of a title that are kept in a document's name
_NUMBERED = re.compile(r"(.+)/(\d{3,})", re.DOTALL)  # a document that was a paragraph


@dataclass(slots=True)
class _Paragraphs:
    """Where the paragraphs of a file stand, by their text: in documents of the corpus, or as new documents."""

    entries: Entries
    places: dict[str, Span] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    located: int = 0


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read a SQuAD file; an answer whose offset is wrong is told, and repaired when its text stands there once.

    Raises:
        InputError: it is no SQuAD file.

    """
    [file] = files[:1]
    items = list(_items(file))
    paragraphs = _paragraphs(file, items, known, progress)
    questions: dict[str, Question] = {}
    plausible = 0
    for number, (_, context, row) in enumerate(items, start=1):
        if number % _REPORTED == 0:
            progress(number, len(items), "questions", "Reading questions")
        told: list[Problem] = []
        try:
            question = _question(row, context, paragraphs.places.get(context), file.name, number, told)
            if question.id in questions:
                raise ValueError(f"has the id '{question.id}', as one before it: the first is kept")
        except ValueError as error:
            paragraphs.problems.append(Problem(file.name, number, str(error)))
            continue
        paragraphs.problems += told
        plausible += bool(row.get("plausible_answers"))
        questions[question.id] = question
    notes = [f"Paragraphs that stand in documents of the corpus: {paragraphs.located:,}."] * (paragraphs.located > 0)
    notes += [f"Plausible answers of {plausible:,} unanswerable questions were not kept."] * (plausible > 0)
    documents = tuple(paragraphs.entries.documents)
    return Read(tuple(questions.values()), documents, tuple(paragraphs.problems), tuple(notes))


def _items(file: InputFile) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the title, the context and the fields of each question."""
    try:
        whole = parsed(file.text())
    except ValueError as error:
        raise InputError(f"'{file.name}' is not JSON that can be read: {error}.") from None
    articles = whole.get("data") if isinstance(whole, dict) else whole
    if not isinstance(articles, list) or is_deep(articles):
        raise InputError(
            f"'{file.name}' is no SQuAD file: it needs a list `data` of articles with `paragraphs`, nested at most "
            f"{NESTED} deep."
        )
    found = False
    for article in storable(articles):
        listed = article.get("paragraphs") if isinstance(article, dict) else None
        for paragraph in listed if isinstance(listed, list) else ():
            context = paragraph.get("context") if isinstance(paragraph, dict) else None
            rows = paragraph.get("qas") if isinstance(paragraph, dict) else None
            for row in rows if isinstance(rows, list) else ():
                found = True
                yield (
                    str(article.get("title") or "article"),
                    context if isinstance(context, str) else "",
                    row if isinstance(row, dict) else {},
                )
    if not found:
        raise InputError(f"'{file.name}' holds no question: SQuAD has data → paragraphs → context, qas.")


def _paragraphs(
    file: InputFile, items: Sequence[tuple[str, str, Mapping[str, Any]]], known: Known, progress: Progress
) -> _Paragraphs:
    """Find each paragraph in a document of the corpus, or make it a document, named by its article and number."""
    titles = {context: title for title, context, _ in reversed(items)}
    order = dict.fromkeys(context for _, context, _ in items)
    there = located(order, known.texts(), progress)
    read, numbers = _Paragraphs(Entries(known)), dict[str, int]()
    for number, (_, context, _) in enumerate(items, start=1):
        if context not in order:
            continue
        del order[context]  # each once
        title = titles[context]
        numbers[title] = numbers.get(title, 0) + 1
        name = f"{shortened(title, _TITLES)}/{numbers[title]:03d}"
        exact = [span for span in there[context] if span.text.split() == context.split()]
        if exact:
            read.places[context], read.located = exact[0], read.located + 1
        elif reason := read.entries.add(name, context):
            read.problems.append(Problem(file.name, number, f"has a paragraph that {reason}"))
        elif span := read.entries.whole(name):
            read.places[context] = span
    return read


def _question(
    row: Mapping[str, Any], context: str, place: Span | None, file: str, number: int, told: list[Problem]
) -> Question:
    """Return the question of a row; ValueError says why it cannot be read."""
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if place is None:
        raise ValueError("is about a paragraph that was not taken")
    given = str(row.get("id") or "").strip() or digest("import", text, context)
    impossible = row.get("is_impossible", False)
    if not isinstance(impossible, bool):
        raise ValueError(f"has '{str(impossible)[:60]}' as is_impossible: write true or false")
    answers = row.get("answers", [])
    listed = [answers] if isinstance(answers, dict) else answers
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ValueError("has answers that are no list of objects with text and answer_start")
    if impossible and listed:
        raise ValueError("is marked is_impossible and has answers: remove the one or the other")
    if not impossible and not listed:
        raise ValueError("has no answer, and is not marked is_impossible")
    evidence: Evidence = ()
    if not impossible:
        evidence = (tuple(dict.fromkeys(_answer(each, context, place, told, file, number) for each in listed)),)
    whole = Chunk.make_id(place.document_id, place.start, place.end)
    return Question(
        id=question_id(given),
        text=text.strip(),
        answer=evidence[0][0].text if evidence else "",
        evidence=evidence,
        generator="import",
        status="accepted",
        language=language.of_short(text, language.detect(context)),
        source_chunks=(whole,) if impossible else (),
        type="unanswerable" if impossible else "",
    )


def _answer(answer: Mapping[str, Any], context: str, place: Span, told: list[Problem], file: str, number: int) -> Span:
    """Return the place of an answer; a wrong offset is told, and repaired when the text stands there once."""
    text, start = answer.get("text"), answer.get("answer_start")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has an answer without text")
    if isinstance(start, int) and start >= 0 and context[start : start + len(text)] == text:
        at = start
    else:
        count = context.count(text)
        where = f"“{shortened(text, 60)}” does not stand at {start} of its paragraph"
        if count != 1:
            times = f"but {count} times elsewhere" if count else "and nowhere else in it"
            raise ValueError(f"has a wrong offset: {where}, {times}: give the right answer_start")
        at = context.index(text)
        told.append(Problem(file, number, f"had a wrong offset: {where}, but once, at {at}: repaired", kept=True))
    if place.text == context:
        return Span(place.document_id, place.start + at, place.start + at + len(text), text)
    return _in_document(text, at, context, place)


def _in_document(text: str, at: int, context: str, place: Span) -> Span:
    """Return the place of an answer in a document that has other blanks or line ends than its paragraph."""
    before, wanted = len("".join(context[:at].split())), "".join(text.split())
    marks = [index for index, character in enumerate(place.text) if not character.isspace()]
    first, last = marks[before], marks[before + len(wanted) - 1]
    found = place.text[first : last + 1]
    if "".join(found.split()) != wanted:
        raise ValueError(f"has an answer, “{shortened(text, 60)}”, that does not stand in the document like this")
    return Span(place.document_id, place.start + first, place.start + last + 1, found)


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write SQuAD 2: a document is an article of one paragraph; answers are marked where they stand in the evidence.

    Documents that an import made of an article's paragraphs, named by its title and their numbers, are its paragraphs.
    """
    by_document: dict[str, list[Question]] = {}
    left: dict[str, int] = {}
    for question in outgoing.questions:
        document_id, reason = _document_of(question)
        if reason:
            left[reason] = left.get(reason, 0) + 1
        else:
            by_document.setdefault(document_id, []).append(question)
    paragraphs: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for document in outgoing.known.texts(by_document):
        title, number = _title_of(document.name)
        paragraphs.setdefault(title, []).append((number, _paragraph(document, by_document[document.id])))
    articles = [
        {"title": title, "paragraphs": [each for _, each in sorted(own, key=lambda numbered: numbered[0])]}
        for title, own in paragraphs.items()
    ]
    data = json.dumps({"version": "v2.0", "data": articles}, ensure_ascii=False).encode("utf-8", "replace")
    notes = tuple(f"{count:,} left out: {reason}." for reason, count in left.items())
    return Written(data, "json", notes)


def _document_of(question: Question) -> tuple[str, str]:
    """Return the document that a question is about, or why it has no place in SQuAD."""
    if not question.asked:
        return "", "rejected or quarantined"
    if question.kind == "unanswerable":
        places = [place for place in map(Chunk.parse_id, question.source_chunks) if place]
        return (places[0][0], "") if places else ("", "unanswerable, without a passage it was made from")
    if question.kind == "reference":
        return "", "reference only: where its answer stands is not known"
    if question.kind == "multi":
        return "", "it needs several pieces of evidence"
    spans = [span for span in question.evidence[0] if not span.stale]
    return (spans[0].document_id, "") if spans else ("", "its evidence is gone")


def _title_of(name: str) -> tuple[str, int]:
    """Return the title of the article that a document is a paragraph of, and its number there.

    >>> _title_of("Ada Lovelace/012"), _title_of("guide/pumps.md")
    (('Ada Lovelace', 12), ('guide/pumps.md', 1))
    """
    found = _NUMBERED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, 1)


def _paragraph(document: Document, questions: Iterable[Question]) -> dict[str, Any]:
    return {"context": document.text, "qas": [_row(question, document) for question in questions]}


def _row(question: Question, document: Document) -> dict[str, Any]:
    """Return a question; earlier turns of its conversation stand before its text, as they are searched."""
    row: dict[str, Any] = {"id": question.id, "question": question.query}
    spans = [span for group in question.evidence for span in group if span.document_id == document.id]
    texts = [document.text[span.start : span.end] for span in spans]
    answer = "" if question.answer in texts else question.answer  # then each piece of evidence is an answer
    answers = [_written(span, answer, document) for span in spans if not span.stale]
    return row | {"answers": answers, "is_impossible": not question.evidence}


def _written(span: Span, answer: str, document: Document) -> dict[str, Any]:
    """Return the reference answer where it stands once in its evidence, else the evidence."""
    there = document.text[span.start : span.end]
    if answer.strip() and there.count(answer) == 1:
        return {"text": answer, "answer_start": span.start + there.index(answer)}
    return {"text": there, "answer_start": span.start}
