"""Numbers as a spreadsheet shows them, by the format codes of ECMA-376 (18.8.31): 0.125 by "0.0%" is "12.5%"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
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
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<blank>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]|(?P<general>General)'
    r"|(?P<half>AM/PM|A/P|上午/下午)|(?P<exponent>E[+-])|(?P<date>y+|m+|d+|h+|s+|e+|a{3,4})|(?P<sign>[0#?.,%/])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?[\d.]+)")
_NAMES = (
    "January February March April May June July August September October November December"
    " Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)
_MONTHS, _DAYS = _NAMES.split()[:12], _NAMES.split()[12:]
_LAST_DAY = 2_958_466
"""The day after 9999-12-31."""

Token = tuple[str, str]
"""A kind, and its text: "literal", "digit" (0, #, ?), "point", "comma", "percent", "slash", "date", "elapsed" …"""


def shown(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return a number as a cell of this format shows it; months and days in English.

    >>> shown(0.125, "0.0%"), shown(1234567.5, "#,##0.00"), shown(46085, "DD.MM.YYYY"), shown(-3.5, '#,##0.00 [$€-407]')
    ('12.5%', '1,234,567.50', '04.03.2026', '-3.50 €')
    >>> shown(1 / 3, "General"), shown(0.1 + 0.2, "General"), shown(-1234, "#,##0;(#,##0)"), shown(0.75, "# ?/?")
    ('0.3333333333', '0.3', '(1,234)', '3/4')
    """
    number, tokens = _chosen(value, _parsed(code))
    kinds = {kind for kind, _ in tokens}
    if kinds & {"date", "elapsed"}:
        days = number + 1462 * since_1904
        return _date(days, tokens).strip() if 0 <= days < _LAST_DAY else _general(value)
    if "general" in kinds:
        text = "".join(_general(abs(number)) if kind == "general" else text for kind, text in tokens)
    elif "digit" not in kinds:
        return "".join(text for _, text in tokens).strip()
    elif "exponent" in kinds:
        text = _scientific(abs(number), tokens)
    elif "slash" in kinds:
        text = _fraction(abs(number), tokens)
    else:
        text = _decimal(abs(number), tokens)
    return ("-" if number < 0 and re.search("[1-9]", text) else "") + text.strip()


@lru_cache(maxsize=256)
def _parsed(code: str) -> list[list[Token]]:
    return [list(_tokens(section)) for section in _sections(code)][:3]


def _sections(code: str) -> list[str]:
    parts = re.findall(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[^;"\\\[])+|;', code or "General")
    sections = [""]
    for part in parts:
        sections = [*sections, ""] if part == ";" else [*sections[:-1], sections[-1] + part]
    return sections


def _tokens(section: str) -> Iterator[Token]:
    names = {".": "point", ",": "comma", "%": "percent", "/": "slash"}
    for match in _TOKEN.finditer(section):
        kind, text = match.lastgroup or "other", match[match.lastgroup or 0]
        if kind == "bracket":
            if text[:1] == "$":
                yield "literal", text[1:].partition("-")[0]
            elif re.fullmatch("h+|m+|s+", text.lower()):
                yield "elapsed", text.lower()
            elif _CONDITION.fullmatch(text):
                yield "condition", text
        elif kind == "sign":
            yield names.get(text, "digit"), text
        elif kind in ("quoted", "escaped", "other"):
            yield "literal", text
        elif kind == "blank":
            yield "literal", " "
        elif kind != "fill":
            yield kind, text.lower() if kind == "date" else text


def _chosen(value: float, sections: Sequence[list[Token]]) -> tuple[float, list[Token]]:
    """Return the section for a number, and the number as it shows it: a section for negative ones shows no sign."""
    tests = [next((text for kind, text in tokens if kind == "condition"), "") for tokens in sections]
    if any(tests):
        at = next((n for n, test in enumerate(tests) if not test or _meets(value, test)), len(sections) - 1)
    else:
        at = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    tokens = [token for token in sections[at] if token[0] != "condition"]
    return (abs(value) if at == 1 and not any(tests) else value), tokens


def _meets(value: float, test: str) -> bool:
    match = _CONDITION.fullmatch(test)
    assert match is not None
    sign, limit = match[1], float(match[2])
    return ("<" in sign and value < limit) or (">" in sign and value > limit) or ("=" in sign and value == limit)


def _general(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.10g}".upper()


def _rounded(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=400))


def _decimal(value: float, tokens: Sequence[Token]) -> str:
    """Write a number digit by digit into the places of its format."""
    kinds = [kind for kind, _ in tokens]
    point = kinds.index("point") if "point" in kinds else len(kinds)
    whole = [at for at in range(point) if kinds[at] == "digit"]
    after = [at for at in range(point, len(kinds)) if kinds[at] == "digit"]
    last = max(whole, default=-1)
    commas = [at for at, kind in enumerate(kinds) if kind == "comma"]
    thousands = sum(last < at < point or at > max([last, *after]) for at in commas)
    scale = 2 * kinds.count("percent") - 3 * thousands
    exact = _rounded(Decimal(repr(value)).scaleb(scale), len(after))
    integer, _, decimals = f"{exact:f}".partition(".")
    out = dict.fromkeys(range(len(tokens)), "")
    _fill(out, tokens, whole, integer.lstrip("0"), grouped=any(at < last for at in commas))
    kept = len(decimals)
    while kept and decimals[kept - 1] == "0" and tokens[after[kept - 1]][1] != "0":
        kept -= 1
    out |= dict(zip(after, decimals[:kept], strict=False))
    return "".join(out[at] or ("" if kind in ("digit", "comma") else text) for at, (kind, text) in enumerate(tokens))


def _fill(out: dict[int, str], tokens: Sequence[Token], places: Sequence[int], digits: str, *, grouped: bool) -> None:
    """Put the digits of a whole number into their places, from the right; the first place takes all that are left."""
    zeros = [tokens[at][1] == "0" for at in places]
    least = len(places) - zeros.index(True) if True in zeros else 0
    padded = digits.rjust(least, "0")
    for back, at in enumerate(reversed(places)):
        high = len(padded) if back == len(places) - 1 else min(back + 1, len(padded))
        for place in range(back, high):
            comma = "," if grouped and place and place % 3 == 0 else ""
            out[at] = padded[-1 - place] + comma + out[at]


def _scientific(value: float, tokens: Sequence[Token]) -> str:
    at = next(n for n, (kind, _) in enumerate(tokens) if kind == "exponent")
    mantissa, rest = list(tokens[:at]), tokens[at + 1 :]
    kinds = [kind for kind, _ in mantissa]
    point = kinds.index("point") if "point" in kinds else len(kinds)
    step, digits = max(kinds[:point].count("digit"), 1), kinds[point:].count("digit")
    exact = Decimal(repr(value))
    power = exact.adjusted() // step * step if exact else 0
    if _rounded(exact.scaleb(-power), digits) >= 10**step:
        power += step
    sign = "-" if power < 0 else "+" if tokens[at][1].endswith("+") else ""
    least = sum(kind == "digit" for kind, _ in rest)
    return f"{_decimal(float(exact.scaleb(-power)), mantissa)}E{sign}{abs(power):0{least}d}"


def _fraction(value: float, tokens: Sequence[Token]) -> str:
    at = next(n for n, (kind, _) in enumerate(tokens) if kind == "slash")
    below = "".join(text for kind, text in tokens[at + 1 :] if kind == "digit" or text.isdigit())
    fixed = int(below) if below.isdigit() and int(below) else 0
    exact = Fraction(repr(value))
    part = Fraction(round(exact * fixed), fixed) if fixed else exact.limit_denominator(10 ** max(len(below), 1) - 1)
    above = re.sub("[0#?]+", "0", "".join(text for _, text in tokens[:at])).split()
    whole, left = divmod(part, 1) if len(above) > 1 else (0, part)
    over = fixed or left.denominator
    tops = f"{left * over}/{over}" if left else ""
    return f"{whole or ''} {tops}".strip() or "0"


def _date(days: float, tokens: Sequence[Token]) -> str:
    """Write days since 1900 as a date and time; what is not shown is cut off, not rounded."""
    milliseconds = round(days * 86_400_000)
    seconds, fraction = divmod(milliseconds, 1000)
    # 1900 counts as a leap year.
    moment = datetime(1899, 12, 31 if days < 60 else 30) + timedelta(milliseconds=milliseconds)
    halves = any(kind == "half" for kind, _ in tokens)
    units = [(n, text[0]) for n, (kind, text) in enumerate(tokens) if kind in ("date", "elapsed")]
    out = []
    for n, (kind, text) in enumerate(tokens):
        if kind == "elapsed":
            out.append(f"{seconds // {'h': 3600, 'm': 60, 's': 1}[text[0]]:0{len(text)}d}")
        elif kind == "half":
            out.append(text.split("/")[moment.hour >= 12])
        elif kind == "date":
            place = units.index((n, text[0]))
            beside = [unit for _, unit in (*units[max(place - 1, 0) : place], *units[place + 1 : place + 2])]
            before = beside[0] if place else ""
            is_minute = text[0] == "m" and len(text) < 3 and (before == "h" or beside[-1:] == ["s"])
            out.append(_part(moment, "n" * len(text) if is_minute else text, halves=halves))
        elif kind == "digit":  # of a second
            out.append(f"{fraction:03d}"[:1] if out[-1:] == ["."] else "")
        else:
            out.append(text)
    return "".join(out)


def _part(moment: datetime, unit: str, *, halves: bool) -> str:
    """Return one part of a date and time; "n" is a minute."""
    size = len(unit)
    hour = (moment.hour - 1) % 12 + 1 if halves else moment.hour
    numbers = {"d": moment.day, "m": moment.month, "h": hour, "n": moment.minute, "s": moment.second}
    match unit[0]:
        case "y" | "e":
            return str(moment.year) if size > 2 or unit[0] == "e" else f"{moment.year % 100:02d}"
        case "a":
            return ("周" if size == 3 else "星期") + "一二三四五六日"[moment.weekday()]
        case "m" | "d" if size > 2:
            name = _MONTHS[moment.month - 1] if unit[0] == "m" else _DAYS[moment.weekday()]
            return name[:3] if size == 3 else name[:1] if size == 5 else name
        case kind:
            return f"{numbers[kind]:0{min(size, 2)}d}"
