"""One reader per kind of file: bytes to text, or to a list of texts, one per page, slide or sheet.

They run in a child process (see `child`), since their libraries can hang, crash or fill the memory on hostile bytes.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from ragviz.core.errors import PasswordNeeded
from ragviz.documents import encoding, html, workbooks
from ragviz.documents.encoding import clean
from ragviz.documents.kinds import KINDS, damaged, kind_of
from ragviz.documents.office_xml import attributes, local, relations, xml
from ragviz.text.counts import counted, listed

TEXT = "text"
"""What stands in place of a kind for a file that is read as plain text."""
Parts = str | list[str]
"""A text, or the texts of pages in order (empty for an empty page)."""


def load() -> None:
    """Import the libraries that most readers need."""
    import kreuzberg  # noqa: F401
    import mammoth  # noqa: F401


def read(key: str, name: str, data: bytes, password: str | None) -> tuple[str, Parts, list[str]]:
    """Return the kind that was read, after decryption, its text or pages, and warnings.

    Raises:
        UnreadableFile: it cannot be read, or PasswordNeeded.
        Exception: anything that the libraries raise on a damaged file.

    """
    if key in ("encrypted", "doc", "xls", "ppt"):
        data = _decrypted(key, data, password)
        kind = kind_of("", data)
        key = kind.key if kind else key
    if key in (TEXT, "html"):
        return key, *(encoding.plain(name, data) if key == TEXT else html.web_page(data))
    parts, warnings = _READERS[key](key, data, password)
    if isinstance(parts, str):
        return key, clean(parts)[0].strip("\n"), warnings
    return key, [clean(part)[0] for part in parts], warnings


def _kreuzberg(key: str, data: bytes, password: str | None, output: str = "markdown", **more: Any) -> Any:
    import kreuzberg

    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        output_format=output,
        **more,
        pdf_options=kreuzberg.PdfConfig(passwords=None if password is None else [password]),
        concurrency=kreuzberg.ConcurrencyConfig(max_threads=1),
    )
    return kreuzberg.extract_bytes_sync(data, KINDS[key].media_type, config)


def _pdf(key: str, data: bytes, password: str | None) -> tuple[list[str], list[str]]:
    """Read the text layer page by page.

    kreuzberg's Markdown of a PDF has no page boundaries, omits text (half of a table's page) and writes "ffi" for
    Chinese quotation marks; its plain text of pages has neither fault.
    """
    import kreuzberg

    pages = kreuzberg.PageConfig(extract_pages=True)
    try:
        result = _kreuzberg(key, _undated(data), password, "plain", pages=pages)
    except Exception as error:
        if "password" in str(error).lower():
            raise _password_needed(password) from None
        raise
    if not result.pages:
        raise damaged("a PDF", "it has no pages")
    return [_page(page["content"]) for page in sorted(result.pages, key=lambda page: page["page_number"])], []


def _undated(data: bytes) -> bytes:
    """Hide the dates of a PDF, moving no byte: kreuzberg panics on one that is not ASCII ("2021年3月1日")."""
    return data.replace(b"/CreationDate", b"/HiddenDate_1").replace(b"/ModDate", b"/HidDate")


def scanned(data: bytes, password: str | None, pages: Sequence[int], languages: str, folder: str) -> list[str]:
    """Return the texts of pages of a PDF that are pictures, by tesseract with its data in `folder`.

    kreuzberg 4.10 leaves such pages empty in its list of pages, but not in its text, where marks part them.
    """
    import kreuzberg

    os.environ["TESSDATA_PREFIX"] = folder
    mark = f"[{hashlib.sha256(data).hexdigest()}-"
    shown = kreuzberg.PageConfig(extract_pages=True, insert_page_markers=True, marker_format=mark + "{page_num}]")
    ocr = kreuzberg.OcrConfig(backend="tesseract", language=languages)
    found = _kreuzberg("pdf", _undated(data), password, "plain", pages=shown, ocr=ocr, force_ocr_pages=list(pages))
    texts = dict(part.split("]", 1) for part in found.content.split(mark)[1:])
    return [_page(texts.get(str(page), "")) for page in pages]


_HYPHEN = re.compile("(?<=[^\\W\\d_])\x02(?=[^\\W\\d_])")
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f]")
_HAN = "[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff，、]"
_WRAPPED = re.compile(f"(?<={_HAN})\n(?={_HAN})")


def _page(text: str) -> str:
    r"""Tidy a page's text layer: words hyphenated at a line's end are joined, as are Chinese lines that were wrapped.

    >>> _page("adip\x02iscing elit\r\nUt ")
    'adipiscing elit\nUt'
    """
    text = _HYPHEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\x02", "-")
    lines = [_CONTROL.sub(" ", line).rstrip() for line in text.split("\n")]
    full = 0.7 * max(map(_width, lines))
    joined = lines[0]
    pieces = []
    for previous, line in itertools.pairwise(lines):
        if _width(previous) >= full and _WRAPPED.search(f"{previous[-1:]}\n{line[:1]}"):
            joined += line
        else:
            pieces.append(joined)
            joined = line
    return "\n".join([*pieces, joined]).strip()


def _width(line: str) -> int:
    """Columns that a line takes: Chinese and Japanese characters are two wide."""
    return len(line) + sum("\u2e80" <= c <= "\uffef" for c in line)


def _office(key: str, data: bytes, password: str | None) -> tuple[str, list[str]]:
    return _unescaped(_kreuzberg(key, data, password).content), []


_ESCAPE = re.compile(r"\\([!-/:-@\[-`{}~])|&#(\d{1,4});")


def _unescaped(markdown: str) -> str:
    r"""Remove the escapes of kreuzberg's Markdown, except that of "|", which would break a table.

    >>> _unescaped(r"R\&D \<x\> a\|b C:\\new&#9;\&#9;")
    'R&D <x> a\\|b C:\\new\t&#9;'
    """
    return _ESCAPE.sub(lambda match: match[1] or chr(int(match[2])), markdown)


_EMPTY_ROW = re.compile(r"^\|(?: +\|)+\n(?!\| ---)", re.MULTILINE)
_AS_STORED = (
    "numbers are as they are stored (0.125 for 12.5%), and hidden rows and sheets are read too: save it as .xlsx to "
    "have it read as it is shown"
)


def _sheets(key: str, data: bytes, password: str | None) -> tuple[list[str], list[str]]:
    """Read sheets, empty ones too; only the heading of a sheet begins a line with "## ", all else is in table rows."""
    result = _kreuzberg(key, data, password)
    text = _EMPTY_ROW.sub("", _unescaped(result.content) + "\n")
    sheets = [sheet.strip() for sheet in re.split(r"^(?=## )", text, flags=re.MULTILINE) if sheet.strip()]
    by_name = {sheet.split("\n", 1)[0].removeprefix("## "): sheet for sheet in sheets}
    names = result.metadata.get("sheet_names") or []
    return [by_name.get(name, "") for name in names] if set(by_name) <= set(names) else sheets, [_AS_STORED]


_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => h2:fresh
p[style-name='Quote'] => blockquote > p:fresh
"""
_LOOKS = re.compile(rb"<w:(tblStylePr|rPr|tblPr)\b[^<>]*(?<!/)>.*?</w:\1>", re.DOTALL)
_BACK_LINK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')


