"""Typed places of a document: key–value lines, tables, lists and defined terms, in any language.

All is read as it stands in the text, from Markdown and what files are parsed to, in time linear in its length. Code,
verbatim HTML, front matter and headings hold none of it. A CSV file is one table and nothing else.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, takewhile

from ragviz.core.document import Document
from ragviz.generation.sections import FRONT_MATTER, Section, section_at, sections
from ragviz.index.headings import headings, verbatim
from ragviz.text import segmentation

MOST_LINES = 20
"""Lines over which a meaning goes on at most."""
CSV_TYPES = frozenset({"text/csv", "text/tab-separated-values"})
LONGEST_KEY = 60
"""Characters of a key or defined term at most; a longer text before a colon is a sentence."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A line "key: value" at [start, end), without its marker; `key` and `value` are plain text.

    `alone`: its paragraph or item begins with a key. A value goes on over the lines that follow without a key.
    """

    start: int
    end: int
    key: str
    value: str
    section: str
    alone: bool
    has_brackets: bool = False
    """Whether the value has square brackets that may be no link, of which plain text shows a part only."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table at [start, end), its line; `cells` are plain text, as many as the table has columns."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table at [start, end) with its header; `caption` is the line that introduces it, "" without one.

    The titles are all "" where the first row is data as those below it are, and then one of `rows`.
    """

    start: int
    end: int
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str
    section: str


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list at [start, end), without its marker and with what is nested in it; `text` is its own."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A list at [start, end), with the paragraph before it when that ends in a colon.

    `introduction` is the last sentence of that paragraph in plain text, without the colon; "" without one.
    """

    start: int
    end: int
    introduction: str
    items: tuple[Item, ...]
    is_ordered: bool
    section: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A term with its meaning at [start, end): "**Term** – meaning", "term:: meaning", a line ": meaning" below it."""

    start: int
    end: int
    term: str
    meaning: str
    section: str


@dataclass(frozen=True, slots=True)
class Structure:
    """The typed places of a document, each kind in order. An item of a list can be a key–value line as well."""

    sections: tuple[Section, ...]
    key_values: tuple[KeyValue, ...]
    tables: tuple[Table, ...]
    lists: tuple[ListPlace, ...]
    definitions: tuple[Definition, ...]


@dataclass(slots=True)
class _Line:
    """A line of the text without its end; `content` begins after the marker of an item, at `at`."""

    start: int
    end: int
    content: str
    at: int
    marker: str = ""
    indent: int = 0
    kind: str = "prose"  # or "blank", "heading", "skipped", "item", "row", "rule"


@dataclass(slots=True)
class _Open:
    line: _Line
    end: int
    texts: list[str]
    children: list[_Open] = field(default_factory=list)


_MARKER = re.compile(
    r"(?P<indent>[ \t　]*)(?:>[ \t]?)*(?P<marker>(?:[-*+•·▪◦‣][ \t]+(?:\[[ xX]\][ \t]+)?"
    r"|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+|[（(](?:\d{1,2}|[一二三四五六七八九十]{1,3})[）)][ \t　]*"
    r"|\d{1,3}(?:、|[.．](?=[\u4e00-\u9fff]))[ \t　]*|[①-⑳][ \t　]*))(?=\S)"
)
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_PIPE = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"(?:\[[^\[\]]+\](?:\([^()]*\)|\[[^\[\]]*\])|<https?://[^<>\s]+>|https?://\S+)[.,;]?")
_BRACKETS = re.compile(r"\](?!\()")
_INTRODUCES = re.compile(r"[:：][*_]*$")
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=[^\Wa-z])|(?<=[。！？])")

_BOLD_KEY = re.compile(
    r"(?P<mark>\*\*|__|`)(?P<key>[^*_`\n]{1,80}?)(?P<inside>[:：]?)[ \t]*(?P=mark)[ \t]*(?P<colon>[:：]?)[ \t]*"
    r"(?P<value>\S.*)"
)
_PLAIN_KEY = re.compile(r"(?P<key>[^\W_][^:：|\n]{0,80}?)[ \t]*(?P<colon>：|:(?=[ \t]))[ \t]*(?P<value>\S.*)")
_SENTENCE_IN_KEY = re.compile(r"[.!?;。！？；，,](?:\s|$|(?<=[。！？；，]))|[“”\"\[\]{}<>=]")
_DASHED = re.compile(
    r"(?P<mark>\*\*|__)(?P<term>[^*_\n]{1,80}?)(?P=mark)[ \t]*(?:\([^()\n]{1,40}\)[ \t]*)?"
    r"[ \t](?:[-–—]{1,3}|――|——)[ \t](?P<meaning>\S.*)"
)
_DOUBLE_COLON = re.compile(r"(?P<term>[^\s:][^:\n]{0,80}?)[ \t]*::[ \t]+(?P<meaning>\S.*)")
_MEANING_LINE = re.compile(r"[ \t]{0,3}:[ \t]+(?P<meaning>\S.*)")


def plain(source: str) -> str:
    """Return a piece of Markdown as a person reads it, on one line."""
    return " ".join(segmentation.read(source).text.split())


@lru_cache(maxsize=8)
def structure(document: Document) -> Structure:
    r"""Return the typed places of a document; those of the documents read last are kept.

    >>> text = "# Desk\n\n**Hours**: 9 to 17\n\nIt lends:\n\n- maps\n- tents"
    >>> found = structure(Document("", "", text, (), "en", "text/markdown", "", 0))
    >>> [(place.key, place.value) for place in found.key_values], [item.text for item in found.lists[0].items]
    ([('Hours', '9 to 17')], ['maps', 'tents'])
    """
    parts = tuple(sections(document))
    if not parts:
        return Structure((), (), (), (), ())
    if document.media_type in CSV_TYPES:
        return Structure(parts, (), tuple(_of_csv(document.text)), (), ())
    lines = list(_lines(document))
    return Structure(
        parts,
        tuple(_key_values(lines, parts)),
        tuple(_tables(lines, parts)),
        tuple(_lists(document.text, lines, parts)),
        tuple(_definitions(lines, parts)),
    )


def _lines(document: Document) -> Iterator[_Line]:
    text = document.text
    matter = FRONT_MATTER.match(text)
    is_prose = document.media_type not in ("text/x-tex", "application/json", "application/jsonl", "application/xml")
    skipped = [(0, matter.end())] if matter else []
    skipped += list(verbatim(text)) if is_prose else [(0, len(text))]
    ranges = iter([*skipped, (len(text) + 1, len(text) + 1)])
    heads = iter([*headings(document), (len(text) + 1, len(text) + 1)])
    skip, head = next(ranges), next(heads)
    for match in re.finditer(r"[^\n]*(?:\n|\Z)", text):
        start = match.start()
        end = start + len(match.group().rstrip("\r\n"))
        if match.end() == start:
            break
        while skip[1] <= start:
            skip = next(ranges)
        while head[1] <= start:
            head = next(heads)
        yield _line(text[start:end], start, end, skip[0] <= start, head[0] <= start)


def _line(raw: str, start: int, end: int, is_skipped: bool, is_heading: bool) -> _Line:
    content = raw.strip()
    at = start + len(raw) - len(raw.lstrip())
    indent = len(raw.expandtabs(4)) - len(raw.expandtabs(4).lstrip())
    line = _Line(start, end, content, at, indent=indent)
    if is_skipped or not content:
        line.kind = "skipped" if is_skipped else "blank"
    elif is_heading:
        line.kind = "heading"
    elif "|" in raw and _RULE.fullmatch(raw):
        line.kind = "rule"
    elif match := _MARKER.match(raw):
        line.kind, line.marker = "item", match["marker"].strip()
        line.at, line.content = start + match.end(), raw[match.end() :].rstrip()
    elif _PIPE.search(raw):
        line.kind = "row"
    return line


def _key_values(lines: Sequence[_Line], parts: Sequence[Section]) -> Iterator[KeyValue]:
    """Yield the key–value lines, paragraph by paragraph; an item of a list begins one."""
    paragraph: list[_Line] = []
    for line in [*lines, _Line(0, 0, "", 0, kind="blank")]:
        if line.kind != "prose":
            yield from _of_paragraph(paragraph, parts)
            paragraph = []
        if line.kind in ("prose", "item"):
            paragraph.append(line)


def _of_paragraph(paragraph: Sequence[_Line], parts: Sequence[Section]) -> Iterator[KeyValue]:
    """Yield the pairs of a paragraph or item; lines without a key continue the value before them."""
    pairs = [_pair(line.content.rstrip()) for line in paragraph]
    starts = [number for number, pair in enumerate(pairs) if pair]
    for number, after in zip(starts, [*starts, len(paragraph)][1:], strict=True):
        own, pair = paragraph[number:after], pairs[number]
        key, value = pair or ("", "")
        text = " ".join([value, *(plain(line.content) for line in own[1:])])
        has_brackets = any(_BRACKETS.search(line.content) for line in own)
        end, path = own[-1].at + len(own[-1].content), section_at(parts, own[0].at).path
        yield KeyValue(own[0].at, end, key, text, path, starts[0] == 0, has_brackets)


def _pair(content: str) -> tuple[str, str] | None:
    match = _BOLD_KEY.match(content)
    if match is None or not (match["inside"] or match["colon"]):
        match = _PLAIN_KEY.match(content)
    if match is None:
        return None
    key, value = plain(match["key"]), plain(match["value"])
    if not key or len(key) > LONGEST_KEY or _SENTENCE_IN_KEY.search(key) or not re.search(r"\w", value):
        return None
    return (key, value) if re.search(r"[^\W\d_]", key) else None


def _tables(lines: Sequence[_Line], parts: Sequence[Section]) -> Iterator[Table]:
    """Yield the pipe tables: a row of titles, a rule, rows."""
    number = 1
    while number < len(lines):
        rule, titles = lines[number], lines[number - 1]
        if rule.kind != "rule" or titles.kind not in ("row", "item"):
            number += 1
            continue
        header = _cells(titles)
        first = number = number + 1
        while number < len(lines) and lines[number].kind in ("row", "rule", "item") and "|" in lines[number].content:
            number += 1
        if len(header) < 2 or len(header) != len(_cells(rule)):
            continue
        rows = tuple(
            Row(line.start, line.end, (*cells, *[""] * (len(header) - len(cells))))
            for line in lines[first:number]
            if line.kind != "rule" and len(cells := _cells(line)) <= len(header)
        )
        if not has_titles(header, rows):
            rows = (Row(titles.start, titles.end, header), *rows)
            header = ("",) * len(header)
        caption, path = _caption(lines, first - 3), section_at(parts, titles.start).path
        yield Table(titles.start, lines[number - 1].end, header, rows, caption, path)


_SHARED = 0.6
"""How much of a cell its beginning and end have to share with another's for both to be of one form."""


