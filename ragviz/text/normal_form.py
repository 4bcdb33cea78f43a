"""One form for texts that are written differently and say the same: signs, spaces, digits, numbers with their units.

Search, quotes, evidence, metrics and the extractive answerer compare texts in it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from ragviz.text.language import IDEOGRAPH

SIGNS = {'"': "“”„‟〝〞〟″«»「」﹁﹂", "'": "‘’‚‛′ʼ`´‹›『』﹃﹄", "-": "‐‑‒–—―−﹘﹣－", ",": "٬", ".": "٫", "/": "⁄"}
"""Marks by the one that they are read as."""
_IN_ONE_SIGN = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | {other: sign for sign, others in SIGNS.items() for other in others}
)
"""Marks and full-width signs, and the sign that each is read as: characters for characters."""
_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
FIXED_BLANKS = "\u00a0\u2009\u202f"
"""Blanks that hold what belongs together, such as the groups of a number."""
_GROUPED = re.compile(
    rf"\d(?<![\d.,]\d)\d{{0,2}}(?:(?:[,'{FIXED_BLANKS}]\d{{3}})+(?!\d)"
    r"|(?: \d{3})+(?!\d)(?=(?:[.,]\d+)?\s?[%‰$¢-¥₠-\u20cf]))"  # plain blanks only where it is an amount
)
_UNIT = re.compile(rf"(\d(?<![^\W_{IDEOGRAPH}\u3040-\u30ff\uac00-\ud7af]\d)\d*(?:[.,]\d+)*)(?=[^\W\d_])")
DECIMAL = "ˑ"
"""The decimal point: a letter, so that what removes punctuation leaves it."""


def normal_form(text: str) -> str:
    """Return the text as `folded` does, its decimal points as `DECIMAL`.

    >>> normal_form("Don’t pay 3\u00a0000 €, it’s 5km"), normal_form("ﬁnal: 3.5%")
    ("don't pay 3000 €, it's 5 km", 'final: 3ˑ5%')
    """
    return re.sub(r"(?<=\d)\.(?=\d)", DECIMAL, folded(text))


def folded(text: str) -> str:
    """Return a text in NFKC without case, with one kind of quotation marks, dashes and digits, without unseen signs.

    Groups of thousands are joined, and a number that begins a word is parted from its unit.

    >>> folded("Bu\u0308ro: 1,250 m², ٣ × 2½km, A4B7C")
    'büro: 1250 m2, 3 × 2 1/2 km, a4b7c'
    """
    if not text.isascii():
        text = _clusters().sub(lambda match: _form(match.group()), text.translate(_IN_ONE_SIGN))
    joined = _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    return _UNIT.sub(r"\1 ", unicodedata.normalize("NFKC", joined).casefold())


@dataclass(frozen=True, slots=True)
class Folding:
    """A text with each character in NFKC and in one kind, case, groups and units as they were; and where it stands."""

    text: str
    changed: tuple[tuple[int, int, int, int], ...]
    """Of each part of another length: start and end here, start and end in the source."""

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the source that `text[start:end]` was made of, whole characters with their accents."""
        if not self.changed:
            return start, end
        first = self.changed[max(bisect_right(self.changed, start, key=lambda part: part[0]) - 1, 0)]
        last = self.changed[max(bisect_left(self.changed, end, key=lambda part: part[0]) - 1, 0)]
        begin = start if start < first[0] else first[2] if start < first[1] else first[3] + start - first[1]
        stop = end if end <= last[0] else last[3] + max(end - last[1], 0)
        return begin, stop


def folding(text: str) -> Folding:
    """Return a text as `quotes` and units are found in it, with the places of its characters.

    >>> found = folding("Bu\u0308ro, eﬀort")
    >>> found.text, found.source(0, 4), found.source(6, 12)
    ('Büro, effort', (0, 5), (7, 12))
    """
    if text.isascii():
        return Folding(text, ())
    pieces, changed, at, length = list[str](), list[tuple[int, int, int, int]](), 0, 0
    plain = text.translate(_IN_ONE_SIGN)
    for match in _clusters().finditer(plain):
        form = _form(match.group())
        start = length + match.start() - at
        pieces += [plain[at : match.start()], form]
        at, length = match.end(), start + len(form)
        if len(form) != len(match.group()):
            changed.append((start, length, *match.span()))
    return Folding("".join([*pieces, plain[at:]]), tuple(changed))


def _form(cluster: str) -> str:
    """Return a character with its accents in NFKC, a digit as an ASCII one, "" for what is not seen.

    A fraction or a small digit after a digit is a number by itself.
    """
    if cluster[0].isdigit() and cluster[1:] and cluster[1] not in _accents():
        return f"{_form(cluster[0])} {_form(cluster[1:])}"
    plain = unicodedata.normalize("NFKC", re.sub(f"[{_UNSEEN}]", "", cluster)).replace("\u2044", "/")
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in plain)


@cache
def _accents() -> frozenset[str]:
    """Return the characters that join the one before them."""
    return frozenset(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.combining(c))


@cache
def _clusters() -> re.Pattern[str]:
    """Return what finds the characters that `_form` may change, each with its accents."""
    others = (c for c in map(chr, range(0x80, 0x10000)) if c.isdecimal() or unicodedata.normalize("NFKC", c) != c)
    one = "".join(c for c in others if c not in FIXED_BLANKS)
    jamo = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]"
    accented = f".[{''.join(_accents())}\uff9e\uff9f]+"
    # A set of characters beyond U+FFFF is slow to look up: they stand by themselves.
    return re.compile(rf"\d[²³¹⁰⁴-⁹₀-₉¼-¾⅐-⅞]|{jamo}|{accented}|[{one}{_UNSEEN}]|[\U00010000-\U0010ffff]", re.DOTALL)


HAN = r"\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
RUNS = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
HAN_RUN = re.compile(f"[{HAN}]")
HANGUL_RUN = re.compile("[\uac00-\ud7a3]+")
NO_TERM = {code: " " for code in range(128) if not chr(code).isalnum()}


def terms(text: str) -> list[str]:
    """Return the words of `text` for BM25, folded and without stemming; empty when it has no letter or digit.

    Chinese (and Hiragana), written without spaces, gives its single characters and its pairs of neighbours: that
    ranked better than jieba's words on XQuAD, and needs no dictionary. A Korean word, which ends in its particles,
    gives the pairs beside itself.

    >>> terms("It’s the 308-分, 三次!"), terms("1,250km")
    (['it', 's', 'the', '308', '分', '三', '次', '三次'], ['1250', 'km'])
    """
    text = folded(text)
    if text.isascii():
        return text.translate(NO_TERM).split()
    runs: list[str] = RUNS.findall(text)
    if not HAN_RUN.search(text) and not HANGUL_RUN.search(text):
        return runs
    found: list[str] = []
    for run in runs:
        is_han = HAN_RUN.match(run)
        found += run if is_han else [run]
        if is_han or (len(run) > 2 and HANGUL_RUN.fullmatch(run)):  # three syllables or more
            found += map("".join, pairwise(run))
    return found
