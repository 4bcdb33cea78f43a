"""Bytes of a file to a Document.

Text formats are decoded and kept as they are; web pages, Office files, books and PDFs become text or Markdown.
Every file becomes a Document, whose warnings say what may be wrong with it, or an error that says why it cannot.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from ragviz.core.digests import digest
from ragviz.core.document import Document, Page
from ragviz.core.errors import UnreadableFile
from ragviz.documents import scans
from ragviz.documents.child import read_in_child, start_ahead
from ragviz.documents.encoding import plain, strangeness
from ragviz.documents.kinds import (
    SLOW_TO_LOAD,
    TEXT_TYPES,
    Kind,
    damaged,
    extension_of,
    kind_of,
    media_type_of,
    misnamed,
)
from ragviz.text.counts import counted, listed

MAX_BYTES = 200 * 2**20

FORMATS = (
    "PDF, DOCX, PPTX, XLSX, HTML, Markdown, TXT, CSV, TSV, EPUB, ODT, ODS, RTF, RST, AsciiDoc, Org, JSON, source code "
    "and other plain text in any encoding; DOC, XLS and PPT of Office 97"
)
"""Formats that can be read, for messages."""


def parse(
    name: str,
    data: bytes,
    *,
    detect: Callable[[str], str],
    password: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Document:
    r"""Read a file; its bytes decide on its format, and its name only among text formats.

    The text has \n for newlines, and neither NULs nor lone surrogates. PDF pages, slides and sheets are `pages`, in
    order, each `text[page.start:page.end]`; other formats have none. `detect` returns a text's language.

    Raises:
        PasswordNeeded: encrypted, and the password is missing or wrong.
        UnreadableFile: empty, bigger than `max_bytes`, damaged, hostile, or of a kind that cannot be read.

    """
    if not data:
        raise UnreadableFile("The file is empty (0 bytes): add it again, or leave it out.")
    if len(data) > max_bytes:
        raise UnreadableFile(f"The file has {len(data):,} bytes, more than the limit of {max_bytes:,}: split it.")
    name = safe_name(name)
    try:
        kind = kind_of(name, data)
        kind, text, pages, warnings = _read(kind, name, data, password or None)
    except OSError as error:
        raise UnreadableFile(f"Reading it could not begin: {error.strerror or error}. Add the file again.") from error
    except UnreadableFile:
        raise
    except Exception as error:  # any error of a reader concerns this file only
        raise damaged("a file", str(error) or type(error).__name__) from error
    return Document(
        id=Document.make_id(name, text),
        name=name,
        text=text,
        pages=pages,
        language=detect(text),
        media_type=media_type_of(name, kind),
        content_hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        warnings=(*misnamed(name, kind), *warnings, *_missing_text(kind, text, pages)),
    )


def prepare(names: Iterable[str], most: int) -> None:
    """Start at most `most` child processes in advance, for files of these names whose readers are slow to load."""
    needed = (name for name in names if extension_of(name) in SLOW_TO_LOAD)
    start_ahead(sum(1 for _ in islice(needed, most)))


SHORT_TEXT = 2**16
"""Bytes of a text file that is decoded in this process: longer ones take memory, and their time a thread's."""


def is_short_text(name: str, data: bytes) -> bool:
    """Return whether a file is read at once: a short one, by its name a plain text."""
    return len(data) <= SHORT_TEXT and extension_of(name) in TEXT_TYPES


def _read(
    kind: Kind | None, name: str, data: bytes, password: str | None
) -> tuple[Kind | None, str, tuple[Page, ...], list[str]]:
    if kind is None and len(data) <= SHORT_TEXT:
        text, warnings = plain(name, data)
        return kind, text, (), warnings
    kind, parts, warnings = read_in_child(kind, name, data, password)
    if isinstance(parts, str):
        return kind, parts, (), warnings
    if kind is not None and kind.key == "pdf":
        parts, more = scans.read(data, password, parts)
        warnings = [*warnings, *more]
    text, pages = _joined(parts)
    return kind, text, pages, warnings


def _joined(parts: Sequence[str]) -> tuple[str, tuple[Page, ...]]:
    r"""Join pages with an empty line between them; an empty page adds nothing.

    >>> _joined(["one", "", "three"])
    ('one\n\nthree', (Page(number=1, start=0, end=3), Page(number=2, start=3, end=3), Page(number=3, start=5, end=10)))
    """
    pieces: list[str] = []
    pages = []
    length = 0
    for number, part in enumerate(parts, start=1):
        gap = "\n\n" if part and length else ""
        pages.append(Page(number, length + len(gap), length + len(gap) + len(part)))
        pieces += [gap, part]
        length += len(gap) + len(part)
    return "".join(pieces), tuple(pages)


def _missing_text(kind: Kind | None, text: str, pages: Sequence[Page]) -> list[str]:
    if kind is None or kind.key != "pdf":
        return [] if text.strip() else ["there is no text in it"]
    if strangeness(text) > 0.1:
        return ["much of its text layer is signs without meaning (fonts without a character map): run OCR on it"]
    empty = [page.number for page in pages if page.start == page.end]
    mend = "tesseract sees no words there" if scans.installed()[0] else "install tesseract, or run OCR first"
    if len(empty) == len(pages):
        pictures = "a picture" if len(pages) == 1 else "pictures"
        return [f"no text layer: {counted(len(pages), 'page', 'is')} {pictures}; {mend}"]
    verb = "has" if len(empty) == 1 else "have"
    note = f"{len(empty)} of {len(pages)} pages {verb} no text (empty, or pictures: {mend}): {listed(empty)}"
    return [note] if empty else []


_DRIVE = re.compile(r"(?:\s*[A-Za-z]:)+")
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u061c\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
LONGEST_PART = 200
LONGEST_NAME = 600
"""Characters of a whole name: PostgreSQL's index of names takes 2,704 bytes, and a character may have four."""


def safe_name(name: str) -> str:
    r"""Return a name that is harmless to show and to join to a folder; sub-folders stay, Unicode too (as NFC).

    >>> safe_name("../../etc/passwd"), safe_name("C:\\docs\\手册.pdf"), safe_name("/")
    ('etc/passwd', 'docs/手册.pdf', 'unnamed')
    """
    visible = "".join(c for c in _INVISIBLE.sub("", name) if unicodedata.category(c) not in ("Cc", "Cs"))
    parts = unicodedata.normalize("NFC", visible).replace("\\", "/").split("/")
    bare = [part[drive.end() if (drive := _DRIVE.match(part)) else 0 :].strip() for part in parts]
    # A long name is cut in its middle, so that its extension stays.
    named = [p if len(p) <= LONGEST_PART else p[: LONGEST_PART - 20] + p[-20:] for p in bare if p.strip(". ")]
    whole = unicodedata.normalize("NFC", "/".join(named)) or "unnamed"
    if len(whole) <= LONGEST_NAME:
        return whole
    # Two long paths may begin and end alike: the digest distinguishes them.
    return f"{whole[:300]}…{digest(whole)}…{whole[-200:]}"