def has_titles(header: Sequence[str], rows: Sequence[Row]) -> bool:
    """Return whether the first row of a table names its columns, and is no row of data like those below it.

    It is data where a key cell differs from another only by its digits ("sr0", "sr1"), where a cell of several words
    stands in its own column again, where every cell begins another of its column, or where one of several words has the
    form of another below it. Markdown has no tables without a header, so that pages without titles get their first row.

    >>> has_titles(("sr0", "first drive"), [Row(0, 0, ("sr1", "second drive"))])
    False
    >>> has_titles(("Port", "Service"), [Row(0, 0, ("80", "web"))])
    True
    """
    below = [row.cells for row in rows if row.cells != tuple(header)]
    if not any(header) or not below:
        return True
    key = header[0]
    if re.search(r"\d", key) and re.search(r"[^\W\d_]", key):
        numbered = re.sub(r"\d+", "0", key)
        if any(cells[0] != key and re.sub(r"\d+", "0", cells[0]) == numbered for cells in below):
            return False
    if all(title and any(cells[n].startswith(title) for cells in below) for n, title in enumerate(header)):
        return False
    for n, title in enumerate(header[1:], start=1):
        if len(title.split()) >= 3 or len(re.findall("[\u4e00-\u9fff]", title)) >= 4:
            values = [cells[n] for cells in below]
            if title in values or any(_shared(title, value) >= _SHARED for value in values):
                return False
    return True


