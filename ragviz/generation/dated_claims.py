"""Which version holds: claims about one thing that differ, each dated or of a version; the newest is the answer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import joined_draft
from ragviz.generation.comparisons import apart
from ragviz.generation.entities import Claims, holds, normal
from ragviz.generation.joined_draft import JoinedDraft, can_join, is_usable, lead, lowered
from ragviz.text.stems import content_words

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-z]*\.?)"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d{2})"
_FISCAL = r"(?:the\s+)?(?:fiscal year\s+|FY\s*)?"
_ENGLISH_DATE = re.compile(
    r"\b(?P<word>as of|since|starting(?: in| on)?|effective|from|after|until|till|through|before|by|up to|in|on"
    rf"|for|during)\s+{_FISCAL}(?:{_MONTH}\s+)?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?{_YEAR}\b",
    re.IGNORECASE,
)
_ENGLISH_VERSION = re.compile(
    r"\b(?:(?P<word>since|as of|until|before|from|in|with|for)\s+)?(?:version|release|edition|v\.?)\s?"
    r"(?P<version>\d+(?:\.\d+){0,3})\b(?:\s+(?:onwards?|and later))?",
    re.IGNORECASE,
)
_CHINESE_DATE = re.compile(
    rf"(?P<word>自|从|截至|截止到?|直?到|于|在)?\s*{_YEAR}\s*年(?:\s*(?P<month>\d{{1,2}})\s*月(?:\s*(?P<day>\d{{1,2}})\s*[日号])?)?"
    r"\s*(?P<after>底|初|起|以来|开始|之?后|以?前|之前|为?止|中)?[，,]?"
)
_CHINESE_VERSION = re.compile(
    r"(?P<word>自|从|在|到)?\s*(?:第?\s*[Vv]?(?P<version>\d+(?:\.\d+){0,3})\s*版本?|版本\s*[Vv]?(?P<other>\d+(?:\.\d+){0,3}))"
    r"\s*(?P<after>起|以来|开始|之?后|以?前|之前|为?止|中)?[，,]?"
)
_ENDS = frozenset({"until", "till", "through", "before", "up to", "到", "直到", "前", "以前", "之前", "止", "为止"})
_PAST = re.compile(r"\b(?:was|were|did|had)\b")


@dataclass(frozen=True, slots=True)
class Dated:
    """From when a claim holds, or of which version it is: `key` orders those of one `family`.

    `ends` says that the claim held until then. [`start`, `end`) is where the text says so.
    """

    family: Literal["date", "version"]
    key: tuple[int, ...]
    ends: bool
    start: int
    end: int


def dated(text: str, language: str) -> list[Dated]:
    """Return the dates and versions that a text names, in order.

    >>> [(each.family, each.key, each.ends) for each in dated("Until May 2022 in version 2.1", "en")]
    [('date', (2022, 5), True), ('version', (2, 1), False)]
    >>> [(each.key, each.ends) for each in dated("自2021年3月起，费用为五元", "zh")]
    [((2021, 3), False)]
    """
    is_chinese = language == "zh"
    found = [_date(match) for match in (_CHINESE_DATE if is_chinese else _ENGLISH_DATE).finditer(text)]
    found += [_version(match) for match in (_CHINESE_VERSION if is_chinese else _ENGLISH_VERSION).finditer(text)]
    return sorted(found, key=lambda each: each.start)


def _date(match: re.Match[str]) -> Dated:
    month, day = match["month"], match["day"]
    number = int(month) if month and month.isdigit() else _MONTHS.index(month[:3].lower()) + 1 if month else 0
    key = (int(match["year"]), *((number,) if number else ()), *((int(day),) if number and day else ()))
    return Dated("date", key, _ends(match), *match.span())


def _version(match: re.Match[str]) -> Dated:
    text = match["version"] or match["other"]
    return Dated("version", tuple(map(int, text.split("."))), _ends(match), *match.span())


def _ends(match: re.Match[str]) -> bool:
    found = match.groupdict()
    return any((found.get(name) or "").lower() in _ENDS for name in ("word", "after"))


def versions(corpus: Claims) -> Iterator[JoinedDraft]:
    """Yield questions for what holds now, of claims that say different things of one thing at different times."""
    groups: dict[tuple[str, ...], list[tuple[Dated, SourceClaim]]] = defaultdict(list)
    for claim in corpus.all:
        when = _when(claim) if can_join(claim) and not dated(claim.answer, claim.language) else None
        if when is not None and (key := _key(claim)):
            groups[claim.language, when.family, key].append((when, claim))
    for each in groups.values():
        ordered = sorted(each, key=lambda item: (item[0].key, not item[0].ends, item[1].document_id, item[1].start))
        (before, old), (now, new) = (ordered[-2], ordered[-1]) if len(ordered) > 1 else ((None, None), (None, None))
        if old is None or new is None or before is None or now is None or now.ends or (before.key == now.key):
            continue
        if normal(old.answer) != normal(new.answer) and apart(old, new, corpus):
            draft = joined_draft.of_claims("version", (new, old), _asked(new, now), new.answer, entity=new.subject)
            if is_usable(draft):
                yield draft


def _when(claim: SourceClaim) -> Dated | None:
    """Return the one date or version of a claim: that of its question, else of its quote, else of its headings."""
    for text in (claim.question, claim.quote, claim.section):
        found = dated(text, claim.language)
        versions = [each for each in found if each.family == "version"]
        if len(versions) == 1:  # "版本 3.0（2023年11月）": with its date
            return versions[0]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _key(claim: SourceClaim) -> str:
    """Return what claims about one thing share: subject and attribute, or the question without its date."""
    if claim.subject and claim.attribute:
        return f"{normal(claim.subject)}: {normal(claim.attribute)}"
    rest = _undated(claim.question, claim.language)
    enough = 1 if claim.subject and holds(rest, claim.subject) else 2
    return normal(rest) if len(content_words(rest, claim.language)) >= enough else ""


def _undated(question: str, language: str) -> str:
    for each in reversed(dated(question, language)):
        question = question[: each.start] + question[each.end :]
    text = re.sub(r"\s+([?,.])", r"\1", re.sub(r"\s{2,}", " ", question)).strip(" ,，")
    return text[:1].upper() + text[1:]


def _asked(claim: SourceClaim, when: Dated) -> str:
    """Ask for what holds now: "Currently, how much is the fee?", “目前，费用是多少？”."""
    if claim.language == "zh":
        topic, rest = lead(claim.question)
        if at := dated(topic, "zh"):  # "关于相册的版本 3.0（2023年11月），…" asks about the album
            name = re.sub("[的（( ]+$", "", topic[: at[0].start])
            claim = replace(claim, question=f"{name}，{rest}" if len(name) > len("关于") else rest)
    question = _undated(claim.question, claim.language)
    if claim.language == "zh":
        topic, rest = lead(question)
        return f"{topic}{'在最新版本中' if when.family == 'version' else '目前'}，{rest}"
    if when.family == "version":
        return f"In the latest version, {lowered(question)}"
    return f"{'Most recently' if _PAST.search(question) else 'Currently'}, {lowered(question)}"
