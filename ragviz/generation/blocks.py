"""What stands under each heading of a document, block by block, and how a person reads it.

A block is a paragraph, a list, a table, code, or something else that is not read as prose: tags, other directives.
Images, anchors and comments are no blocks.
"""

from __future__ import annotations

import html
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragviz.core.document import Document
from ragviz.generation.sections import SEPARATOR
from ragviz.generation.structure import structure
from ragviz.index.headings import headings, verbatim
from ragviz.text import segmentation

BlockKind = Literal["prose", "list", "table", "code", "other"]
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n")
_NOTHING = re.compile(r"\s*(?:<!--|(?:!\[[^\]\n]*\]\([^)\n]*\)|<a \w+=[^>]*>(?:</a>)?|<img\b[^>]*>|[-*_=]{3,})\s*\Z)")
"""An image, a comment, an anchor or a rule."""
_NOT_PROSE = re.compile(r"\s*(?:<|!\[|:::|\{[%{]|\|\s|\+[-=]|\$\$|@|:[\w ]+:\s|```|~~~|={3,}|-{3,}|import |export )")
_DIRECTIVE = re.compile(r"[ \t]*\.\.[ \t]+(?:(?P<name>[\w:-]+)::|.)")
_DIRECTIVES: Mapping[str, BlockKind | None] = {
    **dict.fromkeys(("note", "tip", "hint", "important", "warning", "caution", "attention", "danger"), "prose"),
    **dict.fromkeys(("code", "code-block", "sourcecode", "parsed-literal", "console", "prompt"), "code"),
    **dict.fromkeys(("index", "contents", "toctree", "image", "figure", "currentmodule", "highlight", "comment")),
}
"""What a directive of reStructuredText holds, None for nothing to read; every other holds something else."""
_QUOTED = re.compile(r"^[ \t]*>+[ \t]?", re.MULTILINE)
_MARKS = re.compile(r"^[ \t]*(?:\.\.[ \t]+[\w:-]+::[^\n]*|:[\w-]+:[^\n]*|```[^\n]*|~~~[^\n]*)\n?", re.MULTILINE)
"""The lines around code: a fence, or a directive with its options."""
_INDENTED = re.compile(r"(?: {3,}|\t)\S")
_ADMONITION = re.compile(r"^[ \t]*\.\.[ \t]+[\w-]+::", re.MULTILINE)
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
    at, directive = start, ""
    while text[at:end].strip("\n"):
        at = end - len(text[at:end].lstrip("\n"))
        gap = _GAP.search(text, at, end)
        stop = gap.start() if gap else end
        # The first code that begins here, or is open here.
        if whole := next((each for each in code if each[0] < stop and each[1] > at), None):
            stop = min(max(whole[1], stop), end)
            if not _NOTHING.match(text, at, stop):
                yield Block("code" if text[whole[0] : stop].lstrip()[0] in "`~" else "other", at, stop)
            at = stop
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
            if opened := _DIRECTIVE.match(text, at):
                directive = opened["name"] or "comment"
            elif not _INDENTED.match(text, at):
                directive = ""
            if kind := _kind(text[at:stop], directive):
                yield Block(kind, at, at + len(text[at:stop].rstrip()))
        at = stop


def _kind(source: str, directive: str) -> BlockKind | None:
    """Return what a paragraph is, maybe of a directive of reStructuredText; None where it holds nothing to read."""
    if directive:
        return _DIRECTIVES.get(directive, "other")
    if _NOTHING.match(source):
        return None
    is_code = _INDENTED.match(source) or (source.lstrip().startswith(">") and "```" in source)
    return "code" if is_code else "other" if _NOT_PROSE.match(source) else "prose"


def readable(source: str, media_type: str = "") -> str:
    """Return a piece of a document as a person reads it, on one line.

    >>> readable("Kept for **90** [days](a.md)."), readable("See :ref:`pruning <prune>` and ``--keep``.", "text/x-rst")
    ('Kept for 90 days.', 'See pruning and --keep.')
    """
    if media_type == "text/x-rst":
        source = _ADMONITION.sub("", source)
        source = _ROLE.sub(r"\1", source)
        source = _RST_LINK.sub(lambda match: match[1] or match[2] or match[3], source)
        source = _RST_MARK.sub(lambda match: match[1] or match[2] or ":", source)
    return " ".join(html.unescape(segmentation.read(_QUOTED.sub("", source)).text).split())


def code(source: str) -> str:
    r"""Return code as it is written, without its fence or directive and the blanks before all its lines.

    >>> code("```sh\nmake app\n```"), code(".. code-block:: yaml\n   :linenos:\n\n   app:\n     port: 80")
    ('make app', 'app:\n  port: 80')
    """
    return textwrap.dedent(_MARKS.sub("", _QUOTED.sub("", source))).strip()