def _shared(first: str, second: str) -> float:
    """Return the share of the first text that stands at the beginning and at the end of the second, from 0 to 1."""
    most = min(len(first), len(second))
    head = next((n for n in range(most) if first[n] != second[n]), most)
    tail = next((n for n in range(most - head) if first[-1 - n] != second[-1 - n]), most - head)
    return (head + tail) / len(first) if head and tail else 0.0


def _of_csv(text: str) -> Iterator[Table]:
    """Yield the table that a CSV file is: its first row holds a distinct title, with a letter, for every column.

    Rows with more or fewer cells than titles are left out, and all after a row that cannot be read.
    """
    lines = [match.span() for match in re.finditer(r"[^\r\n]+", text)]
    if not lines:
        return
    delimiter = max("\t;|,", key=text[slice(*lines[0])].count)
    reader = csv.reader((text[start:end] + "\n" for start, end in lines), delimiter=delimiter)
    found: list[Row] = []
    read = 0
    try:
        for cells in reader:
            start, end = lines[read][0], lines[reader.line_num - 1][1]
            read = reader.line_num
            found += [Row(start, end, tuple(" ".join(cell.split()) for cell in cells))] if any(cells) else []
    except csv.Error:
        pass
    header = found[0].cells if found else ()
    is_header = len(set(header)) == len(header) and all(re.search(r"[^\W\d_]", title) for title in header)
    if len(header) > 1 and is_header:
        rows = tuple(row for row in found[1:] if len(row.cells) == len(header))
        yield Table(found[0].start, found[-1].end, header, rows, "", "")


def _cells(line: _Line) -> tuple[str, ...]:
    content = line.content if line.kind != "item" else f"{line.marker} {line.content}"
    content = content.removeprefix("|")
    if content.endswith("|") and not content.endswith("\\|"):
        content = content[:-1]
    return tuple(plain(cell.replace("\\|", "|")) for cell in _PIPE.split(content))


