"""TREC: topics, and judgements (qrels) of documents of the corpus.

Topics are `<top>` with `<num>`, `<title>` and `<desc>`; XML with `<topic number="…">`; or TSV of number and text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ragviz.core.document import Span
from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress
from ragviz.questions.formats import judged
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.questions.formats.judged import Query
from ragviz.questions.formats.known import Known, Names
from ragviz.questions.formats.set_formats import Read

_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?\s*>", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title|query|question|desc|description|narr|narrative)\b[^>]*>", re.IGNORECASE)
_NUMBER = re.compile(r"""(?:number|id|num)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|title|query|description|narrative)\s*:", re.IGNORECASE)
_TEXTS = ("question", "title", "query", "desc", "description")
"""Fields of a topic that may be the question, the first that is there."""
_BLANK = re.compile(r"\s+")


def read(files: Sequence[InputFile], known: Known, _split: str, progress: Progress) -> Read:
    """Read topics with the judgements of them, by the names of documents.

    Raises:
        InputError: there are no topics, or no judgements, or nothing that is a topic.

    """
    qrels = [file for file in files if _is_qrels(file)]
    topic_files = [file for file in files if file not in qrels]
    if not topic_files or not qrels:
        missing = "topics" if not topic_files else "judgements (qrels)"
        raise InputError(f"These files hold no {missing}: give topics and qrels together.")
    problems: list[Problem] = []
    read_qrels = [judged.read(file, problems, progress) for file in qrels]
    topics = [topic for file in topic_files for topic in _topics(file, problems)]
    if not topics and not problems:
        raise InputError(f"'{topic_files[0].name}' holds no topic: give <top>, <topic> or TSV.")

    names = Names(known.by_name.values())

    @cache
    def whole(name: str) -> tuple[Span, str] | None:
        called = names.called(name)
        document = next(known.texts([called[0].id]), None) if len(called) == 1 else None
        if document is None or not document.text.strip():
            return None
        return Span(document.id, 0, len(document.text), document.text), document.language

    questions, notes = judged.questions_of(topics, read_qrels, (), whole, problems)
    return Read(tuple(questions.values()), (), tuple(problems), tuple(notes))


def _is_qrels(file: InputFile) -> bool:
    """Return whether a file is one of judgements: by its name, or by four columns that end in a number."""
    if "qrel" in file.name.lower().rpartition("/")[2]:
        return True
    cells = file.head().partition("\n")[0].split()
    return len(cells) == 4 and cells[3].lstrip("-").isdigit()


def _topics(file: InputFile, problems: list[Problem]) -> Iterator[Query]:
    for row, number, text in _marked_up(file) if file.head().startswith("<") else _of_lines(file, problems):
        if number and text:
            yield Query(file.name, row, number, text)
        else:
            reason = f"has no {'text' if number else 'number'}: a topic needs both"
            problems.append(Problem(file.name, row, reason))


def _of_lines(file: InputFile, problems: list[Problem]) -> Iterator[tuple[int, str, str]]:
    for row, line in file.readable_lines(problems):
        number, tab, text = line.partition("\t")
        if not tab and re.match(r"[^\s:]+:", line):
            number, _, text = line.partition(":")  # as TREC's own query files: "51:how is …"
        yield row, number.strip(), text.strip()


def _marked_up(file: InputFile) -> Iterator[tuple[int, str, str]]:
    text = file.text()
    line, last = 1, 0
    for match in _TOPIC.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        fields = _fields(match[2])
        attribute = _NUMBER.search(match[1])
        number = attribute[1] if attribute else fields.get("num", "")
        yield line, number, next((fields[name] for name in _TEXTS if fields.get(name)), "")


def _fields(body: str) -> Mapping[str, str]:
    """Return the texts of a topic's fields, whose ends are not marked in TREC's own files, without their labels."""
    found: dict[str, str] = {}
    marks = [*_FIELD.finditer(body)]
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        raw = body[mark.end() : following.start() if following else len(body)]
        raw = re.sub(r"</?[A-Za-z][^>]*>", " ", raw)
        found.setdefault(mark[1].lower(), _BLANK.sub(" ", html.unescape(_LABEL.sub("", raw))).strip())
    return found
