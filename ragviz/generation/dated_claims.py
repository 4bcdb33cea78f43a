"""Which version holds: claims about one thing that differ, each dated or of a version.

The date is that of the claim, else of the headings above it, else of its document's title. Asked is what holds now,
and, where years lie between two dates, what held then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ragviz.claims.sections import SEPARATOR, name_of, title_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation import joined_draft
from ragviz.generation.comparisons import apart
from ragviz.generation.entities import Claims, holds, normal
from ragviz.generation.joined_draft import JoinedDraft, can_join, is_usable, lead, lowered
from ragviz.text.stems import content_words, stem

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>(?:{'|'.join(_MONTHS)})[a-z]*\.?)"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d{2})"
_FISCAL = r"(?:the\s+)?(?:fiscal year\s+|FY\s*)?"
_ENGLISH_DATE = re.compile(
    r"\b(?P<word>as of|since|starting(?: in| on)?|effective|from|after|until|till|through|before|by|up to|in|on"
    rf"|for|during)\s+{_FISCAL}(?:(?P<first_day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?=[a-z]))?(?:{_MONTH}\s+)?"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?{_YEAR}\b",
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
_NUMBER = r"\d{1,3}(?:\.\d{1,4}){1,3}"
_TITLE_VERSION = re.compile(
    rf"[(\[（]?(?<![\w.])(?:version|release|edition|v\.?|第)?\s?(?P<version>(?<=v)\d{{1,3}}(?!\.?\d)|{_NUMBER})(?![\w])\s?(?:版本?)?[)\]）]?",
    re.IGNORECASE,
)
_TITLE_DATE = re.compile(
    rf"[(\[（]?(?:\b(?:as of|since|from|effective|valid from|fiscal year|FY)\s*)?(?:"
    rf"(?<!\d)(?P<iso>(?:19|20)\d{{2}})[-/.](?P<iso_month>\d{{1,2}})(?:[-/.](?P<iso_day>\d{{1,2}}))?(?!\d)"
    rf"|(?:(?P<first_day>\d{{1,2}})\s+)?\b{_MONTH}\s+(?:(?P<day>\d{{1,2}}),?\s+)?(?P<of>(?:19|20)\d{{2}})"
    r"|(?<![\d.,$€£-])(?P<year>(?:19|20)\d{2})(?![\d,]|[-–]\d)"
    r"(?:\s*年(?:\s*(?P<chinese_month>\d{1,2})\s*月(?:\s*(?P<chinese_day>\d{1,2})\s*日)?)?)?)"
    r"(?:\s*(?:修订版?|版|edition|version|版本))?[)\]）]?",
    re.IGNORECASE,
)
_ENDS = frozenset({"until", "till", "through", "before", "up to", "到", "直到", "前", "以前", "之前", "止", "为止"})
_BEGINS = frozenset(
    {"since", "as of", "starting", "starting in", "starting on", "effective", "from", "起", "以来", "开始"}
)
_THEN = {"is": "was", "are": "were", "does": "did", "do": "did", "has": "had", "have": "had"}
_PRESENT = re.compile(r"^((?:\w+\s){0,4}?(?:what|who|when|where|which|how)(?: \w+){0,3}?) (is|are|does|do|has|have)\b")
_PAST = re.compile(r"\b(?:was|were|did|had)\b")


@dataclass(frozen=True, slots=True)
class Dated:
    """From when a claim holds, or of which version it is: `key` orders those of one `family`.

    `ends` says that the claim held until then, `goes_on` that it holds from then on. [`start`, `end`) is where the text
    says so.
    """

    family: Literal["date", "version"]
    key: tuple[int, ...]
    ends: bool
    start: int
    end: int
    goes_on: bool = False


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
    found = match.groupdict()
    key = _moment(match["year"], match["month"], found.get("first_day") or match["day"])
    return Dated("date", key, _ends(match), *match.span(), goes_on=_says(match, _BEGINS))


def _moment(year: str, month: str | None, day: str | None) -> tuple[int, ...]:
    """Return a date as numbers, as far as it is said; the month is a number or an English name."""
    number = 0 if not month else int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    if not number:
        return (int(year),)
    return (int(year), number, int(day)) if day else (int(year), number)


def _version(match: re.Match[str]) -> Dated:
    text = match["version"] or match["other"] if "other" in match.re.groupindex else match["version"]
    return Dated("version", tuple(map(int, text.split("."))), _ends(match), *match.span())


def titled(title: str) -> Dated | None:
    """Return the one version or date by which a title tells its text from earlier ones; a version before a date.

    >>> [titled(text).key for text in ("Travel policy 2023", "2.4.0 (2024-05-01)", "Fees, March 2021")]
    [(2023,), (2, 4, 0), (2021, 3)]
    >>> titled("The 12 plays"), titled("Budgets of 2021 and 2022")
    (None, None)
    """
    for pattern, made in ((_TITLE_VERSION, _version), (_TITLE_DATE, _date_of_title)):
        found = [*pattern.finditer(title)]
        if found and (pattern is _TITLE_VERSION or len(found) == 1):
            return made(found[0])
    return None


def _date_of_title(match: re.Match[str]) -> Dated:
    day = match["iso_day"] or match["chinese_day"] or match["day"] or match["first_day"]
    key = _moment(
        match["iso"] or match["of"] or match["year"],
        match["iso_month"] or match["chinese_month"] or match["month"],
        day,
    )
    return Dated("date", key, ends=False, start=match.start(), end=match.end(), goes_on=True)


def _ends(match: re.Match[str]) -> bool:
    return _says(match, _ENDS)


def _says(match: re.Match[str], words: Container[str]) -> bool:
    found = match.groupdict()
    return any(" ".join((found.get(name) or "").lower().split()) in words for name in ("word", "after"))


def versions(corpus: Claims) -> Iterator[JoinedDraft]:
    """Yield questions for what holds now, or held in a year, of claims that say different things at different times."""
    titles = {i: title_of(document) or name_of(document) for i, document in corpus.documents.items()}
    groups: dict[tuple[str, ...], list[tuple[Dated, SourceClaim]]] = defaultdict(list)
    for claim in (*corpus.all, *corpus.variants):
        if claim.type == "list":  # what each release fixed, or added: none of it holds instead of another
            continue
        title = titles.get(claim.document_id, "")
        when = _when(claim, title) if can_join(claim) and not dated(claim.answer, claim.language) else None
        if when is not None and (key := _key(claim)):
            groups[claim.language, when.family, key].append((when, claim))
    for each in groups.values():
        ordered = sorted(each, key=lambda item: (item[0].key, not item[0].ends, item[1].document_id, item[1].start))
        for (before, old), (now, new) in pairwise(ordered):
            last = new is ordered[-1][1]
            if before.key == now.key or normal(old.answer) == normal(new.answer) or not apart(old, new, corpus):
                continue
            if last and not now.ends:
                yield from _usable(new, old, _asked(new, now), new)
            year = _year_between(before, now)
            if year:
                yield from _usable(old, new, _asked_of(old, year), old)


def _usable(first: SourceClaim, other: SourceClaim, question: str, holding: SourceClaim) -> Iterator[JoinedDraft]:
    draft = joined_draft.of_claims("version", (first, other), question, holding.answer, entity=holding.subject)
    if is_usable(draft):
        yield draft


def _year_between(before: Dated, now: Dated) -> int:
    """Return a whole year in which the earlier of two dates held, 0 where none is known to lie between them."""
    if before.family != "date" or not before.goes_on or now.ends:
        return 0
    year = before.key[0] + 1
    return year if year < now.key[0] else 0


def _when(claim: SourceClaim, title: str) -> Dated | None:
    """Return the one date or version of a claim: of its question, its quote, the headings above it, its document."""
    rest = lead(claim.question)[1]
    for text in (rest, claim.quote, claim.section):
        found = dated(text, claim.language)
        versions = [each for each in found if each.family == "version"]
        if len(versions) == 1:  # "版本 3.0（2023年11月）": with its date
            return versions[0]
        if found:
            return found[0] if len(found) == 1 else None
    for heading in (*reversed(claim.section.split(SEPARATOR)), title):
        if one := titled(heading):
            return one
    return None


def _key(claim: SourceClaim) -> str:
    """Return what claims about one thing share: the words of their question without its date, in any tense."""
    rest = _undated(claim.question, claim.language)
    enough = 1 if claim.subject and holds(rest, claim.subject) else 2
    words = content_words(rest, claim.language)
    return " ".join(stem(word) for word in words) if len(words) >= enough else ""


def _undated(question: str, language: str) -> str:
    """Return a question without its dates and versions, those of the titles in it included."""
    topic, rest = lead(question)
    for each in reversed(dated(rest, language)):
        rest = rest[: each.start] + rest[each.end :]
    topic = re.sub(r"(?P<open>[“《])(?P<title>[^”》]*)(?P<close>[”》])", _undated_title, topic)
    topic = "" if re.fullmatch(r"(?:In|在|关于)?\s*(?:中|里)?[,，]?\s*", topic) else topic
    topic = re.sub(r"^(Regarding [^,]*?) in (?=,)", r"\1", topic)
    topic = re.sub(r"^Regarding\s+in (?=“)", "In ", topic)  # the section was a version
    if language == "zh":
        if at := dated(topic, "zh"):  # "关于相册的版本 3.0（2023年11月），…" asks about the album
            name = re.sub("[的（( ]+$", "", topic[: at[0].start])
            topic = f"{name}，" if len(name) > len("关于") else ""
        topic, rest = (re.sub(r"\s+(?=，)", "", _TITLE_DATE.sub("", text)) for text in (topic, rest))
    rest = re.sub(r"\s+([?,.])", r"\1", re.sub(r"\s{2,}", " ", rest)).strip(" ,，")
    return topic + rest if topic else rest[:1].upper() + rest[1:]


def _undated_title(match: re.Match[str]) -> str:
    title, found = match["title"], titled(match["title"])
    kept = f"{title[: found.start]} {title[found.end :]}" if found else title
    text = " ".join(kept.split()).strip(" -–—:：,，")
    return f"{match['open']}{text}{match['close']}" if re.search(r"[^\W\d_]{2}", text) else ""


def _asked(claim: SourceClaim, when: Dated) -> str:
    """Ask for what holds now: "Currently, how much is the fee?", “目前，费用是多少？”."""
    question = _undated(claim.question, claim.language)
    is_version = when.family == "version"
    if claim.language == "zh":
        topic, rest = lead(question)
        return f"{topic}{'在最新版本中' if is_version else '目前'}，{rest}"
    if is_version and (label := _versioned_label(claim.question)):
        return label
    if is_version:
        return _in_version(question, "latest version of “") or f"In the latest version, {lowered(question)}"
    if lead(question)[0] != lead(claim.question)[0] and (placed := _in_version(question, "current “")):
        return placed
    return f"{'Most recently' if _PAST.search(question) else 'Currently'}, {lowered(question)}"


def _versioned_label(question: str) -> str:
    """Return a question about “X 2.1” as one about the latest version of “X”; "" where no such label is in it.

    >>> _versioned_label("In “Books”, what is the date of “User Guide v2.1”?")
    'In “Books”, what is the date of the latest version of “User Guide”?'
    """
    topic, rest = lead(question)
    for match in re.finditer(r"“([^”]+)”", rest):
        found = titled(match[1])
        if found is not None and found.family == "version":
            name = f"{match[1][: found.start]} {match[1][found.end :]}".strip(" -–—:,")
            label = f"the latest version of “{' '.join(name.split())}”"
            return f"{topic}{rest[: match.start()]}{label}{rest[match.end() :]}" if name else ""
    return ""


def _in_version(question: str, which: str, after: str = "") -> str:
    """Return a question that a title leads with a version of what has that title, "" for one that none leads.

    >>> _in_version("In “Fares”, what is paid?", "current “")
    'In the current “Fares”, what is paid?'
    >>> _in_version("Regarding rent in “Fares”, who pays?", "“", " of 2020")
    'Regarding rent in the “Fares” of 2020, who pays?'
    """
    topic, rest = lead(question)
    found = re.match(r"(.*\b[Ii]n )“([^”]+”)(, )$", topic)
    return f"{found[1]}the {which}{found[2]}{after}{found[3]}{rest}" if found else ""


def _asked_of(claim: SourceClaim, year: int) -> str:
    """Ask for what held in a year: "In 2020, how much was the fee?", “2020年，费用是多少？”."""
    question = _undated(claim.question, claim.language)
    if claim.language == "zh":
        topic, rest = lead(question)
        return f"{topic}{year}年，{rest}"
    topic, rest = lead(question)
    past = _PRESENT.sub(lambda match: f"{match[1]} {_THEN[match[2].lower()]}", lowered(rest), count=1)
    of_title = topic != lead(claim.question)[0] and _in_version(f"{topic}{past}", "“", f" that held in {year}")
    return of_title or f"In {year}, {lowered(topic)}{past}"
