"""The numbers that texts state: in digits of any notation, and in words, English and Chinese."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_ENGLISH_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_SPELLED = {word: value for value, word in enumerate(_ENGLISH_NUMBERS.split())}
_TEN_WORDS = "thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(), start=3)}
_ENGLISH_NUMBER = re.compile(
    rf"\b(?:(?P<ten>twenty|{'|'.join(_TENS)})(?:[ -](?P<one>one|two|three|four|five|six|seven|eight|nine))?"
    rf"|(?P<small>{'|'.join(_SPELLED)}))\b"
)
_CHINESE_DIGITS = {c: value for value, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千]+")
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}


def numbers(text: str) -> frozenset[str]:
    """Return the numbers written in digits, in one notation: full-width digits, grouping commas and final zeros.

    >>> sorted(numbers("１,200 litres at 3.50 bar, 7 days"))
    ['1200', '3.5', '7']
    """
    folded = unicodedata.normalize("NFKC", text)
    return frozenset(_plain(match.group().replace(",", "")) for match in _NUMBER.finditer(folded))


def stated_numbers(text: str) -> frozenset[str]:
    """Return the numbers of `text`, in digits or words: English below a hundred, Chinese below ten thousand.

    >>> sorted(stated_numbers("Twelve pumps, 3 valves, forty-five minutes, 三十天, 一百零五"))
    ['105', '12', '3', '30', '45']
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    english = (str(_english_value(match)) for match in _ENGLISH_NUMBER.finditer(folded))
    chinese = (_chinese_value(match.group()) for match in _CHINESE_NUMBER.finditer(folded))
    return numbers(text) | frozenset(english) | frozenset(chinese)


def counts(text: str) -> frozenset[str]:
    """Return the numbers that English words of `text` say, but for one, which is a pronoun as well.

    >>> sorted(counts("Twelve of them, one in forty-five"))
    ['12', '45']
    """
    found = _ENGLISH_NUMBER.finditer(text.lower())
    return frozenset(str(_english_value(match)) for match in found) - {"1"}


def _plain(number: str) -> str:
    whole, dot, rest = number.partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if dot and rest else "")


def _english_value(match: re.Match[str]) -> int:
    if match["small"]:
        return _SPELLED[match["small"]]
    return (_TENS | _SPELLED)[match["ten"]] + _SPELLED.get(match["one"] or "zero", 0)


def _chinese_value(text: str) -> str:
    """Return the value of a Chinese numeral: by its units, else digit by digit, as years are written."""
    if not any(c in _CHINESE_UNITS for c in text):
        return _plain("".join(str(_CHINESE_DIGITS[c]) for c in text))
    total, digit = 0, None
    for c in text:
        if c in _CHINESE_UNITS:
            total += (1 if digit is None else digit) * _CHINESE_UNITS[c]
            digit = None
        else:
            digit = _CHINESE_DIGITS[c]
    return str(total + (digit or 0))
