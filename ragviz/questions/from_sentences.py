"""Questions of single sentences and cells of tables, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ragviz.models.chat import ModelClient
from ragviz.questions import drafts, phrasing, rejection
from ragviz.questions.asked import Asked
from ragviz.questions.chosen_chunks import Group
from ragviz.questions.drafts import Ask
from ragviz.records import Chunk, Question
from ragviz.text import language, prose, segmentation
from ragviz.text.words import parse

GOOD = 9.0
"""An extractive question that scores so much is taken without looking at further sentences: it saves parsing."""
ENOUGH = 4.0
"""One that scores less is not asked. Of 88 graded by hand, from six corpora, 3 of 9 that scored 4 to 5 were good, and
about half of those in every band above (36 of 79): the score is a floor, and no measure of a question."""

PARSED = 4
"""Sentences of a chunk that are parsed together, the likeliest first, until there is a good question."""


def askable(chunk: Chunk) -> bool:
    """Whether the extractive generator finds something to ask in `chunk`: what groups for it are made of."""
    return any(fact.asked.score >= ENOUGH for fact in _facts(chunk.text, language.detect(chunk.text)))


@dataclass(frozen=True, slots=True)
class _Fact:
    """What can be asked of a chunk, and where the sentence or row stands in it that answers."""

    asked: Asked
    start: int
    end: int


def extractive(
    groups: Iterable[Group], seen: set[str], client: ModelClient | None, seed: int, ask: Ask | None
) -> Iterator[Question]:
    """The best question that a sentence or table row of each chunk answers; several chunks' are asked in one."""
    for group in groups:
        blank = drafts.blank(group, "extractive", seed)
        facts = [_first_sound(chunk, blank, seen) for chunk in group]
        missing = [number for number, fact in enumerate(facts, start=1) if fact is None]
        if missing:
            which = f" of passage {missing[0]}" if len(group) > 1 else ""
            yield replace(blank, status="rejected", reason=f"no sentence{which} can be asked about")
            continue
        found = [fact for fact in facts if fact is not None]
        asked = found[0].asked if len(found) == 1 else phrasing.joined([f.asked for f in found], blank.language)
        evidence = tuple((drafts.span(c, f.start, f.end),) for c, f in zip(group, found, strict=True))
        yield drafts.judged(replace(blank, text=asked.question, answer=asked.answer, evidence=evidence), group, seen)


def _first_sound(chunk: Chunk, blank: Question, seen: set[str]) -> _Fact | None:
    """The best fact of the chunk whose question would not be rejected."""
    facts = sorted(_facts(chunk.text, blank.language), key=lambda fact: -fact.asked.score)
    for fact in facts:
        question = replace(blank, text=fact.asked.question, answer=fact.asked.answer)
        if fact.asked.score >= ENOUGH and not rejection.reject(question, chunk.text, seen):
            return fact
    return None


@lru_cache(maxsize=4096)
def _facts(text: str, spoken: str) -> tuple[_Fact, ...]:
    """All that can be asked of a chunk's text; kept, because a chunk can be in many groups."""
    facts = list(_table_facts(text, spoken))
    likely = _sentences(text, spoken)
    for first in range(0, len(likely), PARSED):
        if facts and max(fact.asked.score for fact in facts) >= GOOD:
            break
        batch = likely[first : first + PARSED]
        parsed = parse([sentence for sentence, *_ in batch], spoken)
        for (sentence, start, end, penalty), words in zip(batch, parsed, strict=True):
            for asked in phrasing.questions(sentence, words, spoken):
                facts.append(_Fact(replace(asked, score=asked.score - penalty), start, end))
    return tuple(facts)


_ODD = re.compile(r"https?://|[{}<>|=\\@]|\S{40,}")
_LABELLED = re.compile(r"[^，。；！？]{1,20}[：:](?!\d)")
"""A Chinese line with a label is an example, a note or a definition: what it says need not hold by itself."""


def _sentences(text: str, spoken: str) -> list[tuple[str, int, int, float]]:
    """Sentences worth parsing, as they read, the likeliest first; where they stand, and what a cut by the edge costs.

    Left out: headings, rows of tables, questions, what leads up to a list, code and addresses, the too short and long.
    """
    found = []
    read = prose.read(text)
    for left, right in segmentation.sentences(text, spoken):
        line = text[text.rfind("\n", 0, left) + 1 : left].strip()
        start, end = read.within(left, right)
        while start < end and read.text[start].isspace():
            start += 1
        sentence = phrasing.core(" ".join(read.text[start:end].split()), spoken)
        if line[:1] in ("#", "|") or not _worth_parsing(sentence, spoken):
            continue
        cut = (spoken == "zh" and not text[:left].strip()) or (
            not text[right:].strip() and sentence[-1] not in '.!。！；)）”"'
        )
        facts = len(re.findall(r"\d+|(?<!^)\b[A-Z]", sentence))
        order = (cut, -min(facts, 4), abs(_size(sentence, spoken) - 18))
        found.append((order, (sentence, *read.source(start, end), 3.0 if cut else 0.0)))
    return [sentence for _, sentence in sorted(found, key=lambda each: each[0])]


def _worth_parsing(sentence: str, spoken: str) -> bool:
    if not 5 <= _size(sentence, spoken) <= 60 or sentence[-1] in ":?：？" or _ODD.search(sentence):
        return False
    if spoken == "zh":
        return not _LABELLED.match(sentence)
    return sentence[0].isupper() or sentence[0].isdigit() or sentence[0] in '"“‘('


def _size(sentence: str, spoken: str) -> float:
    """About how many words."""
    return len(sentence) / 2 if spoken == "zh" else len(sentence.split())


def _table_facts(text: str, spoken: str) -> Iterator[_Fact]:
    """Each cell of a Markdown table whose row has a name: "What is the price of the day ticket?"."""
    header: list[str] = []
    previous = ""
    for match in re.finditer(r"[^\n]+", text):
        line, cells = match.group(), _cells(match.group())
        if re.fullmatch(r"\s*\|?[\s:|-]*--[\s:|-]*", line):
            header = _cells(previous)
        elif header and len(cells) == len(header) and re.search(r"[^\W\d_]{2}", cells[0]):
            for name, cell in list(zip(header, cells, strict=True))[1:]:
                if 1 <= len(cell) <= 60 and re.search(r"[^\W\d_]", name) and re.search(r"\w", cell):
                    yield _Fact(_of_cell(cells[0], name, cell, spoken), *match.span())
        elif not cells:
            header = []
        previous = line


def _cells(line: str) -> list[str]:
    """The cells of a table's row as they read; none when the line is no row."""
    cells = line.strip().strip("|").split("|") if "|" in line else []
    return [" ".join(prose.read(cell).text.split()) for cell in cells]


def _of_cell(row: str, column: str, cell: str, spoken: str) -> Asked:
    score = 6.0 + any(c.isdigit() for c in cell) - max(0, len(row.split()) - 8)
    if spoken == "zh":
        return Asked(f"{row}的{column}是什么？", cell, score)
    name = column if re.search(r".[A-Z0-9]", column) else column[:1].lower() + column[1:]
    return Asked(f"What is the {name} of “{row}”?", cell, score)