def _docx(key: str, data: bytes, password: str | None) -> tuple[str, list[str]]:
    """Read a Word document with mammoth: kreuzberg 4.10 drops "&", "<", ">" and tabs, and repeats text boxes.

    The headers that some page shows stand before the text, the footers behind it, each once.
    """
    import mammoth

    document, hidden = _simplified(data)
    page = mammoth.convert_to_html(document, style_map=_STYLES, convert_image=lambda image: []).value
    text, _ = html.read(_BACK_LINK.sub("", page), marks_titles=False)  # few authors mark a row as titles
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        headers, footers = (_running(archive, kind) for kind in ("header", "footer"))
    warnings = [f"hidden text is left out: {hidden:,} characters; show it to have it read"] if hidden else []
    return "\n\n".join(filter(None, (*headers, text.strip("\n"), *footers))), warnings


def _running(archive: zipfile.ZipFile, kind: str) -> list[str]:
    """Return the headers or footers of a Word document that some page shows, each once, without bare page numbers."""
    part = next((name for name in archive.namelist() if re.fullmatch(r"word/document\d*\.xml", name)), "")
    parts = relations(archive, part)
    if not any(name.endswith(f"/{kind}") for name, _ in parts.values()):
        return []
    settings = next((target for name, target in parts.values() if name.endswith("/settings")), "")
    is_on = settings in archive.namelist() and _has(xml(archive, settings), "evenAndOddHeaders")
    texts = list[str]()
    for section in (node for node in xml(archive, part).iter() if local(node) == "sectPr"):
        shown = {"default": True, "first": _has(section, "titlePg"), "even": is_on}
        for node in section:
            known = attributes(node)
            if local(node) == f"{kind}Reference" and shown.get(known.get("type", "default")):
                lines = _shapes(xml(archive, parts[known["id"]][1]))
                texts.append("\n\n".join(line for line in lines if not re.fullmatch(r"\W*\d*\W*", line)))
    return list(dict.fromkeys(filter(None, texts)))


