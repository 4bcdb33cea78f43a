"""TREC: topics, and judgements (qrels) of documents of the corpus.

Topics are `<top>` with `<num>`, `<title>` and `<desc>`; XML with `<topic number="…">`; TSV of number and text; JSONL.
"""

from __future__ import annotations

import html
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragviz.core.document import Span
from ragviz.core.errors import InputError
from ragviz.core.question import Question
from ragviz.core.stopping import Progress
from ragviz.questions.formats import judged
from ragviz.questions.formats.entries import question_id
from ragviz.questions.formats.input_file import InputFile, Problem, objects, readable
from ragviz.questions.formats.judged import EVERY, Judged
from ragviz.questions.formats.set_formats import Choices, Known, Outgoing, Read, Written
from ragviz.text import language
from ragviz.text.counts import counted

_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?\s*>", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title|query|question|desc|description|narr|narrative)\b[^>]*>", re.IGNORECASE)
_NUMBER = re.compile(r"""(?:number|id|num)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|title|query|description|narrative)\s*:", re.IGNORECASE)
_TEXTS = ("question", "title", "query", "desc", "description")
"""Fields of a topic that may be the question, the first that is there."""
_IDS = ("_id", "id", "qid", "query_id", "num", "number", "topic_id")
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Topic:
    file: str
    row: int
    number: str
    text: str


def read(files: Sequence[InputFile], known: Known, choices: Choices, progress: Progress) -> Read:
    """Read topics with the judgements of them, by the names of documents; a topic without any is left out, and told.

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
    whole = _whole(known)
    questions: dict[str, Question] = {}
    numbers: set[str] = set()
    for count, topic in enumerate(topic for file in topic_files for topic in _topics(file, problems)):
        if count % EVERY == 0:
            progress(count, None, "topics", "Reading topics")
        if topic.number in numbers:
            reason = f"has the number '{topic.number[:60]}', as one before it: the first is kept"
            problems.append(Problem(topic.file, topic.row, reason))
            continue
        numbers.add(topic.number)
        question = _question(topic, read_qrels, whole, choices, problems)
        if question is not None:
            questions[question.id] = question
    if not numbers and not problems:
        raise InputError(f"'{topic_files[0].name}' holds no topic: give <top>, <topic>, TSV or JSONL.")
    for file in read_qrels:
        for query, judgements in file.by_query.items():
            if query not in numbers:
                reason = f"judges documents for the topic '{query[:60]}', which is not among the topics"
                problems.append(Problem(file.name, judgements[0].row, reason))
    irrelevant = sum(file.irrelevant for file in read_qrels)
    notes = (judged.irrelevant_words(irrelevant),) if irrelevant else ()
    return Read(tuple(questions.values()), (), tuple(problems), notes)


def _is_qrels(file: InputFile) -> bool:
    """Return whether a file is one of judgements: by its name, or by four columns that end in a number."""
    if "qrel" in file.name.lower().rpartition("/")[2]:
        return True
    cells = file.head().lstrip("\ufeff \t\r\n").partition("\n")[0].split()
    return len(cells) == 4 and cells[3].lstrip("-").isdigit()


def _whole(known: Known) -> Callable[[str], Span | None]:
    """Return what finds a document by its name, its whole text as a place; texts that were read are kept."""
    spans: dict[str, Span | None] = {}

    def whole(name: str) -> Span | None:
        if name not in spans:
            info = known.called(name)
            document = next(iter(known.texts([info.id])), None) if info else None
            empty = document is None or not document.text.strip()
            spans[name] = None if empty or document is None else Span(document.id, 0, len(document.text), document.text)
        return spans[name]

    return whole


def _question(
    topic: _Topic,
    qrels: Sequence[Judged],
    whole: Callable[[str], Span | None],
    choices: Choices,
    problems: list[Problem],
) -> Question | None:
    """Return a topic as a question; None, told, when no document of the corpus is relevant to it."""
    found = [(file, each) for file in qrels for each in file.by_query.get(topic.number, ())]
    evidence, unknown = judged.evidence_of([each for _, each in found], whole, all_needed=choices.all_needed)
    of = {id(each): file for file, each in found}
    needed = choices.all_needed
    problems += [judged.unknown_document(of[id(e)].name, e, "the corpus", all_needed=needed) for e in unknown]
    if needed and unknown:
        return None
    if not evidence:
        reason = f"(topic '{topic.number[:60]}') has no relevant document in the corpus: left out"
        problems.append(Problem(topic.file, topic.row, reason))
        return None
    text = topic.text
    shown = language.detect(evidence[0][0].text[:2000])
    return Question(
        id=question_id(topic.number),
        text=text,
        answer="",
        evidence=evidence,
        generator="import",
        status="accepted",
        language=language.of_short(text, shown),
    )


def _topics(file: InputFile, problems: list[Problem]) -> Iterator[_Topic]:
    start = file.head().lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        yield from _marked_up(file, problems)
    elif start == "{":
        for row, value in objects(file, problems):
            number = next((str(value[key]).strip() for key in _IDS if value.get(key) not in (None, "")), "")
            texts = (value.get(key) for key in ("text", *_TEXTS))
            text = next((each.strip() for each in texts if isinstance(each, str) and each.strip()), "")
            yield from _topic(file, row, number, text, problems)
    else:
        for row, line in file.lines():
            if not readable(line):
                problems.append(Problem(file.name, row, "is not UTF-8: save the file in UTF-8"))
                continue
            number, tab, text = line.partition("\t")
            if not tab and re.match(r"[^\s:]+:", line):
                number, _, text = line.partition(":")  # as TREC's own query files: "51:how is …"
            yield from _topic(file, row, number.strip(), text.strip(), problems)


def _topic(file: InputFile, row: int, number: str, text: str, problems: list[Problem]) -> Iterator[_Topic]:
    if number and text:
        yield _Topic(file.name, row, number, text)
    else:
        problems.append(Problem(file.name, row, f"has no {'text' if number else 'number'}: a topic needs both"))


def _marked_up(file: InputFile, problems: list[Problem]) -> Iterator[_Topic]:
    text = file.text()
    line, last = 1, 0
    for match in _TOPIC.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        fields = _fields(match[2])
        attribute = _NUMBER.search(match[1])
        number = attribute[1] if attribute else fields.get("num", "")
        asked = next((fields[name] for name in _TEXTS if fields.get(name)), "")
        yield from _topic(file, line, number, asked, problems)


def _fields(body: str) -> Mapping[str, str]:
    """Return the texts of a topic's fields, whose ends are not marked in TREC's own files, without their labels."""
    found: dict[str, str] = {}
    marks = [*_FIELD.finditer(body)]
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        raw = body[mark.end() : following.start() if following else len(body)]
        raw = re.sub(r"</?[A-Za-z][^>]*>", " ", raw)
        found.setdefault(mark[1].lower(), _BLANK.sub(" ", html.unescape(_LABEL.sub("", raw))).strip())
    return found


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write a .zip with topics.tsv and qrels.txt: the questions that are asked and have evidence."""
    asked = [question for question in outgoing.questions if question.asked and question.evidence]
    notes = list(judged.lost_words(asked))
    if left := len(outgoing.questions) - len(asked):
        notes.append(f"{counted(left, 'question', 'is')} left out: without evidence, rejected or quarantined.")
    topics, rows = [], []
    names = {key: _BLANK.sub("_", name) for key, name in outgoing.names.items()}
    if any(_BLANK.search(name) for name in outgoing.names.values()):
        notes.append("Blanks in names of documents are written as _, as columns are separated by blanks.")
    for question in asked:
        number = _BLANK.sub("_", question.id)
        topics.append(f"{number}\t{_BLANK.sub(' ', question.query)}\n")
        for document_id, grade in judged.grades_of(question).items():
            rows.append(f"{number} 0 {names.get(document_id, document_id)} {math.ceil(grade)}\n")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("topics.tsv", "".join(topics).encode("utf-8", "replace"))
        archive.writestr("qrels.txt", "".join(rows).encode("utf-8", "replace"))
    return Written(out.getvalue(), "zip", tuple(notes))
