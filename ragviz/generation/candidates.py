"""The questions that can be made of a document without a model: of headings, tables, lists, pairs, terms and sentences.

All is read from structure, in English and Chinese; in other languages a heading's own words are a keyword query, and
nothing else is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from ragviz.core.document import Document
from ragviz.core.question import QuestionType
from ragviz.core.span import Evidence, Span
from ragviz.generation import english_wording, rejection
from ragviz.generation.blocks import Block, Headed, headed, readable
from ragviz.generation.chinese_wording import Chinese
from ragviz.generation.english_wording import Casing, English
from ragviz.generation.phrasing import Heading, Phrasing, Wording
from ragviz.generation.sections import SEPARATOR, title_of
from ragviz.generation.structure import KeyValue, ListPlace, Row, Table, structure
from ragviz.text import segmentation

LONGEST = 1500
"""Characters of what tells how something is done, and of a list, from the heading on, at most."""
ENOUGH = 160
"""Characters of a first paragraph from which on it needs no second one."""
NEAR = 400
"""Characters from a heading, or a table's titles, within which one span holds them with what is asked for."""
CONTEXT = 60
"""Characters of a title that a question names beside what it asks about, at most."""
REPEATED = 3
"""Documents from which on a paragraph that stands in all of them is no content of any."""
COLUMNS, CELL = 8, 80
"""Columns of a table, and characters of its cells, that are asked for, at most."""
ITEMS, ITEM = (3, 12), 160
"""Items of a list at least and at most, and characters of an item at most."""

_OPENS = re.compile(r"<[A-Za-z](?:(?!/>|</).)*$", re.DOTALL)
"""A tag whose inside goes on after a blank line."""
_META = re.compile(
    r"(?:in )?th(?:is|e following|ese) (?:page|section|guide|tutorial|document|article|chapter|topic|example|table|list"
    r"|post|reference|pages|guides|tutorials)\b|see (?:also )?|for (?:more|further|details|additional)|refer to|read "
    r"|click here|todo|tbd|congratulations|that's it|you're done|welcome|in the video|the video|are you "
    r"|do you |want to |did you |if you(?:'re| are) only |let'?s well done|great"
    r"|the (?:pages|sections|steps) |(?:[-*+•]|\d+\.) |check out|below"
    r"|learn (?:how|more|about)|here (?:is|are)|note:|the following|本[页节章]|参见|见[附上下]|详见|更多"
    r"|请参[考阅见]|以下|如下",
    re.IGNORECASE,
)
"""How a paragraph begins that speaks of the document, or to its reader."""
_WORTH = {"en": re.compile(r"(?:\w[\w'’-]*\W+){8}"), "zh": re.compile("(?:[\u4e00-\u9fff]\\W*){12}")}
"""So many words say something."""
_TELLS = re.compile(
    r"\byou (?:can|need|must|should|have|may|will)\b|(?:^|[.!] )To [a-z]+|(?:^|[.!:] )(?:"
    + "|".join(sorted(verb.capitalize() for verb in english_wording.VERBS))
    + ") "
)
"""A sentence that tells somebody what to do."""
_LEADS_ON = (":", "：")
_VAGUE_KEY = re.compile(
    r"(?:note|tip|warning|important|example|author|date|status|url|link|see|source|version|todo|caution|info|hint|answer"
    r"|question|q|a|step \d+|(?:last )?updated|tag|keyword|default|type|return|注|注意|提示|例如?|说明|备注|作者|日期"
    r"|来源|版本|链接)s?$|.*(?:\b(?:to|and|or|mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?s?\b|周[一二三四五六日]"
    r"|星期|[至、])",
    re.IGNORECASE,
)
"""Keys that name no attribute of what their section is about."""
_NO_VALUE = re.compile(r"(?:[-–—✓✔✗x×*/?]|yes|no|none|n/?a|true|false|tbd|是|否|无|有|√|—+)?", re.IGNORECASE)
_ASKABLE = re.compile(r"\d|[A-Z]\w+ [A-Z]|\b(?:is an?|two|three|four|five|six|seven|eight|nine|ten)\b|[由是]")
"""What a sentence has that holds a number, a name or a definition."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that can be made of a document, in several wordings; `keywords` are the words of its heading, or "".

    `pattern` is what it is made of: "heading", "steps", "question", "list", "table", "pair", "term" or "sentence";
    `table` names the table of a cell. `evidence` holds the groups of spans that its `answer` stands in.
    """

    type: QuestionType
    pattern: str
    answer: str
    evidence: Evidence
    phrasings: tuple[Phrasing, ...]
    keywords: str
    language: str
    table: str = ""

    @property
    def place(self) -> Span:
        """Where its evidence begins."""
        return self.evidence[0][0]