def _has(node: ET.Element, switch: str) -> bool:
    return any(local(n) == switch and attributes(n).get("val", "1") not in ("0", "false", "off") for n in node)


def _simplified(data: bytes) -> tuple[io.BytesIO, int]:
    """Return the document without pictures, and with simple fields and formulas, which mammoth skips, as text.

    Without hidden text, too, whose characters are counted. Word's table styles, a third of a megabyte, take mammoth
    longer than the text.
    """
    simpler, hidden = io.BytesIO(), 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(simpler, "w") as copy:
        for name in archive.namelist():
            if name.startswith(("word/media/", "word/embeddings/")):
                continue
            part = archive.read(name)
            if re.fullmatch(r"word/(document|footnotes|endnotes)\d*\.xml", name):
                part = re.sub(rb"<(/?)m:([rt])\b", rb"<\1w:\2", part.replace(b"<w:cr/>", b"<w:br/>"))
                part = re.sub(rb"</?(?:m:|w:fldSimple\b)[^<>]*>", b"", part)
                part, characters = _without_hidden(part)
                hidden += characters
            elif name == "word/styles.xml":
                part = _LOOKS.sub(b"", part)
            copy.writestr(name, part)
    return simpler, hidden


def _without_hidden(part: bytes) -> tuple[bytes, int]:
    if b"<w:vanish" not in part and b"<w:hidden" not in part:
        return part, 0
    root, hidden = ET.fromstring(part), 0  # noqa: S314
    for parent in list(root.iter()):
        for child in list(parent):
            switch = {"r": ("rPr", "vanish"), "tr": ("trPr", "hidden")}.get(local(child))
            if switch and any(local(n) == switch[0] and _has(n, switch[1]) for n in child):
                hidden += len(_text(child).strip())
                parent.remove(child)
    return ET.tostring(root), hidden


