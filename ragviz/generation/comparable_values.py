"""Whether two values of one attribute can be compared: amounts of one unit, days, values of one choice, like words."""

from __future__ import annotations

import re
from collections.abc import Collection

from ragviz.backends.terms import HAN_RUN
from ragviz.claims.value_kinds import kind
from ragviz.generation.entities import normal
from ragviz.text.stems import content_words, stem

SHARED = 1 / 3
"""Share of the content words of the shorter of two texts that have to be in the other one, too."""
MOST_WORDS = 8
"""Content words of a text that is compared by its words, at most; longer ones are remarks, which differ in anything."""

_BETWEEN = re.compile(r"\s*[,;、，；/]\s*|\s+(?:and|or)\s+|[和或及]")
_DAY = re.compile(
    r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|(?:week|work|holi|every)\s?days?|weekends?|dawn|noon|midnight"
    r"|daily|hourly|weekly|monthly|quarterly|yearly|annual(?:ly)?|(?:once|twice)\s(?:an?|every)\s\w+)\b"
    r"|(?:每|周|星期|礼拜)[一二三四五六日天周月年季]|工作日|周末|节假日|[上下]午|清晨|中午|傍晚",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?:^|\s)--?[a-z]|\w_\w|[$`\"|=]|::|\w\(\d\)", re.IGNORECASE)
_CHINESE_AMOUNT = re.compile(r"[约近共]?[一二三四五六七八九十百千万亿两半零〇\d.]+(?P<unit>[\u4e00-\u9fff%％]{1,4})")


def are_alike(one: str, other: str, language: str, choice: Collection[str] = ()) -> bool:
    """Return whether what differs between two values is worth asking for.

    They are of one kind that can be measured, both say on which days, both are of the few values of a `choice`
    (`items` that stand in several rows), or they share a third of their words. Two texts about different things, or two
    bare numbers, are not.

    >>> are_alike("5 days", "9 days", "en"), are_alike("blue paint", "9 days", "en")
    (True, False)
    >>> are_alike("by post", "at the desk", "en"), are_alike("by post", "at the desk", "en", {"by post", "at the desk"})
    (False, True)
    """
    if are_measured(one, other):
        return True
    sets = set(items(one)), set(items(other))
    if sets[0] & sets[1] or all(choice and own & set(choice) for own in sets):
        return True
    return not _is_code(one, language) and not _is_code(other, language) and share_words(one, other, language)


def are_measured(one: str, other: str) -> bool:
    """Return whether both values are amounts, dates or times of one kind, or both say on which days.

    >>> are_measured("$4", "$19"), are_measured("weekdays", "Sundays"), are_measured("4", "19")
    (True, True, False)
    """
    kinds = {kind(one), kind(other)}
    if len(kinds) == 1 and kinds.pop() not in ("", "text", "number"):
        return True
    units = [match["unit"] for value in (one, other) if (match := _CHINESE_AMOUNT.fullmatch(value.strip()))]
    return bool(_DAY.search(one) and _DAY.search(other)) or (len(units) == 2 and units[0] == units[1])


def _is_code(value: str, language: str) -> bool:
    """Return whether a value is a command or a name in a program, of which single words say nothing."""
    return bool(_CODE.search(value)) or (language == "zh" and not HAN_RUN.search(value))


def items(value: str) -> list[str]:
    """Return the values that a cell lists, each as `normal`, in order.

    >>> items("by post, at the desk"), items("")
    (['by post', 'at the desk'], [])
    """
    return [form for part in _BETWEEN.split(value.strip().rstrip(".。")) if (form := normal(part))]


def share_words(one: str, other: str, language: str, share: float = SHARED) -> bool:
    """Return whether so large a share of the shorter text's content words is in the other text, too.

    >>> share_words("the north desk", "the south desk", "en"), share_words("the north desk", "a lamp", "en")
    (True, False)
    """
    first, second = ({stem(word) for word in content_words(text, language)} for text in (one, other))
    fewest, most = sorted((len(first), len(second)))
    return fewest > 0 and most <= MOST_WORDS and len(first & second) >= max(share * fewest, 1)
