"""Decoding text files: by byte order mark, as UTF-8, then by the likeliest of the older encodings."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter

from ragviz.core.errors import UnreadableFile
from ragviz.documents.kinds import damaged, promised_kind
from ragviz.text.untrusted import without_surrogates

SAMPLE = 2**16
"""Bytes from which an encoding is guessed."""

_MARKS = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_NAMES = {
    "gb18030": "GB18030 (Chinese)",
    "cp950": "Big5 (Chinese)",
    "cp932": "Shift-JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "cp949": "EUC-KR (Korean)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "koi8_r": "KOI8-R (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp1252": "Windows-1252 (Western European)",
    "cp1250": "Windows-1250 (Central European)",
}
_DECLARED = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc-kr": "cp949"}
_DECLARED |= {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}

_CHARSET = re.compile("gb|big5|cp|windows|shift|euc|iso-?8859|iso-?2022|koi8|utf-16|tis|mac", re.IGNORECASE)
_FOREIGN = re.compile(rb"[\x80-\xff\0]")
_LATIN = {
    "cp1252": frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýßœÀÁÂÄÅÆÇÈÉÊËÍÎÓÔÖØÙÚÛÜŒ"),
    "cp1250": frozenset("ąćęłńóśźżáčďéěíňřšťúůýžőűăâîşţäöüßĄĆŁŃŚŹŻČĎĚŇŘŠŤŮŽÁÉÍÓÚÄÖÜ"),
}
"""Letters of texts in these encodings, which have the same bytes."""


def plain(name: str, data: bytes) -> tuple[str, list[str]]:
    """Return the text of a text file, unchanged, and warnings.

    Raises:
        UnreadableFile: the bytes are no text in any known encoding.

    """
    try:
        text, warnings = decode(data)
    except UnreadableFile:
        if promised := promised_kind(name):
            raise damaged(promised.title, "its first bytes are not those of one") from None
        raise
    text, lost = clean(text)
    return text, [*warnings, *lost]


def decode(data: bytes, declared: str = "") -> tuple[str, list[str]]:
    """Return the text, every character unchanged, and warnings; `declared` is the encoding that the file names.

    A guess is reported; bytes that cannot be decoded become U+FFFD and are counted.

    Raises:
        UnreadableFile: the bytes are no text in any known encoding.

    """
    text, warnings = _decoded(data, declared)
    if strangeness(text) > 0.05:
        raise _not_text(data)
    return text, warnings


def _not_text(data: bytes) -> UnreadableFile:
    return UnreadableFile(
        f"These {len(data):,} bytes are neither text nor a known format: save them as PDF, DOCX or UTF-8."
    )


def strangeness(text: str) -> float:
    """Return the share of characters (of the first 20,000) that texts lack: control, unassigned, private, U+FFFD."""
    counts = Counter(text[:20_000])
    unusual = (c for c in counts if unicodedata.category(c) in ("Cc", "Cn", "Co", "Cs") or c == "\ufffd")
    return sum(counts[c] for c in unusual if c not in "\t\n\r\f\v\x1b") / max(counts.total(), 1)


def _decoded(data: bytes, declared: str) -> tuple[str, list[str]]:
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _replaced(data[len(mark) :], codec)
    nul = b"\0" in data
    if not nul and (text := _strict(data, "utf-8")) is not None:
        return text, []
    declared = _DECLARED.get(declared.lower(), declared)
    if _CHARSET.match(declared) and (text := _strict(data, declared)) is not None:
        return text, []
    if nul:  # text with one, two or four bytes a character, or none of these
        codecs_of = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
        guess = min(codecs_of, key=lambda codec: strangeness(data[:SAMPLE].decode(codec, "replace")))
    else:
        text = data.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        if len(text) - len(text.encode("ascii", "ignore")) - bad >= 3 * bad:  # UTF-8 with some damage
            return _replaced(data, "utf-8")
        guess = _guessed(data)
    text, warnings = _replaced(data, guess)
    told = f"the encoding was guessed: {_title(guess)}; if letters look wrong, save it as UTF-8"
    return text, warnings if guess == "utf-8" else [told, *warnings]


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeError, LookupError):
        return None


def _replaced(data: bytes, codec: str) -> tuple[str, list[str]]:
    text = data.decode(codec, "replace")
    bad = text.count("\ufffd") - data.count("\ufffd".encode(codec, "ignore") or b"\0\0\0\0\0")
    noun = "place" if bad == 1 else "places"
    return text, [f"{bad} {noun} could not be decoded as {_title(codec)}, and show as �"] if bad > 0 else []


def _guessed(data: bytes) -> str:
    """Return the likeliest encoding of the bytes around the first that is not ASCII, the known ones first."""
    from charset_normalizer import from_bytes

    foreign = _FOREIGN.search(data)
    start = max(0, (foreign.start() if foreign else 0) - SAMPLE // 4)
    sample = data[start : start + SAMPLE]
    best = from_bytes(sample, cp_isolation=list(_NAMES)).best() or from_bytes(sample).best()
    if best is None:
        raise _not_text(data)
    if best.encoding not in _LATIN:
        return best.encoding
    return max(_LATIN, key=lambda codec: sum(map(sample.decode(codec, "replace").count, _LATIN[codec])))


def _title(codec: str) -> str:
    return _NAMES.get(codec, codec.upper().replace("_", "-"))


def clean(text: str) -> tuple[str, list[str]]:
    r"""Return the text with newlines as \n, without NULs and lone surrogates, and a warning about NULs."""
    lost = text.count("\0")
    cleaned = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return without_surrogates(cleaned), [f"{lost} NUL characters were left out"] if lost else []
