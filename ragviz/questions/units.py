"""The units in which texts are compared word for word: a word, a number, or one Chinese character."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragviz.text.normal_form import FIXED_BLANKS, HAN, HAN_RUN, folding

_UNIT = re.compile(
    rf"\d{{1,3}}(?:[,'{FIXED_BLANKS}]\d{{3}})+(?![\d,])|(?<![^\W_{HAN}])\d+(?=[^\W\d_])|(?:[A-Za-z]\.)+[A-Za-z]\b|[{HAN}]"
    rf"|[^\W_{HAN}]+"
)
_IN_UNIT = str.maketrans("", "", f",.'{FIXED_BLANKS}")


def units(text: str) -> Iterator[tuple[str, int, int]]:
    r"""Yield the units of `text` in their normal form, with their offsets.

    >>> [unit for unit, _, _ in units("The U.S. paid １,０００ €,\n南京 5km。")]
    ['the', 'us', 'paid', '1000', '南', '京', '5', 'km']
    """
    whole = folding(text)
    for match in _UNIT.finditer(whole.text):
        yield match.group().translate(_IN_UNIT).casefold(), *whole.source(*match.span())


def length(text: str) -> float:
    """Return how many words a text has; a Chinese character counts half.

    >>> length("May 2023"), length("yes."), length("三十天")
    (2.0, 1.0, 1.5)
    """
    return sum(0.5 if HAN_RUN.match(unit) else 1.0 for unit, _, _ in units(text))
