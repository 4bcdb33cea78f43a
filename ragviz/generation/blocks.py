"""What stands under each heading of a document, block by block, and how a person reads it.

A block is a paragraph, a list, a table, or something that is not read as prose: code, tags, directives, images.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragviz.core.document import Document
from ragviz.generation.sections import SEPARATOR
from ragviz.generation.structure import structure
from ragviz.index.headings import headings, verbatim
from ragviz.text import prose

BlockKind = Literal["prose", "list", "table", "other"]
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n")
_NOT_PROSE = re.compile(
    r"\s*(?:<|!\[|:::|\.\. |\{[%{]|\|\s|\+[-=]|\$\$|@|:[\w ]+:\s|```|~~~|={3,}|-{3,}|import |export )"
)
_INDENTED = re.compile(r"(?: {3,}|\t)\S")
_ROLE = re.compile(r":[\w:+-]+:`(?:~|!)?([^`<]+?)(?:\s*<[^`>]*>)?`")
_RST_LINK = re.compile(r"`([^`<\n]+?)\s*<[^`>]+>`_{1,2}|`([^`\n]+)`_{1,2}(?!\w)|\b(\w+)_(?=[\s.,;:)]|$)")
_RST_MARK = re.compile(r"``([^`\n]+)``|\|([^|\n]+)\|(?=\W|$)|(?<=\S)::(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """The characters [start, end) of a document."""

    kind: BlockKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Headed:
    """A heading at [start, head_end) with the `blocks` directly under it, up to the next heading of any depth.

    `path` are the titles of the headings above and its own, from the outermost.
    """

    path: tuple[str, ...]
    start: int
    head_end: int
    end: int
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str:
        """The heading itself, "" for what stands before the first."""
        return self.path[-1] if self.path else ""


@lru_cache(maxsize=8)
def headed(document: Document) -> tuple[Headed, ...]:
    r"""Return the sections of a document with their blocks.

    >>> text = "# Leave\n\nFive days,\npaid.\n\n- ask\n- go\n\n## Unpaid\n\nSee us."
    >>> [(part.path, [b.kind for b in part.blocks]) for part in headed(Document("", "", text, (), "en",
    ...     "text/markdown", "", 0))]
    [(('Leave',), ['prose', 'list']), (('Leave', 'Unpaid'), ['prose'])]
    """
    found, text = structure(document), document.text
    lines = dict(headings(document))
    code = list(verbatim(text))
    places = sorted(
        [(table.start, table.end, "table") for table in found.tables]
        + [(each.items[0].start, each.end, "list") for each in found.lists]
    )
    parts = []
    for section in found.sections:
        path = tuple(section.path.split(SEPARATOR)) if section.path else ()
        line = text.find("\n", section.start, section.end)
        head_end = lines.get(section.start, section.end if line < 0 else line) if path else section.start
        blocks = tuple(_blocks(text, head_end, section.end, code, places))
        parts.append(Headed(path, section.start, head_end, section.end, blocks))
    return tuple(parts)


def _blocks(
    text: str, start: int, end: int, code: Sequence[tuple[int, int]], places: Sequence[tuple[int, int, str]]
) -> Iterator[Block]:
    """Yield the blocks between two characters; a list or table, and what is code, is one block with its blank lines."""
    at, is_directive = start, False
    while at < end:
        at += len(text[at:end]) - len(text[at:end].lstrip("\n"))
        if at >= end:
            return
        gap = _GAP.search(text, at, end)
        stop = gap.start() if gap else end
        whole = _holding(code, at, stop)
        if whole:
            yield Block("other", at, min(max(whole[1], stop), end))
            at = min(max(whole[1], stop), end)
            continue
        number = bisect_right(places, stop, key=lambda place: place[0]) - 1
        place = places[number] if number >= 0 and places[number][1] > at else None
        if place and place[0] < stop:
            line = text.rfind("\n", at, place[0]) + 1
            if line > at and text[at:line].strip():  # a paragraph right above it
                yield Block("prose", at, at + len(text[at:line].rstrip()))
                at = line
            stop = min(max(place[1], at + 1), end)
            yield Block("list" if place[2] == "list" else "table", at, stop)
        elif text[at:stop].strip():
            indented = _INDENTED.match(text, at) is not None
            is_other = _NOT_PROSE.match(text, at) is not None or indented
            is_directive = (is_directive and indented) or text.startswith("..", at)
            yield Block("other" if is_other or is_directive else "prose", at, at + len(text[at:stop].rstrip()))
        at = stop


def _holding(ranges: Sequence[tuple[int, int]], start: int, stop: int) -> tuple[int, int] | None:
    """Return the first range that begins in [start, stop), or holds `start`."""
    return next((each for each in ranges if each[0] < stop and each[1] > start), None)


def readable(source: str, media_type: str = "") -> str:
    """Return a piece of a document as a person reads it, on one line.

    >>> readable("Kept for **90** [days](a.md)."), readable("See :ref:`pruning <prune>` and ``--keep``.", "text/x-rst")
    ('Kept for 90 days.', 'See pruning and --keep.')
    """
    if media_type == "text/x-rst":
        source = _ROLE.sub(r"\1", source)
        source = _RST_LINK.sub(lambda match: match[1] or match[2] or match[3], source)
        source = _RST_MARK.sub(lambda match: match[1] or match[2] or ":", source)
    return " ".join(html.unescape(prose.read(source).text).split())
