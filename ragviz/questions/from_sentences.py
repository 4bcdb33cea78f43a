"""Extractive questions, without a model: from single sentences and from cells of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ragviz.models.chat import ModelClient
from ragviz.questions import drafts, phrasing, rejection
from ragviz.questions.candidate import Candidate
from ragviz.questions.chosen_chunks import Group
from ragviz.questions.drafts import Ask
from ragviz.records import Chunk, Question
from ragviz.text import language, prose, segmentation
from ragviz.text.words import parse

GOOD = 9.0
"""A question with this score is taken without parsing further sentences."""
ENOUGH = 4.0
"""Questions with a lower score are not used. Of 88 graded by hand, from six corpora, 3 of 9 that scored 4 to 5 were
good, and about half of those in every band above (36 of 79): the score is a threshold, not a measure of quality."""

PARSED = 4
"""Sentences of a chunk that are parsed together, the likeliest first, until there is a good question."""


def askable(chunk: Chunk) -> bool:
    """Return whether the extractive generator can make a question of `chunk`, which its groups need."""
    return any(fact.candidate.score >= ENOUGH for fact in _facts(chunk.text, language.detect(chunk.text)))


@dataclass(frozen=True, slots=True)
class _Fact:
    """A candidate question, and the place of the sentence or row in the chunk that answers it."""

    candidate: Candidate
    start: int
    end: int


def extractive(
    groups: Iterable[Group], existing: set[str], client: ModelClient | None, seed: int, ask: Ask | None
) -> Iterator[Question]:
    """Yield the best question that a sentence or table row of each chunk answers; those of several chunks joined."""
    for group in groups:
        blank = drafts.blank(group, "extractive", seed)
        facts = [_best_fact(chunk, blank, existing) for chunk in group]
        missing = [number for number, fact in enumerate(facts, start=1) if fact is None]
        if missing:
            which = f" of passage {missing[0]}" if len(group) > 1 else ""
            yield replace(blank, status="rejected", reason=f"no sentence{which} can be asked about")
            continue
        usable = [fact for fact in facts if fact is not None]
        candidate = (
            usable[0].candidate if len(usable) == 1 else phrasing.joined([f.candidate for f in usable], blank.language)
        )
        evidence = tuple((drafts.span(c, f.start, f.end),) for c, f in zip(group, usable, strict=True))
        yield drafts.checked(
            replace(blank, text=candidate.question, answer=candidate.answer, evidence=evidence), group, existing
        )


def _best_fact(chunk: Chunk, blank: Question, existing: set[str]) -> _Fact | None:
    """Return the best fact of the chunk whose question would not be rejected."""
    facts = sorted(_facts(chunk.text, blank.language), key=lambda fact: -fact.candidate.score)
    for fact in facts:
        question = replace(blank, text=fact.candidate.question, answer=fact.candidate.answer)
        if fact.candidate.score >= ENOUGH and not rejection.reject(question, chunk.text, existing):
            return fact
    return None


@lru_cache(maxsize=4096)
def _facts(text: str, lang: str) -> tuple[_Fact, ...]:
    """Return all candidates of a chunk's text; cached, because a chunk can be in many groups."""
    facts = list(_table_facts(text, lang))
    likely = _sentences(text, lang)
    for first in range(0, len(likely), PARSED):
        if facts and max(fact.candidate.score for fact in facts) >= GOOD:
            break
        batch = likely[first : first + PARSED]
        parsed = parse([sentence for sentence, *_ in batch], lang)
        for (sentence, start, end, penalty), words in zip(batch, parsed, strict=True):
            for candidate in phrasing.questions(sentence, words, lang):
                facts.append(_Fact(replace(candidate, score=candidate.score - penalty), start, end))
    return tuple(facts)


_ODD = re.compile(r"https?://|[{}<>|=\\@]|\S{40,}")
_LABELLED = re.compile(r"[^，。；！？]{1,20}[：:](?!\d)")
"""A Chinese line with a label is an example, a note or a definition: it need not be true by itself."""


def _sentences(text: str, lang: str) -> list[tuple[str, int, int, float]]:
    """Return sentences worth parsing, the likeliest first, with their places and the penalty of a cut at the edge.

    Left out are headings, rows of tables, questions, introductions of lists, code, addresses, too short and long ones.
    """
    ordered = []
    plain = prose.read(text)
    for left, right in segmentation.sentences(text, lang):
        line = text[text.rfind("\n", 0, left) + 1 : left].strip()
        start, end = plain.within(left, right)
        while start < end and plain.text[start].isspace():
            start += 1
        sentence = phrasing.core(" ".join(plain.text[start:end].split()), lang)
        if line[:1] in ("#", "|") or not _worth_parsing(sentence, lang):
            continue
        cut = (lang == "zh" and not text[:left].strip()) or (
            not text[right:].strip() and sentence[-1] not in '.!。！；)）”"'
        )
        facts = len(re.findall(r"\d+|(?<!^)\b[A-Z]", sentence))
        order = (cut, -min(facts, 4), abs(_size(sentence, lang) - 18))
        ordered.append((order, (sentence, *plain.source(start, end), 3.0 if cut else 0.0)))
    return [sentence for _, sentence in sorted(ordered, key=lambda each: each[0])]


def _worth_parsing(sentence: str, lang: str) -> bool:
    if not 5 <= _size(sentence, lang) <= 60 or sentence[-1] in ":?：？" or _ODD.search(sentence):
        return False
    if lang == "zh":
        return not _LABELLED.match(sentence)
    return sentence[0].isupper() or sentence[0].isdigit() or sentence[0] in '"“‘('


def _size(sentence: str, lang: str) -> float:
    """Return about how many words a sentence has."""
    return len(sentence) / 2 if lang == "zh" else len(sentence.split())


def _table_facts(text: str, lang: str) -> Iterator[_Fact]:
    """Yield a question for each cell of a Markdown table with named rows: "What is the price of the day ticket?"."""
    header: list[str] = []
    previous = ""
    for match in re.finditer(r"[^\n]+", text):
        line, cells = match.group(), _cells(match.group())
        if re.fullmatch(r"\s*\|?[\s:|-]*--[\s:|-]*", line):
            header = _cells(previous)
        elif header and len(cells) == len(header) and re.search(r"[^\W\d_]{2}", cells[0]):
            for name, cell in list(zip(header, cells, strict=True))[1:]:
                if 1 <= len(cell) <= 60 and re.search(r"[^\W\d_]", name) and re.search(r"\w", cell):
                    yield _Fact(_of_cell(cells[0], name, cell, lang), *match.span())
        elif not cells:
            header = []
        previous = line


def _cells(line: str) -> list[str]:
    """Return the plain text of the cells of a table's row; none when the line is no row."""
    cells = line.strip().strip("|").split("|") if "|" in line else []
    return [" ".join(prose.read(cell).text.split()) for cell in cells]


def _of_cell(row: str, column: str, cell: str, lang: str) -> Candidate:
    score = 6.0 + any(c.isdigit() for c in cell) - max(0, len(row.split()) - 8)
    if lang == "zh":
        return Candidate(f"{row}的{column}是什么？", cell, score)
    name = column if re.search(r".[A-Z0-9]", column) else column[:1].lower() + column[1:]
    return Candidate(f"What is the {name} of “{row}”?", cell, score)
