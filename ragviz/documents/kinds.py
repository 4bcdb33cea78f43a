"""The kind of a file, by its bytes; its name decides among text formats, and otherwise only causes a warning."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass

from ragviz.core.errors import UnreadableFile

MAX_ENTRIES = 20_000
MAX_UNPACKED = 512 * 2**20
MAX_RATIO = 250
SMALL_ENOUGH = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file that can be read: its key, title in messages, media type, and extensions."""

    key: str
    title: str
    media_type: str
    extensions: tuple[str, ...]


_OOXML = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"

KINDS = {
    kind.key: kind
    for kind in (
        Kind("pdf", "a PDF", "application/pdf", (".pdf",)),
        Kind("docx", "a Word document", f"{_OOXML}.wordprocessingml.document", (".docx", ".docm", ".dotx", ".dotm")),
        Kind(
            "pptx", "a PowerPoint file", f"{_OOXML}.presentationml.presentation", (".pptx", ".pptm", ".ppsx", ".potx")
        ),
        Kind("xlsx", "an Excel workbook", f"{_OOXML}.spreadsheetml.sheet", (".xlsx", ".xlsm", ".xltx")),
        Kind("odt", "an OpenDocument text", f"{_ODF}.text", (".odt", ".ott")),
        Kind("ods", "an OpenDocument spreadsheet", f"{_ODF}.spreadsheet", (".ods", ".ots")),
        Kind("epub", "an EPUB book", "application/epub+zip", (".epub",)),
        Kind("doc", "a Word 97 document", "application/msword", (".doc", ".dot")),
        Kind("xls", "an Excel 97 workbook", "application/vnd.ms-excel", (".xls", ".xlt")),
        Kind("ppt", "a PowerPoint 97 file", "application/vnd.ms-powerpoint", (".ppt", ".pps")),
        Kind("rtf", "an RTF document", "application/rtf", (".rtf",)),
        Kind("html", "a web page", "text/html", (".html", ".htm", ".xhtml")),
        Kind("encrypted", "an encrypted Office document", "application/x-ole-storage", ()),
    )
}
_EXPECTED = {extension: kind for kind in KINDS.values() for extension in kind.extensions}
SLOW_TO_LOAD = frozenset(extension for extension, kind in _EXPECTED.items() if kind.key != "html")
"""Extensions of files whose readers are slow to load."""

