"""SQuAD JSON, version 1.1 or 2, as CMRC and DRCD have it in Chinese: articles of paragraphs with questions on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Evidence, Span
from ragviz.core.errors import InputError
from ragviz.core.question import Question
from ragviz.core.stopping import Progress
from ragviz.questions.formats.entries import Entries, question_id
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.located import located
from ragviz.questions.formats.set_formats import Read
from ragviz.text import language
from ragviz.text.counts import counted
from ragviz.text.markup import shortened
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

_REPORTED = 500
_TITLES = 120  # characters of a title that are kept in a document's name
Paragraph = tuple[str, str, list[Mapping[str, Any]] | str]
"""The title of its article, its text, and what is asked about it; or why it cannot be read, which counts as a row."""


def read(files: Sequence[InputFile], known: Known, _split: str, progress: Progress) -> Read:
    """Read a SQuAD file; an answer whose offset is wrong is told, and repaired when its text stands there once.

    A paragraph that stands in no document becomes one, named by its article and number.

    Raises:
        InputError: it is no SQuAD file, or holds no question.

    """
    [file] = files[:1]
    paragraphs = _paragraphs(file)
    there = located({context for _, context, _ in paragraphs}, known.texts(), progress)
    entries, numbers, places = Entries(known), Counter[str](), dict[str, Span | str]()
    problems, questions = list[Problem](), dict[str, Question]()
    number = plausible = 0
    for title, context, rows in paragraphs:
        if isinstance(rows, str):
            number += 1
            problems.append(Problem(file.name, number, rows))
            continue
        if context not in places:
            numbers[title] += 1
            name = f"{shortened(title, _TITLES)}/{numbers[title]:03d}"
            places[context] = _place(name, context, there[context], entries)
        for row in rows:
            number += 1
            if number % _REPORTED == 0:
                progress(number, None, "questions", "Reading questions")
            told = list[str]()
            try:
                question = _question(row, context, places[context], told)
                if question.id in questions:
                    raise ValueError("has the id of one before it: the first is kept")
            except ValueError as error:
                problems.append(Problem(file.name, number, f"{_called(row)}{error}"))
                continue
            problems += [Problem(file.name, number, f"{_called(row)}{reason}", kept=True) for reason in told]
            plausible += bool(row.get("plausible_answers"))
            questions[question.id] = question
    notes = [f"Plausible answers of {counted(plausible, 'unanswerable question')} were not kept."] * (plausible > 0)
    return Read(tuple(questions.values()), tuple(entries.documents), tuple(problems), tuple(notes))


def _paragraphs(file: InputFile) -> list[Paragraph]:
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
    found = list[Paragraph]()
    for number, article in enumerate(cast(list[Any], storable(articles)), start=1):
        listed = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(listed, list):
            found.append(("", "", f"stands for article {number}, which is no object with a list `paragraphs`"))
            continue
        title = str(article.get("title") or "article")
        for count, paragraph in enumerate(listed, start=1):
            of = paragraph if isinstance(paragraph, dict) else {}
            rows, context = of.get("qas"), of.get("context")
            if isinstance(rows, list) and isinstance(context, str):
                found.append((title, context, [row if isinstance(row, dict) else {} for row in rows]))
            else:
                where = f"paragraph {count} of article {number} ('{shortened(title, 60)}')"
                found.append(("", "", f"stands for {where}, which is no object with a text `context` and a list `qas`"))
    if not any(rows for _, _, rows in found):
        raise InputError(f"'{file.name}' holds no question: SQuAD has data → paragraphs → context, qas.")
    return found


def _called(row: Mapping[str, Any]) -> str:
    """Return the id, or the words, by which a question is found in the file, in brackets."""
    given, text = str(row.get("id") or "").strip(), row.get("question")
    if given:
        return f"(id '{given[:60]}') "
    return f"(“{shortened(text.strip(), 60)}”) " if isinstance(text, str) and text.strip() else ""


def _place(name: str, context: str, there: Sequence[Span], entries: Entries) -> Span | str:
    """Return where a paragraph stands in a document, or in the one that it becomes; else why it does not."""
    exact = next((span for span in there if span.text == context.strip()), None)
    if exact is not None:
        start = exact.start - context.index(exact.text)  # blanks around a paragraph are no part of what is found
        return replace(exact, start=start, end=start + len(context), text=context)
    reason = entries.add(name, context)
    entry = None if reason else entries.whole.get(name)
    return entry[0] if entry else reason


def _question(row: Mapping[str, Any], context: str, place: Span | str, told: list[str]) -> Question:
    """Return a question whose paragraph stands at `place`; ValueError says why it cannot be read."""
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if isinstance(place, str):
        raise ValueError(f"is about a paragraph that {place}")
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
        evidence = (tuple(dict.fromkeys(_answer(each, context, place, told) for each in listed)),)
    whole = Chunk.make_id(place.document_id, max(0, place.start), place.end)
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


def _answer(answer: Mapping[str, Any], context: str, place: Span, told: list[str]) -> Span:
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
        told.append(f"had a wrong offset: {where}, but once, at {at}: repaired")
    if place.text[at : at + len(text)] != text:
        raise ValueError(f"has an answer, “{shortened(text, 60)}”, that does not stand in the document like this")
    return Span(place.document_id, place.start + at, place.start + at + len(text), text)
