"""Sections of a document: what stands under each of its headings.

Marked headings are those of `index.headings`. Where a text marks none (the text layer of a PDF), and in plain text
within those that it underlines, lines are headings by their numbering: "2.1 Fares", "Chapter 3", "第三章 差旅". Short
lines are not guessed at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ragviz.core.document import Document
from ragviz.index.headings import leveled
from ragviz.text import segmentation

SEPARATOR = " > "
"""Between the titles of a path."""

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[ \t]*\n)*(?=[\w-]+:)(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TITLE_FIELD = re.compile(
    r"^title:[ \t]*(?:[>|][+-]?[ \t]*)?(?:\n[ \t]+)?(?P<quote>[\"']?)"
    r"(?P<title>[^\s:][^\n]*?(?:\n[ \t]+[^\n]+?)*)(?P=quote)[ \t]*$",
    re.MULTILINE,
)
"""The title of a front matter, in YAML on its own line or on the indented ones that follow."""
_CHINESE_LEVELS = {"编": 1, "篇": 1, "部分": 1, "章": 2, "节": 3, "条": 4}
_ENGLISH_LEVELS = {"part": 1, "chapter": 2, "appendix": 2, "annex": 2, "section": 3, "article": 4}
_CHINESE_DIGITS = "〇零一二三四五六七八九十百千"
_NUMBERED = re.compile(
    rf"^[ \t]*(?:第[ \t]*[{_CHINESE_DIGITS}\d]{{1,6}}[ \t]*(?P<chinese>部分|[编篇章节条])(?![{_CHINESE_DIGITS}款项])"
    rf"|(?P<ordinal>[{_CHINESE_DIGITS}]{{1,3}}、)|(?P<bracketed>[（(][{_CHINESE_DIGITS}]{{1,3}}[）)])"
    r"|(?P<english>(?:Part|Chapter|Section|Article|Appendix|Annex|PART|CHAPTER|SECTION|ARTICLE|APPENDIX|ANNEX)"
    r"[ ](?:\d{1,3}|[IVXLC]{1,6}|[A-Z])\b[.:]?)"
    r"|(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})\.?(?=[ \t]))(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_NO_TITLE = re.compile(r"[.,;:!?。，；：！？、…][\"'”’)）]*$|\.{3,}|…|[ \t]\d{1,4}$")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Section:
    """`document.text[start:end]` under a heading, with the heading's own lines.

    `path` holds the titles of the headings above, from the outermost, joined by " > "; "" before the first heading.
    """

    path: str
    start: int
    end: int

    @property
    def title(self) -> str:
        """The title of the innermost heading, "" before the first."""
        return self.path.rpartition(SEPARATOR)[2]


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading's place, its depth (any number; smaller is further out) and its title, never empty."""

    start: int
    level: int
    title: str


def sections(document: Document) -> list[Section]:
    r"""Return the sections of a document in order: they adjoin and cover the whole text; empty for an empty text.

    >>> text = "Hello.\n\n# Leave\n\nFive days.\n\n## Unpaid\n\nAsk first.\n\n# Travel\n\nBook early."
    >>> [section.path for section in sections(Document("", "", text, (), "en", "text/markdown", "", 0))]
    ['', 'Leave', 'Leave > Unpaid', 'Travel']
    """
    found = {heading.start: heading for heading in _marked(document)}
    if document.media_type == "text/plain" or not found:
        found = {each.start: replace(each, level=each.level + 2) for each in _numbered(document.text)} | found
    return list(_tiled([found[start] for start in sorted(found)], len(document.text)))


def section_at(all_sections: Sequence[Section], at: int) -> Section:
    """Return the section that holds the character `at` of its document, the last for what is beyond the end."""
    return all_sections[max(bisect_right(all_sections, at, key=lambda section: section.start) - 1, 0)]


def title_of(document: Document) -> str:
    """Return what a document calls itself: its front matter's title, else its only outermost heading, if it is first.

    Empty where it has neither: a file's name is no title.
    """
    if matter := FRONT_MATTER.match(document.text):
        named = _TITLE_FIELD.search(document.text, 0, matter.end())
        return " ".join(segmentation.read(named["title"]).text.split()) if named else ""
    found = list(_marked(document))
    top = min((heading.level for heading in found), default=0)
    first = [heading for heading in found if heading.level == top]
    return first[0].title if len(first) == 1 and first[0] == found[0] else ""


def name_of(document: Document) -> str:
    """Return the file's name as words: without its folders and ending, hyphens and underscores as blanks."""
    return " ".join(re.split(r"[\s_-]+", PurePosixPath(document.name).stem)).strip()


def _tiled(found: Iterable[_Heading], length: int) -> Iterator[Section]:
    """Yield the sections between headings; those without a character are left out."""
    above: list[_Heading] = []
    start, path = 0, ""
    for heading in found:
        if heading.start > start:
            yield Section(path, start, heading.start)
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        start, path = heading.start, SEPARATOR.join(each.title for each in above)
    if length > start:
        yield Section(path, start, length)


def _marked(document: Document) -> Iterator[_Heading]:
    """Yield the headings that the text marks as such and that have a title."""
    matter = FRONT_MATTER.match(document.text)
    for start, level, title in leveled(document):
        if title and start >= (matter.end() if matter else 0):
            yield _Heading(start, level, title.replace(SEPARATOR, " › "))


def _numbered(text: str) -> Iterator[_Heading]:
    """Yield the lines of an unmarked text that are headings by their numbering.

    "2 Fares" may as well be an item of a list; it is a heading where "2.1 …" is one.
    """
    found = [heading for match in _NUMBERED.finditer(text) if (heading := _of_line(match))]
    divided = {number.partition(".")[0] for number, _ in found if "." in number}
    yield from (heading for number, heading in found if not number or "." in number or number in divided)


def _of_line(match: re.Match[str]) -> tuple[str, _Heading] | None:
    """Return the decimal number ("" for other numbering) and the heading that a line is, None when it is none."""
    line, rest, start = match.group().strip(), match["rest"].strip(), match.start()
    is_title = len(line) <= _LONGEST and not _NO_TITLE.search(line)
    if match["chinese"]:
        level = _CHINESE_LEVELS[match["chinese"]]
        if is_title and (not rest or match["rest"][0] in " \t　：:" or level < 4):
            return "", _Heading(start, level, " ".join(line.split()))
        # The article's number heads the text that follows it on its line; elsewhere it is a reference in a sentence.
        alone = level == 4 and match["rest"][:1] in (" ", "\t", "　", "：")
        return ("", _Heading(start, level, line[: len(line) - len(rest)].strip(" \t　："))) if alone else None
    if not is_title or not re.search(r"[^\W\d_]{2}", rest or line):
        return None
    if match["english"]:
        return "", _Heading(start, _ENGLISH_LEVELS[match["english"].split()[0].lower()], line)
    if match["ordinal"] or match["bracketed"]:
        fits = len(line) <= 24 and not re.search("[，。；：,;]", line)
        return ("", _Heading(start, 5 if match["ordinal"] else 6, line)) if fits else None
    capital = rest[0].isupper() or "\u4e00" <= rest[0] <= "\u9fff"
    parts = match["number"].split(".")
    if not capital or any(part != "0" and part.startswith("0") for part in parts) or parts[0] == "0":
        return None
    return match["number"], _Heading(start, 10 + len(parts), line)
