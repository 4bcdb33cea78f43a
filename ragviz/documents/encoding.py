"""Decoding text files: by byte order mark, as UTF-8, then by the likeliest of the older encodings."""

from __future__ import annotations

import codecs
import functools
import itertools
import math
import re
import unicodedata
from collections.abc import Iterable

from ragviz.core.errors import UnreadableFile
from ragviz.text.untrusted import without_surrogates

SAMPLE = 8000
"""Bytes from which an encoding is guessed."""

WORST = -11.5
"""Below this likelihood per character the best guess is no better than noise."""

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
    "iso8859_2": "ISO 8859-2 (Central European)",
}
_DECLARED = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc-kr": "cp949"}
_DECLARED |= {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}

_CHARSET = re.compile("gb|big5|cp|windows|shift|euc|iso-?8859|iso-?2022|koi8|utf-16|tis|mac", re.IGNORECASE)
_FOREIGN = re.compile(rb"[\x80-\xff\0]")

_SIGNS = "　、。，．·：；？！…‥—～‘’“”（）〔〕【】《》〈〉「」『』％￥"
_KANA = "".join(map(chr, range(0x3041, 0x30FF)))
_LATIN = frozenset(
    "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿßœšžąćęłńóśźżčďěňřťůőűăâîșțğışÀÁÂÄÅÆÇÈÉÊËÍÎÓÔÖØÙÚÛÜÝŁŚŻŹČŠŽŘĎŇŒ"
    "‘’“”„–—…€£§°«»¿¡©®·•×½™"
)
_ALPHABETS = {
    "cp1251": frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяё«»—№"),
    "koi8_r": frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяё"),
    "cp1253": frozenset("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ«»–—"),
    "cp1255": frozenset("אבגדהוזחטיכךלמםנןסעפףצץקרשת“”–—"),
    "cp1256": frozenset("ابتثجحخدذرزسشصضطظعغفقكلمنهويىةآأإؤئء،؛؟“”–—"),
}


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
    sample = text[:20_000]
    strange = sum(unicodedata.category(c) in ("Cc", "Cn", "Co", "Cs") or c == "\ufffd" for c in sample)
    usual = sum(map(sample.count, "\t\n\r\f\v\x1b"))
    return (strange - usual) / max(len(sample), 1)


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
    if not nul and _nearly_utf8(data):
        return _replaced(data, "utf-8")
    guesses = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be") if nul else tuple(_common_by_codec())
    return _guessed(data, guesses)


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


def _nearly_utf8(data: bytes) -> bool:
    """Return whether this is UTF-8 with some damage: at most one bad sequence per three good ones."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) - bad >= 3 * bad


def _guessed(data: bytes, among: Iterable[str]) -> tuple[str, list[str]]:
    """Decode by the likeliest encoding of the bytes around the first that is not ASCII."""
    foreign = _FOREIGN.search(data)
    start = (
        max(0, (foreign.start() if foreign else 0) - SAMPLE // 4) // 4 * 4
    )  # a multiple of four, for UTF-16 and UTF-32
    sample = data[start : start + SAMPLE]
    scores = {codec: _likelihood(sample.decode(codec, "replace"), codec) for codec in among}
    best = max(scores, key=lambda codec: scores[codec])
    if best != "utf-8" and scores[best] < WORST * len(sample.decode(best, "replace")):
        best = _last_resort(data)
    text, warnings = _replaced(data, best)
    guessed = f"the encoding was guessed: {_title(best)}; if letters look wrong, save it as UTF-8"
    return text, warnings if best == "utf-8" else [guessed, *warnings]


def _title(codec: str) -> str:
    return _NAMES.get(codec, codec.upper().replace("_", "-"))


def _last_resort(data: bytes) -> str:
    """Return charset-normalizer's guess: it knows more encodings, but is wrong more often on short or Western text."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[: 2**20]).best()
    if best is None:
        raise _not_text(data)
    return best.encoding


@functools.cache
def _common_by_codec() -> dict[str, frozenset[str]]:
    """Return for each encoding the characters that are common in its texts.

    For Chinese, Japanese and Korean these are level 1 of the national standards.
    """
    hanzi = _rows("gb2312", 0xB0, 0xD7, _SIGNS)
    kanji = _rows("euc_jp", 0xB0, 0xCF, _SIGNS + _KANA)
    return {
        "gb18030": hanzi,
        "cp950": _rows("big5", 0xA4, 0xC6, _SIGNS),
        "cp932": kanji,
        "euc_jp": kanji,
        "cp949": _rows("euc_kr", 0xB0, 0xC8, _SIGNS),
        "cp1252": _LATIN,
        "cp1250": _LATIN,
        "iso8859_2": _LATIN,
        "utf-16-le": hanzi,
        "utf-16-be": hanzi,
        **_ALPHABETS,
    }


def _rows(codec: str, first: int, last: int, more: str) -> frozenset[str]:
    pairs = (bytes([lead, trail]) for lead in range(first, last + 1) for trail in range(0x40, 0xFF))
    return frozenset(more) | {c for pair in pairs if (c := pair.decode(codec, "ignore")) and len(c) == 1}


def _likelihood(text: str, codec: str) -> float:
    """Return the log-likelihood of `text` in the languages of `codec`, from the frequencies of its characters.

    Common characters share 95 % equally, rare ones get next to nothing. Chinese, then Western, have a small bonus.
    """
    common = _common_by_codec().get(codec) or _common_by_codec()["gb18030"]
    alphabet = codec in _ALPHABETS
    usual = math.log(0.95 / len(common)) + (math.log(0.04) if common is _LATIN else 0)
    total = {"gb18030": 3.0, "cp1252": 2.0}.get(codec, 0.0)
    for previous, c in itertools.pairwise(" " + text):
        if c <= "\x7f":
            total -= 4.2 if c >= " " or c in "\t\n\r\f" else 16
        elif c in common:
            total += usual
        else:
            total += usual - 3 if alphabet and c.lower() in common else -20
        total -= _clash(previous, c, latin=common is _LATIN, alphabet=alphabet)
    return total


def _clash(previous: str, c: str, *, latin: bool, alphabet: bool) -> int:
    """Return the penalty of two adjacent characters.

    Accented Latin letters are rarely adjacent, other letters do not touch Latin ones, capitals begin words.
    """
    if latin:
        return 2 if c > "\x7f" and previous > "\x7f" else 0
    if not (c.isalpha() and previous.isalpha()):
        return 0
    if (c > "\x7f") != (previous > "\x7f"):
        return 9 if alphabet else 6
    return 6 if alphabet and previous.islower() and c.isupper() else 0


def clean(text: str) -> tuple[str, list[str]]:
    r"""Return the text with newlines as \n, without NULs and lone surrogates, and a warning about NULs."""
    lost = text.count("\0")
    cleaned = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return without_surrogates(cleaned), [f"{lost} NUL characters were left out"] if lost else []