def _caption(lines: Sequence[_Line], number: int) -> str:
    """Return the line before a table, past one blank, when it introduces or numbers it."""
    if number >= 0 and lines[number].kind == "blank":
        number -= 1
    if number < 0 or lines[number].kind != "prose":
        return ""
    text = plain(lines[number].content)
    return text.rstrip(":：") if re.match(r"(?:Table|Tab\.|表)\s*\d", text) or _INTRODUCES.search(text) else ""


def _lists(text: str, lines: Sequence[_Line], parts: Sequence[Section]) -> Iterator[ListPlace]:
    """Yield the lists with their introductions; items that stand deeper than the first are nested in the one above.

    A list of nothing but links that no sentence introduces is navigation, and left out.
    """
    number, before = 0, -1  # `before`: the last line of the paragraph that precedes
    while number < len(lines):
        line = lines[number]
        if line.kind != "item":
            before = number if line.kind == "prose" else before if line.kind == "blank" else -1
            number += 1
            continue
        top, number = _items(lines, number)
        start, introduction = _introduction(lines, before, top[0].line)
        texts = [" ".join(each.texts).strip() for each in top if not each.children]
        is_navigation = len(texts) == len(top) and all(map(_LINK.fullmatch, texts))
        if len(top) > 1 and (introduction or not is_navigation):
            yield ListPlace(
                start,
                top[-1].end,
                introduction,
                tuple(Item(each.line.at, each.end, plain(" ".join(each.texts))) for each in top),
                top[0].line.marker[:1] not in "-*+•·▪◦‣",
                section_at(parts, top[0].line.at).path,
            )
        before = -1


def _items(lines: Sequence[_Line], number: int) -> tuple[list[_Open], int]:
    """Return the items of the list that begins at a line, and the number of the first line after it."""
    first = lines[number]
    top: list[_Open] = []
    blank = False
    while number < len(lines):
        line = lines[number]
        nested = line.indent > first.indent + 1
        if line.kind == "item":
            if not nested and _style(line) != _style(first):
                break
            opened = _Open(line, line.end, [line.content])
            if nested and top:
                top[-1].children.append(opened)
                top[-1].end = line.end
            else:
                top.append(opened)
        elif line.kind == "blank":
            pass
        elif line.kind != "prose" or (blank and not nested):
            break
        else:  # the line continues an item
            last = top[-1].children[-1] if top[-1].children else top[-1]
            last.texts += [] if blank else [line.content]
            last.end = top[-1].end = line.end
        blank = line.kind == "blank"
        number += 1
    return top, number


def _style(line: _Line) -> str:
    """Return what markers of one list share: the bullet itself, or the kind of numbering."""
    return (
        re.sub(r"\d+", "1", re.sub("[一二三四五六七八九十]+", "一", line.marker))
        if len(line.marker) > 1
        else ("①" if "①" <= line.marker <= "⑳" else line.marker)
    )


def _introduction(lines: Sequence[_Line], before: int, first: _Line) -> tuple[int, str]:
    """Return where a list with its introduction begins, and the introducing sentence, "" without one."""
    if before < 0 or not _INTRODUCES.search(lines[before].content):
        return first.at, ""
    start = before
    while start > 0 and lines[start - 1].kind == "prose" and before - start < 8:
        start -= 1
    paragraph = "\n".join(line.content for line in lines[start : before + 1])
    sentences = _SENTENCE_END.split(paragraph)
    introduction = plain(sentences[-1]).rstrip(":： ")
    return lines[start].at, introduction


def _definitions(lines: Sequence[_Line], parts: Sequence[Section]) -> Iterator[Definition]:
    """Yield the terms that a mark parts from their meaning, which goes on over the lines of its paragraph or item."""

    def begins(text: str) -> bool:
        return any(each.match(text) for each in (_DASHED, _DOUBLE_COLON, _MEANING_LINE))

    for number, line in enumerate(lines):
        if line.kind not in ("prose", "item"):
            continue
        match = _DASHED.match(line.content) or _DOUBLE_COLON.match(line.content)
        if match:
            first, term, meaning = line, match["term"], match["meaning"]
        elif (below := _MEANING_LINE.fullmatch(line.content)) and number and lines[number - 1].kind == "prose":
            first, term, meaning = lines[number - 1], lines[number - 1].content, below["meaning"]
        else:
            continue
        name = plain(term)
        if not name or len(name) > LONGEST_KEY or _SENTENCE_IN_KEY.search(name):
            continue
        following = islice(lines, number + 1, number + 1 + MOST_LINES)
        more = list(takewhile(lambda each: each.kind == "prose" and not begins(each.content), following))
        said = plain(" ".join([meaning, *(each.content for each in more)]))
        last = more[-1] if more else line
        if re.search(r"[^\W\d_]", name + said):
            yield Definition(first.at, last.at + len(last.content), name, said, section_at(parts, first.at).path)
