"""Numbers as a spreadsheet shows them, by the format codes of ECMA-376 (18.8.31): 0.125 by "0.0%" is "12.5%".

A number whose code asks for more (fractions, conditions, digits apart as in a telephone number) is shown as "General".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

_DATE, _MINUTE = "yyyy-mm-dd", "yyyy-mm-dd h:mm"
BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?",
    13: "# ??/??", 14: _DATE, 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM",
    20: "h:mm", 21: "h:mm:ss", 22: _MINUTE, 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 59)), _DATE), **dict.fromkeys(range(32, 36), "h:mm:ss"),
}  # fmt: skip
"""Codes by the numbers that files name them by. What each person's settings show as a short date is an ISO date."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<width>.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<elapsed>h+|m+|s+)\]'
    r"|(?P<condition>\[[<>=][^\]]*\])|\[[^\]]*\]|(?P<general>General)|(?P<half>AM/PM|A/P|上午/下午)"
    r"|(?P<digits>(?:[0#?][0#?,]*(?:\.[0#?]*)?|\.[0#?]+),*(?:E[+-]0+)?)|(?P<date>y+|m+|d+|h+|s+|e+|a{3,4})"
    r"|(?P<next>;)|(?P<sign>[%/])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_LAST_DAY = 2_958_466
"""The day after 9999-12-31."""

Token = tuple[str, str]
"""The kind of a part of a code, as `_TOKEN` names it, and its text."""


def shown(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a cell of this format shows it; months and days in English.

    >>> shown(0.125, "0.0%"), shown(1234567.5, "#,##0.00"), shown(46085, "DD.MM.YYYY"), shown(-3.5, '#,##0.00 [$€-407]')
    ('12.5%', '1,234,567.50', '04.03.2026', '-3.50 €')
    >>> shown(1 / 3, "General"), shown(0.1 + 0.2, "General"), shown(-1234, "#,##0;(#,##0)")
    ('0.3333333333', '0.3', '(1,234)')
    """
    sections = _sections(code)
    at = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    tokens, number = sections[at], abs(value) if at else value  # a section of negative numbers shows no sign
    kinds = [kind for kind, _ in tokens]
    if "date" in kinds or "elapsed" in kinds:
        days = number + 1462 * since_1904
        return _date(days, tokens).strip() if 0 <= days < _LAST_DAY else _general(value)
    if "condition" in kinds or ("sign", "/") in tokens or kinds.count("digits") + kinds.count("general") > 1:
        return _general(value)
    percents = kinds.count("sign")
    parts = []
    for kind, text in tokens:
        written = _decimal(abs(number), text, percents) if kind == "digits" else text
        parts.append(_general(abs(number)) if kind == "general" else written)
    text = "".join(parts)
    is_below = number < 0 and {"digits", "general"} & {*kinds} and re.search("[1-9]", text)
    return ("-" if is_below else "") + text.strip()


@lru_cache(maxsize=256)
def _sections(code: str) -> list[list[Token]]:
    """Return the parts of a code for positive numbers, negative ones and 0, as far as it has them."""
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code or "General"):
        kind = match.lastgroup
        if kind == "next":
            sections.append([])
        elif kind:
            sections[-1].append((kind, " " if kind == "width" else match[kind]))
    return sections[:3]


def _general(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.10g}".upper()


def _decimal(value: float, places: str, percents: int) -> str:
    """Write a number into its places: "#,##0.0#", with a comma behind them for each thousand that it is divided by."""
    if "E" in places.upper():
        decimals = places.upper().partition("E")[0].partition(".")[2]
        return f"{value:.{len(decimals)}E}"
    bare = places.rstrip(",")
    whole, point, decimals = bare.partition(".")
    scaled = Decimal(repr(value)).scaleb(2 * percents - 3 * (len(places) - len(bare)))
    exact = scaled.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP, Context(prec=400))
    before, _, after = (f"{exact:,f}" if "," in whole else f"{exact:f}").partition(".")
    before = before.lstrip("0").rjust(whole.count("0"), "0")
    least = len(decimals.rstrip("#?"))
    return before + point + after[:least] + after[least:].rstrip("0")


def _date(days: float, tokens: Sequence[Token]) -> str:
    """Write days since 1900 as a date and time; what is not shown is cut off, not rounded."""
    milliseconds = round(days * 86_400_000)
    seconds, fraction = divmod(milliseconds, 1000)
    # 1900 counts as a leap year.
    moment = datetime(1899, 12, 31 if days < 60 else 30) + timedelta(milliseconds=milliseconds)
    has_halves = any(kind == "half" for kind, _ in tokens)
    units = [text[0].lower() if kind in ("date", "elapsed") else "" for kind, text in tokens]
    out = []
    for at, (kind, text) in enumerate(tokens):
        if kind == "elapsed":
            out.append(f"{seconds // {'h': 3600, 'm': 60, 's': 1}[units[at]]:0{len(text)}d}")
        elif kind == "half":
            out.append(text.split("/")[moment.hour >= 12])
        elif kind == "date":
            before = next(filter(None, reversed(units[:at])), "")
            after = next(filter(None, units[at + 1 :]), "")
            is_minute = units[at] == "m" and len(text) < 3 and (before == "h" or after == "s")
            out.append(_part(moment, "n" if is_minute else units[at], len(text), has_halves=has_halves))
        elif kind == "digits":  # of a second
            out.append(f".{fraction // 100}" if text.startswith(".") else "")
        else:
            out.append(text)
    return "".join(out)


def _part(moment: datetime, unit: str, size: int, *, has_halves: bool) -> str:
    """Return one part of a date and time, written so many letters wide; "n" is a minute."""
    if unit in ("y", "e"):
        return f"{moment:%y}" if unit == "y" and size < 3 else f"{moment:%Y}"
    if unit == "a":
        return ("周" if size == 3 else "星期") + "一二三四五六日"[moment.weekday()]
    if size > 2 and unit in ("m", "d"):
        name = f"{moment:%B}" if unit == "m" else f"{moment:%A}"
        return {3: name[:3], 5: name[:1]}.get(size, name)
    hour = (moment.hour - 1) % 12 + 1 if has_halves else moment.hour
    number = {"d": moment.day, "m": moment.month, "h": hour, "n": moment.minute, "s": moment.second}[unit]
    return f"{number:0{min(size, 2)}d}"