TEXT_TYPES = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".rst": "text/x-rst",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".tex": "text/x-tex",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".xml": "application/xml",
}
"""Media types of files that are kept as they are, by extension; any other text is text/plain."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PICTURE = "a picture: put it into a PDF, whose scanned pages are read where tesseract is installed"
_PACKED = "an archive: unpack it and add the files inside"
_MEDIA = "a sound or film, not a document: leave it out, or add its transcript"
_REFUSED = {
    _PICTURE: (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0"),
    _PACKED: (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd"),
    _MEDIA: (b"ID3", b"fLaC", b"OggS"),
    "a program, not a document: leave it out": (
        b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm",
    ),
    "a database or table, not a document: export what you need as CSV or text": (b"SQLite format 3\0", b"PAR1"),
}  # fmt: skip
"""What a file is, with what to do, and first bytes of such files; ASCII ones count only with a NUL byte near."""

_WEB_PAGE = re.compile(rb"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--[^>]*-->\s*)?(?:<!doctype\s+html|<html\b)", re.IGNORECASE)


def kind_of(name: str, data: bytes) -> Kind | None:
    """Return the kind of a file, None to read it as plain text (which it may turn out not to be).

    Raises:
        UnreadableFile: it is of a kind that cannot be read; the message names it.

    """
    extension, head = extension_of(name), data[:1024]
    if head.startswith(b"%PDF-") or (extension == ".pdf" and b"%PDF-" in head):
        return KINDS["pdf"]
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return KINDS[_inside_archive(data)]
    if head.startswith(_OLE):
        return KINDS[_inside_ole(data)]
    if head.startswith(rb"{\rtf"):
        return KINDS["rtf"]
    _refuse(extension, head)
    promises_no_text = extension in _EXPECTED or not extension
    if extension in KINDS["html"].extensions or (promises_no_text and _WEB_PAGE.match(head)):
        return KINDS["html"]
    return None


def extension_of(name: str) -> str:
    """Return the extension in lower case with its dot, "" when there is none."""
    stem, _, ending = name.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if stem and ending else ""


def media_type_of(name: str, kind: Kind | None) -> str:
    """Return the media type of a file that was read."""
    return kind.media_type if kind else TEXT_TYPES.get(extension_of(name), "text/plain")


def promised_kind(name: str) -> Kind | None:
    """Return the kind that the extension promises, None for text and for unknown ones."""
    return _EXPECTED.get(extension_of(name))


def misnamed(name: str, kind: Kind | None) -> list[str]:
    """Return a warning when the extension promises another kind than the file has."""
    extension = extension_of(name)
    known = promised_kind(name) or extension in TEXT_TYPES
    if not known or kind is promised_kind(name):
        return []
    return [f"named {extension}, but it is {kind.title if kind else 'plain text'}: read as that"]


def _refuse(extension: str, head: bytes) -> None:
    begun = [
        what
        for what, magics in _REFUSED.items()
        for magic in magics
        if head.startswith(magic) and (not magic.isascii() or b"\0" in head)
    ]
    what = begun[0] if begun else ""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        what = _PICTURE
    elif head[4:8] == b"ftyp":
        what = _PICTURE if head[8:11] in (b"hei", b"mif", b"avi") else _MEDIA
    elif head[257:262] == b"ustar":
        what = _PACKED
    if what:
        named = f", although it is named {extension}" if extension in _EXPECTED else ""
        what, _, remedy = what.partition(": ")
        raise UnreadableFile(f"This is {what}{named}: {remedy}.")


def _inside_ole(data: bytes) -> str:
    """Distinguish the old Office formats by the names of their streams, which are UTF-16."""
    streams = {"EncryptedPackage": "encrypted", "WordDocument": "doc", "PowerPoint Document": "ppt"}
    streams |= {"Workbook": "xls", "Book\0": "xls"}
    for stream, key in streams.items():
        if stream.encode("utf-16-le") in data:
            return key
    raise UnreadableFile(
        "This is an OLE file of an unknown kind (not Word, Excel or PowerPoint): save it as PDF or text."
    )


def _inside_archive(data: bytes) -> str:
    names = check_archive(data)
    folders = {name.split("/", 1)[0] for name in names if "/" in name}
    for folder, key in (("word", "docx"), ("ppt", "pptx"), ("xl", "xlsx")):
        if folder in folders and "[Content_Types].xml" in names:
            return key
    if "mimetype" in names:
        declared = _member(data, "mimetype").strip().decode("ascii", "replace")
        for key in ("odt", "ods", "epub"):
            if declared.startswith(KINDS[key].media_type):
                _check_readable(data, names, KINDS[key])
                return key
        raise UnreadableFile(
            f"This is a file of the type '{declared[:80]}', which cannot be read: save it as PDF or DOCX."
        )
    raise UnreadableFile(f"This is a ZIP archive of {len(names)} files: unpack it and add the files inside.")


def check_archive(data: bytes) -> list[str]:
    """Return the names in a ZIP-based document, from its directory, without unpacking.

    No reader opens nested archives, so the directory lists all that will be unpacked.

    Raises:
        UnreadableFile: damaged, or too large when unpacked (a "zip bomb").

    """
    if data.count(b"PK\1\2") > MAX_ENTRIES:
        raise UnreadableFile(f"The archive holds more than {MAX_ENTRIES:,} files (a zip bomb?): leave it out.")
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except Exception as error:  # a dozen kinds, on hostile bytes
        raise damaged("a document in a ZIP archive", str(error)) from None
    check_unpacked(len(data), sum(entry.file_size for entry in entries))
    return [entry.filename for entry in entries]


def check_unpacked(size: int, unpacked: int) -> None:
    """Raise UnreadableFile for a file of `size` bytes that is too large when unpacked."""
    if unpacked > MAX_UNPACKED or unpacked > max(SMALL_ENOUGH, MAX_RATIO * size):
        raise UnreadableFile(
            f"The file would unpack from {size:,} to {unpacked:,} bytes (a zip bomb?): at most {MAX_UNPACKED:,} "
            f"and {MAX_RATIO} times its size are read. Save it without what swells it."
        )


def damaged(what: str, detail: str) -> UnreadableFile:
    """Return the error for a file that its reader failed on; `detail` is the reader's message."""
    printable = re.sub(r"[^\x20-\x7e]+", " ", detail)
    reason = ": ".join(dict.fromkeys(printable.strip().removeprefix("ParsingError: ").split(": ")))[:120].rstrip(". ")
    note = f" ({reason})" if reason else ""
    return UnreadableFile(f"The file is damaged: {what} that cannot be read{note}. Save or download it anew.")


def _member(data: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as member:
            return member.read(2**16)
    except Exception as error:  # a dozen kinds, on hostile bytes
        raise damaged("an archive", str(error)) from None


def _check_readable(data: bytes, names: list[str], kind: Kind) -> None:
    """Raise when the content is encrypted: an OpenDocument by its manifest, a book by its `encryption.xml`."""
    if "META-INF/manifest.xml" in names and b"encryption-data" in _member(data, "META-INF/manifest.xml"):
        raise UnreadableFile(f"This is {kind.title} with a password: save it without one and add that.")
    # Fonts may be obfuscated by other algorithms; the W3C's encrypts the text.
    encryption = _member(data, "META-INF/encryption.xml") if "META-INF/encryption.xml" in names else b""
    if re.search(rb"<[^<>]*EncryptionMethod[^<>]*www\.w3\.org/2001/04/xmlenc#[^<>]*>", encryption):
        raise UnreadableFile("This is an EPUB book with copy protection (DRM), which cannot be read: leave it out.")
