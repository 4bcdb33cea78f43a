"""The questions that can be made of a document without a model: of headings, tables, lists, pairs, terms and sentences.

All is read from structure, in English and Chinese; in other languages a heading's own words are a keyword query, and
nothing else is asked.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice, pairwise, zip_longest

from ragviz.core.document import Document, Evidence, Span
from ragviz.core.question import QuestionType
from ragviz.generation import english_wording, rejection
from ragviz.generation.blocks import Block, Headed, code, headed, readable
from ragviz.generation.chinese_wording import Chinese
from ragviz.generation.english_wording import Casing, English
from ragviz.generation.phrasing import Heading, Phrasing
from ragviz.generation.sections import SEPARATOR, title_of
from ragviz.generation.structure import KeyValue, ListPlace, Row, Table, structure
from ragviz.text import segmentation
from ragviz.text.words import content_words, stem

LONGEST = 1500
"""Characters of what tells how something is done, and of a list, from the heading on, at most."""
CODE = 400
"""Characters of code, and of a table, that stand in an answer, at most."""
NEAR = 400
"""Characters from a heading, or a table's titles, within which one span holds them with what is asked for."""
NAMED = 3
"""Words of a title that is asked about without the one above, at least."""
CONTEXT = 60
"""Characters of a title that a question names beside what it asks about, at most."""
REPEATED = 3
"""Documents from which on a paragraph that stands in all of them is no content of any."""
PAIRS = 3
"""Key–value lines of a section at least: one alone is a label."""
COLUMNS, CELL = 8, 80
"""Columns of a table, and characters of its cells, that are asked for, at most."""
ITEMS, ITEM = (3, 12), 160
"""Items of a list at least and at most, and characters of an item at most."""

_META = re.compile(
    r"(?:in )?th(?:is|e following|ese) (?:page|section|guide|tutorial|document|article|chapter|topic|example|table|list"
    r"|post|reference|pages|guides|tutorials)\b|see (?:also )?|for (?:more|further|details|additional)|refer to|read "
    r"|click here|todo|tbd|congratulations|that's it|you're done|welcome|in the video|the video|are you "
    r"|do you |want to |did you |if you(?:'re| are) only |let'?s well done|great"
    r"|the (?:pages|sections|steps) |check the |(?:[-*+•]|\d+\.) |check out|below"
    r"|learn (?:how|more|about)|here (?:is|are)|note:|the following|本[页节章]|参见|见[附上下]|详见|更多"
    r"|请参[考阅见]|以下|如下",
    re.IGNORECASE,
)
"""How a paragraph begins that speaks of the document, or to its reader."""
_WORTH = {"en": re.compile(r"(?:\w[\w'’-]*\W+){12}"), "zh": re.compile("(?:[\u4e00-\u9fff]\\W*){20}")}
"""So many words say something."""
_TELLS = re.compile(
    r"\byou (?:can|need|must|should|have|may|will)\b|(?:^|[.!] )To [a-z]+|(?:^|[.!:] )(?:"
    + "|".join(sorted(verb.capitalize() for verb in english_wording.VERBS))
    + ") "
)
"""A sentence that tells somebody what to do."""
_LEADS_ON = (":", "：")
_ENDS = ";；。.,，"
_GREETING = re.compile(r"^(?:welcome to (?:the )?|欢迎(?:加入|来到|使用)?)", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+\.|#\.)\s")
"""How a paragraph begins that is one step of several, with code between them."""
_CONTENTS = re.compile(
    r"\A(?:\s*(?:[-*+•]|\d+\.)\s*\[[^\]\n]*\]\([^)\n]*\)\s*)+\Z|\btopics covered\b"
    r"|\bthis (?:document|page|section|guide|tutorial|chapter|article)\b[^.]*:\s*\Z",
    re.IGNORECASE,
)
"""A list of links alone, or the words before a table of contents."""
_GOES_ON = re.compile(
    r"[^.:]{0,60}\balso\b|(?:another|instead|furthermore|in addition|the (?:above|previous|latter))\b"
    r"|[^。：]{0,20}(?:此外|另外|同样|上述|除此之外|也)",
    re.IGNORECASE,
)
"""How a text begins that goes on from what stands before its heading."""
_VAGUE_KEY = re.compile(
    r"(?:note|tip|warning|important|example|author|date|status|url|link|see|source|version|todo|caution|info|hint|answer"
    r"|question|q|a|step \d+|(?:last )?updated|tag|keyword|default|type|return|注|注意|提示|例如?|说明|备注|作者|日期"
    r"|来源|版本|链接)s?$|.*(?:\b(?:to|and|or|mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?s?\b|周[一二三四五六日]"
    r"|星期|[至、])",
    re.IGNORECASE,
)
"""Keys that name no attribute of what their section is about."""
_NO_NAME = re.compile(r".{80}|[.。;；!?]\s*.|[。.!?？]$|[:：](?!\d|//)|^\W*$")
"""Values of several parts, and sentences: a key with such a value is a label of a paragraph."""
_NO_VALUE = re.compile(
    r"(?:[-–—✓✔✗x×*/?]|yes|no|none|n/?a|true|false|tbd|是|否|无|有|√|—+|(?:as|same|see|ditto|like)\b.*|[同见].*)?",
    re.IGNORECASE,
)
"""Cells that say nothing by themselves, or name another one."""
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


Wording = English | Chinese
"""How a language asks."""


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
        sought = {word for document in documents for part in headed(document) for word in _stems(part.title)}
        self._holders = defaultdict[str, set[str]](set)
        for document in documents:
            for word in sought.intersection(map(stem, content_words(document.text, document.language))):
                self._holders[word].add(document.id)

    def is_alone(self, title: str) -> bool:
        """Return whether a title is understood without its document: no other heading, or document, has its words."""
        rarest, *others = sorted((self._holders[word] for word in _stems(title)), key=len) or [set[str]()]
        together = (document for document in rarest if all(document in each for each in others))
        return self._titles[_normal(title)] <= 1 and len(list(islice(together, 2))) <= 1

    def is_repeated(self, text: str) -> bool:
        """Return whether a paragraph stands in several documents word by word."""
        return _key(text) in self._repeated


def _normal(title: str) -> str:
    return rejection.normal(Chinese().cleaned(english_wording.cleaned(title)))


def _stems(title: str) -> list[str]:
    lang = "zh" if re.search("[\u4e00-\u9fff]", title) else "en"
    return [stem(word) for word in content_words(title, lang)]


def _key(text: str) -> bytes:
    return blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=12).digest()


