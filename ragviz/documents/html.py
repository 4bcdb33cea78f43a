"""Web pages to Markdown: headings, paragraphs, lists, tables and code, for reading and chunking, not for display.

kreuzberg 4.10 loses text after the 63rd paragraph without an end tag, and text nested 64 deep; html.parser takes hours
for a megabyte of "<!--", lexbor minutes for one of "<div>". This reads tags as a stream, in linear time, with no tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from ragviz.documents import encoding

_SKIPPED = frozenset(
    {"script", "style", "title", "nav", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea"}
    | {"button", "audio", "video", "canvas"}
)
_RAW = frozenset({"script", "style", "title", "textarea"})  # no tags inside but their own end
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl"}
    | {"dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header"}
    | {"hr", "html", "legend", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot"}
    | {"th", "thead", "tr", "ul"}
)
_CELLS, _ROWS = frozenset({"td", "th"}), frozenset({"tr", "tbody", "thead", "tfoot"})
_ENDED_BY = {
    "p": _BLOCKS,
    "li": frozenset({"li"}),
    **dict.fromkeys(("dt", "dd"), frozenset({"dt", "dd"})),
    **dict.fromkeys(_ROWS, _ROWS),
    **dict.fromkeys(_CELLS, _CELLS | _ROWS),
}
"""Start tags that end an element that has no end tag of its own; what is not here has one."""
_EMPTY = frozenset(
    {"br", "hr", "img", "input", "meta", "link", "wbr", "col", "area", "base", "embed", "source", "track"}
)

# No part of these backtracks (possessive, or bounded), so that no input makes them slow.
_QUOTED = r""""(?:[^"<>]*+"|[^"]{0,2000}+")|'(?:[^'<>]*+'|[^']{0,2000}+')"""
_TAG = re.compile(
    rf"<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)((?:[^<>\"']++|{_QUOTED})*+)>|<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)([^<>]*+)>"
)
_SPACE = re.compile("[ \t\n\r\f\xa0]+")
_AROUND_BREAK = re.compile("(?<! ) *+\n *+")  # matches only where blanks begin, so that a run of them is read once
_PERMALINK = "¶"  # text of the link to itself that documentation generators put after a heading
_ITEM = re.compile(r" *(?:-|\d+\.) ")
_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|[^\s"']*)""")
_INVISIBLE = re.compile(r"style\s*=[^=]*?(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE)
_NAVIGATION = re.compile(r"""(?<![\w-])role\s*=\s*["']?navigation\b""", re.IGNORECASE)
_SPAN = re.compile(r"""\b(col|row)span\s*=\s*["']?(\d{1,5})\b""", re.IGNORECASE)
MOST_SPANNED = 50
"""Columns that a cell spans, and cells of a row that span rows below it, at most."""
_START = re.compile(r"""\bstart\s*=\s*["']?(\d{1,9})\b""", re.IGNORECASE)


def read(page: str, *, marks_titles: bool = True) -> tuple[str, list[str]]:
    r"""Return the text of a page, and a warning about hidden elements.

    Without link targets, pictures, scripts, navigation, and what its elements hide; what its style sheets hide is kept.
    A cell that spans several columns or rows stands in the first of them; the others are empty. A table whose
    first row is not marked as its titles has empty ones, unless the page is of a kind that marks none (`marks_titles`).

    >>> read("<h1>Q&amp;A</h1><p>One <b>bold</b> line<ul><li>a<li>b</ul><table><tr><td>x<td>y</table>")[0]
    '# Q&A\n\nOne bold line\n\n- a\n- b\n\n|  |  |\n| --- | --- |\n| x | y |'
    """
    reader = _Reader(marks_titles=marks_titles)
    for end, name, rest in _tokens(page):
        if not name:
            reader.text(_unescaped(rest).replace("\xad", ""))  # a soft hyphen is not part of the word
        elif end:
            reader.end(name)
        else:
            reader.start(name, rest)
    return reader.result(), reader.warnings()


_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""")


def web_page(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a web page as Markdown, and warnings: about its encoding, and those of `read`.

    Raises:
        UnreadableFile: the bytes are no text in any known encoding.

    """
    declared = _CHARSET.search(data[:4096])
    page, warnings = encoding.decode(data, declared[1].decode("ascii") if declared else "")
    text, more = read(page)
    return encoding.clean(text)[0], [*warnings, *more]


_ZEROS = re.compile(r"&#([xX]?)0+(?=[0-9a-fA-F])")
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")


def _unescaped(text: str) -> str:
    r"""Replace character references; numbers beyond any character become U+FFFD, as in a browser.

    >>> _unescaped("&lt;&#0065;&#" + "9" * 5000 + ";")
    '<A\ufffd'
    """
    return unescape(_NO_CHARACTER.sub("\ufffd", _ZEROS.sub(r"&#\1", text)) if "&#" in text else text)


def _tokens(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield ("", "", text), ("", name, attributes) and ("/", name, …), without comments and scripts."""
    place = 0
    while (at := page.find("<", place)) >= 0:
        yield "", "", page[place:at]
        if page.startswith(("<!", "<?"), at):
            close = "-->" if page.startswith("<!--", at) else ">"
            place = page.find(close, at + 2) + len(close)
            if place < len(close):
                return  # an unclosed comment extends to the end of the page
        elif tag := _TAG.match(page, at):
            end, name, rest = tag[1] or tag[4] or "", (tag[2] or tag[5]).lower(), tag[3] or tag[6] or ""
            yield end, name, rest
            place = tag.end()
            if name in _RAW and not end and not rest.endswith("/"):
                match = re.compile(f"</{name}", re.IGNORECASE).search(page, place)
                place = match.start() if match else len(page)
        else:
            yield "", "", "<"
            place = at + 1
    yield "", "", page[place:]


def table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table whose first row is its header, short rows left short; "" when all cells are empty.

    >>> table([["a", "b|c"], ["1"]])
    '| a | b\\|c |\n| --- | --- |\n| 1 |'
    """
    flat = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows if row]
    if not any(cell for row in flat for cell in row):
        return ""
    lines = [f"| {' | '.join(row)} |" for row in flat]
    return "\n".join([lines[0], "|" + " --- |" * len(flat[0]), *lines[1:]])


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of a table: its blocks of text, how many columns and rows it spans, whether it is marked as a title."""

    blocks: list[str]
    columns: int
    rows: int
    is_title: bool


def _grid(rows: Sequence[Sequence[_Cell]]) -> list[list[str]]:
    """Return the texts of cells in their columns, "" where a cell of this row or of one above it goes on."""
    grid = list[list[str]]()
    below: dict[int, int] = {}  # column → rows left to which a cell above it goes on
    for row in rows:
        texts, now, below = list[str](), below, {column: left - 1 for column, left in below.items() if left > 1}
        for cell in row:
            while len(texts) in now:
                texts.append("")
            if cell.rows > 1 and len(below) < MOST_SPANNED:
                below |= dict.fromkeys(range(len(texts), len(texts) + cell.columns), cell.rows - 1)
            texts += [" ".join(cell.blocks), *[""] * (cell.columns - 1)]
        grid.append(texts)
    return grid


class _Reader:
    """Collects blocks of text, which end where a block element begins or ends, and at the end of the page."""

    def __init__(self, *, marks_titles: bool) -> None:
        self._marks_titles = marks_titles
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._rows: list[list[_Cell]] | None = None  # of the open table
        self._lists: list[int | None] = []  # the number of the next item, None in a list without numbers
        self._in_head = False
        self._quotes = 0
        self._pre = False
        self._left_out: list[str] = []  # the element that is left out, and the blocks that are open in it
        self._is_hidden = False  # whether it is left out because a browser shows it not
        self._hidden, self._hidden_characters = 0, 0

    def result(self) -> str:
        """Return the page: an empty line between blocks, none between the items of a list."""
        self._end_block()
        self._end_table()
        pieces: list[str] = []
        previous = ""
        for block in self._blocks:
            tight = _ITEM.match(block) and _ITEM.match(previous)
            pieces += ["" if not pieces else "\n" if tight else "\n\n", block]
            previous = block
        return "".join(pieces)

    def warnings(self) -> list[str]:
        if not self._hidden_characters:
            return []
        return [f"hidden elements are left out: {self._hidden:,}, with {self._hidden_characters:,} characters"]

    def start(self, tag: str, attributes: str) -> None:
        while self._left_out and tag in _ENDED_BY.get(self._left_out[-1], ()):
            self._left_out.pop()
        if self._left_out:
            if tag in _BLOCKS or tag == self._left_out[0]:
                self._left_out.append(tag)
            return
        # A page that is hidden as a whole is shown by a script.
        self._is_hidden = _hidden(attributes) and tag not in _EMPTY and tag not in ("html", "body")
        if attributes.endswith("/") and tag not in _BLOCKS:
            self._line.append("\n" if tag == "br" else "")
        elif tag in _SKIPPED or self._is_hidden or (tag not in _EMPTY and _NAVIGATION.search(attributes)):
            self._hidden += self._is_hidden
            self._end_block() if tag in _BLOCKS else None
            self._left_out = [tag]
        elif tag in _BLOCKS:
            self._end_block()
            self._open(tag, attributes)
        elif tag == "br":
            self._line.append("\n")

    def end(self, tag: str) -> None:
        if tag in self._left_out:
            while self._left_out.pop() != tag:
                pass
            return
        if tag in _BLOCKS and self._left_out and self._left_out[0] in _ENDED_BY:  # the end of an element around it
            self._left_out = []
        if tag in _BLOCKS and not self._left_out:
            self._end_block()
            self._close(tag)

    def text(self, data: str) -> None:
        if not self._left_out:
            self._line.append(data if self._pre else _SPACE.sub(" ", data))
        elif self._is_hidden:
            self._hidden_characters += len(data.strip())

    def _open(self, tag: str, attributes: str) -> None:
        if tag in ("ul", "ol"):
            start = _START.search(attributes)
            self._lists.append(None if tag == "ul" else int(start[1]) if start else 1)
        elif tag == "li":
            self._prefix = self._item()
        elif tag[0] == "h" and tag[1:].isdigit():
            self._prefix = "#" * int(tag[1:]) + " "
        elif tag == "pre":
            self._pre = True
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "table":
            self._end_table(layout=True)
            self._rows, self._in_head = [], False
        elif tag in ("thead", "tbody"):
            self._in_head = tag == "thead"
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            spans = {name.lower(): int(count) for name, count in _SPAN.findall(attributes)}
            columns = max(1, min(spans.get("col", 1), MOST_SPANNED))
            self._rows[-1].append(_Cell([], columns, spans.get("row", 1), tag == "th" or self._in_head))

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
        elif tag == "thead":
            self._in_head = False
        elif tag == "pre":
            self._pre = False
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "table":
            self._end_table()

    def _end_block(self) -> None:
        text = "".join(self._line)
        self._line.clear()
        if self._pre:
            text = f"```\n{text.strip(chr(10))}\n```" if text.strip() else ""
        else:
            text = _AROUND_BREAK.sub("\n", text).strip().removesuffix(_PERMALINK).rstrip()
        if text:
            cells = self._rows[-1] if self._rows else []
            quote = "" if cells else "> " * min(self._quotes, 8)  # a cell is one line
            blocks = cells[-1].blocks if cells else self._blocks  # a caption stands in no cell
            blocks.append(quote + (self._prefix + text).replace("\n", "\n" + quote))
            self._prefix = ""

    def _end_table(self, layout: bool = False) -> None:
        """Write the open table; as the blocks of its cells when it is for layout only, as a table around another is.

        Content after the inner table in the outer one is written as blocks too.
        """
        rows, self._rows = self._rows or [], None
        if layout or all(len(row) <= 1 for row in rows):
            self._blocks += [block for row in rows for cell in row for block in cell.blocks]
            return
        grid = _grid(rows)
        if self._marks_titles:  # empty ones, where the first row that is not empty has others
            first = next((number for number, row in enumerate(grid) if any(row)), 0)
            has_titles = all(cell.is_title for cell in rows[first] if any(cell.blocks))
            grid = [*([] if has_titles else [[""] * max(map(len, grid))]), *grid[first:]]
        self._blocks += filter(None, [table(grid)])


def _hidden(attributes: str) -> bool:
    names = _VALUE.sub("", attributes).lower().split()
    return "hidden" in names or bool(_INVISIBLE.search(attributes))