class Corpus:
    """What the documents of a corpus share: words written small, titles and paragraphs that stand in several."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Read all documents once."""
        documents = list(documents)
        casing = Casing(document.text for document in documents if document.language != "zh")
        self.wordings: Mapping[str, Wording] = {"en": English(casing), "zh": Chinese()}
        self._titles, blocks = Counter[str](), Counter[bytes]()
        for document in documents:
            parts = headed(document)
            self._titles.update(_normal(part.title) for part in parts)
            blocks.update({_key(document.text[b.start : b.end]) for part in parts for b in part.blocks})
        self._repeated = {key for key, count in blocks.items() if count >= REPEATED}

    def is_alone(self, title: str) -> bool:
        """Return whether no other heading of the corpus has this title."""
        return self._titles[_normal(title)] <= 1

    def is_repeated(self, text: str) -> bool:
        """Return whether a paragraph stands in several documents word by word."""
        return _key(text) in self._repeated


def _normal(title: str) -> str:
    return rejection.normal(Chinese().cleaned(english_wording.cleaned(title)))


def _key(text: str) -> bytes:
    return blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def candidates(document: Document, corpus: Corpus) -> list[Candidate]:
    """Return the questions that can be made of a document, in the order of their places."""
    reader = _Reader(document, corpus)
    found = reader.read() if document.language in corpus.wordings else reader.read_titles()
    return sorted(found, key=lambda each: (each.place.start, each.pattern))


