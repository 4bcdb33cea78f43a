"""SQuAD JSON, version 1.1 or 2, as CMRC and DRCD have it in Chinese: articles of paragraphs with questions on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
_NUMBERED = re.compile(r"(.+)/(\d{3,})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Item:
    """A question with its paragraph and its article's title; or a part of the file that is none, by its `fault`.

    `number` counts both, from 1.
    """

    file: str
    number: int
    title: str = ""
    context: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    def problem(self, reason: str, *, kept: bool = False) -> Problem:
        """Return what is wrong with it, with the id, or the words, by which it is found in the file."""
        given, text = str(self.row.get("id") or "").strip(), self.row.get("question")
        words = f"“{shortened(text.strip(), 60)}”" if isinstance(text, str) and text.strip() else ""
        called = f"id '{given[:60]}'" if given else words
        return Problem(self.file, self.number, f"({called}) {reason}" if called else reason, kept)


def read(files: Sequence[InputFile], known: Known, _split: str, progress: Progress) -> Read:
    """Read a SQuAD file; an answer whose offset is wrong is told, and repaired when its text stands there once.

    An article or a paragraph that holds no questions where they should stand is told as well.

    Raises:
        InputError: it is no SQuAD file.

    """
    [file] = files[:1]
    items = list(_items(file))
    problems = [Problem(item.file, item.number, item.fault) for item in items if item.fault]
    items = [item for item in items if not item.fault]
    entries = Entries(known)
    places = _places(items, known, entries, problems, progress)
    questions: dict[str, Question] = {}
    plausible = 0
    for item in items:
        if item.number % _REPORTED == 0:
            progress(item.number, len(items), "questions", "Reading questions")
        told: list[Problem] = []
        try:
            question = _question(item, places.get(item.context), told)
            if question.id in questions:
                raise ValueError("has the id of one before it: the first is kept")
        except ValueError as error:
            problems.append(item.problem(str(error)))
            continue
        problems += told
        plausible += bool(item.row.get("plausible_answers"))
        questions[question.id] = question
    notes = [f"Plausible answers of {counted(plausible, 'unanswerable question')} were not kept."] * (plausible > 0)
    return Read(tuple(questions.values()), tuple(entries.documents), tuple(problems), tuple(notes))


def _items(file: InputFile) -> Iterator[_Item]:
    """Yield each question, and each part of the file where questions should be and are not."""
    items = (item for number, article in enumerate(_articles(file), start=1) for item in _of_article(article, number))
    number = 0
    for number, item in enumerate(items, start=1):
        yield replace(item, file=file.name, number=number)
    if not number:
        raise InputError(f"'{file.name}' holds no question: SQuAD has data → paragraphs → context, qas.")


def _articles(file: InputFile) -> list[Any]:
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
    return cast(list[Any], storable(articles))


def _of_article(article: Any, number: int) -> Iterator[_Item]:
    listed = article.get("paragraphs") if isinstance(article, dict) else None
    if not isinstance(listed, list):
        yield _fault(f"article {number} is no object with a list `paragraphs`")
        return
    title = str(article.get("title") or "article")
    for count, paragraph in enumerate(listed, start=1):
        rows = paragraph.get("qas") if isinstance(paragraph, dict) else None
        if not isinstance(rows, list):
            where = f"paragraph {count} of article {number} ('{shortened(title, 60)}')"
            yield _fault(f"{where} is no object with a text `context` and a list `qas`")
            continue
        context = paragraph.get("context")
        text = context if isinstance(context, str) else ""
        yield from (_Item("", 0, title, text, row if isinstance(row, dict) else {}) for row in rows)


def _fault(reason: str) -> _Item:
    return _Item("", 0, fault=f"{reason}: no question was read there")


def _places(
    items: Sequence[_Item], known: Known, entries: Entries, problems: list[Problem], progress: Progress
) -> dict[str, Span]:
    """Find each paragraph in a document of the corpus, or make it a document, named by its article and number."""
    there = located({item.context for item in items}, known.texts(), progress)
    places: dict[str, Span] = {}
    seen, numbers = set[str](), dict[str, int]()
    for item in items:
        context, title = item.context, item.title
        if context in seen:
            continue
        seen.add(context)
        numbers[title] = numbers.get(title, 0) + 1
        name = f"{shortened(title, _TITLES)}/{numbers[title]:03d}"
        exact = next((span for span in there[context] if span.text == context.strip()), None)
        if exact is not None:
            start = exact.start - context.index(exact.text)  # blanks around a paragraph are no part of what is found
            places[context] = replace(exact, start=start, end=start + len(context), text=context)
        elif reason := entries.add(name, context):
            problems.append(item.problem(f"has a paragraph that {reason}"))
        elif entry := entries.whole(name):
            places[context] = entry[0]
    return places


def _question(item: _Item, place: Span | None, told: list[Problem]) -> Question:
    """Return a question whose paragraph stands at `place`; ValueError says why it cannot be read."""
    row, context = item.row, item.context
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
        evidence = (tuple(dict.fromkeys(_answer(each, item, place, told) for each in listed)),)
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


def _answer(answer: Mapping[str, Any], item: _Item, place: Span, told: list[Problem]) -> Span:
    """Return the place of an answer; a wrong offset is told, and repaired when the text stands there once."""
    text, start, context = answer.get("text"), answer.get("answer_start"), item.context
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
        told.append(item.problem(f"had a wrong offset: {where}, but once, at {at}: repaired", kept=True))
    if place.text[at : at + len(text)] != text:
        raise ValueError(f"has an answer, “{shortened(text, 60)}”, that does not stand in the document like this")
    return Span(place.document_id, place.start + at, place.start + at + len(text), text)
