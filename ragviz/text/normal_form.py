"""One form for texts that are written differently and say the same: signs, spaces, digits, numbers with their units."""

from __future__ import annotations

import re
import unicodedata

from ragviz.text.quotes import SIGNS

_IN_ONE_SIGN = str.maketrans({other: sign for sign, others in SIGNS.items() for other in others})
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:[,\u00a0\u202f\u2009']\d{3})+(?![\d])")
_UNIT = re.compile(r"(?<=\d)(?=[^\W\d_])")
DECIMAL = "ˑ"
"""The decimal point: a letter, so that what removes punctuation leaves it."""


def normal_form(text: str) -> str:
    """Return a text in lower case and NFKC, with one kind of quotation marks, dashes and digits, without unseen signs.

    Groups of thousands are joined, a number is parted from its unit, and its decimal point is `DECIMAL`.

    >>> normal_form("Don’t pay 3\u00a0000 €, it’s 5km"), normal_form("ﬁnal: 3.5%")
    ("don't pay 3000 €, it's 5 km", 'final: 3ˑ5%')
    """
    joined = _GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), text)
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", joined.translate(_IN_ONE_SIGN))).lower()
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded)
    return re.sub(r"(?<=\d)\.(?=\d)", DECIMAL, _UNIT.sub(" ", digits))
