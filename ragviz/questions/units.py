"""The units in which texts are compared word for word: a word, a number, or one Chinese character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from ragviz.backends.terms import HAN, HAN_RUN

UNIT = re.compile(rf"\d{{1,3}}(?:[,，]\d{{3}})+(?![\d,，])|(?:[A-Za-z]\.)+[A-Za-z]\b|[{HAN}]|[^\W_{HAN}]+")
"""What a unit is; its normal form is yielded by `units`."""

_IN_UNIT = str.maketrans("", "", ",.")


def units(text: str) -> Iterator[tuple[str, int, int]]:
    r"""Yield the units of `text` in their normal form, with their offsets.

    >>> [unit for unit, _, _ in units("The U.S. paid １,０００ €,\n南京。")]
    ['the', 'us', 'paid', '1000', '南', '京']
    """
    for match in UNIT.finditer(text):
        yield folded(match.group()).translate(_IN_UNIT), match.start(), match.end()


def folded(text: str) -> str:
    """Return `text` without differences of width and case."""
    return unicodedata.normalize("NFKC", text).casefold()


def length(text: str) -> float:
    """Return how many words a text has; a Chinese character counts half.

    >>> length("May 2023"), length("yes."), length("三十天")
    (2.0, 1.0, 1.5)
    """
    return sum(0.5 if HAN_RUN.match(unit) else 1.0 for unit, _, _ in units(text))