def candidates(document: Document, corpus: Corpus) -> list[Candidate]:
    """Return the questions that can be made of a document, in the order of their places."""
    reader = _Reader(document, corpus)
    found = reader.read() if document.language in corpus.wordings else reader.read_titles()
    return sorted(found, key=lambda each: (each.place.start, each.pattern))


class _Reader:
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
            if part.title:
                found = list(self._of_heading(part, is_divided=is_divided))
                listed = [] if any(each.pattern == "steps" for each in found) else list(self._of_list(part, lists))
                is_list = bool(listed) and part.blocks[0].kind == "list"  # asked for as a list alone
                yield from listed if is_list else [*found, *listed]
            yield from self._of_sentences(part)
        for number, table in enumerate(structure(self.document).tables):
            yield from self._of_table(table, f"{self.document.id} {number}")
        pairs = structure(self.document).key_values
        introduced = [place for place in lists.values() if place.introduction]
        pairs = tuple(p for p in pairs if not any(each.start <= p.start < each.end for each in introduced))
        together = Counter(pair.section for pair in pairs)
        for pair in pairs:
            if together[pair.section] >= PAIRS:
                yield from self._of_pair(pair)
        yield from self._of_terms()

    def read_titles(self) -> Iterator[Candidate]:
        """Yield headings as keyword queries."""
        for part in self.parts:
            heading, blocks = self._heading(part), self._whole(part)
            keywords = self._keywords(heading)
            if part.title and blocks and len(keywords.split()) > 1:
                yield from self._make("section", "heading", part, blocks, [Phrasing("", keywords)], keywords)

    # What all have in common

    def _heading(self, part: Headed, text: str = "", *, tells: bool = False, divided: bool = False) -> Heading:
        title = self.wording.cleaned(part.title)
        context = self._context(part.path)
        short = bool(context) and len(_stems(title)) < NAMED
        return Heading(title, context, self.corpus.is_alone(part.title), short, divided, tells, text)

    def _context(self, path: Sequence[str]) -> str:
        """Return the nearest title above one that is understood alone, else the document's; "" without one."""
        own = _normal(path[-1]) if path else ""
        above = [*filter(self.corpus.is_alone, map(self.wording.cleaned, reversed(path[:-1]))), self.title]
        for title in (_GREETING.sub("", each) for each in above):
            is_name = title and not self.wording.is_empty(title) and not re.search(r"[\[\]{}<>]|://", title)
            if is_name and _normal(title) != own and len(title) <= CONTEXT:
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
        """Return blocks as a person reads them; of a table its rows, with commas between the cells."""
        tables = {table.start: table for table in structure(self.document).tables}
        found = []
        for block in blocks:
            source = self.text[block.start : block.end]
            table = tables.get(block.start)
            if block.kind == "table" and table:
                rows = [table.header, *(row.cells for row in table.rows)]
                found.append("; ".join(", ".join(filter(None, cells)) for cells in rows))
            else:
                found.append(code(source) if block.kind == "code" else readable(source, self.document.media_type))
        text = ""
        for before, after in pairwise(["", *filter(None, found)]):
            text += ("\n" if "\n" in before + after else " ") + after
        return text.strip()

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
        blocks = self._whole(part)
        text = self._plain(*blocks)
        has_list = any(block.kind == "list" for block in blocks)
        tells = has_list or self.language == "zh" or _TELLS.search(text) is not None
        ways = self.wording.section(self._heading(part, text, tells=tells, divided=is_divided)) if blocks else ()
        if ways:
            is_task = ways[0].template in self.wording.steps
            pattern = "steps" if is_task else "heading" if ways[0].template else "question"
            yield from self._make("section", pattern, part, blocks, ways, self._keywords(self._heading(part)))

    def _whole(self, part: Headed) -> list[Block]:
        """Return all that stands right under a heading, if that says something and is understood alone, else nothing.

        What only speaks of the document, or stands in several, is left out.
        """
        found = list[Block]()
        for block, after in zip_longest(part.blocks, part.blocks[1:]):
            introduces = self._plain(block).endswith(_LEADS_ON) and after is not None and after.kind in ("list", "code")
            is_meta = _META.match(self._plain(block)) is not None and not introduces
            source = self.text[block.start : block.end]
            if _CONTENTS.search(source) or (block.kind == "prose" and _ITEM.match(source)):
                return []
            if block.kind != "prose" or not (is_meta or self.corpus.is_repeated(source)):
                found.append(block)
        text = self._plain(*found)
        is_odd = any(
            block.kind == "other" or (block.kind in ("code", "table") and block.end - block.start > CODE)
            for block in found
        )
        if not found or found[0].kind not in ("prose", "list") or found[-1].end - part.start > LONGEST or is_odd:
            return []
        return found if self._says(text) and not text.endswith(_LEADS_ON) and not _GOES_ON.match(text) else []

    # Lists

    def _of_list(self, part: Headed, lists: Mapping[int, ListPlace]) -> Iterator[Candidate]:
        """Yield the first list under a heading; its evidence begins at the heading."""
        number = next((n for n, block in enumerate(part.blocks) if block.kind == "list"), -1)
        place = lists.get(part.blocks[number].end) if number >= 0 else None
        if place is None or place.end - part.start > LONGEST:
            return
        items = [item.text.rstrip(_ENDS) for item in place.items]
        if not ITEMS[0] <= len(items) <= ITEMS[1] or max(map(len, items)) > ITEM:
            return
        heading, ways = self._heading(part), tuple[Phrasing, ...]()
        if place.introduction:
            ways = self.wording.introduced(place.introduction, heading)
        if not ways and number == 0:
            ways = self.wording.items(heading, ordered=place.is_ordered)
        answer = self.wording.joint.join(items)
        yield from self._made("list", "list", answer, [(part.start, place.end)], ways, self._keywords(heading))

    # Tables

    def _of_table(self, table: Table, name: str) -> Iterator[Candidate]:
        """Yield the cells of a table whose row and column have names; the titles are evidence with the row."""
        keys, context = Counter(row.cells[0] for row in table.rows), self._topic(table.section)
        openings = Counter(title.split(" ")[0] for title in table.header[1:])
        is_comparison = self.language == "en" and max(openings.values(), default=0) > 1
        if not table.header[0] or len(table.rows) < 2 or len(table.header) > COLUMNS or is_comparison or not context:
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
        is_odd = _VAGUE_KEY.match(pair.key) or pair.has_brackets or not pair.alone or _NO_NAME.search(pair.value)
        if is_odd or not _is_name(pair.key, 40) or not context or _normal(context) == _normal(pair.key):
            return
        ways = self.wording.pair(context, pair.key)
        part = next(part for part in self.parts if part.start <= pair.start < part.end)
        start = part.start if pair.end - part.start <= NEAR else pair.start
        kind: QuestionType = "number" if pair.value[0].isdigit() else "fact"
        value = pair.value.rstrip(_ENDS)
        yield from self._made(kind, "pair", value, [(start, pair.end)], ways, f"{pair.key} {context}")

    def _of_terms(self) -> Iterator[Candidate]:
        for term in structure(self.document).definitions:
            path = (*term.section.split(SEPARATOR), "") if term.section else ()
            if _is_name(term.term, 40) and self._says(term.meaning) and not _META.match(term.meaning):
                ways = self.wording.term(term.term, self.title or self._context(path))
                yield from self._made("definition", "term", term.meaning, [(term.start, term.end)], ways, term.term)

    # Sentences

    def _of_sentences(self, part: Headed) -> Iterator[Candidate]:
        for block in part.blocks:
            source = self.text[block.start : block.end]
            if block.kind != "prose" or self.corpus.is_repeated(source):
                continue
            titled = set(_stems(part.title))
            for start, end in segmentation.each_sentence(source, self.language):
                is_first = not source[:start].strip()
                if not _ASKABLE.search(source, start, end) or not (is_first or titled & set(_stems(source[start:end]))):
                    continue  # what does not open its paragraph, and does not name its subject, goes on from before
                place = (block.start + start, block.start + end)
                for found in self.wording.sentence(readable(source[start:end], self.document.media_type)):
                    yield from self._made(found.type, "sentence", found.answer, [place], found.phrasings)


def _is_name(text: str, most: int) -> bool:
    """Return whether a text of at most so many characters can be a name: it has letters, and is no sentence."""
    return (
        1 < len(text) <= most
        and text[0].isalnum()
        and re.search(r"[^\W\d_]{2}", text) is not None
        and not re.search(r"[.。?？!:：]$", text)
    )
