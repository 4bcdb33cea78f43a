"""Web pages as Markdown text: headings, paragraphs, lists, tables and code, to be read and cut, not shown.

kreuzberg 4.10 loses what follows the 63rd paragraph without an end tag, and what is nested 64 deep; this reads the
stream of tags and keeps no tree, so neither matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

_SKIPPED = frozenset(
    ("script", "style", "title", "nav", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea")
    + ("button", "audio", "video", "canvas")
)
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl")
    + ("dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header")
    + ("hr", "html", "legend", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot")
    + ("th", "thead", "tr", "ul")
)
_ALWAYS_CLOSED = frozenset(
    ("div", "section", "article", "aside", "span", "table", "ul", "ol", "dl", "blockquote", "figure")
)

_SPACE = re.compile("[ \t\n\r\f\xa0]+")
_AROUND_BREAK = re.compile(" *\n *")
_ITEM = re.compile(r" *(?:-|\d+\.) ")
_INVISIBLE = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_CONDITION = re.compile(r"<!\[[^<>]*>?")  # Word's <![if …]>, on which html.parser may raise


def markdown(page: str) -> str:
    r"""Return the text of a page; link targets, pictures, scripts, navigation and what is hidden are left out.

    >>> markdown("<h1>Q&amp;A</h1><p>One <b>bold</b> line<ul><li>a<li>b</ul><table><tr><td>x<td>y</table>")
    '# Q&A\n\nOne bold line\n\n- a\n- b\n\n| x | y |\n| --- | --- |'
    """
    reader = _Reader()
    reader.feed(_CONDITION.sub("", page))
    reader.close()
    return reader.result()


def table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table whose first row is its header; "" when no cell holds anything.

    >>> table([["a", "b|c"], ["1"]])
    '| a | b\\|c |\n| --- | --- |\n| 1 |  |'
    """
    if not any(cell.strip() for row in rows for cell in row):
        return ""
    width = max(map(len, rows))
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


@dataclass(slots=True)
class _Table:
    """An open table: rows of cells, each a list of blocks; `nested` when another table is inside."""

    rows: list[list[list[str]]] = field(default_factory=list)
    nested: bool = False

    def blocks(self) -> list[str]:
        """Return it as one table, or as the blocks of its cells when it only serves the layout."""
        if self.nested or all(len(row) <= 1 for row in self.rows):
            return [block for row in self.rows for cell in row for block in cell]
        text = table([[" ".join(cell) for cell in row] for row in self.rows])
        return [text] if text else []


class _Reader(HTMLParser):
    """Collects blocks of text: one ends where a block element begins or ends, or where the page does."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._tables: list[_Table] = []
        self._lists: list[int | None] = []  # the number of the next item, None in a list without numbers
        self._quotes = 0
        self._pre = False
        self._skipping = ("", 0)  # the element that is left out, and how many of its name are open

    def result(self) -> str:
        """Return the page: an empty line between blocks, none between the items of a list."""
        self._end_block()
        while self._tables:
            self._end_table()
        pieces: list[str] = []
        previous = ""
        for block in self._blocks:
            tight = _ITEM.match(block) and _ITEM.match(previous)
            pieces += ["" if not pieces else "\n" if tight else "\n\n", block]
            previous = block
        return "".join(pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin what the tag begins."""
        skipped, depth = self._skipping
        if skipped:
            self._skipping = (skipped, depth + (tag == skipped))
        elif tag in _SKIPPED or (tag in _ALWAYS_CLOSED and _hidden(dict(attrs))):
            self._skipping = (tag, 1)
        elif tag in _BLOCKS:
            self._end_block()
            self._open(tag, dict(attrs))
        elif tag == "br":
            self._line.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End what the tag ends; an end without a beginning only ends the block."""
        skipped, depth = self._skipping
        if skipped:
            depth -= tag == skipped
            self._skipping = (skipped, depth) if depth else ("", 0)
        elif tag in _BLOCKS:
            self._end_block()
            self._close(tag)

    def handle_data(self, data: str) -> None:
        """Take text, with its white space as a browser would show it."""
        if not self._skipping[0]:
            self._line.append(data if self._pre else _SPACE.sub(" ", data))

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in ("ul", "ol"):
            start = attributes.get("start") or "1"
            self._lists.append(None if tag == "ul" else int(start) if re.fullmatch(r"\d{1,9}", start) else 1)
        elif tag == "li":
            self._prefix = self._item()
        elif tag[0] == "h" and tag[1:].isdigit():
            self._prefix = "#" * int(tag[1:]) + " "
        elif tag == "pre":
            self._pre = True
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "table":
            if self._tables:
                self._tables[-1].nested = True
            self._tables.append(_Table())
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag in ("td", "th") and self._tables and self._tables[-1].rows:
            self._tables[-1].rows[-1].append([])

    def _item(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * min(len(self._lists) - 1, 8)
        return f"{indent}- " if number is None else f"{indent}{number}. "

    def _close(self, tag: str) -> None:
        if tag in ("li", "ul", "ol") or tag[0] == "h":
            self._prefix = ""
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "pre":
            self._pre = False
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "table" and self._tables:
            self._end_table()

    def _end_block(self) -> None:
        text = "".join(self._line)
        self._line.clear()
        if self._pre:
            text = f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""
        else:
            text = _AROUND_BREAK.sub("\n", text).strip()
        if text:
            quote = "> " * min(self._quotes, 8)
            self._put(quote + (self._prefix + text).replace("\n", "\n" + quote))
            self._prefix = ""

    def _end_table(self) -> None:
        for block in self._tables.pop().blocks():
            self._put(block)

    def _put(self, block: str) -> None:
        """Put a block into the open cell, or on the page when there is none (as for a caption)."""
        for open_table in reversed(self._tables):
            if open_table.rows and open_table.rows[-1]:
                open_table.rows[-1][-1].append(block)
                return
        self._blocks.append(block)


def _hidden(attributes: dict[str, str | None]) -> bool:
    return "hidden" in attributes or bool(_INVISIBLE.search(attributes.get("style") or ""))