class _Reader:
    """Reads the candidates of one document."""

    def __init__(self, document: Document, corpus: Corpus) -> None:
        self.document, self.text, self.corpus = document, document.text, corpus
        self.language = document.language
        self.wording = corpus.wordings.get(self.language, corpus.wordings["en"])
        self.parts = headed(document)
        self.title = self.wording.cleaned(title_of(document))

    def read(self) -> Iterator[Candidate]:
        """Yield the candidates; a list that is steps already is not asked for once more."""
        lists = {place.end: place for place in structure(self.document).lists}
        for number, part in enumerate(self.parts):
            following = self.parts[number + 1 : number + 2]
            is_divided = any(other.path[: len(part.path)] == part.path for other in following)
            found = list(self._of_heading(part, is_divided=is_divided)) if part.title else []
            yield from found
            if part.title and not any(each.pattern == "steps" for each in found):
                yield from self._of_list(part, lists)
            yield from self._of_sentences(part)
        for number, table in enumerate(structure(self.document).tables):
            yield from self._of_table(table, f"{self.document.id} {number}")
        for pair in structure(self.document).key_values:
            yield from self._of_pair(pair)
        yield from self._of_terms()

    def read_titles(self) -> Iterator[Candidate]:
        """Yield headings as keyword queries."""
        for part in self.parts:
            heading, blocks = self._heading(part), self._first(part)
            keywords = self._keywords(heading)
            if part.title and blocks and len(keywords.split()) > 1:
                yield from self._make("section", "heading", part, blocks, [Phrasing("", keywords)], keywords)

    # What all have in common

    def _heading(self, part: Headed, text: str = "", *, tells: bool = False) -> Heading:
        title = self.wording.cleaned(part.title)
        is_title = bool(title) and len(part.path) == 1 and title == self.title
        return Heading(title, self._context(part.path), self.corpus.is_alone(part.title), is_title, tells, text)

    def _context(self, path: Sequence[str]) -> str:
        """Return the nearest title above one that means something, "" without one."""
        own = _normal(path[-1]) if path else ""
        for title in [*map(self.wording.cleaned, reversed(path[:-1])), self.title]:
            if title and not self.wording.is_empty(title) and _normal(title) != own and len(title) <= CONTEXT:
                return title
        return ""

    def _topic(self, section: str) -> str:
        """Return what stands in a section is about: its title, a weak one with the title above; "" for nothing."""
        path = tuple(section.split(SEPARATOR)) if section else ()
        own, above = self.wording.cleaned(path[-1]) if path else "", self._context(path)
        if not own or self.wording.is_empty(own) or own[-1] in self.wording.marks or len(own) > CONTEXT:
            return above
        if not self.wording.is_weak(own) and self.corpus.is_alone(path[-1]):
            return own
        joined = self.wording.joined(own, above)
        return joined if above and len(joined) <= CONTEXT else "" if self.wording.is_weak(own) else own

    def _keywords(self, heading: Heading) -> str:
        is_whole = heading.alone and not self.wording.is_weak(heading.title)
        return heading.title if is_whole else f"{heading.title} {heading.context}".strip()

    def _plain(self, *blocks: Block) -> str:
        return " ".join(readable(self.text[b.start : b.end], self.document.media_type) for b in blocks)

    def _says(self, text: str) -> bool:
        return _WORTH.get(self.language, _WORTH["en"]).search(text) is not None

    def _make(
        self, kind: QuestionType, pattern: str, part: Headed, blocks: Sequence[Block], ways: Sequence[Phrasing],
        keywords: str = "",
    ) -> Iterator[Candidate]:  # fmt: skip
        """Yield a candidate whose evidence is some blocks, from the heading on where that is near."""
        near = blocks[0].start - part.head_end <= NEAR
        span = (part.start if near else blocks[0].start, blocks[-1].end)
        yield from self._made(kind, pattern, self._plain(*blocks), [span], ways, keywords)

    def _made(
        self, kind: QuestionType, pattern: str, answer: str, spans: Sequence[tuple[int, int]], ways: Sequence[Phrasing],
        keywords: str = "", table: str = "",
    ) -> Iterator[Candidate]:  # fmt: skip
        """Yield a candidate in the wordings that name what they ask about and do not hold the answer."""
        said = f" {rejection.normal(answer)} "
        good = tuple(
            way
            for way in ways
            if said not in f" {rejection.normal(way.text)} "
            and not (way.template and rejection.refers_elsewhere(way.text))
        )
        if good and answer:
            evidence = tuple((Span(self.document.id, *span, self.text[slice(*span)]),) for span in spans)
            yield Candidate(kind, pattern, answer, evidence, good, keywords, self.language, table)

    # Headings

    def _of_heading(self, part: Headed, *, is_divided: bool) -> Iterator[Candidate]:
        blocks, steps = self._first(part), self._steps(part, is_divided=is_divided)
        heading = self._heading(part, self._plain(*blocks), tells=bool(steps))
        if not heading.title or not (blocks or steps):
            return
        ways = self.wording.section(heading)
        is_task = bool(ways) and ways[0].template in self.wording.steps
        passage = (steps or blocks) if is_task else blocks
        if ways and passage:  # a list without a word about it is asked for as a list
            pattern = "steps" if is_task else "heading" if ways[0].template else "question"
            yield from self._make("section", pattern, part, passage, ways, self._keywords(heading))

    def _first(self, part: Headed) -> list[Block]:
        """Return the first paragraphs of a section, with the list that they introduce, if they say something."""
        found: list[Block] = []
        for number, block in enumerate(part.blocks):
            if block.kind == "prose" and self._is_worth(part, number):
                found.append(block)
                if block.end - found[0].start >= ENOUGH and not self._leads_on(block):
                    break
            elif found and self._leads_on(found[-1]) and block.kind != "prose":
                found.append(block)
                if block.kind == "list" or block.end - part.start >= LONGEST:
                    break
            elif found or block.kind not in ("prose", "other") or _OPENS.match(self.text[block.start : block.end]):
                break
        return found if self._says(self._plain(*found)) else []

    def _is_worth(self, part: Headed, number: int) -> bool:
        """Return whether a paragraph says something of its own, or introduces a list."""
        block, after = part.blocks[number], part.blocks[number + 1 : number + 2]
        is_followed = bool(after) and after[0].kind in ("list", "other") and after[0].end - part.start <= LONGEST
        is_new = not self.corpus.is_repeated(self.text[block.start : block.end])
        return is_new and not _META.match(self._plain(block)) and (is_followed or not self._leads_on(block))

    def _leads_on(self, block: Block) -> bool:
        return self._plain(block).endswith(_LEADS_ON)

    def _steps(self, part: Headed, *, is_divided: bool) -> list[Block]:
        """Return all that stands under a heading, if it tells how something is done and is not too long."""
        blocks = [block for block in part.blocks if not self.text.startswith(("<", "!["), block.start)]
        if not blocks or blocks[-1].end - part.start > LONGEST:
            return []
        text, has_list = self._plain(*blocks), any(block.kind == "list" for block in blocks)
        is_told = self.language == "zh" or _TELLS.search(text) is not None
        is_whole = not is_divided and blocks[0].kind == "prose" and not text.endswith(_LEADS_ON)
        tells = has_list or (is_told and is_whole and not _META.match(text))
        return blocks if tells and self._says(text) else []

    # Lists

    def _of_list(self, part: Headed, lists: Mapping[int, ListPlace]) -> Iterator[Candidate]:
        """Yield the first list under a heading; its evidence begins at the heading."""
        number = next((n for n, block in enumerate(part.blocks) if block.kind == "list"), -1)
        place = lists.get(part.blocks[number].end) if number >= 0 else None
        if place is None or place.end - part.start > LONGEST:
            return
        items = [item.text.rstrip(";；。.,，") for item in place.items]
        if not ITEMS[0] <= len(items) <= ITEMS[1] or max(map(len, items)) > ITEM:
            return
        heading, ways = self._heading(part), tuple[Phrasing, ...]()
        if place.introduction:
            ways = self.wording.introduced(place.introduction)
        if not ways and (number == 0 or (number == 1 and self._leads_on(part.blocks[0]))):
            ways = self.wording.items(heading, ordered=place.is_ordered)
        answer = self.wording.joint.join(items)
        yield from self._made("list", "list", answer, [(part.start, place.end)], ways, self._keywords(heading))

    # Tables

    def _of_table(self, table: Table, name: str) -> Iterator[Candidate]:
        """Yield the cells of a table whose row and column have names; the titles are evidence with the row."""
        keys, context = Counter(row.cells[0] for row in table.rows), self._topic(table.section)
        openings = Counter(title.split(" ")[0] for title in table.header[1:])
        is_comparison = self.language == "en" and max(openings.values(), default=0) > 1
        if not any(table.header) or len(table.rows) < 2 or len(table.header) > COLUMNS or is_comparison or not context:
            return
        for row in table.rows:
            if keys[row.cells[0]] == 1 and _is_name(row.cells[0], 50):
                yield from self._of_row(table, row, context, name)

    def _of_row(self, table: Table, row: Row, context: str, name: str) -> Iterator[Candidate]:
        titles_end = self.text.find("\n", table.start, table.end)
        together = row.end - table.start <= NEAR
        spans = [(table.start, row.end)] if together else [(table.start, titles_end), (row.start, row.end)]
        key, *values = row.cells
        for title, value in zip(table.header[1:], values, strict=True):
            if _is_name(title, 30) and len(value) <= CELL and not _NO_VALUE.fullmatch(value.strip()):
                ways = self.wording.cell(context, key, title, value)
                yield from self._made("table", "table", value, spans, ways, f"{key} {title}", name)

    # Key–value lines and terms

    def _of_pair(self, pair: KeyValue) -> Iterator[Candidate]:
        context = self._topic(pair.section)
        is_odd = _VAGUE_KEY.match(pair.key) or pair.has_brackets or not pair.alone or len(pair.value) > 200
        if is_odd or not _is_name(pair.key, 40) or not context or _normal(context) == _normal(pair.key):
            return
        ways = self.wording.pair(context, pair.key, pair.value, is_item=pair.is_item)
        part = next(part for part in self.parts if part.start <= pair.start < part.end)
        start = part.start if pair.end - part.start <= NEAR else pair.start
        kind: QuestionType = "number" if re.search(r"\d", pair.value) and len(pair.value) < CELL else "fact"
        yield from self._made(kind, "pair", pair.value, [(start, pair.end)], ways, f"{pair.key} {context}")

    def _of_terms(self) -> Iterator[Candidate]:
        for term in structure(self.document).definitions:
            path = (*term.section.split(SEPARATOR), "") if term.section else ()
            if _is_name(term.term, 40) and self._says(term.meaning) and not _META.match(term.meaning):
                ways = self.wording.term(term.term, self._context(path))
                yield from self._made("definition", "term", term.meaning, [(term.start, term.end)], ways, term.term)

    # Sentences

    def _of_sentences(self, part: Headed) -> Iterator[Candidate]:
        for block in part.blocks:
            source = self.text[block.start : block.end]
            if block.kind != "prose" or self.corpus.is_repeated(source):
                continue
            for start, end in segmentation.each_sentence(source, self.language):
                if _ASKABLE.search(source, start, end):
                    place = (block.start + start, block.start + end)
                    for found in self.wording.sentence(readable(source[start:end], self.document.media_type)):
                        yield from self._made(found.type, "sentence", found.answer, [place], found.phrasings)


def _is_name(text: str, most: int) -> bool:
    """Return whether a text of at most so many characters can be a name: it has letters, and is no sentence."""
    return (
        1 < len(text) <= most and re.search(r"[^\W\d_]{2}", text) is not None and not re.search(r"[.。?？!:：]$", text)
    )
