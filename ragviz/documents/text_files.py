"""Text files and web pages: bytes to text and warnings, in time that grows with their length."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.errors import UnreadableFile
from ragviz.documents import html
from ragviz.documents.encoding import clean, decode
from ragviz.documents.kinds import damaged, promised_kind


def plain(name: str, data: bytes) -> tuple[str, list[str]]:
    """Return the text of a text file, unchanged, and warnings."""
    try:
        text, warnings = decode(data)
    except UnreadableFile:
        if promised := promised_kind(name):
            raise damaged(promised.title, "its first bytes are not those of one") from None
        raise
    text, lost = clean(text)
    return text, [*warnings, *lost]


def web_page(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a web page as Markdown, and warnings."""
    page, warnings = decode(data, html.charset(data))
    text, more = html.read(page)
    return clean(text)[0], [*warnings, *more]


def listed(numbers: Sequence[int]) -> str:
    """Return the first eight numbers as text."""
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (" …" if len(numbers) > 8 else "")