def _epub(key: str, data: bytes, password: str | None) -> tuple[str, list[str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        package = next(
            n.get("full-path", "") for n in xml(archive, "META-INF/container.xml").iter() if n.get("full-path")
        )
        nodes = list(xml(archive, package).iter())
        places = {n.get("id"): n.get("href", "") for n in nodes if local(n) == "item"}
        chapters = [places[n.get("idref")] for n in nodes if local(n) == "itemref"]
        folder = posixpath.dirname(package)
        pages = [archive.read(posixpath.normpath(posixpath.join(folder, unquote(chapter)))) for chapter in chapters]
    texts = (html.web_page(page)[0] for page in pages if page)
    return "\n\n".join(filter(None, texts)), []


def _pptx(key: str, data: bytes, password: str | None) -> tuple[list[str], list[str]]:
    """Read slides in their order, each with its notes.

    kreuzberg 4.10 inserts a space wherever the formatting changes, even inside words, and omits notes.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        targets = relations(archive, "ppt/presentation.xml")
        nodes = [node for node in xml(archive, "ppt/presentation.xml").iter() if local(node) == "sldId"]
        ids = [value for node in nodes for name, value in node.attrib.items() if name.endswith("relationships}id")]
        slides = [(targets[slide][1], xml(archive, targets[slide][1])) for slide in ids]
        hidden = [number for number, (_, slide) in enumerate(slides, start=1) if slide.get("show") in ("0", "false")]
        told = [f"{counted(len(hidden), 'hidden slide', 'is')} left out: {listed(hidden)}"]
        pages = ["" if n in hidden else _slide(archive, *each) for n, each in enumerate(slides, start=1)]
        return pages, told * bool(hidden)


def _slide(archive: zipfile.ZipFile, part: str, slide: ET.Element) -> str:
    blocks = list(_shapes(slide))
    for kind, target in relations(archive, part).values():
        if kind.endswith("/notesSlide"):
            notes = "\n\n".join(_shapes(xml(archive, target)))
            blocks += [f"Notes: {notes}"] if notes else []
    return "\n\n".join(blocks)


_FURNITURE = {"sldNum", "dt", "ftr", "hdr", "sldImg"}


def _shapes(node: ET.Element) -> Iterator[str]:
    """Yield the paragraphs and tables below `node` in their order; the title is a heading."""
    for child in node:
        tag = local(child)
        holder = next((n.get("type") for n in child.iter() if local(n) == "ph"), None) if tag == "sp" else None
        if tag == "Fallback" or holder in _FURNITURE:
            continue
        if tag == "tbl":
            rows = [[_text(cell) for cell in row if local(cell) == "tc"] for row in child if local(row) == "tr"]
            yield from filter(None, [html.table(rows)])
        elif tag == "p":
            yield from filter(None, [_text(child).strip()])
        elif holder in ("title", "ctrTitle"):
            yield from (f"## {' '.join(text.split())}" for text in [" ".join(_shapes(child))] if text)
        else:
            yield from _shapes(child)


def _text(node: ET.Element) -> str:
    return "".join(_runs(node)).strip("\n")


def _runs(node: ET.Element) -> Iterator[str]:
    for child in node:
        tag = local(child)
        if tag not in ("pPr", "rPr", "Fallback"):  # the same text for older programs
            yield {"br": "\n", "p": "\n", "tab": "\t"}.get(tag, child.text or "" if tag == "t" else "")
            yield from _runs(child)


def _decrypted(key: str, data: bytes, password: str | None) -> bytes:
    """Return the decrypted document; unchanged when it is not encrypted."""
    import msoffcrypto
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError

    try:
        document = msoffcrypto.OfficeFile(io.BytesIO(data))
    except FileFormatError:
        return data
    if not document.is_encrypted():
        return data
    if password is None:
        raise _password_needed(None)
    plain = io.BytesIO()
    try:
        # Without the check, a wrong password raises no error; documents of Office 97 always check it.
        document.load_key(password=password, **({"verify_password": True} if key == "encrypted" else {}))
        document.decrypt(plain)
    except (InvalidKeyError, DecryptionError):
        raise _password_needed(password) from None
    return plain.getvalue()


def _password_needed(password: str | None) -> PasswordNeeded:
    if password is None:
        return PasswordNeeded("The file is protected by a password: give its password to have it read.")
    return PasswordNeeded("The password given does not open the file: check capitals and keyboard, and give it again.")


_READERS: dict[str, Callable[[str, bytes, str | None], tuple[Parts, list[str]]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": lambda key, data, password: workbooks.xlsx(data),
    "xls": _sheets,
    "ods": _sheets,
    "odt": _office,
    "epub": _epub,
    "doc": _office,
    "ppt": _office,
    "rtf": _office,
}
